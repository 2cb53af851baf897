//! One file: opened, decompressed, cut into records.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use flate2::bufread::GzDecoder;

use super::lines::{Line, next_line};
use super::{BadRecord, Counted, RawRecord};

/// The name of the standard input.
pub(super) const STDIN: &str = "-";

const BUFFER_BYTES: usize = 256 << 10;

/// The longest look back of a zstd frame: 2^31 bytes, as much as the format allows.
const MAX_WINDOW_LOG: u32 = 31;

/// How a file is cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lines,
    Whole,
}

impl Kind {
    pub(super) fn of_name(path: &Path) -> Self {
        let is = |path: &Path, endings: &[&str]| {
            path.extension()
                .and_then(OsStr::to_str)
                .is_some_and(|ending| endings.iter().any(|e| ending.eq_ignore_ascii_case(e)))
        };
        let bare = if is(path, &["gz", "zst", "zstd"]) { path.with_extension("") } else { path.to_owned() };
        if path.as_os_str() == STDIN || is(&bare, &["jsonl", "ndjson"]) { Self::Lines } else { Self::Whole }
    }
}

/// An open file.
pub(super) struct Source {
    path: Arc<PathBuf>,
    reader: Box<dyn BufRead + Send>,
    compression: &'static str,
    kind: Kind,
    max_record_bytes: usize,
    line: u64,
    /// Whether an input without any record is an error.
    must_have_records: bool,
    done: bool,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("path", &self.path).field("line", &self.line).finish_non_exhaustive()
    }
}

impl Source {
    pub(super) fn open(
        path: &Path,
        kind: Kind,
        named: bool,
        max_record_bytes: usize,
        bytes_read: &Arc<AtomicU64>,
    ) -> Result<Self, BadRecord> {
        let unreadable = |e: io::Error| {
            BadRecord::of_file(
                path,
                None,
                format!("cannot be read ({e})"),
                "check the path and its permissions, or leave it out",
            )
        };
        let file: Box<dyn Read + Send> = if path.as_os_str() == STDIN {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(unreadable)?)
        };
        let counted = Counted { inner: file, bytes: Arc::clone(bytes_read) };
        let mut file = BufReader::with_capacity(BUFFER_BYTES, counted);
        // By the first bytes, since names lie. A short first read would have to be repeated.
        let mut magic = [0; 4];
        let count = read_up_to(&mut file, &mut magic).map_err(unreadable)?;
        let file = io::Cursor::new(magic).take(count as u64).chain(file);
        let (reader, compression): (Box<dyn BufRead + Send>, _) = match magic {
            [0x1f, 0x8b, ..] => (Box::new(BufReader::with_capacity(BUFFER_BYTES, GzipMembers::new(file))), "gzip"),
            // A frame, or one to be passed over, with which files that can be read in parallel begin.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file).map_err(unreadable)?;
                // Files of `zstd --long` need more than the default.
                decoder.window_log_max(MAX_WINDOW_LOG).map_err(unreadable)?;
                (Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)), "zstd")
            }
            _ => (Box::new(file), ""),
        };
        Ok(Self {
            path: Arc::new(path.to_owned()),
            reader,
            compression,
            kind,
            max_record_bytes,
            line: 0,
            must_have_records: named || kind == Kind::Lines,
            done: false,
        })
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
            let line = match next_line(&mut self.reader, &mut bytes, self.max_record_bytes) {
                Ok(line) => line,
                Err(e) => return Some(Err(self.broken(&e, Some(self.line)))),
            };
            match line {
                Line::End => {
                    self.done = true;
                    return self.must_have_records.then(|| Err(self.empty()));
                }
                Line::Read if bytes.iter().all(u8::is_ascii_whitespace) => {}
                Line::Read => {
                    self.must_have_records = false;
                    return Some(Ok(RawRecord { bytes, file: Arc::clone(&self.path), line: Some(self.line) }));
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
        if let Err(e) = self.reader.by_ref().take(limit).read_to_end(&mut bytes) {
            return Err(self.broken(&e, None));
        }
        if bytes.len() > self.max_record_bytes {
            return Err(self.too_long(None));
        }
        if bytes.is_empty() && self.must_have_records {
            return Err(self.empty());
        }
        Ok(RawRecord { bytes, file: Arc::clone(&self.path), line: None })
    }

    fn empty(&self) -> BadRecord {
        BadRecord::of_file(&self.path, None, "has no records", "leave it out, or check what wrote it")
    }

    fn too_long(&self, line: Option<u64>) -> BadRecord {
        let reason = format!("the record is longer than {} bytes", self.max_record_bytes);
        BadRecord::of_file(&self.path, line, reason, "raise --max-record-bytes, or check that lines end")
    }

    /// The rest of the file is lost.
    fn broken(&mut self, error: &io::Error, line: Option<u64>) -> BadRecord {
        self.done = true;
        let (reason, remedy) = match (self.compression, error.kind()) {
            ("", _) => (format!("cannot be read ({error})"), "check the medium, or leave it out"),
            (name, io::ErrorKind::UnexpectedEof) => {
                (format!("the {name} stream ends too early"), "fetch or write the file again")
            }
            (name, _) => (format!("the {name} stream is damaged ({error})"), "fetch or write the file again"),
        };
        BadRecord::of_file(&self.path, line, reason, remedy)
    }
}

/// The members of a gzip file, one after the other; zeros behind the last are padding.
struct GzipMembers<R: BufRead> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(file: R) -> Self {
        Self { member: Some(GzDecoder::new(file)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let mut file = self.member.take().expect("it was just read").into_inner();
            let padding = loop {
                let available = file.fill_buf()?;
                match available.iter().position(|&byte| byte != 0) {
                    Some(zeros) => break Some(zeros),
                    None if available.is_empty() => break None,
                    None => {
                        let zeros = available.len();
                        file.consume(zeros);
                    }
                }
            };
            let Some(zeros) = padding else { return Ok(0) };
            file.consume(zeros);
            if file.fill_buf()?.first() != Some(&0x1f) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "something else follows it"));
            }
            self.member = Some(GzDecoder::new(file));
        }
        Ok(0)
    }
}

/// Fills the buffer as far as the reader has bytes.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
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
