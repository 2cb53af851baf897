//! Many queries at once: their probes are sorted by table, and each table is swept once.
//!
//! 1. The probes of a table, in the order of their prefixes, are cut into pieces at the ends of prefixes. Each piece is
//!    swept by one thread, with cursors that move forward only.
//! 2. A page is decoded once, from the first value that a probe needs to the last, and compared with all that need it.
//! 3. What is found does not depend on the pieces: it is sorted by query at the end.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Tables;
use super::probe::{Near, Reader, bounds, page_of};
use super::within::within;
use crate::design::visit_prefixes;
use crate::engine::{Engine, Tier};
use crate::isa::Isa;
use crate::near::near;
use crate::overlap::common;
use crate::page;
use crate::store::sketch::NearOne;
use crate::store::threads::in_threads;
use crate::store::work::{Limits, Work};
use crate::store::{QueryStats, TableStats};
use crate::{Fingerprint, Probes, Result, Table};

/// A sweep of most pages reads so many bytes at once.
const AHEAD_BYTES: u64 = 256 << 10;

/// Each thread gets so many pieces, so that all end at about the same time.
const PIECES_A_THREAD: usize = 4;

/// A sketch that is near a query.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    query: u32,
    distance: u32,
    sketch: Fingerprint,
}

/// One probe: the prefix, and the number of the query.
type Probe = (u64, u32);

/// A stretch of the probes of a table, and the place of the table in the statistics.
#[derive(Clone, Copy)]
struct Piece<'a> {
    place: usize,
    table: usize,
    probes: &'a [Probe],
}

/// What the sweep of a piece yields: what is near, and the number of candidates of each probe.
type Swept = (Vec<Found>, Vec<u64>);

impl Tables {
    /// Finds what is near each of some sketches by the same probes; `None` where that is more than `most`.
    pub(super) fn sweep(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        probes: &Probes,
        threads: usize,
        most: usize,
    ) -> Result<Option<Vec<NearOne<Fingerprint>>>> {
        let mut asked: Vec<(usize, u32, Vec<Probe>)> = Vec::new();
        for ((index, table, keys), radius) in self.tables().zip(probes.radii()) {
            let Some(radius) = *radius else { continue };
            let mut all = Vec::new();
            for (query, sketch) in (0u32..).zip(sketches) {
                visit_prefixes(keys.prefix(table.permute(*sketch)), table.prefix_bits(), radius, &mut |prefix| {
                    all.push((prefix, query));
                    Ok::<_, crate::Error>(())
                })?;
            }
            all.sort_unstable();
            asked.push((index, radius, all));
        }
        let each = asked.iter().map(|(.., all)| all.len()).sum::<usize>().div_ceil(threads * PIECES_A_THREAD).max(1);
        let pieces: Vec<Piece<'_>> = asked
            .iter()
            .enumerate()
            .flat_map(|(place, (table, _, all))| {
                cut(all, each).into_iter().map(move |probes| Piece { place, table: *table, probes })
            })
            .collect();
        let (count, is_too_much) = (AtomicUsize::new(0), AtomicBool::new(false));
        let swept = in_threads(threads, pieces.len(), |piece| {
            if is_too_much.load(Ordering::Relaxed) {
                return Ok(Swept::default());
            }
            let piece = pieces[piece];
            let all_probes = asked[piece.place].2.len();
            let mut told = 0;
            let mut may_go_on = |found: usize| {
                let more = found - std::mem::replace(&mut told, found);
                if more > 0 && count.fetch_add(more, Ordering::Relaxed) + more > most {
                    is_too_much.store(true, Ordering::Relaxed);
                }
                !is_too_much.load(Ordering::Relaxed)
            };
            self.sweep_piece(engine, sketches, probes.distance(), piece, all_probes, &mut may_go_on)
        })?;
        if is_too_much.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(self.by_query(sketches, &asked, &pieces, swept)))
    }

    /// Sorts what pieces have found by query.
    fn by_query(
        &self,
        sketches: &[Fingerprint],
        asked: &[(usize, u32, Vec<Probe>)],
        pieces: &[Piece<'_>],
        swept: Vec<Swept>,
    ) -> Vec<NearOne<Fingerprint>> {
        let mut stats: Vec<Vec<TableStats>> = Vec::with_capacity(sketches.len());
        for sketch in sketches {
            let of = |&(table, radius, _): &(usize, u32, Vec<Probe>)| TableStats {
                table,
                prefix: self.keys[table].prefix(self.design.tables()[table].permute(*sketch)),
                radius: Some(radius),
                probes: 0,
                candidates: 0,
                verified: 0,
            };
            stats.push(asked.iter().map(of).collect());
        }
        let mut all = Vec::new();
        for (piece, (found, candidates)) in pieces.iter().zip(swept) {
            for (&(_, query), candidates) in piece.probes.iter().zip(candidates) {
                let counts = &mut stats[query as usize][piece.place];
                counts.probes += 1;
                counts.candidates += candidates;
            }
            for found in &found {
                stats[found.query as usize][piece.place].verified += 1;
            }
            all.extend(found);
        }
        all.sort_unstable();
        all.dedup();
        let mut left = &all[..];
        let stats = (0u32..).zip(stats);
        stats
            .map(|(query, tables)| {
                let (here, rest) = left.split_at(left.partition_point(|found| found.query <= query));
                left = rest;
                let mut stats = QueryStats::default();
                for table in tables {
                    stats.add(table);
                }
                (here.iter().map(|found| (found.distance, found.sketch)).collect(), stats)
            })
            .collect()
    }

    fn sweep_piece(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        max_distance: u32,
        piece: Piece<'_>,
        all_probes: usize,
        may_go_on: &mut impl FnMut(usize) -> bool,
    ) -> Result<Swept> {
        let table = &self.design.tables()[piece.table];
        let mut reader = Reader::new(self, engine, piece.table, Tier::All, None);
        // Where most pages are needed, to read them in their order is faster than to look around in memory.
        let is_dense = |sketches: u64| all_probes as u64 * page::MAX_VALUES as u64 > sketches;
        let look = self.sealed.as_ref().filter(|sealed| !is_dense(sealed.sketches)).map(|sealed| sealed.stretches.look());
        let mut pages = Pages::new(self, engine, piece, table, look.is_none())?;
        let (mut swept, mut near_here) = (Swept::default(), Vec::new());
        'groups: for group in piece.probes.chunk_by(|a, b| a.0 == b.0) {
            let [from, to] = bounds(table, group[0].0);
            reader.read_own(group[0].0, &Work::new(Limits::new()))?;
            let own = reader.own();
            let begun = swept.1.len();
            swept.1.extend(group.iter().map(|_| own.len() as u64));
            let mut compare = |values: &[u64], found: &mut Vec<Found>| {
                for &(_, query) in group {
                    if !may_go_on(found.len()) {
                        return false;
                    }
                    let permuted = table.permute(sketches[query as usize]);
                    near_here.clear();
                    near(Isa::detected(), values, permuted, max_distance, &mut near_here);
                    found.extend(near_here.iter().map(|value| {
                        let distance = (permuted ^ value).count_ones();
                        Found { query, distance, sketch: table.restore(*value) }
                    }));
                }
                true
            };
            if !own.is_empty() && !compare(own, &mut swept.0) {
                break;
            }
            let stretch = look.as_ref().and_then(|look| look.get(piece.table, from));
            let mut at = from;
            loop {
                let next = match &stretch {
                    Some(stretch) => Some((within(stretch, from, to), to)),
                    None => pages.values(at, to)?,
                };
                let Some((values, last)) = next else { break };
                // What has a key of its own was compared already.
                let met = common(Isa::detected(), values, own);
                for candidates in &mut swept.1[begun..] {
                    *candidates += (values.len() - met) as u64;
                }
                let may_go_on = if met == 0 {
                    compare(values, &mut swept.0)
                } else {
                    let others = values.iter().copied().filter(|value| own.binary_search(value).is_err());
                    compare(&others.collect::<Vec<_>>(), &mut swept.0)
                };
                if !may_go_on {
                    break 'groups;
                }
                if last >= to {
                    break;
                }
                at = last + 1;
            }
        }
        Ok(swept)
    }

    /// Compares each of some sketches with every entry of the first table.
    pub(super) fn scan_each(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        max_distance: u32,
        threads: usize,
    ) -> Result<Vec<NearOne<Fingerprint>>> {
        let each = sketches.len().div_ceil(threads).max(1);
        let parts: Vec<&[Fingerprint]> = sketches.chunks(each).collect();
        let scanned = in_threads(threads, parts.len(), |part| {
            let scan = |sketch: &Fingerprint| {
                let (mut stats, mut work) = (QueryStats::default(), Work::new(Limits::new()));
                let mut near = Near { query: *sketch, max_distance, work: &mut work, found: Vec::new() };
                self.scan(engine, &mut near, &mut stats)?;
                Ok((near.into_found(), stats))
            };
            parts[part].iter().map(scan).collect::<Result<Vec<_>>>()
        })?;
        Ok(scanned.into_iter().flatten().collect())
    }
}

/// Cuts probes into pieces of about so many, between different prefixes.
fn cut(probes: &[Probe], each: usize) -> Vec<&[Probe]> {
    let (mut pieces, mut left) = (Vec::new(), probes);
    while !left.is_empty() {
        let prefix = left[(each - 1).min(left.len() - 1)].0;
        let (piece, rest) = left.split_at(left.partition_point(|probe| probe.0 <= prefix));
        pieces.push(piece);
        left = rest;
    }
    pieces
}

/// The pages of a table, of which a sweep needs some.
struct Pages<'a> {
    engine: &'a Engine,
    cursor: Option<crate::engine::Cursor<'a>>,
    table: &'a Table,
    /// The probes whose values come after those that are decoded.
    probes: &'a [Probe],
    values: Box<page::Values>,
    decoded: Range<usize>,
    /// The last value of the page that was decoded, and up to where it was.
    current: Option<(u64, u64)>,
    is_at_end: bool,
}

impl<'a> Pages<'a> {
    fn new(tables: &'a Tables, engine: &'a Engine, piece: Piece<'a>, table: &'a Table, is_dense: bool) -> Result<Self> {
        let sealed = tables.sealed.as_ref();
        let family = sealed.map(|sealed| &sealed.families[piece.table]);
        let cursor = match family {
            Some(family) if is_dense => Some(engine.cursor_ahead(family, AHEAD_BYTES)),
            family => family.map(|family| engine.cursor(family)).transpose()?,
        };
        Ok(Self {
            engine,
            is_at_end: cursor.is_none(),
            cursor,
            table,
            probes: piece.probes,
            values: Box::new(page::ROOM),
            decoded: 0..0,
            current: None,
        })
    }

    /// The values from one to another that are on the first page that has any value from the first on, and the last
    /// value of that page. The first value does not descend from call to call.
    fn values(&mut self, from: u64, to: u64) -> Result<Option<(&[u64], u64)>> {
        let is_here = self.current.is_some_and(|(last, until)| from <= last && to.min(last) <= until);
        if !is_here && !self.read(from)? {
            return Ok(None);
        }
        let last = self.current.map_or(u64::MAX, |(last, _)| last);
        Ok(Some((within(&self.values[self.decoded.clone()], from, to), last)))
    }

    /// Reads the page that has the first value from one on, and decodes it as far as probes need it.
    fn read(&mut self, from: u64) -> Result<bool> {
        let Self { engine, cursor: Some(cursor), table, probes, values, .. } = self else { return Ok(false) };
        if self.is_at_end {
            return Ok(false);
        }
        let key = from.to_be_bytes();
        // The next page is often the one, and is nearer than a seek.
        let may_be_next = self.current.is_some_and(|(last, _)| last < from);
        if !(may_be_next && engine.step(cursor)?.is_some_and(|(last, _)| last >= &key[..])) {
            engine.seek(cursor, &key)?;
        }
        let Some((last, page)) = cursor.entry() else {
            self.is_at_end = true;
            return Ok(false);
        };
        let (page, last) = page_of(engine, last, page)?;
        let passed = probes.partition_point(|probe| bounds(table, probe.0)[1] < from);
        *probes = &probes[passed..];
        let here = probes.partition_point(|probe| bounds(table, probe.0)[0] <= last);
        let until = here.checked_sub(1).map_or(last, |final_one| bounds(table, probes[final_one].0)[1].min(last));
        self.decoded = page::values(Isa::detected(), &page, [from, until], values);
        self.current = Some((last, until));
        Ok(true)
    }
}
