//! Pages in the delta encodings, written anew as plain ones.
//!
//! The crate takes their counts and lengths as they come; here each is checked against what is there.

use parquet::basic::Encoding;
use parquet::errors::{ParquetError, Result};

use super::group::damaged;
use super::lost::over_limit;

/// The length in front of a plain value.
const LENGTH_BYTES: usize = 4;

/// Whether values in the encoding are written anew.
pub(super) fn is_delta(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)
}

/// Adds the `count` values of a page to `plain`, which may become `limit` long. Whole numbers have `width` bytes.
pub(super) fn write_plain(
    encoding: Encoding,
    page: &[u8],
    count: u64,
    width: usize,
    plain: &mut Vec<u8>,
    limit: usize,
) -> Result<()> {
    let least = if encoding == Encoding::DELTA_BINARY_PACKED { width } else { LENGTH_BYTES };
    if count > (limit.saturating_sub(plain.len()) / least) as u64 {
        return Err(too_long(limit));
    }
    match encoding {
        Encoding::DELTA_BINARY_PACKED => {
            let value = |plain: &mut Vec<u8>, value: i64| plain.extend_from_slice(&value.to_le_bytes()[..width]);
            unpack(page, count, |number| value(plain, number)).map(|_| ())
        }
        Encoding::DELTA_LENGTH_BYTE_ARRAY => strings(page, &[], count, plain, limit),
        _ => {
            let (prefixes, end) = lengths(page, count)?;
            strings(&page[end..], &prefixes, count, plain, limit)
        }
    }
}

fn too_long(limit: usize) -> ParquetError {
    over_limit(format!("the values of a page are longer than {limit} bytes"))
}

/// Writes strings whose lengths come first, each behind as much of the one before as its prefix says.
fn strings(page: &[u8], prefixes: &[u32], count: u64, plain: &mut Vec<u8>, limit: usize) -> Result<()> {
    let (lengths, end) = lengths(page, count)?;
    let (mut rest, mut last) = (&page[end..], Vec::new());
    for (at, length) in lengths.into_iter().enumerate() {
        let value = rest.split_at_checked(length as usize);
        let (suffix, behind) = value.ok_or_else(|| damaged("a page ends within a value"))?;
        rest = behind;
        let prefix = prefixes.get(at).map_or(0, |&prefix| prefix as usize);
        if prefix > last.len() {
            return Err(damaged("a prefix is longer than the value before"));
        }
        last.truncate(prefix);
        last.extend_from_slice(suffix);
        let length = u32::try_from(last.len()).map_err(|_| damaged("a value is too long"))?;
        if plain.len() + LENGTH_BYTES + last.len() > limit {
            return Err(too_long(limit));
        }
        plain.extend_from_slice(&length.to_le_bytes());
        plain.extend_from_slice(&last);
    }
    Ok(())
}

/// Reads `count` lengths, and where they end.
fn lengths(page: &[u8], count: u64) -> Result<(Vec<u32>, usize)> {
    let mut lengths = Vec::new();
    let mut is_wrong = false;
    let end = unpack(page, count, |value| {
        let length = u32::try_from(value);
        is_wrong |= length.is_err();
        lengths.push(length.unwrap_or(0));
    })?;
    if is_wrong { Err(damaged("a length is negative, or too long")) } else { Ok((lengths, end)) }
}

/// Reads `expected` whole numbers in the encoding `DELTA_BINARY_PACKED`; returns where they end.
fn unpack(page: &[u8], expected: u64, mut each: impl FnMut(i64)) -> Result<usize> {
    let mut bytes = Bytes { all: page, at: 0 };
    let (block, minis, count) = (bytes.varint()?, bytes.varint()?, bytes.varint()?);
    let mut value = bytes.zigzag()?;
    if minis == 0 || block % minis != 0 || (block / minis) % 32 != 0 || block == 0 {
        return Err(damaged("a page has blocks of a wrong size"));
    }
    if count != expected {
        return Err(damaged(&format!("a page has {count} values instead of {expected}")));
    }
    let per_mini = block / minis;
    let mut left = count;
    if left > 0 {
        each(value);
        left -= 1;
    }
    while left > 0 {
        let smallest = bytes.zigzag()?;
        // The widths of the small blocks that are not needed are there, too; those blocks are not.
        let widths = bytes.take(minis)?;
        for &width in widths {
            if left == 0 {
                break;
            }
            if width > 64 {
                return Err(damaged("a page has values of more than 64 bits"));
            }
            let size = (per_mini / 8).checked_mul(u64::from(width)).ok_or_else(|| damaged("a page is too short"))?;
            let packed = bytes.take(size)?;
            let mut at = 0;
            for _ in 0..left.min(per_mini) {
                let delta = bits(packed, at, u32::from(width));
                at += usize::from(width);
                value = value.wrapping_add(smallest).wrapping_add(delta);
                each(value);
            }
            left -= left.min(per_mini);
        }
    }
    Ok(bytes.at)
}

/// The bits from `at` on, least significant first.
fn bits(packed: &[u8], at: usize, width: u32) -> i64 {
    let mut window = [0; 16];
    let from = &packed[(at / 8).min(packed.len())..];
    let count = from.len().min(9);
    window[..count].copy_from_slice(&from[..count]);
    let mask = (1_u128 << width) - 1;
    let value = (u128::from_le_bytes(window) >> (at % 8)) & mask;
    #[expect(clippy::cast_possible_truncation, reason = "the mask has at most 64 bits")]
    (value as u64).cast_signed()
}

/// Bytes that are read from the front.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        let taken = end.and_then(|end| self.all.get(self.at..end)).ok_or_else(|| damaged("a page is too short"))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damaged("a page has a number that does not end"))
    }

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 128;

    fn packed(values: &[i64], width: u8) -> Vec<u8> {
        let varint = |out: &mut Vec<u8>, mut value: u64| {
            while value > 0x7f {
                out.push(value.to_le_bytes()[0] | 0x80);
                value >>= 7;
            }
            out.push(value.to_le_bytes()[0]);
        };
        let zigzag = |value: i64| ((value << 1) ^ (value >> 63)).cast_unsigned();
        let mut out = Vec::new();
        for value in [BLOCK as u64, 4, values.len() as u64, zigzag(values.first().copied().unwrap_or(0))] {
            varint(&mut out, value);
        }
        let deltas: Vec<i64> = values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        for chunk in deltas.chunks(BLOCK) {
            let smallest = chunk.iter().copied().min().unwrap();
            varint(&mut out, zigzag(smallest));
            out.extend([width; 4]);
            for mini in chunk.chunks(BLOCK / 4) {
                let mut bits = vec![0_u8; BLOCK / 4 * usize::from(width) / 8];
                for (index, delta) in mini.iter().enumerate() {
                    let value = delta.wrapping_sub(smallest).cast_unsigned();
                    for bit in 0..usize::from(width) {
                        let at = index * usize::from(width) + bit;
                        bits[at / 8] |= u8::from((value >> bit) & 1 == 1) << (at % 8);
                    }
                }
                out.extend(bits);
            }
        }
        out
    }

    #[test]
    fn numbers_of_every_width_come_back() {
        for width in 0..=64_u8 {
            for count in [0_usize, 1, 2, 33, 128, 129, 300] {
                let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
                let mut value = 5_i64;
                let values: Vec<i64> = (0..count as u64)
                    .map(|i| {
                        // One delta is zero, so that the smallest is that and all others are as wide as they are.
                        let delta = if i % 7 == 0 { 0 } else { i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask };
                        value = value.wrapping_add(if width == 64 {
                            (delta >> 1).cast_signed()
                        } else {
                            delta.cast_signed()
                        });
                        value
                    })
                    .collect();
                let bytes = packed(&values, width);
                let mut found = Vec::new();
                let expected = count as u64;
                let end = unpack(&[&bytes[..], b"rest"].concat(), expected, |value| found.push(value)).unwrap();
                assert_eq!((found, end), (values, bytes.len()), "{width} {count}");
                for cut in 0..bytes.len() {
                    assert!(unpack(&bytes[..cut], expected, |_| {}).is_err(), "{width} {count} {cut}");
                }
                for other in [expected.wrapping_sub(1), expected + 1] {
                    assert!(unpack(&bytes, other, |_| {}).is_err());
                }
            }
        }
    }

    #[test]
    fn strings_with_prefixes_come_back() {
        let (prefixes, suffixes) = ([0, 2, 3, 0], ["car", "t", "s", "b"]);
        let lengths: Vec<i64> = suffixes.iter().map(|suffix| i64::try_from(suffix.len()).unwrap()).collect();
        let page = [packed(&prefixes, 3), packed(&lengths, 2), suffixes.concat().into_bytes()].concat();
        let mut plain = Vec::new();
        write_plain(Encoding::DELTA_BYTE_ARRAY, &page, 4, 0, &mut plain, 100).unwrap();
        let expected = "\x03\0\0\0car\x03\0\0\0cat\x04\0\0\0cats\x01\0\0\0b";
        assert_eq!(plain, expected.as_bytes());
        for limit in 0..plain.len() {
            assert!(write_plain(Encoding::DELTA_BYTE_ARRAY, &page, 4, 0, &mut Vec::new(), limit).is_err(), "{limit}");
        }
        for cut in 0..page.len() {
            assert!(
                write_plain(Encoding::DELTA_BYTE_ARRAY, &page[..cut], 4, 0, &mut Vec::new(), 100).is_err(),
                "{cut}"
            );
        }
        let long = [packed(&[0, 9], 4), packed(&[1, 1], 1), b"ab".to_vec()].concat();
        assert!(write_plain(Encoding::DELTA_BYTE_ARRAY, &long, 2, 0, &mut Vec::new(), 100).is_err());
        let negative = packed(&[-1], 0);
        assert!(write_plain(Encoding::DELTA_LENGTH_BYTE_ARRAY, &negative, 1, 0, &mut Vec::new(), 100).is_err());
    }

    /// Without bits for its deltas, a block tells of any number of values in a few bytes.
    #[test]
    fn a_page_that_tells_of_other_counts_is_refused() {
        let text = |count: usize| packed(&vec![0; count], 0);
        let write = |encoding, page: &[u8], count| write_plain(encoding, page, count, 8, &mut Vec::new(), 1 << 20);
        let (lengths, prefixes) = (Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY);
        for (encoding, page) in [
            (Encoding::DELTA_BINARY_PACKED, text(300)),
            (lengths, text(300)),
            (prefixes, [text(300), text(300)].concat()),
        ] {
            write(encoding, &page, 300).unwrap();
            for count in [1, 299, 301] {
                let error = write(encoding, &page, count).unwrap_err().to_string();
                assert!(error.contains(&format!("a page has 300 values instead of {count}")), "{error}");
            }
            assert!(write(encoding, &page, u64::MAX).unwrap_err().to_string().contains("longer than"));
        }
        for page in [[text(300), text(299)].concat(), [text(299), text(300)].concat()] {
            assert!(write(prefixes, &page, 300).is_err());
        }
        assert!(write(lengths, &packed(&[1 << 32], 0), 1).is_err());
    }
}
