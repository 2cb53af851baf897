//! Many queries, answered together.
//!
//! 1. Queries are taken in chunks and answered in their order. A chunk is cut short where much is near, which bounds the
//!    memory.
//! 2. All changes during a chunk are recorded. An answer that none of them is near is one of the moment at which the
//!    chunk began; the others are asked for again, one by one.

mod holders;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::query::query;
use super::results::{Match, Matches};
use super::shared::Shared;
use super::sketch::{Ask, Index, Key, NearOne, Sketch};
use super::threads::in_threads;
use super::view::View;
use super::work::Limits;
use crate::{Error, Result};
use holders::{Ids, holders};

/// At most so many queries are answered together: more would share little more.
const CHUNK: usize = 1 << 18;

/// A thread looks up the documents of at least so many sketches, and puts together so many answers, at once.
const TOGETHER: usize = 256;

/// Each thread gets so many parts of what is looked up.
const PARTS_A_THREAD: usize = 4;

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
    /// Why the query behind those of the chunk cannot be asked.
    refused: Option<Error>,
    failed: bool,
}

impl<'a, S: Sketch, I: Iterator<Item = S>> Answers<'a, S, I> {
    pub(super) fn new(store: &'a Shared<S>, queries: I, max_distance: u32, limits: Limits, threads: usize) -> Self {
        let (chunk, ready) = (Vec::new(), VecDeque::new());
        Self { store, queries, max_distance, limits, threads, chunk, ready, refused: None, failed: false }
    }

    fn answer(&mut self) -> Result<Option<Matches>> {
        if self.ready.is_empty() && (self.refused.is_none() || !self.chunk.is_empty()) {
            let more = if self.refused.is_none() { CHUNK - self.chunk.len() } else { 0 };
            for sketch in self.queries.by_ref().take(more) {
                if let Err(refused) = sketch.check(&self.store.record.design) {
                    self.refused = Some(refused);
                    break;
                }
                self.chunk.push(sketch);
            }
            self.ready = answer(self.store, &self.chunk, self.max_distance, self.limits, self.threads)?.into();
            self.chunk.drain(..self.ready.len());
        }
        match self.ready.pop_front() {
            None => self.refused.take().map_or(Ok(None), Err),
            ready => Ok(ready),
        }
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
    let mut answers = with_documents(store, &view, near, now, threads)?;
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

/// Looks up the documents of what is near, as they are at a moment.
fn with_documents<S: Sketch>(
    store: &Shared<S>,
    view: &View<S>,
    near: Vec<NearOne<S>>,
    now: u64,
    threads: usize,
) -> Result<Vec<Matches>> {
    // All sketches that are near, in the order of the queries, are numbered; equal ones are looked up together.
    let all: Vec<S::Key> = near.iter().flat_map(|(near, _)| near.iter().map(|(_, key)| *key)).collect();
    let mut order: Vec<(u64, usize)> = all.iter().map(|key| key.number()).zip(0..).collect();
    order.sort_unstable();
    let mut groups = vec![0; all.len()];
    let mut distinct: Vec<S::Key> = Vec::new();
    for (number, group) in order.chunk_by(|a, b| a.0 == b.0).enumerate() {
        distinct.push(all[group[0].1]);
        for &(_, at) in group {
            groups[at] = number;
        }
    }
    let each = distinct.len().div_ceil(threads * PARTS_A_THREAD).max(TOGETHER);
    let parts: Vec<&[S::Key]> = distinct.chunks(each).collect();
    let ids: Vec<Ids> = in_threads(threads, parts.len(), |part| holders(store, view, parts[part], now))?;
    let mut near = near.into_iter();
    let mut first = 0;
    let mut pieces = Vec::new();
    while near.len() > 0 {
        let piece: Vec<NearOne<S>> = near.by_ref().take(TOGETHER).collect();
        let count = piece.iter().map(|(near, _)| near.len()).sum::<usize>();
        pieces.push((&groups[first..first + count], Mutex::new(piece)));
        first += count;
    }
    let answers = in_threads(threads, pieces.len(), |piece| {
        let (groups, near) = &pieces[piece];
        let near = std::mem::take(&mut *near.lock().unwrap_or_else(PoisonError::into_inner));
        let mut groups = groups.iter();
        let answer = |(near, stats): NearOne<S>| {
            let mut found = Vec::with_capacity(near.len());
            for level in near.chunk_by(|a, b| a.0 == b.0) {
                let begun = found.len();
                for ((distance, _), &group) in level.iter().zip(&mut groups) {
                    let ids = ids[group / each].of(group % each);
                    let similarity = store.similarity(*distance);
                    found.extend(ids.map(|id| Match { distance: *distance, id: id.to_owned(), similarity }));
                }
                found[begun..].sort_unstable();
            }
            Matches { found, stats, is_truncated: false }
        };
        Ok(near.into_iter().map(answer).collect::<Vec<_>>())
    })?;
    Ok(answers.into_iter().flatten().collect())
}
