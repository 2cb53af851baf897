//! Analysers by name.

use super::language::Wording;
use super::normalise::Letters;
use super::source::Source;
use super::tokens::Tokeniser;
use super::{Analyser, Weights};
use crate::hash::FeatureHash;

/// An analyser by name, for a kind of text or for fingerprints that other programs have made.
///
/// ```
/// use nearstone::{Analyser, Preset, Simhash};
///
/// let compatible = Simhash::new(Analyser::preset(Preset::OneE0ng));
/// assert_eq!(compatible.fingerprint("How are you? I AM fine.").unwrap().to_string(), "b513c88ea87ea888");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// For pages, articles and descriptions: pairs of words, or of characters in scripts without spaces; each distinct
    /// one once; Traditional Chinese as Simplified. The default of new stores.
    Web,
    /// For titles, messages and other texts of under 30 words: single words, or pairs of characters; each distinct one
    /// once. Pairs of words would leave too few features.
    Short,
    /// For source code: runs of three identifiers and numbers, whose case counts; each distinct one once. Brackets,
    /// operators and the layout do not count.
    Code,
    /// What stores of before presets have: pairs of words, or of characters in scripts without spaces, as often as they
    /// come.
    Words,
    /// What the Python package `simhash` 2.1.2 computes by default, bit for bit: four characters at a time, hashed by
    /// MD5. A text without letters and digits, whose value there is that of the empty string, has none here.
    OneE0ng,
    /// What a widely copied classroom implementation computes: words between white space, hashed as Python 2 hashed
    /// strings, and a bit that is tied is set.
    Classic,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 6] = [Self::Web, Self::Short, Self::Code, Self::Words, Self::OneE0ng, Self::Classic];

    /// Returns the name, as specifications and store records have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Short => "short",
            Self::Code => "code",
            Self::Words => "words",
            Self::OneE0ng => "1e0ng",
            Self::Classic => "classic",
        }
    }

    pub(super) fn analyser(self) -> Analyser {
        let words = Analyser {
            letters: Letters::Folded,
            diacritics: true,
            simplifies_han: false,
            tokeniser: Tokeniser::Words,
            shingle_tokens: 2,
            weights: Weights::Count,
            min_features: 1,
            hash: FeatureHash::Xxh3,
            sets_ties: false,
            source: Source::default(),
            wording: Wording::default(),
            idf: None,
        };
        let web = Analyser { simplifies_han: true, weights: Weights::Binary, ..words.clone() };
        match self {
            Self::Words => words,
            Self::Web => web,
            Self::Short => Analyser { shingle_tokens: 1, ..web },
            Self::Code => Analyser {
                letters: Letters::Composed,
                simplifies_han: false,
                tokeniser: Tokeniser::Identifiers,
                shingle_tokens: 3,
                ..web
            },
            Self::OneE0ng => Analyser {
                letters: Letters::Lower,
                tokeniser: Tokeniser::WordCharacters,
                shingle_tokens: 4,
                hash: FeatureHash::Md5Tail,
                ..words
            },
            Self::Classic => Analyser {
                letters: Letters::Kept,
                tokeniser: Tokeniser::WhiteSpace,
                shingle_tokens: 1,
                hash: FeatureHash::ShiftMultiply,
                sets_ties: true,
                ..words
            },
        }
    }
}
