//! How large and how deeply nested a page is, before anything builds a tree of it.

use std::collections::HashMap;

use super::scan::{Piece, Scan};

/// Larger pages are not taken apart. The largest of the web are of some MB.
const MAX_BYTES: usize = 8 << 20;
/// More tags than any page for people has.
const MAX_TAGS: usize = 100_000;
/// A parser compares each attribute of a tag with all others of it.
const MAX_ATTRIBUTES: usize = 1_000;
/// Browsers nest elements 512 deep at most.
const MAX_DEPTH: usize = 512;
/// A parser repeats elements of formatting that are open in each block that begins.
const MAX_REPEATED: usize = 500_000;

/// Elements without a content.
const VOID: [&str; 16] = [
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta",
    "source", "track", "wbr",
];

/// Elements that the next of their kind ends, so that many of them need not be deep.
const ENDED: [&str; 20] = [
    "body", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "param", "rb", "rp", "rt",
    "tbody", "td", "tfoot", "th", "thead", "tr",
];

/// Elements that a parser opens anew in the next block.
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Whether a tree of the page can be built, and searched, with little work.
pub(super) fn is_tame(html: &str) -> bool {
    if html.len() > MAX_BYTES {
        return false;
    }
    let mut open: HashMap<String, usize> = HashMap::new();
    let (mut tags, mut depth, mut formatting, mut repeated) = (0, 0usize, 0usize, 0usize);
    let mut name = String::new();
    for piece in Scan::new(html) {
        let Piece::Tag(tag) = piece else { continue };
        name.clear();
        name.push_str(tag.name);
        name.make_ascii_lowercase();
        let is_in = |names: &[&str]| names.binary_search(&&name[..]).is_ok();
        tags += 1;
        let is_formatting = is_in(&FORMATTING);
        if tag.is_end {
            if let Some(count) = open.get_mut(&name).filter(|count| **count > 0) {
                *count -= 1;
                depth -= 1;
                formatting -= usize::from(is_formatting);
            }
        } else {
            repeated += formatting;
            if !is_in(&VOID) && !is_in(&ENDED) {
                if let Some(count) = open.get_mut(&name) {
                    *count += 1;
                } else {
                    open.insert(name.clone(), 1);
                }
                depth += 1;
                formatting += usize::from(is_formatting);
            }
        }
        if tags > MAX_TAGS || tag.attributes > MAX_ATTRIBUTES || depth > MAX_DEPTH || repeated > MAX_REPEATED {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(VOID.is_sorted() && ENDED.is_sorted() && FORMATTING.is_sorted());
    }

    #[test]
    fn pages_are_tame_unless_something_is_beyond_measure() {
        let tame = [
            "<p>a<li>b<br><img>".repeat(5_000),
            "<div><b>x</b></div>".repeat(5_000),
            format!("{}x{}", "<div>".repeat(500), "</div>".repeat(500)),
            format!("<p {}>", "a=b ".repeat(900)),
        ];
        for html in tame {
            assert!(is_tame(&html), "{}", &html[..40]);
        }
        let wild = [
            "<div>".repeat(513),
            "<div></x>".repeat(513),
            "<p>".repeat(100_001),
            "x".repeat((8 << 20) + 1),
            format!("<p {}>", "a=b ".repeat(1_001)),
            format!("{}{}", "<b>".repeat(400), "<p>".repeat(2_000)),
        ];
        for html in wild {
            assert!(!is_tame(&html), "{}", &html[..9]);
        }
    }
}
