//! Stop words and stems, by language.

#[cfg(feature = "languages")]
mod known;

#[cfg(feature = "languages")]
pub(super) use known::{STEMS, STOP_WORDS, described};

/// A language whose stop words and stems are known.
///
/// Its name in specifications and store records is its code of ISO 639-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

impl Language {
    /// All of them, in the order of their English names.
    pub const ALL: [Self; 18] = [
        Self::Arabic,
        Self::Danish,
        Self::Dutch,
        Self::English,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Greek,
        Self::Hungarian,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
        Self::Tamil,
        Self::Turkish,
    ];

    /// Returns the code of ISO 639-1.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Arabic => "ar",
            Self::Danish => "da",
            Self::Dutch => "nl",
            Self::English => "en",
            Self::Finnish => "fi",
            Self::French => "fr",
            Self::German => "de",
            Self::Greek => "el",
            Self::Hungarian => "hu",
            Self::Italian => "it",
            Self::Norwegian => "no",
            Self::Portuguese => "pt",
            Self::Romanian => "ro",
            Self::Russian => "ru",
            Self::Spanish => "es",
            Self::Swedish => "sv",
            Self::Tamil => "ta",
            Self::Turkish => "tr",
        }
    }
}

/// Whose words are known: those of a language, or of the one that a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Words {
    Of(Language),
    Detected,
}

/// How specifications and store records name [`Words::Detected`].
const DETECTED: &str = "auto";

impl Words {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Of(language) => language.code(),
            Self::Detected => DETECTED,
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        let languages = Language::ALL.into_iter().map(Self::Of);
        languages.chain([Self::Detected]).find(|words| words.name() == name)
    }
}

/// What is done with words once a text is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Wording {
    /// Whose stop words are left out.
    pub(super) stop_words: Option<Words>,
    /// Whose endings are taken off.
    pub(super) stems: Option<Words>,
}
