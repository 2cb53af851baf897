//! One file of documents, cut into records.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::lines::{Line, next_line};
use super::stream::{STDIN, Stream, ending};
use super::{BadRecord, RawRecord};

/// How a file is cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lines,
    Whole,
}

impl Kind {
    pub(super) fn of_name(path: &Path) -> Self {
        let lines = matches!(ending(path).as_deref(), Some("jsonl" | "ndjson"));
        if lines || path.as_os_str() == STDIN { Self::Lines } else { Self::Whole }
    }
}

/// An open file.
#[derive(Debug)]
pub(super) struct Source {
    stream: Stream,
    kind: Kind,
    max_record_bytes: usize,
    line: u64,
    /// Whether an input without any record is an error.
    must_have_records: bool,
    done: bool,
}

impl Source {
    pub(super) fn open(
        path: &Path,
        kind: Kind,
        named: bool,
        max_record_bytes: usize,
        bytes_read: &Arc<AtomicU64>,
    ) -> Result<Self, BadRecord> {
        let stream = Stream::open(path, bytes_read)?;
        let must_have_records = named || kind == Kind::Lines;
        Ok(Self { stream, kind, max_record_bytes, line: 0, must_have_records, done: false })
    }

    pub(super) fn next(&mut self) -> Option<Result<RawRecord, BadRecord>> {
        if self.done {
            return None;
        }
        match self.kind {
            Kind::Lines => self.next_line(),
            Kind::Whole => {
                self.done = true;
                Some(self.whole())
            }
        }
    }

    fn next_line(&mut self) -> Option<Result<RawRecord, BadRecord>> {
        loop {
            self.line += 1;
            let mut bytes = Vec::new();
            let line = match next_line(&mut self.stream.reader, &mut bytes, self.max_record_bytes) {
                Ok(line) => line,
                Err(e) => return Some(Err(self.broken(&e, Some(self.line)))),
            };
            match line {
                Line::End => {
                    self.done = true;
                    return self.must_have_records.then(|| Err(self.stream.empty()));
                }
                Line::Read if bytes.iter().all(u8::is_ascii_whitespace) => {}
                Line::Read => {
                    self.must_have_records = false;
                    return Some(Ok(RawRecord { bytes, file: Arc::clone(&self.stream.path), line: Some(self.line) }));
                }
                Line::TooLong => {
                    self.must_have_records = false;
                    return Some(Err(self.too_long(Some(self.line))));
                }
            }
        }
    }

    fn whole(&mut self) -> Result<RawRecord, BadRecord> {
        let mut bytes = Vec::new();
        let limit = (self.max_record_bytes as u64).saturating_add(1);
        if let Err(e) = self.stream.reader.by_ref().take(limit).read_to_end(&mut bytes) {
            return Err(self.broken(&e, None));
        }
        if bytes.len() > self.max_record_bytes {
            return Err(self.too_long(None));
        }
        if bytes.is_empty() && self.must_have_records {
            return Err(self.stream.empty());
        }
        Ok(RawRecord { bytes, file: Arc::clone(&self.stream.path), line: None })
    }

    fn too_long(&self, line: Option<u64>) -> BadRecord {
        self.stream.too_long(line, self.max_record_bytes)
    }

    /// The rest of the file is lost.
    fn broken(&mut self, error: &io::Error, line: Option<u64>) -> BadRecord {
        self.done = true;
        self.stream.broken(error, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind() {
        for name in ["a.jsonl", "a.ndjson", "a.JSONL.gz", "x/a.b.jsonl.zst", "-"] {
            assert_eq!(Kind::of_name(Path::new(name)), Kind::Lines, "{name}");
        }
        for name in ["a.txt", "LICENSE", "a.json", "jsonl", "a.txt.gz", "a.jsonl.txt", "a.gz"] {
            assert_eq!(Kind::of_name(Path::new(name)), Kind::Whole, "{name}");
        }
    }
}
