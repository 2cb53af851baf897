//! What is near: by probes, or by reading a table from end to end where that is cheaper.

use smallvec::SmallVec;

use super::cold::Cold;
use super::probe::{Near, Probed, Reader, bounds_about};
use super::stretches::{Look, Stretch};
use super::{QueryStats, TableStats, Tables, within};
use crate::design::{cost, visit_prefixes};
use crate::engine::{Engine, Tier, Visited};
use crate::store::many::NearMany;
use crate::store::sketch::{Ask, Index, Way};
use crate::store::work::{Limits, Work};
use crate::{Fingerprint, Probes, Result};

/// So many probes are listed and sorted at once.
const MOST_PROBES: u64 = 1 << 20;

/// More sketches than this are not held for the queries of a chunk.
const MOST_FOUND: usize = 1 << 21;

/// So many candidates are worth a thought about what is left.
const CROWD: u64 = 20_000;

impl Tables {
    /// The probes for a distance, unless reading a table from end to end is cheaper.
    fn probes_unless_scan(&self, engine: &Engine, distance: u32, way: Way) -> Result<Option<&Probes>> {
        let Some(probes) = self.probes(distance) else { return Ok(None) };
        let is_weighed = way == Way::Cheapest && cost::may_be_scanned(probes);
        let is_scanned = is_weighed && cost::is_scanned(&self.design, probes, self.stored(engine)?);
        Ok((!is_scanned).then_some(probes))
    }

    /// Whether the tables that are left had better be replaced by a scan, after so many candidates in those
    /// that were probed: all values may lie under one prefix of each.
    fn is_crowded(&self, engine: &Engine, work: &Work, candidates: u64, probed: usize, left: usize) -> Result<bool> {
        if candidates <= CROWD {
            return Ok(false);
        }
        let stored = self.stored(engine)?;
        Ok(work.allows(stored.all()) && cost::scan_beats_candidates(candidates / probed as u64 * left as u64, stored))
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
        self.near_one(engine, &ask, work, &mut QueryStats::default())
    }

    /// Reads every entry of the first table.
    pub(super) fn scan(&self, engine: &Engine, near: &mut Near<'_>, stats: &mut QueryStats) -> Result<()> {
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

    /// Has the processor fetch what the probe of its own prefix needs in each table, and returns the stretches that are in
    /// memory.
    /// The tables lie far apart: so it waits for all of them at once, and not for one after the other.
    fn fetch<'a>(
        &self,
        sketch: Fingerprint,
        probes: &Probes,
        look: Option<&'a Look<'_>>,
    ) -> SmallVec<[Option<Stretch<'a>>; 8]> {
        let asked = || self.tables().zip(probes.radii()).map(|((index, table, _), radius)| (index, table, radius));
        for (index, table, _) in asked().filter(|(.., radius)| radius.is_some()) {
            let value = table.permute(sketch);
            for rows in self.rows() {
                rows.values.fetch_strip(index, value);
            }
            if let Some(look) = look {
                look.fetch(index, value);
            }
        }
        for rows in self.rows() {
            for (index, table, _) in asked().filter(|(.., radius)| radius.is_some()) {
                rows.values.fetch(index, bounds_about(table, table.permute(sketch)));
            }
        }
        let of = |(index, table, radius): (usize, &crate::Table, &Option<u32>)| {
            (*radius)?;
            let value = table.permute(sketch);
            let stretch = look?.get(index, value)?;
            within::fetch_between(&stretch, bounds_about(table, value), look?.bounds(index, value));
            Some(stretch)
        };
        asked().map(of).collect()
    }

    /// What is near one sketch.
    pub(super) fn near_one(
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
        let is_shared = engine.readers().are_several() && !near.work.is_limited() && way != Way::Tables;
        let tier = if is_shared { Tier::Cached } else { Tier::All };
        let mut colds = Vec::new();
        let look = self.sealed.as_ref().map(|sealed| sealed.stretches.look());
        let mut stretches = self.fetch(*sketch, probes, look.as_ref()).into_iter();
        for ((i, table, keys), radius) in self.tables().zip(probes.radii()) {
            let stretch = stretches.next().flatten();
            let Some(radius) = *radius else { continue };
            if near.work.is_cut() {
                break;
            }
            let before = stats.tables.len().max(1);
            if way == Way::Cheapest && self.is_crowded(engine, near.work, stats.candidates, before, left)? {
                drop(stretches);
                drop(look);
                self.scan(engine, &mut near, stats)?;
                return Ok(near.into_found());
            }
            left -= 1;
            let permuted = table.permute(*sketch);
            let prefix = keys.prefix(permuted);
            let mut counts =
                TableStats { table: i, prefix, radius: Some(radius), probes: 0, candidates: 0, verified: 0 };
            let mut reader = Reader::new(self, engine, i, tier, look.as_ref()).with_stretch(permuted, stretch);
            if way == Way::Tables {
                reader = reader.of_tables();
            }
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
            // Who waits for a medium keeps nobody else waiting.
            drop(stretches);
            drop(look);
            self.read_cold(engine, &colds, &mut near, stats)?;
        }
        Ok(near.into_found())
    }

    /// What is near each of many, without limits; of the first of them where much is near.
    pub(super) fn near_many(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        max_distance: u32,
        threads: usize,
    ) -> Result<NearMany<Fingerprint, Fingerprint>> {
        let alone = |sketch: &Fingerprint| {
            let (mut stats, mut work) = (QueryStats::default(), Work::new(Limits::new()));
            let ask = Ask::new(sketch, max_distance);
            let found = self.near_one(engine, &ask, &mut work, &mut stats)?;
            Ok::<_, crate::Error>((found, stats))
        };
        if max_distance == 0 || sketches.len() < 2 {
            return Ok(NearMany::of_each(sketches.iter().map(alone).collect::<Result<Vec<_>>>()?));
        }
        let Some(probes) = self.probes_unless_scan(engine, max_distance, Way::Cheapest)? else {
            return self.scan_each(engine, sketches, max_distance, threads);
        };
        let together = usize::try_from((MOST_PROBES / probes.total().max(1)).max(1)).unwrap_or(usize::MAX);
        let mut all = NearMany::default();
        let mut left: Vec<&[Fingerprint]> = sketches.chunks(together).rev().collect();
        while let Some(chunk) = left.pop().filter(|_| all.near().len() < MOST_FOUND) {
            if let [sketch] = chunk {
                all.append(NearMany::of_each([alone(sketch)?]));
            } else if let Some(near) = self.sweep(engine, chunk, probes, threads, MOST_FOUND)? {
                all.append(near);
            } else {
                // What is found of half as many is half as much.
                let (first, second) = chunk.split_at(chunk.len() / 2);
                left.extend([second, first]);
            }
        }
        Ok(all)
    }

    /// What is near each of some, with the work that each may do.
    pub(super) fn near_few(
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
        let look = self.sealed.as_ref().map(|sealed| sealed.stretches.look());
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
            let mut reader = Reader::new(self, engine, index, Tier::All, look.as_ref());
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
        drop(look);
        let mut found: Vec<_> = near.into_iter().map(Near::into_found).collect();
        for (i, _) in candidates.iter().enumerate().filter(|&(_, &candidates)| candidates > most) {
            found[i] = self.near_alone(engine, sketches[i], max_distance, &mut work[i])?;
        }
        Ok(found)
    }
}
