//! Fingerprints in the columns of CSV and TSV.

use super::columns::Columns;
use super::value::{Refusal, check_id};
use super::{FingerprintBatch, Reader, Wanted};
use crate::input::BadRecord;
use crate::input::rows::Rows;
use crate::input::stream::Stream;

/// The rows of a file.
#[derive(Debug)]
pub(super) struct Table {
    rows: Rows,
    wanted: Wanted,
    /// `None` until the first row was read.
    columns: Option<Columns>,
}

impl Table {
    pub(super) fn new(stream: Stream, delimiter: u8, capacity: usize, wanted: Wanted) -> Self {
        let rows = Rows::with_capacity(stream, delimiter, wanted.max_record_bytes, capacity);
        Self { rows, wanted, columns: None }
    }

    /// Reads the first row; `None` if there is none.
    fn header(&mut self) -> Result<Option<Columns>, BadRecord> {
        if !self.rows.next_row()? {
            return Ok(None);
        }
        Columns::find(&self.rows.names(), &self.wanted).map(Some).map_err(|refusal| self.bad(refusal))
    }

    fn add(&self, batch: &mut FingerprintBatch, columns: Columns) -> Result<(), BadRecord> {
        self.rows.check_len(columns.count)?;
        let value = self.wanted.encoding.parse(self.rows.field(columns.fingerprint));
        let fingerprint = value.map_err(|refusal| self.bad(refusal))?;
        let id = columns.id.map(|index| self.rows.field(index));
        id.map_or(Ok(()), check_id).map_err(|refusal| self.bad(refusal))?;
        batch.push(id, fingerprint);
        Ok(())
    }

    fn bad(&self, refusal: Refusal) -> BadRecord {
        self.rows.bad(refusal.reason, refusal.remedy)
    }
}

impl Reader for Table {
    fn fill(&mut self, batch: &mut FingerprintBatch) -> Result<(), BadRecord> {
        let columns = if let Some(columns) = self.columns {
            columns
        } else {
            let header = self.header();
            if header.is_err() {
                self.rows.end();
            }
            let Some(columns) = header? else { return Ok(()) };
            *self.columns.insert(columns)
        };
        while !batch.is_full() && self.rows.next_row()? {
            self.add(batch, columns)?;
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
