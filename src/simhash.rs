//! Weighted features to a fingerprint: Charikar's simhash.
//!
//! Charikar, "Similarity estimation techniques from rounding algorithms" (2002), in the form of
//! Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling" (2007), section 2.

use crate::sums::Gathered;
use crate::{Analyser, Fingerprint};

/// Computes the simhash of weighted features: pairs of a 64-bit feature hash and a weight.
///
/// Each feature adds its weight to the sum of every bit that its hash has set, and subtracts it from
/// the others; a bit of the result is set if and only if its sum is greater than 0. So a tie leaves
/// the bit unset. The order of the features does not matter, and a feature that comes n times with
/// weight 1 counts as one with weight n. Sums are 64 bits wide: fewer than 2^31 features of any
/// weights cannot overflow them.
///
/// Returns `None` where no feature has a weight, since such a document is near nothing.
///
/// ```
/// use nearstone::{Fingerprint, simhash};
///
/// assert_eq!(simhash([(0b11, 1), (0b01, 2)]), Some(Fingerprint::new(0b01)));
/// assert_eq!(simhash([]), None);
/// ```
#[must_use]
pub fn simhash(features: impl IntoIterator<Item = (u64, u32)>) -> Option<Fingerprint> {
    let mut gathered = Gathered::default();
    for (feature, weight) in features {
        gathered.add(feature, weight);
    }
    gathered.sums().fingerprint(false)
}

/// Texts to fingerprints: an [`Analyser`] and the simhash of its features.
///
/// ```
/// use nearstone::Simhash;
///
/// let simhash = Simhash::default();
/// let a = simhash.fingerprint("The quick brown fox jumps over the lazy dog").unwrap();
/// let b = simhash.fingerprint("the quick brown fox, jumps over the lazy dog!").unwrap();
/// assert_eq!(a, b);
/// assert_eq!(simhash.fingerprint("?!"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simhash {
    analyser: Analyser,
}

/// What became of a text.
///
/// Texts without a fingerprint are near nothing, each other included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextSketch {
    /// It has a fingerprint.
    Sketched {
        /// The fingerprint.
        fingerprint: Fingerprint,
        /// How many distinct features it is made of.
        features: usize,
    },
    /// It has fewer distinct features than [`Analyser::min_features`] asks for.
    TooShort {
        /// How many it has.
        features: usize,
    },
    /// It is empty, or holds neither a letter nor a digit nor an emoji.
    NoFeatures,
}

impl TextSketch {
    /// Returns the fingerprint, if the text has one.
    #[must_use]
    pub fn fingerprint(self) -> Option<Fingerprint> {
        match self {
            Self::Sketched { fingerprint, .. } => Some(fingerprint),
            Self::TooShort { .. } | Self::NoFeatures => None,
        }
    }

    /// Returns how many distinct features the text has.
    #[must_use]
    pub fn features(self) -> usize {
        match self {
            Self::Sketched { features, .. } | Self::TooShort { features } => features,
            Self::NoFeatures => 0,
        }
    }
}

impl Simhash {
    /// Takes the analyser that turns texts into features.
    #[must_use]
    pub fn new(analyser: Analyser) -> Self {
        Self { analyser }
    }

    /// Returns the analyser.
    #[must_use]
    pub fn analyser(&self) -> &Analyser {
        &self.analyser
    }

    /// Returns the fingerprint of a text, or `None` where the text has none; [`Simhash::sketch`] says why.
    #[must_use]
    pub fn fingerprint(&self, text: &str) -> Option<Fingerprint> {
        self.sketch_with(text, false).fingerprint()
    }

    /// Returns the fingerprint of a text, or why it has none.
    ///
    /// ```
    /// use nearstone::{Analyser, Simhash, TextSketch};
    ///
    /// let simhash = Simhash::new(Analyser::default().min_features(5));
    /// assert!(matches!(simhash.sketch("one two three four five six"), TextSketch::Sketched { features: 5, .. }));
    /// assert_eq!(simhash.sketch("one two three"), TextSketch::TooShort { features: 2 });
    /// assert_eq!(simhash.sketch("?!"), TextSketch::NoFeatures);
    /// ```
    #[must_use]
    pub fn sketch(&self, text: &str) -> TextSketch {
        self.sketch_with(text, true)
    }

    /// The same; how many features there are may be left open, where it does not matter.
    fn sketch_with(&self, text: &str, counts_features: bool) -> TextSketch {
        let (sums, features) = self.analyser.sums(text, counts_features);
        if features > 0 && features < self.analyser.least_features() as usize {
            return TextSketch::TooShort { features };
        }
        match sums.fingerprint(self.analyser.sets_ties()) {
            Some(fingerprint) => TextSketch::Sketched { fingerprint, features },
            None => TextSketch::NoFeatures,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, word for word, with sums wide enough for anything.
    fn by_definition(features: &[(u64, u32)]) -> Option<Fingerprint> {
        if features.iter().all(|&(_, weight)| weight == 0) {
            return None;
        }
        let mut bits = 0;
        for bit in 0..64 {
            let sum: i128 =
                features.iter().map(|&(f, w)| if f >> bit & 1 == 1 { i128::from(w) } else { -i128::from(w) }).sum();
            bits |= u64::from(sum > 0) << bit;
        }
        Some(Fingerprint::new(bits))
    }

    #[test]
    fn ties_leave_the_bit_unset() {
        assert_eq!(simhash([(u64::MAX, 1), (0, 1)]), Some(Fingerprint::new(0)));
        assert_eq!(simhash([(u64::MAX, 2), (0, 1)]), Some(Fingerprint::new(u64::MAX)));
    }

    #[test]
    fn no_weight_is_no_fingerprint() {
        assert_eq!(simhash([]), None);
        assert_eq!(simhash([(7, 0), (9, 0)]), None);
    }

    #[test]
    fn the_heaviest_weights_do_not_saturate() {
        let features = vec![(1 << 63 | 1, u32::MAX); 100_000];
        assert_eq!(simhash(features.iter().copied()), by_definition(&features));
    }

    proptest::proptest! {
        #[test]
        fn equals_the_definition_in_any_order(mut features: Vec<(u64, u32)>, seed: u64) {
            let forward = simhash(features.iter().copied());
            proptest::prop_assert_eq!(forward, by_definition(&features));
            features.sort_by_key(|&(feature, _)| feature.wrapping_mul(seed | 1));
            proptest::prop_assert_eq!(forward, simhash(features));
        }

        #[test]
        fn equals_the_definition_with_small_weights(
            features in proptest::collection::vec((proptest::prelude::any::<u64>(), 0u32..4), 0..1200),
        ) {
            proptest::prop_assert_eq!(simhash(features.iter().copied()), by_definition(&features));
        }
    }
}
