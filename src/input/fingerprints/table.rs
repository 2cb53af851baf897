//! Fingerprints in the columns of CSV and TSV.

use std::io;

use csv::{ByteRecord, ErrorKind, ReaderBuilder, Terminator};

use super::columns::Columns;
use super::guard::Guard;
use super::value::{Refusal, check_id};
use super::{FingerprintBatch, Reader, Wanted};
use crate::input::BadRecord;
use crate::input::stream::Stream;

/// The rows of a file.
#[derive(Debug)]
pub(super) struct Table {
    reader: csv::Reader<Guard>,
    wanted: Wanted,
    /// `None` until the first row was read.
    columns: Option<Columns>,
    row: ByteRecord,
    done: bool,
}

impl Table {
    pub(super) fn new(stream: Stream, delimiter: u8, capacity: usize, wanted: Wanted) -> Self {
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            // Else it ends a row at the carriage return, and counts the line feed with the next row.
            .terminator(Terminator::Any(b'\n'))
            // The numbers of fields and the names of columns are checked here, where the remedy is known.
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(capacity)
            .from_reader(Guard::new(stream));
        Self { reader, wanted, columns: None, row: ByteRecord::new(), done: false }
    }

    /// Reads the next row that is not blank; `false` at the end.
    fn next_row(&mut self) -> Result<bool, BadRecord> {
        let limit = self.wanted.max_record_bytes as u64;
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
                return Err(self.bad(Refusal::new(reason, remedy)));
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
    fn field(&self, index: usize) -> &[u8] {
        let field = &self.row[index];
        if index + 1 == self.row.len() { field.strip_suffix(b"\r").unwrap_or(field) } else { field }
    }

    /// Reads the first row; `None` if there is none.
    fn header(&mut self) -> Result<Option<Columns>, BadRecord> {
        if !self.next_row()? {
            return Ok(None);
        }
        let names: Vec<_> = (0..self.row.len()).map(|index| self.field(index).trim_ascii()).collect();
        Columns::find(&names, &self.wanted).map(Some).map_err(|refusal| self.bad(refusal))
    }

    fn add(&self, batch: &mut FingerprintBatch, columns: Columns) -> Result<(), Refusal> {
        if self.row.len() != columns.count {
            let reason = format!("the row has {} fields instead of the header's {}", self.row.len(), columns.count);
            return Err(Refusal::new(reason, "mend the row, or put fields with separators into quotation marks"));
        }
        let fingerprint = self.wanted.encoding.parse(self.field(columns.fingerprint))?;
        let id = columns.id.map(|index| self.field(index));
        id.map_or(Ok(()), check_id)?;
        batch.push(id, fingerprint);
        Ok(())
    }

    /// The line on which the row that was just read begins. The parser's own answer is that of the blank
    /// lines before it.
    fn line(&self) -> u64 {
        let inside = memchr::memchr_iter(b'\n', self.row.as_slice()).count() as u64;
        let end = self.reader.position();
        // The line feed behind the row; where a quotation mark is open it is inside.
        let behind = u64::from(!self.reader.get_ref().is_behind(end.byte()));
        end.line().saturating_sub(inside + behind).max(1)
    }

    fn bad(&self, refusal: Refusal) -> BadRecord {
        self.reader.get_ref().stream().bad(Some(self.line()), refusal.reason, refusal.remedy)
    }

    fn too_long(&self) -> BadRecord {
        let line = if self.done { self.row.position().map_or(1, csv::Position::line) } else { self.line() };
        self.reader.get_ref().stream().too_long(Some(line), self.wanted.max_record_bytes)
    }
}

impl Reader for Table {
    fn fill(&mut self, batch: &mut FingerprintBatch) -> Result<(), BadRecord> {
        let columns = if let Some(columns) = self.columns {
            columns
        } else {
            // Without the names of the columns the rest of the file has no meaning.
            let header = self.header();
            self.done |= header.is_err();
            let Some(columns) = header? else { return Ok(()) };
            *self.columns.insert(columns)
        };
        while !batch.is_full() && self.next_row()? {
            self.add(batch, columns).map_err(|refusal| self.bad(refusal))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_ID_BYTES;
    use crate::input::fingerprints::FingerprintEncoding;
    use crate::input::fingerprints::tests::{drain, wanted};

    fn read_by(text: &[u8], capacity: usize, wanted: Wanted) -> (Vec<(Option<String>, u64)>, Vec<String>) {
        let with_ids = wanted.id_field.is_some();
        let stream = Stream::of(std::io::Cursor::new(text.to_vec()), capacity);
        drain(Table::new(stream, b',', capacity, wanted), with_ids)
    }

    fn read(text: &[u8]) -> (Vec<(Option<String>, u64)>, Vec<String>) {
        read_by(text, 1000, wanted(Some("id")))
    }

    #[test]
    fn rows_of_every_kind_whatever_the_buffer() {
        let text = "\n\"id\",x,fingerprint\na,,ff\r\n\r\n\n\"b\"\"\n,c\",\"\n\",\"0x1\"\r\nx,1\n\n\r\n é ,5\" tall, 8000000000000000 \nlast,,g\n,,1\nend,,\"0\"";
        for text in [text.to_owned(), format!("{text}\n"), format!("{text}\r\n"), format!("{text}\n\n\r\n\n")] {
            for capacity in 1..50 {
                let (found, errors) = read_by(text.as_bytes(), capacity, wanted(Some("id")));
                let rows = [("a", 0xff), ("b\"\n,c", 1), (" é ", 1 << 63), ("end", 0)];
                assert_eq!(found, rows.map(|(id, bits)| (Some(id.to_owned()), bits)), "{capacity}");
                let starts = ["f:9: the row has 2 fields", "f:13: the fingerprint \"g\"", "f:14: the id has 0 bytes"];
                assert_eq!(errors.len(), starts.len(), "{errors:?}");
                assert!(errors.iter().zip(starts).all(|(error, start)| error.starts_with(start)), "{errors:?}");
            }
        }
    }

    #[test]
    fn the_first_row_names_the_columns() {
        for header in ["id,h", " id , h ", "\"id\",\"h\"\r", "\n\r\nid,h\r"] {
            let wanted = Wanted { fingerprint_field: "h".into(), ..wanted(Some("id")) };
            let (found, errors) = read_by(format!("{header}\na,1").as_bytes(), 9, wanted);
            assert_eq!((found, errors), (vec![(Some("a".to_owned()), 1)], vec![]), "{header:?}");
        }
        let (found, errors) = read(b"\nfingerprint\n1\n");
        assert!(found.is_empty() && errors.len() == 1, "{errors:?}");
        assert!(errors[0].starts_with("f:2: there is no column \"id\" among \"fingerprint\": name"), "{errors:?}");
    }

    #[test]
    fn decimals_are_read_if_they_are_named() {
        let text = b"fingerprint\n-9223372036854775808\n-9223372036854775809\n-1\n";
        let with = |encoding| read_by(text, 4, Wanted { encoding, ..wanted(None) });
        let (found, errors) = with(FingerprintEncoding::SignedDecimal);
        assert_eq!((found, errors.len()), (vec![(None, 1 << 63), (None, u64::MAX)], 1));
        assert_eq!(with(FingerprintEncoding::Decimal).1.len(), 3);
    }

    #[test]
    fn an_open_quotation_mark_swallows_no_rows_in_silence() {
        for end in ["", "\n", "\nb,2", "\n\"\"", " \"\" x\n"] {
            let (found, errors) = read(format!("fingerprint,id\n1,a\n\n2,\"x{end}").as_bytes());
            assert_eq!((found.len(), errors.len()), (1, 1), "{end:?}: {errors:?}");
            assert!(errors[0].starts_with("f:4: a quotation mark is not closed"), "{errors:?}");
        }
        assert!(read(b"fingerprint,id\n1,\"\"\"\"").1.is_empty());
    }

    #[test]
    fn ids_and_rows_have_their_limits() {
        let row = |length: usize| format!("id,fingerprint\n{},1\nb,2\n", "x".repeat(length));
        assert_eq!(read(row(MAX_ID_BYTES).as_bytes()).0.len(), 2);
        let (found, errors) = read(row(MAX_ID_BYTES + 1).as_bytes());
        assert_eq!(found, [(Some("b".to_owned()), 2)]);
        assert!(errors[0].starts_with("f:2: the id has 1025 bytes instead of 1 to 1024"), "{errors:?}");
        let limited = |length, capacity| {
            read_by(row(length).as_bytes(), capacity, Wanted { max_record_bytes: 101, ..wanted(None) })
        };
        // A row that is longer by more than the buffer is not followed to its end.
        for (length, capacity, count) in [(100, 1000, 1), (100, 10, 1), (120, 10, 0), (99, 10, 2)] {
            let (found, errors) = limited(length, capacity);
            assert_eq!((found.len(), errors.len()), (count, usize::from(count < 2)), "{errors:?}");
            assert!(errors.iter().all(|e| e.starts_with("f:2: the record is longer than 101 bytes")), "{errors:?}");
        }
    }

    #[test]
    fn without_a_header_nothing_of_the_file_is_taken() {
        for capacity in [1, 10, 1000] {
            let (found, errors) = read_by(
                b"id,another column,fingerprint
id,fingerprint
a,1\n",
                capacity,
                Wanted { max_record_bytes: 20, ..wanted(Some("id")) },
            );
            assert_eq!((found.len(), errors.len()), (0, 1), "{errors:?}");
            assert!(errors[0].starts_with("f:1: the record is longer than 20 bytes"), "{errors:?}");
        }
    }
}
