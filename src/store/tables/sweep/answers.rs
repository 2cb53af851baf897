//! What pieces of a sweep have found, sorted by query.

use super::asked::Asked;
use super::{Piece, Swept};
use crate::design::probes_of_radius;
use crate::format::keys::TableKeys;
use crate::store::many::NearMany;
use crate::store::tables::Tables;
use crate::store::threads::in_threads;
use crate::store::{QueryStats, TableStats};
use crate::{Fingerprint, Result, Table};

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
    candidates: u64,
    verified: u64,
}

/// What each query has cost in a table.
struct OfTable {
    number: usize,
    table: Table,
    keys: TableKeys,
    radius: u32,
    /// How many probes each query has of it.
    probes: u64,
    counts: Vec<Counts>,
}

/// What is near is put in order for so many queries at once.
const TOGETHER: usize = 1 << 12;

impl Tables {
    /// Sorts what pieces have found by query.
    pub(super) fn by_query(
        &self,
        queries: usize,
        asked: &[Asked],
        pieces: &[Piece<'_>],
        swept: &[Swept],
        threads: usize,
    ) -> Result<NearMany<Fingerprint, Fingerprint>> {
        let of_tables = in_threads(threads, asked.len(), |place| {
            let &Asked { table: number, radius, .. } = &asked[place];
            let mut counts = vec![Counts::default(); queries];
            for (piece, swept) in pieces.iter().zip(swept).filter(|(piece, _)| piece.place == place) {
                for (&(_, query), candidates) in piece.probes.iter().zip(&swept.candidates) {
                    counts[query as usize].candidates += candidates;
                }
                for found in &swept.found {
                    counts[found.query as usize].verified += 1;
                }
            }
            let table = self.design.tables()[number].clone();
            let (keys, probes) = (self.keys[number], probes_of_radius(table.prefix_bits(), radius));
            Ok(OfTable { number, table, keys, radius, probes, counts })
        })?;
        let mut ends = vec![0; queries];
        let mut begin = 0;
        for (query, end) in ends.iter_mut().enumerate() {
            *end = begin;
            begin += of_tables.iter().map(|of| count(of.counts[query].verified)).sum::<usize>();
        }
        let mut near = vec![(0, Fingerprint::default()); begin];
        for found in swept.iter().flat_map(|swept| &swept.found) {
            let at = &mut ends[found.query as usize];
            near[*at] = (found.distance, found.sketch);
            *at += 1;
        }
        let (near, ends) = in_order(&near, &ends, threads)?;
        let cost = move |query: usize, sketch: &Fingerprint| {
            let mut stats = QueryStats { tables: Vec::with_capacity(of_tables.len()), ..QueryStats::default() };
            for &OfTable { number, ref table, keys, radius, probes, ref counts } in &of_tables {
                let (prefix, radius) = (keys.prefix(table.permute(*sketch)), Some(radius));
                let Counts { candidates, verified } = counts[query];
                stats.add(TableStats { table: number, prefix, radius, probes, candidates, verified });
            }
            stats
        };
        Ok(NearMany::new(near, ends, Box::new(cost)))
    }
}

/// A number of things that are in memory.
fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What is near, and where what is near each query ends.
type InOrder = (Vec<(u32, Fingerprint)>, Vec<usize>);

/// Puts what was found for each query in order, where most of it was found through several tables. The ends are those of
/// each query.
fn in_order(near: &[(u32, Fingerprint)], ends: &[usize], threads: usize) -> Result<InOrder> {
    let parts = in_threads(threads, ends.len().div_ceil(TOGETHER), |part| {
        let first = part * TOGETHER;
        let ends = &ends[..ends.len().min(first + TOGETHER)];
        let mut begin = first.checked_sub(1).map_or(0, |before| ends[before]);
        let mut found = Vec::with_capacity(ends.last().map_or(0, |end| end - begin));
        let mut counts = Vec::with_capacity(TOGETHER);
        for &end in &ends[first..] {
            let before = found.len();
            found.extend_from_slice(&near[begin..end]);
            found[before..].sort_unstable();
            let mut kept = before;
            for at in before..found.len() {
                if at == before || found[at] != found[kept - 1] {
                    found[kept] = found[at];
                    kept += 1;
                }
            }
            found.truncate(kept);
            counts.push(kept - before);
            begin = end;
        }
        Ok((found, counts))
    })?;
    let mut near = Vec::with_capacity(parts.iter().map(|(found, _)| found.len()).sum());
    let (mut ends, mut end) = (Vec::with_capacity(ends.len()), 0);
    for (found, counts) in parts {
        near.extend(found);
        ends.extend(counts.into_iter().map(|count| {
            end += count;
            end
        }));
    }
    Ok((near, ends))
}
