//! Parquet: a column of texts and one of ids, row by row.
//!
//! Of the file only the pages of these two columns are read, one page of each at a time. Values are taken one by one, so
//! that a page which tells of more values than it has costs no memory.

mod codec;
mod column;
mod delta;
mod group;
mod lost;
mod pages;
mod plain;
mod schema;
#[cfg(test)]
mod tests;
mod thrift;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};

use super::record::{BadRecord, Origin, Parsing, RawRecord};
use group::{Group, Id, Row};
use lost::{Lost, guarded};
use pages::FilePages;
use schema::Columns;

/// A run of equal values takes a few bytes whatever its length, so that a small file may stand for rows without end. So many
/// are read of any file, as many as most writers put into a row group at most,
const MOST_ROWS: u64 = 1 << 20;

/// and so many more for each of its bytes.
const MOST_ROWS_PER_BYTE: u64 = 64;

/// Progress is told whenever it has grown by so much.
const STEP_BYTES: u64 = 256 << 10;

/// The rows of a file.
#[derive(Debug)]
pub(super) struct Parquet {
    path: Arc<PathBuf>,
    pages: FilePages,
    metadata: ParquetMetaData,
    columns: Columns,
    parsing: Arc<Parsing>,
    group: Option<Group>,
    next_group: usize,
    /// How many rows were read or lost.
    rows: u64,
    /// Where the row group at hand ends.
    group_end: u64,
    progress: Progress,
    done: bool,
}

impl Parquet {
    pub(super) fn open(path: &Path, parsing: &Arc<Parsing>, bytes_read: &Arc<AtomicU64>) -> Result<Self, BadRecord> {
        let bad = |reason: String, remedy: &str| BadRecord::of_file(path, None, reason, remedy);
        let file = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (attributes, file) = file.map_err(|e| BadRecord::unreadable(path, &e))?;
        if !attributes.is_file() {
            return Err(bad("is read from its end, which a pipe has not got".to_owned(), "write it to a file first"));
        }
        let skipped = ParquetStatisticsPolicy::SkipAll;
        let options = ParquetMetaDataOptions::new()
            .with_column_stats_policy(skipped.clone())
            .with_encoding_stats_policy(skipped.clone())
            .with_size_stats_policy(skipped);
        let reader = ParquetMetaDataReader::new().with_metadata_options(Some(options));
        let metadata =
            guarded(|| thrift::check_footer(&file).and_then(|()| reader.parse_and_finish(&file))).map_err(|lost| {
                bad(
                    format!("is no sound Parquet file ({})", lost.reason),
                    "fetch or write it again, or say what it is with --format",
                )
            })?;
        let columns = Columns::find(metadata.file_metadata().schema_descr(), &parsing.fields)
            .map_err(|(reason, remedy)| bad(reason, remedy))?;
        let rows = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
        let (rows, bytes) = (rows.fold(0, u64::saturating_add), attributes.len());
        if rows > MOST_ROWS.saturating_add(bytes.saturating_mul(MOST_ROWS_PER_BYTE)) {
            let reason = format!("has {rows} rows in {bytes} bytes, of which nearly all must be the same");
            return Err(bad(reason, "fetch or write it again, or cut it into parts"));
        }
        let progress = Progress { bytes_read: Arc::clone(bytes_read), told: 0, total: bytes, rows };
        Ok(Self {
            path: Arc::new(path.to_owned()),
            pages: FilePages::new(file, attributes.len(), parsing.max_record_bytes),
            metadata,
            columns,
            parsing: Arc::clone(parsing),
            group: None,
            next_group: 0,
            rows: 0,
            group_end: 0,
            progress,
            done: false,
        })
    }

    pub(super) fn next(&mut self) -> Option<Result<RawRecord, BadRecord>> {
        while !self.done {
            if let Some(group) = &mut self.group {
                match guarded(|| group.next()) {
                    Ok(Some(row)) => {
                        self.rows += 1;
                        self.progress.tell(self.rows);
                        return Some(self.record(row));
                    }
                    Ok(None) => self.group = None,
                    Err(lost) => return Some(Err(self.lose_group(&lost))),
                }
            }
            let Some(group) = self.metadata.row_groups().get(self.next_group) else {
                self.done = true;
                self.progress.finish();
                return (self.group_end == 0).then(|| Err(BadRecord::without_records(&self.path)));
            };
            self.next_group += 1;
            self.group_end = self.rows.saturating_add(u64::try_from(group.num_rows()).unwrap_or(0));
            match guarded(|| Group::open(group, &self.columns, &self.pages)) {
                Ok(group) => self.group = Some(group),
                Err(lost) => return Some(Err(self.lose_group(&lost))),
            }
        }
        None
    }

    fn record(&self, row: Row) -> Result<RawRecord, BadRecord> {
        let bad = |reason: &str, remedy: &str| BadRecord::at_row(&self.path, self.rows, reason, remedy);
        if row.text.len() > self.parsing.max_record_bytes {
            let reason = format!("the record is longer than {} bytes", self.parsing.max_record_bytes);
            return Err(bad(&reason, "raise --max-record-bytes, or leave it out"));
        }
        let id = match row.id {
            Id::NotRead => None,
            Id::Is(id) => {
                let id = String::from_utf8(id);
                Some(id.map_err(|_| bad("the id is not UTF-8", "name another column with --id-field"))?)
            }
            Id::Null => return Err(bad("the id is null", "name another column with --id-field, or take --line-ids")),
        };
        let (file, parsing) = (Arc::clone(&self.path), Arc::clone(&self.parsing));
        Ok(RawRecord { bytes: row.text, file, origin: Origin::Numbered(self.rows, id), parsing })
    }

    /// Goes on behind a row group that cannot be read further.
    fn lose_group(&mut self, lost: &Lost) -> BadRecord {
        self.group = None;
        let first = self.rows.saturating_add(1);
        let reason = &lost.reason;
        let reason = match self.group_end {
            end if end > first => format!("from here to row {end} nothing can be read ({reason})"),
            _ => format!("cannot be read ({reason})"),
        };
        let rows = self.group_end.saturating_sub(self.rows);
        self.rows = self.group_end;
        BadRecord::at_row(&self.path, first, reason, lost.remedy).of_records(rows)
    }
}

/// What of the file the rows that were read stand for.
#[derive(Debug)]
struct Progress {
    bytes_read: Arc<AtomicU64>,
    told: u64,
    total: u64,
    rows: u64,
}

impl Progress {
    fn tell(&mut self, rows: u64) {
        let share = u128::from(self.total) * u128::from(rows) / u128::from(self.rows.max(1));
        let now = u64::try_from(share).unwrap_or(self.total).min(self.total);
        if now >= self.told + STEP_BYTES {
            self.add(now);
        }
    }

    fn finish(&mut self) {
        self.add(self.total);
    }

    fn add(&mut self, now: u64) {
        self.bytes_read.fetch_add(now - self.told, Ordering::Relaxed);
        self.told = now;
    }
}
