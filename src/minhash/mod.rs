//! Sets of features to a signature: MinHash, and the same of weighted features.
//!
//! Broder, "On the resemblance and containment of documents" (1997). The scheme is normative in `docs/format.md`.

mod functions;
mod weighted;

use std::fmt;
use std::sync::Arc;

use crate::signature::{check_row_bits, check_rows};
use crate::text::Features;
use crate::{Analyser, Result, Signature};
use functions::Functions;
use weighted::Weighted;

/// The name and version of the scheme by which features make the rows of a signature.
///
/// ```
/// assert_eq!(nearstone::MINHASH, "minhash-affine32/1");
/// ```
pub const MINHASH: &str = "minhash-affine32/1";

/// Texts, or features of your own, to signatures.
///
/// Each row has a hash function of its own, and is the least hash of any of the features: with the probability that two
/// sets share the feature that has it, which is their Jaccard index, the rows of two sets are equal. All features go
/// into all rows. Neither their order nor how often they come matters, nor the processor.
///
/// Where the analyser weighs features, or with [`Minhash::of_weighted`], the index that signatures estimate is that of
/// the weights: the sum of the lesser ones over the sum of the greater ones.
///
/// The more rows, the sharper the estimate: [`Signature::standard_error`]. A signature of fewer rows of the same seed
/// is the beginning of one with more.
///
/// ```
/// use nearstone::{Analyser, Minhash};
///
/// let minhash = Minhash::default();
/// let a = minhash.signature("The quick brown fox jumps over the lazy dog").unwrap();
/// let b = minhash.signature("the quick brown fox, jumps over the lazy dog!").unwrap();
/// assert_eq!(a, b);
/// assert_eq!(minhash.signature("?!"), None);
///
/// // 600 of 1000 features shared: 0.6, with a standard error of 0.03.
/// let minhash = Minhash::new(256)?.with_analyser(Analyser::new(1));
/// let a = minhash.of_features(0..800).unwrap();
/// let b = minhash.of_features(200..1000).unwrap();
/// assert!((a.similarity(&b) - 0.6).abs() < 3.0 * a.standard_error(0.6));
/// # Ok::<(), nearstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minhash {
    analyser: Analyser,
    functions: Arc<Functions>,
    row_bits: u8,
}

impl Minhash {
    /// The seed of the hash functions by default.
    pub const DEFAULT_SEED: u64 = 1;

    /// Makes signatures of so many rows, 16 to 1024, of 32 bits each, by the default analyser and seed.
    ///
    /// # Errors
    /// [`Error::Signature`](crate::Error::Signature) where a signature cannot have so many rows.
    pub fn new(rows: usize) -> Result<Self> {
        check_rows(rows)?;
        let functions = Arc::new(Functions::new(rows, Self::DEFAULT_SEED));
        Ok(Self { analyser: Analyser::default(), functions, row_bits: 32 })
    }

    /// Takes the analyser that turns texts into features.
    #[must_use]
    pub fn with_analyser(self, analyser: Analyser) -> Self {
        Self { analyser, ..self }
    }

    /// Sets the seed that the hash functions are made of. Signatures of different seeds cannot be compared.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { functions: Arc::new(Functions::new(self.rows(), seed)), ..self }
    }

    /// Sets how many bits of each row count: 8, 16 or 32.
    ///
    /// # Errors
    /// [`Error::Signature`](crate::Error::Signature) for other numbers.
    pub fn with_row_bits(self, bits: u32) -> Result<Self> {
        Ok(Self { row_bits: check_row_bits(bits)?, ..self })
    }

    /// Returns the analyser.
    #[must_use]
    pub fn analyser(&self) -> &Analyser {
        &self.analyser
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.functions.rows()
    }

    /// Returns the seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.functions.seed()
    }

    /// Returns how many bits of each row count.
    #[must_use]
    pub fn row_bits(&self) -> u32 {
        self.row_bits.into()
    }

    /// Returns the signature of a text, or `None` where the text has no feature, or fewer distinct ones than
    /// [`Analyser::min_features`] asks for.
    #[must_use]
    pub fn signature(&self, text: &str) -> Option<Signature> {
        self.sketch_with(text, false).0
    }

    /// The same with the number of distinct features; that may be any other from 1 on where it is not asked for.
    pub(crate) fn sketch_with(&self, text: &str, counts_features: bool) -> (Option<Signature>, usize) {
        let least = self.analyser.least_features() as usize;
        self.analyser.with_features(text, counts_features, |features| match features {
            Features::Set { distinct, .. } if distinct < least => (None, distinct),
            Features::Set { features, distinct } => (self.of_features(features.iter().copied()), distinct),
            Features::Weighted(features) if features.len() < least => (None, features.len()),
            Features::Weighted(features) => (self.of_distinct(features), features.len()),
        })
    }

    /// Returns the signature of a set of features, 64-bit hashes such as those of [`feature_hash`](crate::feature_hash),
    /// or `None` where there are none.
    ///
    /// The numbers need not be well mixed. Of sets of 10^7 features and more the estimate is a little too high, since
    /// different features may meet in 32 bits: by less than the number of features over 2^32.
    #[must_use]
    pub fn of_features(&self, features: impl IntoIterator<Item = u64>) -> Option<Signature> {
        let minima = self.functions.minima(features)?;
        Some(self.finish(minima))
    }

    /// Returns the signature of weighted features, or `None` where none has a weight.
    ///
    /// A feature that comes several times has the sum of its weights. Estimated is the weighted Jaccard index, without bias:
    /// a feature of weight w is w different features, of which a lesser weight has a part (Chum, Philbin and Zisserman,
    /// "Near duplicate image detection: min-hash and tf-idf weighting", BMVC 2008, section 3.1). Above 256 weights
    /// are rounded to eight significant bits, so that none is more than 3,328 features (after Haeupler, Manasse and
    /// Talwar, "Consistent weighted sampling made fast, small, and easy", 2014). Where all weights are 1 it
    /// is the signature of the set.
    ///
    /// ```
    /// use nearstone::Minhash;
    ///
    /// let minhash = Minhash::new(1024)?;
    /// // The lesser weights are 3 + 0 + 4, the greater ones 5 + 2 + 4.
    /// let a = minhash.of_weighted([(17, 3), (18, 2), (19, 4)]).unwrap();
    /// let b = minhash.of_weighted([(17, 5), (19, 4)]).unwrap();
    /// assert!((a.similarity(&b) - 7.0 / 11.0).abs() < 3.0 * a.standard_error(7.0 / 11.0));
    /// # Ok::<(), nearstone::Error>(())
    /// ```
    #[must_use]
    pub fn of_weighted(&self, features: impl IntoIterator<Item = (u64, u32)>) -> Option<Signature> {
        let mut features: Vec<(u64, u32)> = features.into_iter().collect();
        features.sort_unstable();
        features.dedup_by(|(other, more), (feature, weight)| {
            let is_same = other == feature;
            if is_same {
                *weight = weight.saturating_add(*more);
            }
            is_same
        });
        self.of_distinct(&features)
    }

    /// The same of features that each come once.
    fn of_distinct(&self, features: &[(u64, u32)]) -> Option<Signature> {
        let mut weighted = Weighted::new(&self.functions);
        for &(feature, weight) in features {
            weighted.add(feature, weight);
        }
        Some(self.finish(weighted.minima()?))
    }

    /// Makes a signature of the least hashes.
    fn finish(&self, minima: Vec<u32>) -> Signature {
        let mask = u32::MAX >> (32 - self.row_bits);
        let rows = minima.into_iter().map(|least| crate::hash::mix32(least) & mask).collect();
        Signature::of_checked_rows(rows, self.row_bits)
    }
}

/// 128 rows of 32 bits.
impl Default for Minhash {
    fn default() -> Self {
        Self::new(Signature::DEFAULT_ROWS).expect("it is a possible number of rows")
    }
}

/// The scheme and its parameters, without the analyser: two that are written alike make signatures that can be compared, of
/// equal features.
impl fmt::Display for Minhash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, bits, seed) = (self.rows(), self.row_bits, self.seed());
        write!(f, "{MINHASH} (rows={rows}, row-bits={bits}, seed={seed})")
    }
}
