//! The permuted tables of a store of fingerprints.

mod ask;
mod cold;
mod leaves;
mod live;
mod probe;
mod ranges;
mod scratch;
mod shares;
mod stretches;
mod strip;
mod sweep;
mod values;
mod within;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::many::NearMany;
use super::sketch::{Ask, Index};
use super::view::Layer;
use super::work::Work;
use super::{QueryStats, TableStats};
use crate::design::cost::Stored;
use crate::engine::{Batch, Engine, Handle};
use crate::format::families::Family;
use crate::format::keys::TableKeys;
use crate::format::record::Generations;
use crate::format::{Decoded, Malformed};
use crate::{Fingerprint, Probes, Result, Table, TableDesign};
use live::LiveValues;
pub(crate) use ranges::Ranges;
use shares::Shares;
use stretches::Stretches;
pub(crate) use values::{PageValues, Values};

/// The tables of the generations of a store.
pub struct Tables {
    design: TableDesign,
    keys: Vec<TableKeys>,
    live: Rows,
    frozen: Option<Rows>,
    sealed: Option<SealedTables>,
    shares: Arc<Shares>,
    /// The probes for each distance, found when it is first asked for; `None` where a scan is due.
    probes: Arc<ProbesByDistance>,
}

type ProbesByDistance = [OnceLock<Option<Probes>>; TableDesign::MAX_DISTANCE as usize + 1];

/// The tables of a generation with a key for each entry.
struct Rows {
    families: Vec<Handle>,
    /// Whether anything was ever written to the generation.
    is_used: Arc<AtomicBool>,
    generation: u64,
    /// What the families have, in memory.
    values: Arc<LiveValues>,
}

/// The tables of the sealed generation.
struct SealedTables {
    number: u64,
    families: Vec<Handle>,
    /// The number of values in each.
    sketches: u64,
    stretches: Arc<Stretches>,
}

/// Room for the stretches of sealed tables, until they are told what they may take.
fn stretches_of(engine: &Engine, design: &TableDesign, sketches: u64) -> Arc<Stretches> {
    let bytes = Stretches::bytes_of_all(design, sketches).min(engine.cache_capacity_bytes() / 4 * 3);
    Arc::new(Stretches::new(design, sketches, bytes))
}

/// More bytes than a table entry takes in a file.
const MOST_ENTRY_BYTES: u64 = 24;

/// About how many entries a table with keys has. The engine's estimate may sink too low after many deletions, but files do
/// not.
fn sketches_of(engine: &Engine, family: &Handle) -> Result<u64> {
    Ok(engine.approximate_keys(family)?.max(engine.file_bytes(family)? / MOST_ENTRY_BYTES))
}

impl Tables {
    pub(in crate::store) fn probes(&self, distance: u32) -> Option<&Probes> {
        self.probes[distance as usize].get_or_init(|| self.design.probes_for(distance)).as_ref()
    }

    fn tables(&self) -> impl Iterator<Item = (usize, &Table, TableKeys)> {
        self.design.tables().iter().zip(&self.keys).enumerate().map(|(i, (table, &keys))| (i, table, keys))
    }

    /// The generations that have entries of their own, the newest first.
    fn rows(&self) -> impl Iterator<Item = &Rows> {
        [Some(&self.live), self.frozen.as_ref()].into_iter().flatten().filter(|rows| rows.is_used())
    }

    /// About how many distinct sketches there are.
    pub(in crate::store) fn sketches(&self, engine: &Engine) -> Result<u64> {
        Ok(self.stored(engine)?.all())
    }

    fn stored(&self, engine: &Engine) -> Result<Stored> {
        let sealed = self.sealed.as_ref().map_or(0, |sealed| sealed.sketches);
        let mut stored = Stored { sealed, live: 0, in_memory: 0 };
        for rows in self.rows() {
            let sketches = sketches_of(engine, &rows.families[0])?;
            stored.live += sketches;
            stored.in_memory += if rows.values.are_given_up() { 0 } else { sketches };
        }
        Ok(stored)
    }

    /// Reads ranges of a table, as it is now.
    pub(in crate::store) fn ranges(&self, engine: &Engine, table: usize) -> Ranges {
        let rows = self.rows().map(|rows| engine.scan(&rows.families[table])).collect();
        let pages = self.sealed.as_ref().map(|sealed| engine.scan(&sealed.families[table]));
        Ranges::new(self.keys[table], rows, pages, engine.path())
    }
}

impl Rows {
    fn is_used(&self) -> bool {
        self.is_used.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl Index<Fingerprint> for Tables {
    const IS_PINNED: bool = false;
    type Pinned = ();

    fn open(
        engine: &Engine,
        design: &TableDesign,
        generations: Generations,
        [live_used, frozen_used]: [Option<Arc<AtomicBool>>; 2],
        before: Option<&Self>,
    ) -> Result<Self> {
        let keys: Vec<_> = design.tables().iter().map(|table| TableKeys::new(table.prefix_bits())).collect();
        let rows = |generation, is_used: Option<Arc<AtomicBool>>| {
            let families = keys
                .iter()
                .enumerate()
                .map(|(index, keys)| engine.family(Family::Table { index, head_bytes: keys.head_bytes(), generation }));
            let families = families.collect::<Result<Vec<Handle>>>()?;
            let is_used = is_used.unwrap_or_default();
            let known = before.into_iter().flat_map(|before| [Some(&before.live), before.frozen.as_ref()]).flatten();
            let known = known.filter(|rows| rows.generation == generation).map(|rows| Arc::clone(&rows.values)).next();
            let values = if let Some(known) = known {
                known
            } else {
                // Nobody writes to a generation before the first view that has it.
                let is_empty = !is_used.load(std::sync::atomic::Ordering::SeqCst);
                let sketches = if is_empty { 0 } else { sketches_of(engine, &families[0])?.max(1) };
                Arc::new(LiveValues::new(design, sketches, shares::most_live_bytes(engine)))
            };
            Ok::<_, crate::Error>(Rows { families, is_used, generation, values })
        };
        let sealed = generations.sealed.map(|sealed| {
            let families =
                (0..keys.len()).map(|index| engine.family(Family::Pages { index, generation: sealed.number }));
            let known =
                before.and_then(|before| before.sealed.as_ref()).filter(|before| before.number == sealed.number);
            let stretches = known.map(|before| Arc::clone(&before.stretches));
            Ok::<_, crate::Error>(SealedTables {
                number: sealed.number,
                families: families.collect::<Result<_>>()?,
                sketches: sealed.sketches,
                stretches: stretches.unwrap_or_else(|| stretches_of(engine, design, sealed.sketches)),
            })
        });
        let sealed = sealed.transpose()?;
        let probes = before
            .map_or_else(|| Arc::new(std::array::from_fn(|_| OnceLock::new())), |before| Arc::clone(&before.probes));
        let tables = Self {
            live: rows(generations.live, live_used)?,
            frozen: generations.frozen.map(|generation| rows(generation, frozen_used)).transpose()?,
            sealed,
            design: design.clone(),
            shares: before.map_or_else(Arc::default, |before| Arc::clone(&before.shares)),
            keys,
            probes,
        };
        tables.share_anew(engine);
        Ok(tables)
    }

    fn row_families(&self, layer: Layer) -> &[Handle] {
        match layer {
            Layer::Live => &self.live.families,
            Layer::Frozen => self.frozen.as_ref().map_or(&[], |rows| &rows.families),
            Layer::Sealed => &[],
        }
    }

    fn page_families(&self) -> &[Handle] {
        self.sealed.as_ref().map_or(&[], |sealed| &sealed.families)
    }

    fn values(&self, engine: &Engine, table: usize) -> Values {
        let rows = self.rows().map(|rows| engine.scan(&rows.families[table])).collect();
        let pages =
            self.sealed.as_ref().map(|sealed| PageValues::new(engine.scan(&sealed.families[table]), engine.path()));
        Values::new(self.keys[table], rows, pages, engine.path())
    }

    fn key_of(&self, table: usize, value: u64) -> Fingerprint {
        self.design.tables()[table].restore(value)
    }

    fn value(&self, table: usize, sketch: &Fingerprint, _key: Fingerprint) -> u64 {
        self.design.tables()[table].permute(*sketch)
    }

    fn may_have(&self, layer: Layer, sketch: Fingerprint) -> bool {
        let rows = match layer {
            Layer::Live => Some(&self.live),
            Layer::Frozen => self.frozen.as_ref(),
            Layer::Sealed => None,
        };
        rows.is_none_or(|rows| rows.values.may_have(&self.design, sketch))
    }

    fn decode(&self, table: usize, entry: &[u8]) -> Decoded<u64> {
        self.keys[table].decode(entry)
    }

    fn encode(&self, table: usize, value: u64) -> impl AsRef<[u8]> {
        self.keys[table].encode(value)
    }

    fn find(&self, _engine: &Engine, sketch: &Fingerprint) -> Result<Option<Fingerprint>> {
        Ok(Some(*sketch))
    }

    fn new_key(&self, sketch: &Fingerprint) -> Result<Fingerprint> {
        Ok(*sketch)
    }

    fn sketch(&self, _engine: &Engine, key: Fingerprint) -> Result<Option<Fingerprint>> {
        Ok(Some(key))
    }

    fn sketch_family(&self, _layer: Layer) -> Option<&Handle> {
        None
    }

    fn values_of(&self, _key: &[u8], _sketch: &[u8]) -> Decoded<Vec<u64>> {
        Err(Malformed("fingerprints have no family of their own".to_owned()))
    }

    fn pin(&self, _engine: &Engine) {}

    fn pinned((): &mut (), key: Fingerprint) -> Result<Option<Fingerprint>> {
        Ok(Some(key))
    }

    fn cached_bytes(&self) -> u64 {
        self.live_bytes() + self.sealed.as_ref().map_or(0, |sealed| sealed.stretches.bytes())
    }

    fn put(&self, batch: &mut Batch<'_>, sketches: &[Fingerprint], _keys: &[Fingerprint]) {
        if let [sketch] = sketches {
            for (i, table, keys) in self.tables() {
                batch.put(&self.live.families[i], keys.encode(table.permute(*sketch)).as_ref(), &[]);
            }
            return;
        }
        let mut permuted = Vec::with_capacity(sketches.len());
        for (i, table, keys) in self.tables() {
            permuted.clear();
            permuted.extend(sketches.iter().map(|sketch| table.permute(*sketch)));
            // In the order of the keys, neighbours are still in the processor's cache.
            permuted.sort_unstable();
            for &value in &permuted {
                batch.put(&self.live.families[i], keys.encode(value).as_ref(), &[]);
            }
        }
    }

    fn delete(&self, batch: &mut Batch<'_>, sketch: &Fingerprint, _key: Fingerprint) {
        for (i, table, keys) in self.tables() {
            batch.delete(&self.live.families[i], keys.encode(table.permute(*sketch)).as_ref());
        }
    }

    fn announce(&self, sketches: &[Fingerprint]) {
        self.live.values.announce(&self.design, sketches);
    }

    fn settle(&self, engine: &Engine, announced: &[Fingerprint], removed: &[Fingerprint]) {
        self.live.values.remove(&self.design, removed);
        self.live.values.settle(&self.design, announced);
        self.share(engine);
    }

    fn near(
        &self,
        engine: &Engine,
        ask: &Ask<'_, Fingerprint>,
        work: &mut Work,
        stats: &mut QueryStats,
    ) -> Result<Vec<(u32, Fingerprint)>> {
        let near = self.near_one(engine, ask, work, stats);
        self.share(engine);
        near
    }

    fn near_all(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        max_distance: u32,
        threads: usize,
    ) -> Result<NearMany<Fingerprint, Fingerprint>> {
        let near = self.near_many(engine, sketches, max_distance, threads);
        self.share(engine);
        near
    }

    fn near_each(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        max_distance: u32,
        work: &mut [Work],
    ) -> Result<Vec<Vec<(u32, Fingerprint)>>> {
        let near = self.near_few(engine, sketches, max_distance, work);
        self.share(engine);
        near
    }
}
