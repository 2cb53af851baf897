//! Analysers as people write them: `web`, `words+shingle=3`, `chars:3+weights=log`.

use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;

use super::language::Words;
use super::tokens::Tokeniser;
use super::{Analyser, Frequencies, Language, Preset, Weights};

/// Why a text does not name an analyser.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseAnalyserError(String);

/// A preset or `chars:N`, and after it any of `+shingle=N`, `+weights=binary|count|log`, `+min-features=N`,
/// `+diacritics=remove`, `+han=simplify` and `+sentences=N`; with the feature `languages` `+stop=LANGUAGE` and `+stem=LANGUAGE`, by its code of
/// ISO 639-1 or `auto`; with the features `icu` and `jieba` `+tokens=icu` and `+tokens=jieba`. None is given twice. What needs a table is for [`Analyser::with_tables`].
///
/// ```
/// use nearstone::{Analyser, Preset, Weights};
///
/// assert_eq!("web".parse(), Ok(Analyser::preset(Preset::Web)));
/// assert_eq!("words+shingle=3".parse(), Ok(Analyser::new(3)));
/// assert_eq!("chars:3+weights=log".parse(), Ok(Analyser::characters(3).weights(Weights::Log)));
/// let error = "wide".parse::<Analyser>().unwrap_err().to_string();
/// assert_eq!(error, "there is no analyser \"wide\": name one of web, short, code, words, 1e0ng, classic, or chars:N");
/// ```
impl FromStr for Analyser {
    type Err = ParseAnalyserError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::with_tables(text, &[])
    }
}

impl Analyser {
    /// Makes what [`Analyser::from_str`] does, and beside it `+weights=idf`, `count-idf` and `log-idf`, which multiply each weight
    /// by how rare the feature is ([`Analyser::idf`]), and `+common-lines=N` ([`Analyser::without_common_lines`]): each takes the table that
    /// fits.
    ///
    /// # Errors
    /// [`ParseAnalyserError`] where the text names no analyser, or none of the tables fits it.
    pub fn with_tables(text: &str, tables: &[Arc<Frequencies>]) -> Result<Self, ParseAnalyserError> {
        let mut parts = text.split('+');
        let first = parts.next().unwrap_or_default();
        let preset = Preset::ALL.into_iter().find(|preset| preset.name() == first);
        let mut analyser = match (preset, first.strip_prefix("chars:")) {
            (Some(preset), _) => Self::preset(preset),
            (None, Some(n)) => Self::characters(number(n, first)?),
            (None, None) => {
                let names = Preset::ALL.map(Preset::name).join(", ");
                return Err(ParseAnalyserError(format!(
                    "there is no analyser {first:?}: name one of {names}, or chars:N"
                )));
            }
        };
        let mut weighs_rarity = false;
        let mut given: Vec<&str> = Vec::new();
        for part in parts {
            let name = part.split_once('=').map_or(part, |(name, _)| name);
            if let Some(first) =
                given.iter().find(|given| given.split_once('=').is_some_and(|(first, _)| first == name))
            {
                return Err(ParseAnalyserError(format!("{part:?} comes after {first:?}: give {name} once")));
            }
            if name == "shingle" && preset.is_none() {
                return Err(ParseAnalyserError(format!(
                    "{part:?} comes after {first:?}, which says as much: give one of them"
                )));
            }
            given.push(part);
            if let Some(weights) = part.strip_prefix("weights=").and_then(rarity) {
                analyser = analyser.weights(weights);
                weighs_rarity = true;
            } else if let Some(n) = part.strip_prefix("common-lines=") {
                let table = tables.iter().find(|table| table.is_of_lines());
                let table = table
                    .ok_or_else(|| needs(part, "lines", "nearstone idf --lines and give it with --common-lines"))?;
                analyser = analyser.without_common_lines(Arc::clone(table), number(n, part)?);
            } else {
                analyser = analyser.with_part(part)?;
            }
        }
        // Other features need another table, so all other parts come first.
        if weighs_rarity {
            analyser.idf = Some(analyser.fitting_table(tables)?);
        }
        Ok(analyser)
    }

    fn fitting_table(&self, tables: &[Arc<Frequencies>]) -> Result<Arc<Frequencies>, ParseAnalyserError> {
        let features = self.features_description();
        if let Some(table) = tables.iter().find(|table| table.analyser() == Some(&*features)) {
            return Ok(Arc::clone(table));
        }
        let name = self.clone().weights(Weights::Binary).specification();
        match tables.iter().find_map(|table| table.analyser()) {
            None => Err(needs(
                "weights=idf",
                "the analyser's features",
                &format!("nearstone idf --analyser {name} and give it with --idf"),
            )),
            Some(other) => Err(ParseAnalyserError(format!(
                "the table is of the features of another analyser: it has {other}, where {features} is needed; make one \
                 with nearstone idf --analyser {name}"
            ))),
        }
    }
}

impl Analyser {
    /// Returns what [`Analyser::from_str`], or [`Analyser::with_tables`] with its tables, makes this analyser of.
    ///
    /// ```
    /// use nearstone::Analyser;
    ///
    /// assert_eq!(Analyser::default().shingle(3).min_features(5).specification(), "web+shingle=3+min-features=5");
    /// ```
    #[must_use]
    pub fn specification(&self) -> String {
        let presets = Preset::ALL.map(|preset| (preset.name().to_owned(), Self::preset(preset)));
        let characters = Self::characters(self.shingle_tokens);
        let bases = presets.into_iter().chain([(format!("chars:{}", self.shingle_tokens), characters)]);
        // The shortest way: a preset by its own name.
        let ways = bases.filter_map(|(name, base)| self.made_of(name, base));
        ways.min_by_key(|way| way.matches('+').count()).unwrap_or_else(|| self.to_string())
    }

    /// What the other parts are called after a base, if it can be changed to this analyser.
    fn made_of(&self, mut name: String, mut base: Self) -> Option<String> {
        if base.shingle_tokens != self.shingle_tokens {
            base.shingle_tokens = self.shingle_tokens;
            let _ = write!(name, "+shingle={}", self.shingle_tokens);
        }
        if let Some(table) = &self.idf {
            base.weights = self.weights;
            base.idf = Some(Arc::clone(table));
            let weights = RARITIES.into_iter().find(|(_, weights)| *weights == self.weights)?.0;
            let _ = write!(name, "+weights={weights}");
        } else if base.weights != self.weights {
            base = base.weights(self.weights);
            let _ = write!(name, "+weights={}", self.weights.name());
        }
        if base.min_features != self.min_features {
            base = base.min_features(self.min_features);
            let _ = write!(name, "+min-features={}", self.min_features);
        }
        if base.diacritics && !self.diacritics {
            base.diacritics = false;
            name += "+diacritics=remove";
        }
        if !base.simplifies_han && self.simplifies_han {
            base.simplifies_han = true;
            name += "+han=simplify";
        }
        if let Some((table, documents)) = &self.source.lines {
            base.source.lines = Some((Arc::clone(table), *documents));
            let _ = write!(name, "+common-lines={documents}");
        }
        let tokens = [
            #[cfg(feature = "icu")]
            (Tokeniser::Icu, "icu"),
            #[cfg(feature = "jieba")]
            (Tokeniser::Jieba, "jieba"),
        ];
        if let Some((tokeniser, of)) =
            tokens.into_iter().find(|(tokeniser, _): &(Tokeniser, &str)| *tokeniser == self.tokeniser)
        {
            base.tokeniser = tokeniser;
            let _ = write!(name, "+tokens={of}");
        }
        for (kind, words) in [("stop", self.wording.stop_words), ("stem", self.wording.stems)] {
            if let Some(words) = words {
                let _ = write!(name, "+{kind}={}", words.name());
            }
        }
        base.wording = self.wording;
        if self.source.sentences > 0 {
            base.source.sentences = self.source.sentences;
            let _ = write!(name, "+sentences={}", self.source.sentences);
        }
        (base == *self).then_some(name)
    }

    fn with_words(mut self, kind: &str, words: Words, part: &str) -> Result<Self, ParseAnalyserError> {
        if !cfg!(feature = "languages") {
            return Err(lacking(part, "languages"));
        }
        let of = if kind == "stop" { &mut self.wording.stop_words } else { &mut self.wording.stems };
        *of = Some(words);
        Ok(self)
    }

    fn with_part(self, part: &str) -> Result<Self, ParseAnalyserError> {
        Ok(match part.split_once('=') {
            Some(("shingle", n)) => self.shingle(number(n, part)?),
            Some(("min-features", n)) => self.min_features(number(n, part)?),
            Some(("weights", name)) => {
                let weights = Weights::ALL.into_iter().find(|weights| weights.name() == name);
                self.weights(weights.ok_or_else(|| unknown(part))?)
            }
            Some(("diacritics", "remove")) => self.without_diacritics(),
            Some(("han", "simplify")) => self.with_simplified_han(),
            Some(("tokens", name)) => match name {
                #[cfg(feature = "icu")]
                "icu" => self.with_icu_words(),
                #[cfg(feature = "jieba")]
                "jieba" => self.with_jieba_words(),
                #[cfg(not(feature = "icu"))]
                "icu" => return Err(lacking(part, name)),
                #[cfg(not(feature = "jieba"))]
                "jieba" => return Err(lacking(part, name)),
                _ => return Err(unknown(part)),
            },
            Some((kind @ ("stop" | "stem"), name)) => {
                let words = Words::named(name).ok_or_else(|| {
                    let codes = Language::ALL.map(Language::code).join(", ");
                    ParseAnalyserError(format!("{part:?} names no language: name one of {codes}, or auto"))
                })?;
                self.with_words(kind, words, part)?
            }
            Some(("sentences", n)) => self.longest_sentences(number(n, part)?),
            _ => return Err(unknown(part)),
        })
    }
}

/// The names of weights that are multiplied by how rare a feature is.
const RARITIES: [(&str, Weights); 3] =
    [("idf", Weights::Binary), ("count-idf", Weights::Count), ("log-idf", Weights::Log)];

fn rarity(name: &str) -> Option<Weights> {
    RARITIES.into_iter().find(|(found, _)| *found == name).map(|(_, weights)| weights)
}

fn needs(part: &str, what: &str, command: &str) -> ParseAnalyserError {
    ParseAnalyserError(format!("{part:?} needs a table of the frequencies of {what}: make one with {command}"))
}

fn lacking(part: &str, feature: &str) -> ParseAnalyserError {
    ParseAnalyserError(format!("{part:?} needs a build with the feature {feature}, which this one lacks"))
}

fn unknown(part: &str) -> ParseAnalyserError {
    ParseAnalyserError(format!(
        "an analyser has no part {part:?}: give shingle=N, weights=binary, count, log, idf, count-idf or log-idf, \
         min-features=N, diacritics=remove, han=simplify, common-lines=N, sentences=N, stop=LANGUAGE, stem=LANGUAGE, \
         tokens=icu or tokens=jieba"
    ))
}

fn number<N: FromStr + PartialEq + Default>(text: &str, part: &str) -> Result<N, ParseAnalyserError> {
    let number = text.parse().ok().filter(|number| *number != N::default());
    number.ok_or_else(|| ParseAnalyserError(format!("{part:?} needs a number of at least 1")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrequencyCounter;

    #[test]
    fn parts_with_tables_take_those_that_fit() {
        let features = |analyser: &Analyser| {
            let mut counter = FrequencyCounter::of_features(analyser);
            (0..2).for_each(|_| counter.add(analyser.distinct_features("a b c d e")).unwrap());
            Arc::new(counter.finish().unwrap())
        };
        let lines = || {
            let mut counter = FrequencyCounter::of_lines();
            (0..2).for_each(|_| counter.add(Frequencies::lines_of("a\nb")).unwrap());
            Arc::new(counter.finish().unwrap())
        };
        let web = Analyser::default();
        let three = web.clone().shingle(3);
        let without = web.clone().without_common_lines(lines(), 7);
        let tables = [lines(), features(&web), features(&three), features(&without)];
        let rows = [
            ("web+weights=idf", web.clone().idf(features(&web))),
            ("web+weights=log-idf", web.clone().weights(Weights::Log).idf(features(&web))),
            ("web+weights=idf+shingle=3", three.clone().idf(features(&three))),
            ("web+common-lines=7", without.clone()),
            ("web+weights=idf+common-lines=7", without.clone().idf(features(&without))),
            ("words+weights=count-idf+han=simplify", web.clone().weights(Weights::Count).idf(features(&web))),
        ];
        for (text, analyser) in rows {
            assert_eq!(Analyser::with_tables(text, &tables), Ok(analyser.clone()), "{text}");
            let specification = analyser.specification();
            assert_eq!(Analyser::with_tables(&specification, &tables), Ok(analyser.clone()), "{specification}");
            let description = analyser.describe();
            assert_eq!(Analyser::from_description(&description, &tables), Some(analyser), "{description}");
            let named: Vec<u64> = description.tables().collect();
            assert!(!named.is_empty() && named.iter().all(|id| tables.iter().any(|table| table.identity() == *id)));
            assert_eq!(Analyser::from_description(&description, &[]), None);
        }
        let error =
            |text: &str, tables: &[Arc<Frequencies>]| Analyser::with_tables(text, tables).unwrap_err().to_string();
        assert!(error("web+weights=idf+shingle=4", &tables).contains("nearstone idf --analyser web+shingle=4"));
        assert!(error("web+weights=idf", &[lines()]).contains("needs a table"));
        assert!(error("web+common-lines=2", &[features(&web)]).contains("nearstone idf --lines"));
        assert!(error("web+common-lines=0", &tables).contains("at least 1"));
    }

    #[test]
    #[should_panic(expected = "other features")]
    fn a_table_of_other_features_is_no_weight() {
        let table = FrequencyCounter::of_features(&Analyser::default()).finish().unwrap();
        let _ = Analyser::default().idf(table.into()).shingle(3);
    }

    #[test]
    fn every_part_can_be_set() {
        let web = Analyser::default();
        let rows = [
            ("web+shingle=3", web.clone().shingle(3)),
            ("web+weights=count+min-features=5", web.clone().weights(Weights::Count).min_features(5)),
            ("web+diacritics=remove", web.without_diacritics()),
            ("words+han=simplify", Analyser::new(2).with_simplified_han()),
            #[cfg(feature = "languages")]
            ("web+stop=en+stem=auto", Analyser::default().without_stop_words(Some(Language::English)).stemmed(None)),
            #[cfg(feature = "icu")]
            ("web+tokens=icu", Analyser::default().with_icu_words()),
            #[cfg(feature = "jieba")]
            ("web+shingle=1+tokens=jieba", Analyser::default().with_jieba_words().shingle(1)),
            ("web+sentences=5", Analyser::default().longest_sentences(5)),
            ("words", Analyser::new(2)),
            ("chars:2", Analyser::characters(2)),
            ("short", Analyser::preset(Preset::Short)),
            ("1e0ng", Analyser::preset(Preset::OneE0ng)),
        ];
        for (text, analyser) in rows {
            assert_eq!(Analyser::from_description(&analyser.describe(), &[]), Some(analyser.clone()), "{text}");
            assert_eq!(text.parse(), Ok(analyser.clone()), "{text}");
            let specification = analyser.specification();
            assert!(specification.len() <= text.len(), "{specification} for {text}");
            assert_eq!(specification.parse(), Ok(analyser), "{text}");
        }
        for text in ["", "Web", "web ", "chars", "chars:", "chars:0", "chars:x", "web+", "web+shingle", "web+shingle=0"]
        {
            assert!(text.parse::<Analyser>().is_err(), "{text}");
        }
        for (text, twice) in [
            ("web+shingle=1+shingle=2", "\"shingle=2\" comes after \"shingle=1\": give shingle once"),
            (
                "web+weights=log+han=simplify+weights=idf",
                "\"weights=idf\" comes after \"weights=log\": give weights once",
            ),
            ("web+weights=idf+weights=idf", "give weights once"),
            ("web+diacritics=remove+diacritics=remove", "give diacritics once"),
            ("chars:3+shingle=4", "\"shingle=4\" comes after \"chars:3\", which says as much: give one of them"),
        ] {
            let error = text.parse::<Analyser>().unwrap_err().to_string();
            assert!(error.contains(twice), "{text}: {error}");
        }
        for text in [
            "web+weights=idf",
            "web+shingle=65536",
            "web+han=keep",
            "web+min-features=-1",
            "+shingle=2",
            "web+stem=xx",
            "web+tokens=words",
        ] {
            assert!(text.parse::<Analyser>().is_err(), "{text}");
        }
    }
}
