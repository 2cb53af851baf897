//! The permuted tables of a store of fingerprints.

use std::sync::OnceLock;

use super::sketch::{Ask, Index, Way};
use super::work::Work;
use super::{QueryStats, TableStats};
use crate::design::{cost, visit_prefixes};
use crate::engine::{Batch, Cursor, Engine, FamilyId, malformed};
use crate::format::Decoded;
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

/// So many probes are listed and sorted at once.
const MOST_PROBES: u64 = 1 << 19;

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
        let (table, family, keys) = self.entries().next().expect("a design has a table");
        let permuted = table.permute(near.query);
        let mut counts =
            TableStats { table: 0, prefix: keys.prefix(permuted), radius: None, probes: 0, candidates: 0, verified: 0 };
        let mut scan = engine.scan(family)?;
        while let Some((key, _)) = scan.next()? {
            if !near.work.take() {
                break;
            }
            let candidate = keys.decode(key).map_err(|e| malformed(engine.path(), e))?;
            near.verify(table, permuted, candidate, &mut counts);
        }
        stats.scans += 1;
        stats.add(counts);
        Ok(())
    }

    /// Visits the candidates of one prefix until the work that is allowed is done.
    fn probe(
        engine: &Engine,
        cursor: &mut Cursor<'_>,
        (table, keys): (&Table, TableKeys),
        prefix: u64,
        permuted: u64,
        near: &mut Near<'_>,
        counts: &mut TableStats,
    ) -> Result<()> {
        counts.probes += 1;
        engine.visit(cursor, keys.head(prefix).as_ref(), |key, _| {
            let is_allowed = near.work.take();
            if is_allowed {
                let candidate = keys.decode(key).map_err(|e| malformed(engine.path(), e))?;
                near.verify(table, permuted, candidate, counts);
            }
            Ok(is_allowed)
        })?;
        Ok(())
    }
}

/// The query and what was found near it.
struct Near<'a> {
    query: Fingerprint,
    max_distance: u32,
    work: &'a mut Work,
    found: Vec<(u32, Fingerprint)>,
}

impl Near<'_> {
    /// Keeps a candidate that is near. Permuted values have the distance of the values.
    fn verify(&mut self, table: &Table, permuted: u64, candidate: u64, counts: &mut TableStats) {
        counts.candidates += 1;
        let distance = (permuted ^ candidate).count_ones();
        if distance <= self.max_distance {
            counts.verified += 1;
            self.found.push((distance, table.restore(candidate)));
        }
    }

    /// What was found, in order. A sketch that is near is usually found through more than one table.
    fn into_found(mut self) -> Vec<(u32, Fingerprint)> {
        self.found.sort_unstable();
        self.found.dedup();
        self.found
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

    fn families(&self) -> Vec<FamilyId> {
        self.families.iter().map(|&(family, _)| family).collect()
    }

    fn identity(&self, family: usize, key: &[u8]) -> Decoded<impl AsRef<[u8]>> {
        let permuted = self.families[family].1.decode(key)?;
        Ok(self.design.tables()[family].restore(permuted).to_be_bytes())
    }

    fn key(&self, family: usize, identity: &[u8]) -> Option<impl AsRef<[u8]>> {
        let sketch = Fingerprint::from_be_bytes(identity.try_into().ok()?);
        Some(self.families[family].1.encode(self.design.tables()[family].permute(sketch)))
    }

    fn put(&self, batch: &mut Batch<'_>, sketches: &[Fingerprint]) -> Result<()> {
        if let [sketch] = sketches {
            return self.entries().try_for_each(|(table, family, keys)| {
                batch.put(family, keys.encode(table.permute(*sketch)).as_ref(), &[])
            });
        }
        let mut permuted = Vec::with_capacity(sketches.len());
        self.entries().try_for_each(|(table, family, keys)| {
            permuted.clear();
            permuted.extend(sketches.iter().map(|sketch| table.permute(*sketch)));
            // In the order of the keys, neighbours are still in the processor's cache.
            permuted.sort_unstable();
            permuted.iter().try_for_each(|&value| batch.put(family, keys.encode(value).as_ref(), &[]))
        })
    }

    fn delete(&self, batch: &mut Batch<'_>, sketch: &Fingerprint) -> Result<()> {
        self.entries()
            .try_for_each(|(table, family, keys)| batch.delete(family, keys.encode(table.permute(*sketch)).as_ref()))
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
        for (i, ((table, family, keys), radius)) in self.entries().zip(probes.radii()).enumerate() {
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
            let mut cursor = engine.cursor(family)?;
            visit_prefixes(prefix, table.prefix_bits(), radius, &mut |prefix| {
                if near.work.is_cut() {
                    return Ok(());
                }
                Self::probe(engine, &mut cursor, (table, keys), prefix, permuted, &mut near, &mut counts)
            })?;
            stats.add(counts);
        }
        Ok(near.into_found())
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
        for ((table, family, keys), radius) in self.entries().zip(probes.radii()) {
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
            let mut cursor = engine.cursor(family)?;
            for &(prefix, i) in &asked {
                let near = &mut near[i];
                if near.work.is_cut() || candidates[i] > most {
                    continue;
                }
                let permuted = table.permute(near.query);
                let mut counts = TableStats { table: 0, prefix, radius: None, probes: 0, candidates: 0, verified: 0 };
                Self::probe(engine, &mut cursor, (table, keys), prefix, permuted, near, &mut counts)?;
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
