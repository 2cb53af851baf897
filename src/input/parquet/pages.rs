//! Pages of a file, checked before memory is taken for them.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::codec::Codec;
use super::delta;
use super::group::damaged;
use super::lost::over_limit;
use super::plain::{check_numbers, check_strings, present};
use super::thrift::uncompressed_bytes;

/// A page may be so many times as long as the longest record, since it has many.
const PAGE_RECORDS: usize = 8;

/// Heads have the least and the greatest value of a page in them.
const LONGEST_HEAD: usize = 1 << 20;

const WITHOUT_LEVELS: &str = "a page ends within its levels";

/// What a value of a dictionary takes beside its bytes.
const DICTIONARY_VALUE_BYTES: usize = 32;

/// A file whose pages have a bounded length.
#[derive(Debug)]
pub(super) struct FilePages {
    file: Arc<File>,
    length: u64,
    max_page_bytes: usize,
    /// Of one column, how long the page whose head was read last is uncompressed, by that head.
    claimed: AtomicUsize,
}

impl FilePages {
    pub(super) fn new(file: File, length: u64, max_record_bytes: usize) -> Self {
        let max_page_bytes = max_record_bytes.saturating_mul(PAGE_RECORDS);
        Self { file: Arc::new(file), length, max_page_bytes, claimed: AtomicUsize::new(0) }
    }

    /// The same, for a column: what the heads of one say is not taken for what those of another do.
    fn of_column(&self) -> Self {
        Self { file: Arc::clone(&self.file), claimed: AtomicUsize::new(0), ..*self }
    }

    /// How long a page may be in the file: what cannot be compressed grows, with Snappy the most, by a sixth.
    fn max_stored_bytes(&self) -> usize {
        const HEAD_BYTES: usize = 256;
        self.max_page_bytes.saturating_add(self.max_page_bytes / 6).saturating_add(HEAD_BYTES)
    }
}

fn too_long(limit: usize) -> ParquetError {
    over_limit(format!("a page is longer than {limit} bytes, which is {PAGE_RECORDS} times --max-record-bytes"))
}

/// A file that fails where it ends. The crate takes a head by the numbers of its fields, whatever their types, so it may find a list
/// in it that is none; and it passes over strings without looking whether there is anything left: thousands of millions of them.
pub(super) struct FailsAtEnd(pub(super) BufReader<File>);

impl Read for FailsAtEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

impl Length for FilePages {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for FilePages {
    type T = FailsAtEnd;

    /// Is asked for the head of each page, and looks into it.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut reader = self.file.get_read(start)?;
        let most = self.max_stored_bytes().max(LONGEST_HEAD) as u64;
        let mut head = reader.by_ref().take(most);
        let size = uncompressed_bytes(&mut head)?.ok_or_else(|| damaged("the head of a page gives no size"))?;
        let read = most - head.limit();
        if size > self.max_page_bytes {
            return Err(too_long(self.max_page_bytes));
        }
        // The page comes before the next head.
        self.claimed.store(size, Ordering::Relaxed);
        reader.seek_relative(-read.cast_signed())?;
        Ok(FailsAtEnd(reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Memory for all of it is taken at once.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(damaged("the file ends before a page does"));
        }
        if length > self.max_stored_bytes() {
            return Err(too_long(self.max_page_bytes));
        }
        self.file.get_bytes(start, length)
    }
}

/// Returns the pages of a column.
pub(super) fn pages(file: &FilePages, chunk: &ColumnChunkMetaData, rows: i64) -> Result<Box<dyn PageReader>> {
    let rows = usize::try_from(rows).map_err(|_| damaged("the number of rows is negative"))?;
    let file = Arc::new(file.of_column());
    let codec = Codec::of(chunk.compression());
    let pages = if codec.is_some() {
        // The crate hands the pages out as they are.
        let chunk = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        SerializedPageReader::new(Arc::clone(&file), &chunk, rows, None)?
    } else {
        SerializedPageReader::new(Arc::clone(&file), chunk, rows, None)?
    };
    let has_nulls = chunk.column_descr().max_def_level() > 0;
    let type_ = chunk.column_type();
    let width = if type_ == Type::INT32 { 4 } else { 8 };
    let limit = file.max_page_bytes;
    Ok(Box::new(Checked { pages, file, codec, limit, has_nulls, has_dictionary: false, type_, width }))
}

/// Pages that tell of no more values than memory can be taken for.
struct Checked {
    pages: SerializedPageReader<FilePages>,
    file: Arc<FilePages>,
    codec: Option<Codec>,
    limit: usize,
    has_nulls: bool,
    has_dictionary: bool,
    type_: Type,
    /// Of a whole number.
    width: usize,
}

impl Checked {
    /// Decompresses a page that the crate has not.
    fn decompress(&self, page: &mut Page) -> Result<()> {
        let Some(codec) = self.codec else {
            return Ok(());
        };
        let size = self.file.claimed.load(Ordering::Relaxed);
        match page {
            Page::DictionaryPage { buf, .. } | Page::DataPage { buf, .. } => codec.decode(buf, 0, size),
            Page::DataPageV2 { is_compressed: false, .. } => Ok(()),
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = (*rep_levels_byte_len as usize).saturating_add(*def_levels_byte_len as usize);
                codec.decode(buf, levels, size)
            }
        }
    }

    fn check(&mut self, page: &mut Page) -> Result<()> {
        match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                self.has_dictionary = true;
                let count = *num_values;
                let size = (count as usize).saturating_mul(DICTIONARY_VALUE_BYTES).saturating_add(buf.len());
                if size > self.limit {
                    return Err(too_long(self.limit));
                }
                let is_there = || buf.len() / self.width >= count as usize;
                match self.type_ {
                    Type::BYTE_ARRAY => check_strings(buf, count.into()),
                    _ if is_there() => Ok(()),
                    _ => Err(damaged("a dictionary is shorter than its values")),
                }
            }
            Page::DataPage { buf, encoding, num_values, def_level_encoding, .. } => {
                if !self.has_nulls {
                    return self.check_values(buf, 0, encoding, u64::from(*num_values));
                }
                if *def_level_encoding != Encoding::RLE {
                    return Err(damaged(&format!("the levels of a page are in the encoding {def_level_encoding}")));
                }
                let length = buf.first_chunk().map(|length| u32::from_le_bytes(*length));
                let end = length.and_then(|length| usize::try_from(length).ok()?.checked_add(4)).unwrap_or(usize::MAX);
                let levels = buf.get(4..end).ok_or_else(|| damaged(WITHOUT_LEVELS))?;
                let count = present(levels, *num_values)?;
                self.check_values(buf, end, encoding, count)
            }
            Page::DataPageV2 { buf, encoding, num_values, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let start = *rep_levels_byte_len as usize;
                let end = start.saturating_add(*def_levels_byte_len as usize);
                let levels = buf.get(start..end).ok_or_else(|| damaged(WITHOUT_LEVELS))?;
                let count = if self.has_nulls { present(levels, *num_values)? } else { u64::from(*num_values) };
                self.check_values(buf, end, encoding, count)
            }
        }
    }

    /// Checks that the values behind the levels are there; those in a delta encoding are written anew.
    fn check_values(&self, page: &mut Bytes, levels_end: usize, encoding: &mut Encoding, count: u64) -> Result<()> {
        match *encoding {
            Encoding::PLAIN => {}
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if self.has_dictionary => {
                return check_numbers(&page[levels_end..], count);
            }
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                return Err(damaged("a page needs a dictionary, and there is none"));
            }
            Encoding::BYTE_STREAM_SPLIT if self.type_ != Type::BYTE_ARRAY => {
                let bytes = page.len() - levels_end;
                if bytes as u64 != count.saturating_mul(self.width as u64) {
                    return Err(damaged(&format!("a page has {count} values of {} bytes in {bytes}", self.width)));
                }
            }
            Encoding::DELTA_BINARY_PACKED if self.type_ != Type::BYTE_ARRAY => {}
            Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY if self.type_ == Type::BYTE_ARRAY => {}
            other => return Err(damaged(&format!("a page is in the encoding {other}"))),
        }
        let (levels, values) = page.split_at(levels_end);
        if delta::is_delta(*encoding) {
            let mut plain = levels.to_vec();
            // A page of nulls alone may have no values, not even their number.
            if count > 0 {
                delta::write_plain(*encoding, values, count, self.width, &mut plain, self.limit)?;
            }
            (*page, *encoding) = (plain.into(), Encoding::PLAIN);
        }
        if *encoding == Encoding::PLAIN && self.type_ == Type::BYTE_ARRAY {
            check_strings(&page[levels_end..], count)?;
        }
        Ok(())
    }
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let mut page = self.pages.get_next_page()?;
        if let Some(page) = &mut page {
            self.decompress(page)?;
            // The crate does not compare a page that is not compressed with what its head says.
            if page.buffer().len() > self.limit {
                return Err(too_long(self.limit));
            }
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}
