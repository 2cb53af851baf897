//! Where fingerprints crowd: under one prefix of a table, or under one value.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bits::number;
use crate::Fingerprint;

/// The crowds of one table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableReport {
    /// The number of the table, from 0.
    pub table: usize,
    /// Its prefix bits.
    pub prefix_bits: u32,
    /// Its entries: distinct sketches.
    pub entries: u64,
    /// The most crowded prefixes and their numbers of entries, the largest first.
    pub largest: Vec<(u64, u64)>,
    /// How many times more entries share the prefix of a stored sketch than were they uniform.
    pub skew: f64,
}

/// How many crowds are told.
pub(super) const LARGEST: usize = 5;

/// Counts runs of equal prefixes, which come in order.
#[derive(Debug, Default)]
pub(super) struct Runs {
    current: Option<(u64, u64)>,
    entries: u64,
    /// The sum of the squares of the runs, as a double since it may be large.
    squares: f64,
    largest: Largest<u64>,
}

impl Runs {
    pub(super) fn add(&mut self, prefix: u64) {
        self.entries += 1;
        match &mut self.current {
            Some((current, length)) if *current == prefix => *length += 1,
            _ => {
                self.end();
                self.current = Some((prefix, 1));
            }
        }
    }

    fn end(&mut self) {
        if let Some((prefix, length)) = self.current.take() {
            self.squares += number(length) * number(length);
            self.largest.add(length, prefix);
        }
    }

    pub(super) fn report(mut self, table: usize, prefix_bits: u32) -> TableReport {
        self.end();
        // A stored sketch shares its prefix with sum of squares / entries, itself included; were they
        // uniform, with itself and entries / 2^bits.
        let uniform =
            1.0 + number(self.entries.saturating_sub(1)) / 2f64.powi(i32::try_from(prefix_bits).unwrap_or(64));
        let skew = if self.entries == 0 { 1.0 } else { self.squares / number(self.entries) / uniform };
        TableReport { table, prefix_bits, entries: self.entries, largest: self.largest.sorted(), skew }
    }
}

/// The largest of many counts.
#[derive(Debug)]
pub(super) struct Largest<T> {
    heap: BinaryHeap<Reverse<(u64, T)>>,
}

impl<T: Ord> Default for Largest<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<T: Ord + Copy> Largest<T> {
    pub(super) fn add(&mut self, count: u64, of: T) {
        self.heap.push(Reverse((count, of)));
        if self.heap.len() > LARGEST {
            self.heap.pop();
        }
    }

    /// What was counted, and how often, the largest first.
    pub(super) fn sorted(self) -> Vec<(T, u64)> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse((count, of))| (of, count)).collect()
    }
}

/// Counts the documents of each sketch, which come in order.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    current: Option<(Fingerprint, u64)>,
    pub(super) sketches: u64,
    pub(super) documents: u64,
    largest: Largest<Fingerprint>,
}

impl Repeats {
    /// Adds a document, and tells whether it is the first one of its sketch.
    pub(super) fn add(&mut self, sketch: Fingerprint) -> bool {
        self.documents += 1;
        if let Some((current, count)) = &mut self.current
            && *current == sketch
        {
            *count += 1;
            return false;
        }
        self.end();
        self.sketches += 1;
        self.current = Some((sketch, 1));
        true
    }

    fn end(&mut self) {
        if let Some((sketch, count)) = self.current.take().filter(|&(_, count)| count > 1) {
            self.largest.add(count, sketch);
        }
    }

    /// The sketches that most documents have, the most first.
    pub(super) fn most(mut self) -> Vec<(Fingerprint, u64)> {
        self.end();
        self.largest.sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_and_the_largest_told() {
        let mut runs = Runs::default();
        for prefix in [0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 5, 5] {
            runs.add(prefix);
        }
        let report = runs.report(7, 8);
        assert_eq!((report.table, report.entries), (7, 12));
        assert_eq!(report.largest[..3], [(5, 4), (0, 3), (2, 2)]);
        assert!((report.skew - (9. + 1. + 4. + 1. + 1. + 16.) / 12. / (1. + 11. / 256.)).abs() < 1e-9);
    }

    #[test]
    fn documents_of_one_sketch_are_repeats() {
        let mut repeats = Repeats::default();
        for value in [1, 1, 2, 3, 3, 3] {
            repeats.add(Fingerprint::new(value));
        }
        assert_eq!((repeats.sketches, repeats.documents), (3, 6));
        assert_eq!(repeats.most(), [(Fingerprint::new(3), 3), (Fingerprint::new(1), 2)]);
    }
}
