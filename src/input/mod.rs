//! Documents from files: JSON lines, tables, Parquet, web archives, texts and folders of them, plain or compressed. Those that
//! have a fingerprint already are read by [`FingerprintInputs`].
//!
//! Reading is split in two, so that the expensive half can run in many threads: [`Inputs`] yields
//! [`RawRecord`]s one after the other, and [`RawRecord::parse`] makes a [`TextDocument`] of each.
//!
//! ```
//! use nearstone::input::Inputs;
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("pages.jsonl");
//! # std::fs::write(&path, "{\"id\": 7, \"text\": \"seven\"}\n")?;
//! for raw in Inputs::new([&path]) {
//!     let document = raw?.parse()?.unwrap();
//!     assert_eq!((document.id.as_str(), document.text.as_str()), ("7", "seven"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A crawl has records that are no documents. They are passed over, and counted:
//!
//! ```
//! use nearstone::input::Inputs;
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("crawl.warc");
//! let page = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nA page.";
//! # let record = |kind: &str, content: &str| format!(
//! #     "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://example.org/\r\n\
//! #      Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{content}\r\n\r\n", content.len());
//! std::fs::write(&path, record("request", "GET / HTTP/1.1\r\n\r\n") + &record("response", page))?;
//! let inputs = Inputs::new([&path]);
//! let passed_over = inputs.passed_over();
//! let documents: Vec<_> = inputs.map(|raw| raw?.parse()).collect::<Result<_, _>>()?;
//! assert_eq!(documents.len(), 1);
//! assert_eq!(documents[0].as_ref().unwrap().id, "http://example.org/");
//! assert_eq!(passed_over.to_string(), "1 requests");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod files;
mod fingerprints;
mod guard;
mod gzip;
mod jsonl;
mod lines;
mod lz4;
mod opened;
#[cfg(feature = "parquet")]
mod parquet;
mod passed_over;
mod raw;
mod record;
mod rows;
mod source;
mod stream;
mod table;
mod web;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use fingerprints::{FingerprintBatch, FingerprintEncoding, FingerprintFormat, FingerprintInputs};
pub use jsonl::Fields;
pub use passed_over::PassedOver;
pub use record::{BadPattern, BadRecord, RawRecord, TextDocument};
pub use stream::Compression;
pub use web::{Capture, WebId};

use files::Files;
use record::Parsing;
use source::Source;

/// What the records of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// By the name of the file without `.gz`, `.zst` or `.lz4`: `.jsonl` and `.ndjson` are JSON lines, as is
    /// the standard input; `.csv` and `.tsv` are tables; `.warc` and `.wet` are WARC, `.arc` is ARC, and so is anything that begins like one;
    /// `.parquet` is Parquet. Any other file is one text.
    #[default]
    Auto,
    /// One JSON object a line.
    JsonLines,
    /// The whole file is one text in UTF-8.
    Text,
    /// Rows with commas, quoted as in RFC 4180; the first one names the columns.
    Csv,
    /// As CSV, with tabulators instead of commas.
    Tsv,
    /// A web archive: responses, resources and conversions with texts are documents.
    Warc,
    /// A web archive in the format before WARC.
    Arc,
    /// A column of texts and one of ids, in Parquet. Without the feature `parquet` such files are errors; with it, a program
    /// that is built with `panic = "abort"` may end on a damaged file instead of naming it. The first such file puts a hook for panics before
    /// the one that is there, which keeps those that are taken for damage from printing, and hands on all others.
    Parquet,
}

/// The records of files, of all files below folders, and of the standard input, in the order in which
/// they are named; the files of a folder by their names.
///
/// Files that are compressed with gzip, zstd or LZ4, in any number of members, are recognised by their
/// first bytes. An error concerns one record, or the rest of a file; after it the iterator goes on.
#[derive(Debug)]
pub struct Inputs {
    files: Files,
    format: Format,
    parsing: Arc<Parsing>,
    current: Option<Source>,
    bytes_read: Arc<AtomicU64>,
}

impl Inputs {
    /// The default of [`Inputs::max_record_bytes`]: 64 MiB.
    pub const DEFAULT_MAX_RECORD_BYTES: usize = 64 << 20;

    /// Takes files, folders, and `-` for the standard input.
    pub fn new(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let parsing = Parsing {
            fields: Fields::default(),
            web_id: WebId::default(),
            #[cfg(feature = "html")]
            html: crate::html::Html::default(),
            #[cfg(feature = "html")]
            fields_are_html: false,
            max_record_bytes: Self::DEFAULT_MAX_RECORD_BYTES,
            passed_over: Arc::default(),
        };
        Self {
            files: Files::new(paths),
            format: Format::Auto,
            parsing: Arc::new(parsing),
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

    /// Sets where JSON lines, tables and Parquet have their ids and texts.
    #[must_use]
    pub fn fields(mut self, fields: Fields) -> Self {
        self.parsing_mut().fields = fields;
        self
    }

    /// Sets what the ids of pages in web archives are.
    #[must_use]
    pub fn web_id(mut self, id: WebId) -> Self {
        self.parsing_mut().web_id = id;
        self
    }

    /// Sets what is taken of the HTML in web archives.
    #[cfg(feature = "html")]
    #[must_use]
    pub fn html(mut self, html: crate::html::Html) -> Self {
        self.parsing_mut().html = html;
        self
    }

    /// Sets whether the texts of JSON lines and tables are HTML, of which is taken what is taken of that in web archives.
    #[cfg(feature = "html")]
    #[must_use]
    pub fn fields_are_html(mut self, are_html: bool) -> Self {
        self.parsing_mut().fields_are_html = are_html;
        self
    }

    /// Sets the longest record in bytes, uncompressed; longer ones are errors. It bounds the memory
    /// that reading takes, and what the content of a record in a web archive may become when it is decoded.
    #[must_use]
    pub fn max_record_bytes(mut self, bytes: usize) -> Self {
        self.parsing_mut().max_record_bytes = bytes;
        self
    }

    fn parsing_mut(&mut self) -> &mut Parsing {
        Arc::make_mut(&mut self.parsing)
    }

    /// Returns the counts of the records of web archives that are passed over. They grow while records are read
    /// and parsed.
    #[must_use]
    pub fn passed_over(&self) -> Arc<PassedOver> {
        Arc::clone(&self.parsing.passed_over)
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
        Source::open(path, self.format, named, &self.parsing, &self.bytes_read)
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
