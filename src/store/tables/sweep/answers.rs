//! What pieces of a sweep have found, sorted by query.

use super::asked::Asked;
use super::{Piece, Swept};
use crate::store::sketch::NearOne;
use crate::store::tables::Tables;
use crate::store::threads::in_threads;
use crate::store::{QueryStats, TableStats};
use crate::{Fingerprint, Result};

/// A sketch that is near a query.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) query: u32,
    pub(super) distance: u32,
    pub(super) sketch: Fingerprint,
}

/// What a query has cost in one table.
#[derive(Clone, Copy, Default)]
struct Counts {
    probes: u64,
    candidates: u64,
    verified: u64,
}

/// Answers are put together for so many queries at once.
const TOGETHER: usize = 1 << 12;

impl Tables {
    /// Sorts what pieces have found by query.
    pub(super) fn by_query(
        &self,
        sketches: &[Fingerprint],
        asked: &[Asked],
        pieces: &[Piece<'_>],
        swept: Vec<Swept>,
        threads: usize,
    ) -> Result<Vec<NearOne<Fingerprint>>> {
        let mut counts = vec![vec![Counts::default(); sketches.len()]; asked.len()];
        let mut ends = vec![0; sketches.len()];
        for (piece, swept) in pieces.iter().zip(&swept) {
            let counts = &mut counts[piece.place];
            for (&(_, query), candidates) in piece.probes.iter().zip(&swept.candidates) {
                let counts = &mut counts[query as usize];
                counts.probes += 1;
                counts.candidates += candidates;
            }
            for found in &swept.found {
                counts[found.query as usize].verified += 1;
                ends[found.query as usize] += 1;
            }
        }
        let mut begin = 0;
        for end in &mut ends {
            begin += std::mem::replace(end, begin);
        }
        let mut near = vec![(0, Fingerprint::default()); begin];
        for found in swept.into_iter().flat_map(|swept| swept.found) {
            let at = &mut ends[found.query as usize];
            near[*at] = (found.distance, found.sketch);
            *at += 1;
        }
        let answered = in_threads(threads, sketches.len().div_ceil(TOGETHER), |part| {
            let first = part * TOGETHER;
            let of = |query: usize| {
                let begin = if query == 0 { 0 } else { ends[query - 1] };
                let mut near = near[begin..ends[query]].to_vec();
                near.sort_unstable();
                near.dedup();
                let mut stats = QueryStats { tables: Vec::with_capacity(asked.len()), ..QueryStats::default() };
                for (asked, counts) in asked.iter().zip(&counts) {
                    let Counts { probes, candidates, verified } = counts[query];
                    let permuted = self.design.tables()[asked.table].permute(sketches[query]);
                    let (table, prefix) = (asked.table, self.keys[asked.table].prefix(permuted));
                    stats.add(TableStats { table, prefix, radius: Some(asked.radius), probes, candidates, verified });
                }
                (near, stats)
            };
            Ok((first..sketches.len().min(first + TOGETHER)).map(of).collect::<Vec<_>>())
        })?;
        Ok(answered.into_iter().flatten().collect())
    }
}
