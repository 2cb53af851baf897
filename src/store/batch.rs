//! Many queries, answered together.
//!
//! 1. Queries are taken in chunks and answered in their order. A chunk is cut short where much is near, which bounds the
//!    memory.
//! 2. All changes during a chunk are recorded. An answer that none of them is near is one of the moment at which the
//!    chunk began; the others are asked for again, one by one.

use std::collections::VecDeque;

use super::query::query;
use super::results::{Match, Matches};
use super::shared::Shared;
use super::sketch::{Ask, Index, Sketch};
use super::threads::in_threads;
use super::work::{Limits, Work};
use crate::Result;

/// At most so many queries are answered together: more would share little more.
const CHUNK: usize = 1 << 18;

/// Each thread looks up the holders of so many sketches at once.
const HOLDERS_TOGETHER: usize = 256;

/// The answers to queries, in the order of the queries; from [`Store::query_batch`](crate::Store::query_batch).
pub(super) struct Answers<'a, S: Sketch, I> {
    store: &'a Shared<S>,
    queries: I,
    max_distance: u32,
    limits: Limits,
    threads: usize,
    /// Queries that are not answered yet.
    chunk: Vec<S>,
    ready: VecDeque<Matches>,
    failed: bool,
}

impl<'a, S: Sketch, I: Iterator<Item = S>> Answers<'a, S, I> {
    pub(super) fn new(store: &'a Shared<S>, queries: I, max_distance: u32, limits: Limits, threads: usize) -> Self {
        Self { store, queries, max_distance, limits, threads, chunk: Vec::new(), ready: VecDeque::new(), failed: false }
    }

    fn answer(&mut self) -> Result<Option<Matches>> {
        if self.ready.is_empty() {
            let more = CHUNK - self.chunk.len();
            self.chunk.extend(self.queries.by_ref().take(more));
            self.ready = answer(self.store, &self.chunk, self.max_distance, self.limits, self.threads)?.into();
            self.chunk.drain(..self.ready.len());
        }
        Ok(self.ready.pop_front())
    }
}

impl<S: Sketch, I: Iterator<Item = S>> Iterator for Answers<'_, S, I> {
    type Item = Result<Matches>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.answer().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

/// Answers queries, or the first of them.
fn answer<S: Sketch>(
    store: &Shared<S>,
    sketches: &[S],
    max_distance: u32,
    limits: Limits,
    threads: usize,
) -> Result<Vec<Matches>> {
    // What may be cut short is cut where single queries would be.
    if limits != Limits::new() {
        let alone = |place: usize| query(store, &Ask::new(&sketches[place], max_distance), limits);
        return in_threads(threads, sketches.len(), alone);
    }
    let record = store.claims.record();
    // Taken after the record has begun.
    let view = store.view();
    let now = store.now();
    let near = view.index.near_all(&store.engine, sketches, max_distance, threads)?;
    let mut distinct: Vec<S> = near.iter().flat_map(|(near, _)| near.iter().map(|(_, near)| near.clone())).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let parts: Vec<&[S]> = distinct.chunks(HOLDERS_TOGETHER).collect();
    let holders = in_threads(threads, parts.len(), |part| {
        let holders = |sketch: &S| store.holders(&view, sketch, now, &mut Work::new(limits), usize::MAX);
        parts[part].iter().map(holders).collect::<Result<Vec<_>>>()
    })?;
    let holders: Vec<Vec<Vec<u8>>> = holders.into_iter().flatten().collect();
    let mut answers: Vec<Matches> = Vec::with_capacity(sketches.len());
    for (near, stats) in near {
        let mut found = Vec::new();
        for level in near.chunk_by(|a, b| a.0 == b.0) {
            let begun = found.len();
            for (distance, sketch) in level {
                let ids = distinct.binary_search(sketch).map_or(&[][..], |place| &holders[place]);
                found.extend(ids.iter().map(|id| Match { distance: *distance, id: id.clone() }));
            }
            found[begun..].sort_unstable();
        }
        answers.push(Matches { found, stats, is_truncated: false });
    }
    let changed = record.changed();
    let is_outrun = store.is_outrun(now);
    let is_near = |sketch: &S, changed: &[S]| changed.iter().any(|changed| changed.distance_to(sketch) <= max_distance);
    let is_stale = |sketch: &S| is_outrun || changed.as_ref().is_none_or(|changed: &Vec<S>| is_near(sketch, changed));
    let stale: Vec<usize> = (0..answers.len()).filter(|&place| is_stale(&sketches[place])).collect();
    let again = in_threads(threads, stale.len(), |place| {
        query(store, &Ask::new(&sketches[stale[place]], max_distance), limits)
    })?;
    for (place, answer) in stale.into_iter().zip(again) {
        answers[place] = answer;
    }
    Ok(answers)
}
