//! The heads of WARC records (ISO 28500, and the drafts before it from 0.17 on). Those of the first drafts are told apart by their
//! first line.

use super::draft;
use super::fields::Fields;
use super::head::{Head, HeadError};

/// What the record type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Response,
    Resource,
    Conversion,
    Request,
    Metadata,
    Revisit,
    Warcinfo,
    Continuation,
    Other,
}

impl Type {
    pub(super) fn of_name(name: &str) -> Self {
        let known = [
            ("response", Self::Response),
            ("resource", Self::Resource),
            ("conversion", Self::Conversion),
            ("request", Self::Request),
            ("metadata", Self::Metadata),
            ("revisit", Self::Revisit),
            ("warcinfo", Self::Warcinfo),
            ("continuation", Self::Continuation),
        ];
        known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or(Self::Other, |&(_, kind)| kind)
    }
}

/// Whether bytes at the start of a line begin a record; `None` where more of them are needed.
pub(super) fn begins(bytes: &[u8]) -> Option<bool> {
    match (begins_with_version(bytes), draft::begins(bytes)) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

fn begins_with_version(bytes: &[u8]) -> Option<bool> {
    let magic = b"WARC/";
    let known = bytes.len().min(magic.len());
    if bytes[..known] != magic[..known] {
        return Some(false);
    }
    let line = memchr::memchr(b'\n', &bytes[..bytes.len().min(LONGEST_VERSION)]).map(|end| &bytes[..end]);
    match line {
        Some(line) => Some(is_version(line)),
        None if bytes.len() >= LONGEST_VERSION => Some(false),
        None => None,
    }
}

/// The longest first line, with blanks at its end.
const LONGEST_VERSION: usize = 32;

fn is_version(line: &[u8]) -> bool {
    let Some(version) = line.trim_ascii_end().strip_prefix(b"WARC/") else { return false };
    let mut parts = version.split(|&byte| byte == b'.');
    let is_number = |part: Option<&[u8]>| part.is_some_and(|p| !p.is_empty() && p.iter().all(u8::is_ascii_digit));
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
}

/// Finds a record that begins at the start of a line behind the first.
pub(super) fn find(bytes: &[u8]) -> Option<usize> {
    let starts = |magic: &'static [u8]| memchr::memmem::find_iter(bytes, magic).map(|end| end + 1);
    let found = starts(b"\nWARC/").find(|&start| {
        let record = &bytes[start..];
        (begins_with_version(record) == Some(true) && is_field_next(record)) || draft::begins(record) == Some(true)
    });
    let before = &bytes[..found.unwrap_or(bytes.len())];
    let in_small_letters = memchr::memmem::find_iter(before, b"\nwarc/").map(|end| end + 1);
    in_small_letters.into_iter().find(|&start| draft::begins(&bytes[start..]) == Some(true)).or(found)
}

/// Whether the second line is a field, so that a text about the format is not taken for it.
fn is_field_next(bytes: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b'\n', bytes) else { return false };
    let rest = &bytes[end + 1..];
    let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    name > 0 && rest.get(name) == Some(&b':')
}

/// Reads a head, the empty line included.
pub(super) fn parse(head: &[u8]) -> Result<Head, HeadError> {
    if draft::begins(head) == Some(true) {
        return draft::parse(head);
    }
    let first = memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1);
    let fields = Fields::parse(&head[first..]);
    let text = |name: &str| fields.first(name).map(str::to_owned).filter(|value| !value.is_empty());
    // Some writers put what the standard gives without brackets into them.
    let bare = |value: String| {
        let inner = value.strip_prefix('<').and_then(|value| value.strip_suffix('>')).map(str::to_owned);
        inner.unwrap_or(value)
    };
    let length = fields.first("content-length").ok_or(HeadError::NoLength)?;
    let length = length.parse().map_err(|_| HeadError::BadLength(length.to_owned()))?;
    Ok(Head {
        kind: Type::of_name(fields.first("warc-type").unwrap_or_default()),
        uri: text("warc-target-uri").map(bare),
        id: text("warc-record-id").map(bare),
        media_type: text("content-type"),
        length,
        counts_line_ends: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_begin_records() {
        for line in ["WARC/1.0\r\n", "WARC/1.1\n", "WARC/0.17 \r\nx", "WARC/0.18\r\n"] {
            assert_eq!(begins(line.as_bytes()), Some(true), "{line:?}");
        }
        for line in [
            "WARC/1\r\n",
            "WARC/1.0.0\n",
            "WARC/a.b\n",
            " WARC/1.0\n",
            "\n",
            "WARC/ is a line of a text without an end",
        ] {
            assert_eq!(begins(line.as_bytes()), Some(false), "{line:?}");
        }
        assert_eq!(begins(b"WARC/1.0"), None);
        let text = b"WARC/1.0\nx\nWARC/1.0 is\nWARC/1.1\n\nWARC/1.0\r\nWARC-Type: x";
        assert_eq!(find(text), Some(33));
    }

    #[test]
    fn heads_are_read_whatever_their_case_and_folding() {
        let head = b"WARC/1.0\r\nwarc-type: Response\r\nWARC-Target-URI:\r\n <http://a/b c>\r\nWARC-Record-ID: <urn:uuid:1>\r\n\
            Content-Length: 12\r\nContent-Length: 13\r\nno field\r\nContent-Type: text/plain\r\n\r\n";
        let head = parse(head).unwrap();
        assert_eq!((head.kind, head.length), (Type::Response, 12));
        assert_eq!(head.uri.as_deref(), Some("http://a/b c"));
        assert_eq!((head.id.as_deref(), head.media_type.as_deref()), (Some("urn:uuid:1"), Some("text/plain")));
        assert_eq!(parse(b"WARC/1.0\nWARC-Type: monkeys\nContent-Length:0\n\n").unwrap().kind, Type::Other);
        assert!(matches!(parse(b"WARC/1.0\r\n\r\n"), Err(HeadError::NoLength)));
        for length in ["-1", "1e3", "99999999999999999999"] {
            let head = format!("WARC/1.0\r\nContent-Length: {length}\r\n\r\n");
            assert!(matches!(parse(head.as_bytes()), Err(HeadError::BadLength(bad)) if bad == length));
        }
    }
}
