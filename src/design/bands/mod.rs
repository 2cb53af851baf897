//! Band designs: which rows of a signature are looked for together.

mod plan;

use std::fmt;
use std::str::FromStr;

pub use plan::{BandPlan, BandPlanner};

use crate::signature::equal_probability;
use crate::{Error, Result, Signature, hash};

/// Bands of rows: two signatures are candidates where all rows of any band are equal.
///
/// Of b bands of r rows each, a pair whose rows are equal with the probability p is a candidate with the probability
/// 1 - (1 - p^r)^b, an S-shaped curve (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", 3rd edition,
/// section 3.4.2). More rows in a band are stricter: fewer candidates, and fewer of the pairs that are looked for. More bands
/// are laxer.
///
/// ```
/// use nearstone::BandDesign;
///
/// let design = BandDesign::new(16, 8)?;
/// assert_eq!(design.to_string(), "16x8");
/// assert_eq!("16x8".parse::<BandDesign>()?, design);
/// assert!((design.recall(0.8, 32) - 0.947).abs() < 0.001);
/// assert!(design.recall(0.5, 32) < 0.07);
/// # Ok::<(), nearstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandDesign {
    bands: u16,
    rows_per_band: u16,
}

impl BandDesign {
    /// Takes so many bands of so many rows: the first rows of a signature are the first band.
    ///
    /// # Errors
    /// [`Error::BandDesign`] where one of them is 0, or they have more than [`Signature::MAX_ROWS`] rows together.
    pub fn new(bands: u32, rows_per_band: u32) -> Result<Self> {
        let fits = |number: u32| u16::try_from(number).ok().filter(|&number| number > 0);
        let design = fits(bands).zip(fits(rows_per_band)).map(|(bands, rows_per_band)| Self { bands, rows_per_band });
        design.filter(|design| design.rows() <= Signature::MAX_ROWS).ok_or_else(|| Error::BandDesign {
            reason: format!(
                "{bands} bands of {rows_per_band} rows: take at least one of each, and at most {} rows together",
                Signature::MAX_ROWS
            ),
        })
    }

    /// Returns the number of bands.
    #[must_use]
    pub fn bands(&self) -> u32 {
        self.bands.into()
    }

    /// Returns the number of rows in each band.
    #[must_use]
    pub fn rows_per_band(&self) -> u32 {
        self.rows_per_band.into()
    }

    /// Returns how many rows a signature needs: the bands times their rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        usize::from(self.bands) * usize::from(self.rows_per_band)
    }

    /// Returns the share of the pairs of a similarity, 0 to 1, that are candidates, where `row_bits` bits of each row count.
    ///
    /// Of more similar pairs it is larger, so it is the least recall of all pairs from the similarity on.
    #[must_use]
    pub fn recall(&self, similarity: f64, row_bits: u32) -> f64 {
        let equal = equal_probability(similarity, row_bits).powi(i32::from(self.rows_per_band.cast_signed()));
        -(f64::from(self.bands) * (-equal).ln_1p()).exp_m1()
    }

    /// Returns the share of the pairs below a similarity that are candidates all the same, were their similarities evenly
    /// spread from 0 on: the mean of [`BandDesign::recall`].
    #[must_use]
    pub fn candidate_rate(&self, similarity: f64, row_bits: u32) -> f64 {
        const STEPS: u32 = 256;
        let at = |step: u32| self.recall(similarity * f64::from(step) / f64::from(STEPS), row_bits);
        // Simpson's rule.
        let odd: f64 = (1..STEPS).step_by(2).map(at).sum();
        let even: f64 = (2..STEPS).step_by(2).map(at).sum();
        (at(0) + 4.0 * odd + 2.0 * even + at(STEPS)) / f64::from(3 * STEPS)
    }

    /// Whether all rows of a band are equal in both.
    pub(crate) fn is_shared(self, a: &Signature, b: &Signature, band: usize) -> bool {
        let rows = band * usize::from(self.rows_per_band)..(band + 1) * usize::from(self.rows_per_band);
        matches!((a.rows().get(rows.clone()), b.rows().get(rows)), (Some(a), Some(b)) if a == b)
    }

    /// Returns the hash of a band of a signature: XXH3-64 of the bytes of its rows, with the number of the band as the
    /// seed. `None` where the signature has not as many rows, or there is no such band.
    ///
    /// Two signatures of as many bits a row have equal hashes if all rows of the band are equal, and otherwise once in 2^64
    /// times.
    #[must_use]
    pub fn band_hash(&self, signature: &Signature, band: u32) -> Option<u64> {
        let first = usize::try_from(band).ok().filter(|_| band < self.bands())? * usize::from(self.rows_per_band);
        let bytes = signature.bytes_of(first..first + usize::from(self.rows_per_band))?;
        Some(hash::band(band, &bytes))
    }
}

/// 16 bands of 8 rows, for 128 rows: 95 % of the pairs of a similarity of 0.8 are candidates, and 6 % of those of 0.5.
impl Default for BandDesign {
    fn default() -> Self {
        Self { bands: 16, rows_per_band: 8 }
    }
}

/// The bands and their rows, as in `16x8`.
impl fmt::Display for BandDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.bands, self.rows_per_band)
    }
}

/// Reads what [`Display`](fmt::Display) writes.
impl FromStr for BandDesign {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
        let numbers = text.split_once('x').and_then(|(bands, rows)| number(bands).zip(number(rows)));
        let (bands, rows) = numbers.ok_or_else(|| Error::BandDesign {
            reason: format!("{:?} is not bands and rows, such as 16x8", text.chars().take(40).collect::<String>()),
        })?;
        Self::new(bands, rows)
    }
}
