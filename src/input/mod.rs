//! Documents from files: JSON lines, texts and folders of them, plain or compressed. Those that have a
//! fingerprint already are read by [`FingerprintInputs`].
//!
//! Reading is split in two, so that the expensive half can run in many threads: [`Inputs`] yields
//! [`RawRecord`]s one after the other, and [`Fields::parse`] makes a [`TextDocument`] of each.
//!
//! ```
//! use nearstone::input::{Fields, Inputs};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("pages.jsonl");
//! # std::fs::write(&path, "{\"id\": 7, \"text\": \"seven\"}\n")?;
//! for raw in Inputs::new([&path]) {
//!     let document = Fields::default().parse(&raw?)?;
//!     assert_eq!((document.id.as_str(), document.text.as_str()), ("7", "seven"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod files;
mod fingerprints;
mod jsonl;
mod lines;
mod source;
mod stream;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use fingerprints::{FingerprintBatch, FingerprintEncoding, FingerprintFormat, FingerprintInputs};
pub use jsonl::{Fields, TextDocument};

use files::Files;
use source::{Kind, Source};

/// What the records of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// By the name of the file without `.gz` or `.zst`: `.jsonl` and `.ndjson` are JSON lines, as is
    /// the standard input; any other file is one text.
    #[default]
    Auto,
    /// One JSON object a line.
    JsonLines,
    /// The whole file is one text in UTF-8.
    Text,
}

/// A record as it was read, with the place where it was found.
#[derive(Clone, Debug)]
pub struct RawRecord {
    /// The bytes of the record: a line with its end, or a whole file.
    pub bytes: Vec<u8>,
    /// The file.
    pub(crate) file: Arc<PathBuf>,
    /// The line, counted from 1, or `None` where the record is the whole file.
    pub(crate) line: Option<u64>,
}

impl RawRecord {
    /// Returns the file that the record is from, `-` for the standard input.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the line, counted from 1, or `None` where the record is a whole file.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// Makes an error that names the place of the record.
    #[must_use]
    pub fn bad(&self, reason: impl Into<String>, remedy: impl Into<String>) -> BadRecord {
        BadRecord { file: self.file.to_path_buf(), line: self.line, reason: reason.into(), remedy: remedy.into() }
    }
}

/// A record, or the rest of a file, that cannot be used: the place, the reason and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    file: PathBuf,
    line: Option<u64>,
    reason: String,
    remedy: String,
}

impl BadRecord {
    fn of_file(file: &Path, line: Option<u64>, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, reason: reason.into(), remedy: remedy.into() }
    }

    fn without_records(file: &Path) -> Self {
        Self::of_file(file, None, "has no records", "leave it out, or check what wrote it")
    }
}

/// `FILE:LINE: reason: remedy`, in one line.
impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names and reasons may come from the data: no line break or escape of theirs reaches a terminal.
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let text = format!("{}{line}: {}: {}", self.file.display(), self.reason, self.remedy);
        text.chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
    }
}

impl std::error::Error for BadRecord {}

/// A pattern that is none, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern {pattern:?} cannot be used: {reason}")]
pub struct BadPattern {
    pattern: String,
    reason: String,
}

/// The records of files, of all files below folders, and of the standard input, in the order in which
/// they are named; the files of a folder by their names.
///
/// Files that are compressed with gzip or zstd, in any number of members, are recognised by their
/// first bytes. An error concerns one record, or the rest of a file; after it the iterator goes on.
#[derive(Debug)]
pub struct Inputs {
    files: Files,
    format: Format,
    max_record_bytes: usize,
    current: Option<Source>,
    bytes_read: Arc<AtomicU64>,
}

impl Inputs {
    /// The default of [`Inputs::max_record_bytes`]: 64 MiB.
    pub const DEFAULT_MAX_RECORD_BYTES: usize = 64 << 20;

    /// Takes files, folders, and `-` for the standard input.
    pub fn new(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        Self {
            files: Files::new(paths),
            format: Format::Auto,
            max_record_bytes: Self::DEFAULT_MAX_RECORD_BYTES,
            current: None,
            bytes_read: Arc::default(),
        }
    }

    /// Sets the format of all files.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Reads only the files below folders whose names match one of the patterns, such as `*.txt`. Files
    /// that are named themselves are always read.
    ///
    /// # Errors
    /// [`BadPattern`] for one that is none.
    pub fn include(mut self, patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, BadPattern> {
        self.files.include(patterns)?;
        Ok(self)
    }

    /// Leaves out a file, or all files below a folder, that lie below a folder to be read: the output of
    /// the same run, for one.
    #[must_use]
    pub fn exclude(mut self, path: impl AsRef<Path>) -> Self {
        self.files.exclude(path.as_ref());
        self
    }

    /// Sets the longest record in bytes, uncompressed; longer ones are errors. It bounds the memory
    /// that reading takes.
    #[must_use]
    pub fn max_record_bytes(mut self, bytes: usize) -> Self {
        self.max_record_bytes = bytes;
        self
    }

    /// Returns the bytes of all named files together, compressed as they are, or `None` where that is
    /// not known beforehand: folders and the standard input.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        self.files.total_bytes()
    }

    /// Returns the counter of the bytes read so far, compressed as they are.
    #[must_use]
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes_read)
    }

    fn open(&self, path: &Path, named: bool) -> Result<Source, BadRecord> {
        let kind = match self.format {
            Format::JsonLines => Kind::Lines,
            Format::Text => Kind::Whole,
            Format::Auto => Kind::of_name(path),
        };
        Source::open(path, kind, named, self.max_record_bytes, &self.bytes_read)
    }
}

impl Iterator for Inputs {
    type Item = Result<RawRecord, BadRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(source) = &mut self.current {
                match source.next() {
                    Some(record) => return Some(record),
                    None => self.current = None,
                }
            }
            let opened = match self.files.next()? {
                Ok((path, named)) => self.open(&path, named),
                Err(bad) => Err(bad),
            };
            match opened {
                Ok(source) => self.current = Some(source),
                Err(bad) => return Some(Err(bad)),
            }
        }
    }
}

/// Counts what was read from a file.
#[derive(Debug)]
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: std::io::Read> std::io::Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
