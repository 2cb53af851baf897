//! The permuted tables of a store of fingerprints.

use std::sync::OnceLock;

use super::sketch::{Index, Way};
use super::{QueryStats, TableStats};
use crate::design::{cost, visit_prefixes};
use crate::engine::{Batch, Engine, FamilyId, malformed};
use crate::format::families::Family;
use crate::format::keys::TableKeys;
use crate::format::record::StoreRecord;
use crate::{Fingerprint, Probes, Result, Table, TableDesign};

/// The tables of the current generation.
pub struct Tables {
    design: TableDesign,
    families: Vec<(FamilyId, TableKeys)>,
    /// The probes for each distance, found when it is first asked for; `None` where a scan is due.
    probes: [OnceLock<Option<Probes>>; TableDesign::MAX_DISTANCE as usize + 1],
}

/// More bytes than a table entry takes in a file.
const MOST_ENTRY_BYTES: u64 = 24;

/// So many candidates are worth a thought about what is left.
const CROWD: u64 = 20_000;

impl Tables {
    fn probes(&self, distance: u32) -> Option<&Probes> {
        self.probes[distance as usize].get_or_init(|| self.design.probes_for(distance)).as_ref()
    }

    fn entries(&self) -> impl Iterator<Item = (&Table, FamilyId, TableKeys)> {
        self.design.tables().iter().zip(&self.families).map(|(table, &(family, keys))| (table, family, keys))
    }

    /// About how many distinct sketches there are. The engine's estimate may sink too low after many
    /// deletions, but files do not.
    fn sketches(&self, engine: &Engine) -> Result<u64> {
        let family = self.families[0].0;
        Ok(engine.approximate_keys(family)?.max(engine.file_bytes(family)? / MOST_ENTRY_BYTES))
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
    fn is_crowded(&self, engine: &Engine, candidates: u64, probed: usize, left: usize) -> Result<bool> {
        Ok(candidates > CROWD
            && cost::scan_beats_candidates(candidates / probed as u64 * left as u64, self.sketches(engine)?))
    }

    /// Reads every entry of the first table.
    fn scan(&self, engine: &Engine, near: &mut Near, stats: &mut QueryStats) -> Result<()> {
        let (table, family, keys) = self.entries().next().expect("a design has a table");
        let permuted = table.permute(near.query);
        let mut counts =
            TableStats { table: 0, prefix: keys.prefix(permuted), radius: None, probes: 0, candidates: 0, verified: 0 };
        let mut scan = engine.scan(family)?;
        while let Some((key, _)) = scan.next()? {
            let candidate = keys.decode(key).map_err(|e| malformed(engine.path(), e))?;
            near.verify(table, permuted, candidate, &mut counts);
        }
        stats.scans += 1;
        stats.add(counts);
        Ok(())
    }
}

/// The query and what was found near it.
struct Near {
    query: Fingerprint,
    max_distance: u32,
    found: Vec<(u32, Fingerprint)>,
}

impl Near {
    /// Keeps a candidate that is near. Permuted values have the distance of the values.
    fn verify(&mut self, table: &Table, permuted: u64, candidate: u64, counts: &mut TableStats) {
        counts.candidates += 1;
        let distance = (permuted ^ candidate).count_ones();
        if distance <= self.max_distance {
            counts.verified += 1;
            self.found.push((distance, table.restore(candidate)));
        }
    }
}

impl Index<Fingerprint> for Tables {
    fn open(engine: &Engine, record: &StoreRecord) -> Result<Self> {
        let tables = record.design.tables().iter().enumerate().map(|(index, table)| {
            let keys = TableKeys::new(table.prefix_bits());
            let family = Family::Table { index, head_bytes: keys.head_bytes(), generation: record.generation };
            Ok((engine.family(family)?, keys))
        });
        let families = tables.collect::<Result<_>>()?;
        let probes = std::array::from_fn(|_| OnceLock::new());
        Ok(Self { design: record.design.clone(), families, probes })
    }

    fn put(&self, batch: &mut Batch<'_>, sketch: &Fingerprint) -> Result<()> {
        self.entries()
            .try_for_each(|(table, family, keys)| batch.put(family, keys.encode(table.permute(*sketch)).as_ref(), &[]))
    }

    fn delete(&self, batch: &mut Batch<'_>, sketch: &Fingerprint) -> Result<()> {
        self.entries()
            .try_for_each(|(table, family, keys)| batch.delete(family, keys.encode(table.permute(*sketch)).as_ref()))
    }

    fn near(
        &self,
        engine: &Engine,
        sketch: &Fingerprint,
        max_distance: u32,
        way: Way,
        stats: &mut QueryStats,
    ) -> Result<Vec<(u32, Fingerprint)>> {
        let mut near = Near { query: *sketch, max_distance, found: Vec::new() };
        let Some(probes) = self.probes_unless_scan(engine, max_distance, way)? else {
            self.scan(engine, &mut near, stats)?;
            near.found.sort_unstable();
            return Ok(near.found);
        };
        let mut left = probes.radii().iter().flatten().count();
        for (i, ((table, family, keys), radius)) in self.entries().zip(probes.radii()).enumerate() {
            let Some(radius) = *radius else { continue };
            if way == Way::Cheapest && self.is_crowded(engine, stats.candidates, stats.tables.len().max(1), left)? {
                near.found.clear();
                self.scan(engine, &mut near, stats)?;
                break;
            }
            left -= 1;
            let permuted = table.permute(*sketch);
            let prefix = keys.prefix(permuted);
            let mut counts =
                TableStats { table: i, prefix, radius: Some(radius), probes: 0, candidates: 0, verified: 0 };
            let mut cursor = engine.cursor(family)?;
            visit_prefixes(prefix, table.prefix_bits(), radius, &mut |prefix| {
                counts.probes += 1;
                engine.visit_keys(&mut cursor, keys.head(prefix).as_ref(), |key| {
                    let candidate = keys.decode(key).map_err(|e| malformed(engine.path(), e))?;
                    near.verify(table, permuted, candidate, &mut counts);
                    Ok(true)
                })
            })?;
            stats.add(counts);
        }
        // A sketch that is near is usually found through more than one table.
        near.found.sort_unstable();
        near.found.dedup();
        Ok(near.found)
    }
}
