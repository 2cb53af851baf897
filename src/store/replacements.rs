//! Replacements of sketches, so that a query can tell that one happened during it and matters to it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many replacements are remembered; a query that more of them overlap is asked again.
const REMEMBERED: usize = 256;

/// Numbers the replacements of documents by other sketches.
#[derive(Debug)]
pub(super) struct Replacements<S> {
    begun: AtomicU64,
    /// All replacements up to this number are done.
    settled: AtomicU64,
    recent: Mutex<Recent<S>>,
}

#[derive(Debug)]
struct Recent<S> {
    under_way: Vec<u64>,
    /// The numbers and new sketches of the latest replacements, in the order of the numbers.
    latest: VecDeque<(u64, S)>,
}

/// A moment: all replacements up to this number were done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment(u64);

impl<S> Default for Replacements<S> {
    fn default() -> Self {
        let recent = Recent { under_way: Vec::new(), latest: VecDeque::new() };
        Self { begun: AtomicU64::new(0), settled: AtomicU64::new(0), recent: Mutex::new(recent) }
    }
}

impl<S> Replacements<S> {
    /// Marks a replacement by a sketch as under way until the result is dropped.
    pub(super) fn begin(&self, sketch: S) -> Replacing<'_, S> {
        let mut recent = self.recent();
        let number = self.begun.load(Ordering::SeqCst) + 1;
        recent.under_way.push(number);
        recent.latest.push_back((number, sketch));
        if recent.latest.len() > REMEMBERED {
            recent.latest.pop_front();
        }
        self.begun.store(number, Ordering::SeqCst);
        Replacing { replacements: self, number }
    }

    pub(super) fn now(&self) -> Moment {
        Moment(self.settled.load(Ordering::SeqCst))
    }

    /// Whether a replacement was under way since a moment whose new sketch matters.
    pub(super) fn overlap(&self, since: Moment, matters: impl Fn(&S) -> bool) -> bool {
        if self.begun.load(Ordering::SeqCst) == since.0 {
            return false;
        }
        let recent = self.recent();
        let begun = self.begun.load(Ordering::SeqCst);
        let later = recent.latest.iter().filter(|(number, _)| *number > since.0);
        begun - since.0 > recent.latest.len() as u64 || later.into_iter().any(|(_, sketch)| matters(sketch))
    }

    fn recent(&self) -> MutexGuard<'_, Recent<S>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Replacing<'a, S> {
    replacements: &'a Replacements<S>,
    number: u64,
}

impl<S> Drop for Replacing<'_, S> {
    fn drop(&mut self) {
        let mut recent = self.replacements.recent();
        recent.under_way.retain(|&number| number != self.number);
        let first = recent.under_way.iter().min();
        let settled = first.map_or_else(|| self.replacements.begun.load(Ordering::SeqCst), |first| first - 1);
        self.replacements.settled.store(settled, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_overlaps_what_began_before_it_was_done() {
        let replacements = Replacements::<u32>::default();
        let before = replacements.now();
        let (one, two) = (replacements.begin(1), replacements.begin(2));
        let during = replacements.now();
        drop(one);
        let later = replacements.now();
        drop(two);
        let after = replacements.now();
        for (moment, overlapping) in [(before, vec![1, 2]), (during, vec![1, 2]), (later, vec![2]), (after, vec![])] {
            let seen: Vec<u32> =
                [1, 2, 3].into_iter().filter(|s| replacements.overlap(moment, |new| new == s)).collect();
            assert_eq!(seen, overlapping);
        }
    }

    #[test]
    fn more_replacements_than_are_remembered_overlap_everything() {
        let replacements = Replacements::<u32>::default();
        let before = replacements.now();
        for _ in 0..REMEMBERED {
            drop(replacements.begin(1));
        }
        assert!(!replacements.overlap(before, |&new| new == 7));
        drop(replacements.begin(1));
        assert!(replacements.overlap(before, |&new| new == 7));
        assert!(!replacements.overlap(replacements.now(), |_| true));
    }
}
