//! Many queries at once: their probes are sorted by table, and each table is swept once.
//!
//! 1. The probes of a table, in the order of their prefixes, are cut into pieces at the ends of prefixes. Each piece is
//!    swept by one thread, with cursors that move forward only.
//! 2. What is in memory of the sealed values is compared as it is. Of the rest a page is decoded once, from the first value
//!    that a probe needs to the last, and compared with all that need it.
//! 3. What is found does not depend on the pieces: it is sorted by query at the end.

mod answers;
mod asked;
mod one_by_one;
mod pages;
mod whole;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Tables;
use super::probe::Near;
use super::stretches::Whole;
use crate::engine::Engine;
use crate::page;
use crate::store::QueryStats;
use crate::store::many::NearMany;
use crate::store::threads::in_threads;
use crate::store::work::{Limits, Work};
use crate::{Fingerprint, Probes, Result};
use answers::Found;
use asked::{Asked, Probe};
use one_by_one::OneByOne;
use whole::{Of, sweep_whole};

/// Each thread gets so many pieces, so that all end at about the same time.
const PIECES_A_THREAD: usize = 4;

/// What is in memory is looked at for so many probes at once: who changes it waits for that.
const PROBES_A_LOOK: usize = 512;

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
    ) -> Result<Option<NearMany<Fingerprint, Fingerprint>>> {
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
        self.by_query(sketches.len(), &asked, &pieces, &swept, threads).map(Some)
    }

    /// Reads the tables from end to end, where that is worth it and there is room.
    fn read_whole(&self, engine: &Engine, threads: usize) -> Result<()> {
        let Some(sealed) = self.sealed.as_ref().filter(|sealed| sealed.stretches.are_worth_reading()) else {
            return Ok(());
        };
        in_threads(threads, sealed.families.len(), |table| {
            if let Some(whole) = Whole::read(engine, sealed, table, self.design.tables()[table].prefix_bits())? {
                sealed.stretches.look().keep_whole(table, whole);
            }
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
        let mut swept = Swept { found: Vec::new(), candidates: Vec::with_capacity(piece.probes.len()) };
        let of = Of { table: &self.design.tables()[piece.table], sketches, max_distance };
        let mut one_by_one = None;
        for probes in cut(piece.probes, PROBES_A_LOOK) {
            let look = self.sealed.as_ref().map(|sealed| sealed.stretches.look());
            let whole = look.as_ref().and_then(|look| look.whole(piece.table));
            // What has a key of its own is one candidate with what is sealed.
            if let Some(whole) = whole.filter(|_| self.rows().next().is_none()) {
                sweep_whole(whole, of, probes, &mut swept);
                if !may_go_on(swept.found.len()) {
                    break;
                }
                continue;
            }
            let one_by_one = match &mut one_by_one {
                Some(one_by_one) => one_by_one,
                None => one_by_one.insert(OneByOne::new(self, engine, of, piece)?),
            };
            if !one_by_one.sweep(look.as_ref(), probes, &mut swept, may_go_on)? {
                break;
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
    ) -> Result<NearMany<Fingerprint, Fingerprint>> {
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
        Ok(NearMany::of_each(scanned.into_iter().flatten()))
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
