//! What stands between a file and the parser of CSV, which knows neither the longest record nor
//! whether the last quotation mark was closed.

use std::io::{self, Read};

use super::stream::Stream;

/// What the parser gets to read behind the end of the file. The line feed ends a last row that has none. The
/// quotation mark then begins a row of its own, of one empty field; where one is open it closes that,
/// and there is no such row.
const BEHIND: &[u8] = b"\n\"";

/// A stream that ends with [`BEHIND`] and gives out only as much as one record may take.
#[derive(Debug)]
pub(super) struct Guard {
    stream: Stream,
    given: u64,
    allowed: u64,
    /// The length of the file, known at its end.
    length: Option<u64>,
    is_too_long: bool,
}

impl Guard {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, given: 0, allowed: 0, length: None, is_too_long: false }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Reading fails when all up to the offset, at least, is consumed and more is asked for.
    pub(super) fn allow(&mut self, offset: u64) {
        self.allowed = offset;
    }

    /// Whether reading has failed because of that.
    pub(super) fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// Whether the parser has consumed all that stands behind the file.
    pub(super) fn is_behind(&self, offset: u64) -> bool {
        self.length.is_some_and(|length| offset >= length + BEHIND.len() as u64)
    }
}

impl Read for Guard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = if let Some(length) = self.length {
            length
        } else if self.given > self.allowed {
            self.is_too_long = true;
            return Err(io::Error::other("the record is too long"));
        } else {
            let count = self.stream.reader.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.given += count as u64;
                return Ok(count);
            }
            *self.length.insert(self.given)
        };
        let behind = usize::try_from(self.given - length).map_or(&[][..], |given| &BEHIND[given..]);
        let count = behind.len().min(buffer.len());
        buffer[..count].copy_from_slice(&behind[..count]);
        self.given += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_comes_first_and_the_end_behind_it() {
        let mut guard = Guard::new(Stream::of(&b"abc"[..], 2));
        guard.allow(3);
        let mut text = Vec::new();
        guard.read_to_end(&mut text).unwrap();
        assert_eq!(text, b"abc\n\"");
        assert!(guard.is_behind(5) && !guard.is_behind(4) && !guard.is_too_long());
    }

    #[test]
    fn more_than_is_allowed_is_an_error() {
        let mut guard = Guard::new(Stream::of(&b"abcdef"[..], 2));
        guard.allow(3);
        assert!(guard.read_to_end(&mut Vec::new()).is_err());
        assert!(guard.is_too_long() && !guard.is_behind(6));
    }
}
