//! The bands of a store of signatures.
//!
//! 1. Each distinct signature has a number, which it gets when it is first stored: one more than any before. Documents and
//!    holders name it by that, and `signatures` has the rows by the number.
//! 2. A band has an entry for each signature: 32 bits of the hash of the rows of the band, then the number. What two
//!    signatures have in common in a band is one prefix. Hashes that are equal by chance are candidates that are refused.
//! 3. Who writes a signature holds a claim on it, so no two numbers are given to equal ones at the same time. A number
//!    may be given again after a store was opened anew if its signature is gone; then nothing names it any more.

mod near;
mod pairs;
mod repair;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::many::NearMany;
use super::sketch::{Ask, Index, NearKeys, SignatureNumber};
use super::tables::Values;
use super::view::Layer;
use super::work::Work;
use super::{QueryStats, threads};
use crate::engine::{Batch, Engine, Handle, Scan, malformed};
use crate::format::design::BAND_PREFIX_BITS;
use crate::format::families::Family;
use crate::format::keys::TableKeys;
use crate::format::record::Generations;
use crate::format::{Decoded, Malformed, signatures};
use crate::{Error, MinhashDesign, Result, Signature};

pub use pairs::SignaturePairs;

/// The keys of a band.
fn keys() -> TableKeys {
    TableKeys::new(BAND_PREFIX_BITS)
}

/// The bands of the generations of a store.
pub struct Bands {
    design: MinhashDesign,
    live: Rows,
    frozen: Option<Rows>,
    /// The number of the next signature.
    next: Arc<AtomicU64>,
}

/// The signatures and bands of a generation.
struct Rows {
    signatures: Handle,
    bands: Vec<Handle>,
    is_used: Arc<AtomicBool>,
}

impl Rows {
    fn is_used(&self) -> bool {
        self.is_used.load(Ordering::SeqCst)
    }
}

impl Bands {
    /// The generations that have entries, the newest first.
    fn rows(&self) -> impl Iterator<Item = &Rows> {
        [Some(&self.live), self.frozen.as_ref()].into_iter().flatten().filter(|rows| rows.is_used())
    }

    /// The bits of a band of a signature by which it is found.
    fn prefix(&self, signature: &Signature, band: usize) -> u64 {
        prefix(&self.design, signature, band)
    }

    /// The entry of a signature in a band, as a number.
    fn value_of(&self, signature: &Signature, band: usize, number: u64) -> u64 {
        self.prefix(signature, band) << (64 - BAND_PREFIX_BITS) | number
    }
}

/// The bits of a band of a signature by which it is found.
fn prefix(design: &MinhashDesign, signature: &Signature, band: usize) -> u64 {
    let band = u32::try_from(band).expect("at most 1024 bands");
    let hash = design.bands().band_hash(signature, band).expect("a signature of the store has all bands");
    keys().prefix(hash)
}

/// The entries of a signature in all bands, as numbers.
fn values_of(design: &MinhashDesign, signature: &Signature, number: u64) -> impl Iterator<Item = u64> {
    let bands = design.bands().bands() as usize;
    (0..bands).map(move |band| prefix(design, signature, band) << (64 - BAND_PREFIX_BITS) | number)
}

/// More signatures than this have no numbers.
const MOST_SIGNATURES: u64 = 1 << (64 - BAND_PREFIX_BITS);

fn number_of(value: u64) -> u64 {
    value & (MOST_SIGNATURES - 1)
}

/// One more than any number that is given.
fn next_number(engine: &Engine, rows: &[&Rows]) -> Result<u64> {
    let mut next = 0;
    for rows in rows {
        if let Some(key) = engine.last_key(&rows.signatures)? {
            next = next.max(number(&key).map_err(|e| malformed(engine.path(), e))? + 1);
        }
    }
    Ok(next)
}

/// The number of a key of the signatures.
fn number(key: &[u8]) -> Decoded<u64> {
    let number = key.try_into().ok().map(u64::from_be_bytes).filter(|&number| number < MOST_SIGNATURES);
    number.ok_or_else(|| Malformed(format!("the key of a signature has {} bytes, or is too large", key.len())))
}

impl Index<Signature> for Bands {
    const IS_PINNED: bool = true;
    type Pinned = Pinned;

    fn open(
        engine: &Engine,
        design: &MinhashDesign,
        generations: Generations,
        [live_used, frozen_used]: [Option<Arc<AtomicBool>>; 2],
        before: Option<&Self>,
    ) -> Result<Self> {
        if generations.sealed.is_some() {
            let what = "it has sealed signatures, which this build does not read".to_owned();
            return Err(Error::Corrupt { path: engine.path().to_owned(), what });
        }
        let rows = |generation, is_used: Option<Arc<AtomicBool>>| {
            let head_bytes = keys().head_bytes();
            let bands = (0..design.bands().bands() as usize)
                .map(|index| engine.family(Family::Band { index, head_bytes, generation }));
            let signatures = engine.family(Family::Signatures { generation })?;
            let bands = bands.collect::<Result<_>>()?;
            Ok::<_, Error>(Rows { signatures, bands, is_used: is_used.unwrap_or_default() })
        };
        let live = rows(generations.live, live_used)?;
        let frozen = generations.frozen.map(|generation| rows(generation, frozen_used)).transpose()?;
        let next = if let Some(before) = before {
            Arc::clone(&before.next)
        } else {
            let all: Vec<&Rows> = [Some(&live), frozen.as_ref()].into_iter().flatten().collect();
            Arc::new(AtomicU64::new(next_number(engine, &all)?))
        };
        Ok(Self { design: *design, live, frozen, next })
    }

    fn row_families(&self, layer: Layer) -> &[Handle] {
        match layer {
            Layer::Live => &self.live.bands,
            Layer::Frozen => self.frozen.as_ref().map_or(&[], |rows| &rows.bands),
            Layer::Sealed => &[],
        }
    }

    fn page_families(&self) -> &[Handle] {
        &[]
    }

    fn values(&self, engine: &Engine, table: usize) -> Values {
        let rows = self.rows().map(|rows| engine.scan(&rows.bands[table])).collect();
        Values::new(keys(), rows, None, engine.path())
    }

    fn key_of(&self, _table: usize, value: u64) -> SignatureNumber {
        SignatureNumber(number_of(value))
    }

    fn value(&self, table: usize, sketch: &Signature, key: SignatureNumber) -> u64 {
        self.value_of(sketch, table, key.0)
    }

    fn decode(&self, _table: usize, entry: &[u8]) -> Decoded<u64> {
        keys().decode(entry)
    }

    fn encode(&self, _table: usize, value: u64) -> impl AsRef<[u8]> {
        keys().encode(value)
    }

    fn may_have(&self, _layer: Layer, _key: SignatureNumber) -> bool {
        true
    }

    fn find(&self, engine: &Engine, sketch: &Signature) -> Result<Option<SignatureNumber>> {
        self.itself(engine, sketch)
    }

    fn new_key(&self, _sketch: &Signature) -> Result<SignatureNumber> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        if number < MOST_SIGNATURES {
            return Ok(SignatureNumber(number));
        }
        self.next.store(MOST_SIGNATURES, Ordering::SeqCst);
        Err(Error::Signature { reason: format!("a store has at most {MOST_SIGNATURES} distinct ones: begin another") })
    }

    fn sketch(&self, engine: &Engine, key: SignatureNumber) -> Result<Option<Signature>> {
        for rows in self.rows() {
            if let Some(bytes) = engine.get(&rows.signatures, &key.0.to_be_bytes())? {
                return self.decoded(engine, &bytes).map(Some);
            }
        }
        Ok(None)
    }

    fn sketch_family(&self, layer: Layer) -> Option<&Handle> {
        match layer {
            Layer::Live => Some(&self.live.signatures),
            Layer::Frozen => self.frozen.as_ref().map(|rows| &rows.signatures),
            Layer::Sealed => None,
        }
    }

    fn values_of(&self, key: &[u8], sketch: &[u8]) -> Decoded<Vec<u64>> {
        let number = number(key)?;
        let signature = signatures::decode(sketch, &self.design)?;
        Ok(values_of(&self.design, &signature, number).collect())
    }

    fn pin(&self, engine: &Engine) -> Pinned {
        let scans = self.rows().map(|rows| engine.scan(&rows.signatures)).collect();
        Pinned { scans, design: self.design, path: engine.path().to_owned() }
    }

    fn pinned(pinned: &mut Pinned, key: SignatureNumber) -> Result<Option<Signature>> {
        let number = key.0.to_be_bytes();
        for scan in &mut pinned.scans {
            if let Some((_, bytes)) = scan.seek(&number)?.filter(|(key, _)| *key == number) {
                let signature = signatures::decode(bytes, &pinned.design);
                return signature.map(Some).map_err(|e| malformed(&pinned.path, e));
            }
        }
        Ok(None)
    }

    fn cached_bytes(&self) -> u64 {
        0
    }

    fn put(&self, batch: &mut Batch<'_>, sketches: &[Signature], keyed: &[SignatureNumber]) {
        for (sketch, number) in sketches.iter().zip(keyed) {
            batch.put(&self.live.signatures, &number.0.to_be_bytes(), &signatures::encode(sketch));
        }
        for (band, family) in self.live.bands.iter().enumerate() {
            for (sketch, number) in sketches.iter().zip(keyed) {
                batch.put(family, keys().encode(self.value_of(sketch, band, number.0)).as_ref(), &[]);
            }
        }
    }

    fn delete(&self, batch: &mut Batch<'_>, sketch: &Signature, key: SignatureNumber) {
        batch.delete(&self.live.signatures, &key.0.to_be_bytes());
        for (band, family) in self.live.bands.iter().enumerate() {
            batch.delete(family, keys().encode(self.value_of(sketch, band, key.0)).as_ref());
        }
    }

    fn announce(&self, _keys: &[SignatureNumber]) {}

    fn settle(&self, _engine: &Engine, _announced: &[SignatureNumber], _removed: &[SignatureNumber]) {}

    fn near(
        &self,
        engine: &Engine,
        ask: &Ask<'_, Signature>,
        work: &mut Work,
        stats: &mut QueryStats,
    ) -> Result<NearKeys<Signature>> {
        self.near_one(engine, ask.sketch, ask.max_distance, work, stats)
    }

    fn near_all(
        &self,
        engine: &Engine,
        sketches: &[Signature],
        max_distance: u32,
        threads: usize,
    ) -> Result<NearMany<Signature, SignatureNumber>> {
        let parts: Vec<&[Signature]> = sketches.chunks(near::TOGETHER).collect();
        let near = threads::in_threads(threads, parts.len(), |part| self.near_part(engine, parts[part], max_distance))?;
        Ok(NearMany::of_each(near.into_iter().flatten()))
    }

    fn near_each(
        &self,
        engine: &Engine,
        sketches: &[Signature],
        max_distance: u32,
        work: &mut [Work],
    ) -> Result<Vec<NearKeys<Signature>>> {
        let alone = |(sketch, work): (&Signature, &mut Work)| {
            self.near_one(engine, sketch, max_distance, work, &mut QueryStats::default())
        };
        sketches.iter().zip(work).map(alone).collect()
    }
}

/// Signatures as they were at one moment.
pub(crate) struct Pinned {
    scans: Vec<Scan>,
    design: MinhashDesign,
    path: std::path::PathBuf,
}
