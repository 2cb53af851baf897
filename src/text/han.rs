//! Variant and traditional forms of Han characters, folded to the simplified ones.
//!
//! The table is made of the fields `kSimplifiedVariant`, `kZVariant` and `kSemanticVariant` of Unicode's Unihan database,
//! version 15.0.0 (© Unicode, Inc., under the Unicode License v3): 3,934 characters, each with the one that stands for
//! it. It folds one character at a time and knows no words, so 乾 is always 干: right for telling whether texts are
//! alike, and wrong for showing them.

use std::borrow::Cow;

/// The name and version of the table, kept in every store record that depends on it.
pub(super) const TABLE: &str = "unihan-15.0.0/1";

/// Lines of characters in pairs: one, and that which stands for it.
const PAIRS: &str = include_str!("han.txt");

const FIRST: u32 = 0x3400;
const LAST: u32 = 0x9fff;

/// The character that stands for each from `FIRST` to `LAST`, or 0.
static FOLDED: [u16; (LAST - FIRST + 1) as usize] = folded();

/// All characters of the table have three bytes in UTF-8.
#[expect(clippy::large_stack_arrays, reason = "it is filled when the crate is compiled")]
const fn folded() -> [u16; (LAST - FIRST + 1) as usize] {
    let (bytes, mut at) = (PAIRS.as_bytes(), 0);
    let mut folded = [0; (LAST - FIRST + 1) as usize];
    while at < bytes.len() {
        if bytes[at] == b'\n' {
            at += 1;
            continue;
        }
        folded[(character(bytes, at) as u32 - FIRST) as usize] = character(bytes, at + 3);
        at += 6;
    }
    folded
}

const fn character(bytes: &[u8], at: usize) -> u16 {
    (bytes[at] as u16 & 0x0f) << 12 | (bytes[at + 1] as u16 & 0x3f) << 6 | bytes[at + 2] as u16 & 0x3f
}

/// Folds every character of a text.
pub(super) fn fold(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.is_ascii() { text } else { Cow::Owned(text.chars().map(simplified).collect()) }
}

/// The character that stands for one.
pub(super) fn simplified(c: char) -> char {
    let Some(at) = u32::from(c).checked_sub(FIRST) else { return c };
    match FOLDED.get(at as usize) {
        None | Some(0) => c,
        Some(&folded) => char::from_u32(u32::from(folded)).expect("the table holds characters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traditional_and_variant_forms_become_simplified_ones() {
        let rows = [
            ("漢語開發後體臺灣", "汉语开发后体台湾"),
            ("說説裏裡為爲", "说说里里为为"),
            ("巖岩羣群峯峰", "岩岩群群峰峰"),
            ("软件 abc かな", "软件 abc かな"),
        ];
        for (from, to) in rows {
            assert_eq!(fold(Cow::Borrowed(from)), to);
        }
    }

    #[test]
    fn the_table_is_whole_and_folding_twice_changes_nothing() {
        assert_eq!(FOLDED.iter().filter(|&&to| to != 0).count(), 3934);
        assert_eq!(PAIRS.chars().filter(|&c| c != '\n').count(), 2 * 3934);
        for code in 0..0x1_1000 {
            let Some(c) = char::from_u32(code) else { continue };
            assert_eq!(simplified(simplified(c)), simplified(c), "{c}");
        }
    }
}
