//! The rows of a signature, as a store keeps them.
//!
//! The least of n hashes of 32 bits is about 2^32 / n, so most of its high bits are 0. A row is that, mixed one to one;
//! mixed back it is stored as a Golomb-Rice code: for a hundred features 27 bits instead of 32.

use super::{Decoded, Malformed};
use crate::hash::{mix32, unmix32};
use crate::{MinhashDesign, Signature};

/// The rows as they are, big-endian.
const DENSE: u8 = 0;
/// Rows of 32 bits, mixed back, as Golomb-Rice codes: the parameter is the byte less 1.
const MOST_RICE: u8 = 32;

/// Encodes the rows: a byte that says how, and the rows.
pub(crate) fn encode(signature: &Signature) -> Vec<u8> {
    if signature.row_bits() == 32 {
        let rows: Vec<u32> = signature.rows().iter().map(|&row| unmix32(row)).collect();
        let (parameter, bits) = parameter_of(&rows);
        if bits.div_ceil(8) < 4 * rows.len() as u64 {
            return encode_rice(&rows, parameter);
        }
    }
    [&[DENSE][..], &signature.to_bytes()].concat()
}

/// Decodes a signature of the shape that a design says.
pub(crate) fn decode(bytes: &[u8], design: &MinhashDesign) -> Decoded<Signature> {
    let malformed = |what: &str| Malformed(format!("a stored signature {what}"));
    match bytes.split_first() {
        Some((&DENSE, rows)) => {
            Signature::from_bytes(rows, design.rows(), design.row_bits()).map_err(|e| Malformed(e.to_string()))
        }
        Some((&code @ 1..=MOST_RICE, rows)) if design.row_bits() == 32 => {
            let rows = decode_rice(rows, u32::from(code - 1), design.rows());
            let rows = rows.ok_or_else(|| malformed("is not coded as the format says"))?;
            let rows: Vec<u32> = rows.into_iter().map(mix32).collect();
            Signature::new(rows).map_err(|e| Malformed(e.to_string()))
        }
        Some((code, _)) => Err(malformed(&format!("has the unknown coding {code}"))),
        None => Err(malformed("is empty")),
    }
}

/// The parameter that makes the fewest bits, and how many these are.
fn parameter_of(rows: &[u32]) -> (u32, u64) {
    let bits = |parameter: u32| {
        rows.iter().map(|row| u64::from(row >> parameter)).sum::<u64>() + rows.len() as u64 * u64::from(parameter + 1)
    };
    let sum: u64 = rows.iter().map(|&row| u64::from(row)).sum();
    // The best one is near the logarithm of the mean.
    let mean = (sum / rows.len() as u64).max(1).ilog2();
    let near = mean.saturating_sub(2)..=(mean + 1).min(31);
    near.map(|parameter| (parameter, bits(parameter))).min_by_key(|&(_, bits)| bits).expect("the range is not empty")
}

/// First the low bits of all rows, then the high parts of all rows: so many ones, and a zero each.
fn encode_rice(rows: &[u32], parameter: u32) -> Vec<u8> {
    let mut bits = Bits { bytes: vec![u8::try_from(parameter + 1).expect("at most 32")], filled: 0 };
    for &row in rows {
        bits.push(row & !u32::MAX.checked_shl(parameter).unwrap_or(0), parameter);
    }
    for &row in rows {
        let mut high = row >> parameter;
        while high >= 16 {
            bits.push(0xffff, 16);
            high -= 16;
        }
        bits.push((1 << (high + 1)) - 2, high + 1);
    }
    bits.bytes
}

fn decode_rice(bytes: &[u8], parameter: u32, rows: usize) -> Option<Vec<u32>> {
    let mut bits = Reader { bytes, at: 0 };
    let mut low = Vec::with_capacity(rows);
    for _ in 0..rows {
        low.push(bits.take(parameter)?);
    }
    for low in &mut low {
        let high = bits.ones()?;
        let high = high.checked_shl(parameter).filter(|shifted| shifted >> parameter == high)?;
        *low |= high;
    }
    // Nothing is left over but the padding of the last byte, which is 0.
    let is_whole = bits.at.div_ceil(8) == bytes.len() && bits.rest() == 0;
    is_whole.then_some(low)
}

/// Bits, the most significant of each byte first.
struct Bits {
    bytes: Vec<u8>,
    /// How many bits of the last byte are taken, 0 where there is none to go on with.
    filled: u32,
}

impl Bits {
    /// Appends the low `count` bits of a value, the most significant one first; at most 32.
    fn push(&mut self, value: u32, count: u32) {
        let mut left = count;
        while left > 0 {
            if self.filled == 0 {
                self.bytes.push(0);
            }
            let taken = left.min(8 - self.filled);
            let part = (value >> (left - taken)) & ((1 << taken) - 1);
            let last = self.bytes.last_mut().expect("one was pushed");
            *last |= u8::try_from(part << (8 - self.filled - taken)).expect("it fits into what is free");
            self.filled = (self.filled + taken) % 8;
            left -= taken;
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// How many bits were read.
    at: usize,
}

impl Reader<'_> {
    /// The eight bytes from the present one on, those behind the end 0.
    fn window(&self) -> u64 {
        let from = self.bytes.get(self.at / 8..).unwrap_or(&[]);
        if let Some(whole) = from.first_chunk() {
            return u64::from_be_bytes(*whole);
        }
        let mut padded = [0; 8];
        padded[..from.len()].copy_from_slice(from);
        u64::from_be_bytes(padded)
    }

    /// Reads `count` bits, at most 32.
    fn take(&mut self, count: u32) -> Option<u32> {
        let window = self.window() << (self.at % 8);
        self.skip(count)?;
        u32::try_from(window.checked_shr(64 - count).unwrap_or(0)).ok()
    }

    /// Reads ones up to a zero, and counts them.
    fn ones(&mut self) -> Option<u32> {
        let mut count = 0u32;
        loop {
            let usable = 64 - u32::try_from(self.at % 8).ok()?;
            let ones = (self.window() << (self.at % 8)).leading_ones().min(usable);
            count = count.checked_add(ones)?;
            if ones < usable {
                self.skip(ones + 1)?;
                return Some(count);
            }
            self.skip(ones)?;
        }
    }

    fn skip(&mut self, count: u32) -> Option<()> {
        self.at += count as usize;
        (self.at <= self.bytes.len() * 8).then_some(())
    }

    /// The bits of the last byte that were not read.
    fn rest(&self) -> u64 {
        if self.at.is_multiple_of(8) { 0 } else { (self.window() << (self.at % 8)) >> 56 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BandDesign, Minhash};

    fn design(rows: usize, bits: u32) -> MinhashDesign {
        let bands = BandDesign::new(2, 8).unwrap();
        MinhashDesign::new(bands).unwrap().with_rows(rows).unwrap().with_row_bits(bits).unwrap()
    }

    #[test]
    fn signatures_of_any_shape_come_back() {
        for rows in [16, 17, 128, 1024] {
            for bits in [8, 16, 32] {
                let minhash = Minhash::new(rows).unwrap().with_row_bits(bits).unwrap();
                for features in [1, 2, 10, 100, 10_000] {
                    let signature = minhash.of_features(0..features).unwrap();
                    let encoded = encode(&signature);
                    assert_eq!(decode(&encoded, &design(rows, bits)), Ok(signature), "{rows} {bits} {features}");
                }
            }
        }
    }

    #[test]
    fn the_worked_examples_of_the_specification() {
        let spec = include_str!("../../docs/format.md");
        let row = |name: &str| {
            let line = spec.lines().find(|line| line.starts_with(&format!("| {name}")));
            line.unwrap_or_else(|| panic!("no row {name}"))
                .split('|')
                .nth(2)
                .unwrap()
                .trim()
                .trim_matches('`')
                .to_owned()
        };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        let wide = Signature::new((1..17).map(|n| mix32(1000 * n * n)).collect::<Vec<u32>>()).unwrap();
        assert_eq!(hex(&encode(&wide)), row("signature of 16 rows of 32 bits"));
        let narrow = Signature::new((1..17).collect::<Vec<u32>>()).unwrap().with_row_bits(8).unwrap();
        assert_eq!(hex(&encode(&narrow)), row("signature of 16 rows of 8 bits"));
        let key =
            super::super::keys::TableKeys::new(super::super::design::BAND_PREFIX_BITS).encode(0x0123_4567 << 32 | 7);
        assert_eq!(hex(key.as_ref()), row("band key"));
    }

    #[test]
    fn extreme_rows_come_back() {
        let alike = [0, 1, u32::MAX, u32::MAX - 1, 1 << 31].map(|row| vec![row; 16]);
        let mixed = (0..32u32).map(|n| if n % 3 == 0 { u32::MAX >> n } else { n }).collect();
        for rows in alike.into_iter().chain([mixed]) {
            // As they are when they are stored, and the least of them mixed.
            for rows in [rows.iter().map(|&row| mix32(row)).collect(), rows] {
                let signature = Signature::new(rows).unwrap();
                let design = design(signature.len(), 32);
                assert_eq!(decode(&encode(&signature), &design), Ok(signature));
            }
        }
    }

    #[test]
    fn rows_take_what_their_features_leave_open() {
        let bytes = |features| encode(&Minhash::default().of_features(0..features).unwrap()).len();
        // 128 rows: the entropy is log2(e 2^32 / n) bits a row.
        assert!((425..=440).contains(&bytes(96)), "{}", bytes(96));
        assert!((370..=385).contains(&bytes(1000)), "{}", bytes(1000));
        let foreign: Vec<u32> = (0..128u32).map(|n| n.wrapping_mul(0x9e37_79b9)).collect();
        assert_eq!(encode(&Signature::new(foreign).unwrap()).len(), 513);
    }

    #[test]
    fn every_cut_and_every_longer_one_is_noticed() {
        let design = MinhashDesign::default();
        let encoded = encode(&Minhash::default().of_features(0..96).unwrap());
        for length in 0..encoded.len() {
            assert!(decode(&encoded[..length], &design).is_err(), "{length}");
        }
        assert!(decode(&[&encoded[..], &[0]].concat(), &design).is_err());
        assert!(decode(&[33], &design).is_err());
    }

    proptest::proptest! {
        #[test]
        fn the_decoder_takes_any_bytes(bytes in proptest::collection::vec(0u8.., 0..200), rows in 16usize..40, code in 0u8..36) {
            let bytes = [&[code][..], &bytes].concat();
            for bits in [8, 16, 32] {
                let _ = decode(&bytes, &design(rows, bits));
            }
        }

        #[test]
        fn any_rows_come_back(rows in proptest::collection::vec(0u32.., 16..40), shift in 0u32..32) {
            let rows: Vec<u32> = rows.into_iter().map(|row| mix32(row >> shift)).collect();
            let signature = Signature::new(rows).unwrap();
            proptest::prop_assert_eq!(decode(&encode(&signature), &design(signature.len(), 32)), Ok(signature));
        }
    }
}
