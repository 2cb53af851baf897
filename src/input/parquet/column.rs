//! The values of one column, one at a time.

use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::schema::types::ColumnDescPtr;

use super::group::damaged;
use super::schema::Values;

/// The column of a row group.
pub(super) enum Reader {
    Texts(One<ByteArrayType>),
    Int32(One<Int32Type>, bool),
    Int64(One<Int64Type>, bool),
}

impl Reader {
    pub(super) fn new(values: Values, column: ColumnDescPtr, pages: Box<dyn PageReader>) -> Self {
        match values {
            Values::Texts => Self::Texts(One::new(column, pages)),
            Values::Int32 | Values::UInt32 => Self::Int32(One::new(column, pages), values == Values::Int32),
            Values::Int64 | Values::UInt64 => Self::Int64(One::new(column, pages), values == Values::Int64),
        }
    }

    /// Reads the next value as a text; `None` where it is null.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(match self {
            Self::Texts(column) => column.next()?.map(|value| value.data().to_vec()),
            Self::Int32(column, true) => column.next()?.map(digits),
            Self::Int32(column, false) => column.next()?.map(|value| digits(value.cast_unsigned())),
            Self::Int64(column, true) => column.next()?.map(digits),
            Self::Int64(column, false) => column.next()?.map(|value| digits(value.cast_unsigned())),
        })
    }
}

fn digits(value: impl std::fmt::Display) -> Vec<u8> {
    format!("{value}").into_bytes()
}

/// A column of one type, with buffers that are used again.
pub(super) struct One<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    levels: Vec<i16>,
}

impl<T: DataType> One<T> {
    fn new(column: ColumnDescPtr, pages: Box<dyn PageReader>) -> Self {
        Self { reader: ColumnReaderImpl::new(column, pages), values: vec![], levels: vec![] }
    }

    fn next(&mut self) -> Result<Option<T::T>> {
        self.values.clear();
        self.levels.clear();
        let (rows, _, _) = self.reader.read_records(1, Some(&mut self.levels), None, &mut self.values)?;
        if rows == 0 { Err(damaged("a column ends before its last row")) } else { Ok(self.values.pop()) }
    }
}
