//! All pairs of documents against the truth.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use nearstone::Fingerprint;

use crate::interrupt;

/// Pairs at one distance.
#[derive(Clone, Debug, Default)]
pub(super) struct At {
    pub(super) found: u64,
    pub(super) hits: u64,
    /// Some that are not true, of the found.
    pub(super) wrong: Vec<(u32, u32)>,
}

/// How well fingerprints find the true pairs.
#[derive(Debug)]
pub(super) struct Measured {
    /// By distance.
    at: Vec<At>,
    /// All true pairs.
    truths: u64,
}

/// What holds for all pairs within a distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) distance: usize,
    pub(super) found: u64,
    pub(super) hits: u64,
    truths: u64,
}

#[expect(clippy::cast_precision_loss, reason = "shares for people")]
impl Within {
    /// Which share of the found is true; 1 where nothing is found, since nothing is wrong.
    pub(super) fn precision(self) -> f64 {
        if self.found == 0 { 1.0 } else { self.hits as f64 / self.found as f64 }
    }

    pub(super) fn recall(self) -> f64 {
        self.hits as f64 / self.truths as f64
    }

    pub(super) fn f1(self) -> f64 {
        2.0 * self.hits as f64 / (self.found + self.truths) as f64
    }
}

/// So many rows are compared by a thread at a time.
const ROWS: usize = 64;

impl Measured {
    /// Compares every document with every other one. Those without a fingerprint are near nothing, and what is true of
    /// them is missed.
    pub(super) fn of(
        fingerprints: &[Option<Fingerprint>],
        truth: &HashSet<(u32, u32)>,
        max_distance: u32,
        examples: usize,
        threads: usize,
    ) -> anyhow::Result<Self> {
        let numbered = fingerprints.iter().zip(0u32..);
        let known: Vec<(u32, Fingerprint)> =
            numbered.filter_map(|(fingerprint, number)| Some((number, (*fingerprint)?))).collect();
        let (next, known) = (AtomicUsize::new(0), &known[..]);
        let work = || {
            let mut at = vec![At::default(); max_distance as usize + 1];
            loop {
                let first = next.fetch_add(ROWS, Ordering::Relaxed);
                if first >= known.len() || interrupt::check().is_err() {
                    return at;
                }
                for row in first..known.len().min(first + ROWS) {
                    compare(known[row], &known[row + 1..], truth, examples, &mut at);
                }
            }
        };
        let parts: Vec<Vec<At>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().map(|worker| worker.join().expect("comparing cannot fail")).collect()
        });
        interrupt::check()?;
        let mut at = vec![At::default(); max_distance as usize + 1];
        for (sum, part) in parts.iter().flat_map(|part| part.iter().enumerate()) {
            at[sum].found += part.found;
            at[sum].hits += part.hits;
            at[sum].wrong.extend(&part.wrong);
        }
        for at in &mut at {
            at.wrong.sort_unstable();
            at.wrong.truncate(examples);
        }
        Ok(Self { at, truths: truth.len() as u64 })
    }

    /// The sums up to each distance.
    pub(super) fn within(&self) -> impl Iterator<Item = Within> {
        let sums = self.at.iter().scan((0, 0), |sums, at| {
            *sums = (sums.0 + at.found, sums.1 + at.hits);
            Some(*sums)
        });
        sums.enumerate().map(|(distance, (found, hits))| Within { distance, found, hits, truths: self.truths })
    }

    /// The smallest distance with the best F1.
    pub(super) fn best(&self) -> Within {
        self.within()
            .reduce(|best, other| if other.f1() > best.f1() { other } else { best })
            .expect("distance 0 is one")
    }

    /// Pairs that are near without being true, the nearest first, with their distances.
    pub(super) fn wrong(&self) -> impl Iterator<Item = (Option<u32>, (u32, u32))> {
        self.at.iter().zip(0u32..).flat_map(|(at, distance)| at.wrong.iter().map(move |&pair| (Some(distance), pair)))
    }
}

fn compare(
    (number, fingerprint): (u32, Fingerprint),
    others: &[(u32, Fingerprint)],
    truth: &HashSet<(u32, u32)>,
    examples: usize,
    at: &mut [At],
) {
    for &(other, candidate) in others {
        let distance = fingerprint.distance(candidate) as usize;
        let Some(at) = at.get_mut(distance) else { continue };
        at.found += 1;
        if truth.contains(&(number, other)) {
            at.hits += 1;
        } else if at.wrong.len() < examples {
            // A thread takes its rows in ascending order, so these are the first pairs of them.
            at.wrong.push((number, other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_all_pairs() {
        let fingerprints = [Some(0), Some(1), Some(0b111), None, Some(u64::MAX)].map(|f| f.map(Fingerprint::new));
        let truth: HashSet<(u32, u32)> = [(0, 1), (1, 2), (0, 3)].into();
        for threads in [1, 3] {
            let measured = Measured::of(&fingerprints, &truth, 4, 2, threads).unwrap();
            let sums: Vec<_> = measured.within().map(|within| (within.found, within.hits)).collect();
            assert_eq!(sums, [(0, 0), (1, 1), (2, 2), (3, 2), (3, 2)]);
            let best = measured.best();
            assert_eq!(best.distance, 2);
            let shares = [best.precision(), best.recall(), best.f1()];
            assert!(shares.iter().zip([1.0, 2.0 / 3.0, 0.8]).all(|(a, b)| (a - b).abs() < 1e-12), "{shares:?}");
            assert_eq!(measured.wrong().collect::<Vec<_>>(), [(Some(3), (0, 2))]);
        }
    }

    #[test]
    fn examples_are_the_first_pairs_whatever_the_threads() {
        let fingerprints = vec![Some(Fingerprint::new(5)); 300];
        let truth: HashSet<(u32, u32)> = [(0, 1)].into();
        let wrong = |threads| {
            let measured = Measured::of(&fingerprints, &truth, 0, 3, threads).unwrap();
            measured.wrong().collect::<Vec<_>>()
        };
        assert_eq!(wrong(1), [(Some(0), (0, 2)), (Some(0), (0, 3)), (Some(0), (0, 4))]);
        assert_eq!(wrong(4), wrong(1));
    }
}
