//! Lines as they lie in the buffer: without a copy of each, unlike those that go to other threads.

use std::io::{self, Read};

use crate::input::BadRecord;
use crate::input::stream::Stream;

/// The lines of a text.
#[derive(Debug)]
pub(super) struct Lines {
    stream: Stream,
    buffer: Vec<u8>,
    /// What was read and not given out yet, within the buffer.
    start: usize,
    end: usize,
    /// The number of lines given out.
    line: u64,
    max_record_bytes: usize,
    done: bool,
}

/// What comes next in the buffer.
enum Next {
    /// A line, and where it lies.
    Line(usize, usize),
    /// The line was longer than allowed; it was passed over.
    TooLong,
    /// There are no more lines.
    End,
}

impl Lines {
    /// The capacity is that of the buffer at first; it grows with the longest line.
    pub(super) fn new(stream: Stream, capacity: usize, max_record_bytes: usize) -> Self {
        let buffer = vec![0; capacity.max(1)];
        Self { stream, buffer, start: 0, end: 0, line: 0, max_record_bytes, done: false }
    }

    /// Returns the next line that is not blank, without the white space around it, and its number.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>, BadRecord> {
        loop {
            let (from, to) = match self.next_range() {
                Ok(Next::Line(from, to)) => (from, to),
                Ok(Next::TooLong) => return Err(self.stream.too_long(Some(self.line), self.max_record_bytes)),
                Ok(Next::End) => return Ok(None),
                Err(e) => {
                    (self.done, self.start, self.end) = (true, 0, 0);
                    return Err(self.stream.broken(&e, Some(self.line + 1)));
                }
            };
            if !self.buffer[from..to].trim_ascii().is_empty() {
                return Ok(Some((self.line, self.buffer[from..to].trim_ascii())));
            }
        }
    }

    /// Returns where the next line lies, without its line feed.
    fn next_range(&mut self) -> io::Result<Next> {
        let mut searched = 0;
        let mut too_long = false;
        loop {
            let feed = memchr::memchr(b'\n', &self.buffer[self.start + searched..self.end]);
            if let Some(at) = feed {
                let (from, to) = (self.start, self.start + searched + at);
                self.start = to + 1;
                return Ok(self.ended(from, to, too_long));
            }
            too_long |= self.end - self.start > self.max_record_bytes;
            if too_long {
                // Nothing of it is needed any more.
                self.start = self.end;
            }
            searched = self.end - self.start;
            if self.done || self.refill()? == 0 {
                self.done = true;
                let (from, to) = (self.start, self.end);
                self.start = to;
                return Ok(if from == to && !too_long { Next::End } else { self.ended(from, to, too_long) });
            }
        }
    }

    fn ended(&mut self, from: usize, to: usize, too_long: bool) -> Next {
        self.line += 1;
        if too_long || to - from > self.max_record_bytes { Next::TooLong } else { Next::Line(from, to) }
    }

    fn refill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.stream.reader.read(&mut self.buffer[self.end..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_kind_whatever_the_buffer() {
        let text = b"\none\n\n two\t\r\n12345678\n123456789\n \r\n1234567890123456789012345678901234567890\nlast";
        let expected = ["2 one", "4 two", "5 12345678", "f:6: too long", "f:8: too long", "9 last"];
        for capacity in 0..50 {
            for text in [&text[..], &[&text[..], b"\n"].concat()] {
                let mut lines = Lines::new(Stream::of(io::Cursor::new(text.to_vec()), 7), capacity, 8);
                let mut found = Vec::new();
                loop {
                    match lines.next() {
                        Ok(Some((line, text))) => found.push(format!("{line} {}", str::from_utf8(text).unwrap())),
                        Ok(None) => break,
                        Err(e) => found.push(e.to_string().replace("the record is longer than 8 bytes", "too long")),
                    }
                }
                let found: Vec<_> = found.iter().map(|line| line.split(": raise").next().unwrap()).collect();
                assert_eq!(found, expected, "{capacity}");
                assert!(lines.next().unwrap().is_none());
            }
        }
    }

    #[test]
    fn a_last_line_that_is_too_long_is_an_error_once() {
        let mut lines = Lines::new(Stream::of(&b"123456789"[..], 4), 4, 8);
        assert!(lines.next().is_err());
        assert!(lines.next().unwrap().is_none());
    }
}
