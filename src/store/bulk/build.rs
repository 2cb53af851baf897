//! A sealed generation out of documents in the order of their ids, as files that nobody reads yet.
//!
//! 1. The documents become pages as they come, and a record of sketch and id of each is distributed by its sketch.
//! 2. Sorted by sketch and id, these become the pages of the holders. The distinct sketches go to temporary files.
//! 3. For each table the distinct sketches are permuted, distributed and sorted, and become its pages.
//!
//! Files are cut by what they hold, never by threads or memory: the same documents make the same pages.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::distribute::{BUCKETS, Coding, Distributed, Distributor};
use super::documents::DocumentsStep;
use super::drain::{bad, drain};
use super::files::{ExchangeReader, ExchangeWriter, Form, PageFile, PageFileWriter, Part, failed, table_layout};
use super::folder::Folder;
use super::meter::Meter;
use super::options::LoadReport;
use super::portions::{HolderPortions, NumberPortions, Output, StringPortions, TablePortions, ValueWriter};
use crate::engine::PageLayout;
use crate::page::Page;
use crate::store::threads::in_threads;
use crate::{Error, Fingerprint, Result, Table, TableDesign};

/// So many entries are worth a file of their own, and no file has more.
const FILE_ENTRIES: Range<u64> = 1 << 18..1 << 24;
/// The files of a part are about so many, where that keeps them within [`FILE_ENTRIES`].
const FILES: u64 = 8;
/// The part of the memory in which portions are sorted; the rest buffers what is distributed.
pub(super) const SORTED: usize = 4;

/// What a generation is built with.
pub(super) struct Build<'a> {
    pub(super) design: TableDesign,
    /// Whether holders have times.
    pub(super) has_times: bool,
    /// Where the files go.
    pub(super) folder: PathBuf,
    /// Where temporary files go.
    pub(super) temp: PathBuf,
    pub(super) form: Form<'a>,
    pub(super) memory_bytes: usize,
    pub(super) threads: usize,
    /// Whether another process may have to go on with it.
    pub(super) is_resumable: bool,
    pub(super) meter: &'a Meter,
}

/// The holders, written, and the distinct sketches in their order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HoldersStep {
    pub(super) files: Vec<PageFile>,
    /// The files of the distinct sketches, with their checksums.
    values: Vec<(PathBuf, u64)>,
    pub(super) sketches: u64,
}

impl HoldersStep {
    /// Files that were made elsewhere.
    pub(super) fn taken(files: Vec<PageFile>, sketches: u64) -> Self {
        Self { files, values: Vec::new(), sketches }
    }

    /// Whether the distinct sketches are where they were written.
    pub(super) fn is_in_place(&self) -> bool {
        self.values.iter().all(|(path, _)| path.is_file())
    }

    /// Removes the distinct sketches.
    fn remove_values(&self) -> Result<()> {
        self.values.iter().try_for_each(|(path, _)| match fs::remove_file(path) {
            // The process that has removed it was killed before it ended.
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, e)),
            _ => Ok(()),
        })
    }
}

impl Build<'_> {
    /// Does what is left to do after the documents, each phase unless it was finished before.
    pub(super) fn rest(&self, folder: &mut Folder, report: &mut LoadReport) -> Result<()> {
        let state = &mut folder.state;
        if state.holders.is_none() {
            let documents = state.documents.as_ref().expect("the documents come first");
            state.holders = Some(self.holders(documents)?);
            folder.note()?;
            // From here on nobody needs them.
            let documents = folder.state.documents.as_mut().expect("the documents come first");
            documents.pairs.remove()?;
        }
        report.phase("holders");
        let left = self.design.tables().len().saturating_sub(folder.state.tables.len());
        let sketches = folder.state.holders.as_ref().map_or(0, |holders| holders.sketches);
        self.meter.phase("tables", left as u64 * sketches)?;
        for index in folder.state.tables.len()..self.design.tables().len() {
            let holders = folder.state.holders.as_ref().expect("the holders come before");
            let files = self.table(index, holders)?;
            folder.state.tables.push(files);
            folder.note()?;
        }
        report.phase("tables");
        let holders = folder.state.holders.as_ref().expect("the holders come before");
        holders.remove_values()?;
        report.documents = holders.files.iter().map(|file| file.entries).sum();
        report.sketches = holders.sketches;
        Ok(())
    }

    /// Writes the holders, and the distinct sketches.
    pub(super) fn holders(&self, step: &DocumentsStep) -> Result<HoldersStep> {
        self.meter.phase("holders", step.pairs.buckets.iter().map(|bucket| bucket.records).sum())?;
        let values = self.temp.join("values");
        fs::create_dir_all(&values).map_err(|e| failed("create", &values, e))?;
        let units = units(&step.pairs.buckets.iter().map(|bucket| bucket.records).collect::<Vec<_>>());
        let parts = std::slice::from_ref(&step.pairs);
        let layout = PageLayout::of_documents(!step.is_numbered);
        let written = in_threads(self.threads, units.len(), |unit| {
            let path = values.join(format!("{unit:06}.pages"));
            let holders = PageFileWriter::create(&self.folder, Part::Holders, unit, self.form, layout)?;
            let out = HolderPortions::new(holders, ValueWriter::new(ExchangeWriter::create(&path)?), self.meter);
            let scratch = self.temp.join(format!("holders{unit}"));
            let memory = self.memory_bytes / SORTED / self.threads;
            let (file, sketches) = if step.is_numbered {
                let mut portions = NumberPortions::new(out, self.has_times);
                portions.drain(parts, units[unit].clone(), memory, &scratch)?;
                portions.finish()?
            } else {
                let mut portions = StringPortions::new(out, self.has_times);
                // What is sorted is indexed besides.
                portions.drain(parts, units[unit].clone(), memory / 2, &scratch)?;
                portions.finish()?
            };
            Ok((file, path, sketches))
        })?;
        let sketches = written.iter().map(|(_, _, values)| values.0).sum();
        let (mut files, mut values) = (Vec::new(), Vec::new());
        for (file, path, (_, checksum)) in written {
            files.extend(file);
            values.push((path, checksum));
        }
        Ok(HoldersStep { files, values, sketches })
    }

    /// Writes the pages of a table.
    pub(super) fn table(&self, index: usize, step: &HoldersStep) -> Result<Vec<PageFile>> {
        let table = &self.design.tables()[index];
        let files = if matches!(table.permutation().parts(), [all] if *all == (0..64)) {
            self.copy_values(index, step)?
        } else {
            self.sort_table(index, table, step)?
        };
        let entries: u64 = files.iter().map(|file| file.entries).sum();
        if entries != step.sketches {
            let what = format!("table {index} got {entries} of {} sketches", step.sketches);
            return Err(Error::Load { reason: format!("{what}: a temporary file was changed; load again") });
        }
        Ok(files)
    }

    /// Makes the pages of a table that keeps the order of the sketches.
    fn copy_values(&self, index: usize, step: &HoldersStep) -> Result<Vec<PageFile>> {
        let layout = table_layout(&self.design.tables()[index], step.sketches);
        let files = in_threads(self.threads, step.values.len(), |unit| {
            let mut out = PageFileWriter::create(&self.folder, Part::Table(index), unit, self.form, layout)?;
            let (path, checksum) = &step.values[unit];
            let mut pages = ExchangeReader::open(path)?;
            while let Some((key, page)) = pages.next()? {
                let values = parse(page, path)?.len() as u64;
                self.meter.done(values)?;
                out.put(key, page, values)?;
            }
            if pages.checksum() == *checksum { out.finish() } else { Err(bad(path)) }
        })?;
        Ok(files.into_iter().flatten().collect())
    }

    fn sort_table(&self, index: usize, table: &Table, step: &HoldersStep) -> Result<Vec<PageFile>> {
        let next = AtomicUsize::new(0);
        let memory = self.memory_bytes / SORTED / self.threads;
        // Each thread distributes the files that it comes to.
        let mut parts = in_threads(self.threads, self.threads, |thread| {
            let path = self.temp.join(format!("table{index:02}-{thread}"));
            let buffers = (self.memory_bytes - self.memory_bytes / SORTED) / self.threads;
            let mut distributor = Distributor::new(&path, Coding::Keys, buffers);
            let mut values = Vec::new();
            while let Some((path, checksum)) = step.values.get(next.fetch_add(1, Ordering::SeqCst)) {
                let mut pages = ExchangeReader::open(path)?;
                while let Some((_, page)) = pages.next()? {
                    values.clear();
                    parse(page, path)?.decode_into(&mut values).map_err(|_| bad(path))?;
                    for &value in &values {
                        distributor.push_key(table.permute(Fingerprint::new(value)))?;
                    }
                    self.meter.look()?;
                }
                if pages.checksum() != *checksum {
                    return Err(bad(path));
                }
            }
            distributor.finish(false)
        })?;
        let records = |bucket: usize| parts.iter().map(|part| part.buckets[bucket].records).sum();
        let units = units(&(0..BUCKETS).map(records).collect::<Vec<_>>());
        let layout = table_layout(table, step.sketches);
        let files = in_threads(self.threads, units.len(), |unit| {
            let file = PageFileWriter::create(&self.folder, Part::Table(index), unit, self.form, layout)?;
            let mut portions = TablePortions::new(file, self.meter);
            let scratch = self.temp.join(format!("table{index:02}unit{unit}"));
            drain(&parts, units[unit].clone(), memory, &scratch, &mut portions)?;
            portions.finish()
        })?;
        parts.iter_mut().try_for_each(Distributed::remove)?;
        Ok(files.into_iter().flatten().collect())
    }
}

fn parse<'a>(page: &'a [u8], path: &Path) -> Result<Page<'a>> {
    match Page::parse(page) {
        Ok((page, [])) => Ok(page),
        _ => Err(bad(path)),
    }
}

/// Cuts buckets with so many records into runs, each for one file.
fn units(records: &[u64]) -> Vec<Range<usize>> {
    let total: u64 = records.iter().sum();
    let most = (total / FILES).clamp(FILE_ENTRIES.start, FILE_ENTRIES.end);
    let mut units: Vec<Range<usize>> = Vec::new();
    let mut held = 0;
    for (bucket, &count) in records.iter().enumerate() {
        match units.last_mut() {
            Some(unit) if held == 0 || held + count <= most => {
                unit.end = bucket + 1;
                held += count;
            }
            _ => {
                units.push(bucket..bucket + 1);
                held = count;
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_cover_all_buckets_and_are_of_even_size() {
        for records in [vec![0; BUCKETS], vec![1; BUCKETS], vec![1 << 20; BUCKETS], vec![1 << 30; BUCKETS]] {
            let units = units(&records);
            assert_eq!((units[0].start, units.last().unwrap().end), (0, BUCKETS));
            assert!(units.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes: Vec<u64> = units.iter().map(|unit| records[unit.clone()].iter().sum()).collect();
            assert!(sizes.iter().all(|&size| size <= FILE_ENTRIES.end || size == records[0]));
        }
        let mut skewed = vec![0; BUCKETS];
        skewed[3] = 1 << 27;
        skewed[200] = 5;
        assert_eq!(units(&skewed), [0..4, 4..BUCKETS]);
    }
}
