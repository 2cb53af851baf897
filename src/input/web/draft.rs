//! The heads of records in the first drafts of WARC, 0.9 and 0.10: a line of values with blanks between them.
//!
//! `WARC/0.9 LENGTH TYPE URI DATE MEDIA-TYPE ID`, named fields, and an empty line. One writer of them puts the ID before the
//! media type, which then may have blanks in it, and one writes `warc` in small letters. The length is that of the record
//! from its first byte on; whether it counts the two line ends behind the content as well differs, too.

use super::fields::Fields;
use super::head::{Head, HeadError};
use super::warc::Type;

const MAGIC: &[u8] = b"WARC/";

const VERSIONS: [&[u8]; 2] = [b"0.9 ", b"0.10 "];

/// So many bytes tell that a record begins: the version, a length and the beginning of a type.
const LONGEST_BEGINNING: usize = 32;

/// Whether bytes at the start of a line begin a record; `None` where more of them are needed.
pub(super) fn begins(bytes: &[u8]) -> Option<bool> {
    let unsure = if bytes.len() < LONGEST_BEGINNING { None } else { Some(false) };
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC[..magic.len()].eq_ignore_ascii_case(magic) {
        return Some(false);
    }
    let version = &bytes[magic.len()..];
    let Some(rest) = VERSIONS.into_iter().find_map(|known| version.strip_prefix(known)) else {
        let is_beginning = VERSIONS.into_iter().any(|known| known.starts_with(version));
        return if is_beginning { unsure } else { Some(false) };
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match &rest[digits..] {
        [b' ', first, ..] if digits > 0 => Some(first.is_ascii_alphabetic()),
        [] => unsure,
        [b' '] if digits > 0 => unsure,
        _ => Some(false),
    }
}

/// Reads a head, the empty line included, that begins so.
pub(super) fn parse(head: &[u8]) -> Result<Head, HeadError> {
    let first = memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1);
    let line = String::from_utf8_lossy(head[..first].trim_ascii_end());
    let mut values = line.splitn(6, ' ').skip(1);
    let mut next = || values.next().unwrap_or_default();
    let (length, kind, uri, _date) = (next(), next(), next(), next());
    let (media_type, id) = last_two(next());
    let length: u64 = length.parse().map_err(|_| HeadError::BadLength(length.to_owned()))?;
    let content = length.checked_sub(head.len() as u64).ok_or(HeadError::ShorterThanHead(length))?;
    let fields = Fields::parse(&head[first..]);
    let text = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty() && value != "-");
    Ok(Head {
        kind: Type::of_name(kind),
        uri: text(uri),
        id: text(id),
        media_type: text(media_type).or_else(|| fields.first("content-type").map(str::to_owned)),
        length: content,
        counts_line_ends: true,
    })
}

/// The media type and the ID, in either order: an ID is a URI, and its scheme ends before any slash.
fn last_two(values: &str) -> (&str, &str) {
    let (first, rest) = values.split_once(' ').unwrap_or((values, ""));
    let is_id = first.find(':').is_some_and(|colon| !first[..colon].contains('/'));
    if is_id { (rest.trim(), first) } else { (first, rest.trim()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_drafts_begin_records() {
        for line in ["WARC/0.9 12 response http://a/", "warc/0.9 000000000496 request x", "WARC/0.10 1 w"] {
            assert_eq!(begins(line.as_bytes()), Some(true), "{line}");
        }
        for line in
            ["WARC/0.9\r\n", "WARC/0.9 x", "WARC/0.9 12\r\n", "WARC/0.9 12 /", "WARC/0.8 12 x", "WARC/1.0 12 x", "arc"]
        {
            assert_eq!(begins(line.as_bytes()), Some(false), "{line}");
        }
        for cut in 0.."WARC/0.10 1 ".len() {
            assert_eq!(begins(&b"WARC/0.10 1 "[..cut]), None, "{cut}");
        }
        assert_eq!(begins(&[&b"WARC/0.9 "[..], &[b'1'; 40]].concat()), Some(false));
    }

    #[test]
    fn values_are_found_in_either_order() {
        let rows = [
            ("http://a/ 20060825210905 text/xml uuid:1-2", "text/xml", "uuid:1-2"),
            (
                "http://a/ 2006 uuri:1;type=request application/http; msgtype=request",
                "application/http; msgtype=request",
                "uuri:1;type=request",
            ),
            ("http://a/ 2006 message/http uuid:http://b/c", "message/http", "uuid:http://b/c"),
        ];
        for (values, media_type, id) in rows {
            let head = |length| format!("warc/0.9 {length} response {values}\r\nIP-Address: 1.2.3.4\r\n\r\n");
            let length = head(1000).len();
            let found = parse(head(1000).as_bytes()).unwrap();
            assert_eq!((found.kind, found.uri.as_deref()), (Type::Response, Some("http://a/")), "{values}");
            assert_eq!((found.media_type.as_deref(), found.id.as_deref()), (Some(media_type), Some(id)));
            assert_eq!(found.length, 1000 - length as u64);
            assert!(matches!(parse(head(10).as_bytes()), Err(HeadError::ShorterThanHead(10))));
        }
        assert!(matches!(parse(b"WARC/0.9 99999999999999999999 x\n\n"), Err(HeadError::BadLength(_))));
        let bare = parse(b"WARC/0.9 40 warcinfo\n\n").unwrap();
        assert_eq!((bare.kind, bare.uri, bare.id, bare.media_type), (Type::Warcinfo, None, None, None));
    }
}
