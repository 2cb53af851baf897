//! Fingerprints from files, in batches.

mod batch;
mod binary;
mod columns;
mod format;
mod hex;
mod json;
mod lines;
mod table;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use batch::FingerprintBatch;
pub use format::FingerprintFormat;
pub use value::FingerprintEncoding;
pub(super) use value::shown;

use super::files::Files;
use super::stream::{Compression, Stream};
use super::{BadPattern, BadRecord, Inputs};
use lines::Lines;

const BUFFER_BYTES: usize = 256 << 10;

/// The fingerprints of files, of all files below folders, and of the standard input, in the order in which
/// they are named; the files of a folder by their names.
///
/// Files may be [compressed](FingerprintInputs::compression) and are walked as [`Inputs`] does it. A byte order mark at the start of a text, carriage
/// returns and blank lines do no harm. As with [`Inputs`], a file without any record is an error, be it
/// empty or only the header of a table.
///
/// An error concerns one record, or the rest of a file; the records before it come first, and after it
/// the iterator goes on.
///
/// ```
/// use nearstone::input::FingerprintInputs;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("pages.csv");
/// std::fs::write(&path, "url,simhash\nexample.org/a,00000000000000ff\nexample.org/b,xyz\n")?;
/// let (mut found, mut bad) = (vec![], vec![]);
/// for batch in FingerprintInputs::new([&path]).id_field("url").fingerprint_field("simhash") {
///     match batch {
///         Ok(batch) => found.extend(batch.iter().map(|(id, fingerprint)| (id.unwrap().to_vec(), fingerprint.bits()))),
///         Err(error) => bad.push(error.to_string()),
///     }
/// }
/// assert_eq!(found, [(b"example.org/a".to_vec(), 0xff)]);
/// assert!(bad[0].contains("pages.csv:3: the fingerprint \"xyz\" is not 1 to 16 hexadecimal digits"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FingerprintInputs {
    files: Files,
    format: FingerprintFormat,
    compression: Compression,
    wanted: Wanted,
    current: Option<Current>,
    /// An error that comes after the records before it.
    pending: Option<BadRecord>,
    bytes_read: Arc<AtomicU64>,
}

/// What is taken of a record, and how.
#[derive(Clone, Debug)]
struct Wanted {
    id_field: Option<String>,
    fingerprint_field: String,
    encoding: FingerprintEncoding,
    max_record_bytes: usize,
}

/// A file being read.
#[derive(Debug)]
struct Current {
    path: Arc<PathBuf>,
    reader: Box<dyn Reader>,
    has_records: bool,
}

/// What reads the records of a format.
trait Reader: fmt::Debug + Send {
    /// Adds records until the batch is full or the file ends. An error concerns what follows the records that were
    /// added; the next call goes on behind it.
    fn fill(&mut self, batch: &mut FingerprintBatch) -> Result<(), BadRecord>;
}

impl FingerprintInputs {
    /// The default of [`FingerprintInputs::fingerprint_field`].
    pub const DEFAULT_FINGERPRINT_FIELD: &str = "fingerprint";

    /// Takes files, folders, and `-` for the standard input.
    pub fn new(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let wanted = Wanted {
            id_field: None,
            fingerprint_field: Self::DEFAULT_FINGERPRINT_FIELD.to_owned(),
            encoding: FingerprintEncoding::Hex,
            max_record_bytes: Inputs::DEFAULT_MAX_RECORD_BYTES,
        };
        let (files, format, compression) = (Files::new(paths), FingerprintFormat::Auto, Compression::Auto);
        Self { files, format, compression, wanted, current: None, pending: None, bytes_read: Arc::default() }
    }

    /// Sets the format of all files.
    #[must_use]
    pub fn format(mut self, format: FingerprintFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets whether files are compressed. An array of fingerprints may begin like a compressed file: one in a hundred
    /// million does by chance.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Reads only the files below folders whose names match one of the patterns, such as `*.u64`. Files
    /// that are named themselves are always read.
    ///
    /// # Errors
    /// [`BadPattern`] for one that is none.
    pub fn include(mut self, patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, BadPattern> {
        self.files.include(patterns)?;
        Ok(self)
    }

    /// Leaves out a file, or all files below a folder, that lie below a folder to be read: the store that they are
    /// loaded into, for one.
    #[must_use]
    pub fn exclude(mut self, path: impl AsRef<Path>) -> Self {
        self.files.exclude(path.as_ref());
        self
    }

    /// Takes ids from a column of a table, byte for byte, or from a field of JSON lines, a string or a whole
    /// number. Without it batches have no ids. Formats that have none refuse it, file by file.
    #[must_use]
    pub fn id_field(mut self, name: impl Into<String>) -> Self {
        self.wanted.id_field = Some(name.into());
        self
    }

    /// Sets the column or field with the fingerprint.
    #[must_use]
    pub fn fingerprint_field(mut self, name: impl Into<String>) -> Self {
        self.wanted.fingerprint_field = name.into();
        self
    }

    /// Sets how tables and strings of JSON lines write fingerprints.
    #[must_use]
    pub fn encoding(mut self, encoding: FingerprintEncoding) -> Self {
        self.wanted.encoding = encoding;
        self
    }

    /// Sets the longest line or row in bytes, uncompressed; longer ones are errors. It bounds the memory that
    /// reading takes. A row of a table that is longer by more than a buffer ends its file, since most
    /// likely a quotation mark is not closed.
    #[must_use]
    pub fn max_record_bytes(mut self, bytes: usize) -> Self {
        self.wanted.max_record_bytes = bytes;
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

    fn open(&self, path: &Path) -> Result<Current, BadRecord> {
        use FingerprintFormat as Format;
        let format = self.format.of_file(path)?;
        if self.wanted.id_field.is_some() && !format.has_ids() {
            let (reason, remedy) =
                ("files of this format have no ids", "leave out --id-field, or name another --format");
            return Err(BadRecord::of_file(path, None, reason, remedy));
        }
        let mut stream = Stream::open(path, self.compression, &self.bytes_read)?;
        if !matches!(format, Format::U64Le | Format::U64Be) {
            stream.skip_byte_order_mark()?;
        }
        let path = Arc::clone(&stream.path);
        let wanted = self.wanted.clone();
        let lines = |stream| Lines::new(stream, BUFFER_BYTES, self.wanted.max_record_bytes);
        let reader: Box<dyn Reader> = match format {
            Format::U64Le => Box::new(binary::Binary::new(stream, false)),
            Format::U64Be => Box::new(binary::Binary::new(stream, true)),
            Format::Hex => Box::new(hex::Hex(lines(stream))),
            Format::Csv => Box::new(table::Table::new(stream, b',', BUFFER_BYTES, wanted)),
            Format::Tsv => Box::new(table::Table::new(stream, b'\t', BUFFER_BYTES, wanted)),
            Format::JsonLines => Box::new(json::JsonLines { lines: lines(stream), wanted }),
            Format::Auto => unreachable!("the name has told another"),
        };
        Ok(Current { path, reader, has_records: false })
    }
}

impl Current {
    /// Returns the next records and the error behind them; neither at the end.
    fn next(&mut self, with_ids: bool) -> (Option<FingerprintBatch>, Option<BadRecord>) {
        let mut batch = FingerprintBatch::new(Arc::clone(&self.path), with_ids);
        let mut bad = self.reader.fill(&mut batch).err();
        if batch.is_empty() && bad.is_none() && !self.has_records {
            bad = Some(BadRecord::without_records(&self.path));
        }
        self.has_records = true;
        ((!batch.is_empty()).then_some(batch), bad)
    }
}

impl Iterator for FingerprintInputs {
    type Item = Result<FingerprintBatch, BadRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(bad) = self.pending.take() {
                return Some(Err(bad));
            }
            if let Some(current) = &mut self.current {
                match current.next(self.wanted.id_field.is_some()) {
                    (None, None) => self.current = None,
                    (batch, bad) => {
                        self.pending = bad;
                        match batch {
                            Some(batch) => return Some(Ok(batch)),
                            None => continue,
                        }
                    }
                }
            }
            match self.files.next()?.and_then(|(path, _)| self.open(&path)) {
                Ok(current) => self.current = Some(current),
                Err(bad) => return Some(Err(bad)),
            }
        }
    }
}
