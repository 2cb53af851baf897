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

    /// Every character of the first plane between any two kinds; of long stretches of like characters some.
    #[test]
    fn any_character_between_any_kinds_makes_the_words_of_the_tables() {
        const KINDS: [&str; 17] =
            ["a", "1", "_", ".", "'", "\"", " ", "é", "漢", "。", "カ", "א", "\u{301}", "\u{200d}", "😀", "🇩", "한"];
        // Each kind comes once behind each one, itself included.
        let behind_each_other = |i| (i + 1..KINDS.len()).flat_map(move |j| [i, j]);
        let order: Vec<usize> =
            (0..KINDS.len()).flat_map(|i| std::iter::once(i).chain(behind_each_other(i))).chain([0]).collect();
        let mut pairs: Vec<&[usize]> = order.windows(2).collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), KINDS.len() * KINDS.len());
        let many = ['\u{3400}'..='\u{4dbf}', '\u{4e00}'..='\u{9fff}', '\u{ac00}'..='\u{d7a3}', '\u{e000}'..='\u{f8ff}'];
        let is_one_of_many = |c: char| many.iter().any(|range| range.contains(&c)) && u32::from(c) % 64 != 0;
        for c in ('\u{1}'..='\u{ffff}').filter(|&c| !is_one_of_many(c)) {
            let mut text = String::new();
            for &kind in &order {
                text += KINDS[kind];
                text.push(c);
            }
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
