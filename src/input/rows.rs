//! The rows of CSV and TSV.

use std::io;

use csv::{ByteRecord, ErrorKind, ReaderBuilder, Terminator};

use super::fingerprints::shown;
use super::guard::Guard;
use super::record::BadRecord;
use super::stream::Stream;

const BUFFER_BYTES: usize = 256 << 10;

/// The rows of a file, one at a time.
#[derive(Debug)]
pub(super) struct Rows {
    reader: csv::Reader<Guard>,
    row: ByteRecord,
    max_record_bytes: usize,
    done: bool,
}

impl Rows {
    pub(super) fn new(stream: Stream, delimiter: u8, max_record_bytes: usize) -> Self {
        Self::with_capacity(stream, delimiter, max_record_bytes, BUFFER_BYTES)
    }

    pub(super) fn with_capacity(stream: Stream, delimiter: u8, max_record_bytes: usize, capacity: usize) -> Self {
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            // Else it ends a row at the carriage return, and counts the line feed with the next row.
            .terminator(Terminator::Any(b'\n'))
            // The numbers of fields and the names of columns are checked by us, where the remedy is known.
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(capacity)
            .from_reader(Guard::new(stream));
        Self { reader, row: ByteRecord::new(), max_record_bytes, done: false }
    }

    /// Reads no more: without the names of the columns the rest of the file has no meaning.
    pub(super) fn end(&mut self) {
        self.done = true;
    }

    /// Reads the next row that is not blank; `false` at the end.
    pub(super) fn next_row(&mut self) -> Result<bool, BadRecord> {
        let limit = self.max_record_bytes as u64;
        while !self.done {
            let start = self.reader.position().byte();
            self.reader.get_mut().allow(start.saturating_add(limit));
            let read = self.reader.read_byte_record(&mut self.row);
            self.done = !matches!(read, Ok(true));
            match read.map_err(csv::Error::into_kind) {
                Ok(false) => break,
                Ok(true) => {}
                Err(_) if self.reader.get_ref().is_too_long() => return Err(self.too_long()),
                Err(kind) => {
                    // Rows are bytes and any number of fields: nothing else is an error.
                    let e = if let ErrorKind::Io(e) = kind { e } else { io::Error::other(format!("{kind:?}")) };
                    return Err(self.reader.get_ref().stream().broken(&e, Some(self.reader.position().line())));
                }
            }
            let end = self.reader.position().byte();
            let is_void = self.row.len() == 1 && self.row[0].is_empty();
            if self.reader.get_ref().is_behind(end) {
                self.done = true;
                if is_void {
                    break;
                }
                let (reason, remedy) = ("a quotation mark is not closed in this row", "close it, or leave the row out");
                return Err(self.bad(reason, remedy));
            }
            // The line feed is no part of the record.
            if end.saturating_sub(start).saturating_sub(1) > limit {
                return Err(self.too_long());
            }
            if self.row.len() > 1 || &self.row[0] != b"\r" {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A field of the row, without the carriage return of the line's end.
    pub(super) fn field(&self, index: usize) -> &[u8] {
        let field = &self.row[index];
        if index + 1 == self.row.len() { field.strip_suffix(b"\r").unwrap_or(field) } else { field }
    }

    /// Returns the names of the columns, if the row is the first one.
    pub(super) fn names(&self) -> Vec<&[u8]> {
        (0..self.row.len()).map(|index| self.field(index).trim_ascii()).collect()
    }

    /// Refuses a row that has not got a field for each column.
    pub(super) fn check_len(&self, columns: usize) -> Result<(), BadRecord> {
        if self.row.len() == columns {
            return Ok(());
        }
        let reason = format!("the row has {} fields instead of the header's {columns}", self.row.len());
        Err(self.bad(reason, "mend the row, or put fields with separators into quotation marks"))
    }

    /// The line on which the row that was just read begins. The parser's own answer is that of the blank
    /// lines before it.
    pub(super) fn line(&self) -> u64 {
        let inside = memchr::memchr_iter(b'\n', self.row.as_slice()).count() as u64;
        let end = self.reader.position();
        // The line feed behind the row; where a quotation mark is open it is inside.
        let behind = u64::from(!self.reader.get_ref().is_behind(end.byte()));
        end.line().saturating_sub(inside + behind).max(1)
    }

    pub(super) fn bad(&self, reason: impl Into<String>, remedy: impl Into<String>) -> BadRecord {
        self.stream().bad(Some(self.line()), reason, remedy)
    }

    pub(super) fn stream(&self) -> &Stream {
        self.reader.get_ref().stream()
    }

    fn too_long(&self) -> BadRecord {
        let line = if self.done { self.row.position().map_or(1, csv::Position::line) } else { self.line() };
        self.reader.get_ref().stream().too_long(Some(line), self.max_record_bytes)
    }
}

/// Finds a column by its name; says what is wrong where there is not exactly one.
pub(super) fn column(names: &[&[u8]], wanted: &str) -> Result<usize, String> {
    let mut found = (0..names.len()).filter(|&index| names[index] == wanted.as_bytes());
    let problem = match (found.next(), found.next()) {
        (Some(index), None) => return Ok(index),
        (None, _) => "there is no column",
        (Some(_), Some(_)) => "there is more than one column",
    };
    Err(format!("{problem} {wanted:?} among {}", some_of(names.iter().map(|name| shown(name)))))
}

/// Lists names; the first ones if they are many.
pub(super) fn some_of(names: impl ExactSizeIterator<Item = String>) -> String {
    const MOST: usize = 20;
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    names.take(MOST).collect::<Vec<_>>().join(", ") + &more
}
