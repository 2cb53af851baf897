//! Numbers in order, in leaves: to add one moves a few hundred bytes, and to read a range yields whole slices of memory.

/// A leaf that is full is divided.
const MOST: usize = 128;

/// What a leaf takes besides its numbers.
const LEAF_BYTES: usize = 32;

/// Distinct numbers.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    /// The smallest number of each leaf, but zero of the first one.
    firsts: Vec<u64>,
    /// In order, none of them empty.
    each: Vec<Vec<u64>>,
    /// So many numbers have room in all leaves.
    room: usize,
}

impl Leaves {
    /// Takes numbers in order, each once.
    pub(super) fn of(values: &[u64]) -> Self {
        // Room for more in each.
        let each: Vec<Vec<u64>> = values.chunks(MOST / 4 * 3).map(<[u64]>::to_vec).collect();
        let mut firsts: Vec<u64> = each.iter().map(|leaf| leaf[0]).collect();
        if let Some(first) = firsts.first_mut() {
            *first = 0;
        }
        let room = each.iter().map(Vec::capacity).sum();
        Self { firsts, each, room }
    }

    /// The leaf that a number is in, or belongs to.
    fn place(&self, value: u64) -> usize {
        self.firsts.partition_point(|&first| first <= value).saturating_sub(1)
    }

    /// Adds a number unless it is there.
    pub(super) fn insert(&mut self, value: u64) {
        let place = self.place(value);
        let Some(leaf) = self.each.get_mut(place) else {
            let leaf = vec![value];
            self.room = leaf.capacity();
            self.firsts.push(0);
            self.each.push(leaf);
            return;
        };
        let Err(at) = leaf.binary_search(&value) else { return };
        self.room -= leaf.capacity();
        leaf.insert(at, value);
        if leaf.len() == MOST {
            let upper = leaf.split_off(MOST / 2);
            leaf.shrink_to_fit();
            self.room += leaf.capacity() + upper.capacity();
            self.firsts.insert(place + 1, upper[0]);
            self.each.insert(place + 1, upper);
        } else {
            self.room += leaf.capacity();
        }
    }

    /// Removes a number where it is there.
    pub(super) fn remove(&mut self, value: u64) {
        let place = self.place(value);
        let Some(leaf) = self.each.get_mut(place) else { return };
        let Ok(at) = leaf.binary_search(&value) else { return };
        self.room -= leaf.capacity();
        leaf.remove(at);
        if leaf.is_empty() {
            self.each.remove(place);
            self.firsts.remove(place);
            if let Some(first) = self.firsts.first_mut() {
                *first = 0;
            }
            return;
        }
        if leaf.len() * 4 < leaf.capacity() {
            leaf.shrink_to(leaf.len() * 2);
        }
        self.room += leaf.capacity();
    }

    /// Takes the numbers from one to another in order, slice by slice, until one is refused.
    pub(super) fn read(&self, [from, to]: [u64; 2], mut take: impl FnMut(&[u64]) -> bool) {
        for leaf in &self.each[self.place(from).min(self.each.len())..] {
            let here = super::probe::within(leaf, from, to);
            let is_last = leaf.last().is_none_or(|&last| last > to);
            if !here.is_empty() && !take(here) || is_last {
                break;
            }
        }
    }

    /// The bytes in use, without this itself.
    pub(super) fn bytes(&self) -> usize {
        self.room * 8 + self.each.len() * LEAF_BYTES
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn read(leaves: &Leaves, bounds: [u64; 2]) -> Vec<u64> {
        let mut values = Vec::new();
        leaves.read(bounds, |slice| {
            values.extend_from_slice(slice);
            true
        });
        values
    }

    fn check(leaves: &Leaves, all: &BTreeSet<u64>) {
        assert!(leaves.each.iter().all(|leaf| !leaf.is_empty() && leaf.len() < MOST && leaf.capacity() <= 2 * MOST));
        assert!(leaves.firsts.first().is_none_or(|&first| first == 0));
        assert!(leaves.firsts.iter().zip(&leaves.each).skip(1).all(|(first, leaf)| *first <= leaf[0]));
        assert_eq!(leaves.room, leaves.each.iter().map(Vec::capacity).sum::<usize>());
        assert_eq!(read(leaves, [0, u64::MAX]), all.iter().copied().collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn they_are_a_set_in_order(
            begin in proptest::collection::btree_set(0u64..5_000, 0..600),
            steps in proptest::collection::vec((any::<bool>(), 0u64..5_000), 0..3_000),
            ranges in proptest::collection::vec((0u64..5_100, 0u64..5_100), 20),
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
        assert!(leaves.bytes() < 2_000, "{}", leaves.bytes());
        for value in 9_990..10_000 {
            leaves.remove(value);
        }
        assert_eq!((leaves.bytes(), leaves.each.len(), leaves.firsts.len()), (0, 0, 0));
    }

    #[test]
    fn a_refused_slice_is_the_last() {
        let leaves = Leaves::of(&(0..1_000).collect::<Vec<_>>());
        let mut slices = 0;
        leaves.read([0, u64::MAX], |_| {
            slices += 1;
            slices < 3
        });
        assert_eq!(slices, 3);
    }
}
