//! What is known of the words of languages.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::Lang;

use super::{Language, Wording, Words};
use crate::text::normalise::{Letters, without_diacritics};
use crate::text::tokens::Tokens;

/// The names and versions of what knows them, which are pinned; kept in the store record.
pub(in crate::text) const STOP_WORDS: &str = "nltk-of-stop-words-0.10.1";
pub(in crate::text) const STEMS: &str = "rust-stemmers-1.2.0";
const DETECTION: &str = "whatlang-0.18.0";

/// So much of the beginning of a text tells its language.
const DETECTION_BYTES: usize = 4096;

/// What a record says of words, the version of the detection included.
pub(in crate::text) fn described(words: Words, version: &str) -> String {
    match words {
        Words::Of(language) => format!("{}/{version}", language.code()),
        Words::Detected => format!("{}/{version}/{DETECTION}", super::DETECTED),
    }
}

impl Wording {
    /// Leaves out stop words and takes off endings, of the words of a text.
    pub(in crate::text) fn of(self, tokens: Tokens, text: &str, keeps_diacritics: bool) -> Tokens {
        if self == Self::default() {
            return tokens;
        }
        let is_detected = [self.stop_words, self.stems].contains(&Some(Words::Detected));
        let detected = if is_detected { detect(text) } else { None };
        let language = |words| match words {
            Words::Of(language) => Some(language),
            Words::Detected => detected,
        };
        let stop_words = self.stop_words.and_then(language).map(|language| stop_words(language, keeps_diacritics));
        let stemmer = self.stems.and_then(language).map(|language| Stemmer::create(algorithm(language)));
        tokens.filter_map(|word| {
            if stop_words.is_some_and(|words| words.contains(word)) {
                return None;
            }
            let stem = stemmer.as_ref().map_or(Cow::Borrowed(word), |stemmer| stemmer.stem(word));
            // The rules for Arabic leave nothing of a word of tatweels, which only lengthen others. An empty token would
            // make duplicates of all such texts.
            (!stem.is_empty()).then_some(stem)
        })
    }
}

/// The language of a text, where it is one of ours and beyond doubt.
fn detect(text: &str) -> Option<Language> {
    let mut end = text.len().min(DETECTION_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // White space is white space, whatever its kind.
    let text: String = text[..end].chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let found = whatlang::detect(&text)?;
    let known = Language::ALL.into_iter().find(|&language| lang(language) == found.lang());
    known.filter(|_| found.is_reliable())
}

/// The stop words of a language as tokens are: normalised, their case folded.
fn stop_words(language: Language, keeps_diacritics: bool) -> &'static HashSet<String> {
    static SETS: [OnceLock<HashSet<String>>; 2 * Language::ALL.len()] =
        [const { OnceLock::new() }; 2 * Language::ALL.len()];
    SETS[2 * language as usize + usize::from(keeps_diacritics)].get_or_init(|| {
        let words = stop_words::lookup(language.code()).expect("a list for each language");
        let normal = words.iter().map(|word| Letters::Folded.normalise(word));
        let normal = normal.map(|word| if keeps_diacritics { word } else { without_diacritics(word) });
        normal.map(Cow::into_owned).collect()
    })
}

fn algorithm(language: Language) -> Algorithm {
    match language {
        Language::Arabic => Algorithm::Arabic,
        Language::Danish => Algorithm::Danish,
        Language::Dutch => Algorithm::Dutch,
        Language::English => Algorithm::English,
        Language::Finnish => Algorithm::Finnish,
        Language::French => Algorithm::French,
        Language::German => Algorithm::German,
        Language::Greek => Algorithm::Greek,
        Language::Hungarian => Algorithm::Hungarian,
        Language::Italian => Algorithm::Italian,
        Language::Norwegian => Algorithm::Norwegian,
        Language::Portuguese => Algorithm::Portuguese,
        Language::Romanian => Algorithm::Romanian,
        Language::Russian => Algorithm::Russian,
        Language::Spanish => Algorithm::Spanish,
        Language::Swedish => Algorithm::Swedish,
        Language::Tamil => Algorithm::Tamil,
        Language::Turkish => Algorithm::Turkish,
    }
}

fn lang(language: Language) -> Lang {
    match language {
        Language::Arabic => Lang::Ara,
        Language::Danish => Lang::Dan,
        Language::Dutch => Lang::Nld,
        Language::English => Lang::Eng,
        Language::Finnish => Lang::Fin,
        Language::French => Lang::Fra,
        Language::German => Lang::Deu,
        Language::Greek => Lang::Ell,
        Language::Hungarian => Lang::Hun,
        Language::Italian => Lang::Ita,
        Language::Norwegian => Lang::Nob,
        Language::Portuguese => Lang::Por,
        Language::Romanian => Lang::Ron,
        Language::Russian => Lang::Rus,
        Language::Spanish => Lang::Spa,
        Language::Swedish => Lang::Swe,
        Language::Tamil => Lang::Tam,
        Language::Turkish => Lang::Tur,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::shingles;

    const ENGLISH: &str = "The museums of clocks are opening their doors again after three years of repairs. Visitors who \
         come on Sunday will find the great hall as it was when the building was finished, with the old pendulum in \
         its place. Everybody thought that the money would not be enough, but the city and its people have given \
         what was missing, and there is even something left for the garden behind the house.";
    const GERMAN: &str = "Die Museen der Uhren öffnen ihre Türen wieder, nachdem sie drei Jahre lang repariert wurden.";

    #[test]
    fn stop_words_go_and_endings_too() {
        let rows: [(&str, &str, &[&str]); 12] = [
            ("short+stop=en", "The cats don't run, THE END", &["cats", "run", "end"]),
            ("short+stem=en", "The cats running", &["the", "cat", "run"]),
            ("short+stop=en+stem=en", "The cats are running", &["cat", "run"]),
            ("web+stop=en", "The river and the sea", &["river sea"]),
            ("short+stem=de+stop=de", "Die Häuser und 漢語", &["haus", "汉 语"]),
            ("short+stop=fr+diacritics=remove", "il était là-bas", &["bas"]),
            ("web+stop=en", "The The", &[]),
            ("short+stem=ar", "ـ كتاب ــ", &["كتاب"]),
            ("web+stem=ar", "ـــ ـ", &[]),
            ("words+shingle=1+stem=ar", "ـ", &[]),
            ("chars:2+stem=ar", "ـaـbـ", &["ab"]),
            ("chars:2+stem=ar", "ـaé", &["aé"]),
        ];
        for (specification, text, expected) in rows {
            assert_eq!(shingles(specification, text), expected, "{specification}");
        }
    }

    #[test]
    fn the_language_of_a_text_is_found_or_nothing_is_done() {
        for (code, text) in [("en", ENGLISH), ("de", GERMAN)] {
            let of = |words: &str| shingles(&format!("short+stop={words}+stem={words}"), text);
            assert_eq!(of("auto"), of(code));
            assert_ne!(of("auto"), shingles("short", text));
        }
        for text in ["ok", "", "漢語開發", "42 42 42"] {
            assert_eq!(shingles("short+stop=auto+stem=auto", text), shingles("short", text), "{text}");
        }
        // Cut at a character.
        let long = "é".repeat(3000);
        assert_eq!(shingles("short+stem=auto", &long).len(), 1);
    }

    #[test]
    fn every_language_has_both() {
        for language in Language::ALL {
            assert!(stop_words(language, true).len() > 20, "{language:?}");
            let _ = Stemmer::create(algorithm(language)).stem("word");
            assert_eq!(Words::named(language.code()), Some(Words::Of(language)));
            let found = whatlang::Lang::all().iter().filter(|&&found| found == lang(language)).count();
            assert_eq!(found, 1);
        }
    }

    #[test]
    fn the_versions_are_those_that_are_built() {
        let lock = include_str!("../../../Cargo.lock");
        for named in [STOP_WORDS, STEMS, DETECTION] {
            let (name, version) = named.rsplit_once('-').unwrap();
            let name = name.strip_prefix("nltk-of-").unwrap_or(name);
            assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")), "{named}");
        }
    }
}
