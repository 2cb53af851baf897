//! The rows of one row group.

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::column::Reader;
use super::pages::{FilePages, pages};
use super::schema::{Column, Columns};

/// What is read of a row.
#[derive(Debug)]
pub(super) struct Row {
    /// Empty where it is null: a record without a text.
    pub(super) text: Vec<u8>,
    pub(super) id: Id,
}

/// What is read of an id.
#[derive(Debug)]
pub(super) enum Id {
    NotRead,
    Null,
    Is(Vec<u8>),
}

/// The columns of a row group.
pub(super) struct Group {
    text: Reader,
    id: Option<Reader>,
    left: u64,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Group {
    pub(super) fn open(group: &RowGroupMetaData, columns: &Columns, file: &FilePages) -> Result<Self> {
        let left = u64::try_from(group.num_rows()).map_err(|_| damaged("the number of rows is negative"))?;
        let reader = |column: Column| -> Result<Reader> {
            let chunk = group.columns().get(column.index).ok_or_else(|| damaged("a column is missing"))?;
            check(chunk, group.num_rows())?;
            Ok(Reader::new(column.values, chunk.column_descr_ptr(), pages(file, chunk, group.num_rows())?))
        };
        let id = columns.id.map(reader).transpose()?;
        Ok(Self { text: reader(columns.text)?, id, left })
    }

    /// Reads the next row; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Row>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let text = self.text.next()?.unwrap_or_default();
        let id = match &mut self.id {
            None => Id::NotRead,
            Some(column) => column.next()?.map_or(Id::Null, Id::Is),
        };
        Ok(Some(Row { text, id }))
    }
}

/// Refuses what the crate takes for granted.
fn check(chunk: &ColumnChunkMetaData, rows: i64) -> Result<()> {
    if chunk.file_path().is_some() {
        return Err(damaged("its columns are in other files: name those"));
    }
    let places = [Some(chunk.data_page_offset()), chunk.dictionary_page_offset(), Some(chunk.compressed_size())];
    if places.into_iter().flatten().any(|place| place < 0) {
        return Err(damaged("the place of a column is negative"));
    }
    // A column that is not nested has a value, maybe null, for each row.
    if chunk.num_values() != rows {
        return Err(damaged(&format!("a column has {} values for {rows} rows", chunk.num_values())));
    }
    Ok(())
}

pub(super) fn damaged(reason: &str) -> ParquetError {
    ParquetError::General(reason.to_owned())
}
