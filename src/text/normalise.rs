//! Normalisation: what of a text is not to count is taken away before it is cut.

use std::borrow::Cow;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// What becomes of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Letters {
    /// NFKC, full case folding, NFKC again since folding can undo it.
    Folded,
    /// NFKC alone: the case counts.
    Composed,
    /// Lower case as Python and Rust make it, in no normal form.
    Lower,
    /// As they are.
    Kept,
}

impl Letters {
    pub(super) const ALL: [Self; 4] = [Self::Folded, Self::Composed, Self::Lower, Self::Kept];

    /// As the store record names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Folded => "nfkc-case-folded",
            Self::Composed => "nfkc",
            Self::Lower => "lower-case",
            Self::Kept => "kept",
        }
    }

    pub(super) fn normalise(self, text: &str) -> Cow<'_, str> {
        if text.is_ascii() {
            // ASCII is NFKC, and its case folding is its lower case.
            let is_lower = matches!(self, Self::Composed | Self::Kept);
            if is_lower || !text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                return Cow::Borrowed(text);
            }
            return Cow::Owned(text.to_ascii_lowercase());
        }
        match self {
            Self::Folded => Cow::Owned(text.nfkc().default_case_fold().nfkc().collect()),
            Self::Composed => Cow::Owned(text.nfkc().collect()),
            Self::Lower => Cow::Owned(text.to_lowercase()),
            Self::Kept => Cow::Borrowed(text),
        }
    }
}

/// Takes diacritics off letters: é becomes e, й becomes и, and Arabic loses its short vowels.
///
/// Only marks that many scripts share go, and the points of Hebrew. The vowel signs of Indic and other scripts are
/// letters by their use, and the voicing marks of kana make other syllables, so both stay.
pub(super) fn without_diacritics(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.is_ascii() {
        return text;
    }
    Cow::Owned(text.nfd().filter(|&c| !is_diacritic(c)).nfc().collect())
}

fn is_diacritic(c: char) -> bool {
    c.general_category() == GeneralCategory::NonspacingMark
        && matches!(c.script(), Script::Inherited | Script::Hebrew)
        && !matches!(c, '\u{3099}' | '\u{309a}')
        && !is_ignored(c)
}

/// Whether a character is ignored by default (Unicode's `Default_Ignorable_Code_Point`): soft hyphens,
/// joiners, variation selectors, byte order marks. They change how a word looks, not what it says.
pub(super) fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_for_ascii_gives_what_the_long_way_gives() {
        let ascii: String = (0..128u8).map(char::from).collect();
        let long: String = ascii.nfkc().default_case_fold().nfkc().collect();
        assert_eq!(Letters::Folded.normalise(&ascii), long);
        assert_eq!(Letters::Composed.normalise(&ascii), ascii.nfkc().collect::<String>());
        assert_eq!(Letters::Lower.normalise(&ascii), ascii.to_lowercase());
        assert_eq!(Letters::Kept.normalise(&ascii), ascii);
    }

    #[test]
    fn normalising_twice_changes_nothing() {
        for text in ["ΐ ΐ ŉ ǰ", "ﷺ", "ẞß", "İstanbul", "Å Å", "①½", "ᾳ\u{345}"] {
            for letters in Letters::ALL {
                let once = letters.normalise(text).into_owned();
                assert_eq!(letters.normalise(&once), once, "{text} {letters:?}");
            }
        }
    }

    #[test]
    fn diacritics_go_and_what_makes_other_letters_stays() {
        let rows = [
            ("café naïve Tiếng Việt", "cafe naive Tieng Viet"),
            ("Ελλάς", "Ελλας"),
            ("йод", "иод"),
            ("مُحَمَّد", "محمد"),
            ("שָׁלוֹם", "שלום"),
            ("हिन्दी", "हिन्दी"),
            ("がぎぐ パピプ", "がぎぐ パピプ"),
            ("한국어", "한국어"),
            ("ไทย กำลัง", "ไทย กำลัง"),
            ("ø ł ß", "ø ł ß"),
        ];
        for (from, to) in rows {
            assert_eq!(without_diacritics(Cow::Borrowed(from)), to, "{from}");
        }
    }
}
