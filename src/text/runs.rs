//! Words of stretches that need no tables: of ASCII and of letters that the rules treat like those of ASCII.
//!
//! The classes of 64 bytes become masks of 64 bits, in which the rules are shifts, and words are runs of ones.

use std::ops::Range;

use super::masks::{self, BLOCK, Way};
use crate::isa::Isa;

/// What joins the runs of letters, digits and `_` on both sides of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joins {
    /// One of `.':` between two letters, and one of `.',;` between two digits, as UAX #29 has it.
    Inside,
    /// Nothing.
    Nothing,
}

/// Room for the runs of some blocks, and for one that began before them.
pub(super) struct Runs {
    edges: Vec<usize>,
}

/// Blocks that are looked at together.
const BLOCKS: usize = 32;

impl Default for Runs {
    fn default() -> Self {
        Self { edges: vec![0; 1 + (BLOCKS + 1) * BLOCK] }
    }
}

impl Runs {
    /// Visits the start and the end of each run of a stretch that holds a letter or digit, many of them at once; bytes beyond
    /// ASCII are letters. Behind the stretch, there are as many more bytes as a block has.
    pub(super) fn of(
        &mut self,
        isa: Isa,
        padded: &[u8],
        stretch: Range<usize>,
        joins: Joins,
        mut visit: impl FnMut(&[[usize; 2]]),
    ) {
        let is_word =
            |&[start, end]: &[usize; 2]| padded[start] != b'_' || padded[start..end].iter().any(|&byte| byte != b'_');
        let mut way = Way::through(&stretch, joins == Joins::Inside);
        // Where a run starts and where one ends alternate. A run that goes on begins the next ones.
        let mut open = 0;
        while way.rest > 0 {
            let bytes = &padded[way.base..];
            let count = open + masks::words(isa, bytes, BLOCKS, &mut way, &mut self.edges[open..]);
            let (runs, _) = self.edges[..count].as_chunks_mut::<2>();
            let mut kept = runs.len();
            if way.has_underscore {
                kept = 0;
                for place in 0..runs.len() {
                    runs[kept] = runs[place];
                    kept += usize::from(is_word(&runs[kept]));
                }
            }
            visit(&runs[..kept]);
            open = count % 2;
            self.edges[0] = self.edges[count.saturating_sub(1)];
        }
    }
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    fn words(text: &str, isa: Isa) -> Vec<String> {
        let padded = format!("{text}{}", "z".repeat(BLOCK));
        let mut words = Vec::new();
        Runs::default().of(isa, padded.as_bytes(), 0..text.len(), Joins::Inside, |runs| {
            words.extend(runs.iter().map(|&[start, end]| padded[start..end].to_owned()));
        });
        words
    }

    /// Of all texts of up to 6 characters, of each kind that the rules tell apart.
    #[test]
    fn words_of_ascii_are_those_of_the_tables() {
        let kinds = b"aB1_.':,; -";
        for length in 0..=6u32 {
            for number in 0..kinds.len().pow(length) {
                let bytes = (0..length).map(|place| kinds[number / kinds.len().pow(place) % kinds.len()]);
                let text: String = bytes.map(char::from).collect();
                let found = words(&text, Isa::detected());
                assert!(text.unicode_words().eq(found.iter()), "{text:?} {found:?}");
            }
        }
        for byte in 0..128u8 {
            for text in [format!("a{0}b{0}1{0}2", char::from(byte)), format!("{0}a", char::from(byte))] {
                for isa in Isa::all() {
                    let found = words(&text, isa);
                    assert!(text.unicode_words().eq(found.iter()), "{text:?} {found:?}");
                }
            }
        }
    }

    #[test]
    fn words_go_on_from_block_to_block() {
        let length = BLOCKS * BLOCK;
        for (before, inside) in (length - 3..length + 3).flat_map(|n| [1, 2, 70, 5000].map(|m| (n, m))) {
            let text = format!("{}{}'x_ __ a", " ".repeat(before), "w".repeat(inside));
            for isa in Isa::all() {
                assert!(text.unicode_words().eq(words(&text, isa).iter()), "{isa:?} {before} {inside}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn words_across_blocks_are_those_of_the_tables(text in "[aB1_.':,; é\u{0}-\u{7f}-]{0,300}") {
            for isa in Isa::all() {
                let found = words(&text, isa);
                proptest::prop_assert!(text.unicode_words().eq(found.iter()), "{:?}", found);
            }
        }
    }
}
