//! The permuted tables of a store of fingerprints.

mod cold;
mod probe;
mod ranges;
mod scratch;
mod stretches;
mod sweep;
mod values;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::sketch::{Ask, Index, NearOne, Way};
use super::view::Layer;
use super::work::{Limits, Work};
use super::{QueryStats, TableStats};
use crate::design::{cost, visit_prefixes};
use crate::engine::{Batch, Engine, Handle, Tier, Visited};
use crate::format::Decoded;
use crate::format::families::Family;
use crate::format::keys::TableKeys;
use crate::format::record::Generations;
use crate::{Fingerprint, Probes, Result, Table, TableDesign};
use cold::Cold;
use probe::{Near, Probed, Reader};
pub(crate) use ranges::Ranges;
use stretches::Stretches;
pub(crate) use values::{PageValues, Values};

/// The tables of the generations of a store.
pub struct Tables {
    design: TableDesign,
    keys: Vec<TableKeys>,
    live: Rows,
    frozen: Option<Rows>,
    sealed: Option<SealedTables>,
    /// The probes for each distance, found when it is first asked for; `None` where a scan is due.
    probes: Arc<ProbesByDistance>,
}

type ProbesByDistance = [OnceLock<Option<Probes>>; TableDesign::MAX_DISTANCE as usize + 1];

/// The tables of a generation with a key for each entry.
struct Rows {
    families: Vec<Handle>,
    /// Whether anything was ever written to the generation.
    is_used: Arc<AtomicBool>,
}

/// The tables of the sealed generation.
struct SealedTables {
    number: u64,
    families: Vec<Handle>,
    /// The number of values in each.
    sketches: u64,
    stretches: Arc<Stretches>,
}

/// Room for the stretches of sealed tables: as much as they can use of three quarters of what caches may take.
fn stretches_of(engine: &Engine, design: &TableDesign, sketches: u64) -> Arc<Stretches> {
    let bytes = Stretches::bytes_of_all(design, sketches).min(engine.cache_capacity_bytes() / 4 * 3);
    engine.spare_cache(bytes);
    Arc::new(Stretches::new(design, sketches, bytes))
}

/// More bytes than a table entry takes in a file.
const MOST_ENTRY_BYTES: u64 = 24;

/// So many probes are listed and sorted at once.
const MOST_PROBES: u64 = 1 << 19;

/// More sketches than this are not held for the queries of a chunk.
const MOST_FOUND: usize = 1 << 21;

/// So many candidates are worth a thought about what is left.
const CROWD: u64 = 20_000;

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

    /// About how many distinct sketches there are. The engine's estimate may sink too low after many
    /// deletions, but files do not.
    pub(in crate::store) fn sketches(&self, engine: &Engine) -> Result<u64> {
        let mut sum = self.sealed.as_ref().map_or(0, |sealed| sealed.sketches);
        for rows in self.rows() {
            let family = &rows.families[0];
            sum += engine.approximate_keys(family)?.max(engine.file_bytes(family)? / MOST_ENTRY_BYTES);
        }
        Ok(sum)
    }

    /// Reads ranges of a table, as it is now.
    pub(in crate::store) fn ranges(&self, engine: &Engine, table: usize) -> Ranges {
        let rows = self.rows().map(|rows| engine.scan(&rows.families[table])).collect();
        let pages = self.sealed.as_ref().map(|sealed| engine.scan(&sealed.families[table]));
        Ranges::new(self.keys[table], rows, pages, engine.path())
    }

    /// The probes for a distance, unless reading a table from end to end is cheaper.
    fn probes_unless_scan(&self, engine: &Engine, distance: u32, way: Way) -> Result<Option<&Probes>> {
        let Some(probes) = self.probes(distance) else { return Ok(None) };
        let is_weighed = way == Way::Cheapest && cost::may_be_scanned(probes);
        let is_scanned = is_weighed && cost::is_scanned(&self.design, probes, self.sketches(engine)?);
        Ok((!is_scanned).then_some(probes))
    }

    /// Whether the tables that are left had better be replaced by a scan, after so many candidates in those
    /// that were probed: all values may lie under one prefix of each.
    fn is_crowded(&self, engine: &Engine, work: &Work, candidates: u64, probed: usize, left: usize) -> Result<bool> {
        if candidates <= CROWD {
            return Ok(false);
        }
        let sketches = self.sketches(engine)?;
        Ok(work.allows(sketches) && cost::scan_beats_candidates(candidates / probed as u64 * left as u64, sketches))
    }

    /// All that is within distance 0: whether it is stored, its holders tell.
    fn itself(sketch: Fingerprint, work: &mut Work) -> Vec<(u32, Fingerprint)> {
        if work.take() { vec![(0, sketch)] } else { Vec::new() }
    }

    fn near_alone(
        &self,
        engine: &Engine,
        sketch: Fingerprint,
        max_distance: u32,
        work: &mut Work,
    ) -> Result<Vec<(u32, Fingerprint)>> {
        let ask = Ask { sketch: &sketch, max_distance, way: Way::Cheapest };
        self.near(engine, &ask, work, &mut QueryStats::default())
    }

    /// Reads every entry of the first table.
    fn scan(&self, engine: &Engine, near: &mut Near<'_>, stats: &mut QueryStats) -> Result<()> {
        let (_, table, keys) = self.tables().next().expect("a design has a table");
        let permuted = table.permute(near.query);
        let mut counts =
            TableStats { table: 0, prefix: keys.prefix(permuted), radius: None, probes: 0, candidates: 0, verified: 0 };
        let probed = Probed { table, query: permuted, prefix: counts.prefix };
        let mut values = self.values(engine, 0);
        while let Some(candidate) = values.next()? {
            if !near.work.take() {
                break;
            }
            near.verify(probed, candidate, &mut counts);
        }
        stats.scans += 1;
        stats.add(counts);
        Ok(())
    }
}

impl Rows {
    fn is_used(&self) -> bool {
        self.is_used.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl Index<Fingerprint> for Tables {
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
            Ok::<_, crate::Error>(Rows {
                families: families.collect::<Result<_>>()?,
                is_used: is_used.unwrap_or_default(),
            })
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
        if sealed.is_none() {
            engine.spare_cache(0);
        }
        let probes = before
            .map_or_else(|| Arc::new(std::array::from_fn(|_| OnceLock::new())), |before| Arc::clone(&before.probes));
        Ok(Self {
            live: rows(generations.live, live_used)?,
            frozen: generations.frozen.map(|generation| rows(generation, frozen_used)).transpose()?,
            sealed,
            design: design.clone(),
            keys,
            probes,
        })
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

    fn sketch(&self, table: usize, value: u64) -> Fingerprint {
        self.design.tables()[table].restore(value)
    }

    fn value(&self, table: usize, sketch: &Fingerprint) -> u64 {
        self.design.tables()[table].permute(*sketch)
    }

    fn identity(&self, family: usize, key: &[u8]) -> Decoded<impl AsRef<[u8]>> {
        let permuted = self.keys[family].decode(key)?;
        Ok(self.design.tables()[family].restore(permuted).to_be_bytes())
    }

    fn key(&self, family: usize, identity: &[u8]) -> Option<impl AsRef<[u8]>> {
        let sketch = Fingerprint::from_be_bytes(identity.try_into().ok()?);
        Some(self.keys[family].encode(self.design.tables()[family].permute(sketch)))
    }

    fn cached_bytes(&self) -> u64 {
        self.sealed.as_ref().map_or(0, |sealed| sealed.stretches.bytes())
    }

    fn put(&self, batch: &mut Batch<'_>, sketches: &[Fingerprint]) {
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

    fn delete(&self, batch: &mut Batch<'_>, sketch: &Fingerprint) {
        for (i, table, keys) in self.tables() {
            batch.delete(&self.live.families[i], keys.encode(table.permute(*sketch)).as_ref());
        }
    }

    fn near(
        &self,
        engine: &Engine,
        ask: &Ask<'_, Fingerprint>,
        work: &mut Work,
        stats: &mut QueryStats,
    ) -> Result<Vec<(u32, Fingerprint)>> {
        let &Ask { sketch, max_distance, way } = ask;
        if max_distance == 0 && way == Way::Cheapest {
            let found = Self::itself(*sketch, work);
            stats.candidates += found.len() as u64;
            return Ok(found);
        }
        let mut near = Near { query: *sketch, max_distance, work, found: Vec::new() };
        let Some(probes) = self.probes_unless_scan(engine, max_distance, way)? else {
            self.scan(engine, &mut near, stats)?;
            return Ok(near.into_found());
        };
        let mut left = probes.radii().iter().flatten().count();
        // What is cut short is cut at the same place however it is read.
        let is_shared = engine.readers().are_several() && !near.work.is_limited();
        let tier = if is_shared { Tier::Cached } else { Tier::All };
        let mut colds = Vec::new();
        for ((i, table, keys), radius) in self.tables().zip(probes.radii()) {
            let Some(radius) = *radius else { continue };
            if near.work.is_cut() {
                break;
            }
            let before = stats.tables.len().max(1);
            if way == Way::Cheapest && self.is_crowded(engine, near.work, stats.candidates, before, left)? {
                self.scan(engine, &mut near, stats)?;
                break;
            }
            left -= 1;
            let permuted = table.permute(*sketch);
            let prefix = keys.prefix(permuted);
            let mut counts =
                TableStats { table: i, prefix, radius: Some(radius), probes: 0, candidates: 0, verified: 0 };
            let mut reader = Reader::new(self, engine, i, tier)?;
            let mut prefixes = Vec::new();
            visit_prefixes(prefix, table.prefix_bits(), radius, &mut |prefix| {
                if near.work.is_cut() {
                    return Ok(());
                }
                // Where one is not cached, the next ones are rarely.
                if !prefixes.is_empty()
                    || reader.probe(Probed { table, query: permuted, prefix }, &mut near, &mut counts)?
                        == Visited::GaveUp
                {
                    prefixes.push(prefix);
                }
                Ok::<_, crate::Error>(())
            })?;
            if !prefixes.is_empty() {
                colds.push(Cold { place: stats.tables.len(), table: i, permuted, prefixes });
            }
            stats.add(counts);
        }
        if !colds.is_empty() {
            self.read_cold(engine, &colds, &mut near, stats)?;
        }
        Ok(near.into_found())
    }

    fn near_all(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        max_distance: u32,
        threads: usize,
    ) -> Result<Vec<NearOne<Fingerprint>>> {
        let alone = |sketch: &Fingerprint| {
            let (mut stats, mut work) = (QueryStats::default(), Work::new(Limits::new()));
            let ask = Ask::new(sketch, max_distance);
            let found = self.near(engine, &ask, &mut work, &mut stats)?;
            Ok::<_, crate::Error>((found, stats))
        };
        if max_distance == 0 || sketches.len() < 2 {
            return sketches.iter().map(alone).collect();
        }
        let Some(probes) = self.probes_unless_scan(engine, max_distance, Way::Cheapest)? else {
            return self.scan_each(engine, sketches, max_distance, threads);
        };
        let together = usize::try_from((MOST_PROBES / probes.total().max(1)).max(1)).unwrap_or(usize::MAX);
        let mut all = Vec::with_capacity(sketches.len());
        let mut left: Vec<&[Fingerprint]> = sketches.chunks(together).rev().collect();
        let mut found = 0;
        while let Some(chunk) = left.pop().filter(|_| found < MOST_FOUND) {
            if let [sketch] = chunk {
                let near = alone(sketch)?;
                found += near.0.len();
                all.push(near);
                continue;
            }
            if let Some(near) = self.sweep(engine, chunk, probes, threads, MOST_FOUND)? {
                found += near.iter().map(|(near, _)| near.len()).sum::<usize>();
                all.extend(near);
            } else {
                // What is found of half as many is half as much.
                let (first, second) = chunk.split_at(chunk.len() / 2);
                left.extend([second, first]);
            }
        }
        Ok(all)
    }

    fn near_each(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        max_distance: u32,
        work: &mut [Work],
    ) -> Result<Vec<Vec<(u32, Fingerprint)>>> {
        if max_distance == 0 {
            return Ok(sketches.iter().zip(work).map(|(sketch, work)| Self::itself(*sketch, work)).collect());
        }
        let probes = self.probes_unless_scan(engine, max_distance, Way::Cheapest)?;
        let Some(probes) = probes.filter(|p| p.total().saturating_mul(sketches.len() as u64) <= MOST_PROBES) else {
            return sketches
                .iter()
                .zip(work)
                .map(|(sketch, work)| self.near_alone(engine, *sketch, max_distance, work))
                .collect();
        };
        // Without a limit a crowd has ways of its own; with one, the limit is the way.
        let most = if work.first().is_some_and(Work::is_limited) { u64::MAX } else { CROWD };
        let mut near: Vec<Near<'_>> = sketches
            .iter()
            .zip(&mut *work)
            .map(|(&query, work)| Near { query, max_distance, work, found: Vec::new() })
            .collect();
        let mut candidates = vec![0; sketches.len()];
        let mut asked = Vec::new();
        for ((index, table, keys), radius) in self.tables().zip(probes.radii()) {
            let Some(radius) = *radius else { continue };
            asked.clear();
            for (i, sketch) in sketches.iter().enumerate() {
                let prefix = keys.prefix(table.permute(*sketch));
                visit_prefixes(prefix, table.prefix_bits(), radius, &mut |prefix| {
                    asked.push((prefix, i));
                    Ok::<_, crate::Error>(())
                })?;
            }
            // The cursor moves forward only, and a block that two queries need is read once.
            asked.sort_unstable();
            let mut reader = Reader::new(self, engine, index, Tier::All)?;
            for &(prefix, i) in &asked {
                let near = &mut near[i];
                if near.work.is_cut() || candidates[i] > most {
                    continue;
                }
                let permuted = table.permute(near.query);
                let mut counts = TableStats { table: 0, prefix, radius: None, probes: 0, candidates: 0, verified: 0 };
                reader.probe(Probed { table, query: permuted, prefix }, near, &mut counts)?;
                candidates[i] += counts.candidates;
            }
        }
        let mut found: Vec<_> = near.into_iter().map(Near::into_found).collect();
        for (i, _) in candidates.iter().enumerate().filter(|&(_, &candidates)| candidates > most) {
            found[i] = self.near_alone(engine, sketches[i], max_distance, &mut work[i])?;
        }
        Ok(found)
    }
}
