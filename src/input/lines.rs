//! Lines of bounded length.

use std::io::{self, BufRead};

/// What came of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The line is in the buffer, with its end if it has one.
    Read,
    /// The line was longer than allowed; it was passed over.
    TooLong,
    /// There are no more lines.
    End,
}

/// Reads up to and including the next line feed, at most `limit` bytes beside it.
pub(super) fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>, limit: usize) -> io::Result<Line> {
    let mut too_long = false;
    let mut any = false;
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        any |= !available.is_empty();
        let end = memchr::memchr(b'\n', available);
        let taken = end.map_or(available.len(), |end| end + 1);
        if !too_long && line.len() + taken > limit.saturating_add(1) {
            too_long = true;
            // Nothing of it is needed any more.
            *line = Vec::new();
        }
        if !too_long {
            line.extend_from_slice(&available[..taken]);
        }
        let last = end.is_some() || available.is_empty();
        reader.consume(taken);
        if last {
            let without_end = line.strip_suffix(b"\n").unwrap_or(line);
            return Ok(match (too_long || without_end.len() > limit, any) {
                (true, _) => Line::TooLong,
                (false, true) => Line::Read,
                (false, false) => Line::End,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn lines_of_every_kind_whatever_the_buffer() {
        let text = b"one\n\ntwo\r\n12345678\n123456789\nlast";
        for capacity in 1..40 {
            let mut reader = BufReader::with_capacity(capacity, &text[..]);
            let mut lines = Vec::new();
            loop {
                let mut line = Vec::new();
                match next_line(&mut reader, &mut line, 8).unwrap() {
                    Line::Read => lines.push(String::from_utf8(line).unwrap()),
                    Line::TooLong => lines.push("too long".to_owned()),
                    Line::End => break,
                }
            }
            assert_eq!(lines, ["one\n", "\n", "two\r\n", "12345678\n", "too long", "last"], "{capacity}");
        }
    }

    #[test]
    fn a_last_line_that_is_too_long() {
        let mut reader = BufReader::with_capacity(4, &b"123456789"[..]);
        assert_eq!(next_line(&mut reader, &mut Vec::new(), 8).unwrap(), Line::TooLong);
        assert_eq!(next_line(&mut reader, &mut Vec::new(), 8).unwrap(), Line::End);
    }
}
