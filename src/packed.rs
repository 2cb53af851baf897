//! Integers in any order, packed with one width above the least of them.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | `minimum`, big-endian; 0 if there are no integers |
//! | 1 | `width`, 0 to 64: the bits of the largest excess over the minimum; 0 if all integers are equal |
//! | ⌈count · `width` / 8⌉ | the excess of each integer over the minimum, in order, in `width` bits |
//!
//! How many there are is known from elsewhere. The order of the bits is that of the lows of a page, see
//! `page/mod.rs`. Bits that nothing uses are 0.

use super::page::{MAX_LOAD_BITS, append_bits, bits_at};

/// The bytes before the bits.
const HEADER_BYTES: usize = 9;

/// Why bytes are no packed integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadPacked(pub(crate) &'static str);

/// Appends the integers, any number of them.
pub(crate) fn encode(values: &[u64], out: &mut Vec<u8>) {
    let minimum = values.iter().copied().min().unwrap_or(0);
    let maximum = values.iter().copied().max().unwrap_or(0);
    let width = bit_length(maximum - minimum);
    out.extend(minimum.to_be_bytes());
    out.push(u8::try_from(width).expect("at most 64"));
    append_bits(values.iter().map(|value| value - minimum), width, out);
}

fn bit_length(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// Packed integers whose lengths have been checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    minimum: u64,
    width: u32,
    bytes: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Takes `count` integers at the front, and returns the bytes that follow them too.
    pub(crate) fn parse(bytes: &'a [u8], count: usize) -> Result<(Self, &'a [u8]), BadPacked> {
        let Some(&[ref minimum @ .., width]) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(BadPacked("their header is cut off"));
        };
        if width > 64 {
            return Err(BadPacked("they are wider than 64 bits"));
        }
        let end = count.checked_mul(width.into()).map(|bits| HEADER_BYTES + bits.div_ceil(8));
        let Some((bytes, rest)) = end.and_then(|end| bytes.split_at_checked(end)) else {
            return Err(BadPacked("they are cut off"));
        };
        Ok((Self { minimum: u64::from_be_bytes(*minimum), width: width.into(), bytes }, rest))
    }

    /// The integer at an index, in the same time for each. Not one of them if there is none at this index.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        self.minimum.wrapping_add(self.excess(index))
    }

    #[inline]
    fn excess(&self, index: usize) -> u64 {
        let start = index.wrapping_mul(self.width as usize);
        let bytes = &self.bytes[HEADER_BYTES..];
        if self.width <= MAX_LOAD_BITS {
            bits_at::<false>(bytes, start, self.width)
        } else {
            bits_at::<true>(bytes, start, self.width)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(values: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(values, &mut bytes);
        bytes
    }

    fn check(values: &[u64]) {
        let mut bytes = encoded(values);
        for end in 0..bytes.len() {
            assert!(Packed::parse(&bytes[..end], values.len()).is_err());
        }
        bytes.extend([0xff; 3]);
        let (packed, rest) = Packed::parse(&bytes, values.len()).unwrap();
        assert_eq!(rest, [0xff; 3]);
        assert!(values.iter().enumerate().all(|(index, &value)| packed.get(index) == value), "{values:x?}");
    }

    #[test]
    fn integers_of_every_width_come_back() {
        check(&[]);
        for width in 0..=64 {
            let most = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            for count in [2, 3, 9, 512] {
                for minimum in [0, u64::MAX - most] {
                    let values: Vec<u64> =
                        (0..count).map(|n| minimum + [most, 0, most / 3, most - most / 5][n % 4]).collect();
                    check(&values);
                    let bytes = encoded(&values);
                    assert_eq!(u32::from(bytes[8]), width);
                    assert_eq!(bytes.len(), HEADER_BYTES + (count * width as usize).div_ceil(8));
                }
            }
            check(&[most]);
        }
    }

    #[test]
    fn integers_have_golden_bytes() {
        let bytes = encoded(&[1007, 1000, 1002, 1019, 1001]);
        let hex = "00000000000003e80507881900";
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        assert_eq!(digits.map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect::<String>(), hex);
    }

    #[test]
    fn bytes_that_encode_does_not_make_are_not_canonical() {
        let cases: [(&str, u64, u8, &[u8], usize); 8] = [
            ("sound", 5, 3, &[0b11_1000], 2),
            ("none, sound", 0, 0, &[], 0),
            ("an unused bit", 5, 3, &[0b0111_1000], 2),
            ("a minimum below all", 5, 3, &[0b11_1001], 2),
            ("a width that nothing needs", 5, 3, &[0b01_1000], 2),
            ("a sum beyond 64 bits", u64::MAX - 6, 3, &[0b11_1000], 2),
            ("none, with a minimum", 5, 0, &[], 0),
            ("none, with a width", 0, 3, &[], 0),
        ];
        for (name, minimum, width, bits, count) in cases {
            let bytes = [&minimum.to_be_bytes()[..], &[width], bits].concat();
            let (packed, _) = Packed::parse(&bytes, count).unwrap();
            let again = encoded(&(0..count).map(|index| packed.get(index)).collect::<Vec<_>>());
            assert_eq!(again == bytes, name.ends_with("sound"), "{name}");
        }
        assert!(Packed::parse(&[&[0; 8][..], &[65], &[0; 9]].concat(), 1).is_err());
    }

    proptest! {
        #[test]
        fn any_integers_come_back(values in prop::collection::vec(any::<u64>(), 0..100), small in prop::collection::vec(0..1u64 << 30, 0..100)) {
            check(&values);
            check(&small);
        }

        #[test]
        fn any_bytes_are_integers_or_none(
            minimum in any::<[u8; 8]>(),
            width in 0..70u8,
            bits in prop::collection::vec(prop_oneof![any::<u8>(), Just(0)], 0..300),
            count in prop_oneof![0..20usize, any::<usize>()],
        ) {
            let bytes = [&minimum[..], &[width], &bits].concat();
            if let Ok((packed, rest)) = Packed::parse(&bytes, count) {
                let values: Vec<u64> = (0..count.min(1000)).map(|index| packed.get(index)).collect();
                prop_assert!(rest.len() <= bits.len());
                check(&values);
            }
        }
    }
}
