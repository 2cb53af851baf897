//! Texts in the columns of CSV and TSV.

use std::sync::Arc;

use super::record::{BadRecord, Origin, Parsing, RawRecord};
use super::rows::{Rows, column};
use super::stream::Stream;

/// Where the header has the columns.
#[derive(Clone, Copy, Debug)]
struct Columns {
    count: usize,
    id: Option<usize>,
    text: usize,
}

/// The rows of a file.
#[derive(Debug)]
pub(super) struct Table {
    rows: Rows,
    parsing: Arc<Parsing>,
    /// `None` until the first row was read.
    columns: Option<Columns>,
    has_records: bool,
    done: bool,
}

impl Table {
    pub(super) fn new(mut stream: Stream, delimiter: u8, parsing: &Arc<Parsing>) -> Result<Self, BadRecord> {
        stream.skip_byte_order_mark()?;
        let rows = Rows::new(stream, delimiter, parsing.max_record_bytes);
        Ok(Self { rows, parsing: Arc::clone(parsing), columns: None, has_records: false, done: false })
    }

    pub(super) fn next(&mut self) -> Option<Result<RawRecord, BadRecord>> {
        if self.done {
            return None;
        }
        let next = self.read();
        self.done = matches!(next, Ok(None)) || self.columns.is_none();
        match next {
            Ok(None) if !self.has_records => Some(Err(self.rows.stream().empty())),
            next => {
                self.has_records = true;
                next.transpose()
            }
        }
    }

    fn read(&mut self) -> Result<Option<RawRecord>, BadRecord> {
        let columns = if let Some(columns) = self.columns {
            columns
        } else {
            if !self.rows.next_row()? {
                return Ok(None);
            }
            *self.columns.insert(self.header()?)
        };
        if !self.rows.next_row()? {
            return Ok(None);
        }
        self.rows.check_len(columns.count)?;
        let id = columns.id.map(|id| std::str::from_utf8(self.rows.field(id)).map(str::to_owned)).transpose();
        let id =
            id.map_err(|_| self.rows.bad("the id is not UTF-8", "convert the file to UTF-8, or leave the row out"))?;
        let (bytes, origin) = (self.rows.field(columns.text).to_vec(), Origin::Row(self.rows.line(), id));
        let file = Arc::clone(&self.rows.stream().path);
        Ok(Some(RawRecord { bytes, file, origin, parsing: Arc::clone(&self.parsing) }))
    }

    /// Finds the columns by the names in the first row.
    fn header(&self) -> Result<Columns, BadRecord> {
        let names = self.rows.names();
        let find = |name: &str, remedy| column(&names, name).map_err(|reason| self.rows.bad(reason, remedy));
        let fields = &self.parsing.fields;
        let id = fields
            .id
            .as_deref()
            .map(|id| find(id, "name the column with --id-field, or take --line-ids"))
            .transpose()?;
        let text = find(&fields.text, "name the column with --text-field or --html-field")?;
        Ok(Columns { count: names.len(), id, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Fields, Inputs};

    fn read(text: &[u8], delimiter: u8, fields: Fields) -> Vec<String> {
        let parsing = Inputs::new([""; 0]).fields(fields).max_record_bytes(1000).parsing;
        let mut table = Table::new(Stream::of(std::io::Cursor::new(text.to_vec()), 100), delimiter, &parsing).unwrap();
        let mut found = Vec::new();
        while let Some(next) = table.next() {
            found.push(match next.and_then(|raw| raw.parse()) {
                Ok(document) => document.map(|d| format!("{}={}", d.id, d.text)).unwrap(),
                Err(e) => e.to_string().split(": ").take(2).collect::<Vec<_>>().join(": "),
            });
        }
        found
    }

    #[test]
    fn rows_are_documents_and_bad_ones_are_named() {
        let text =
            "\u{feff}x,id,text\r\n1,a,one\n\n2,\"b\"\"c\",\"two,\nlines\"\r\n3,d\n4,,five\n5,e,\n6,f,\"six".as_bytes();
        let expected = [
            "a=one",
            "b\"c=two,\nlines",
            "f:6: the row has 2 fields instead of the header's 3",
            "f:7: the id has 0 bytes instead of 1 to 1024",
            "e=",
            "f:9: a quotation mark is not closed in this row",
        ];
        assert_eq!(read(text, b',', Fields::default()), expected);
        let tabs = "t\tn\n\"o\tne\"\t7\n\u{e9}\t8\n".as_bytes();
        let fields = Fields { id: Some("n".to_owned()), text: "t".to_owned() };
        assert_eq!(read(tabs, b'\t', fields.clone()), ["7=o\tne", "8=\u{e9}"]);
        let by_line = Fields { id: None, ..fields };
        assert_eq!(read(tabs, b'\t', by_line), ["f:2=o\tne", "f:3=\u{e9}"]);
        assert_eq!(
            read(b"id,text\na,\xff\n\xff,b\nc,d", b',', Fields::default())[..2],
            ["f:2: the record is not UTF-8 (byte 1 of it)", "f:3: the id is not UTF-8"]
        );
        let long = [b"id,text\na,", &[b'x'; 2000][..], b"\nb,two\n"].concat();
        assert_eq!(read(&long, b',', Fields::default())[0], "f:2: the record is longer than 1000 bytes");
    }

    #[test]
    fn a_table_needs_its_columns_and_a_row() {
        for (text, error) in [
            (&b"id,body\na,b\n"[..], "f:1: there is no column \"text\" among \"id\", \"body\""),
            (b"ID,text\na,b\n", "f:1: there is no column \"id\" among \"ID\", \"text\""),
            (b"id,text,text\na,b,c\n", "f:1: there is more than one column \"text\" among \"id\", \"text\", \"text\""),
            (b"id,text\n\n", "f: has no records"),
            (b"", "f: has no records"),
        ] {
            assert_eq!(read(text, b',', Fields::default()), [error]);
        }
    }
}
