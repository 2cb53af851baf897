//! Tokens: words, and the single characters of scripts that are written without spaces.

use std::ops::RangeInclusive;

use unicode_properties::{EmojiStatus, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};
use unicode_segmentation::UnicodeSegmentation;

use super::normalise::is_ignored;

/// The tokens of a text, joined by single spaces in one buffer, so that any window of them is a slice
/// of it. No token holds a space.
pub(super) struct Tokens {
    joined: String,
    spans: Vec<Span>,
}

struct Span {
    start: usize,
    end: usize,
    is_character: bool,
}

impl Tokens {
    /// Tokenises a normalised text.
    pub(super) fn of(normal: &str) -> Self {
        let mut tokens = Self { joined: String::with_capacity(normal.len()), spans: Vec::new() };
        if normal.is_ascii() {
            for word in normal.unicode_words() {
                tokens.push(word, false);
            }
            return tokens;
        }
        for segment in normal.split_word_bounds().filter(|segment| segment.chars().any(is_feature)) {
            if segment.chars().any(is_written_without_spaces) {
                for cluster in segment.graphemes(true).filter(|cluster| cluster.chars().any(is_feature)) {
                    tokens.push(cluster, true);
                }
            } else {
                tokens.push(segment, false);
            }
        }
        tokens
    }

    fn push(&mut self, token: &str, is_character: bool) {
        if !self.joined.is_empty() {
            self.joined.push(' ');
        }
        let start = self.joined.len();
        if token.is_ascii() {
            self.joined.push_str(token);
        } else {
            self.joined.extend(token.chars().filter(|&c| !is_ignored(c)));
        }
        self.spans.push(Span { start, end: self.joined.len(), is_character });
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the token is a single character of a script that is written without spaces.
    pub(super) fn is_character(&self, token: usize) -> bool {
        self.spans[token].is_character
    }

    /// The tokens of a window, joined by spaces.
    pub(super) fn joined(&self, window: RangeInclusive<usize>) -> &str {
        &self.joined[self.spans[*window.start()].start..self.spans[*window.end()].end]
    }
}

/// Whether a character makes a segment a token: a letter, a digit, or an emoji.
///
/// Older symbols such as `©` and `▪` are emoji only where a variation selector says so, and that is
/// ignored: they do not count.
fn is_feature(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => !is_ignored(c),
        GeneralCategoryGroup::Symbol => c.is_emoji_char() && (c >= '\u{1f000}' || is_shown_as_emoji(c)),
        _ => false,
    }
}

fn is_shown_as_emoji(c: char) -> bool {
    matches!(c.emoji_status(), EmojiStatus::EmojiPresentation | EmojiStatus::EmojiPresentationAndModifierBase)
}

fn is_written_without_spaces(c: char) -> bool {
    !c.is_ascii()
        && matches!(
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
