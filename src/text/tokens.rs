//! Tokens: words, identifiers, single characters.

#[cfg(feature = "languages")]
use std::borrow::Cow;

use unicode_properties::{EmojiStatus, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};
use unicode_segmentation::UnicodeSegmentation;

use super::normalise::is_ignored;

/// How a text is cut into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tokeniser {
    /// Words by UAX #29, and single characters of scripts that are written without spaces.
    Words,
    /// Single characters, extended grapheme clusters, that hold a letter, a number or an emoji.
    Characters,
    /// Runs of letters, marks, numbers and `_` that hold a letter or a number.
    Identifiers,
    /// Single code points that Python's `\w` matches: letters, numbers and `_`.
    WordCharacters,
    /// What is between white space.
    WhiteSpace,
    /// Words by UAX #29, and by the dictionaries of ICU in scripts that are written without spaces.
    #[cfg(feature = "icu")]
    Icu,
    /// As `Words`, but those of Han characters by the dictionary of jieba.
    #[cfg(feature = "jieba")]
    Jieba,
}

impl Tokeniser {
    pub(super) const ALL: &[Self] = &[
        Self::Words,
        Self::Characters,
        Self::Identifiers,
        Self::WordCharacters,
        Self::WhiteSpace,
        #[cfg(feature = "icu")]
        Self::Icu,
        #[cfg(feature = "jieba")]
        Self::Jieba,
    ];

    /// As the store record names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Characters => "characters",
            Self::Identifiers => "identifiers",
            Self::WordCharacters => "word-characters",
            Self::WhiteSpace => "white-space",
            #[cfg(feature = "icu")]
            Self::Icu => "icu-dictionary-2.4.0",
            #[cfg(feature = "jieba")]
            Self::Jieba => "jieba-0.11.0",
        }
    }

    /// Whether it cuts into words by UAX #29 and looks at scripts.
    pub(super) fn cuts_words(self) -> bool {
        #[cfg(feature = "jieba")]
        if self == Self::Jieba {
            return true;
        }
        self == Self::Words
    }

    /// Cuts a normalised text.
    pub(super) fn tokens(self, normal: &str) -> Tokens {
        let is_spaced = !matches!(self, Self::Characters | Self::WordCharacters);
        let mut tokens = Tokens { joined: String::with_capacity(normal.len()), spans: Vec::new(), is_spaced };
        match self {
            Self::Words => words(normal, &mut tokens),
            Self::Characters => {
                for cluster in normal.graphemes(true).filter(|cluster| cluster.chars().any(is_feature)) {
                    tokens.push(cluster, false);
                }
            }
            Self::Identifiers => {
                let runs = normal.split(|c| !is_identifier(c));
                for run in runs.filter(|run| run.chars().any(|c| is_letter_or_number(c) && !is_ignored(c))) {
                    tokens.push(run, false);
                }
            }
            Self::WordCharacters => {
                for (at, c) in normal.char_indices().filter(|&(_, c)| c == '_' || is_letter_or_number(c)) {
                    tokens.push_as_it_is(&normal[at..at + c.len_utf8()], false);
                }
            }
            Self::WhiteSpace => {
                for word in normal.split_whitespace() {
                    tokens.push_as_it_is(word, false);
                }
            }
            #[cfg(feature = "icu")]
            Self::Icu => super::dictionary::icu_words(normal, |segment| tokens.push_word(segment)),
            #[cfg(feature = "jieba")]
            Self::Jieba => super::dictionary::chinese_words(normal, |run, is_word| {
                if is_word { tokens.push_word(run) } else { words(run, &mut tokens) }
            }),
        }
        tokens
    }
}

fn words(normal: &str, tokens: &mut Tokens) {
    if normal.is_ascii() {
        ascii_words(normal, |word| tokens.push_as_it_is(word, false));
        return;
    }
    for segment in normal.split_word_bounds().filter(|segment| segment.chars().any(is_feature)) {
        if is_one_character(segment) {
            tokens.push(segment, segment.chars().any(is_written_without_spaces));
        } else if segment.chars().any(is_written_without_spaces) {
            for cluster in segment.graphemes(true).filter(|cluster| cluster.chars().any(is_feature)) {
                tokens.push(cluster, true);
            }
        } else {
            tokens.push(segment, false);
        }
    }
}

/// The words of an ASCII text by UAX #29: runs of letters, digits and `_` that hold a letter or digit. Such a run goes on
/// behind one of `.':` between two letters, and behind one of `.',;` between two digits.
fn ascii_words(text: &str, mut visit: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut at = 0;
    while at < bytes.len() {
        if !is_inside(bytes[at]) {
            at += 1;
            continue;
        }
        let (start, mut is_word) = (at, false);
        while at < bytes.len() {
            if is_inside(bytes[at]) {
                is_word |= bytes[at] != b'_';
                at += 1;
                continue;
            }
            let (before, after) = (bytes[at - 1], bytes.get(at + 1).copied().unwrap_or(b' '));
            let joins = match bytes[at] {
                b'.' | b'\'' => {
                    before.is_ascii_alphabetic() && after.is_ascii_alphabetic()
                        || before.is_ascii_digit() && after.is_ascii_digit()
                }
                b':' => before.is_ascii_alphabetic() && after.is_ascii_alphabetic(),
                b',' | b';' => before.is_ascii_digit() && after.is_ascii_digit(),
                _ => false,
            };
            if !joins {
                break;
            }
            at += 1;
        }
        if is_word {
            visit(&text[start..at]);
        }
    }
}

/// Whether a segment is one character, and so one cluster, as nearly all of Chinese are.
fn is_one_character(segment: &str) -> bool {
    segment.chars().nth(1).is_none()
}

/// The tokens of a text, joined in one buffer, so that any window of them is a slice of it: characters as they are,
/// others by single spaces, which no token holds.
pub(super) struct Tokens {
    joined: String,
    spans: Vec<Span>,
    is_spaced: bool,
}

struct Span {
    start: usize,
    end: usize,
    is_character: bool,
}

impl Tokens {
    /// Adds a token without the characters that are ignored by default.
    fn push(&mut self, token: &str, is_character: bool) {
        if token.is_ascii() || !token.chars().any(is_ignored) {
            self.push_as_it_is(token, is_character);
        } else {
            let shown: String = token.chars().filter(|&c| !is_ignored(c)).collect();
            self.push_as_it_is(&shown, is_character);
        }
    }

    fn push_as_it_is(&mut self, token: &str, is_character: bool) {
        if self.is_spaced && !self.joined.is_empty() {
            self.joined.push(' ');
        }
        let start = self.joined.len();
        self.joined.push_str(token);
        self.spans.push(Span { start, end: self.joined.len(), is_character });
    }

    /// Adds what is a word.
    #[cfg(any(feature = "icu", feature = "jieba"))]
    fn push_word(&mut self, segment: &str) {
        if segment.chars().any(is_feature) {
            self.push(segment, false);
        }
    }

    /// Makes another token of each one, or none.
    #[cfg(feature = "languages")]
    pub(super) fn filter_map<'a>(&'a self, of: impl Fn(&'a str) -> Option<Cow<'a, str>>) -> Self {
        let joined = String::with_capacity(self.joined.len());
        let mut tokens = Self { joined, spans: Vec::new(), is_spaced: self.is_spaced };
        for span in &self.spans {
            if let Some(token) = of(&self.joined[span.start..span.end]) {
                tokens.push_as_it_is(&token, span.is_character);
            }
        }
        tokens
    }

    /// Visits every window of `length` tokens, or of 2 where the first of them is a character of a script without
    /// spaces, that lies within the text; where none does, all tokens at once, if there are any.
    pub(super) fn windows(&self, length: usize, mut visit: impl FnMut(&str)) {
        let mut any = false;
        for (first, span) in self.spans.iter().enumerate() {
            let length = if span.is_character { 2 } else { length };
            if let Some(last) = self.spans.get(first + length - 1) {
                visit(&self.joined[span.start..last.end]);
                any = true;
            }
        }
        if !any && !self.spans.is_empty() {
            visit(&self.joined);
        }
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
    if is_han(c) {
        return true;
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

fn is_letter_or_number(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

fn is_identifier(c: char) -> bool {
    c == '_' || is_letter_or_number(c) || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark)
}

/// Whether a character is of the block of the common Han characters, all of which have been letters since long.
fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fa5}')
}

fn is_written_without_spaces(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    is_han(c)
        || matches!(
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
    use super::*;

    /// Of all texts of up to 6 characters, of each kind that the rules tell apart.
    #[test]
    fn the_short_way_for_ascii_gives_the_words_of_the_tables() {
        let kinds = b"aB1_.':,; -";
        for length in 0..=6u32 {
            for number in 0..kinds.len().pow(length) {
                let bytes = (0..length).map(|place| kinds[number / kinds.len().pow(place) % kinds.len()]);
                let text: String = bytes.map(char::from).collect();
                let mut words = Vec::new();
                ascii_words(&text, |word| words.push(word.to_owned()));
                assert!(text.unicode_words().eq(words.iter()), "{text:?} {words:?}");
            }
        }
        for byte in 0..128u8 {
            for text in [format!("a{0}b{0}1{0}2", char::from(byte)), format!("{0}a", char::from(byte))] {
                let mut words = Vec::new();
                ascii_words(&text, |word| words.push(word.to_owned()));
                assert!(text.unicode_words().eq(words.iter()), "{text:?} {words:?}");
            }
        }
    }

    #[test]
    fn the_short_way_for_han_says_what_the_tables_say() {
        for c in '\u{4e00}'..='\u{9fa5}' {
            assert_eq!((c.general_category_group(), c.script()), (GeneralCategoryGroup::Letter, Script::Han), "{c}");
            assert!(!is_ignored(c));
        }
    }
}
