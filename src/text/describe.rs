//! What a store keeps of its analyser, and what it gets back.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "languages")]
use super::language;
use super::language::{Wording, Words};
use super::normalise::Letters;
use super::source::Source;
use super::tokens::Tokeniser;
use super::{Analyser, Frequencies, Preset, Weights, han};
use crate::hash::FeatureHash;

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

/// The version of the rules by which parts make features: raised with every change that gives any text other ones.
const VERSION: u16 = 1;

/// The name of what is no preset.
const CUSTOM: &str = "custom";

const FEATURE_HASH: &str = "feature-hash";
const LETTERS: &str = "letters";
const DIACRITICS: &str = "diacritics";
const HAN: &str = "han";
const TOKENS: &str = "tokens";
const SHINGLE_TOKENS: &str = "shingle-tokens";
const WEIGHTS: &str = "weights";
const MIN_FEATURES: &str = "min-features";
const TIES: &str = "ties";
const IDF: &str = "idf";
const LINES: &str = "common-lines";
const SENTENCES: &str = "longest-sentences";
const STOP_WORDS: &str = "stop-words";
const STEMS: &str = "stems";
const KEPT: &str = "kept";
const REMOVED: &str = "removed";
const SET: &str = "set";
const UNSET: &str = "unset";

impl Analyser {
    /// Returns the name: that of the [`Preset`] that it is, `words` for those of [`Analyser::new`], otherwise `custom`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.is_words() {
            return Preset::Words.name();
        }
        Preset::ALL.into_iter().find(|preset| preset.analyser() == *self).map_or(CUSTOM, Preset::name)
    }

    /// Whether it is one of those that stores had before there were presets, and is described as they are.
    fn is_words(&self) -> bool {
        *self == Self::new(self.shingle_tokens)
    }

    /// What a store keeps of the analyser; two analysers with the same description give the same
    /// features.
    #[must_use]
    pub(crate) fn describe(&self) -> AnalyserDescription {
        let shingle_tokens = self.shingle_tokens.to_string();
        let mut parameters = vec![(FEATURE_HASH, self.hash.name().to_owned())];
        if self.is_words() {
            parameters.push((SHINGLE_TOKENS, shingle_tokens));
        } else {
            parameters.extend([
                (LETTERS, self.letters.name().to_owned()),
                (DIACRITICS, if self.diacritics { KEPT } else { REMOVED }.to_owned()),
                (HAN, if self.simplifies_han { han::TABLE } else { KEPT }.to_owned()),
                (TOKENS, self.tokeniser.name().to_owned()),
                (SHINGLE_TOKENS, shingle_tokens),
                (WEIGHTS, self.weights.name().to_owned()),
                (MIN_FEATURES, self.min_features.to_string()),
                (TIES, if self.sets_ties { SET } else { UNSET }.to_owned()),
            ]);
            parameters.extend(self.optional());
        }
        parameters.extend(self.unicode());
        let parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        AnalyserDescription { name: self.name().to_owned(), version: VERSION, parameters }
    }

    /// The parts that most analysers do not have, and that are described where they are there.
    fn optional(&self) -> Vec<(&'static str, String)> {
        let mut parameters = Vec::new();
        if let Some(table) = &self.idf {
            parameters.push((IDF, format!("{:016x}", table.identity())));
        }
        if let Some((table, documents)) = &self.source.lines {
            parameters.push((LINES, format!("{:016x}/{documents}", table.identity())));
        }
        if self.source.sentences > 0 {
            parameters.push((SENTENCES, self.source.sentences.to_string()));
        }
        #[cfg(feature = "languages")]
        for (name, words, version) in
            [(STOP_WORDS, self.wording.stop_words, language::STOP_WORDS), (STEMS, self.wording.stems, language::STEMS)]
        {
            parameters.extend(words.map(|words| (name, language::described(words, version))));
        }
        parameters
    }

    /// Describes all that makes features, and not what weighs them: what a table of their frequencies is for.
    pub(crate) fn features_description(&self) -> String {
        let unweighted =
            Self { weights: Weights::Binary, min_features: 1, sets_ties: false, idf: None, ..self.clone() };
        let parameters = unweighted.describe().parameters;
        AnalyserDescription { name: "features".to_owned(), version: VERSION, parameters }.to_string()
    }

    /// The versions of the Unicode tables that its parts look into.
    fn unicode(&self) -> Vec<(&'static str, String)> {
        let mut versions = Vec::new();
        if matches!(self.letters, Letters::Folded | Letters::Composed) || !self.diacritics {
            versions.push(("unicode-normalization", triple(unicode_normalization::UNICODE_VERSION)));
        }
        if self.letters == Letters::Folded {
            versions.push(("unicode-case-folding", triple(caseless::UNICODE_VERSION)));
        }
        if self.letters == Letters::Lower {
            versions.push(("unicode-lower-case", triple(char::UNICODE_VERSION)));
        }
        if self.tokeniser.cuts_words() || self.tokeniser == Tokeniser::Characters || self.source.sentences > 0 {
            versions.push(("unicode-segmentation", triple(unicode_segmentation::UNICODE_VERSION)));
        }
        if self.tokeniser.cuts_words() || !self.diacritics {
            versions.push(("unicode-script", triple(unicode_script::UNICODE_VERSION)));
        }
        // White space is a property that Unicode promises to keep.
        if self.tokeniser != Tokeniser::WhiteSpace || !self.diacritics {
            versions.push(("unicode-properties", triple(unicode_properties::UNICODE_VERSION)));
        }
        versions
    }

    /// Makes the analyser of a description with the tables that it names, or `None` where this build has no analyser
    /// that gives the same features.
    pub(crate) fn from_description(description: &AnalyserDescription, tables: &[Arc<Frequencies>]) -> Option<Self> {
        Self::nearest(description, tables).filter(|analyser| analyser.describe() == *description)
    }

    /// The analyser of the same parts, whatever the versions of their tables of Unicode.
    pub(crate) fn nearest(description: &AnalyserDescription, tables: &[Arc<Frequencies>]) -> Option<Self> {
        let value = |name: &str| description.value(name);
        let shingle_tokens = value(SHINGLE_TOKENS)?.parse().ok()?;
        if description.name == Preset::Words.name() {
            return Some(Self::new(shingle_tokens));
        }
        let table = |identity: u64| tables.iter().find(|table| table.identity() == identity).cloned();
        let lines = match value(LINES) {
            None => None,
            Some(lines) => {
                let (identity, documents) = lines.split_once('/')?;
                let table = table(identity_of(identity)?).filter(|table| table.is_of_lines())?;
                Some((table, documents.parse().ok()?))
            }
        };
        let sentences = value(SENTENCES).map_or(Some(0), |count| count.parse().ok())?;
        let words = |name| match value(name) {
            None => Some(None),
            Some(words) => Words::named(words.split('/').next()?).map(Some),
        };
        let wording = Wording { stop_words: words(STOP_WORDS)?, stems: words(STEMS)? };
        let analyser = Self {
            letters: Letters::ALL.into_iter().find(|letters| Some(letters.name()) == value(LETTERS))?,
            diacritics: value(DIACRITICS)? == KEPT,
            simplifies_han: value(HAN)? != KEPT,
            tokeniser: Tokeniser::ALL.iter().copied().find(|tokeniser| Some(tokeniser.name()) == value(TOKENS))?,
            shingle_tokens,
            weights: Weights::ALL.into_iter().find(|weights| Some(weights.name()) == value(WEIGHTS))?,
            min_features: value(MIN_FEATURES)?.parse().ok()?,
            hash: FeatureHash::ALL.into_iter().find(|hash| Some(hash.name()) == value(FEATURE_HASH))?,
            sets_ties: value(TIES)? == SET,
            source: Source { lines, sentences },
            wording,
            idf: None,
        };
        // Neither is a number that the other ways to make one take.
        if analyser.shingle_tokens == 0 || analyser.min_features == 0 {
            return None;
        }
        let Some(idf) = value(IDF) else { return Some(analyser) };
        let table = table(identity_of(idf)?)?;
        let fits = table.analyser() == Some(&*analyser.features_description());
        if fits { Some(Self { idf: Some(table), ..analyser }) } else { None }
    }
}

impl AnalyserDescription {
    fn value(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The feature that a build needs for such an analyser and that this one lacks.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        let tokens = self.value(TOKENS).unwrap_or_default();
        let has_words = self.value(STOP_WORDS).or(self.value(STEMS)).is_some();
        let needed = [
            ("icu", cfg!(feature = "icu"), tokens.starts_with("icu-")),
            ("jieba", cfg!(feature = "jieba"), tokens.starts_with("jieba-")),
            ("languages", cfg!(feature = "languages"), has_words),
        ];
        needed.into_iter().find(|&(_, is_there, is_needed)| is_needed && !is_there).map(|(name, ..)| name)
    }

    /// The identities of the tables of frequencies that the analyser looks into.
    pub(crate) fn tables(&self) -> impl Iterator<Item = u64> {
        let identities = [self.value(IDF), self.value(LINES).and_then(|lines| Some(lines.split_once('/')?.0))];
        identities.into_iter().flatten().filter_map(identity_of)
    }
}

fn identity_of(hex: &str) -> Option<u64> {
    u64::from_str_radix(hex, 16).ok()
}

/// The name, version and parameters, as a store keeps them.
impl fmt::Display for Analyser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

/// A Unicode version as text; the crates give theirs in different integers.
fn triple<A: fmt::Display, B: fmt::Display, C: fmt::Display>((major, minor, patch): (A, B, C)) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_leads_back_to_its_analyser() {
        let words = [1, 2, 7, u16::MAX].map(Analyser::new);
        let presets = Preset::ALL.map(Analyser::preset);
        let custom = [
            Analyser::characters(3).weights(Weights::Log),
            Analyser::default().shingle(4).min_features(9).without_diacritics(),
            Analyser::new(2).with_simplified_han(),
            Analyser::preset(Preset::Classic).without_diacritics(),
        ];
        for analyser in words.into_iter().chain(presets).chain(custom) {
            assert_eq!(Analyser::from_description(&analyser.describe(), &[]), Some(analyser));
        }
    }

    #[test]
    fn what_a_build_lacks_is_named() {
        let mut description = Analyser::default().describe();
        assert_eq!(description.lacks(), None);
        description.parameters.push((STEMS.to_owned(), "en/rust-stemmers-1.2.0".to_owned()));
        assert_eq!(description.lacks(), (!cfg!(feature = "languages")).then_some("languages"));
        let tokens = description.parameters.iter_mut().find(|(name, _)| name == TOKENS).unwrap();
        tokens.1 = "jieba-0.11.0".to_owned();
        assert!(cfg!(feature = "jieba") || description.lacks() == Some("jieba"));
        description.parameters.iter_mut().find(|(name, _)| name == TOKENS).unwrap().1 = "icu-dictionary-1".to_owned();
        assert!(cfg!(feature = "icu") || description.lacks() == Some("icu"));
        assert_eq!(Analyser::nearest(&description, &[]), None);
    }

    #[test]
    fn what_another_build_or_nobody_has_made_is_no_analyser() {
        for preset in Preset::ALL {
            let whole = Analyser::preset(preset).describe();
            for i in 0..whole.parameters.len() {
                let mut other = whole.clone();
                other.parameters[i].1 = "0.1.0".to_owned();
                assert_eq!(Analyser::from_description(&other, &[]), None, "{other}");
                other.parameters.remove(i);
                assert_eq!(Analyser::from_description(&other, &[]), None, "{other}");
            }
            let other = AnalyserDescription { version: 2, ..whole.clone() };
            assert_eq!(Analyser::from_description(&other, &[]), None, "{other}");
            let other = AnalyserDescription { name: "other".to_owned(), ..whole };
            assert_eq!(Analyser::from_description(&other, &[]), None, "{other}");
        }
    }

    /// The table of docs/format.md.
    #[test]
    fn presets_are_what_the_format_says() {
        let format = include_str!("../../docs/format.md");
        for preset in [Preset::Web, Preset::Short, Preset::Code, Preset::OneE0ng, Preset::Classic] {
            let description = Analyser::preset(preset).describe();
            assert_eq!(description.name, preset.name());
            let value = |name: &str| &description.parameters.iter().find(|(found, _)| found == name).unwrap().1;
            let parts = [LETTERS, HAN, TOKENS, SHINGLE_TOKENS, WEIGHTS].map(|name| value(name).as_str());
            let row = format!("| `{}` | {} |", preset.name(), parts.join(" | "));
            assert!(format.contains(&row), "{row}");
            let others = [FEATURE_HASH, DIACRITICS, MIN_FEATURES, TIES].map(|name| value(name).as_str());
            let expected = match preset {
                Preset::OneE0ng => ["md5-tail/1", KEPT, "1", UNSET],
                Preset::Classic => ["shift-multiply/1", KEPT, "1", SET],
                _ => ["xxh3-64/1", KEPT, "1", UNSET],
            };
            assert_eq!(others, expected);
        }
    }

    #[test]
    fn the_first_analyser_is_described_as_ever() {
        let description = Analyser::new(2).describe();
        let names: Vec<&str> = description.parameters.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "feature-hash",
            "shingle-tokens",
            "unicode-normalization",
            "unicode-case-folding",
            "unicode-segmentation",
            "unicode-script",
            "unicode-properties",
        ];
        assert_eq!((description.name.as_str(), description.version, names), ("words", 1, expected.to_vec()));
        assert_eq!(Analyser::preset(Preset::Words), Analyser::new(2));
        assert!(description.to_string().contains("unicode-normalization="), "{description}");
    }
}
