//! Near fingerprints that were found, and the ids of their documents.

use super::crowd::{self, Crowd, Part};
use super::ids::Ids;
use super::options::Pair;
use super::work::Near;
use crate::Result;
use crate::store::holders::Holders;

/// Some near fingerprints in the order in which they were found.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) near: Vec<Near>,
    at: usize,
    /// The ids of those before this one are known, and so many of them were looked up at once.
    known_to: usize,
    together: usize,
    ids: Ids,
    /// Where the second fingerprints are of another store.
    other_ids: Option<Ids>,
    /// After how many the earlier steps have ended, and how many steps, all in all.
    ends: Vec<(usize, u64)>,
}

/// What is known of a pair of fingerprints.
pub(super) enum Resolved {
    Pair(Pair),
    Crowd(Crowd),
}

impl Batch {
    /// Forgets what was taken. The caller has taken all.
    pub(super) fn clear(&mut self) {
        self.near.clear();
        self.ends.clear();
        (self.at, self.known_to) = (0, 0);
        (self.ids, self.other_ids) = (Ids::default(), None);
    }

    /// Notes that a step has ended with what is there.
    pub(super) fn end(&mut self, steps: u64) {
        self.ends.push((self.near.len(), steps));
    }

    /// Whether nothing was taken yet, so that the ids are not known.
    pub(super) fn is_fresh(&self) -> bool {
        self.at == 0 && !self.near.is_empty()
    }

    /// How many steps have ended, if what was taken so far is all of them and nothing else.
    pub(super) fn steps_taken(&self) -> Option<u64> {
        let place = self.ends.partition_point(|(end, _)| *end <= self.at);
        let (end, steps) = *self.ends.get(place.checked_sub(1)?)?;
        (end == self.at).then_some(steps)
    }

    /// Takes the next pair of which both fingerprints have a document. Of each fingerprint the smallest id tells, or
    /// where they are expanded, all.
    pub(super) fn next(
        &mut self,
        holders: &mut Holders,
        mut other: Option<&mut Holders>,
        expand: bool,
        id_bytes: usize,
    ) -> Result<Option<Resolved>> {
        while let Some(&(a, b)) = self.near.get(self.at) {
            if self.at == self.known_to {
                self.resolve(holders, other.as_deref_mut(), expand, id_bytes)?;
            }
            self.at += 1;
            let ((mut of_a, a_more), (mut of_b, b_more)) =
                (self.ids.of(a), self.other_ids.as_ref().unwrap_or(&self.ids).of(b));
            if of_a.len() == 0 || of_b.len() == 0 {
                continue;
            }
            if expand && (of_a.len() > 1 || of_b.len() > 1) {
                let (a, b) = (Part::new(a, of_a, a_more), Part::new(b, of_b, b_more));
                return Ok(Some(Resolved::Crowd(Crowd::of_two(a, b))));
            }
            let (Some(first), Some(second)) = (of_a.next(), of_b.next()) else { continue };
            let is_turned = other.is_none() && first > second;
            let (first, second) = if is_turned { (second, first) } else { (first, second) };
            let (distance, a, b) = ((a ^ b).count_ones(), first.to_owned(), second.to_owned());
            return Ok(Some(Resolved::Pair(Pair { a, b, distance })));
        }
        Ok(None)
    }

    /// Looks up the ids of the next fingerprints: of all that are there, or of as many as there is room for.
    fn resolve(
        &mut self,
        holders: &mut Holders,
        mut other: Option<&mut Holders>,
        expand: bool,
        id_bytes: usize,
    ) -> Result<()> {
        let most = if expand { crowd::HELD } else { 1 };
        if self.at == 0 {
            self.together = self.near.len();
        }
        // Before the next ones are read.
        (self.ids, self.other_ids) = (Ids::default(), None);
        loop {
            let near = &self.near[self.at..self.near.len().min(self.at + self.together)];
            let (a, b) = (near.iter().map(|near| near.0), near.iter().map(|near| near.1));
            let known = match &mut other {
                None => Ids::read(holders, ordered(a.chain(b)), most, id_bytes)?.map(|ids| (ids, None)),
                Some(other) => match Ids::read(holders, ordered(a), most, id_bytes / 2)? {
                    None => None,
                    Some(ids) => {
                        Ids::read(other, ordered(b), most, id_bytes / 2)?.map(|other_ids| (ids, Some(other_ids)))
                    }
                },
            };
            match known {
                Some((ids, other_ids)) => {
                    (self.ids, self.other_ids) = (ids, other_ids);
                    self.known_to = self.at + near.len();
                    return Ok(());
                }
                None => self.together = near.len().div_ceil(2),
            }
        }
    }
}

fn ordered(fingerprints: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut fingerprints: Vec<u64> = fingerprints.collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    fingerprints
}
