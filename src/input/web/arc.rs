//! The heads of ARC records, versions 1 and 2: a line of values with blanks between them.

use super::head::{Head, HeadError};
use super::warc::Type;

/// The longest line, which has a URL in it.
pub(super) const LONGEST_LINE: usize = 64 << 10;

/// Whether bytes at the start of a line begin a record; `None` where more of them are needed.
pub(super) fn begins(bytes: &[u8]) -> Option<bool> {
    if !begins_url(bytes) {
        return Some(false);
    }
    match memchr::memchr(b'\n', &bytes[..bytes.len().min(LONGEST_LINE)]) {
        Some(end) => Some(Line::parse(&bytes[..end]).is_some()),
        None if bytes.len() >= LONGEST_LINE => Some(false),
        None => None,
    }
}

/// Whether the bytes begin as a URL does, or may do once there are more of them.
fn begins_url(bytes: &[u8]) -> bool {
    let scheme = bytes.iter().take(16).take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)).count();
    bytes.first().is_none_or(u8::is_ascii_alphabetic) && bytes.get(scheme).is_none_or(|&byte| byte == b':')
}

/// Finds a record that begins at the start of a line behind the first.
pub(super) fn find(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).map(|end| end + 1).find(|&start| begins(&bytes[start..]) == Some(true))
}

/// The values of a line that a record needs.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    uri: &'a [u8],
    media_type: &'a [u8],
    length: u64,
}

impl<'a> Line<'a> {
    /// Reads `URL IP DATE TYPE LENGTH`, or the same with `CODE CHECKSUM LOCATION OFFSET FILENAME` before the length.
    /// URLs may have blanks in them, and the type may be empty, so the date is looked for.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !begins_url(line) || !line.contains(&b':') {
            return None;
        }
        let values: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let length = std::str::from_utf8(values.last()?).ok()?;
        if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let length = length.parse().ok()?;
        let is_date = |value: &[u8]| (8..=17).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
        // From the right: version 1 has one value between the date and the length, version 2 has six.
        let last = values.len() - 1;
        let date = [last.checked_sub(2), last.checked_sub(7)];
        let date = date.into_iter().flatten().find(|&at| at >= 2 && is_date(values[at]))?;
        let uri_bytes = values[..date - 1].iter().map(|value| value.len() + 1).sum::<usize>() - 1;
        Some(Self { uri: &line[..uri_bytes], media_type: values[date + 1], length })
    }
}

/// Reads a head, its line end included.
pub(super) fn parse(head: &[u8]) -> Result<Head, HeadError> {
    let line = Line::parse(head.strip_suffix(b"\n").unwrap_or(head)).ok_or(HeadError::NoLength)?;
    let uri = String::from_utf8_lossy(line.uri).into_owned();
    let media_type = String::from_utf8_lossy(line.media_type).into_owned();
    let kind = if uri.starts_with("filedesc:") { Type::Warcinfo } else { Type::Response };
    let media_type = Some(media_type).filter(|name| !["", "-", "no-type", "unknown", "unk"].contains(&&name[..]));
    Ok(Head { kind, uri: Some(uri), id: None, media_type, length: line.length, counts_line_ends: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_versions() {
        let rows = [
            ("http://a/ 1.2.3.4 20140216050221 text/html 1591", "http://a/", "text/html", 1591),
            ("http://a/b c d 1.2.3.4 20140216050221 text/html 0", "http://a/b c d", "text/html", 0),
            ("http://a/ 1.2.3.4 20110804181142  39", "http://a/", "", 39),
            ("http://a/ 1.2.3.4 19961104142103 text/html 200 fac0 - 1234 a.arc 56\r", "http://a/", "text/html", 56),
            ("filedesc://a.arc 0.0.0.0 20060305082251 text/plain 76", "filedesc://a.arc", "text/plain", 76),
            ("dns:a.b 1.2.3.4 20080430204825 text/dns 56", "dns:a.b", "text/dns", 56),
        ];
        for (line, uri, media_type, length) in rows {
            let parsed = Line { uri: uri.as_bytes(), media_type: media_type.as_bytes(), length };
            assert_eq!(Line::parse(line.as_bytes()), Some(parsed), "{line}");
            assert_eq!(begins(format!("{line}\nx").as_bytes()), Some(true), "{line}");
        }
        let others = [
            "http://a/ 1.2.3.4 20140216050221 text/html x",
            "http://a/ 1.2.3.4 text/html 12",
            "a text 1.2.3.4 20140216050221 text/html 12",
            "URL IP-address Archive-date Content-type Archive-length",
            "20140216050221 text/html 12",
            "",
        ];
        for line in others {
            assert_eq!(begins(format!("{line}\n").as_bytes()), Some(false), "{line}");
        }
        assert_eq!(begins(b"http://a/ 1.2.3.4 2014"), None);
        assert_eq!(begins(b""), None);
    }
}
