//! Numbers in order, in leaves: to add one moves a few kilobytes at most, and to read a range yields whole slices of
//! memory. The first leaf is at hand, so a few hundred numbers take one step to reach.

use super::within::{between, fetch_between, within};

/// A leaf that is full is divided.
const MOST: usize = 512;

/// What a leaf takes besides its numbers.
const LEAF_BYTES: usize = 32;

/// Distinct numbers.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    /// The smallest numbers, in order; empty only where there is no number at all.
    first: Vec<u64>,
    rest: Option<Box<Rest>>,
    /// So many numbers have room in all leaves.
    room: usize,
}

/// The leaves after the first one.
#[derive(Debug, Default)]
struct Rest {
    /// From which number on each of them is the place.
    begins: Vec<u64>,
    /// In order, none of them empty.
    leaves: Vec<Vec<u64>>,
}

impl Leaves {
    /// Takes numbers in order, each once.
    pub(super) fn of(values: &[u64]) -> Self {
        // Room for more in each.
        let mut leaves = values.chunks(MOST / 4 * 3).map(<[u64]>::to_vec);
        let first = leaves.next().unwrap_or_default();
        let leaves: Vec<Vec<u64>> = leaves.collect();
        let room = first.capacity() + leaves.iter().map(Vec::capacity).sum::<usize>();
        let rest = Rest { begins: leaves.iter().map(|leaf| leaf[0]).collect(), leaves };
        Self { first, rest: Some(Box::new(rest)).filter(|rest| !rest.leaves.is_empty()), room }
    }

    /// How many leaves begin at a number or before it, the first one left out.
    fn place(&self, value: u64) -> usize {
        self.rest.as_ref().map_or(0, |rest| rest.begins.partition_point(|&begin| begin <= value))
    }

    fn leaf(&mut self, place: usize) -> &mut Vec<u64> {
        match (place.checked_sub(1), &mut self.rest) {
            (Some(place), Some(rest)) => &mut rest.leaves[place],
            _ => &mut self.first,
        }
    }

    /// Adds a number unless it is there.
    pub(super) fn insert(&mut self, value: u64) {
        let place = self.place(value);
        let leaf = self.leaf(place);
        let Err(at) = leaf.binary_search(&value) else { return };
        let before = leaf.capacity();
        leaf.insert(at, value);
        let upper = (leaf.len() == MOST).then(|| leaf.split_off(MOST / 2));
        if upper.is_some() {
            leaf.shrink_to_fit();
        }
        let after = leaf.capacity() + upper.as_ref().map_or(0, Vec::capacity);
        if let Some(upper) = upper {
            let rest = self.rest.get_or_insert_default();
            rest.begins.insert(place, upper[0]);
            rest.leaves.insert(place, upper);
        }
        self.room = self.room + after - before;
    }

    /// Removes a number where it is there.
    pub(super) fn remove(&mut self, value: u64) {
        let place = self.place(value);
        let leaf = self.leaf(place);
        let Ok(at) = leaf.binary_search(&value) else { return };
        let before = leaf.capacity();
        leaf.remove(at);
        if leaf.len() * 4 < leaf.capacity() {
            leaf.shrink_to(leaf.len() * 2);
        }
        let (after, is_empty) = (leaf.capacity(), leaf.is_empty());
        self.room = self.room + after - before;
        if let Some(rest) = self.rest.as_mut().filter(|_| is_empty) {
            // The next one takes the place of the first one.
            let of = place.saturating_sub(1);
            rest.begins.remove(of);
            let leaf = rest.leaves.remove(of);
            if place == 0 {
                self.first = leaf;
            }
            if rest.leaves.is_empty() {
                self.rest = None;
            }
        }
    }

    /// Takes the numbers from one to another in order, slice by slice, until one is refused. All numbers lie between the
    /// `ends`: where they are few, they are found without a look at the first and the last.
    pub(super) fn read(&self, [from, to]: [u64; 2], ends: [u64; 2], mut take: impl FnMut(&[u64]) -> bool) {
        if self.rest.is_none() {
            let here = between(&self.first, [from, to], ends);
            if !here.is_empty() {
                take(here);
            }
            return;
        }
        let place = self.place(from);
        let rest = self.rest.as_ref().map_or(&[][..], |rest| &rest.leaves);
        let first = Some(&self.first).filter(|_| place == 0);
        for leaf in first.into_iter().chain(&rest[place.saturating_sub(1)..]) {
            let here = within(leaf, from, to);
            let is_last = leaf.last().is_none_or(|&last| last > to);
            if !here.is_empty() && !take(here) || is_last {
                break;
            }
        }
    }

    /// Whether a number is there, of those that lie between two ends.
    pub(super) fn contains(&self, value: u64, ends: [u64; 2]) -> bool {
        let mut is_there = false;
        self.read([value, value], ends, |_| {
            is_there = true;
            false
        });
        is_there
    }

    /// Has the processor fetch the numbers from one to another, of those that lie between two ends.
    pub(super) fn fetch(&self, bounds: [u64; 2], ends: [u64; 2]) {
        if self.rest.is_none() {
            fetch_between(&self.first, bounds, ends);
        }
    }

    /// The bytes in use, without this itself.
    pub(super) fn bytes(&self) -> usize {
        self.room * 8 + self.rest.as_ref().map_or(0, |rest| rest.leaves.len() * LEAF_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn read(leaves: &Leaves, bounds: [u64; 2]) -> Vec<u64> {
        let mut values = Vec::new();
        leaves.read(bounds, [0, u64::MAX], |slice| {
            values.extend_from_slice(slice);
            true
        });
        values
    }

    fn check(leaves: &Leaves, all: &BTreeSet<u64>) {
        let rest = leaves.rest.as_ref();
        assert!(rest.is_none_or(|rest| !rest.leaves.is_empty() && !leaves.first.is_empty()));
        let others = rest.into_iter().flat_map(|rest| &rest.leaves);
        assert!(others.clone().all(|leaf| !leaf.is_empty() && leaf.len() < MOST && leaf.capacity() <= 2 * MOST));
        assert!(rest.is_none_or(|rest| rest.begins.iter().zip(&rest.leaves).all(|(begin, leaf)| *begin <= leaf[0])));
        assert_eq!(leaves.room, leaves.first.capacity() + others.map(Vec::capacity).sum::<usize>());
        assert_eq!(read(leaves, [0, u64::MAX]), all.iter().copied().collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn they_are_a_set_in_order(
            begin in proptest::collection::btree_set(0u64..20_000, 0..2_000),
            steps in proptest::collection::vec((any::<bool>(), 0u64..20_000), 0..3_000),
            ranges in proptest::collection::vec((0u64..20_100, 0u64..20_100), 20),
        ) {
            let begun: Vec<u64> = begin.iter().copied().collect();
            let (mut leaves, mut all) = (Leaves::of(&begun), begin);
            for (is_added, value) in steps {
                if is_added {
                    leaves.insert(value);
                    all.insert(value);
                } else {
                    leaves.remove(value);
                    all.remove(&value);
                }
            }
            check(&leaves, &all);
            for (a, b) in ranges {
                let (from, to) = (a.min(b), a.max(b));
                prop_assert_eq!(read(&leaves, [from, to]), all.range(from..=to).copied().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn room_is_given_back() {
        let mut leaves = Leaves::default();
        for value in 0..10_000 {
            leaves.insert(value);
        }
        let most = leaves.bytes();
        assert!((80_000..200_000).contains(&most), "{most}");
        for value in 0..9_990 {
            leaves.remove(value);
        }
        assert!(leaves.bytes() < 6_000, "{}", leaves.bytes());
        for value in 9_990..10_000 {
            leaves.remove(value);
        }
        assert_eq!((leaves.bytes(), leaves.rest.is_none()), (0, true));
    }

    #[test]
    fn a_refused_slice_is_the_last() {
        let leaves = Leaves::of(&(0..10_000).collect::<Vec<_>>());
        let mut slices = 0;
        leaves.read([0, u64::MAX], [0, u64::MAX], |_| {
            slices += 1;
            slices < 3
        });
        assert_eq!(slices, 3);
        let is_there = |value| leaves.contains(value, [0, u64::MAX]);
        assert!(is_there(0) && is_there(9_999) && !is_there(10_000));
    }
}
