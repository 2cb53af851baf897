//! Characters that normalise by themselves.

use std::sync::OnceLock;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfkc_quick};

use super::normalise;

/// Characters below are looked up, which are all that letters and marks with forms in common use are among.
const LOOKED_UP: usize = 0x3400;

/// Fullwidth and halfwidth forms.
const FORMS: usize = 0xff00;
const FORMS_END: usize = 0xfff0;

/// What each character becomes, 0 where that depends on its neighbours or is not one character.
fn table() -> &'static [u16] {
    static TABLE: OnceLock<Box<[u16]>> = OnceLock::new();
    TABLE.get_or_init(|| (0..LOOKED_UP).chain(FORMS..FORMS_END).map(entry).collect())
}

fn entry(code: usize) -> u16 {
    let c = u32::try_from(code).ok().and_then(char::from_u32);
    c.and_then(of_tables).and_then(|c| u16::try_from(u32::from(c)).ok()).unwrap_or(0)
}

/// The one character that a character becomes by [`normalise::folded`], where neither it nor what it becomes on the way has to do with
/// what stands before it.
///
/// Between two such characters a text can be cut, and its parts normalised by themselves; of the one that another
/// character follows, that one may become a part.
fn of_tables(c: char) -> Option<char> {
    let is_free = |c: char| canonical_combining_class(c) == 0 && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes;
    let only = |mut chars: &mut dyn Iterator<Item = char>| {
        let first = (&mut chars).next()?;
        (chars.next().is_none() && is_free(first)).then_some(first)
    };
    let composed = only(&mut unicode_normalization::UnicodeNormalization::nfkc(std::iter::once(c)))?;
    let to = only(&mut normalise::folded(&composed.to_string()))?;
    (canonical_combining_class(c) == 0).then_some(to)
}

/// The character that one becomes by [`normalise::folded`], where its neighbours have nothing to do with it.
#[inline]
pub(super) fn folded(c: char) -> Option<char> {
    if let Some(c) = composed(c) {
        return Some(c);
    }
    let code = c as usize;
    let at = match code {
        0..LOOKED_UP => code,
        FORMS..FORMS_END => code - FORMS + LOOKED_UP,
        _ => return None,
    };
    char::from_u32(u32::from(table()[at])).filter(|&to| to != '\0')
}

/// A character that is no letter with case, is in its composed form, and is so whatever its neighbours are: of Han
/// characters and Hangul those that are most common.
#[inline]
pub(super) fn composed(c: char) -> Option<char> {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}').then_some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_table_says_what_the_tables_say() {
        for c in ('\u{3400}'..='\u{d7ff}').filter(|&c| folded(c).is_some()) {
            assert_eq!(of_tables(c), Some(c), "{c:?}");
        }
        let rows = [('é', Some('é')), ('É', Some('é')), ('，', Some(',')), ('Ａ', Some('a')), ('\u{a0}', Some(' '))];
        for (c, to) in
            rows.into_iter().chain(['ß', '…', '\u{301}', '\u{3099}', 'İ', '\u{1161}', 'ﾞ', 'ﬁ'].map(|c| (c, None)))
        {
            assert_eq!(folded(c), to, "{c:?}");
        }
    }
}
