//! Many queries at once: their probes are sorted by table, and each table is swept once.
//!
//! 1. The probes of a table, in the order of their prefixes, are cut into pieces at the ends of prefixes. Each piece is
//!    swept by one thread, with cursors that move forward only.
//! 2. What is in memory of the sealed values is compared as it is. Of the rest a page is decoded once, from the first value
//!    that a probe needs to the last, and compared with all that need it.
//! 3. What is found does not depend on the pieces: it is sorted by query at the end.

mod answers;
mod asked;
mod pages;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Tables;
use super::probe::{Near, Reader, bounds};
use super::stretches::{Look, Whole};
use super::within::{between, fetch_between};
use crate::engine::{Engine, Tier};
use crate::isa::Isa;
use crate::near::near;
use crate::overlap::common;
use crate::page;
use crate::store::QueryStats;
use crate::store::sketch::NearOne;
use crate::store::threads::in_threads;
use crate::store::work::{Limits, Work};
use crate::{Fingerprint, Probes, Result, Table};
use answers::Found;
use asked::{Asked, Probe};
use pages::Pages;

/// Each thread gets so many pieces, so that all end at about the same time.
const PIECES_A_THREAD: usize = 4;

/// The processor is made to fetch what so many prefixes later is compared, and where that lies twice as many before.
const PREFIXES_AHEAD: usize = 6;

/// What is in memory is looked at for so many prefixes at once: who changes it waits for that.
const PREFIXES_A_LOOK: usize = 256;

/// Some of the probes of a table that follow each other, and the place of the table in the statistics.
#[derive(Clone, Copy)]
struct Piece<'a> {
    place: usize,
    table: usize,
    probes: &'a [Probe],
    /// Whether most pages of the table are needed for all probes of it.
    needs_most: bool,
}

/// What the sweep of a piece yields: what is near, and the number of candidates of each probe.
#[derive(Default)]
struct Swept {
    found: Vec<Found>,
    candidates: Vec<u64>,
}

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
        let tables: Vec<_> =
            self.tables().zip(probes.radii()).filter_map(|(table, radius)| Some((table, (*radius)?))).collect();
        let asked = in_threads(threads, tables.len(), |at| Asked::of(tables[at].0, tables[at].1, sketches))?;
        let each =
            asked.iter().map(|asked| asked.probes.len()).sum::<usize>().div_ceil(threads * PIECES_A_THREAD).max(1);
        let sealed = self.sealed.as_ref().map_or(0, |sealed| sealed.sketches);
        let pieces: Vec<Piece<'_>> = asked
            .iter()
            .enumerate()
            .flat_map(|(place, Asked { table, probes, .. })| {
                let needs_most = probes.len() as u64 * page::MAX_VALUES as u64 > sealed;
                cut(probes, each).into_iter().map(move |probes| Piece { place, table: *table, probes, needs_most })
            })
            .collect();
        if pieces.iter().any(|piece| piece.needs_most) {
            self.read_whole(engine, threads)?;
        }
        let (count, is_too_much) = (AtomicUsize::new(0), AtomicBool::new(false));
        let swept = in_threads(threads, pieces.len(), |piece| {
            let mut told = 0;
            let mut may_go_on = |found: usize| {
                let more = found - std::mem::replace(&mut told, found);
                if more > 0 && count.fetch_add(more, Ordering::Relaxed) + more > most {
                    is_too_much.store(true, Ordering::Relaxed);
                }
                !is_too_much.load(Ordering::Relaxed)
            };
            if !may_go_on(0) {
                return Ok(Swept::default());
            }
            self.sweep_piece(engine, sketches, probes.distance(), pieces[piece], &mut may_go_on)
        })?;
        if is_too_much.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.by_query(sketches, &asked, &pieces, swept, threads).map(Some)
    }

    /// Reads the tables from end to end, where that is worth it and there is room.
    fn read_whole(&self, engine: &Engine, threads: usize) -> Result<()> {
        let Some(sealed) = self.sealed.as_ref().filter(|sealed| sealed.stretches.are_worth_reading()) else {
            return Ok(());
        };
        in_threads(threads, sealed.families.len(), |table| {
            let whole = Whole::read(engine, sealed, table, sealed.stretches.bits(table))?;
            sealed.stretches.look().keep_whole(table, whole);
            Ok(())
        })?;
        Ok(())
    }

    fn sweep_piece(
        &self,
        engine: &Engine,
        sketches: &[Fingerprint],
        max_distance: u32,
        piece: Piece<'_>,
        may_go_on: &mut impl FnMut(usize) -> bool,
    ) -> Result<Swept> {
        let table = &self.design.tables()[piece.table];
        let mut reader = Reader::new(self, engine, piece.table, Tier::All, None);
        let mut pages = Pages::new(self, engine, piece)?;
        let (mut swept, mut near_here) = (Swept::default(), Vec::new());
        let groups: Vec<&[Probe]> = piece.probes.chunk_by(|a, b| a.0 == b.0).collect();
        'groups: for first in (0..groups.len()).step_by(PREFIXES_A_LOOK) {
            let look = self.sealed.as_ref().map(|sealed| sealed.stretches.look());
            // Where most pages are needed, to read them in their order is faster than to ask a cache for each.
            let look = look.as_ref().filter(|look| look.has_room_for_all() || !piece.needs_most);
            for (at, group) in groups.iter().enumerate().skip(first).take(PREFIXES_A_LOOK) {
                if let Some(look) = look.filter(|look| look.has_room_for_all()) {
                    fetch_ahead(look, piece.table, table, &groups[at..]);
                }
                let [from, to] = bounds(table, group[0].0);
                reader.read_own(group[0].0, &Work::new(Limits::new()))?;
                let own = reader.own();
                let begun = swept.candidates.len();
                swept.candidates.extend(group.iter().map(|_| own.len() as u64));
                let mut compare = |values: &[u64], found: &mut Vec<Found>| {
                    for &(_, query) in *group {
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
                if !own.is_empty() && !compare(own, &mut swept.found) {
                    break 'groups;
                }
                let stretch =
                    look.and_then(|look| Some((look.get(piece.table, from)?, look.bounds(piece.table, from))));
                let mut at = from;
                loop {
                    let next = match &stretch {
                        Some((stretch, bounds)) => Some((between(stretch, [from, to], *bounds), to)),
                        None => pages.values(at, to)?,
                    };
                    let Some((values, last)) = next else { break };
                    // What has a key of its own was compared already.
                    let met = if own.is_empty() { 0 } else { common(Isa::detected(), values, own) };
                    for candidates in &mut swept.candidates[begun..] {
                        *candidates += (values.len() - met) as u64;
                    }
                    let may_go_on = if met == 0 {
                        compare(values, &mut swept.found)
                    } else {
                        let others = values.iter().copied().filter(|value| own.binary_search(value).is_err());
                        compare(&others.collect::<Vec<_>>(), &mut swept.found)
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

/// Has the processor fetch what is needed for prefixes that come soon.
fn fetch_ahead(look: &Look<'_>, index: usize, table: &Table, groups: &[&[Probe]]) {
    let at = |ahead: usize| groups.get(ahead).map(|group| bounds(table, group[0].0));
    if let Some([from, _]) = at(2 * PREFIXES_AHEAD) {
        look.fetch(index, from);
    }
    if let Some((stretch, bounds)) = at(PREFIXES_AHEAD).and_then(|bounds| Some((look.get(index, bounds[0])?, bounds))) {
        fetch_between(&stretch, bounds, look.bounds(index, bounds[0]));
    }
}
