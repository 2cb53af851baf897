//! Many queries, answered together.
//!
//! 1. Queries are taken in chunks and answered in their order. A chunk is cut short where much is near, which bounds the
//!    memory.
//! 2. All changes during a chunk are recorded. An answer that none of them is near is one of the moment at which the
//!    chunk began; the others are asked for again, one by one.

mod answered;
mod holders;

use super::buckets::sorted;
use super::many::NearMany;
use super::query::query;
use super::results::Matches;
use super::shared::Shared;
use super::sketch::{Ask, Index, Key, Sketch};
use super::threads::in_threads;
use super::view::View;
use super::work::Limits;
use crate::{Error, Result, page};
use answered::{Answered, Documents};
use holders::{Ids, holders};

/// At most so many queries are answered together: more would share little more.
const CHUNK: usize = 1 << 18;

/// A thread looks up the documents of at least so many sketches at once.
const FEWEST_SKETCHES: usize = 256;

/// A thread puts together what is near so many queries at once.
const TOGETHER: usize = 1 << 12;

/// Each thread gets so many parts of what is looked up.
const PARTS_A_THREAD: usize = 4;

/// The answers to queries, in the order of the queries; from [`Store::query_batch`](crate::Store::query_batch).
pub(super) struct Answers<'a, S: Sketch, I> {
    store: &'a Shared<S>,
    queries: I,
    max_distance: u32,
    limits: Limits,
    threads: usize,
    /// Queries, of which the first are answered.
    chunk: Vec<S>,
    answered: Answered<S, S::Key>,
    /// Why the query behind those of the chunk cannot be asked.
    refused: Option<Error>,
    failed: bool,
}

impl<'a, S: Sketch, I: Iterator<Item = S>> Answers<'a, S, I> {
    pub(super) fn new(store: &'a Shared<S>, queries: I, max_distance: u32, limits: Limits, threads: usize) -> Self {
        let (chunk, answered) = (Vec::new(), Answered::of(Vec::new()));
        Self { store, queries, max_distance, limits, threads, chunk, answered, refused: None, failed: false }
    }

    fn answer(&mut self) -> Result<Option<Matches>> {
        let similarity = |distance| self.store.similarity(distance);
        if let Some(answer) = self.answered.next(&self.chunk, similarity) {
            return Ok(Some(answer));
        }
        self.chunk.drain(..self.answered.taken());
        self.answered = Answered::of(Vec::new());
        let more = if self.refused.is_none() { CHUNK - self.chunk.len() } else { 0 };
        for sketch in self.queries.by_ref().take(more) {
            if let Err(refused) = sketch.check(&self.store.record.design) {
                self.refused = Some(refused);
                break;
            }
            self.chunk.push(sketch);
        }
        if self.chunk.is_empty() {
            return self.refused.take().map_or(Ok(None), Err);
        }
        self.answered = answer(self.store, &self.chunk, self.max_distance, self.limits, self.threads)?;
        Ok(self.answered.next(&self.chunk, similarity))
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
) -> Result<Answered<S, S::Key>> {
    // What may be cut short is cut where single queries would be.
    if limits != Limits::new() {
        let alone = |place: usize| query(store, &Ask::new(&sketches[place], max_distance), limits);
        return in_threads(threads, sketches.len(), alone).map(Answered::of);
    }
    let record = store.claims.record();
    // Taken after the record has begun.
    let view = store.view();
    let now = store.now();
    let near = view.index.near_all(&store.engine, sketches, max_distance, threads)?;
    let documents = documents(store, &view, &near, now, threads)?;
    let changed = record.changed();
    let is_outrun = store.is_outrun(now);
    let is_near = |sketch: &S, changed: &[S]| changed.iter().any(|changed| changed.distance_to(sketch) <= max_distance);
    let is_stale = |sketch: &S| is_outrun || changed.as_ref().is_none_or(|changed: &Vec<S>| is_near(sketch, changed));
    let stale: Vec<usize> = (0..near.len()).filter(|&place| is_stale(&sketches[place])).collect();
    let again = in_threads(threads, stale.len(), |place| {
        query(store, &Ask::new(&sketches[stale[place]], max_distance), limits)
    })?;
    Ok(Answered::new(near, documents, stale.into_iter().zip(again).collect()))
}

/// Looks up the documents of what is near, as they are at a moment.
fn documents<S: Sketch>(
    store: &Shared<S>,
    view: &View<S>,
    many: &NearMany<S, S::Key>,
    now: u64,
    threads: usize,
) -> Result<Vec<Documents>> {
    // All sketches that are near, in the order of the queries, are numbered; equal ones are looked up together.
    let all = many.near();
    let order = sorted(all.iter().map(|(_, key)| key.number()).zip(0..).collect(), u64::BITS);
    let mut numbers: Vec<usize> = vec![0; all.len()];
    let mut distinct: Vec<S::Key> = Vec::with_capacity(all.len());
    let mut last = None;
    for (identity, at) in order {
        if last.replace(identity) != Some(identity) {
            distinct.push(all[at].1);
        }
        numbers[at] = distinct.len() - 1;
    }
    // A page has so many holders at most.
    let needs_most = |documents: u64| distinct.len() as u64 * page::MAX_VALUES as u64 > documents;
    if let (Some(sealed), Some(generation)) = (&view.sealed, view.generations.sealed)
        && needs_most(generation.documents)
    {
        store.engine.keep(&sealed.holders)?;
    }
    let each = distinct.len().div_ceil(threads * PARTS_A_THREAD).max(FEWEST_SKETCHES);
    let parts: Vec<&[S::Key]> = distinct.chunks(each).collect();
    let ids: Vec<Ids> = in_threads(threads, parts.len(), |part| holders(store, view, parts[part], now))?;
    in_threads(threads, many.len().div_ceil(TOGETHER), |part| {
        let (mut documents, mut level) = (Documents::default(), Vec::new());
        let (mut begin, ends) = many.ends(part * TOGETHER, TOGETHER);
        for &end in ends {
            let numbers = &numbers[begin..end];
            let ids_of = |at: usize| (&ids[numbers[at] / each], numbers[at] % each);
            documents.push(&all[begin..end], ids_of, &mut level);
            begin = end;
        }
        Ok(documents)
    })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use crate::format::families::Family;
    use crate::{Fingerprint, LoadOptions, Matches, Options, SimhashStore, TableDesign};

    fn value(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n % 7) << 50
    }

    /// Loads documents, of which every other one has a sketch that many have.
    fn load(store: &SimhashStore, numbers: std::ops::Range<u64>) {
        let mut loader = store.bulk_loader(&LoadOptions::new().memory_bytes(64 << 20)).unwrap();
        for n in numbers {
            let sketch = if n % 2 == 0 { value(n) } else { value(n % 21) };
            loader.push(format!("{n}, which has an id of some length"), &Fingerprint::new(sketch)).unwrap();
        }
        loader.commit(|_| ControlFlow::Continue(())).unwrap();
    }

    /// How many families are kept in memory for batches.
    fn kept(store: &SimhashStore) -> Vec<Family> {
        let view = store.shared.view();
        let holders = view.sealed.iter().map(|sealed| &sealed.holders);
        holders
            .filter(|holders| store.shared.engine.kept(holders).is_some())
            .map(crate::engine::Handle::family)
            .collect()
    }

    #[test]
    fn what_is_all_sealed_is_answered_from_memory_and_each_generation_for_itself() {
        for (design, cache, is_kept) in [("4x1", 32 << 20, true), ("2x33", 32 << 20, true), ("4x1", 1 << 20, false)] {
            let dir = tempfile::tempdir().unwrap();
            let design = TableDesign::named(design, 3).unwrap();
            let options = Options::new().cache_bytes(cache).auto_seal(None);
            let store = SimhashStore::create(dir.path().join("store"), &design, &options).unwrap();
            let mut generations = Vec::new();
            for documents in [0..9_000, 9_000..16_000] {
                load(&store, documents);
                let queries: Vec<Fingerprint> =
                    (0..6_000).map(|n| Fingerprint::new(value(n * 3) ^ (n % 5) << (n % 60))).collect();
                let expected: Vec<Matches> = queries.iter().map(|query| store.query(query, 3).unwrap()).collect();
                assert!(expected.iter().any(|answer| answer.len() > 150));
                for round in 0..4 {
                    for threads in [1, 3] {
                        let store = store.with_threads(threads.try_into().unwrap());
                        let answers = store.query_batch(queries.iter().copied(), 3).unwrap();
                        for (answer, expected) in answers.zip(&expected) {
                            assert_eq!(answer.unwrap(), *expected, "round {round}, {threads} threads");
                        }
                    }
                }
                assert_eq!(kept(&store).len(), usize::from(is_kept));
                assert!(store.stats().unwrap().cache_bytes <= cache as u64 + (1 << 20));
                generations.push(kept(&store));
            }
            assert!(!is_kept || generations[0] != generations[1]);
            // Where others need the memory, it is let go.
            store.shared.engine.share_of_blocks(64 << 10);
            assert_eq!(kept(&store), []);
        }
    }
}
