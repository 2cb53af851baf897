//! All visible text.

use super::scan::{Piece, Scan};

/// Elements that stand within a line, so that they end no word.
const INLINE: [&str; 38] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "nobr", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "var", "wbr",
];

/// Returns the text of a page without tags, comments, scripts and styles. Blocks are lines, and runs of blanks one
/// blank.
pub(super) fn visible(html: &str) -> String {
    let mut text = Text::default();
    for piece in Scan::new(html) {
        match piece {
            Piece::Text(piece) => text.push(&html_escape::decode_html_entities(piece)),
            Piece::Verbatim(piece) => text.push(piece),
            Piece::Tag(tag) => {
                let mut name = [0; 8];
                let is_inline = name.get_mut(..tag.name.len()).is_some_and(|name| {
                    name.copy_from_slice(tag.name.as_bytes());
                    name.make_ascii_lowercase();
                    INLINE.binary_search_by(|inline| inline.as_bytes().cmp(name)).is_ok()
                });
                text.is_line_over |= !is_inline;
            }
        }
    }
    text.out
}

/// A text with its blanks in order.
#[derive(Default)]
struct Text {
    out: String,
    is_word_over: bool,
    is_line_over: bool,
}

impl Text {
    fn push(&mut self, piece: &str) {
        self.is_word_over |= piece.starts_with(char::is_whitespace);
        for word in piece.split_whitespace() {
            if !self.out.is_empty() {
                if self.is_line_over {
                    self.out.push('\n');
                } else if self.is_word_over {
                    self.out.push(' ');
                }
            }
            self.out.push_str(word);
            (self.is_word_over, self.is_line_over) = (true, false);
        }
        self.is_word_over =
            if piece.trim().is_empty() { self.is_word_over } else { piece.ends_with(char::is_whitespace) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_elements_are_sorted() {
        assert!(INLINE.is_sorted() && INLINE.iter().all(|name| name.len() <= 8));
    }

    #[test]
    fn texts_of_pages() {
        let rows = [
            ("<p>one</p><p>two", "one\ntwo"),
            ("o<b>n</b>e <i> two</i>", "one two"),
            ("a<br>b<td>c", "a\nb\nc"),
            ("  a \n\t b&nbsp;&nbsp;c  ", "a b c"),
            ("&lt;b&gt; &amp; &#x41;&#66; &eacute; &unknown; &", "<b> & AB \u{e9} &unknown; &"),
            ("<title>T</title><script>s</script><noscript>n</noscript>", "T\nn"),
            ("a<SPAN>b</SPAN>c<Div>d", "abc\nd"),
            ("<![CDATA[&amp;]]>", "&amp;"),
            ("", ""),
            ("<p></p>", ""),
        ];
        for (html, text) in rows {
            assert_eq!(visible(html), text, "{html}");
        }
    }
}
