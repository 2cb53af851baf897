//! How large and how deeply nested a page is, before anything builds a tree of it.

use std::collections::HashMap;

use super::scan::{Piece, Scan, Tag};

/// Larger pages are not taken apart. The largest of the web are of some MB.
const MAX_BYTES: usize = 8 << 20;
/// More tags than any page for people has.
const MAX_TAGS: usize = 100_000;
/// A parser compares each attribute of a tag with all others of it.
const MAX_ATTRIBUTES: usize = 1_000;
/// The tag in which a page ends may have so many bytes: its attributes are not counted.
const MAX_UNFINISHED: usize = 10_000;
/// Browsers nest elements 512 deep at most.
const MAX_DEPTH: usize = 512;
/// A parser repeats elements of formatting that are open in each block that begins.
const MAX_REPEATED: usize = 500_000;
/// Where the tree is written as HTML, each `&`, and each character from U+0080 to U+00BF, has what is left of its text searched
/// for angle brackets: so many bytes are read in about half a second.
const MAX_SEARCHED: u64 = 10_000_000_000;

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

/// Elements that end a text wherever they may stand, but in a list of choices, or in a table outside of its cells: there tags
/// are dropped or moved, and the texts around them become one.
const SPLITTING: [&str; 24] = [
    "a",
    "article",
    "b",
    "blockquote",
    "br",
    "dd",
    "div",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "section",
    "span",
    "strong",
    "ul",
];

/// What of a page is searched when it is written: each text as often as it has characters that are written otherwise.
#[derive(Default)]
struct Searched {
    before: u64,
    length: u64,
    special: u64,
    is_in_cell: bool,
}

impl Searched {
    fn add(&mut self, text: &str) {
        self.length += text.len() as u64;
        self.special += special(text);
    }

    /// Takes note of a tag, which may end the text before it.
    fn tag(&mut self, tag: &Tag<'_>, name: &str, is_in_table: bool, is_in_select: bool) {
        match name {
            "td" | "th" | "caption" => self.is_in_cell = !tag.is_end,
            "table" | "tbody" | "tfoot" | "thead" | "tr" => self.is_in_cell = false,
            _ => {}
        }
        let splits = SPLITTING.binary_search(&name).is_ok() || matches!(name, "td" | "th" | "caption") && is_in_table;
        if splits && !tag.is_end && !is_in_select && (!is_in_table || self.is_in_cell) {
            *self = Self { before: self.bytes(), is_in_cell: self.is_in_cell, ..Self::default() };
        }
        self.before += special(tag.source).saturating_mul(tag.source.len() as u64);
    }

    fn bytes(&self) -> u64 {
        self.before.saturating_add(self.special.saturating_mul(self.length))
    }
}

fn special(text: &str) -> u64 {
    memchr::memchr2_iter(b'&', 0xc2, text.as_bytes()).count() as u64
}

/// Whether a tree of the page can be built, and searched, with little work.
pub(super) fn is_tame(html: &str) -> bool {
    if html.len() > MAX_BYTES {
        return false;
    }
    let mut open: HashMap<String, usize> = HashMap::new();
    let (mut tags, mut depth, mut formatting, mut repeated) = (0, 0usize, 0usize, 0usize);
    let (mut name, mut searched) = (String::new(), Searched::default());
    let mut scan = Scan::new(html);
    for piece in &mut scan {
        let tag = match piece {
            Piece::Tag(tag) => tag,
            Piece::Text(text) | Piece::Verbatim(text) => {
                searched.add(text);
                continue;
            }
        };
        name.clear();
        name.push_str(tag.name);
        name.make_ascii_lowercase();
        let is_in = |names: &[&str]| names.binary_search(&&name[..]).is_ok();
        let is_open = |name| open.get(name).is_some_and(|&count| count > 0);
        searched.tag(&tag, &name, is_open("table"), is_open("select"));
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
    searched.bytes() <= MAX_SEARCHED && scan.unfinished <= MAX_UNFINISHED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(SPLITTING.is_sorted() && VOID.is_sorted() && ENDED.is_sorted() && FORMATTING.is_sorted());
    }

    #[test]
    fn pages_are_tame_unless_something_is_beyond_measure() {
        let tame = [
            "<p>a<li>b<br><img>".repeat(5_000),
            "<div><b>x</b></div>".repeat(5_000),
            format!("{}x{}", "<div>".repeat(500), "</div>".repeat(500)),
            format!("<p {}>", "a=b ".repeat(900)),
            "Tea &amp; milk ".repeat(20_000),
            format!("<p>{}", "Tea &amp; milk ".repeat(100)).repeat(4_000),
            format!("<table>{}", format!("<tr><td>{}</td>", "\u{a0}&nbsp;".repeat(100)).repeat(9_000)),
            format!("<table>{}", "<tr><td>\u{a0}&nbsp;</td>\n<td><p>&nbsp;<p>".repeat(15_000)),
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
            format!("<p {}", "a=b ".repeat(3_000)),
            "&".repeat(110_000),
            "\u{b0}".repeat(110_000),
            format!("<p><a href=\"{}\">", "&a=b".repeat(60_000)),
            format!("<table>{}", format!("{}<p>", "&".repeat(100)).repeat(2_000)),
            format!("<select>{}", format!("{}<p>", "&".repeat(100)).repeat(2_000)),
            format!("<body>{}", format!("{}<body>", "&".repeat(100)).repeat(2_000)),
        ];
        for html in wild {
            assert!(!is_tame(&html), "{}", &html[..9]);
        }
    }
}
