//! Two texts by their shingles.

use std::collections::HashMap;

use nearstone::{Analyser, Simhash, TextSketch};

/// What two texts have in common, and what not.
pub(super) struct Comparison {
    pub(super) sketches: [TextSketch; 2],
    /// Distinct shingles of each text.
    pub(super) shingles: [usize; 2],
    pub(super) shared: usize,
    /// The cosine of the weights of all shingles.
    pub(super) cosine: f64,
    /// The distinct shingles of either text, the heaviest first, then by the text.
    weighed: Vec<Weighed>,
}

/// A shingle with its weight in each text, 0 where it has none.
pub(super) struct Weighed {
    pub(super) shingle: String,
    pub(super) weights: [u32; 2],
}

impl Comparison {
    pub(super) fn of(analyser: &Analyser, texts: [&str; 2]) -> Self {
        let mut counts: HashMap<String, [u32; 2]> = HashMap::new();
        for (which, text) in texts.into_iter().enumerate() {
            analyser.shingles(text, |shingle| match counts.get_mut(shingle) {
                Some(counts) => counts[which] += 1,
                None => counts.entry(shingle.to_owned()).or_default()[which] = 1,
            });
        }
        let weigh = |(shingle, counts): (String, [u32; 2])| Weighed {
            weights: counts.map(|count| if count == 0 { 0 } else { analyser.weight(&shingle, count) }),
            shingle,
        };
        let mut weighed: Vec<Weighed> = counts.into_iter().map(weigh).collect();
        let heaviest = |weighed: &Weighed| weighed.weights[0].max(weighed.weights[1]);
        weighed.sort_unstable_by(|a, b| heaviest(b).cmp(&heaviest(a)).then_with(|| a.shingle.cmp(&b.shingle)));
        let product = |a: usize, b: usize| -> f64 {
            weighed.iter().map(|weighed| f64::from(weighed.weights[a]) * f64::from(weighed.weights[b])).sum()
        };
        let norms = (product(0, 0) * product(1, 1)).sqrt();
        let cosine = if norms > 0.0 { product(0, 1) / norms } else { 0.0 };
        let has = |which: usize| weighed.iter().filter(|weighed| weighed.weights[which] > 0).count();
        let shingles = [has(0), has(1)];
        let shared = weighed.iter().filter(|weighed| weighed.is_shared()).count();
        let simhash = Simhash::new(analyser.clone());
        Self { sketches: texts.map(|text| simhash.sketch(text)), shingles, shared, cosine, weighed }
    }

    /// The Jaccard index of the distinct shingles; none where there are no shingles.
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    pub(super) fn jaccard(&self) -> Option<f64> {
        let all = self.weighed.len();
        (all > 0).then(|| self.shared as f64 / all as f64)
    }

    /// How many bits differ, if both texts have a fingerprint.
    pub(super) fn distance(&self) -> Option<u32> {
        let [first, second] = self.sketches.map(TextSketch::fingerprint);
        Some(first?.distance(second?))
    }

    /// How many bits differ on average: each with the probability of angle / pi (Charikar 2002, section 3).
    pub(super) fn expected_distance(&self) -> f64 {
        64.0 * self.cosine.clamp(0.0, 1.0).acos() / std::f64::consts::PI
    }

    /// The shingles of both texts, of the first and of the second alone.
    pub(super) fn shared(&self) -> impl Iterator<Item = &Weighed> {
        self.weighed.iter().filter(|weighed| weighed.is_shared())
    }

    pub(super) fn alone(&self, which: usize) -> impl Iterator<Item = &Weighed> {
        self.weighed.iter().filter(move |weighed| weighed.weights[which] > 0 && !weighed.is_shared())
    }
}

impl Weighed {
    fn is_shared(&self) -> bool {
        self.weights[0] > 0 && self.weights[1] > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_angles_are_those_of_the_shingles() {
        let analyser = Analyser::new(1);
        let found = Comparison::of(&analyser, ["a a b c", "b c d"]);
        assert_eq!((found.shingles, found.shared, found.jaccard()), ([3, 3], 2, Some(0.5)));
        // (0, 1, 1, 0, 2) times (1, 1, 1): 2 / sqrt(6 * 3).
        assert!((found.cosine - 2.0 / 18f64.sqrt()).abs() < 1e-12);
        let names = |weighed: Vec<&Weighed>| weighed.iter().map(|weighed| weighed.shingle.clone()).collect::<Vec<_>>();
        assert_eq!(names(found.shared().collect()), ["b", "c"]);
        assert_eq!(names(found.alone(0).collect()), ["a"]);
        assert_eq!(names(found.alone(1).collect()), ["d"]);
        let same = Comparison::of(&analyser, ["a b", "b a"]);
        assert_eq!((same.distance(), same.jaccard()), (Some(0), Some(1.0)));
        assert!(same.expected_distance() < 1e-6);
        let nothing = Comparison::of(&analyser, ["?", "!"]);
        assert_eq!((nothing.distance(), nothing.jaccard()), (None, None));
    }
}
