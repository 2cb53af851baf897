//! The sums of the 64 bits of a simhash while features come in.
//!
//! Features of weight 1 are counted upright: bit `b` of word `i` of a [`Counters`] is worth 2^i in the count of bit `b`, so that a
//! few bitwise instructions add a feature to all 64 counts at once, and the majority is found without reading out any
//! count. Eight of them lie beside each other, which fills the vectors that the processor has; carries are saved as Harley
//! and Seal do (Warren, "Hacker's Delight", 2nd edition, section 8-6): of 64 features only the eighths ripple on.

#![expect(clippy::inline_always, reason = "it is compiled for each set of instructions as a part of what calls it")]

use crate::Fingerprint;
use crate::isa::{Isa, for_each_isa};

/// The sums of the 64 bits.
pub(crate) struct Sums {
    /// How many features of weight 1 have each bit set.
    ones: Counters,
    /// `set[b]` is the weight of the other features that have bit `b` set, if there are any; the sum of the text book is
    /// twice what both hold less `total`.
    set: Option<Box<[u64; 64]>>,
    total: u64,
    isa: Isa,
}

impl Default for Sums {
    fn default() -> Self {
        Self { ones: [0; COUNTER_BITS], set: None, total: 0, isa: Isa::detected() }
    }
}

/// Bits that a count may have.
const COUNTER_BITS: usize = 48;

type Counters = [u64; COUNTER_BITS];

/// Counters beside each other, and features that they take at once.
const LANES: usize = 8;

type Lanes = [u64; LANES];

/// Features of which each lane takes eight.
const BLOCK: usize = 8 * LANES;

/// The bits of the counts of a lane.
const LANE_BITS: usize = 10;

/// Blocks until a lane is full.
const BLOCKS: usize = (1 << LANE_BITS) / 8 - 1;

impl Sums {
    /// Adds features of weight 1.
    pub(crate) fn count(&mut self, features: &[u64]) {
        self.total += features.len() as u64;
        for features in features.chunks(BLOCKS * BLOCK) {
            count(self.isa, features, &mut self.ones);
        }
    }

    /// Adds features with weights.
    pub(crate) fn weigh(&mut self, features: &[(u64, u32)]) {
        self.total += features.iter().map(|&(_, weight)| u64::from(weight)).sum::<u64>();
        weigh(self.isa, features, self.set.get_or_insert_with(|| Box::new([0; 64])));
    }

    /// The fingerprint, if any feature has a weight; a bit whose sum is 0 is set if and only if `sets_ties`.
    pub(crate) fn fingerprint(&self, sets_ties: bool) -> Option<Fingerprint> {
        if self.total == 0 {
            return None;
        }
        let Some(set) = &self.set else { return Some(Fingerprint::new(self.majority(sets_ties))) };
        let mut bits = 0;
        for (bit, &set) in set.iter().enumerate() {
            let ones = self.ones.iter().enumerate().map(|(i, word)| (word >> bit & 1) << i).sum::<u64>();
            let (set, unset) = (set + ones, self.total - set - ones);
            bits |= u64::from(set > unset || (sets_ties && set == unset)) << bit;
        }
        Some(Fingerprint::new(bits))
    }

    /// The bits whose counts are more than half of the total, or just half of it with `sets_ties`: all counts are compared
    /// with it at once, from their highest bit on.
    fn majority(&self, sets_ties: bool) -> u64 {
        let (half, bits) = (self.total / 2, u64::BITS - self.total.leading_zeros());
        let (mut more, mut equal) = (0, u64::MAX);
        for i in (0..bits).rev() {
            let (word, of_half) = (self.ones[i as usize], (half >> i & 1).wrapping_neg());
            more |= equal & word & !of_half;
            equal &= !(word ^ of_half);
        }
        if sets_ties && self.total.is_multiple_of(2) { more | equal } else { more }
    }
}

/// Sums of features that come one by one.
#[derive(Default)]
pub(crate) struct Gathered {
    sums: Sums,
    ones: Vec<u64>,
    others: Vec<(u64, u32)>,
}

/// Features that are kept until they are added together.
const GATHERED: usize = 1024;

impl Gathered {
    pub(crate) fn add(&mut self, feature: u64, weight: u32) {
        if weight == 1 {
            self.ones.push(feature);
        } else {
            self.others.push((feature, weight));
        }
        if self.ones.len() + self.others.len() == GATHERED {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.sums.count(&self.ones);
        if !self.others.is_empty() {
            self.sums.weigh(&self.others);
        }
        self.ones.clear();
        self.others.clear();
    }

    pub(crate) fn sums(mut self) -> Sums {
        self.settle();
        self.sums
    }
}

for_each_isa! {
    /// Counts features, which the lanes can hold.
    fn count(features: &[u64], counters: &mut Counters) {
        let mut lanes = [[0; LANES]; LANE_BITS];
        let (blocks, rest) = features.as_chunks::<BLOCK>();
        for block in blocks {
            add_block(&mut lanes, block);
        }
        if !rest.is_empty() {
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            add_block(&mut lanes, &block);
        }
        merge(&lanes, counters);
    }
}

/// Adds eight features to each lane.
#[inline(always)]
fn add_block(lanes: &mut [Lanes; LANE_BITS], block: &[u64; BLOCK]) {
    let (f, _) = block.as_chunks::<LANES>();
    let [ones, twos, fours, above @ ..] = lanes;
    let twos_a = full(ones, &f[0], &f[1]);
    let twos_b = full(ones, &f[2], &f[3]);
    let fours_a = full(twos, &twos_a, &twos_b);
    let twos_a = full(ones, &f[4], &f[5]);
    let twos_b = full(ones, &f[6], &f[7]);
    let fours_b = full(twos, &twos_a, &twos_b);
    let mut carry = full(fours, &fours_a, &fours_b);
    for lane in above {
        for (bits, carry) in lane.iter_mut().zip(&mut carry) {
            (*bits, *carry) = (*bits ^ *carry, *bits & *carry);
        }
    }
}

/// Adds two bits to a third, of all lanes, and returns the carries.
#[inline(always)]
fn full(sum: &mut Lanes, a: &Lanes, b: &Lanes) -> Lanes {
    let mut carries = [0; LANES];
    for i in 0..LANES {
        let either = a[i] ^ b[i];
        carries[i] = (a[i] & b[i]) | (sum[i] & either);
        sum[i] ^= either;
    }
    carries
}

/// Adds what the lanes have counted to one counter.
#[inline(always)]
fn merge(lanes: &[Lanes; LANE_BITS], counters: &mut Counters) {
    /// Bits of the sum of all lanes.
    const BITS: usize = LANE_BITS + LANES.ilog2() as usize;
    let mut sums = [[0; LANES]; BITS];
    sums[..LANE_BITS].copy_from_slice(lanes);
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        let mut carry = [0; LANES];
        for lane in &mut sums {
            for i in 0..width {
                let (a, b) = (lane[i], lane[i + width]);
                (lane[i], carry[i]) = (a ^ b ^ carry[i], (a & b) | (carry[i] & (a ^ b)));
            }
        }
    }
    let mut carry = 0;
    for (i, counter) in counters.iter_mut().enumerate() {
        let bits = sums.get(i).map_or(0, |lane| lane[0]);
        (*counter, carry) = (*counter ^ bits ^ carry, (*counter & bits) | (carry & (*counter ^ bits)));
    }
}

for_each_isa! {
    /// Adds the weight of each feature where it has its bits.
    fn weigh(features: &[(u64, u32)], set: &mut [u64; 64]) {
        let mut sums = *set;
        for &(feature, weight) in features {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += u64::from(weight) & (feature >> bit & 1).wrapping_neg();
            }
        }
        *set = sums;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Features that differ in every bit and are not balanced.
    fn features(count: u64) -> Vec<u64> {
        (1..=count).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) | n >> 3).collect()
    }

    fn counts(features: &[u64]) -> [u64; 64] {
        let mut counts = [0; 64];
        for (bit, count) in counts.iter_mut().enumerate() {
            *count = features.iter().map(|feature| feature >> bit & 1).sum();
        }
        counts
    }

    #[test]
    fn every_set_of_instructions_counts_the_same() {
        let all = features(3 * (BLOCKS * BLOCK) as u64 + 5);
        for isa in Isa::all() {
            for number in (0..200).chain([255, 1000, BLOCKS * BLOCK - 1, BLOCKS * BLOCK, BLOCKS * BLOCK + 1, all.len()])
            {
                let mut sums = Sums { isa, ..Sums::default() };
                sums.count(&all[..number]);
                let found =
                    |bit: usize| -> u64 { sums.ones.iter().enumerate().map(|(i, word)| (word >> bit & 1) << i).sum() };
                assert_eq!(std::array::from_fn(found), counts(&all[..number]), "{isa:?}, {number} features");
            }
            let full = vec![u64::MAX; BLOCKS * BLOCK];
            let mut sums = Sums { isa, ..Sums::default() };
            sums.count(&full);
            sums.count(&full);
            let expected: Counters = std::array::from_fn(|i| ((2 * full.len() as u64) >> i & 1).wrapping_neg());
            assert_eq!(sums.ones, expected, "{isa:?}");
        }
    }

    #[test]
    fn every_set_of_instructions_weighs_the_same() {
        let weighted: Vec<_> = features(100).into_iter().zip((0..50).chain(u32::MAX - 50..)).collect();
        for isa in Isa::all() {
            let mut set = [3; 64];
            weigh(isa, &weighted, &mut set);
            for (bit, &sum) in set.iter().enumerate() {
                let expected: u64 = weighted.iter().map(|&(f, weight)| (f >> bit & 1) * u64::from(weight)).sum();
                assert_eq!(sum, 3 + expected, "{isa:?}, bit {bit}");
            }
        }
    }
}
