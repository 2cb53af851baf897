//! Answers as they are kept until they are asked for, which takes less memory, and time, than lists of their own.

use std::collections::VecDeque;

use super::holders::Ids;
use crate::store::many::NearMany;
use crate::store::results::{Match, Matches, Similarity};

/// The documents that are near some queries, for one query after the other.
#[derive(Default)]
pub(super) struct Documents {
    /// All ids.
    ids: Vec<u8>,
    /// The distance of each, and where its id ends.
    matches: Vec<(u32, usize)>,
    /// Where the matches of each query end.
    ends: Vec<usize>,
}

impl Documents {
    /// Appends what is near a query: sketches with their distances in order, and where their ids are.
    pub(super) fn push<'a, S: 'a>(
        &mut self,
        near: &'a [(u32, S)],
        mut ids_of: impl FnMut(usize) -> (&'a Ids, usize),
        level_ids: &mut Vec<&'a [u8]>,
    ) {
        let mut at = 0;
        for level in near.chunk_by(|a, b| a.0 == b.0) {
            level_ids.clear();
            for _ in level {
                let (ids, sketch) = ids_of(at);
                level_ids.extend(ids.of(sketch));
                at += 1;
            }
            // Most have one.
            if level_ids.len() > 1 {
                level_ids.sort_unstable();
            }
            for id in &*level_ids {
                self.ids.extend_from_slice(id);
                self.matches.push((level[0].0, self.ids.len()));
            }
        }
        self.ends.push(self.matches.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn of(&self, query: usize, similarity: impl Fn(u32) -> Option<Similarity>) -> Vec<Match> {
        let before = |at: usize| at.checked_sub(1);
        let first = before(query).map_or(0, |before| self.ends[before]);
        let mut begin = before(first).map_or(0, |before| self.matches[before].1);
        let found = self.matches[first..self.ends[query]].iter().map(|&(distance, end)| {
            let id = self.ids[begin..end].to_vec();
            begin = end;
            Match { distance, id, similarity: similarity(distance) }
        });
        found.collect()
    }
}

/// The answers to the first queries of a chunk, taken one after the other.
pub(super) struct Answered<S, K> {
    near: NearMany<S, K>,
    documents: VecDeque<Documents>,
    /// Answers that count instead, with the numbers of their queries, in order.
    others: VecDeque<(usize, Matches)>,
    /// How many were taken, and how many of them from the first of `documents`.
    taken: usize,
    taken_there: usize,
}

impl<S: 'static, K> Answered<S, K> {
    /// Takes what is near the queries, the documents of that, and answers that count instead.
    pub(super) fn new(near: NearMany<S, K>, documents: Vec<Documents>, others: Vec<(usize, Matches)>) -> Self {
        Self { near, documents: documents.into(), others: others.into(), taken: 0, taken_there: 0 }
    }

    /// Takes whole answers.
    pub(super) fn of(answers: Vec<Matches>) -> Self {
        Self::new(NearMany::default(), Vec::new(), answers.into_iter().enumerate().collect())
    }

    /// How many were taken.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Takes the answer to the next of the queries of the chunk.
    pub(super) fn next(&mut self, queries: &[S], similarity: impl Fn(u32) -> Option<Similarity>) -> Option<Matches> {
        while self.documents.front().is_some_and(|documents| documents.len() == self.taken_there) {
            self.documents.pop_front();
            self.taken_there = 0;
        }
        let (at, there) = (self.taken, self.taken_there);
        let answer = if self.others.front().is_some_and(|(other, _)| *other == at) {
            self.others.pop_front()?.1
        } else {
            let found = self.documents.front()?.of(there, similarity);
            Matches { found, stats: self.near.cost(at, &queries[at]), is_truncated: false }
        };
        (self.taken, self.taken_there) = (at + 1, there + 1);
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::QueryStats;

    fn cost(at: usize) -> QueryStats {
        QueryStats { candidates: at as u64, ..QueryStats::default() }
    }

    fn found(matches: &[(u32, &str)]) -> Vec<Match> {
        matches.iter().map(|&(distance, id)| Match { distance, id: id.into(), similarity: None }).collect()
    }

    #[test]
    fn answers_come_in_order_and_others_in_their_places() {
        let ids = Ids::from_iter([&["z", "b"][..], &["c"], &["d"]]);
        // Each is near the sketches of which it has the numbers.
        let near = [&[(0, 1), (2, 0), (2, 2)][..], &[], &[(1, 0)], &[(3, 2)], &[(1, 1)]];
        let parts = [&near[..2], &near[2..2], &near[2..3], &near[3..]];
        let documents = parts.map(|part| {
            let (mut documents, mut level) = (Documents::default(), Vec::new());
            for near in part {
                documents.push(near, |at| (&ids, near[at].1), &mut level);
            }
            documents
        });
        let many =
            NearMany::<usize, usize>::of_each(near.iter().enumerate().map(|(at, near)| (near.to_vec(), cost(at))));
        let other = Matches { found: found(&[(9, "other")]), ..Matches::default() };
        let others = vec![(1, other.clone()), (4, other.clone())];
        let mut answered = Answered::new(many, documents.into(), others);
        let matches = |at, of: &[(u32, &str)]| Matches { found: found(of), stats: cost(at), is_truncated: false };
        let expected = [
            matches(0, &[(0, "c"), (2, "b"), (2, "d"), (2, "z")]),
            other.clone(),
            matches(2, &[(1, "b"), (1, "z")]),
            matches(3, &[(3, "d")]),
            other.clone(),
        ];
        for (at, expected) in expected.into_iter().enumerate() {
            assert_eq!((answered.taken(), answered.next(&[0; 9], |_| None)), (at, Some(expected)));
        }
        assert_eq!((answered.next(&[0; 9], |_| None), answered.taken()), (None, 5));
        let mut answered = Answered::<usize, usize>::of(vec![other.clone(), other]);
        assert_eq!([(); 3].map(|()| answered.next(&[], |_| None).is_some()), [true, true, false]);
    }
}
