//! HTTP responses as they were received: the head, and the content without its codings.

use super::coding;
use super::fields::{Fields, end_of_head};
use super::media;

/// The head of a response.
#[derive(Debug)]
pub(super) struct Response<'a> {
    pub(super) status: u16,
    fields: Fields,
    /// What follows the head.
    body: &'a [u8],
}

impl<'a> Response<'a> {
    /// Reads the head; `None` where the bytes are no response. A head without an end is all head.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        // The version, as `HTTP/1.1`, and three digits. Words may follow.
        let version = bytes.strip_prefix(b"HTTP/").or_else(|| bytes.strip_prefix(b"http/"))?;
        let number = version.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let status = version[number..].strip_prefix(b" ")?.trim_ascii_start();
        let status = std::str::from_utf8(status.get(..3)?).ok()?.parse().ok()?;
        let end = end_of_head(bytes).unwrap_or(bytes.len());
        let line = memchr::memchr(b'\n', &bytes[..end]).map_or(end, |line| line + 1);
        Some(Self { status, fields: Fields::parse(&bytes[line..end]), body: &bytes[end..] })
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn media_type(&self) -> Option<&str> {
        self.fields.first("content-type").filter(|value| !media::essence(value).is_empty())
    }

    /// Decodes the content, to at most so many bytes.
    pub(super) fn content(&self, limit: usize) -> Result<Vec<u8>, coding::Failure> {
        let names = |field| self.fields.all(field).flat_map(|value| value.split(',')).map(str::trim);
        let is_chunked = names("transfer-encoding").any(|name| name.eq_ignore_ascii_case("chunked"));
        let mut content = if is_chunked { dechunk(self.body) } else { None };
        // Codings of the transfer are taken off first, the last one that was applied before the others.
        let codings: Vec<_> = names("content-encoding").chain(names("transfer-encoding")).collect();
        for name in codings.iter().rev() {
            content = coding::decode(name, content.as_deref().unwrap_or(self.body), limit)?.or(content);
        }
        let content = content.unwrap_or_else(|| self.body.to_vec());
        if content.len() > limit { Err(coding::Failure::TooLong) } else { Ok(content) }
    }
}

/// Takes the chunks of a body together; `None` where it is not in chunks, because the crawler has done it already. What
/// the connection did not bring is missing.
fn dechunk(body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let mut rest = body;
    let mut is_first = true;
    loop {
        let Some((size, behind)) = chunk_size(rest) else {
            // Behind a good chunk the rest is all that there is.
            return (!is_first).then_some(content);
        };
        is_first = false;
        if size == 0 {
            return Some(content);
        }
        let chunk = &behind[..size.min(behind.len())];
        content.extend_from_slice(chunk);
        rest = &behind[chunk.len()..];
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
        if rest.is_empty() {
            return Some(content);
        }
    }
}

/// Reads the line with the size of a chunk.
fn chunk_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    const LONGEST: usize = 4096;
    let end = memchr::memchr(b'\n', &bytes[..bytes.len().min(LONGEST)])?;
    // Extensions follow a semicolon.
    let size = bytes[..end].split(|&byte| byte == b';').next()?.trim_ascii();
    if size.is_empty() || size.len() > 16 || !size.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let size = u64::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()?;
    Some((usize::try_from(size).unwrap_or(usize::MAX), &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_tolerantly() {
        type Row = (&'static [u8], u16, Option<&'static str>, &'static [u8]);
        let rows: [Row; 6] = [
            (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nbody", 200, Some("text/html"), b"body"),
            (b"HTTP/1.0 404\ncontent-TYPE:\ntext/x\n\nb", 404, None, b"b"),
            (b"HTTP/2 204 \r\n\r\n", 204, None, b""),
            (b"http/1.1  301 Moved\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n", 301, Some("a/b"), b""),
            (b"HTTP/1.1 200 OK\r\nServer: x", 200, None, b""),
            (b"HTTP/1.1 200 OK\r\n\r\n\r\n", 200, None, b"\r\n"),
        ];
        for (bytes, status, media_type, body) in rows {
            let response = Response::parse(bytes).unwrap();
            assert_eq!(
                (response.status, response.media_type(), response.body),
                (status, media_type, body),
                "{bytes:?}"
            );
        }
        for bytes in [&b"HTTP/1.1"[..], b"HTTP/1.1 OK", b"SSH-2.0-x\r\n", b"", b"HTTP/1.1 20", b"<html>", b"ICY 200 OK"]
        {
            assert!(Response::parse(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn chunks_are_taken_together() {
        let rows: [(&[u8], Option<&[u8]>); 9] = [
            (b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", Some(b"abcde")),
            (b"3\nabc\n0\n\n", Some(b"abc")),
            (b" 3 \r\nabc\r\n0\r\nTrailer: x\r\n\r\n", Some(b"abc")),
            (b"ff\r\nabc", Some(b"abc")),
            (b"3\r\nabc\r\n", Some(b"abc")),
            (b"3\r\nabc\r\nnot a size", Some(b"abc")),
            (b"ffffffffffffffff\r\nabc", Some(b"abc")),
            (b"<html>\r\n", None),
            (b"", None),
        ];
        for (body, content) in rows {
            assert_eq!(dechunk(body).as_deref(), content, "{body:?}");
        }
    }
}
