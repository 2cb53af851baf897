//! Blocks of bits, and permutations that bring some of them to the front.

use std::ops::Range;

/// The most blocks that a value can be cut into, and the most parts of a permutation.
const MAX_PARTS: usize = 64;

/// Cuts a value of `width` bits into `count` blocks as equal as can be, the larger ones first.
///
/// Bits are counted from the most significant one, so block 0 is the front of the value.
pub(crate) fn equal_blocks(width: u32, count: u32) -> Vec<Range<u32>> {
    let mut start = 0;
    (0..count)
        .map(|block| {
            let end = start + width / count + u32::from(block < width % count);
            std::mem::replace(&mut start, end)..end
        })
        .collect()
}

/// A permutation of the bits of a value: a list of ranges of bits in their new order.
///
/// It is a bijection that keeps Hamming distances, so a permuted value is as good as the value itself
/// and is what the tables store. Bits are counted from the most significant one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permutation {
    width: u32,
    parts: Vec<Range<u32>>,
}

impl Permutation {
    /// Takes the ranges in their new order. They must cover each of the `width` bits once; neighbours
    /// that stay neighbours are joined. Returns `None` otherwise.
    pub(crate) fn new(width: u32, parts: impl IntoIterator<Item = Range<u32>>) -> Option<Self> {
        let mut joined: Vec<Range<u32>> = Vec::new();
        let mut seen = 0u64;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            if part.end > width || width > 64 || joined.len() == MAX_PARTS {
                return None;
            }
            let bits = ones(part.end - part.start) << (width - part.end);
            if seen & bits != 0 {
                return None;
            }
            seen |= bits;
            match joined.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => joined.push(part),
            }
        }
        (width > 0 && seen == ones(width)).then_some(Self { width, parts: joined })
    }

    /// Brings the given ranges to the front, in the order given, and the other bits after them in
    /// their old order. Returns `None` where a range overlaps another or leaves the value.
    pub(crate) fn to_front(width: u32, front: &[Range<u32>]) -> Option<Self> {
        let rest = (0..width).filter(|bit| !front.iter().any(|part| part.contains(bit))).map(|bit| bit..bit + 1);
        Self::new(width, front.iter().cloned().chain(rest))
    }

    /// The ranges of bits in their new order, each bit counted from the most significant one.
    #[must_use]
    pub fn parts(&self) -> &[Range<u32>] {
        &self.parts
    }

    /// Permutes a value.
    #[must_use]
    pub fn apply(&self, value: u64) -> u64 {
        let mut permuted = 0;
        for part in &self.parts {
            let length = part.end - part.start;
            let bits = value >> (self.width - part.end) & ones(length);
            permuted = shifted_left(permuted, length) | bits;
        }
        permuted
    }

    /// Undoes [`Permutation::apply`].
    #[must_use]
    pub fn invert(&self, permuted: u64) -> u64 {
        let mut value = 0;
        let mut end = self.width;
        for part in &self.parts {
            let length = part.end - part.start;
            end -= length;
            value |= (permuted >> end & ones(length)) << (self.width - part.end);
        }
        value
    }
}

/// The lowest `count` bits set, `count` being at most 64.
pub(crate) const fn ones(count: u32) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (64 - count) }
}

const fn shifted_left(value: u64, by: u32) -> u64 {
    if by == 64 { 0 } else { value << by }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_equal_within_a_bit_and_cover_the_value() {
        for width in 1..=64 {
            for count in 1..=width {
                let blocks = equal_blocks(width, count);
                assert_eq!(blocks.len(), count as usize);
                assert_eq!((blocks[0].start, blocks[count as usize - 1].end), (0, width));
                assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() >= pair[1].len()));
                assert!(blocks[0].len() - blocks[count as usize - 1].len() <= 1);
            }
        }
        let sizes: Vec<_> = equal_blocks(64, 5).into_iter().map(|block| block.len()).collect();
        assert_eq!(sizes, [13, 13, 13, 13, 12]);
    }

    /// Every order of the blocks of every cut of up to 10 bits, applied to every value.
    #[test]
    fn every_permutation_of_small_values_is_a_bijection_that_keeps_distances() {
        fn orders(items: &[Range<u32>]) -> Vec<Vec<Range<u32>>> {
            if items.len() <= 1 {
                return vec![items.to_vec()];
            }
            (0..items.len())
                .flat_map(|first| {
                    let mut rest = items.to_vec();
                    let head = rest.remove(first);
                    orders(&rest).into_iter().map(move |mut tail| {
                        tail.insert(0, head.clone());
                        tail
                    })
                })
                .collect()
        }
        for width in 1..=10 {
            for count in 1..=width.min(4) {
                for order in orders(&equal_blocks(width, count)) {
                    let permutation = Permutation::new(width, order.clone()).unwrap();
                    let mut seen = vec![false; 1 << width];
                    for value in 0..1u64 << width {
                        let permuted = permutation.apply(value);
                        assert_eq!(permutation.invert(permuted), value);
                        assert_eq!(permuted.count_ones(), value.count_ones());
                        assert!(!std::mem::replace(&mut seen[usize::try_from(permuted).unwrap()], true));
                        // The definition, bit by bit.
                        let bits = order.iter().flat_map(Clone::clone).map(|bit| value >> (width - 1 - bit) & 1);
                        assert_eq!(permuted, bits.fold(0, |all, bit| all << 1 | bit));
                    }
                }
            }
        }
    }

    #[test]
    fn wide_values_come_back() {
        for count in 1..=16 {
            let blocks = equal_blocks(64, count);
            for block in &blocks {
                let permutation = Permutation::to_front(64, std::slice::from_ref(block)).unwrap();
                for value in [0, 1, 1 << 63, u64::MAX, 0x0123_4567_89ab_cdef] {
                    assert_eq!(permutation.invert(permutation.apply(value)), value);
                }
                let front = permutation.apply(ones(block.end - block.start) << (64 - block.end));
                assert_eq!(front.leading_ones(), block.end - block.start);
            }
        }
    }

    #[test]
    fn what_is_no_permutation_is_refused() {
        for parts in [vec![0..8, 8..12], vec![0..8, 8..17], vec![0..9, 8..16], vec![0..16, 0..16], vec![]] {
            assert_eq!(Permutation::new(16, parts.clone()), None, "{parts:?}");
        }
        assert_eq!(Permutation::new(0, []), None);
    }
}
