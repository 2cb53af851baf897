//! What characters are to the rules.

use unicode_properties::{EmojiStatus, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

use super::normalise::is_ignored;

/// What a character is where no table is needed to tell; each is an extended grapheme cluster by itself, unless one of
/// `Other` is next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter of a script with spaces, which the rules of UAX #29 treat like those of ASCII.
    Letter,
    /// A letter of a script without spaces, which is a segment by itself.
    Single,
    /// Neither a letter nor a digit nor an emoji, and no part of any word.
    Mark,
    /// What the tables say.
    Other,
}

impl Class {
    /// Of a character beyond ASCII.
    pub(super) fn of(c: char) -> Self {
        match c {
            '\u{4e00}'..='\u{9fa5}' | '\u{3041}'..='\u{3096}' => Self::Single,
            '\u{c0}'..='\u{d6}'
            | '\u{d8}'..='\u{f6}'
            | '\u{f8}'..='\u{2af}'
            | '\u{388}'..='\u{38a}'
            | '\u{38e}'..='\u{3a1}'
            | '\u{3a3}'..='\u{3f5}'
            | '\u{3f7}'..='\u{481}'
            | '\u{48a}'..='\u{52f}'
            | '\u{620}'..='\u{64a}'
            | '\u{671}'..='\u{6d3}'
            | '\u{1e00}'..='\u{1eff}'
            | '\u{ac00}'..='\u{d7a3}' => Self::Letter,
            '\u{a7}'
            | '\u{ab}'
            | '\u{b0}'
            | '\u{bb}'
            | '\u{2010}'..='\u{2016}'
            | '\u{201a}'..='\u{2023}'
            | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}'
            | '\u{3014}'..='\u{301b}' => Self::Mark,
            _ => Self::Other,
        }
    }
}

/// How many bytes of a text, from its start on, are common Han characters that are [`Class::Single`] and not followed by one of
/// [`Class::Other`].
pub(super) fn singles(text: &str) -> usize {
    let threes = text.as_bytes().as_chunks::<3>().0;
    let is_han = |three: &&[u8; 3]| matches!(**three, [0xe4, 0xb8..=0xbf, _] | [0xe5..=0xe8, ..] | [0xe9, 0..=0xbd, _]);
    let count = threes.iter().take_while(is_han).count();
    let is_next_other = |c: char| !c.is_ascii() && Class::of(c) == Class::Other;
    let is_last_alone = !text[3 * count..].chars().next().is_some_and(is_next_other);
    if is_last_alone { 3 * count } else { 3 * count.saturating_sub(1) }
}

/// Whether a character makes a segment a token: a letter, a digit, or an emoji.
///
/// Older symbols such as `©` and `▪` are emoji only where a variation selector says so, and that is
/// ignored: they do not count.
pub(super) fn is_feature(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    match Class::of(c) {
        Class::Letter | Class::Single => true,
        Class::Mark => false,
        Class::Other => is_feature_by_tables(c),
    }
}

fn is_feature_by_tables(c: char) -> bool {
    match c.general_category_group() {
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => !is_ignored(c),
        GeneralCategoryGroup::Symbol => c.is_emoji_char() && (c >= '\u{1f000}' || is_shown_as_emoji(c)),
        _ => false,
    }
}

fn is_shown_as_emoji(c: char) -> bool {
    matches!(c.emoji_status(), EmojiStatus::EmojiPresentation | EmojiStatus::EmojiPresentationAndModifierBase)
}

pub(super) fn is_letter_or_number(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

pub(super) fn is_identifier(c: char) -> bool {
    c == '_' || is_letter_or_number(c) || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark)
}

pub(super) fn is_written_without_spaces(c: char) -> bool {
    match Class::of(c) {
        Class::Single => true,
        Class::Other => !c.is_ascii() && is_of_script_without_spaces(c),
        Class::Letter | Class::Mark => false,
    }
}

fn is_of_script_without_spaces(c: char) -> bool {
    matches!(
        c.script(),
        Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Bopomofo
            | Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar
            | Script::Tai_Le
            | Script::New_Tai_Lue
            | Script::Tai_Tham
            | Script::Tai_Viet
            | Script::Javanese
            | Script::Balinese
            | Script::Yi
            | Script::Tangut
            | Script::Nushu
            | Script::Khitan_Small_Script
    )
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    #[test]
    fn singles_are_common_han_characters() {
        for c in '\u{1}'..='\u{ffff}' {
            let is_common = ('\u{4e00}'..='\u{9f7f}').contains(&c);
            assert_eq!(singles(&format!("{c}")), if is_common { 3 } else { 0 }, "{c:?}");
            let behind = if is_common { 6 } else { 3 * usize::from(c.is_ascii() || Class::of(c) != Class::Other) };
            assert_eq!(singles(&format!("漢{c}")), behind, "{c:?}");
        }
    }

    /// Beside one of each kind that the rules tell apart, in front of it and behind.
    #[test]
    fn classes_say_what_the_tables_say() {
        let kinds = ["a", "1", "_", ".", ":", ",", "'", "\"", " ", "é", "漢", "カ", "א", "😀", "🇩", "한", "®"];
        let mut counts = [0; 3];
        for c in ('\u{80}'..='\u{ffff}').filter(|&c| Class::of(c) != Class::Other) {
            let class = Class::of(c);
            counts[class as usize] += 1;
            assert_eq!(is_feature_by_tables(c), class != Class::Mark, "{c:?}");
            assert_eq!(is_of_script_without_spaces(c), class == Class::Single, "{c:?}");
            assert!(!is_ignored(c), "{c:?}");
            for (before, behind) in kinds.iter().flat_map(|before| kinds.iter().map(move |behind| (before, behind))) {
                let text = format!("b{before}{c}{behind}b");
                let graphemes: Vec<&str> = text.graphemes(true).collect();
                assert!(graphemes.contains(&&*c.to_string()), "{text:?}");
                let (words, of_a) = (text.split_word_bounds(), text.replace(c, "a"));
                let lengths = |segments: &mut dyn Iterator<Item = &str>| -> Vec<usize> {
                    segments.map(|segment| segment.chars().count()).collect()
                };
                if class == Class::Letter {
                    assert_eq!(lengths(&mut words.into_iter()), lengths(&mut of_a.split_word_bounds()), "{text:?}");
                } else {
                    assert!(words.into_iter().any(|word| word == c.to_string()), "{text:?}");
                }
            }
        }
        assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
    }
}
