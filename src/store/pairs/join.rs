//! All near pairs of some values in memory, or of some values with others.
//!
//! Few values are compared all with all. Of many, only the bits that vary among them matter: these are cut into one
//! more block than may differ, so that two values within the distance agree on one of the blocks at least. For each
//! block the values are put into buckets by it, and compared within their buckets; a pair counts in the first block
//! on which it agrees. A bucket that is still large goes the same way: all that it holds agrees on the block, so fewer
//! bits vary in it. Where fewer bits vary than may differ, every pair is near, so nothing is compared in vain.
//!
//! Blocks are chosen so that each tells about as many values apart, as far as a sample shows: of fingerprints that
//! lie around one, or share most bits, blocks of equal length would tell few apart.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::near::near_pairs;

/// Nobody takes what is found any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended;

/// Takes two values that are near, in the order in which they were given.
pub(super) trait Found: FnMut(u64, u64) -> Result<(), Ended> {}

impl<F: FnMut(u64, u64) -> Result<(), Ended>> Found for F {}

/// What it costs to put a value into its bucket, in comparisons.
const PLACING: u64 = 8;
/// From so many values on it is worth a look at how each bit is spread.
const WEIGHED: usize = 1024;
/// So many values are looked at for that.
const SAMPLE: usize = 256;
/// An odd multiplier that spreads the bits below over those above: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

type Blocks = SmallVec<[u64; 17]>;

/// The join, with the memory that it uses again and again.
pub(super) struct Join {
    max_distance: u32,
    /// The blocks on which a pair that counts must not agree, since it was found by them.
    differ: Vec<u64>,
    scratch: Vec<u64>,
    places: Vec<u32>,
}

impl Join {
    pub(super) fn new(max_distance: u32) -> Self {
        Self { max_distance, differ: Vec::new(), scratch: Vec::new(), places: Vec::new() }
    }

    /// Finds each near pair of distinct values once, and changes their order.
    pub(super) fn within(&mut self, values: &mut [u64], found: &mut impl Found) -> Result<(), Ended> {
        self.differ.clear();
        self.step_within(values, found)
    }

    /// Finds each value of `a` with each of `b` that is near it, and changes their orders.
    pub(super) fn between(&mut self, a: &mut [u64], b: &mut [u64], found: &mut impl Found) -> Result<(), Ended> {
        self.differ.clear();
        self.step_between(a, b, found)
    }

    fn step_within(&mut self, values: &mut [u64], found: &mut impl Found) -> Result<(), Ended> {
        let all = values.len() as u64 * values.len() as u64 / 2;
        let varying = varying(values);
        let Some(blocks) = cut(varying, self.max_distance, values.len() as u64, all, &[values]) else {
            return self.compare_within(values, 0, found);
        };
        let before = self.differ.len();
        for block in blocks {
            let buckets = Buckets::new(block, values.len());
            buckets.place(values, &mut self.scratch, &mut self.places);
            let mut rest = &mut *values;
            while !rest.is_empty() {
                let count = buckets.first(rest);
                let (bucket, after) = std::mem::take(&mut rest).split_at_mut(count);
                rest = after;
                if bucket.len() < 2 {
                } else if bucket.len() as u64 <= PLACING {
                    self.compare_within(bucket, block, found)?;
                } else {
                    // Other values may have come into the bucket; those that agree on the block vary in fewer bits.
                    bucket.sort_unstable_by_key(|value| value & block);
                    for agreeing in bucket.chunk_by_mut(|a, b| (a ^ b) & block == 0) {
                        self.step_within(agreeing, found)?;
                    }
                }
            }
            self.differ.push(block);
        }
        self.differ.truncate(before);
        Ok(())
    }

    fn step_between(&mut self, a: &mut [u64], b: &mut [u64], found: &mut impl Found) -> Result<(), Ended> {
        let (Some(&first), Some(&other)) = (a.first(), b.first()) else { return Ok(()) };
        let varying = varying(a) | varying(b);
        // Bits that are the same in all of `a`, and the opposite in all of `b`.
        let apart = ((first ^ other) & !varying).count_ones();
        let Some(distance) = self.max_distance.checked_sub(apart) else { return Ok(()) };
        let (count, all) = (a.len() as u64 + b.len() as u64, a.len() as u64 * b.len() as u64);
        let Some(blocks) = cut(varying, distance, count, all, &[a, b]) else {
            return self.compare_between(a, b, 0, found);
        };
        let before = self.differ.len();
        for block in blocks {
            let buckets = Buckets::new(block, a.len().max(b.len()));
            buckets.place(a, &mut self.scratch, &mut self.places);
            buckets.place(b, &mut self.scratch, &mut self.places);
            self.step_buckets(a, b, |value| buckets.of(value), &mut |join, a, b| {
                if a.len() as u64 * b.len() as u64 <= PLACING * PLACING {
                    return join.compare_between(a, b, block, found);
                }
                a.sort_unstable_by_key(|value| value & block);
                b.sort_unstable_by_key(|value| value & block);
                join.step_buckets(a, b, |value| value & block, &mut |join, a, b| join.step_between(a, b, found))
            })?;
            self.differ.push(block);
        }
        self.differ.truncate(before);
        Ok(())
    }

    /// Calls `step` with the values of each bucket of both, which come in the order of their buckets.
    fn step_buckets(
        &mut self,
        a: &mut [u64],
        b: &mut [u64],
        bucket: impl Fn(u64) -> u64,
        step: &mut impl FnMut(&mut Self, &mut [u64], &mut [u64]) -> Result<(), Ended>,
    ) -> Result<(), Ended> {
        let end = |values: &[u64], from: usize| {
            let first = bucket(values[from]);
            from + values[from..].iter().take_while(|&&value| bucket(value) == first).count()
        };
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            match bucket(a[i]).cmp(&bucket(b[j])) {
                Ordering::Less => i = end(a, i),
                Ordering::Greater => j = end(b, j),
                Ordering::Equal => {
                    let (next_i, next_j) = (end(a, i), end(b, j));
                    step(self, &mut a[i..next_i], &mut b[j..next_j])?;
                    (i, j) = (next_i, next_j);
                }
            }
        }
        Ok(())
    }

    fn compare_within(&self, values: &[u64], agree: u64, found: &mut impl Found) -> Result<(), Ended> {
        let mut hit = |a, b| if self.counts(a ^ b, agree) { found(a, b) } else { Ok(()) };
        for (i, value) in values.iter().enumerate() {
            near_pairs(std::slice::from_ref(value), &values[i + 1..], self.max_distance, &mut hit)?;
        }
        Ok(())
    }

    fn compare_between(&self, a: &[u64], b: &[u64], agree: u64, found: &mut impl Found) -> Result<(), Ended> {
        let mut hit = |a, b| if self.counts(a ^ b, agree) { found(a, b) } else { Ok(()) };
        near_pairs(a, b, self.max_distance, &mut hit)
    }

    /// Whether a near pair counts here, by the bits in which it differs: it agrees on the block of the bucket, and on
    /// none of the blocks before.
    fn counts(&self, differing: u64, agree: u64) -> bool {
        differing & agree == 0 && self.differ.iter().all(|block| differing & block != 0)
    }
}

/// The bits in which not all of the values are the same.
fn varying(values: &[u64]) -> u64 {
    let first = values.first().copied().unwrap_or(0);
    values.iter().fold(0, |varying, value| varying | value ^ first)
}

/// Cuts the bits that vary into one more block than may differ, where it costs less than `all` comparisons to look
/// at the values by each of them.
fn cut(varying: u64, distance: u32, count: u64, all: u64, values: &[&[u64]]) -> Option<Blocks> {
    let (bits, blocks) = (varying.count_ones(), distance + 1);
    let per_block = bits / blocks;
    if per_block == 0 || u64::from(blocks) * (PLACING * count + (all >> per_block)) >= all {
        return None;
    }
    let weights = (count >= WEIGHED as u64).then(|| weights(values));
    let mut each: SmallVec<[(u32, u64); 64]> = SmallVec::new();
    let mut left = varying;
    while left != 0 {
        let bit = left.trailing_zeros();
        each.push((weights.as_ref().map_or(0, |weights| weights[bit as usize]), 1 << bit));
        left &= left - 1;
    }
    if weights.is_none() {
        return Some((0..blocks).map(|n| part(&each, n, blocks)).collect());
    }
    // The heaviest first, each to the block that weighs least so far. Of equal ones to the one with the fewest bits,
    // so that none is empty.
    each.sort_unstable_by(|a, b| b.cmp(a));
    let mut parts: SmallVec<[(u32, u32, u64); 17]> = (0..blocks).map(|_| (0, 0, 0)).collect();
    for (weight, bit) in each {
        let least = parts.iter_mut().min_by_key(|part| (part.0, part.1)).expect("there is a block");
        *least = (least.0 + weight, least.1 + 1, least.2 | bit);
    }
    Some(parts.into_iter().map(|(.., block)| block).collect())
}

/// One of some parts as equal as can be.
fn part(bits: &[(u32, u64)], n: u32, parts: u32) -> u64 {
    let at = |n: u32| bits.len() * n as usize / parts as usize;
    bits[at(n)..at(n + 1)].iter().fold(0, |block, (_, bit)| block | bit)
}

/// How well each bit tells values apart: 1000 times the binary logarithm of one by the chance that two values agree on it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
fn weights(values: &[&[u64]]) -> [u32; 64] {
    let (mut set, mut count) = ([0u32; 64], 0u32);
    for values in values {
        for value in values.iter().step_by(values.len().div_ceil(SAMPLE).max(1)) {
            for (bit, set) in set.iter_mut().enumerate() {
                *set += (value >> bit & 1) as u32;
            }
            count += 1;
        }
    }
    set.map(|set| {
        let share = f64::from(set) / f64::from(count.max(1));
        let agree = share * share + (1.0 - share) * (1.0 - share);
        (-agree.log2() * 1000.0) as u32
    })
}

/// Buckets by a block: values that agree on it have the same one.
struct Buckets {
    block: u64,
    shift: u32,
}

impl Buckets {
    /// Up to four times as many buckets as values: then most values are alone in theirs.
    fn new(block: u64, count: usize) -> Self {
        Self { block, shift: 64 - (2 * count).next_power_of_two().trailing_zeros().clamp(1, 22) }
    }

    #[inline]
    fn of(&self, value: u64) -> u64 {
        (value & self.block).wrapping_mul(SPREAD) >> self.shift
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^22 buckets")]
    fn place_of(&self, value: u64) -> usize {
        self.of(value) as usize
    }

    /// Puts values in the order of their buckets.
    fn place(&self, values: &mut [u64], scratch: &mut Vec<u64>, places: &mut Vec<u32>) {
        places.clear();
        places.resize(1 << (64 - self.shift), 0);
        for &value in &*values {
            places[self.place_of(value)] += 1;
        }
        let mut sum = 0;
        for place in &mut *places {
            sum += std::mem::replace(place, sum);
        }
        scratch.clear();
        scratch.extend_from_slice(values);
        for &value in &*scratch {
            let place = &mut places[self.place_of(value)];
            values[*place as usize] = value;
            *place += 1;
        }
    }

    /// How many values at the front share a bucket.
    #[inline]
    fn first(&self, values: &[u64]) -> usize {
        let bucket = self.of(values[0]);
        1 + values[1..].iter().take_while(|&&value| self.of(value) == bucket).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(n: u64) -> u64 {
        let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn check(name: &str, mut values: Vec<u64>, distances: impl Iterator<Item = u32>) {
        values.sort_unstable();
        values.dedup();
        for distance in distances {
            let mut join = Join::new(distance);
            let mut found = Vec::new();
            let mut mixed = values.clone();
            join.within(&mut mixed, &mut |a: u64, b: u64| {
                found.push((a.min(b), a.max(b)));
                Ok(())
            })
            .unwrap();
            found.sort_unstable();
            let mut expected = Vec::new();
            for (i, &a) in values.iter().enumerate() {
                expected.extend(values[i + 1..].iter().filter(|&b| (a ^ b).count_ones() <= distance).map(|&b| (a, b)));
            }
            assert!(found == expected, "{name} within {distance}: {} of {}", found.len(), expected.len());

            let (a, b): (Vec<u64>, Vec<u64>) = values.iter().partition(|&&value| uniform(value).is_multiple_of(3));
            let both: Vec<u64> = b.iter().chain(a.iter().step_by(2)).copied().collect();
            let mut found = Vec::new();
            join.between(&mut a.clone(), &mut both.clone(), &mut |a: u64, b: u64| {
                found.push((a, b));
                Ok(())
            })
            .unwrap();
            found.sort_unstable();
            let mut expected = Vec::new();
            for &x in &a {
                expected.extend(both.iter().filter(|&y| (x ^ y).count_ones() <= distance).map(|&y| (x, y)));
            }
            expected.sort_unstable();
            assert!(found == expected, "{name} between {distance}: {} of {}", found.len(), expected.len());
        }
    }

    #[test]
    fn every_value_of_a_small_width() {
        for (width, shift) in [(1, 0), (4, 60), (8, 0), (10, 27)] {
            check("all", (0..1 << width).map(|value: u64| value << shift).collect(), 0..=width + 1);
        }
    }

    #[test]
    fn values_of_any_spread() {
        let count = 1600;
        let around =
            |n: u64, flips: u64| (0..n % (flips + 1)).fold(u64::MAX / 5, |v, i| v ^ 1 << (uniform(n * 77 + i) % 64));
        check("uniform", (0..count).map(uniform).collect(), [0, 3, 7, 16].into_iter());
        check("planted", (0..count).map(|n| uniform(n / 2) ^ ((n % 2) << (n % 64))).collect(), 0..=12);
        check("one prefix", (0..count).map(|n| uniform(n) >> 16 | 0xffff << 48).collect(), [1, 3, 6].into_iter());
        check("around one", (0..count).map(|n| around(n, 12)).collect(), [0, 1, 2, 3, 5, 9, 16].into_iter());
        check("few live bits", (0..count).map(|n| uniform(n) & 0x8001_0100_0100_8181).collect(), 0..=9);
        check("dense", (0..count).chain((0..count).map(|n| !n)).collect(), 0..=4);
    }

    #[test]
    fn a_large_crowd_is_not_compared_all_with_all() {
        // 2^38 comparisons would take minutes.
        let mut values: Vec<u64> = (0..1 << 19).map(|n| uniform(n) >> 24).collect();
        let mut found = 0;
        let began = std::time::Instant::now();
        let mut counted = |_, _| {
            found += 1;
            Ok(())
        };
        Join::new(3).within(&mut values, &mut counted).unwrap();
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
        // Of 2^37 pairs, those of 40 bits that are within 3: (1 + 40 + 780 + 9880) / 2^40 of them.
        assert!((1200..1480).contains(&found), "{found}");
    }

    #[test]
    fn it_ends_when_nobody_takes() {
        let mut values: Vec<u64> = (0..1000).collect();
        let mut calls = 0;
        let ended = Join::new(3).within(&mut values, &mut |_: u64, _: u64| {
            calls += 1;
            if calls == 10 { Err(Ended) } else { Ok(()) }
        });
        assert_eq!((ended, calls), (Err(Ended), 10));
    }
}
