//! The MinHash signature: rows, differing rows, the estimate of the similarity.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::hash;
use crate::isa::{Isa, for_each_isa};
use crate::{Error, Result};

/// A MinHash signature: similar documents have signatures that differ in few rows.
///
/// A row of two signatures of one [`Minhash`](crate::Minhash) is equal with the probability J that their
/// sets of features share of what both have together, their Jaccard index (Broder, "On the resemblance and
/// containment of documents", 1997). So the share of equal rows is an unbiased estimate of J, with the
/// standard error sqrt(J (1 - J) / rows).
///
/// Of each row 32 bits count, or the low 16 or 8 of them ([`Signature::with_row_bits`]), which takes less room and
/// makes unequal rows look equal once in 2^bits times; the estimate is corrected for that. Clones share
/// their rows.
///
/// ```
/// use nearstone::Signature;
///
/// let a = Signature::new((0..128).collect::<Vec<u32>>())?;
/// let b = Signature::new((32..160).collect::<Vec<u32>>())?;
/// assert_eq!((a.len(), a.row_bits()), (128, 32));
/// assert_eq!(a.differing_rows(&b), 128);
/// assert_eq!(a.similarity(&a), 1.0);
/// # Ok::<(), nearstone::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    rows: Arc<[u32]>,
    row_bits: u8,
}

impl Signature {
    /// The fewest rows.
    pub const MIN_ROWS: usize = 16;
    /// The most rows.
    pub const MAX_ROWS: usize = 1024;
    /// The rows by default.
    pub const DEFAULT_ROWS: usize = 128;

    /// Takes 16 to 1024 rows, of which all 32 bits count.
    ///
    /// # Errors
    /// [`Error::Signature`] where there are fewer or more.
    pub fn new(rows: impl Into<Arc<[u32]>>) -> Result<Self> {
        let rows = rows.into();
        check_rows(rows.len())?;
        Ok(Self { rows, row_bits: 32 })
    }

    /// Keeps the low 8, 16 or 32 bits of each row.
    ///
    /// ```
    /// use nearstone::Signature;
    ///
    /// let signature = Signature::new(vec![0x1234_5678; 16])?.with_row_bits(8)?;
    /// assert_eq!(signature.rows(), [0x78; 16]);
    /// assert_eq!(signature.to_bytes(), [0x78; 16]);
    /// # Ok::<(), nearstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Signature`] for other numbers of bits, or more than there are.
    pub fn with_row_bits(self, bits: u32) -> Result<Self> {
        let row_bits = check_row_bits(bits)?;
        if bits > self.row_bits() {
            let reason = format!("its rows have {} bits, asked for {bits}: make it of the text again", self.row_bits);
            return Err(Error::Signature { reason });
        }
        if bits == self.row_bits() {
            return Ok(self);
        }
        let mask = mask_of(bits);
        Ok(Self { rows: self.rows.iter().map(|row| row & mask).collect(), row_bits })
    }

    /// Takes rows that are known to be of such a number and width.
    pub(crate) fn of_checked_rows(rows: Arc<[u32]>, row_bits: u8) -> Self {
        debug_assert!(check_rows(rows.len()).is_ok() && rows.iter().all(|row| row & !mask_of(row_bits.into()) == 0));
        Self { rows, row_bits }
    }

    /// Returns the rows; with fewer than 32 bits their other bits are 0.
    #[must_use]
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Returns the number of rows.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns how many bits of each row count: 8, 16 or 32.
    #[must_use]
    pub fn row_bits(&self) -> u32 {
        self.row_bits.into()
    }

    /// Returns in how many rows two signatures differ, 0 to their length.
    ///
    /// Both should be of one [`Minhash`](crate::Minhash). Where they have different numbers of rows, those that only one
    /// of them has differ; where their rows have different bits, the bits that both have are compared.
    #[must_use]
    pub fn differing_rows(&self, other: &Self) -> u32 {
        self.differing_rows_by(Isa::detected(), other)
    }

    fn differing_rows_by(&self, isa: Isa, other: &Self) -> u32 {
        let longer = self.rows.len().max(other.rows.len()) - self.rows.len().min(other.rows.len());
        let mask = mask_of(self.row_bits.min(other.row_bits).into());
        let more = u32::try_from(longer).expect("at most as many as there are rows");
        more + differing(isa, &self.rows, &other.rows, mask)
    }

    /// Estimates the Jaccard index of the features of which two signatures were made, 0 to 1.
    ///
    /// Where rows have 32 bits this is the share m of equal rows. Of b bits, unequal rows look equal once in
    /// 2^b times, and the estimate is (m - 2^-b) / (1 - 2^-b) (Li and König, "b-Bit Minwise Hashing", WWW 2010,
    /// section 2, for sets that are small beside all possible features); less than 0 is given as 0, so that of sets with
    /// nearly nothing in common the estimate is too high by less than its standard error.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> f64 {
        let rows = self.rows.len().max(other.rows.len());
        similarity_of(self.differing_rows(other), rows, self.row_bits.min(other.row_bits).into())
    }

    /// Returns the standard error of the estimate for signatures like this one, at a similarity of 0 to 1.
    ///
    /// ```
    /// use nearstone::Signature;
    ///
    /// let signature = Signature::new(vec![0; 128])?;
    /// assert_eq!((signature.standard_error(0.8) * 1e5).round(), 3536.0);
    /// assert_eq!((signature.with_row_bits(8)?.standard_error(0.8) * 1e5).round(), 3544.0);
    /// # Ok::<(), nearstone::Error>(())
    /// ```
    #[must_use]
    pub fn standard_error(&self, similarity: f64) -> f64 {
        standard_error_of(similarity, self.rows.len(), self.row_bits.into())
    }

    /// Returns the rows one after another, each in its 1, 2 or 4 bytes, most significant first.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.rows.len() * usize::from(self.row_bits) / 8);
        self.extend_bytes(&self.rows, &mut bytes);
        bytes
    }

    /// The bytes of some of the rows, if they are there.
    pub(crate) fn bytes_of(&self, rows: Range<usize>) -> Option<SmallVec<[u8; 64]>> {
        let mut bytes = SmallVec::new();
        self.extend_bytes(self.rows.get(rows)?, &mut bytes);
        Some(bytes)
    }

    fn extend_bytes(&self, rows: &[u32], bytes: &mut impl Extend<u8>) {
        match self.row_bits {
            8 => bytes.extend(rows.iter().map(|row| row.to_be_bytes()[3])),
            16 => bytes.extend(rows.iter().flat_map(|row| [row.to_be_bytes()[2], row.to_be_bytes()[3]])),
            _ => bytes.extend(rows.iter().flat_map(|row| row.to_be_bytes())),
        }
    }

    /// Takes so many rows of so many bits as [`Signature::to_bytes`] gives them.
    ///
    /// # Errors
    /// [`Error::Signature`] where such rows cannot be, or do not have that many bytes.
    pub fn from_bytes(bytes: &[u8], rows: usize, row_bits: u32) -> Result<Self> {
        check_rows(rows)?;
        let row_bits = check_row_bits(row_bits)?;
        let expected = rows * usize::from(row_bits) / 8;
        if bytes.len() != expected {
            let reason = format!("{rows} rows of {row_bits} bits are {expected} bytes, found {}", bytes.len());
            return Err(Error::Signature { reason });
        }
        let rows = match row_bits {
            8 => bytes.iter().map(|&row| row.into()).collect(),
            16 => bytes.as_chunks().0.iter().map(|&row| u16::from_be_bytes(row).into()).collect(),
            _ => bytes.as_chunks().0.iter().map(|&row| u32::from_be_bytes(row)).collect(),
        };
        Ok(Self { rows, row_bits })
    }

    /// Returns the identity: the 128-bit XXH3 of [`Signature::to_bytes`], big-endian. Different signatures have
    /// different ones, but for a chance of 1 in 10^20 among 10^9 signatures.
    #[must_use]
    pub fn identity(&self) -> [u8; 16] {
        hash::identity(&self.to_bytes()).to_be_bytes()
    }
}

/// The estimate where so many of the rows differ.
pub(crate) fn similarity_of(differing: u32, rows: usize, row_bits: u32) -> f64 {
    let equal = 1.0 - f64::from(differing) / float(rows);
    let by_chance = by_chance(row_bits);
    ((equal - by_chance) / (1.0 - by_chance)).max(0.0)
}

/// The standard error of the estimate.
pub(crate) fn standard_error_of(similarity: f64, rows: usize, row_bits: u32) -> f64 {
    let equal = equal_probability(similarity, row_bits);
    (equal * (1.0 - equal) / float(rows)).sqrt() / (1.0 - by_chance(row_bits))
}

/// How probable it is that a row is equal.
pub(crate) fn equal_probability(similarity: f64, row_bits: u32) -> f64 {
    let similarity = similarity.clamp(0.0, 1.0);
    similarity + (1.0 - similarity) * by_chance(row_bits)
}

/// How probable it is that rows of different features look equal. Of 32 bits they never are.
fn by_chance(row_bits: u32) -> f64 {
    if row_bits >= 32 { 0.0 } else { 1.0 / f64::from(1u32 << row_bits) }
}

fn float(rows: usize) -> f64 {
    u32::try_from(rows).map_or(f64::INFINITY, f64::from)
}

/// Checks a number of rows.
pub(crate) fn check_rows(rows: usize) -> Result<()> {
    if (Signature::MIN_ROWS..=Signature::MAX_ROWS).contains(&rows) {
        return Ok(());
    }
    let (least, most) = (Signature::MIN_ROWS, Signature::MAX_ROWS);
    Err(Error::Signature { reason: format!("{rows} rows, it must have {least} to {most}") })
}

/// Checks how many bits of each row count.
pub(crate) fn check_row_bits(bits: u32) -> Result<u8> {
    match bits {
        8 => Ok(8),
        16 => Ok(16),
        32 => Ok(32),
        _ => Err(Error::Signature { reason: format!("{bits} bits a row, it must be 8, 16 or 32") }),
    }
}

fn mask_of(row_bits: u32) -> u32 {
    u32::MAX >> (32 - row_bits)
}

/// The number of rows, and hexadecimal digits of the first ones.
impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({}x{}:", self.rows.len(), self.row_bits)?;
        let digits = usize::from(self.row_bits) / 4;
        self.rows.iter().take(4).try_for_each(|row| write!(f, " {row:0digits$x}"))?;
        f.write_str(" ..)")
    }
}

for_each_isa! {
    /// Counts the rows that differ in the bits of a mask, as far as both have rows.
    fn differing(rows: &[u32], others: &[u32], mask: u32) -> u32 {
        rows.iter().zip(others).map(|(row, other)| u32::from((row ^ other) & mask != 0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(rows: usize, seed: u32) -> Signature {
        let row = |n: u32| n.wrapping_mul(0x9e37_79b9).rotate_left(seed % 7) ^ seed;
        Signature::new((0..u32::try_from(rows).unwrap()).map(row).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn bytes_go_out_and_in_at_every_width() {
        for rows in [16, 17, 100, 128, 1024] {
            for bits in [8, 16, 32] {
                let made = signature(rows, 5).with_row_bits(bits).unwrap();
                let bytes = made.to_bytes();
                assert_eq!(bytes.len(), rows * bits as usize / 8);
                let read = Signature::from_bytes(&bytes, rows, bits).unwrap();
                assert_eq!(read, made);
                assert_eq!(read.identity(), made.identity());
                assert!(Signature::from_bytes(&bytes[1..], rows, bits).is_err());
                assert!(Signature::from_bytes(&bytes, rows + 1, bits).is_err());
            }
        }
        let rows = Signature::new((1..=16).map(|n| n << 16 | 0xabcd).collect::<Vec<u32>>()).unwrap();
        assert_eq!(rows.to_bytes()[..8], [0, 1, 0xab, 0xcd, 0, 2, 0xab, 0xcd]);
        assert_eq!(rows.clone().with_row_bits(16).unwrap().to_bytes()[..4], [0xab, 0xcd, 0xab, 0xcd]);
        assert_eq!(rows.with_row_bits(8).unwrap().to_bytes()[..2], [0xcd, 0xcd]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for rows in [0, 1, 15, 1025] {
            assert!(Signature::new(vec![0; rows]).is_err(), "{rows}");
            assert!(Signature::from_bytes(&vec![0; rows], rows, 8).is_err(), "{rows}");
        }
        for bits in [0, 1, 4, 7, 9, 24, 31, 33, 64, u32::MAX] {
            assert!(signature(16, 1).with_row_bits(bits).is_err(), "{bits}");
            assert!(Signature::from_bytes(&[0; 64], 16, bits).is_err(), "{bits}");
        }
        assert!(signature(16, 1).with_row_bits(8).unwrap().with_row_bits(16).is_err());
        assert!(Signature::from_bytes(&[], usize::MAX, 32).is_err());
    }

    #[test]
    fn every_set_of_instructions_counts_the_rows_that_differ() {
        for rows in [16, 17, 31, 64, 100, 128, 1023, 1024] {
            let a = signature(rows, 3);
            for step in [1, 2, 3, 16, rows] {
                for bit in [0, 7, 8, 15, 16, 31] {
                    let changed = |(n, row): (usize, &u32)| if n % step == 0 { row ^ 1 << bit } else { *row };
                    let b = Signature::new(a.rows().iter().enumerate().map(changed).collect::<Vec<_>>()).unwrap();
                    for bits in [8, 16, 32] {
                        let expected = if bit < bits { rows.div_ceil(step) } else { 0 };
                        let [a, b] = [&a, &b].map(|signature| signature.clone().with_row_bits(bits).unwrap());
                        for isa in Isa::all() {
                            assert_eq!(a.differing_rows_by(isa, &b) as usize, expected, "{isa:?} {rows} {step} {bit}");
                            assert_eq!(b.differing_rows_by(isa, &a) as usize, expected, "{isa:?} {rows} {step} {bit}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn signatures_of_different_shapes_are_compared_by_what_both_have() {
        let (long, wide) = (signature(128, 3), signature(100, 3));
        assert_eq!(long.differing_rows(&wide), 28);
        assert_eq!(wide.differing_rows(&long), 28);
        let narrow = long.clone().with_row_bits(8).unwrap();
        assert_eq!(long.differing_rows(&narrow), 0);
        assert_ne!(long, narrow);
    }

    #[test]
    fn estimates_are_corrected_for_rows_that_are_equal_by_chance() {
        for bits in [8, 16, 32] {
            assert!((similarity_of(0, 128, bits) - 1.0).abs() < 1e-12);
            assert!(similarity_of(128, 128, bits).abs() < 1e-12, "never less than 0");
            for similarity in [0.1, 0.5, 0.8, 0.95] {
                // As many rows differ as are expected to, of so many that rounding does not matter.
                let differing = ((1.0 - equal_probability(similarity, bits)) * 1e9).round();
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
                let estimate = similarity_of(differing as u32, 1_000_000_000, bits);
                assert!((estimate - similarity).abs() < 1e-6, "{bits} {similarity} {estimate}");
            }
        }
        assert!(standard_error_of(0.5, 128, 8) > standard_error_of(0.5, 128, 32));
        assert!((standard_error_of(0.5, 128, 32) - (0.25f64 / 128.0).sqrt()).abs() < 1e-12);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_signature_or_an_error(bytes: Vec<u8>, rows in 0usize..1100, bits in 0u32..40) {
            if let Ok(signature) = Signature::from_bytes(&bytes, rows, bits) {
                proptest::prop_assert_eq!(signature.to_bytes(), bytes);
                proptest::prop_assert_eq!((signature.len(), signature.row_bits()), (rows, bits));
            }
        }
    }
}
