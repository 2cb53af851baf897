//! The bytes of a file as they are, with a look ahead and a short way back.

use std::fmt;
use std::io::{self, Read};

/// So much is read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// So much of what was consumed is kept, for a member that turns out to be damaged.
const KEPT_BYTES: usize = 1 << 20;

/// A file being read.
pub(in crate::input) struct Raw {
    file: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The next byte in the buffer.
    at: usize,
    /// Where in the file the buffer begins.
    base: u64,
    ended: bool,
    /// How many bytes were given back, which bounds the work on files that are damaged all over.
    returned: u64,
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").field("offset", &self.offset()).finish_non_exhaustive()
    }
}

impl Raw {
    /// Takes what was read of the file already, and the rest.
    pub(in crate::input) fn new(first: Vec<u8>, rest: Box<dyn Read + Send>) -> Self {
        Self { file: rest, buffer: first, at: 0, base: 0, ended: false, returned: 0 }
    }

    /// Returns where in the file the next byte is.
    pub(in crate::input) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns the next bytes without consuming them: as many as asked for, or more, or all that are left.
    pub(in crate::input) fn ahead(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.at < count && !self.ended {
            if self.at > 2 * KEPT_BYTES {
                let gone = self.at - KEPT_BYTES;
                self.buffer.drain(..gone);
                self.base += gone as u64;
                self.at = KEPT_BYTES;
            }
            let filled = self.buffer.len();
            self.buffer.resize(filled + CHUNK_BYTES, 0);
            let read = self.file.read(&mut self.buffer[filled..]);
            self.buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(&self.buffer[self.at..])
    }

    /// Returns what was read ahead already.
    pub(in crate::input) fn buffered(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    pub(in crate::input) fn consume(&mut self, count: usize) {
        self.at += count.min(self.buffer.len() - self.at);
    }

    /// Goes back to a place in the file, or as near to it as is kept. Once as much was given back as was read, it
    /// stays where it is.
    pub(in crate::input) fn back_to(&mut self, offset: u64) {
        let at = usize::try_from(offset.saturating_sub(self.base)).unwrap_or(usize::MAX).min(self.at);
        let distance = (self.at - at) as u64;
        if self.returned + distance <= self.offset() + (16 << 20) {
            self.returned += distance;
            self.at = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Drops(io::Cursor<Vec<u8>>, usize);

    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len());
            self.0.read(&mut buffer[..count])
        }
    }

    #[test]
    fn bytes_come_ahead_and_again() {
        let bytes: Vec<u8> = (0..200u8).collect();
        for drop in [1, 7, 1000] {
            let rest = Drops(io::Cursor::new(bytes[3..].to_vec()), drop);
            let mut raw = Raw::new(bytes[..3].to_vec(), Box::new(rest));
            assert_eq!(raw.ahead(50).unwrap()[..50], bytes[..50]);
            raw.consume(40);
            assert_eq!((raw.offset(), raw.ahead(1).unwrap()[0]), (40, 40));
            raw.back_to(5);
            assert_eq!((raw.offset(), raw.ahead(1).unwrap()[0]), (5, 5));
            raw.back_to(7);
            assert_eq!(raw.offset(), 5, "never forward");
            assert_eq!(raw.ahead(1000).unwrap(), &bytes[5..]);
            raw.consume(1000);
            assert_eq!((raw.offset(), raw.ahead(1).unwrap().len()), (200, 0));
        }
    }

    #[test]
    fn little_is_kept_and_returned() {
        let mut raw = Raw::new(Vec::new(), Box::new(io::repeat(7).take(40 << 20)));
        while !raw.ahead(1).unwrap().is_empty() {
            let count = raw.buffered().len();
            raw.consume(count);
            assert!(raw.buffer.len() <= 3 * KEPT_BYTES);
        }
        let mut returned = 0;
        for _ in 0..1000 {
            raw.back_to(0);
            returned += raw.buffered().len();
            let count = raw.buffered().len();
            raw.consume(count);
        }
        assert!(returned <= 60 << 20, "{returned}");
    }
}
