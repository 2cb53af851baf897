//! Which stored signatures are near: those of the same bands, compared row by row.

use super::{Bands, keys, number_of};
use crate::engine::{Engine, Visited, malformed};
use crate::format::signatures;
use crate::store::sketch::{NearKeys, NearOne, SignatureNumber};
use crate::store::work::{Limits, Work};
use crate::store::{QueryStats, TableStats};
use crate::{Result, Signature};

/// So many queries share their probes.
pub(super) const TOGETHER: usize = 1024;

/// So many candidates are read at once.
const MOST_READ: usize = 1024;

/// A candidate: its number, the query, and the band in which they meet.
type Met = (u64, u32, u32);

impl Bands {
    pub(super) fn decoded(&self, engine: &Engine, bytes: &[u8]) -> Result<Signature> {
        signatures::decode(bytes, &self.design).map_err(|e| malformed(engine.path(), e))
    }

    /// The number of an equal signature.
    pub(super) fn itself(&self, engine: &Engine, signature: &Signature) -> Result<Option<SignatureNumber>> {
        let near = self.near_one(engine, signature, 0, &mut Work::new(Limits::new()), &mut QueryStats::default())?;
        Ok(near.first().map(|(_, number)| *number))
    }

    /// What is near one signature. What differs nowhere is met in the first band.
    pub(super) fn near_one(
        &self,
        engine: &Engine,
        signature: &Signature,
        max_distance: u32,
        work: &mut Work,
        stats: &mut QueryStats,
    ) -> Result<NearKeys<Signature>> {
        let mut met = Vec::new();
        let bands = if max_distance == 0 { 1 } else { self.live.bands.len() };
        for band in 0..bands {
            if work.is_cut() {
                break;
            }
            let prefix = self.prefix(signature, band);
            let before = met.len();
            self.probe(engine, band, prefix, 0, work, &mut met)?;
            stats.add(table_stats(band, prefix, (met.len() - before) as u64));
        }
        let mut near = Vec::new();
        let read = |_query: u32, number, distance, bands: &[Met]| {
            for (.., band) in bands {
                stats.tables[*band as usize].verified += 1;
            }
            near.push((distance, SignatureNumber(number)));
        };
        self.compare(engine, std::slice::from_ref(signature), max_distance, met, read)?;
        near.sort_unstable();
        Ok(near)
    }

    /// What is near each of some signatures, without limits.
    pub(super) fn near_part(
        &self,
        engine: &Engine,
        signatures: &[Signature],
        max_distance: u32,
    ) -> Result<Vec<NearOne<Signature>>> {
        let mut all: Vec<NearOne<Signature>> = signatures.iter().map(|_| (Vec::new(), QueryStats::default())).collect();
        let (mut met, mut work) = (Vec::new(), Work::new(Limits::new()));
        let bands = if max_distance == 0 { 1 } else { self.live.bands.len() };
        let mut probes: Vec<(u64, u32)> = Vec::new();
        for band in 0..bands {
            probes.clear();
            probes.extend((0..).zip(signatures).map(|(query, signature)| (self.prefix(signature, band), query)));
            // In the order of the keys, a block that two queries need is read once.
            probes.sort_unstable();
            for same in probes.chunk_by(|a, b| a.0 == b.0) {
                let (prefix, first) = same[0];
                let before = met.len();
                self.probe(engine, band, prefix, first, &mut work, &mut met)?;
                let found = before..met.len();
                for &(_, query) in &same[1..] {
                    met.extend_from_within(found.clone());
                    let copies = met.len() - found.len();
                    met[copies..].iter_mut().for_each(|(_, of, _)| *of = query);
                }
                for &(_, query) in same {
                    all[query as usize].1.add(table_stats(band, prefix, found.len() as u64));
                }
            }
        }
        let read = |query: u32, number, distance, bands: &[Met]| {
            let (near, stats) = &mut all[query as usize];
            for (.., band) in bands {
                stats.tables[*band as usize].verified += 1;
            }
            near.push((distance, SignatureNumber(number)));
        };
        self.compare(engine, signatures, max_distance, met, read)?;
        for (near, _) in &mut all {
            near.sort_unstable();
        }
        Ok(all)
    }

    /// Adds the signatures that have a prefix in a band.
    fn probe(
        &self,
        engine: &Engine,
        band: usize,
        prefix: u64,
        query: u32,
        work: &mut Work,
        met: &mut Vec<Met>,
    ) -> Result<()> {
        let head = keys().head(prefix);
        let number_of_band = u32::try_from(band).expect("at most 1024 bands");
        for rows in self.rows() {
            let mut cursor = match work.left() {
                None => engine.cursor(&rows.bands[band])?,
                Some(left) => engine.bounded_cursor(&rows.bands[band], left.max(1)),
            };
            let visited = engine.visit(&mut cursor, head.as_ref(), |key, _| {
                let value = keys().decode(key).map_err(|e| malformed(engine.path(), e))?;
                if work.take() {
                    met.push((number_of(value), query, number_of_band));
                    return Ok(true);
                }
                Ok(false)
            })?;
            if visited == Visited::GaveUp {
                work.cut();
            }
        }
        Ok(())
    }

    /// Reads the signatures that were met, each once, and tells which are within the distance of the queries that they met,
    /// with the bands where they did. A signature that is gone was removed meanwhile.
    fn compare(
        &self,
        engine: &Engine,
        queries: &[Signature],
        max_distance: u32,
        mut met: Vec<Met>,
        mut is_near: impl FnMut(u32, u64, u32, &[Met]),
    ) -> Result<()> {
        met.sort_unstable();
        // Of two generations that both have a signature, both lead to it.
        met.dedup();
        let groups: Vec<&[Met]> = met.chunk_by(|a, b| a.0 == b.0).collect();
        for groups in groups.chunks(MOST_READ) {
            let numbers: Vec<[u8; 8]> = groups.iter().map(|group| group[0].0.to_be_bytes()).collect();
            let mut left: Vec<usize> = (0..groups.len()).collect();
            for rows in self.rows() {
                let mut is_read = vec![false; left.len()];
                engine.get_each(&rows.signatures, left.iter().map(|&at| &numbers[at][..]), |place, bytes| {
                    is_read[place] = true;
                    let stored = self.decoded(engine, bytes)?;
                    for bands in groups[left[place]].chunk_by(|a, b| a.1 == b.1) {
                        let (number, query, _) = bands[0];
                        let distance = queries[query as usize].differing_rows(&stored);
                        if distance <= max_distance {
                            is_near(query, number, distance, bands);
                        }
                    }
                    Ok(())
                })?;
                let mut is_read = is_read.into_iter();
                left.retain(|_| is_read.next() == Some(false));
            }
        }
        Ok(())
    }
}

fn table_stats(band: usize, prefix: u64, candidates: u64) -> TableStats {
    TableStats { table: band, prefix, radius: Some(0), probes: 1, candidates, verified: 0 }
}
