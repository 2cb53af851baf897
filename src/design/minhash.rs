//! What a store of signatures is made for.

use std::fmt;

use super::BandDesign;
use crate::signature::{check_row_bits, check_rows};
use crate::{Analyser, Error, Minhash, Result, Signature};

/// The shape of the signatures of a store, and the bands by which near ones are found. It is fixed when a store is created,
/// and kept with it.
///
/// Two signatures meet if all rows of one band are equal, so a search finds what is similar with the probability that
/// [`BandDesign::recall`] tells, and always what differs in fewer rows than there are bands.
///
/// ```
/// use nearstone::{BandDesign, MinhashDesign};
///
/// let design = MinhashDesign::default();
/// assert_eq!(design.to_string(), "16x8 bands of 128 rows of 32 bits");
/// assert!((design.recall(0.8) - 0.947).abs() < 0.001);
///
/// // A quarter of the bytes, for a little of the sharpness.
/// let small = MinhashDesign::new(BandDesign::new(18, 7)?)?.with_row_bits(8)?;
/// assert_eq!(small.signature_bytes(), 128);
/// # Ok::<(), nearstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MinhashDesign {
    bands: BandDesign,
    rows: u16,
    row_bits: u8,
    seed: u64,
}

impl MinhashDesign {
    /// Takes bands, for signatures of [`Signature::DEFAULT_ROWS`] rows of 32 bits, or of as many rows as the bands need.
    ///
    /// # Errors
    /// [`Error::Signature`] where a signature cannot have as many rows as the bands need.
    pub fn new(bands: BandDesign) -> Result<Self> {
        let design = Self { bands, rows: 0, row_bits: 32, seed: Minhash::DEFAULT_SEED };
        design.with_rows(bands.rows().max(Signature::DEFAULT_ROWS))
    }

    /// Sets how many rows a signature has, 16 to 1024. Those that are in no band make the estimate sharper.
    ///
    /// # Errors
    /// [`Error::Signature`] for other numbers, [`Error::BandDesign`] where the bands need more.
    #[expect(clippy::missing_panics_doc, reason = "the rows were checked")]
    pub fn with_rows(self, rows: usize) -> Result<Self> {
        check_rows(rows)?;
        if rows < self.bands.rows() {
            let reason = format!("{} bands need {} rows, of {rows}", self.bands, self.bands.rows());
            return Err(Error::BandDesign { reason });
        }
        Ok(Self { rows: u16::try_from(rows).expect("at most 1024 rows"), ..self })
    }

    /// Sets how many bits of each row are kept: 8, 16 or 32.
    ///
    /// # Errors
    /// [`Error::Signature`] for other numbers.
    pub fn with_row_bits(self, bits: u32) -> Result<Self> {
        Ok(Self { row_bits: check_row_bits(bits)?, ..self })
    }

    /// Sets the seed of the hash functions by which texts become signatures.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Returns the bands.
    #[must_use]
    pub fn bands(&self) -> BandDesign {
        self.bands
    }

    /// Returns how many rows a signature has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.into()
    }

    /// Returns how many bits of each row are kept.
    #[must_use]
    pub fn row_bits(&self) -> u32 {
        self.row_bits.into()
    }

    /// Returns the seed of the hash functions.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns how many bytes a signature has.
    #[must_use]
    pub fn signature_bytes(&self) -> usize {
        self.rows() * usize::from(self.row_bits) / 8
    }

    /// Returns the share of the pairs of a similarity that a search finds.
    #[must_use]
    pub fn recall(&self, similarity: f64) -> f64 {
        self.bands.recall(similarity, self.row_bits())
    }

    /// Returns the most rows in which two signatures differ whose estimated similarity is at least `similarity`: the
    /// distance to ask for.
    ///
    /// ```
    /// use nearstone::MinhashDesign;
    ///
    /// assert_eq!(MinhashDesign::default().max_distance(0.8), 25);
    /// assert_eq!(MinhashDesign::default().max_distance(1.0), 0);
    /// ```
    #[must_use]
    pub fn max_distance(&self, similarity: f64) -> u32 {
        let rows = u32::from(self.rows);
        (0..=rows).rev().find(|&differing| self.similarity(differing) >= similarity).unwrap_or(0)
    }

    /// Returns the estimated similarity of signatures that differ in so many rows.
    #[must_use]
    pub fn similarity(&self, differing_rows: u32) -> f64 {
        crate::signature::similarity_of(differing_rows, self.rows(), self.row_bits())
    }

    /// Returns the standard error of the estimate at a similarity.
    #[must_use]
    pub fn standard_error(&self, similarity: f64) -> f64 {
        crate::signature::standard_error_of(similarity, self.rows(), self.row_bits())
    }

    /// Returns what makes signatures for the store out of texts.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the shape was checked")]
    pub fn minhash(&self, analyser: Analyser) -> Minhash {
        let minhash = Minhash::new(self.rows()).and_then(|minhash| minhash.with_row_bits(self.row_bits()));
        minhash.expect("a design has a shape that signatures have").with_analyser(analyser).with_seed(self.seed)
    }

    /// Fails on a signature of another shape.
    pub(crate) fn check(&self, signature: &Signature) -> Result<()> {
        if (signature.len(), signature.row_bits()) == (self.rows(), self.row_bits()) {
            return Ok(());
        }
        let found = format!("{} rows of {} bits", signature.len(), signature.row_bits());
        let reason = format!("it has {found}, the store has {} of {}", self.rows, self.row_bits);
        Err(Error::Signature { reason })
    }
}

impl Default for MinhashDesign {
    fn default() -> Self {
        Self::new(BandDesign::default()).expect("the default bands fit the default rows")
    }
}

/// What it is, for people.
impl fmt::Display for MinhashDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bands of {} rows of {} bits", self.bands, self.rows, self.row_bits)?;
        if self.seed == Minhash::DEFAULT_SEED { Ok(()) } else { write!(f, ", seed {}", self.seed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_a_similarity_is_the_last_that_reaches_it() {
        for bits in [8, 16, 32] {
            let design = MinhashDesign::default().with_row_bits(bits).unwrap();
            for similarity in [0.05, 0.3, 0.5, 0.79, 0.8, 0.95, 1.0] {
                let distance = design.max_distance(similarity);
                assert!(design.similarity(distance) >= similarity, "{bits} {similarity}");
                assert!(design.similarity(distance + 1) < similarity, "{bits} {similarity}");
            }
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        assert!(MinhashDesign::new(BandDesign::new(32, 32).unwrap()).is_ok());
        assert!(MinhashDesign::default().with_rows(127).is_err());
        assert!(MinhashDesign::default().with_rows(2000).is_err());
        assert!(MinhashDesign::default().with_row_bits(7).is_err());
        let [signature, other] = [128, 127].map(|rows| Minhash::new(rows).unwrap().of_features([1]).unwrap());
        assert!(MinhashDesign::default().check(&signature).is_ok());
        assert!(MinhashDesign::default().check(&other).unwrap_err().to_string().contains("127 rows"));
    }
}
