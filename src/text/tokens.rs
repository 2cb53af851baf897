//! Tokens: words, identifiers, single characters.

#[cfg(feature = "languages")]
use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use super::character::{Class, is_feature, is_identifier, is_letter_or_number, singles};
use super::normalise::{ascii_prefix, is_ignored};
use super::runs::{Joins, Runs};
use super::scratch::Normal;
#[cfg(feature = "jieba")]
use super::words::by_tables;
use super::words::words;
use crate::isa::Isa;

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
    pub(super) fn cut(self, normal: &Normal, runs: &mut Runs, tokens: &mut Tokens) {
        let text = normal.text();
        tokens.clear(!matches!(self, Self::Characters | Self::WordCharacters));
        match self {
            Self::Words => words(normal, runs, tokens),
            Self::Characters => characters(text, tokens),
            Self::Identifiers => identifiers(normal, runs, tokens),
            Self::WordCharacters => {
                for (at, c) in text.char_indices().filter(|&(_, c)| c == '_' || is_letter_or_number(c)) {
                    tokens.push_as_it_is(&text[at..at + c.len_utf8()], false);
                }
            }
            Self::WhiteSpace => {
                for word in text.split_whitespace() {
                    tokens.push_as_it_is(word, false);
                }
            }
            #[cfg(feature = "icu")]
            Self::Icu => super::dictionary::icu_words(text, |segment| tokens.push_word(segment)),
            #[cfg(feature = "jieba")]
            Self::Jieba => super::dictionary::chinese_words(text, |run, is_word| {
                if is_word { tokens.push_word(run) } else { by_tables(run, tokens) }
            }),
        }
        tokens.end();
    }
}

/// Runs of letters, marks, numbers and `_`. Those with characters beyond ASCII are cut by the tables.
fn identifiers(normal: &Normal, runs: &mut Runs, tokens: &mut Tokens) {
    let (text, padded, isa) = (normal.text(), normal.padded(), Isa::detected());
    let bytes = text.as_bytes();
    let ends = |byte: &u8| byte.is_ascii() && *byte != b'_' && !byte.is_ascii_alphanumeric();
    let (mut from, mut at) = (0, 0);
    loop {
        at += ascii_prefix(&bytes[at..]);
        let start =
            if at == bytes.len() { at } else { bytes[from..at].iter().rposition(ends).map_or(from, |n| from + n) };
        runs.of(isa, padded, from..start, Joins::Nothing, |runs| tokens.push_slices(padded, runs));
        if at == bytes.len() {
            return;
        }
        let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |n| at + n);
        identifiers_by_tables(&text[start..end], tokens);
        (from, at) = (end, end);
    }
}

fn identifiers_by_tables(text: &str, tokens: &mut Tokens) {
    let runs = text.split(|c| !is_identifier(c));
    for run in runs.filter(|run| run.chars().any(|c| is_letter_or_number(c) && !is_ignored(c))) {
        tokens.push(run, false);
    }
}

/// Each extended grapheme cluster that holds a letter, a number or an emoji. Between two characters of which neither is
/// for the tables to tell, one ends.
fn characters(text: &str, tokens: &mut Tokens) {
    let is_simple = |c: char| c.is_ascii() || Class::of(c) != Class::Other;
    let mut at = 0;
    while at < text.len() {
        let ascii = ascii_prefix(&text.as_bytes()[at..]);
        // The last of them may be one with what follows.
        let alone = if at + ascii == text.len() { ascii } else { ascii.saturating_sub(1) };
        tokens.push_ascii_characters(&text.as_bytes()[at..at + alone]);
        at += alone;
        let singles = singles(&text[at..]);
        if singles > 0 {
            tokens.push_threes(&text[at..at + singles], false);
            at += singles;
            continue;
        }
        let mut rest = text[at..].char_indices().peekable();
        let Some((_, first)) = rest.next() else { break };
        let mut last_is_simple = is_simple(first);
        if last_is_simple && rest.peek().is_none_or(|&(_, next)| is_simple(next)) {
            let end = at + first.len_utf8();
            if is_feature(first) {
                tokens.push_as_it_is(&text[at..end], false);
            }
            at = end;
            continue;
        }
        let end = rest.find(|&(_, c)| {
            let ends = last_is_simple && is_simple(c);
            last_is_simple = is_simple(c);
            ends
        });
        // The first of the two is simple, and so is what stands before it, if it is the first.
        let end = end.map_or(text.len(), |(end, _)| at + end);
        for cluster in text[at..end].graphemes(true).filter(|cluster| cluster.chars().any(is_feature)) {
            tokens.push(cluster, false);
        }
        at = end;
    }
}

/// The tokens of a text, joined in one buffer, so that any window of them is a slice of it: characters as they are,
/// others by single spaces, which no token holds.
#[derive(Default)]
pub(super) struct Tokens {
    /// The tokens, each with a space behind it if they are spaced, and room for more.
    joined: Vec<u8>,
    used: usize,
    /// Where each token starts, and at last where the next one would; with `CHARACTER` if it is one of a script without
    /// spaces.
    starts: Vec<usize>,
    characters: usize,
    is_spaced: bool,
}

/// The bit that tells a character; no buffer is so long.
const CHARACTER: usize = 1 << (usize::BITS - 1);

/// Bytes that are copied at once, whatever the length of a token.
const COPIED: usize = 16;

impl Tokens {
    pub(super) fn clear(&mut self, is_spaced: bool) {
        self.starts.clear();
        (self.used, self.characters, self.is_spaced) = (0, 0, is_spaced);
    }

    pub(super) fn end(&mut self) {
        self.starts.push(self.used);
    }

    /// Adds a token without the characters that are ignored by default.
    pub(super) fn push(&mut self, token: &str, is_character: bool) {
        if token.is_ascii() || !token.chars().any(is_ignored) {
            self.push_as_it_is(token, is_character);
        } else {
            let shown: String = token.chars().filter(|&c| !is_ignored(c)).collect();
            self.push_as_it_is(&shown, is_character);
        }
    }

    /// Adds a token.
    pub(super) fn push_as_it_is(&mut self, token: &str, is_character: bool) {
        self.begin(token.len(), is_character);
        self.joined[self.used..self.used + token.len()].copy_from_slice(token.as_bytes());
        self.finish(token.len());
    }

    /// Adds tokens that are slices of a text, from their start to their end.
    pub(super) fn push_slices(&mut self, text: &[u8], slices: &[[usize; 2]]) {
        let (Some([first, _]), Some([_, last])) = (slices.first(), slices.last()) else { return };
        self.reserve(last - first + slices.len());
        self.starts.reserve(slices.len());
        let (joined, mut used, space) = (&mut self.joined[..], self.used, usize::from(self.is_spaced));
        self.starts.extend(slices.iter().map(|&[start, end]| {
            let (begun, length) = (used, end - start);
            let (from, to) = (&text[start..], &mut joined[used..]);
            match (from.first_chunk::<COPIED>(), to.first_chunk_mut()) {
                (Some(from), Some(to)) if length <= COPIED => *to = *from,
                _ => to[..length].copy_from_slice(&from[..length]),
            }
            joined[used + length] = b' ';
            used += length + space;
            begun
        }));
        self.used = used;
    }

    /// Adds characters of three bytes each, each as a token.
    pub(super) fn push_threes(&mut self, text: &str, are_characters: bool) {
        let threes = text.as_bytes().as_chunks::<3>().0;
        self.reserve(text.len() + threes.len());
        let (joined, mut used, space) = (&mut self.joined[..], self.used, usize::from(self.is_spaced));
        let flag = if are_characters { CHARACTER } else { 0 };
        self.starts.extend(threes.iter().map(|&[a, b, c]| {
            let start = used;
            *joined[used..].first_chunk_mut().expect("there is room for more") = [a, b, c, b' '];
            used += 3 + space;
            start | flag
        }));
        self.characters += if are_characters { threes.len() } else { 0 };
        self.used = used;
    }

    /// Adds the letters and digits, each as a token.
    fn push_ascii_characters(&mut self, ascii: &[u8]) {
        self.reserve(ascii.len());
        let (joined, mut used) = (&mut self.joined[..], self.used);
        for &byte in ascii {
            joined[used] = byte;
            used += usize::from(byte.is_ascii_alphanumeric());
        }
        self.starts.extend(self.used..used);
        self.used = used;
    }

    fn begin(&mut self, length: usize, is_character: bool) {
        self.reserve(length);
        self.starts.push(self.used | if is_character { CHARACTER } else { 0 });
        self.characters += usize::from(is_character);
    }

    fn finish(&mut self, length: usize) {
        self.used += length;
        if self.is_spaced {
            self.joined[self.used] = b' ';
            self.used += 1;
        }
    }

    /// Makes room for so many bytes, a space, and what is copied beyond them.
    #[inline]
    fn reserve(&mut self, length: usize) {
        let end = self.used + length + COPIED + 1;
        if self.joined.len() < end {
            self.joined.resize(2 * end, 0);
        }
    }

    /// The buffer in which windows are slices.
    pub(super) fn joined(&self) -> &[u8] {
        &self.joined[..self.used]
    }

    /// Whether each token is one byte, with nothing between them: none is empty.
    pub(super) fn are_bytes(&self) -> bool {
        !self.is_spaced && self.count() == self.used && self.characters == 0
    }

    /// The start of a token, and the end of another.
    fn slice(&self, first: usize, last: usize) -> (usize, usize) {
        (self.starts[first] & !CHARACTER, (self.starts[last + 1] & !CHARACTER) - usize::from(self.is_spaced))
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The slices of [`Tokens::windows`], where all windows have as many tokens; `None` where they have not.
    pub(super) fn windows_of_one_length(&self, length: usize) -> Option<impl ExactSizeIterator<Item = (usize, usize)>> {
        let count = self.count();
        let length = match self.characters {
            0 => length,
            all if all == count => 2,
            _ => return None,
        };
        let length = length.min(count).max(1);
        let ends = self.starts.get(length..).unwrap_or_default();
        let space = usize::from(self.is_spaced);
        let slices = self.starts.iter().zip(ends);
        Some(slices.map(move |(start, end)| (start & !CHARACTER, (end & !CHARACTER) - space)))
    }

    /// Visits the slices of [`Tokens::windows`].
    pub(super) fn slices(&self, length: usize, mut visit: impl FnMut(usize, usize)) {
        let mut any = false;
        let count = self.count();
        for (first, start) in self.starts[..count].iter().enumerate() {
            let length = if start & CHARACTER == 0 { length } else { 2 };
            if first + length <= count {
                let (start, end) = self.slice(first, first + length - 1);
                visit(start, end);
                any = true;
            }
        }
        if !any && count > 0 {
            let (start, end) = self.slice(0, count - 1);
            visit(start, end);
        }
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
        let mut tokens = Self::default();
        tokens.clear(self.is_spaced);
        for (place, start) in self.starts[..self.count()].iter().enumerate() {
            let (from, to) = self.slice(place, place);
            let token = std::str::from_utf8(&self.joined[from..to]).expect("tokens are texts");
            if let Some(token) = of(token) {
                tokens.push_as_it_is(&token, start & CHARACTER != 0);
            }
        }
        tokens.end();
        tokens
    }

    /// Visits every window of `length` tokens, or of 2 where the first of them is a character of a script without
    /// spaces, that lies within the text; where none does, all tokens at once, if there are any.
    pub(super) fn windows(&self, length: usize, mut visit: impl FnMut(&str)) {
        self.slices(length, |start, end| {
            visit(std::str::from_utf8(&self.joined[start..end]).expect("tokens are texts"));
        });
    }

    pub(super) fn bytes(&self) -> usize {
        self.joined.capacity() + size_of::<usize>() * self.starts.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::tests::{mixed, tokens};

    impl Tokens {
        /// All tokens, with whether they are characters of scripts without spaces.
        pub(crate) fn list(&self) -> Vec<(String, bool)> {
            let text = |place: usize| {
                let (start, end) = self.slice(place, place);
                String::from_utf8(self.joined[start..end].to_vec()).unwrap()
            };
            (0..self.count()).map(|place| (text(place), self.starts[place] & CHARACTER != 0)).collect()
        }
    }

    fn clusters(text: &str) -> Vec<(String, bool)> {
        tokens(text, |normal, _, tokens| {
            tokens.clear(false);
            for cluster in normal.text().graphemes(true).filter(|cluster| cluster.chars().any(is_feature)) {
                tokens.push(cluster, false);
            }
            tokens.end();
        })
    }

    fn cut(tokeniser: Tokeniser, text: &str) -> Vec<(String, bool)> {
        tokens(text, |normal, runs, tokens| tokeniser.cut(normal, runs, tokens))
    }

    #[test]
    fn any_character_beside_any_kind_is_the_cluster_of_the_tables() {
        let kinds =
            ["a", "1", " ", "\r", "\n", "é", "漢", "。", "カ", "\u{600}", "\u{301}", "\u{200d}", "😀", "🇩", "한"];
        for c in '\u{1}'..='\u{ffff}' {
            let text: String = kinds.iter().flat_map(|kind| [*kind, "\u{1}", kind]).collect();
            let text = text.replace('\u{1}', &c.to_string());
            assert_eq!(cut(Tokeniser::Characters, &text), clusters(&text), "{c:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn mixed_texts_have_the_clusters_of_the_tables(text in mixed()) {
            prop_assert_eq!(cut(Tokeniser::Characters, &text), clusters(&text));
        }

        #[test]
        fn mixed_texts_have_the_identifiers_of_the_tables(text in mixed()) {
            let expected = tokens(&text, |normal, _, tokens| {
                tokens.clear(true);
                identifiers_by_tables(normal.text(), tokens);
                tokens.end();
            });
            prop_assert_eq!(cut(Tokeniser::Identifiers, &text), expected);
        }

        #[test]
        fn slices_of_one_length_are_those_of_any(text in "([a-c]{1,20} ){0,6}|[漢字]{0,5}|[ab漢]{0,5}", length in 1usize..9) {
            tokens(&text, |normal, runs, tokens| {
                Tokeniser::Words.cut(normal, runs, tokens);
                let mut all = Vec::new();
                tokens.slices(length, |start, end| all.push((start, end)));
                match tokens.windows_of_one_length(length) {
                    Some(slices) => assert!(slices.eq(all), "{text:?}"),
                    None => assert!((1..tokens.count()).contains(&tokens.characters)),
                }
            });
        }
    }
}
