//! Setting the parts of an analyser.

use std::sync::Arc;

#[cfg(feature = "languages")]
use super::language::{Language, Words};
#[cfg(any(feature = "icu", feature = "jieba"))]
use super::tokens::Tokeniser;
use super::{Analyser, Frequencies, Weights};

impl Analyser {
    /// Sets how many tokens a shingle has; 0 is taken as 1.
    #[must_use]
    pub fn shingle(mut self, tokens: u16) -> Self {
        self.shingle_tokens = tokens.max(1);
        self.fitting()
    }

    /// Sets how much a feature counts by how often it comes.
    #[must_use]
    pub fn weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }

    /// Sets how many distinct features a text needs, or it is too short to be compared; 0 is taken as 1, the default.
    #[must_use]
    pub fn min_features(mut self, features: u32) -> Self {
        self.min_features = features.max(1);
        self
    }

    /// Takes diacritics off letters: é counts as e, й as и. What makes another syllable, such as the vowel signs of
    /// Indic scripts and the voicing marks of kana, stays.
    #[must_use]
    pub fn without_diacritics(mut self) -> Self {
        self.diacritics = false;
        self.fitting()
    }

    /// Folds traditional and variant forms of Han characters to simplified ones.
    #[must_use]
    pub fn with_simplified_han(mut self) -> Self {
        self.simplifies_han = true;
        self.fitting()
    }

    /// Multiplies the weight of each feature by how rare it is, as a table of the features of this analyser says
    /// ([`Frequencies::weight`]), by whatever weights it was made.
    ///
    /// It fits texts that share much with many others, such as licences. [`FrequencyCounter`](crate::FrequencyCounter) makes
    /// tables, and a store keeps the one that it was created with.
    ///
    /// # Panics
    /// Where the table is of lines or of the features of another analyser, or a part is changed later that makes it
    /// another one.
    #[must_use]
    pub fn idf(mut self, table: Arc<Frequencies>) -> Self {
        self.idf = Some(table);
        self.fitting()
    }

    fn fitting(self) -> Self {
        if let Some(table) = &self.idf {
            assert_eq!(table.analyser(), Some(&*self.features_description()), "the table is of other features");
        }
        self
    }

    /// Leaves out the lines that more than so many documents have, as a table of lines says: menus and notices that come
    /// with every page of a site. The numbers of a table are exact up to 15, and above that to an eleventh.
    ///
    /// # Panics
    /// Where the table is of features.
    #[must_use]
    pub fn without_common_lines(mut self, table: Arc<Frequencies>, documents: u32) -> Self {
        assert!(table.is_of_lines(), "the table of frequencies is of features, not of lines");
        self.source.lines = Some((table, documents));
        self.fitting()
    }

    /// Takes the longest sentences of a text instead of all of it, so many of them, in the order of the text; 0 takes all.
    ///
    /// Templates and menus have short ones, articles long ones. Sentences are those of UAX #29, which end at the end of a
    /// line too, so it does not fit texts whose lines were broken to some width.
    ///
    /// ```
    /// use nearstone::Analyser;
    ///
    /// let mut shingles = Vec::new();
    /// let analyser = Analyser::default().longest_sentences(1);
    /// analyser.shingles("Home. The river has risen. Log in.", |shingle| shingles.push(shingle.to_owned()));
    /// assert_eq!(shingles, ["the river", "river has", "has risen"]);
    /// ```
    #[must_use]
    pub fn longest_sentences(mut self, count: u32) -> Self {
        self.source.sentences = count;
        self.fitting()
    }

    /// Leaves out the words that say least, such as *the* and *of*, of a language, or with `None` of the one that each text is
    /// in, where that is beyond doubt.
    ///
    /// A text of nothing else has no features. Near texts are nearly always taken to be in one language, but not always.
    #[cfg(feature = "languages")]
    #[must_use]
    pub fn without_stop_words(mut self, language: Option<Language>) -> Self {
        self.wording.stop_words = Some(language.map_or(Words::Detected, Words::Of));
        self.fitting()
    }

    /// Takes the endings off words by the rules of a language (Snowball), or with `None` of the one that each text is in:
    /// *run* and *running* count as the same.
    ///
    /// ```
    /// use nearstone::{Analyser, Language, Preset};
    ///
    /// let mut shingles = Vec::new();
    /// let analyser = Analyser::preset(Preset::Short).stemmed(Some(Language::English));
    /// analyser.shingles("Running cats", |shingle| shingles.push(shingle.to_owned()));
    /// assert_eq!(shingles, ["run", "cat"]);
    /// ```
    #[cfg(feature = "languages")]
    #[must_use]
    pub fn stemmed(mut self, language: Option<Language>) -> Self {
        self.wording.stems = Some(language.map_or(Words::Detected, Words::Of));
        self.fitting()
    }

    /// Cuts scripts that are written without spaces into words by the dictionaries of ICU, other texts as the
    /// default does.
    #[cfg(feature = "icu")]
    #[must_use]
    pub fn with_icu_words(mut self) -> Self {
        self.tokeniser = Tokeniser::Icu;
        self.fitting()
    }

    /// Cuts Han characters into words by the dictionary of jieba, other texts as the default does.
    #[cfg(feature = "jieba")]
    #[must_use]
    pub fn with_jieba_words(mut self) -> Self {
        self.tokeniser = Tokeniser::Jieba;
        self.fitting()
    }
}
