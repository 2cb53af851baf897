//! Documents sorted by their ids in bounded memory: sorted runs in temporary files, merged as they are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::walk::Entry;
use super::drain::bad;
use super::files::failed;
use crate::Result;
use crate::format::keys::DocumentValue;
use crate::format::{MAX_ID_BYTES, MAX_PAYLOAD_BYTES};
use crate::hash::Checksum;

/// So many runs are merged into one, so that few files are open at once, whatever the documents and the memory.
const FAN_IN: usize = 32;
/// How much of each run is read at once.
const READ_BYTES: usize = 256 << 10;
/// What a document takes in memory beside its bytes.
const INDEX_BYTES: usize = std::mem::size_of::<Place>();
/// A length that was changed must not become a huge allocation.
const MAX_RECORD_BYTES: usize = HEAD_BYTES + 64 + MAX_ID_BYTES + MAX_PAYLOAD_BYTES;
/// Lengths and time of a document in a run.
const HEAD_BYTES: usize = 2 + 4 + 8;

/// Takes documents in any order.
pub(crate) struct RunWriter {
    directory: PathBuf,
    sketch_bytes: usize,
    memory_bytes: usize,
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// The files of runs by how often they were merged; those that were merged more often are older.
    levels: Vec<Vec<RunPath>>,
    written: usize,
    documents: u64,
    /// Whether all ids have eight bytes.
    is_numbered: bool,
}

/// The finished file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunPath {
    path: PathBuf,
    bytes: u64,
    checksum: u64,
}

impl RunPath {
    /// Whether there is a file of its length.
    pub(super) fn is_in_place(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == self.bytes)
    }
}

/// Where a document lies: the first bytes of its id as a number, by which most are told apart, and its start.
type Place = (u64, usize);

impl RunWriter {
    pub(crate) fn new(directory: &Path, sketch_bytes: usize, memory_bytes: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            sketch_bytes,
            memory_bytes,
            bytes: Vec::new(),
            places: Vec::new(),
            levels: Vec::new(),
            written: 0,
            documents: 0,
            is_numbered: true,
        }
    }

    pub(crate) fn push(&mut self, id: &[u8], value: &DocumentValue<'_>) -> Result<()> {
        let bytes = HEAD_BYTES + id.len() + value.sketch.len() + value.payload.len();
        // A buffer that grows is copied, so for a moment it takes more than twice its bytes.
        let needed = (self.bytes.len() + bytes) * 2 + (self.places.len() + 1) * INDEX_BYTES * 2;
        if needed > self.memory_bytes && !self.places.is_empty() {
            self.spill()?;
        }
        let mut first = [0; 8];
        let most = id.len().min(8);
        first[..most].copy_from_slice(&id[..most]);
        self.places.push((u64::from_be_bytes(first), self.bytes.len()));
        let length = |length: usize| u32::try_from(length).expect("a payload has at most 16 MiB");
        self.bytes.extend(u16::try_from(id.len()).expect("an id has at most 1024 bytes").to_le_bytes());
        self.bytes.extend(length(value.payload.len()).to_le_bytes());
        self.bytes.extend(value.stored_at_millis.to_le_bytes());
        self.bytes.extend_from_slice(value.sketch);
        self.bytes.extend_from_slice(id);
        self.bytes.extend_from_slice(value.payload);
        self.documents += 1;
        self.is_numbered &= id.len() == 8;
        Ok(())
    }

    /// How many documents were taken, each of those with one id counted.
    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    pub(crate) fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    /// The documents in the order of their ids; of those with one id the last one pushed.
    pub(crate) fn finish(mut self) -> Result<Runs> {
        if self.levels.is_empty() {
            self.sort();
            return Ok(Runs {
                sketch_bytes: self.sketch_bytes,
                from: From::Memory { bytes: self.bytes, places: self.places, at: 0 },
            });
        }
        let (sketch_bytes, files) = (self.sketch_bytes, self.into_files()?);
        Runs::open(&files, sketch_bytes)
    }

    /// Writes out what is in memory, and returns the files of all runs, the oldest first.
    pub(super) fn into_files(mut self) -> Result<Vec<RunPath>> {
        if !self.places.is_empty() {
            self.spill()?;
        }
        Ok(self.levels.into_iter().rev().flatten().collect())
    }

    /// Sorts, and keeps the last of each id.
    fn sort(&mut self) {
        let Self { bytes, places, sketch_bytes, .. } = self;
        let id = |at: usize| id_at(bytes, *sketch_bytes, at);
        // Equal ids in the order in which they came: that is where they lie.
        places.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| id(a.1).cmp(id(b.1))).then(a.1.cmp(&b.1)));
        let mut kept = 0;
        for i in 0..places.len() {
            let is_last = places.get(i + 1).is_none_or(|next| next.0 != places[i].0 || id(next.1) != id(places[i].1));
            if is_last {
                places[kept] = places[i];
                kept += 1;
            }
        }
        places.truncate(kept);
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let mut run = self.begin()?;
        for &(_, at) in &self.places {
            run.put(&self.bytes[at..at + length_at(&self.bytes, self.sketch_bytes, at)])?;
        }
        self.bytes.clear();
        self.places.clear();
        let mut file = run.finish()?;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(file);
            if self.levels[level].len() < FAN_IN {
                break;
            }
            let merged = std::mem::take(&mut self.levels[level]);
            let mut run = self.begin()?;
            let mut runs = Runs::open(&merged, self.sketch_bytes)?;
            while let Some(record) = runs.next_record()? {
                run.put(record)?;
            }
            for RunPath { path, .. } in &merged {
                fs::remove_file(path).map_err(|e| failed("remove", path, e))?;
            }
            file = run.finish()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<RunFile> {
        self.written += 1;
        let path = self.directory.join(format!("run{:06}", self.written));
        let file = File::create(&path).map_err(|e| failed("create", &path, e))?;
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(RunFile { file, path, bytes: 0, checksum: Checksum::default() })
    }
}

/// The file of a run being written.
struct RunFile {
    file: BufWriter<File>,
    path: PathBuf,
    bytes: u64,
    checksum: Checksum,
}

impl RunFile {
    fn put(&mut self, record: &[u8]) -> Result<()> {
        self.bytes += record.len() as u64;
        self.checksum.update(record);
        self.file.write_all(record).map_err(|e| failed("write", &self.path, e))
    }

    /// Forces the file to the medium, where another process may go on with it.
    fn finish(self) -> Result<RunPath> {
        let failed = |e| failed("write", &self.path, e);
        self.file.into_inner().map_err(|e| failed(e.into_error()))?.sync_data().map_err(failed)?;
        Ok(RunPath { bytes: self.bytes, checksum: self.checksum.finish(), path: self.path })
    }
}

fn id_at(bytes: &[u8], sketch_bytes: usize, at: usize) -> &[u8] {
    let length = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    &bytes[at + HEAD_BYTES + sketch_bytes..][..usize::from(length)]
}

/// The bytes of a document in a run.
fn length_at(bytes: &[u8], sketch_bytes: usize, at: usize) -> usize {
    let id = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let payload = u32::from_le_bytes(bytes[at + 2..at + 6].try_into().expect("four bytes")) as usize;
    HEAD_BYTES + sketch_bytes + id + payload
}

/// Sorted documents, each id once.
pub(crate) struct Runs {
    sketch_bytes: usize,
    from: From,
}

enum From {
    Memory {
        bytes: Vec<u8>,
        places: Vec<Place>,
        at: usize,
    },
    Files {
        runs: Vec<Run>,
        heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
        /// The runs whose records are behind.
        passed: Vec<usize>,
    },
}

struct Run {
    file: BufReader<File>,
    of: RunPath,
    /// Of what was read.
    checksum: Checksum,
    record: Vec<u8>,
    /// How much of the record was not read yet: its payload.
    missing: usize,
}

impl Runs {
    /// Opens the files of runs, the oldest first.
    pub(super) fn open(files: &[RunPath], sketch_bytes: usize) -> Result<Self> {
        let mut runs = Vec::new();
        let mut heap = BinaryHeap::new();
        for of in files {
            let file = File::open(&of.path).map_err(|e| failed("read", &of.path, e))?;
            let file = BufReader::with_capacity(READ_BYTES, file);
            let mut run = Run { file, of: of.clone(), checksum: Checksum::default(), record: Vec::new(), missing: 0 };
            if run.next(sketch_bytes)? {
                heap.push(Reverse((run.id(sketch_bytes).to_owned(), runs.len())));
            }
            runs.push(run);
        }
        Ok(Self { sketch_bytes, from: From::Files { runs, heap, passed: Vec::new() } })
    }

    /// Puts the next document into `entry`, or returns `false` at the end.
    pub(in crate::store) fn next(&mut self, entry: &mut Entry) -> Result<bool> {
        let sketch_bytes = self.sketch_bytes;
        let Some(record) = self.next_record()? else { return Ok(false) };
        set(entry, record, sketch_bytes);
        Ok(true)
    }

    /// Returns the next document as it is in a run.
    fn next_record(&mut self) -> Result<Option<&[u8]>> {
        let sketch_bytes = self.sketch_bytes;
        match &mut self.from {
            From::Memory { bytes, places, at } => {
                let Some(&(_, start)) = places.get(*at) else { return Ok(None) };
                *at += 1;
                Ok(Some(&bytes[start..start + length_at(bytes, sketch_bytes, start)]))
            }
            From::Files { runs, heap, passed } => {
                // What was returned was read until now.
                for i in passed.drain(..) {
                    if runs[i].next(sketch_bytes)? {
                        heap.push(Reverse((runs[i].id(sketch_bytes).to_owned(), i)));
                    }
                }
                let Some(Reverse((id, first))) = heap.pop() else { return Ok(None) };
                passed.push(first);
                // The same id in later runs was pushed later. The heap yields them in the order of the runs.
                while let Some(Reverse((_, run))) = heap.peek().filter(|other| other.0.0 == id) {
                    passed.push(*run);
                    heap.pop();
                }
                let latest = *passed.last().expect("one was just taken");
                runs[latest].complete()?;
                Ok(Some(&runs[latest].record))
            }
        }
    }
}

impl Run {
    /// Goes to the next record and reads what stands before its payload. Returns `false` at the end, where it is
    /// seen whether all was as it was written.
    fn next(&mut self, sketch_bytes: usize) -> Result<bool> {
        self.complete()?;
        if self.record.capacity() > READ_BYTES {
            self.record = Vec::new();
        }
        self.record.clear();
        self.take(HEAD_BYTES)?;
        if self.record.is_empty() {
            return if self.checksum.finish() == self.of.checksum { Ok(false) } else { Err(bad(&self.of.path)) };
        }
        if self.record.len() < HEAD_BYTES || length_at(&self.record, sketch_bytes, 0) > MAX_RECORD_BYTES {
            return Err(bad(&self.of.path));
        }
        let id_bytes = usize::from(u16::from_le_bytes([self.record[0], self.record[1]]));
        self.missing = length_at(&self.record, sketch_bytes, 0);
        let front = HEAD_BYTES + sketch_bytes + id_bytes;
        self.missing -= front;
        self.take(front - HEAD_BYTES)?;
        if self.record.len() != front {
            return Err(bad(&self.of.path));
        }
        self.checksum.update(&self.record);
        Ok(true)
    }

    /// Reads the payload of the record. Of many runs that are merged, those that wait have none in memory.
    fn complete(&mut self) -> Result<()> {
        let (front, missing) = (self.record.len(), std::mem::take(&mut self.missing));
        self.take(missing)?;
        if self.record.len() != front + missing {
            return Err(bad(&self.of.path));
        }
        self.checksum.update(&self.record[front..]);
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Result<()> {
        let taken = (&mut self.file).take(bytes as u64).read_to_end(&mut self.record);
        taken.map(|_| ()).map_err(|e| failed("read", &self.of.path, e))
    }

    fn id(&self, sketch_bytes: usize) -> &[u8] {
        id_at(&self.record, sketch_bytes, 0)
    }
}

/// Takes a record apart.
fn set(entry: &mut Entry, record: &[u8], sketch_bytes: usize) {
    let (sketch, id) = (&record[HEAD_BYTES..][..sketch_bytes], id_at(record, sketch_bytes, 0));
    let payload = &record[HEAD_BYTES + sketch_bytes + id.len()..length_at(record, sketch_bytes, 0)];
    let stored_at_millis = u64::from_le_bytes(record[6..14].try_into().expect("eight bytes"));
    entry.set(id, &DocumentValue { sketch, stored_at_millis, payload });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn runs_are_sorted_and_the_last_of_each_id_is_kept_whatever_the_memory() {
        for memory in [0, 300, 5_000, 1 << 20] {
            let dir = tempfile::tempdir().unwrap();
            let mut writer = RunWriter::new(dir.path(), 8, memory);
            let mut expected = BTreeMap::new();
            for n in 0..2_000u64 {
                let id = format!("{}{}", ["", "https://a.example/"][usize::from(n % 3 == 0)], n * 7919 % 700);
                let payload = vec![b'p'; usize::try_from(n % 5).unwrap()];
                let sketch = n.to_be_bytes();
                writer
                    .push(id.as_bytes(), &DocumentValue { sketch: &sketch, stored_at_millis: n, payload: &payload })
                    .unwrap();
                expected.insert(id.into_bytes(), (sketch.to_vec(), n, payload));
            }
            assert_eq!((writer.documents(), writer.is_numbered()), (2_000, false));
            let mut runs = writer.finish().unwrap();
            let (mut entry, mut found) = (Entry::default(), vec![]);
            while runs.next(&mut entry).unwrap() {
                found.push((entry.id.clone(), (entry.sketch.clone(), entry.time, entry.payload.clone())));
            }
            assert!(found.is_sorted());
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{memory}");
        }
    }

    #[test]
    fn a_run_that_is_cut_short_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::new(dir.path(), 8, 0);
        for n in 0..3u64 {
            let value = DocumentValue { sketch: &n.to_be_bytes(), stored_at_millis: 1, payload: b"abc" };
            writer.push(&n.to_be_bytes(), &value).unwrap();
        }
        let files = writer.into_files().unwrap();
        let read = |files: &[RunPath]| -> Result<u32> {
            let (mut runs, mut entry, mut count) = (Runs::open(files, 8)?, Entry::default(), 0);
            while runs.next(&mut entry)? {
                count += 1;
            }
            Ok(count)
        };
        assert_eq!(read(&files).unwrap(), 3);
        let path = &files[0].path;
        let bytes = std::fs::read(path).unwrap();
        for length in 0..bytes.len() {
            std::fs::write(path, &bytes[..length]).unwrap();
            assert!(read(&files).is_err(), "{length}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(path, changed).unwrap();
            assert!(read(&files).is_err(), "{bit}");
        }
    }
}
