//! Texts to features: normalise, tokenise, shingle, hash.

mod normalise;
mod tokens;

use std::fmt;

use crate::hash::{FEATURE_HASH, feature_hash};
use tokens::Tokens;

/// Turns a text into features, the same ones on every machine and in every thread.
///
/// 1. *Normalise*: NFKC, full case folding, NFKC again.
/// 2. *Tokenise*: words by UAX #29. A word is kept if it holds a letter, a digit or an emoji. In
///    scripts that are written without spaces (Han, kana, Thai, Lao, Khmer, Myanmar and others) each
///    character, an extended grapheme cluster, is a token. Characters that are ignored by default, such
///    as soft hyphens and variation selectors, are left out.
/// 3. *Shingle*: every window of [`Analyser::shingle_tokens`] tokens; a window that starts with a
///    character of a script without spaces is two tokens long, which gives the character bigrams of such a text. A
///    text too short for a window is one shingle.
/// 4. *Hash*: each shingle, its tokens joined by a space, by [`feature_hash`]. A feature comes as
///    often as its shingle does, so occurrences are weights.
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
/// Analyser::default().shingles("Ein Maß, 北京!", |shingle| shingles.push(shingle.to_owned()));
/// assert_eq!(shingles, ["ein mass", "mass 北", "北 京"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Analyser {
    shingle_tokens: u16,
}

impl Analyser {
    /// The name of this way to make features.
    pub const NAME: &'static str = "words";
    /// Its version: raised with every change that gives any text other features.
    pub const VERSION: u16 = 1;
    /// How many tokens a shingle has by default.
    pub const DEFAULT_SHINGLE_TOKENS: u16 = 2;

    /// Makes an analyser whose shingles have the given number of tokens; 0 is taken as 1.
    #[must_use]
    pub fn new(shingle_tokens: u16) -> Self {
        Self { shingle_tokens: shingle_tokens.max(1) }
    }

    /// Returns how many tokens a shingle has.
    #[must_use]
    pub fn shingle_tokens(&self) -> u16 {
        self.shingle_tokens
    }

    /// Visits the 64-bit features of a text in the order of the text. A text without features visits
    /// none.
    pub fn features(&self, text: &str, mut visit: impl FnMut(u64)) {
        self.shingles(text, |shingle| visit(feature_hash(shingle)));
    }

    /// Visits the shingles of a text in its order: tokens joined by a space.
    pub fn shingles(&self, text: &str, mut visit: impl FnMut(&str)) {
        let normal = normalise::normalise(text);
        let tokens = Tokens::of(&normal);
        let count = tokens.len();
        let mut any = false;
        for first in 0..count {
            let length = if tokens.is_character(first) { 2 } else { usize::from(self.shingle_tokens) };
            if let Some(last) = (first + length).checked_sub(1).filter(|&last| last < count) {
                visit(tokens.joined(first..=last));
                any = true;
            }
        }
        if !any && count > 0 {
            visit(tokens.joined(0..=count - 1));
        }
    }

    /// What a store keeps of the analyser; two analysers with the same description give the same
    /// features.
    #[must_use]
    pub(crate) fn describe(&self) -> AnalyserDescription {
        let (normalization, case_folding, properties) =
            (unicode_normalization::UNICODE_VERSION, caseless::UNICODE_VERSION, unicode_properties::UNICODE_VERSION);
        let unicode = [
            ("unicode-normalization", triple(normalization)),
            ("unicode-case-folding", triple(case_folding)),
            ("unicode-segmentation", triple(unicode_segmentation::UNICODE_VERSION)),
            ("unicode-script", triple(unicode_script::UNICODE_VERSION)),
            ("unicode-properties", triple(properties)),
        ];
        let mut parameters = vec![
            ("feature-hash".to_owned(), FEATURE_HASH.to_owned()),
            (SHINGLE_TOKENS.to_owned(), self.shingle_tokens.to_string()),
        ];
        parameters.extend(unicode.map(|(part, version)| (part.to_owned(), version)));
        AnalyserDescription { name: Self::NAME.to_owned(), version: Self::VERSION, parameters }
    }

    /// Makes the analyser of a description, or `None` where this build has no analyser that gives the
    /// same features.
    pub(crate) fn from_description(description: &AnalyserDescription) -> Option<Self> {
        let tokens = description.parameters.iter().find(|(name, _)| name == SHINGLE_TOKENS)?;
        let analyser = Self::new(tokens.1.parse().ok()?);
        (analyser.describe() == *description).then_some(analyser)
    }
}

const SHINGLE_TOKENS: &str = "shingle-tokens";

impl Default for Analyser {
    fn default() -> Self {
        Self::new(Self::DEFAULT_SHINGLE_TOKENS)
    }
}

/// The name, version and parameters, as a store keeps them.
impl fmt::Display for Analyser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

/// An analyser as the store record keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnalyserDescription {
    pub(crate) name: String,
    pub(crate) version: u16,
    pub(crate) parameters: Vec<(String, String)>,
}

impl fmt::Display for AnalyserDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.version)?;
        for (i, (name, value)) in self.parameters.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { " (" } else { ", " })?;
        }
        f.write_str(if self.parameters.is_empty() { "" } else { ")" })
    }
}

/// A Unicode version as text; the crates give theirs in different integers.
fn triple<A: fmt::Display, B: fmt::Display, C: fmt::Display>((major, minor, patch): (A, B, C)) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shingles(tokens: u16, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        Analyser::new(tokens).shingles(text, |shingle| all.push(shingle.to_owned()));
        all
    }

    #[test]
    fn shingles_of_many_scripts() {
        let rows: &[(u16, &str, &[&str])] = &[
            (1, "The cat's 3.14 hats", &["the", "cat's", "3.14", "hats"]),
            (2, "one two three", &["one two", "two three"]),
            (3, "one two", &["one two"]),
            (2, "one", &["one"]),
            (2, "ab c", &["ab c"]),
            (2, "a bc", &["a bc"]),
            (2, "北京大学", &["北 京", "京 大", "大 学"]),
            (4, "北京大学", &["北 京", "京 大", "大 学"]),
            (2, "北京，大学。", &["北 京", "京 大", "大 学"]),
            (2, "東京タワー", &["東 京", "京 タ", "タ ワ", "ワ ー"]),
            (2, "ひらがな", &["ひ ら", "ら が", "が な"]),
            (2, "ｶﾞｷﾞ", &["ガ ギ"]),
            (2, "한국어 문장", &["한국어 문장"]),
            (1, "سلام دنیا", &["سلام", "دنیا"]),
            (1, "שלום עולם", &["שלום", "עולם"]),
            (1, "नमस्ते दुनिया", &["नमस्ते", "दुनिया"]),
            (1, "Ελλάς ΕΛΛΑΣ", &["ελλάσ", "ελλασ"]),
            (1, "Straße STRASSE", &["strasse", "strasse"]),
            (1, "ﬁne ＡＢＣ", &["fine", "abc"]),
            (1, "Привет, МИР", &["привет", "мир"]),
            (1, "e\u{301}t\u{e9}", &["\u{e9}t\u{e9}"]),
            (1, "infor\u{ad}mation", &["information"]),
            (1, "😀 ok 🎉", &["😀", "ok", "🎉"]),
            (1, "☕\u{fe0f} ☕", &["☕", "☕"]),
            (1, "🇩🇪", &["🇩🇪"]),
            (1, "word _ - * 1", &["word", "1"]),
            (2, "Linux 系统", &["linux 系", "系 统"]),
        ];
        for &(tokens, text, expected) in rows {
            assert_eq!(shingles(tokens, text), expected, "{tokens} tokens of {text:?}");
        }
        assert!(shingles(2, "สวัสดีชาวโลก").len() > 5);
    }

    #[test]
    fn texts_without_features_have_none() {
        for text in [
            "",
            " ",
            "\n\t",
            "!?",
            "...",
            "— «»",
            "\u{feff}",
            "\u{200b}",
            "\u{ad}",
            "\u{301}",
            "_",
            "+-*/",
            "😶\u{fe0f}".strip_prefix('😶').unwrap(),
        ] {
            assert_eq!(shingles(2, text), [""; 0], "{text:?}");
        }
    }

    #[test]
    fn a_description_leads_back_to_its_analyser() {
        for tokens in [1, 2, 7, u16::MAX] {
            let analyser = Analyser::new(tokens);
            assert_eq!(Analyser::from_description(&analyser.describe()), Some(analyser));
        }
        assert_eq!(Analyser::new(0), Analyser::new(1));
        let mut other = Analyser::default().describe();
        other.parameters[2].1 = "1.0.0".to_owned();
        assert_eq!(Analyser::from_description(&other), None);
        assert!(other.to_string().contains("unicode-normalization=1.0.0"), "{other}");
    }
}
