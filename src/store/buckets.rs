//! Numbers with something each, sorted by their highest bits first: where they are spread evenly, that is a few passes.

/// Numbers are sorted by so many of their highest bits at once.
const MOST_BITS: u32 = 16;

/// So few are compared with each other.
const FEW: usize = 1 << 10;

/// Sorts pairs whose numbers have so many bits, by number. Those with one number stay in their order where that ascends.
pub(super) fn sorted<T: Copy + Ord + Default>(mut pairs: Vec<(u64, T)>, bits: u32) -> Vec<(u64, T)> {
    if pairs.len() < FEW {
        pairs.sort_unstable();
        return pairs;
    }
    let highest = bits.min(MOST_BITS).min(pairs.len().ilog2());
    let shift = bits - highest;
    let bucket = |pair: &(u64, T)| usize::try_from(pair.0.checked_shr(shift).unwrap_or(0)).unwrap_or(usize::MAX);
    let mut ends = vec![0; 1 << highest];
    for pair in &pairs {
        ends[bucket(pair)] += 1;
    }
    let mut begin = 0;
    for end in &mut ends {
        begin += std::mem::replace(end, begin);
    }
    let mut sorted = vec![(0, T::default()); pairs.len()];
    for pair in pairs {
        let at = &mut ends[bucket(&pair)];
        sorted[*at] = pair;
        *at += 1;
    }
    if shift > 0 {
        let mut begin = 0;
        for end in ends {
            sorted[begin..end].sort_unstable();
            begin = end;
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_in_order_whatever_the_numbers_are() {
        for bits in [0, 1, 7, 16, 17, 33, 64] {
            for count in [0, 1, 900, 5_000] {
                for crowd in [1, 40, u64::MAX] {
                    let number = |n: u32| {
                        let value = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15) % crowd;
                        value & crate::permutation::ones(bits)
                    };
                    let pairs: Vec<(u64, u32)> = (0..count).map(|n| (number(n), n)).collect();
                    let mut expected = pairs.clone();
                    expected.sort_unstable();
                    assert_eq!(sorted(pairs, bits), expected, "{bits} bits, {count} pairs, {crowd}");
                }
            }
        }
    }
}
