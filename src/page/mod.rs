//! Ascending 64-bit values as a compressed page, by Elias-Fano coding.
//!
//! Elias-Fano, since it is within 0.56 bits a value of the entropy of uniform values, and since its unary half
//! can be skipped through by counting bits: a look at a few values does not decode those before them.
//!
//! | bytes | field |
//! |---|---|
//! | 2 | `count`, the number of values, 1 to 512, big-endian |
//! | 1 | `low_bits`, how many bits of an offset are packed, 0 to 63 |
//! | 1 | `upper_bytes`, the length of the last field |
//! | 8 | `first`, the first value, big-endian |
//! | ⌈`count` · `low_bits` / 8⌉ | lows: the lowest `low_bits` bits of each offset, in order |
//! | `upper_bytes` | uppers: bit i + (offset i >> `low_bits`) is set for each i from 0 |
//!
//! The offset of a value is its distance from `first`, so offset 0 is 0. In both bit strings bit b is the bit
//! worth 2^(b mod 8) of byte ⌊b / 8⌋, and the lowest bit of an offset comes first: any eight bytes are a
//! little-endian word, from which a shift and a mask take what is wanted. Bits that nothing uses are 0.
//!
//! Each list of values has one page. `low_bits` is the number that makes it shortest, the largest of several;
//! `upper_bytes` is ⌈(`count` + (last offset >> `low_bits`)) / 8⌉. That is below 200, as beyond it one more low
//! bit would save more of the uppers than it adds to the lows.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod decode;

use crate::isa::prefetch;
pub(crate) use decode::{ROOM, Values, values};

/// The most values in a page.
pub(crate) const MAX_VALUES: usize = 512;

/// The bytes before the lows.
const HEADER_BYTES: usize = 12;

const WORD_BYTES: usize = 8;

/// The most bits that one load can take: up to 7 of the word belong to a neighbour.
pub(crate) const MAX_LOAD_BITS: u32 = 57;

/// 2^n. To multiply by one of these takes fewer instructions than a shift by a variable, as long as the
/// compiler does not know that it is the same.
static UNITS: [u64; 64] = {
    let mut units = [1; 64];
    let mut n = 1;
    while n < 64 {
        units[n] = 2 * units[n - 1];
        n += 1;
    }
    units
};

/// The bytes of the uppers that are read at once. Of their 256 bits at most 255 are zeros before one that is
/// set, so that a byte holds their number.
const BATCH_BYTES: usize = 32;

/// For each byte how many of its bits are set: the processors that we compile for have no instruction for it.
static ONES: [u8; 256] = {
    let mut ones = [0; 256];
    ones[1] = 1;
    let mut byte = 2;
    while byte < 256 {
        ones[byte] = ones[byte / 2] + ones[byte % 2];
        byte += 1;
    }
    ones
};

/// For each byte, and for each of its bits that is set from the lowest on, the number of zeros below it; one in
/// each byte of a little-endian word, whose other bytes are 0.
static UPPERS: [u64; 256] = {
    let mut uppers = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut zeros, mut place) = (0, 0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                uppers[byte] |= zeros << (8 * place);
                place += 1;
            } else {
                zeros += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    uppers
};

/// Why bytes are no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadPage(pub(crate) &'static str);

/// Appends the page of 1 to [`MAX_VALUES`] ascending values, of which some may be equal.
///
/// # Panics
///
/// If there are none or too many, or if they do not ascend.
pub(crate) fn encode(values: &[u64], out: &mut Vec<u8>) {
    assert!((1..=MAX_VALUES).contains(&values.len()), "{} values do not make a page", values.len());
    assert!(values.is_sorted(), "the values of a page must ascend");
    let first = values[0];
    let range = values[values.len() - 1] - first;
    let low_bits = best_low_bits(values.len(), range);
    let upper_bytes = upper_bits(values.len(), range, low_bits).div_ceil(8);
    out.extend(u16::try_from(values.len()).expect("at most 512").to_be_bytes());
    out.push(u8::try_from(low_bits).expect("at most 63"));
    out.push(u8::try_from(upper_bytes).expect("the module says why it is below 200"));
    out.extend(first.to_be_bytes());
    append_bits(values.iter().map(|value| value - first), low_bits, out);
    let (mut byte, mut first_bit) = (0u8, 0);
    for (index, value) in (0u64..).zip(values) {
        let bit = index + ((value - first) >> low_bits);
        while bit - first_bit >= 8 {
            out.push(std::mem::take(&mut byte));
            first_bit += 8;
        }
        byte |= 1 << (bit - first_bit);
    }
    out.push(byte);
}

/// The number of low bits that makes the page shortest, the largest of several.
fn best_low_bits(count: usize, range: u64) -> u32 {
    let bytes =
        |low_bits| (count as u64 * u64::from(low_bits)).div_ceil(8) + upper_bits(count, range, low_bits).div_ceil(8);
    (0..=63).rev().min_by_key(|&low_bits| bytes(low_bits)).unwrap_or(0)
}

/// The bits of the uppers up to the one of the last offset; no true number of bits if it does not fit.
fn upper_bits(count: usize, range: u64, low_bits: u32) -> u64 {
    (range >> low_bits).saturating_add(count as u64)
}

/// Appends the lowest `width` bits of each value, at most 64, and fills the last byte with zeros.
pub(crate) fn append_bits(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let mask = low_mask(width);
    let (mut held, mut bits) = (0u128, 0);
    for value in values {
        held |= u128::from(value & mask) << bits;
        bits += width;
        if bits >= 64 {
            out.extend(&held.to_le_bytes()[..WORD_BYTES]);
            held >>= 64;
            bits -= 64;
        }
    }
    out.extend(&held.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// Takes `width` bits from bit `start` of a bit string, and some of what follows it where the string ends
/// first. `width` is at most [`MAX_LOAD_BITS`] unless `WIDE`, and at most 64 then.
#[inline]
pub(crate) fn bits_at<const WIDE: bool>(bytes: &[u8], start: usize, width: u32) -> u64 {
    if WIDE && width > 32 {
        return bits_at::<false>(bytes, start, 32) | bits_at::<false>(bytes, start.wrapping_add(32), width - 32) << 32;
    }
    load(bytes, start / 8) >> (start % 8) & low_mask(width)
}

/// The eight bytes at a place as a little-endian word; zeros stand for those beyond the end.
#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + WORD_BYTES).and_then(<[u8]>::first_chunk) {
        Some(word) => u64::from_le_bytes(*word),
        None => load_at_end(bytes, at),
    }
}

#[cold]
#[inline(never)]
fn load_at_end(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; WORD_BYTES];
    for (to, &from) in word.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = from;
    }
    u64::from_le_bytes(word)
}

#[inline]
fn low_mask(width: u32) -> u64 {
    if width < 64 { (1 << width) - 1 } else { u64::MAX }
}

/// A page whose lengths have been checked. What it says may still be wrong: then its values are, in whatever
/// order, but reading them never panics and yields no index from `len` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page<'a> {
    count: usize,
    low_bits: u32,
    first: u64,
    bytes: &'a [u8],
    /// Where the uppers begin.
    upper_at: usize,
}

impl<'a> Page<'a> {
    /// Takes the page at the front, and returns the bytes that follow it too.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), BadPage> {
        let Some(&[count_high, count_low, low_bits, upper_bytes, ref first @ ..]) = bytes.first_chunk::<HEADER_BYTES>()
        else {
            return Err(BadPage("its header is cut off"));
        };
        let count = usize::from(u16::from_be_bytes([count_high, count_low]));
        if !(1..=MAX_VALUES).contains(&count) {
            return Err(BadPage("it has no values or too many"));
        }
        if low_bits > 63 {
            return Err(BadPage("it has more than 63 low bits"));
        }
        let upper_at = HEADER_BYTES + (count * usize::from(low_bits)).div_ceil(8);
        let Some((bytes, rest)) = bytes.split_at_checked(upper_at + usize::from(upper_bytes)) else {
            return Err(BadPage("it is cut off"));
        };
        let first = u64::from_be_bytes(*first);
        Ok((Self { count, low_bits: low_bits.into(), first, bytes, upper_at }, rest))
    }

    /// The number of values, 1 to [`MAX_VALUES`].
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Visits the values from `from` to `to`, both included, in order and each with its index.
    ///
    /// What precedes them costs a count of bits per 64 bits of the uppers; what follows costs nothing.
    #[inline]
    pub(crate) fn visit(&self, from: u64, to: u64, visit: impl FnMut(usize, u64)) {
        if from > to || to < self.first {
            return;
        }
        let (from, to) = (from.saturating_sub(self.first), to - self.first);
        if self.low_bits <= MAX_LOAD_BITS {
            self.visit_offsets::<false>(from, to, visit);
        } else {
            self.visit_offsets::<true>(from, to, visit);
        }
    }

    /// Has the processor fetch what a look at a value needs, where the last value of the page is known, and returns between which
    /// indexes it should be: where values are spread evenly.
    pub(crate) fn fetch(&self, value: u64, last: u64) -> (usize, usize) {
        let (offset, range) = (value.saturating_sub(self.first), last.saturating_sub(self.first));
        let share = u128::from(offset) * self.count as u128 / (u128::from(range) + 1);
        let guess = usize::try_from(share).unwrap_or(usize::MAX).min(self.count);
        // The deviation of the number of values before one of them.
        let (from, to) =
            (guess.saturating_sub(self.count.isqrt() / 2), (guess + self.count.isqrt() / 2).min(self.count));
        let low = |index: usize| HEADER_BYTES + index * self.low_bits as usize / 8;
        for at in (low(from)..low(to) + 64).step_by(64).chain((self.upper_at..self.bytes.len() + 64).step_by(64)) {
            prefetch(self.bytes, at);
        }
        (from, to)
    }

    /// Appends all values, after checks that they ascend and that this is the page that [`encode`] makes of
    /// them. Appends nothing otherwise.
    pub(crate) fn decode_into(&self, out: &mut Vec<u64>) -> Result<(), BadPage> {
        let start = out.len();
        out.reserve(self.count);
        self.visit(0, u64::MAX, |_, value| out.push(value));
        let checked = self.check(&out[start..]);
        if checked.is_err() {
            out.truncate(start);
        }
        checked
    }

    /// Checks what `visit` made of the page.
    fn check(&self, values: &[u64]) -> Result<(), BadPage> {
        let (lows, uppers) = self.bytes.split_at(self.upper_at);
        if values.len() != self.count {
            return Err(BadPage("its uppers are of fewer values than it counts"));
        }
        // A sum that went over 2^64 is below the first value.
        if values[0] != self.first || !values.is_sorted() {
            return Err(BadPage("its values do not ascend from the first"));
        }
        let range = values[self.count - 1] - self.first;
        if self.low_bits != best_low_bits(self.count, range) {
            return Err(BadPage("it is not the shortest of its values"));
        }
        // The highest bit is that of the last value: none is of more values, and no offset has lost bits above 2^64.
        let bits = upper_bits(self.count, range, self.low_bits);
        if bits.div_ceil(8) != uppers.len() as u64 || uppers[uppers.len() - 1] >> ((bits - 1) % 8) != 1 {
            return Err(BadPage("its uppers do not end with its last value"));
        }
        let used = self.count * self.low_bits as usize % 8;
        if used > 0 && lows[lows.len() - 1] >> used != 0 {
            return Err(BadPage("bits that it does not use are set"));
        }
        Ok(())
    }

    #[inline]
    fn visit_offsets<const WIDE: bool>(&self, from: u64, to: u64, mut visit: impl FnMut(usize, u64)) {
        let (low_bits, span) = (self.low_bits, to - from);
        let (lows, uppers) = (&self.bytes[HEADER_BYTES..], &self.bytes[self.upper_at..]);
        let unit = UNITS[low_bits as usize];
        let (mut at, mut index) = self.skip(from >> low_bits);
        let mut low_at = index * low_bits as usize;
        let mut uppers_read = [0; 8 * BATCH_BYTES + WORD_BYTES];
        while at < uppers.len() {
            let before = (8 * at).saturating_sub(index) as u64;
            let Some(last) = (to >> low_bits).checked_sub(before) else { return };
            let (bytes, filled) = read_uppers(&uppers[at..], last, &mut uppers_read);
            for &upper in &uppers_read[..filled.min(self.count.saturating_sub(index))] {
                let upper = before + u64::from(upper);
                let offset = upper.wrapping_mul(unit) | bits_at::<WIDE>(lows, low_at, low_bits);
                // One comparison for both ends: what is below `from` is far above it when it wraps.
                if offset.wrapping_sub(from) <= span {
                    visit(index, self.first + offset);
                } else if offset >= from {
                    return;
                }
                index += 1;
                low_at += low_bits as usize;
            }
            at += bytes;
        }
    }

    /// The byte of the uppers in or after which the first value with at least this upper half is, and the number
    /// of values before that byte.
    #[inline]
    fn skip(&self, upper: u64) -> (usize, usize) {
        let uppers = &self.bytes[self.upper_at..];
        let (words, _) = uppers.as_chunks::<WORD_BYTES>();
        let (mut at, mut zeros) = (0, 0);
        for word in words {
            let after = zeros + u64::from_le_bytes(*word).count_zeros() as usize;
            if after as u64 >= upper {
                break;
            }
            (at, zeros) = (at + WORD_BYTES, after);
        }
        for &byte in &uppers[at..] {
            let after = zeros + 8 - usize::from(ONES[usize::from(byte)]);
            if after as u64 >= upper {
                break;
            }
            (at, zeros) = (at + 1, after);
        }
        (at, 8 * at - zeros)
    }
}

/// Reads the upper halves that begin the uppers, counted from there on, and returns from how many bytes and how
/// many they are. It stops after [`BATCH_BYTES`], and before a byte that has only greater ones than `last`.
///
/// A loop over the bits that are set would end at an unforeseeable bit of each word, which costs a processor as
/// much as several values. This takes a byte at a time from a table, however many of its bits are set.
#[inline]
fn read_uppers(uppers: &[u8], last: u64, to: &mut [u8; 8 * BATCH_BYTES + WORD_BYTES]) -> (usize, usize) {
    let (mut bytes, mut filled) = (0, 0);
    for &byte in uppers.iter().take(BATCH_BYTES) {
        let zeros = (8 * bytes - filled) as u64;
        if zeros > last {
            break;
        }
        let of_byte = UPPERS[usize::from(byte)].wrapping_add(zeros * 0x0101_0101_0101_0101);
        to[filled..filled + WORD_BYTES].copy_from_slice(&of_byte.to_le_bytes());
        filled += usize::from(ONES[usize::from(byte)]);
        bytes += 1;
    }
    (bytes, filled)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::isa::Isa;

    /// The n-th of a sequence of uniform values.
    fn uniform(n: u64) -> u64 {
        let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn sorted(values: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        values
    }

    fn encoded(values: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(values, &mut bytes);
        bytes
    }

    fn parsed(bytes: &[u8]) -> Page<'_> {
        let (page, rest) = Page::parse(bytes).unwrap();
        assert!(rest.is_empty());
        page
    }

    fn visited(page: &Page, from: u64, to: u64) -> Vec<(usize, u64)> {
        let mut visited = Vec::new();
        page.visit(from, to, |index, value| visited.push((index, value)));
        visited
    }

    /// Checks the page of some values as a whole, and for the ranges between each two of some bounds.
    fn check(values: &[u64], bounds: &[u64]) {
        let bytes = encoded(values);
        let page = parsed(&bytes);
        assert_eq!(page.len(), values.len());
        let mut decoded = vec![7];
        page.decode_into(&mut decoded).unwrap();
        assert_eq!((decoded[0], &decoded[1..]), (7, values));
        for &from in bounds {
            for &to in bounds {
                let expected: Vec<_> =
                    values.iter().copied().enumerate().filter(|&(_, value)| from <= value && value <= to).collect();
                assert_eq!(visited(&page, from, to), expected, "{values:x?} from {from:x} to {to:x}");
                for isa in Isa::all() {
                    let mut room = ROOM;
                    let range = super::values(isa, &page, [from, to], &mut room);
                    let expected = expected.iter().map(|&(_, value)| value);
                    assert!(room[range].iter().copied().eq(expected), "{isa:?}: {values:x?} from {from:x} to {to:x}");
                }
            }
        }
    }

    /// Some of the values, those beside them, and the ends of the range of all.
    fn bounds(values: &[u64]) -> Vec<u64> {
        let some = values.iter().step_by(values.len().div_ceil(9)).chain(values.last());
        let beside = some.flat_map(|&value| [value.saturating_sub(1), value, value.saturating_add(1)]);
        beside.chain([0, u64::MAX]).collect()
    }

    const EDGES: [u64; 7] = [0, 1, 2, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];

    #[test]
    fn every_list_of_up_to_four_edges_comes_back() {
        let mut lists: Vec<Vec<u64>> = vec![vec![]];
        for _ in 0..4 {
            let longer = lists.iter().flat_map(|list| {
                let least = list.last().copied().unwrap_or(0);
                EDGES.into_iter().filter(move |&edge| edge >= least).map(|edge| [list.as_slice(), &[edge]].concat())
            });
            lists = longer.collect();
            for list in &lists {
                check(list, &EDGES);
            }
        }
        assert_eq!(lists.len(), 210);
    }

    #[test]
    fn values_of_any_density_come_back() {
        for count in [1, 2, 3, 63, 64, 65, 511, 512] {
            for shift in [0, 1, 5, 6, 7, 8, 20, 27, 30, 40, 54, 55, 56, 60, 63] {
                let base = if shift == 0 { 0 } else { uniform(shift) << (64 - shift) };
                let values = sorted((0..count).map(|n| base | uniform(n) >> shift));
                check(&values, &bounds(&values));
            }
        }
    }

    #[test]
    fn equal_clustered_and_dense_values_come_back() {
        for value in EDGES {
            for count in [1, 2, 9, 512] {
                check(&vec![value; count], &EDGES);
            }
        }
        let clusters = sorted((0..512).map(|n| uniform(n % 5) << 3 | uniform(n) >> 60));
        check(&clusters, &bounds(&clusters));
        let alone = sorted((0..511).map(|n| uniform(n) >> 50).chain([u64::MAX]));
        check(&alone, &bounds(&alone));
        for below in 0..70 {
            let top: Vec<u64> = (0..512).map(|n| u64::MAX - below - 511 + n).collect();
            check(&top, &bounds(&top));
        }
    }

    #[test]
    fn a_visit_of_any_range_is_a_filter() {
        for (shift, seed) in [(0, 0), (12, 1000), (23, 2000), (50, 3000), (56, 4000)] {
            let values = sorted((seed..seed + 512).map(|n| uniform(n) >> shift));
            let bounds: Vec<u64> = (9000..9060).map(|n| uniform(n) >> shift).collect();
            check(&values, &bounds);
        }
    }

    #[test]
    fn a_page_is_refused_when_it_is_cut_or_a_bit_without_meaning_changes() {
        let lists = [
            sorted((0..9).map(|n| uniform(n) >> 30)),
            sorted((0..21).map(|n| uniform(n) >> 3)),
            sorted((0..100).map(|n| uniform(n) >> 61)),
            sorted((0..3).map(uniform)),
            vec![5; 3],
        ];
        for values in lists {
            let bytes = encoded(&values);
            for end in 0..bytes.len() {
                assert!(Page::parse(&bytes[..end]).is_err());
            }
            let mut unused = 0;
            for bit in 0..8 * bytes.len() {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let Ok((page, rest)) = Page::parse(&flipped) else { continue };
                let same = visited(&page, 0, u64::MAX).iter().map(|&(_, value)| value).eq(values.iter().copied());
                unused += usize::from(same);
                let mut decoded = vec![7];
                if page.decode_into(&mut decoded).is_ok() {
                    assert!(!same, "bit {bit} of {values:x?}");
                    assert_eq!([&encoded(&decoded[1..]), rest].concat(), flipped);
                } else {
                    assert_eq!(decoded, [7], "a failure appends nothing");
                }
            }
            assert!(unused > 0, "the page has unused bits");
        }
    }

    /// A name, the count, the number of low bits, the first value, the bytes of the lows and of the uppers.
    type Case = (&'static str, u16, u8, u64, &'static [u8], &'static [u8]);

    #[test]
    fn pages_that_encode_does_not_make_are_refused() {
        let cases: [Case; 12] = [
            ("sound", 2, 0, 5, &[], &[0b11]),
            ("sound", 2, 4, 5, &[0x90], &[0b11]),
            ("too many ones", 2, 0, 5, &[], &[0b111]),
            ("too few ones", 2, 0, 5, &[], &[0b1]),
            ("more ones in a byte of their own", 2, 0, 5, &[], &[0b11, 0b10]),
            ("longer uppers", 2, 0, 5, &[], &[0b11, 0]),
            ("a first value that is not the first", 2, 0, 5, &[], &[0b110]),
            ("values that descend", 3, 4, 5, &[0x90, 0x08], &[0b111]),
            ("more low bits than are best", 2, 5, 5, &[0, 0], &[0b11]),
            ("values beyond 64 bits", 2, 0, u64::MAX, &[], &[0b101]),
            ("an upper half beyond 64 bits", 2, 63, 0, &[0; 16], &[0b1001]),
            ("an unused bit of the lows", 1, 7, 5, &[0x80], &[0b1]),
        ];
        for (name, count, low_bits, first, lows, uppers) in cases {
            let mut bytes = count.to_be_bytes().to_vec();
            bytes.extend([low_bits, u8::try_from(uppers.len()).unwrap()]);
            bytes.extend(first.to_be_bytes());
            bytes.extend(lows);
            bytes.extend(uppers);
            let decoded = parsed(&bytes).decode_into(&mut Vec::new());
            assert_eq!(decoded.is_ok(), name == "sound", "{name}: {decoded:?}");
        }
        for (name, header) in
            [("no values", [0, 0, 0, 1]), ("513 values", [2, 1, 0, 65]), ("64 low bits", [0, 1, 64, 1])]
        {
            assert!(Page::parse(&[&header[..], &[0; 100]].concat()).is_err(), "{name}");
        }
    }

    #[test]
    fn ones_of_more_values_than_counted_have_no_index() {
        let bytes = [&[0, 2, 0, 16][..], &[0; 8], &[0x7f; 16]].concat();
        let page = parsed(&bytes);
        for from in 0..20 {
            assert!(visited(&page, from, u64::MAX).iter().all(|&(index, _)| index < 2), "from {from}");
        }
    }

    #[test]
    fn a_page_has_golden_bytes() {
        let values = [
            0x0123_4567_89ab_cdef,
            0x0123_4567_89ab_cdef,
            0x0123_4567_89ac_0000,
            0x0123_4567_89c0_ffee,
            0x0123_4567_8a00_0001,
            0x0123_4567_8b00_0000,
        ];
        let hex = "000615020123456789abcdef000000000044c880ff982a21432364284f80";
        let bytes = encoded(&values);
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        assert_eq!(digits.map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect::<String>(), hex);
    }

    #[test]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes and positive gaps, roughly"
    )]
    fn pages_of_uniform_values_are_near_the_entropy() {
        for stored in [1e7f64, 1e8, 1e9] {
            let (pages, mean_gap) = (50, 64f64.exp2() / stored);
            let mut bytes = Vec::new();
            for page in 0..pages {
                let mut value = uniform(page) >> 1;
                let gaps = (0..512).map(|n| {
                    let chance = (uniform(1000 + 512 * page + n) as f64 + 1.0) / 64f64.exp2();
                    (-chance.ln() * mean_gap) as u64
                });
                let values: Vec<u64> = gaps
                    .map(|gap| {
                        value += gap;
                        value
                    })
                    .collect();
                encode(&values, &mut bytes);
            }
            let floor = (64.0 - stored.log2() + std::f64::consts::LOG2_E) / 8.0;
            let size = bytes.len() as f64 / (512.0 * pages as f64);
            println!("{stored:e}: {size:.4} bytes a value, {:.4} of {floor:.4}", size / floor);
            assert!(size < 1.03 * floor, "{stored:e}: {size:.4} bytes a value, the floor is {floor:.4}");
        }
    }

    proptest! {
        #[test]
        fn any_sorted_values_come_back_and_the_rest_follows(
            values in prop::collection::vec(prop_oneof![any::<u64>(), 0..1000u64], 1..=MAX_VALUES),
            rest in prop::collection::vec(any::<u8>(), 0..20),
            bound in any::<u64>(),
        ) {
            let values = sorted(values);
            check(&values, &[bound, values[values.len() / 2]]);
            let mut bytes = encoded(&values);
            let page_bytes = bytes.len();
            bytes.extend(&rest);
            let (page, followed) = Page::parse(&bytes).unwrap();
            prop_assert_eq!((page.bytes.len(), followed), (page_bytes, rest.as_slice()));
            let mut decoded = Vec::new();
            page.decode_into(&mut decoded).unwrap();
            prop_assert_eq!(decoded, values);
        }

        #[test]
        fn any_bytes_are_a_page_or_none(
            count in 0..530u16,
            low_bits in 0..70u8,
            upper_bytes in any::<u8>(),
            mut body in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(0xff)], 0..600),
            fill in prop_oneof![Just(None), Just(Some(0xff)), any::<Option<u8>>()],
            from in any::<u64>(),
            to in any::<u64>(),
        ) {
            if let Some(fill) = fill {
                body.resize(5000, fill);
            }
            let bytes = [&count.to_be_bytes()[..], &[low_bits, upper_bytes], &body].concat();
            if let Ok((page, _)) = Page::parse(&bytes) {
                for (from, to) in [(from, to), (to, from), (0, u64::MAX), (0, to), (page.first, to)] {
                    for (index, value) in visited(&page, from, to) {
                        prop_assert!(index < page.len() && (from..=to).contains(&value));
                    }
                }
                for isa in Isa::all() {
                    let mut room = ROOM;
                    for bounds in [[from, to], [0, u64::MAX]] {
                        prop_assert!(super::values(isa, &page, bounds, &mut room).len() <= page.len());
                    }
                }
                let mut decoded = Vec::new();
                if page.decode_into(&mut decoded).is_ok() {
                    prop_assert_eq!(encoded(&decoded), page.bytes);
                }
            }
        }
    }
}
