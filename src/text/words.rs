//! Words by UAX #29, and single characters of scripts that are written without spaces.

use unicode_segmentation::UnicodeSegmentation;

use super::character::{Class, is_feature, is_written_without_spaces, singles};
use super::normalise::ascii_prefix;
use super::runs::{Joins, Runs};
use super::scratch::Normal;
use super::tokens::Tokens;
use crate::isa::Isa;

/// Cuts a text.
///
/// 1. Before a run of control characters and spaces of ASCII a segment ends, and no rule looks across it; two spaces are one
///    segment, to which what follows may be appended.
/// 2. The same holds before a [`Class::Single`] or [`Class::Mark`], and behind it unless a character of [`Class::Other`]
///    follows, since only such a one may be appended to what is before it.
/// 3. Between these, ASCII and letters of [`Class::Letter`] are cut without tables, where no other character is among
///    them.
pub(super) fn words(normal: &Normal, runs: &mut Runs, tokens: &mut Tokens) {
    let (text, padded, isa) = (normal.text(), normal.padded(), Isa::detected());
    let mut stretch = |from: usize, to: usize, tokens: &mut Tokens| {
        if from < to {
            runs.of(isa, padded, from..to, Joins::Inside, |runs| tokens.push_slices(padded, runs));
        }
    };
    // What is before `from` is cut, and what is from there to `at` needs no tables.
    let (mut from, mut at) = (0, 0);
    loop {
        at += ascii_prefix(&text.as_bytes()[at..]);
        let singles = singles(&text[at..]);
        if singles > 0 {
            stretch(from, at, tokens);
            tokens.push_threes(&text[at..at + singles], true);
            (from, at) = (at + singles, at + singles);
            continue;
        }
        let mut rest = text[at..].chars();
        let Some(c) = rest.next() else { break };
        let behind = at + c.len_utf8();
        let mut start = at;
        match Class::of(c) {
            Class::Letter => {
                at = behind;
                continue;
            }
            class @ (Class::Single | Class::Mark) if !rest.next().is_some_and(is_other) => {
                stretch(from, at, tokens);
                if class == Class::Single {
                    tokens.push_as_it_is(&text[at..behind], true);
                }
                (from, at) = (behind, behind);
                continue;
            }
            Class::Single | Class::Mark => {}
            Class::Other => {
                let is_space = |byte: &u8| *byte <= b' ';
                let before = &text.as_bytes()[from..at];
                let words = before.iter().rposition(is_space).map_or(0, |place| place + 1);
                let spaces = before[..words].iter().rev().take_while(|byte| is_space(byte)).count();
                start = from + words - spaces;
            }
        }
        stretch(from, start, tokens);
        let mut last = c;
        let end = text[behind..].char_indices().find(|&(_, c)| {
            let ends = c <= ' ' && !last.is_whitespace() || !c.is_ascii() && Class::of(c) == Class::Single;
            last = c;
            ends
        });
        let end = end.map_or(text.len(), |(end, _)| behind + end);
        by_tables(&text[start..end], tokens);
        (from, at) = (end, end);
    }
    stretch(from, text.len(), tokens);
}

fn is_other(c: char) -> bool {
    !c.is_ascii() && Class::of(c) == Class::Other
}

/// The same by the tables alone.
pub(super) fn by_tables(text: &str, tokens: &mut Tokens) {
    for segment in text.split_word_bounds().filter(|segment| segment.chars().any(is_feature)) {
        if segment.chars().any(is_written_without_spaces) {
            for cluster in segment.graphemes(true).filter(|cluster| cluster.chars().any(is_feature)) {
                tokens.push(cluster, true);
            }
        } else {
            tokens.push(segment, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::tests::{mixed, tokens};
    use crate::text::tokens::Tokeniser;

    fn both(text: &str) -> [Vec<(String, bool)>; 2] {
        [tokens(text, |normal, runs, tokens| Tokeniser::Words.cut(normal, runs, tokens)), {
            tokens(text, |normal, _, tokens| {
                tokens.clear(true);
                by_tables(normal.text(), tokens);
                tokens.end();
            })
        }]
    }

    /// Every character of the first plane between two of each kind.
    #[test]
    fn any_character_beside_any_kind_makes_the_words_of_the_tables() {
        let kinds =
            ["a", "1", "_", ".", "'", "\"", " ", "é", "漢", "。", "カ", "א", "\u{301}", "\u{200d}", "😀", "🇩", "한"];
        for c in '\u{1}'..='\u{ffff}' {
            let text: String = kinds.iter().flat_map(|kind| [*kind, "\u{1}", kind]).collect();
            let text = text.replace('\u{1}', &c.to_string());
            let [found, expected] = both(&text);
            assert_eq!(found, expected, "{c:?}");
        }
    }

    /// A halfwidth mark is a letter, and is appended to the spaces before it, which are one segment.
    #[test]
    fn spaces_before_what_is_appended_stay_together() {
        for text in ["a  \u{ff9e}", "\u{2003} \u{ff9e}", "\u{ff9e}\u{2003}  \u{ff9e} b", "漢 \u{ff9e}", "\n \u{ff9e}"]
        {
            let [found, expected] = both(text);
            assert_eq!(found, expected, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn mixed_texts_have_the_words_of_the_tables(text in mixed()) {
            let [found, expected] = both(&text);
            prop_assert_eq!(found, expected);
        }
    }
}
