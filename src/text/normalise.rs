//! Normalisation: what of a text is not to count is taken away before it is cut.

use std::borrow::Cow;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

use super::{han, simple};

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
            Self::Folded => {
                let mut folded = String::new();
                fold_into(text, false, &mut folded);
                Cow::Owned(folded)
            }
            Self::Composed => {
                let mut composed = String::new();
                by_parts(text, false, simple::composed, |part, to| to.extend(part.nfkc()), &mut composed);
                Cow::Owned(composed)
            }
            Self::Lower => Cow::Owned(text.to_lowercase()),
            Self::Kept => Cow::Borrowed(text),
        }
    }
}

/// NFKC, full case folding, NFKC: by the tables, character for character.
pub(super) fn folded(text: &str) -> impl Iterator<Item = char> {
    text.nfkc().default_case_fold().nfkc()
}

/// Appends what [`folded`] gives; on request with simplified forms of Han characters.
pub(super) fn fold_into(text: &str, simplifies_han: bool, to: &mut String) {
    let shown = |c: char| if simplifies_han { han::simplified(c) } else { c };
    by_parts(text, true, |c| simple::folded(c).map(shown), |part, to| to.extend(folded(part).map(shown)), to);
}

/// Normalises a text of which most characters normalise by themselves: those of ASCII, and those of which `simple` says what
/// they become. What stands between them goes through the tables, with the character before it, which it may become one
/// with.
fn by_parts(
    text: &str,
    folds: bool,
    simple: impl Fn(char) -> Option<char>,
    tables: impl Fn(&str, &mut String),
    to: &mut String,
) {
    to.reserve(text.len());
    let is_simple = |c: char| simple(c).is_some();
    // What went through the tables ends at `done`.
    let (mut at, mut done) = (0, 0);
    while at < text.len() {
        let ascii = ascii_prefix(&text.as_bytes()[at..]);
        if ascii > 0 {
            let from = to.len();
            to.push_str(&text[at..at + ascii]);
            if folds {
                to[from..].make_ascii_lowercase();
            }
            at += ascii;
        }
        for c in text[at..].chars().take_while(|c| !c.is_ascii()) {
            let Some(normal) = simple(c) else {
                let mut start = at;
                if let Some(last) = text[done..at].chars().next_back() {
                    start -= last.len_utf8();
                    to.pop();
                }
                let mut rest = text[at..].char_indices();
                let end = rest.find(|&(_, c)| c.is_ascii() || is_simple(c));
                at = end.map_or(text.len(), |(end, _)| at + end);
                done = at;
                tables(&text[start..at], to);
                break;
            };
            to.push(normal);
            at += c.len_utf8();
        }
    }
}

/// How many bytes are ASCII before the first that is not.
#[inline]
pub(super) fn ascii_prefix(bytes: &[u8]) -> usize {
    if bytes.first().is_none_or(|first| !first.is_ascii()) {
        return 0;
    }
    let (words, _) = bytes.as_chunks::<16>();
    let whole = words.iter().take_while(|word| word.is_ascii()).count() * 16;
    whole + bytes[whole..].iter().take_while(|byte| byte.is_ascii()).count()
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

    fn fold(text: &str, simplifies_han: bool) -> String {
        let mut to = "before".to_owned();
        fold_into(text, simplifies_han, &mut to);
        to.split_off("before".len())
    }

    /// Each between others that become one with what is beside them.
    #[test]
    fn any_character_normalises_as_the_tables_say() {
        for c in '\u{1}'..=char::MAX {
            let text = format!("{c}a{c}\u{301}A\u{323}{c}{c}\u{3099}か{c}ᄀ{c}각{c}é");
            assert_eq!(fold(&text, false), folded(&text).collect::<String>(), "{c:?}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]
        #[test]
        fn mixed_texts_normalise_as_the_tables_say(text in crate::text::tests::mixed()) {
            let long: String = folded(&text).collect();
            proptest::prop_assert_eq!(fold(&text, true), han::fold(Cow::Borrowed(&long)));
            proptest::prop_assert_eq!(Letters::Composed.normalise(&text), text.nfkc().collect::<String>());
            proptest::prop_assert_eq!(fold(&text, false), long);
        }
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
