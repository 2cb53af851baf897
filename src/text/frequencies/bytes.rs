//! Tables of frequencies as bytes; `docs/format.md` is the specification. The decoder is total.

use super::{Counted, Frequencies};
use crate::hash::Checksum;

const MAGIC: &[u8; 8] = b"NEARFREQ";
const VERSION: u16 = 1;
const OF_FEATURES: u8 = 0;
const OF_LINES: u8 = 1;

impl Frequencies {
    /// Hands on all bytes but the checksum behind them.
    fn each_part(&self, mut take: impl FnMut(&[u8])) {
        let (kind, analyser) = match &self.counted {
            Counted::Features(analyser) => (OF_FEATURES, &analyser[..]),
            Counted::Lines => (OF_LINES, ""),
        };
        let length = u16::try_from(analyser.len()).expect("a description is shorter than a store record");
        let entries = self.hashes.len() as u64;
        let head = [
            &MAGIC[..],
            &VERSION.to_be_bytes(),
            &[kind],
            &length.to_be_bytes(),
            analyser.as_bytes(),
            &self.documents.to_be_bytes(),
            &self.least_documents.to_be_bytes(),
            &entries.to_be_bytes(),
        ];
        take(&head.concat());
        for hash in &self.hashes {
            take(&hash.to_be_bytes());
        }
        take(&self.levels);
    }

    /// The hash of all bytes but itself.
    pub(super) fn checksum(&self) -> u64 {
        let mut checksum = Checksum::default();
        self.each_part(|part| checksum.update(part));
        checksum.finish()
    }

    /// Returns the bytes of the table, as `nearstone idf` writes them.
    ///
    /// ```
    /// use nearstone::{Analyser, Frequencies, FrequencyCounter};
    ///
    /// let analyser = Analyser::default();
    /// let mut counter = FrequencyCounter::of_features(&analyser).least_documents(1);
    /// counter.add(analyser.distinct_features("one two three"))?;
    /// let table = counter.finish()?;
    /// assert_eq!(Frequencies::from_bytes(&table.to_bytes())?, table);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(9 * self.hashes.len() + 256);
        self.each_part(|part| bytes.extend_from_slice(part));
        bytes.extend_from_slice(&self.identity.to_be_bytes());
        bytes
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`FrequenciesError`] where the bytes are no table, one of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FrequenciesError> {
        let damaged = |what: &str| FrequenciesError::other(format!("it is damaged: {what}"));
        let rest =
            bytes.strip_prefix(MAGIC).ok_or_else(|| FrequenciesError::other("it is no such table".to_owned()))?;
        // The version comes before everything else: another one may lay out the rest differently.
        let (version, _) = rest.split_first_chunk::<2>().ok_or_else(|| damaged("it is cut short"))?;
        let version = u16::from_be_bytes(*version);
        if version != VERSION {
            let what = format!("it is of version {version}, and this build reads {VERSION}");
            return Err(FrequenciesError { what, foreign: Some((version, VERSION)) });
        }
        let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| damaged("it is cut short"))?;
        if crate::hash::checksum(body).to_be_bytes() != *sum {
            return Err(damaged("its checksum is wrong"));
        }
        let table = Reader(&body[MAGIC.len() + 2..]).table();
        table.filter(|table| table.identity.to_be_bytes() == *sum).ok_or_else(|| damaged("its fields do not fit"))
    }
}

/// Why bytes are not a table of frequencies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct FrequenciesError {
    what: String,
    /// The version that is not the one which is read.
    pub(crate) foreign: Option<(u16, u16)>,
}

impl FrequenciesError {
    fn other(what: String) -> Self {
        Self { what, foreign: None }
    }
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn table(mut self) -> Option<Frequencies> {
        let [kind] = self.array()?;
        let length = u16::from_be_bytes(self.array()?);
        let analyser = std::str::from_utf8(self.take(length.into())?).ok()?;
        let counted = match kind {
            OF_FEATURES => Counted::Features(analyser.to_owned()),
            OF_LINES if analyser.is_empty() => Counted::Lines,
            _ => return None,
        };
        let documents = u64::from_be_bytes(self.array()?);
        let least_documents = u32::from_be_bytes(self.array()?);
        let entries = usize::try_from(u64::from_be_bytes(self.array()?)).ok()?;
        // Lengths are checked before anything is allocated.
        let hashes = self.take(entries.checked_mul(8)?)?;
        let levels = self.take(entries)?;
        if !self.0.is_empty() {
            return None;
        }
        let hashes: Vec<u64> =
            hashes.chunks_exact(8).map(|c| u64::from_be_bytes(c.try_into().expect("8 bytes"))).collect();
        hashes
            .is_sorted_by(|a, b| a < b)
            .then(|| Frequencies::new(counted, documents, least_documents, hashes, levels.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Frequencies {
        let counted = Counted::Features("words".to_owned());
        Frequencies::new(counted, 1000, 2, vec![1, 0x0123_4567_89ab_cdef, u64::MAX], vec![8, 79, 12])
    }

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let document = include_str!("../../../docs/format.md");
        let row =
            document.lines().find(|line| line.starts_with("| table of frequencies |")).expect("a row of the examples");
        let expected: Vec<u8> =
            row.split('`').nth(1).unwrap().split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        assert_eq!(table().to_bytes(), expected, "{:02x?}", table().to_bytes());
    }

    #[test]
    fn tables_come_back() {
        let lines = Frequencies::new(Counted::Lines, 7, 2, vec![], vec![]);
        for table in [table(), lines] {
            let back = Frequencies::from_bytes(&table.to_bytes()).unwrap();
            assert_eq!(
                (&back.counted, back.documents, back.least_documents),
                (&table.counted, table.documents, table.least_documents)
            );
            assert_eq!((back.hashes, back.levels, back.identity), (table.hashes, table.levels, table.identity));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let bytes = table().to_bytes();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Frequencies::from_bytes(&damaged).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Frequencies::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
        }
        let mut later = bytes;
        later[9] = 2;
        let error = Frequencies::from_bytes(&later).unwrap_err().to_string();
        assert!(error.contains("version 2") && error.contains("reads 1"), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_refused_whatever_its_checksum() {
        let sealed = |mut bytes: Vec<u8>| {
            bytes.truncate(bytes.len() - 8);
            bytes.extend(crate::hash::checksum(&bytes).to_be_bytes());
            bytes
        };
        let whole = table().to_bytes();
        let entries = whole.len() - 8 - 3 * 9 - 8;
        for (at, to) in [(10, 2), (11, 1), (entries, 0xff), (entries + 7, 2), (entries + 7, 4), (entries + 15, 0xff)] {
            let mut bytes = whole.clone();
            bytes[at] = to;
            let found = Frequencies::from_bytes(&sealed(bytes));
            // The first hash may become another one that is still the least.
            assert!(found.is_err() || at == entries + 15, "byte {at}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_decoder_takes_any_bytes(mut body: Vec<u8>) {
            body.splice(0..0, MAGIC.iter().copied().chain([0, 1]));
            body.extend(crate::hash::checksum(&body).to_be_bytes());
            if let Ok(table) = Frequencies::from_bytes(&body) {
                proptest::prop_assert_eq!(table.to_bytes(), body);
            }
        }
    }
}
