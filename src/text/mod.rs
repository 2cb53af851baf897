//! Texts to features: normalise, tokenise, shingle, hash, weigh.

mod character;
mod describe;
#[cfg(any(feature = "icu", feature = "jieba"))]
mod dictionary;
mod distinct;
mod frequencies;
mod han;
mod language;
mod masks;
mod normalise;
mod parts;
mod preset;
mod runs;
mod scratch;
mod simple;
mod source;
mod specification;
mod tokens;
mod weights;
mod words;

use std::sync::Arc;

use crate::hash::FeatureHash;
use crate::sums::Sums;
pub(crate) use describe::AnalyserDescription;
pub(crate) use frequencies::{Counted, level};
pub use frequencies::{Frequencies, FrequenciesError};
pub use language::Language;
use language::Wording;
use normalise::Letters;
pub use preset::Preset;
use scratch::Scratch;
use source::Source;
pub use specification::ParseAnalyserError;
use tokens::Tokeniser;
pub use weights::Weights;

/// Turns a text into weighted features, the same ones on every machine and in every thread.
///
/// 1. *Normalise*: NFKC, full case folding, NFKC again. On request diacritics go, and traditional and variant forms
///    of Han characters become simplified ones.
/// 2. *Tokenise*: words by UAX #29. A word is kept if it holds a letter, a digit or an emoji. In
///    scripts that are written without spaces (Han, kana, Thai, Lao, Khmer, Myanmar and others) each
///    character, an extended grapheme cluster, is a token. Characters that are ignored by default, such
///    as soft hyphens and variation selectors, are left out.
/// 3. *Shingle*: every window of [`Analyser::shingle_tokens`] tokens; a window that starts with a
///    character of a script without spaces is two tokens long, which gives the character bigrams of such a text. A
///    text too short for a window is one shingle.
/// 4. *Hash*: each shingle, its tokens joined by a space, by [`feature_hash`](crate::feature_hash).
/// 5. *Weigh*: each distinct feature, by how often its shingle comes, and on request by how rare it is
///    ([`Analyser::idf`]).
///
/// Before all that, a part of the text can be taken instead of all of it: without the lines that many documents have
/// ([`Analyser::without_common_lines`]), and its longest sentences alone ([`Analyser::longest_sentences`]).
///
/// With the feature `languages` stop words can be left out of the tokens, and endings taken off them; the features `icu`
/// and `jieba` cut scripts without spaces into words of dictionaries.
///
/// A [`Preset`] says which parts fit a kind of text; some of them cut and hash otherwise, to compute what other programs
/// do.
///
/// The analyser of a store is part of its store record, with its version and the Unicode versions of
/// its parts, and a store opened with another one is refused: different features make fingerprints
/// that cannot be compared. The Unicode versions are those of the crates that this crate is built with:
/// an application that keeps stores keeps its `Cargo.lock`. A store whose analyser a build does not have
/// can still be opened with [`Options::sketches_only`](crate::Options::sketches_only).
///
/// ```
/// use nearstone::Analyser;
///
/// let mut shingles = Vec::new();
/// Analyser::default().shingles("Ein Maß, 漢語!", |shingle| shingles.push(shingle.to_owned()));
/// assert_eq!(shingles, ["ein mass", "mass 汉", "汉 语"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Analyser {
    letters: Letters,
    diacritics: bool,
    simplifies_han: bool,
    tokeniser: Tokeniser,
    shingle_tokens: u16,
    weights: Weights,
    min_features: u32,
    hash: FeatureHash,
    sets_ties: bool,
    source: Source,
    wording: Wording,
    /// What weighs features by how rare they are.
    idf: Option<Arc<Frequencies>>,
}

/// The features of a text.
pub(crate) enum Features<'a> {
    /// All count alike; some may be there several times.
    Set {
        features: &'a [u64],
        /// How many distinct ones there are, or any number from 1 on.
        distinct: usize,
    },
    /// Each is there once.
    Weighted(&'a [(u64, u32)]),
}

impl Analyser {
    /// Makes the analyser `words`, whose features count as often as they come, with the given number of tokens in a
    /// shingle; 0 is taken as 1.
    #[must_use]
    pub fn new(shingle_tokens: u16) -> Self {
        Preset::Words.analyser().shingle(shingle_tokens)
    }

    /// Makes the analyser of a preset.
    #[must_use]
    pub fn preset(preset: Preset) -> Self {
        preset.analyser()
    }

    /// Makes an analyser of characters: every window of so many letters, digits and emoji, with nothing between them,
    /// each distinct one once; 0 is taken as 1.
    ///
    /// ```
    /// use nearstone::Analyser;
    ///
    /// let mut shingles = Vec::new();
    /// Analyser::characters(3).shingles("To be!", |shingle| shingles.push(shingle.to_owned()));
    /// assert_eq!(shingles, ["tob", "obe"]);
    /// ```
    #[must_use]
    pub fn characters(count: u16) -> Self {
        Self { tokeniser: Tokeniser::Characters, ..Preset::Web.analyser() }.shingle(count)
    }

    /// Returns the tables that it looks into.
    pub fn frequencies(&self) -> impl Iterator<Item = &Arc<Frequencies>> {
        self.idf.iter().chain(self.source.lines.iter().map(|(table, _)| table))
    }

    /// Returns how many tokens a shingle has.
    #[must_use]
    pub fn shingle_tokens(&self) -> u16 {
        self.shingle_tokens
    }

    /// Returns how many distinct features a text needs.
    #[must_use]
    pub fn least_features(&self) -> u32 {
        self.min_features
    }

    /// Whether a bit whose sum is 0 is set.
    pub(crate) fn sets_ties(&self) -> bool {
        self.sets_ties
    }

    /// Visits the 64-bit features of a text in the order of the text, each as often as its shingle comes. A text
    /// without features visits none.
    pub fn features(&self, text: &str, mut visit: impl FnMut(u64)) {
        scratch::with(|scratch| self.hash(text, scratch).iter().for_each(|&feature| visit(feature)));
    }

    /// The sums of a text and the number of its distinct features; that may be any other from 1 on where it is not asked for.
    pub(crate) fn sums(&self, text: &str, counts_features: bool) -> (Sums, usize) {
        let mut sums = Sums::default();
        let count = scratch::with(|scratch| {
            self.hash(text, scratch);
            let Scratch { features, distinct, weighted, .. } = scratch;
            match self.weights {
                Weights::Binary if self.idf.is_none() => {
                    let features = distinct.of(features);
                    sums.count(features);
                    features.len()
                }
                Weights::Count if self.idf.is_none() => {
                    sums.count(features);
                    let is_asked_for = counts_features || self.min_features > 1;
                    if is_asked_for { distinct.of(features).len() } else { features.len() }
                }
                _ => {
                    let counted = distinct.counted(features);
                    weighted.clear();
                    weighted.extend(counted.map(|(feature, count)| (feature, self.weigh(feature, count))));
                    sums.weigh(weighted);
                    weighted.len()
                }
            }
        });
        (sums, count)
    }

    /// Hands out the features of a text; how many distinct ones there are may be left open, where it does not matter.
    pub(crate) fn with_features<R>(
        &self,
        text: &str,
        counts_features: bool,
        take: impl FnOnce(Features<'_>) -> R,
    ) -> R {
        scratch::with(|scratch| {
            self.hash(text, scratch);
            let Scratch { features, distinct, .. } = scratch;
            if self.weights != Weights::Binary || self.idf.is_some() {
                let counted = distinct.counted(features);
                let weighted: Vec<_> = counted.map(|(feature, count)| (feature, self.weigh(feature, count))).collect();
                return take(Features::Weighted(&weighted));
            }
            let is_asked_for = counts_features || self.min_features > 1;
            let distinct = if is_asked_for { distinct.of(features).len() } else { features.len() };
            take(Features::Set { features, distinct })
        })
    }

    /// Returns the distinct features of a text with their weights, by feature.
    ///
    /// ```
    /// use nearstone::{Analyser, Simhash, simhash};
    ///
    /// let analyser = Analyser::new(1);
    /// let features = analyser.weighted_features("to be or not to be");
    /// assert_eq!(features.iter().map(|&(_, weight)| weight).sum::<u32>(), 6);
    /// assert_eq!(simhash(features), Simhash::new(analyser).fingerprint("to be or not to be"));
    /// ```
    #[must_use]
    pub fn weighted_features(&self, text: &str) -> Vec<(u64, u32)> {
        scratch::with(|scratch| {
            self.hash(text, scratch);
            self.weighted(&mut scratch.features)
        })
    }

    fn weighted(&self, features: &mut [u64]) -> Vec<(u64, u32)> {
        features.sort_unstable();
        let runs = features.chunk_by(|a, b| a == b);
        runs.map(|run| (run[0], self.weigh(run[0], u32::try_from(run.len()).unwrap_or(u32::MAX)))).collect()
    }

    /// Returns the distinct features of a text, ascending, for a [`FrequencyCounter`](crate::FrequencyCounter).
    #[must_use]
    pub fn distinct_features(&self, text: &str) -> Vec<u64> {
        let mut features = Vec::new();
        self.features(text, |feature| features.push(feature));
        features.sort_unstable();
        features.dedup();
        features
    }

    /// Returns the weight of a shingle that comes so many times in a text.
    #[must_use]
    pub fn weight(&self, shingle: &str, occurrences: u32) -> u32 {
        self.weigh(self.hash.of(shingle), occurrences)
    }

    fn weigh(&self, feature: u64, occurrences: u32) -> u32 {
        let rarity = self.idf.as_ref().map_or(1, |table| table.weight(feature));
        self.weights.of(occurrences).saturating_mul(rarity)
    }

    /// Visits the shingles of a text in its order.
    pub fn shingles(&self, text: &str, visit: impl FnMut(&str)) {
        scratch::with(|scratch| {
            self.cut(text, scratch);
            scratch.tokens.windows(usize::from(self.shingle_tokens), visit);
        });
    }

    /// Makes the features of a text, in its order.
    fn hash<'a>(&self, text: &str, scratch: &'a mut Scratch) -> &'a [u64] {
        self.cut(text, scratch);
        scratch.hash(usize::from(self.shingle_tokens), self.hash);
        &scratch.features
    }

    /// Makes the tokens of a text.
    fn cut(&self, text: &str, scratch: &mut Scratch) {
        let Scratch { normal, tokens, runs, .. } = scratch;
        let text = self.source.of(text);
        normal.write(|normal| self.normalise(&text, normal));
        self.tokeniser.cut(normal, runs, tokens);
        #[cfg(feature = "languages")]
        {
            *tokens = self.wording.of(std::mem::take(tokens), &text, self.diacritics);
        }
    }

    fn normalise(&self, text: &str, to: &mut String) {
        if self.letters == Letters::Folded && self.diacritics {
            return normalise::fold_into(text, self.simplifies_han, to);
        }
        let mut normal = self.letters.normalise(text);
        if !self.diacritics {
            normal = normalise::without_diacritics(normal);
        }
        if self.simplifies_han {
            normal = han::fold(normal);
        }
        *to += &normal;
    }
}

/// That of [`Preset::Web`].
impl Default for Analyser {
    fn default() -> Self {
        Self::preset(Preset::Web)
    }
}

#[cfg(test)]
mod tests;
