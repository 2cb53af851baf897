//! One file of documents, cut into records.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::lines::{Line, next_line};
use super::opened::Opened;
#[cfg(feature = "parquet")]
use super::parquet::Parquet;
use super::record::{Origin, Parsing};
use super::stream::{STDIN, Stream, ending};
use super::table::Table;
use super::web::{self, Archive, Dialect};
use super::{BadRecord, Format, RawRecord};

/// How a file is cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lines,
    Whole,
    Table(u8),
    Archive(Dialect),
    Parquet,
}

impl Kind {
    fn of_name(path: &Path) -> Self {
        match ending(path).as_deref() {
            Some("jsonl" | "ndjson") => Self::Lines,
            Some("csv") => Self::Table(b','),
            Some("tsv") => Self::Table(b'\t'),
            Some("warc" | "wet") => Self::Archive(Dialect::Warc),
            Some("arc") => Self::Archive(Dialect::Arc),
            Some("parquet") => Self::Parquet,
            _ if path.as_os_str() == STDIN => Self::Lines,
            _ => Self::Whole,
        }
    }

    fn of(format: Format, opened: &Opened) -> Self {
        match format {
            Format::JsonLines => Self::Lines,
            Format::Text => Self::Whole,
            Format::Csv => Self::Table(b','),
            Format::Tsv => Self::Table(b'\t'),
            Format::Warc => Self::Archive(Dialect::Warc),
            Format::Arc => Self::Archive(Dialect::Arc),
            Format::Parquet => Self::Parquet,
            Format::Auto => {
                let by_content = Dialect::of_content(&web::beginning(&opened.first)).map(Self::Archive);
                by_content.unwrap_or_else(|| Self::of_name(&opened.path))
            }
        }
    }
}

/// An open file.
#[derive(Debug)]
pub(super) enum Source {
    Plain(Plain),
    Table(Box<Table>),
    Archive(Box<Archive>),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet>),
}

impl Source {
    pub(super) fn open(
        path: &Path,
        format: Format,
        named: bool,
        parsing: &Arc<Parsing>,
        bytes_read: &Arc<AtomicU64>,
    ) -> Result<Self, BadRecord> {
        // It is read from its end and in pieces, not as a stream.
        if format == Format::Parquet || (format == Format::Auto && Kind::of_name(path) == Kind::Parquet) {
            return open_parquet(path, parsing, bytes_read);
        }
        let opened = Opened::open(path, bytes_read)?;
        let kind = Kind::of(format, &opened);
        if let Kind::Archive(dialect) = kind {
            return Ok(Self::Archive(Box::new(Archive::new(opened, dialect, parsing))));
        }
        let stream = Stream::new(opened)?;
        if let Kind::Table(delimiter) = kind {
            return Ok(Self::Table(Box::new(Table::new(stream, delimiter, parsing)?)));
        }
        let must_have_records = named || kind == Kind::Lines;
        let parsing = Arc::clone(parsing);
        let is_whole = kind == Kind::Whole;
        Ok(Self::Plain(Plain { stream, is_whole, parsing, line: 0, must_have_records, done: false }))
    }

    pub(super) fn next(&mut self) -> Option<Result<RawRecord, BadRecord>> {
        match self {
            Self::Plain(plain) => plain.next(),
            Self::Table(table) => table.next(),
            Self::Archive(archive) => archive.next(),
            #[cfg(feature = "parquet")]
            Self::Parquet(parquet) => parquet.next(),
        }
    }
}

#[cfg(feature = "parquet")]
fn open_parquet(path: &Path, parsing: &Arc<Parsing>, bytes_read: &Arc<AtomicU64>) -> Result<Source, BadRecord> {
    if path.as_os_str() == STDIN {
        let reason = "Parquet is read from its end, which the standard input has not got";
        return Err(BadRecord::of_file(path, None, reason, "write it to a file first"));
    }
    Parquet::open(path, parsing, bytes_read).map(|parquet| Source::Parquet(Box::new(parquet)))
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(path: &Path, _: &Arc<Parsing>, _: &Arc<AtomicU64>) -> Result<Source, BadRecord> {
    let remedy = "build with the feature `parquet`, or convert it to JSON lines";
    Err(BadRecord::of_file(path, None, "is Parquet, which this build does not read", remedy))
}

/// A file of lines, or one that is a text.
#[derive(Debug)]
pub(super) struct Plain {
    stream: Stream,
    is_whole: bool,
    parsing: Arc<Parsing>,
    line: u64,
    /// Whether an input without any record is an error.
    must_have_records: bool,
    done: bool,
}

impl Plain {
    fn next(&mut self) -> Option<Result<RawRecord, BadRecord>> {
        if self.done {
            return None;
        }
        if self.is_whole {
            self.done = true;
            return Some(self.whole());
        }
        self.next_line()
    }

    fn record(&self, bytes: Vec<u8>, origin: Origin) -> RawRecord {
        RawRecord { bytes, file: Arc::clone(&self.stream.path), origin, parsing: Arc::clone(&self.parsing) }
    }

    fn next_line(&mut self) -> Option<Result<RawRecord, BadRecord>> {
        loop {
            self.line += 1;
            let mut bytes = Vec::new();
            let line = match next_line(&mut self.stream.reader, &mut bytes, self.parsing.max_record_bytes) {
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
                    return Some(Ok(self.record(bytes, Origin::Line(self.line))));
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
        let limit = (self.parsing.max_record_bytes as u64).saturating_add(1);
        if let Err(e) = self.stream.reader.by_ref().take(limit).read_to_end(&mut bytes) {
            return Err(self.broken(&e, None));
        }
        if bytes.len() > self.parsing.max_record_bytes {
            return Err(self.too_long(None));
        }
        if bytes.is_empty() && self.must_have_records {
            return Err(self.stream.empty());
        }
        Ok(self.record(bytes, Origin::File))
    }

    fn too_long(&self, line: Option<u64>) -> BadRecord {
        self.stream.too_long(line, self.parsing.max_record_bytes)
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
        for name in ["a.jsonl", "a.ndjson", "a.JSONL.gz", "x/a.b.jsonl.zst", "a.ndjson.lz4", "-"] {
            assert_eq!(Kind::of_name(Path::new(name)), Kind::Lines, "{name}");
        }
        assert_eq!(Kind::of_name(Path::new("a.CSV.gz")), Kind::Table(b','));
        assert_eq!(Kind::of_name(Path::new("a.tsv")), Kind::Table(b'\t'));
        for name in ["a.warc", "a.WARC.gz", "a.warc.zst", "a.warc.lz4", "a.warc.wet.gz", "a.wet"] {
            assert_eq!(Kind::of_name(Path::new(name)), Kind::Archive(Dialect::Warc), "{name}");
        }
        assert_eq!(Kind::of_name(Path::new("a.Parquet")), Kind::Parquet);
        assert_eq!(Kind::of_name(Path::new("a.arc.gz")), Kind::Archive(Dialect::Arc));
        for name in ["a.txt", "LICENSE", "a.json", "jsonl", "a.txt.gz", "a.jsonl.txt", "a.gz"] {
            assert_eq!(Kind::of_name(Path::new(name)), Kind::Whole, "{name}");
        }
    }
}
