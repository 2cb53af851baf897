//! The store record: what a store is, and which generations it consists of. It is written at creation and
//! when generations change, and read at every open.

use bincode::config;
use bincode::error::DecodeError;
use bincode::{Decode, Encode};

use super::design::{Parts, StoredDesign};
use super::{Malformed, OLDEST_VERSION, VERSION};
use crate::TableDesign;
use crate::hash::checksum;
use crate::text::AnalyserDescription;

/// The key of the record in the default family.
pub(crate) const RECORD_KEY: &[u8] = b"store";

/// The key, in the default family, of the mark of a repair that was begun.
pub(crate) const REPAIR_KEY: &[u8] = b"repair";

/// The key, in the default family, of the time up to which what has expired may have been dropped.
pub(crate) const EXPIRY_KEY: &[u8] = b"expired-up-to";

/// How the keys of tables of frequencies begin, in the default family.
pub(crate) const FREQUENCIES_PREFIX: &[u8] = b"frequencies.";

/// The most bytes of a table of frequencies under one key.
pub(crate) const FREQUENCIES_PART_BYTES: usize = 4 << 20;

/// The key, in the default family, of a part of a table of frequencies.
pub(crate) fn frequencies_key(identity: u64, part: u32) -> Vec<u8> {
    [FREQUENCIES_PREFIX, &identity.to_be_bytes(), &part.to_be_bytes()].concat()
}

const MAGIC: [u8; 8] = *b"NEARSTON";
const HEADER_BYTES: usize = MAGIC.len() + 2 + 4;
const CHECKSUM_BYTES: usize = 8;
/// The most bytes of a record: a damaged length must not become a huge allocation.
const MAX_PAYLOAD_BYTES: usize = 64 << 10;

/// What a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreRecord<D = TableDesign> {
    /// The kind of sketch, [`Sketch::KIND`](crate::Sketch::KIND).
    pub(crate) sketch: String,
    pub(crate) design: D,
    /// The largest distance by which documents are admitted.
    pub(crate) admission_distance: u32,
    pub(crate) analyser: Option<AnalyserDescription>,
    pub(crate) generations: Generations,
    pub(crate) created_at_millis: u64,
    /// Named settings. A build that does not know one of the names cannot serve the store.
    pub(crate) settings: Vec<(String, String)>,
}

/// The generations that a store consists of; they name its families. What is in a family of another generation
/// belongs to nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Generations {
    /// The one that documents are written to.
    pub(crate) live: u64,
    /// The live one before that, while it is being sealed.
    pub(crate) frozen: Option<u64>,
    pub(crate) sealed: Option<SealedGeneration>,
}

/// A generation that is written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SealedGeneration {
    pub(crate) number: u64,
    /// Its documents, those that newer generations replace or remove included.
    pub(crate) documents: u64,
    /// Its distinct sketches: the values in each table.
    pub(crate) sketches: u64,
}

impl Generations {
    /// A number that no generation has.
    pub(crate) fn next(self) -> u64 {
        self.live.max(self.sealed.map_or(0, |sealed| sealed.number)) + 1
    }

    /// Whether there is nothing but the live generation.
    pub(crate) fn is_empty_below(self) -> bool {
        self.frozen.is_none() && self.sealed.is_none()
    }

    /// Whether families of a generation belong to the store.
    pub(crate) fn have(self, number: u64, is_sealed: bool) -> bool {
        if is_sealed {
            self.sealed.is_some_and(|sealed| sealed.number == number)
        } else {
            self.live == number || self.frozen == Some(number)
        }
    }
}

/// Why bytes are not a store record of this format.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    /// They do not begin like a record.
    NoRecord,
    /// They are a record of another format.
    Version(u16),
    /// They are a record of another kind of sketch.
    Sketch(String),
    Malformed(Malformed),
}

impl From<Malformed> for RecordError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

// The layout on disk, apart from the types of the crate, so that these can change and it does not.
#[derive(Encode, Decode)]
struct Payload {
    sketch: String,
    design: Parts,
    admission_distance: u32,
    analyser: Option<Analyser>,
    generations: Generations,
    created_at_millis: u64,
    settings: Vec<(String, String)>,
}

/// The layout of format 1: one live generation.
#[derive(Encode, Decode)]
struct FirstPayload {
    sketch: String,
    design: Parts,
    admission_distance: u32,
    analyser: Option<Analyser>,
    generation: u64,
    created_at_millis: u64,
    settings: Vec<(String, String)>,
}

impl From<FirstPayload> for Payload {
    fn from(first: FirstPayload) -> Self {
        let FirstPayload { sketch, design, admission_distance, analyser, generation, created_at_millis, settings } =
            first;
        let generations = Generations { live: generation, frozen: None, sealed: None };
        Self { sketch, design, admission_distance, analyser, generations, created_at_millis, settings }
    }
}

#[derive(Encode, Decode)]
struct Analyser {
    name: String,
    version: u16,
    parameters: Vec<(String, String)>,
}

/// Returns the format of a record of any format.
pub(crate) fn version(bytes: &[u8]) -> Option<u16> {
    let (version, _) = bytes.strip_prefix(&MAGIC)?.split_first_chunk::<2>()?;
    Some(u16::from_be_bytes(*version))
}

/// Fixed-width little-endian integers: bytes that other readers of the same scheme understand too.
fn scheme() -> impl config::Config {
    config::standard().with_little_endian().with_fixed_int_encoding().with_limit::<MAX_PAYLOAD_BYTES>()
}

impl<D: StoredDesign> StoreRecord<D> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let payload = Payload {
            sketch: self.sketch.clone(),
            design: self.design.to_parts(),
            admission_distance: self.admission_distance,
            analyser: self.analyser.clone().map(|a| Analyser {
                name: a.name,
                version: a.version,
                parameters: a.parameters,
            }),
            generations: self.generations,
            created_at_millis: self.created_at_millis,
            settings: self.settings.clone(),
        };
        let payload = bincode::encode_to_vec(payload, scheme()).expect("a record in memory can be encoded");
        let length = u32::try_from(payload.len()).expect("a record is far shorter than 4 GiB");
        let mut bytes = [&MAGIC[..], &VERSION.to_be_bytes(), &length.to_be_bytes(), &payload].concat();
        bytes.extend(checksum(&bytes).to_be_bytes());
        bytes
    }

    /// Decodes the record of a store of sketches of the kind `sketch`.
    pub(crate) fn decode(bytes: &[u8], sketch: &str) -> Result<Self, RecordError> {
        // The version comes before everything else: another format may lay out the rest differently.
        let version = version(bytes).ok_or(RecordError::NoRecord)?;
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            return Err(RecordError::Version(version));
        }
        let rest = &bytes[MAGIC.len() + 2..];
        let malformed = |what: String| RecordError::Malformed(Malformed(what));
        let (length, _) =
            rest.split_first_chunk::<4>().ok_or_else(|| malformed("the store record is cut short".into()))?;
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_PAYLOAD_BYTES || bytes.len() != HEADER_BYTES + length + CHECKSUM_BYTES {
            return Err(malformed(format!("the store record has {} bytes and says {length}", bytes.len())));
        }
        let (body, sum) = bytes.split_at(HEADER_BYTES + length);
        if checksum(body).to_be_bytes() != sum {
            return Err(malformed("the checksum of the store record is wrong".into()));
        }
        // So does the kind of sketch, of which the design depends.
        let cannot = |e: DecodeError| malformed(format!("the store record cannot be decoded ({e})"));
        let (found, _): (String, usize) =
            bincode::decode_from_slice(&body[HEADER_BYTES..], scheme()).map_err(cannot)?;
        if found != sketch {
            return Err(RecordError::Sketch(found));
        }
        let payload = match version {
            1 => decode_whole::<FirstPayload>(&body[HEADER_BYTES..]).map(Payload::from),
            _ => decode_whole::<Payload>(&body[HEADER_BYTES..]),
        };
        Self::from_payload(payload.map_err(cannot)?).map_err(malformed)
    }

    fn from_payload(payload: Payload) -> Result<Self, String> {
        let design = D::from_parts(payload.design).map_err(|e| format!("the store record: {e}"))?;
        if payload.admission_distance > design.most_distance() {
            return Err(format!("the store record has the admission distance {}", payload.admission_distance));
        }
        Ok(Self {
            sketch: payload.sketch,
            design,
            admission_distance: payload.admission_distance,
            analyser: payload.analyser.map(|a| AnalyserDescription {
                name: a.name,
                version: a.version,
                parameters: a.parameters,
            }),
            generations: payload.generations,
            created_at_millis: payload.created_at_millis,
            settings: payload.settings,
        })
    }
}

/// Decodes a value that takes up all of the bytes; the decoder alone ignores what follows.
fn decode_whole<T: Decode<()>>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (value, consumed) = bincode::decode_from_slice(bytes, scheme())?;
    if consumed == bytes.len() { Ok(value) } else { Err(DecodeError::Other("bytes are left over")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Record = StoreRecord<TableDesign>;

    fn record() -> StoreRecord {
        StoreRecord {
            sketch: "simhash64".into(),
            design: TableDesign::choose(5, 3).unwrap(),
            admission_distance: 12,
            analyser: Some(AnalyserDescription {
                name: "words".into(),
                version: 1,
                parameters: vec![("shingle-tokens".into(), "2".into())],
            }),
            generations: Generations {
                live: 3,
                frozen: Some(2),
                sealed: Some(SealedGeneration { number: 1, documents: 1000, sketches: 900 }),
            },
            created_at_millis: 1_700_000_000_000,
            settings: vec![("retention-seconds".into(), "86400".into())],
        }
    }

    fn hex(bytes: &[u8]) -> String {
        use std::fmt::Write;
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    }

    #[test]
    fn a_record_comes_back() {
        let new = StoreRecord { generations: Generations::default(), ..record() };
        for record in [record(), StoreRecord { analyser: None, settings: vec![], ..record() }, new] {
            assert_eq!(Record::decode(&record.encode(), "simhash64"), Ok(record));
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_golden_vector() {
        let golden = include_str!("../../tests/data/store-record-v2.hex");
        assert_eq!(hex(&record().encode()), golden.split_whitespace().collect::<String>());
    }

    #[test]
    fn the_record_of_signatures_is_that_of_its_golden_vector() {
        let bands = crate::BandDesign::new(18, 7).unwrap();
        let design = crate::MinhashDesign::new(bands).unwrap().with_row_bits(8).unwrap().with_seed(9);
        let StoreRecord { analyser, generations, created_at_millis, settings, .. } = record();
        let admission_distance = design.most_distance();
        let sketch = "minhash".to_owned();
        let record =
            StoreRecord { sketch, design, admission_distance, analyser, generations, created_at_millis, settings };
        let golden = include_str!("../../tests/data/store-record-minhash.hex");
        assert_eq!(hex(&record.encode()), golden.split_whitespace().collect::<String>());
        assert_eq!(StoreRecord::decode(&record.encode(), "minhash"), Ok(record.clone()));
        assert!(matches!(Record::decode(&record.encode(), "simhash64"), Err(RecordError::Sketch(_))));
        // Bands that need more rows than there are.
        let bytes = record.encode();
        let at = bytes.windows(2).rposition(|pair| pair == [18, 0]).unwrap();
        let mut damaged = bytes[..bytes.len() - CHECKSUM_BYTES].to_vec();
        damaged[at + 1] = 1;
        damaged.extend(checksum(&damaged).to_be_bytes());
        let decoded = StoreRecord::<crate::MinhashDesign>::decode(&damaged, "minhash");
        assert!(matches!(decoded, Err(RecordError::Malformed(_))), "{decoded:?}");
    }

    #[test]
    fn a_record_of_the_first_format_has_one_live_generation() {
        let golden: String = include_str!("../../tests/data/store-record-v1.hex").split_whitespace().collect();
        let bytes: Vec<u8> =
            (0..golden.len() / 2).map(|i| u8::from_str_radix(&golden[2 * i..2 * i + 2], 16).unwrap()).collect();
        let generations = Generations { live: 3, frozen: None, sealed: None };
        assert_eq!(Record::decode(&bytes, "simhash64"), Ok(StoreRecord { generations, ..record() }));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let bytes = record().encode();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&damaged, "simhash64").is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Record::decode(&bytes[..length], "simhash64").is_err(), "{length} bytes");
        }
        assert_eq!(Record::decode(b"something", "simhash64"), Err(RecordError::NoRecord));
    }

    #[test]
    fn another_version_is_named_whatever_follows_it() {
        let mut bytes = record().encode();
        bytes[9] = 7;
        bytes.truncate(12);
        assert_eq!(Record::decode(&bytes, "simhash64"), Err(RecordError::Version(7)));
    }

    #[test]
    fn another_kind_of_sketch_is_named_whatever_its_design() {
        let mut bytes = record().encode();
        // The choice of the design: one that this build does not know.
        bytes[HEADER_BYTES + 17] = 9;
        let end = bytes.len() - CHECKSUM_BYTES;
        bytes.truncate(end);
        bytes.extend(checksum(&bytes).to_be_bytes());
        assert_eq!(Record::decode(&bytes, "minhash"), Err(RecordError::Sketch("simhash64".into())));
        assert!(matches!(Record::decode(&bytes, "simhash64"), Err(RecordError::Malformed(_))));
    }

    #[test]
    fn hostile_lengths_are_an_error_and_no_allocation() {
        // A payload whose first string claims 2^60 bytes, with a right checksum.
        let mut bytes = [&MAGIC[..], &VERSION.to_be_bytes(), &8u32.to_be_bytes(), &(1u64 << 60).to_le_bytes()].concat();
        bytes.extend(checksum(&bytes).to_be_bytes());
        assert!(matches!(Record::decode(&bytes, "simhash64"), Err(RecordError::Malformed(_))));
    }

    proptest::proptest! {
        #[test]
        fn the_decoder_takes_any_payload(payload: Vec<u8>) {
            let length = u32::try_from(payload.len()).unwrap();
            let mut bytes = [&MAGIC[..], &VERSION.to_be_bytes(), &length.to_be_bytes(), &payload].concat();
            bytes.extend(checksum(&bytes).to_be_bytes());
            if let Ok(record) = Record::decode(&bytes, "simhash64") {
                proptest::prop_assert_eq!(record.encode(), bytes.clone());
            }
            // The same as a record of the first format.
            bytes.truncate(HEADER_BYTES + payload.len());
            bytes[9] = 1;
            bytes.extend(checksum(&bytes).to_be_bytes());
            let _ = Record::decode(&bytes, "simhash64");
        }
    }
}
