//! Normalisation: NFKC and full case folding.

use std::borrow::Cow;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

/// Returns the text in NFKC, case-folded in full, in NFKC again since folding can undo it.
pub(super) fn normalise(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        // ASCII is NFKC, and its case folding is its lower case.
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(text.to_ascii_lowercase());
        }
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().default_case_fold().nfkc().collect())
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
        assert_eq!(normalise(&ascii), long);
    }

    #[test]
    fn normalising_twice_changes_nothing() {
        for text in ["ΐ ΐ ŉ ǰ", "ﷺ", "ẞß", "İstanbul", "Å Å", "①½", "ᾳ\u{345}"] {
            let once = normalise(text).into_owned();
            assert_eq!(normalise(&once), once, "{text}");
        }
    }
}
