//! HTML cut into texts and tags, in one pass and without a tree, whatever is wrong with it.

/// A piece of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text as it stands there, with its references.
    Text(&'a str),
    /// Text of XML in which nothing has a meaning.
    Verbatim(&'a str),
    Tag(Tag<'a>),
}

/// A tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// The name, in its own case.
    pub(super) name: &'a str,
    pub(super) is_end: bool,
    pub(super) is_empty: bool,
    /// How many attributes it has, or more.
    pub(super) attributes: usize,
    /// All of it, from one angle bracket to the other.
    pub(super) source: &'a str,
}

/// Elements whose content is nothing to read.
const UNREAD: [&str; 5] = ["script", "style", "iframe", "noembed", "noframes"];

/// The pieces of a page, in their order.
///
/// Searches that come to nothing are not made again, so the time grows with the length of the page.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    html: &'a str,
    at: usize,
    /// There is no end of a comment any more; those that are open end with their first angle bracket.
    are_comments_open: bool,
    /// A quotation mark in a tag was not closed; from there on tags end with their first angle bracket.
    are_quotes_open: bool,
    /// How long the tag is in which the page ends, if it does.
    pub(super) unfinished: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { html, at: 0, are_comments_open: false, are_quotes_open: false, unfinished: 0 }
    }

    fn bytes(&self) -> &'a [u8] {
        self.html.as_bytes()
    }

    /// Returns what stands between here and there, and goes there.
    fn take(&mut self, end: usize) -> &'a str {
        let piece = &self.html[self.at..end];
        self.at = end;
        piece
    }

    fn position_of(&self, what: &[u8], from: usize) -> Option<usize> {
        memchr::memmem::find(self.bytes().get(from..)?, what).map(|at| from + at)
    }

    /// Passes over what ends with an angle bracket, or with the page.
    fn skip_declaration(&mut self) {
        self.at = memchr::memchr(b'>', &self.bytes()[self.at..]).map_or(self.html.len(), |end| self.at + end + 1);
    }

    fn skip_comment(&mut self) {
        let end = if self.are_comments_open { None } else { self.position_of(b"--", self.at + 2) };
        // An empty comment may lack its own dashes: `<!-->`.
        let mut end = end;
        while let Some(at) = end {
            match self.bytes().get(at + 2..) {
                Some([b'>', ..]) => return self.at = at + 3,
                Some([b'!', b'>', ..]) => return self.at = at + 4,
                _ => end = self.position_of(b"--", at + 1),
            }
        }
        self.are_comments_open = true;
        self.skip_declaration();
    }

    fn tag(&mut self, is_end: bool) -> Option<Tag<'a>> {
        let bytes = self.bytes();
        let begin = self.at + 1 + usize::from(is_end);
        let is_of_name = |byte: &u8| !byte.is_ascii_whitespace() && *byte != b'/' && *byte != b'>';
        let length = bytes[begin..].iter().take_while(|byte| is_of_name(byte)).count();
        let name = &self.html[begin..begin + length];
        let attributes = if self.are_quotes_open { None } else { Attributes::scan(bytes, begin + length) };
        let attributes = attributes.or_else(|| {
            self.are_quotes_open = true;
            let count = memchr::memchr(b'>', &bytes[begin + length..])?;
            Some(Attributes { end: begin + length + count, count })
        });
        let Some(Attributes { end, count }) = attributes else {
            self.unfinished = bytes.len() - self.at;
            self.at = bytes.len();
            return None;
        };
        let source = self.take(end + 1);
        Some(Tag { name, is_end, is_empty: bytes[end - 1] == b'/', attributes: count, source })
    }

    /// Passes over the content of an element that is nothing to read.
    fn skip_content(&mut self, name: &str) {
        while let Some(at) = self.position_of(b"</", self.at) {
            self.at = at;
            let behind = &self.bytes()[at + 2..];
            if behind.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
                return;
            }
            self.at += 2;
        }
        self.at = self.html.len();
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let rest = &self.bytes()[self.at..];
            if rest.is_empty() {
                return None;
            }
            if rest[0] != b'<' {
                let end = memchr::memchr(b'<', rest).map_or(self.html.len(), |end| self.at + end);
                return Some(Piece::Text(self.take(end)));
            }
            match rest {
                [_, first, ..] if first.is_ascii_alphabetic() => {
                    let Some(tag) = self.tag(false) else { continue };
                    if UNREAD.iter().any(|name| name.eq_ignore_ascii_case(tag.name)) {
                        self.skip_content(tag.name);
                    }
                    return Some(Piece::Tag(tag));
                }
                [_, b'/', first, ..] if first.is_ascii_alphabetic() => {
                    let Some(tag) = self.tag(true) else { continue };
                    return Some(Piece::Tag(tag));
                }
                [_, b'!', b'-', b'-', ..] => self.skip_comment(),
                _ if rest.starts_with(b"<![CDATA[") => {
                    self.at += 9;
                    let end = self.position_of(b"]]>", self.at);
                    let text = self.take(end.unwrap_or(self.html.len()));
                    self.at += if end.is_some() { 3 } else { 0 };
                    return Some(Piece::Verbatim(text));
                }
                [_, b'!' | b'?' | b'/', ..] => self.skip_declaration(),
                // An angle bracket that is meant as one.
                _ => return Some(Piece::Text(self.take(self.at + 1))),
            }
        }
    }
}

/// The attributes of a tag.
struct Attributes {
    /// Where the tag ends: at its angle bracket.
    end: usize,
    count: usize,
}

impl Attributes {
    /// Reads from behind the name; `None` where the page ends before the tag.
    fn scan(bytes: &[u8], from: usize) -> Option<Self> {
        let (mut at, mut count) = (from, 0);
        loop {
            let skipped = bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b'/').count();
            at += skipped;
            if *bytes.get(at)? == b'>' {
                return Some(Self { end: at, count });
            }
            count += 1;
            // The name; an equals sign at its beginning is a part of it.
            at += 1;
            at += bytes[at..].iter().take_while(|byte| !b"=/> \t\n\x0c\r".contains(byte)).count();
            let blank = bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if bytes.get(at + blank) != Some(&b'=') {
                continue;
            }
            at += blank + 1;
            at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            at += match *bytes.get(at)? {
                quote @ (b'"' | b'\'') => memchr::memchr(quote, &bytes[at + 1..])? + 2,
                _ => bytes[at..].iter().take_while(|byte| !b"> \t\n\x0c\r".contains(byte)).count(),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces in short: texts as they are, tags in brackets.
    fn short(html: &str) -> String {
        let piece = |piece| match piece {
            Piece::Text(text) | Piece::Verbatim(text) => text.to_owned(),
            Piece::Tag(tag) => {
                let slash = |is: bool| if is { "/" } else { "" };
                format!("[{}{}{}{}]", slash(tag.is_end), tag.name, slash(tag.is_empty), tag.attributes)
            }
        };
        Scan::new(html).map(piece).collect()
    }

    #[test]
    fn pages_of_every_kind() {
        let rows = [
            ("a<b>c</b>d", "a[b0]c[/b0]d"),
            ("<A HREF='x>y' b=\"<\" c=d/e f>t</A >", "[A4]t[/A0]"),
            ("<br/><br /><img src=a/>", "[br/0][br/0][img/1]"),
            ("a<!-- <b> -->c<!---->d<!-->e<!--x--!>f", "acdef"),
            ("a<!-- b <c> d", "a d"),
            ("a<!-- b > c <!-- d > e", "a c  e"),
            ("<!DOCTYPE html><?xml x?></>a", "a"),
            ("1 < 2 <3 << 4", "1 < 2 <3 << 4"),
            ("<script>if (a<b) '</p>'</SCRIPT >x", "[script0][/SCRIPT0]x"),
            ("a<style>p{}", "a[style0]"),
            ("a<b c=\"d>e <i>f</i>", "a[b5]e [i0]f[/i0]"),
            ("a <b c", "a "),
            ("<![CDATA[a<b>]]>c<![CDATA[d", "a<b>cd"),
            ("<a =b==c 'd' \"e\">", "[a3]"),
            ("<p>\u{e9}<\u{e9}></\u{e9}>", "[p0]\u{e9}<\u{e9}>"),
            ("<", "<"),
            ("</", ""),
            ("", ""),
        ];
        for (html, pieces) in rows {
            assert_eq!(short(html), pieces, "{html}");
        }
    }
}
