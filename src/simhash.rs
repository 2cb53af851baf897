//! Weighted features to a fingerprint: Charikar's simhash.
//!
//! Charikar, "Similarity estimation techniques from rounding algorithms" (2002), in the form of
//! Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling" (2007), section 2.

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
    let mut sums = Sums::default();
    for (feature, weight) in features {
        sums.add(feature, weight);
    }
    sums.fingerprint()
}

/// The sums of the 64 bits while features come in.
pub(crate) struct Sums {
    /// `set[b]` is the weight of the features that have bit `b` set; the sum of the text book is
    /// twice that less `total`.
    set: [u64; 64],
    total: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Self { set: [0; 64], total: 0 }
    }
}

impl Sums {
    pub(crate) fn add(&mut self, feature: u64, weight: u32) {
        let weight = u64::from(weight);
        self.total += weight;
        for (bit, set) in self.set.iter_mut().enumerate() {
            *set += weight & (feature >> bit & 1).wrapping_neg();
        }
    }

    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        if self.total == 0 {
            return None;
        }
        let bits = self.set.iter().enumerate().map(|(bit, &set)| u64::from(set > self.total - set) << bit);
        Some(Fingerprint::new(bits.sum()))
    }
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

    /// Returns the fingerprint of a text, or `None` where the text has no features: it is empty, or
    /// holds neither a letter nor a digit nor an emoji.
    #[must_use]
    pub fn fingerprint(&self, text: &str) -> Option<Fingerprint> {
        let mut sums = Sums::default();
        self.analyser.features(text, |feature| sums.add(feature, 1));
        sums.fingerprint()
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
    }
}
