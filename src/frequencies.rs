//! Counting a corpus: in how many of its documents each feature, or each line, is.
//!
//! Hashes are gathered up to a bound of memory, sorted, and written as a run of hashes with their numbers; at the end all runs
//! are merged. So any corpus can be counted, and the memory holds the bound and the finished table. Runs are files that are
//! open, so whenever there are many of one size they become one of the next: each hash is written again a few times at most.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::text::{Counted, level};
use crate::{Analyser, Error, Frequencies, Result};

/// A hash and its number of documents in a run.
const ENTRY_BYTES: usize = 12;

const RUN_BUFFER_BYTES: usize = 64 << 10;

/// So many runs of one size become one. Systems let a program have 1024 files open, some only 256.
const MOST_RUNS: usize = 64;

/// Makes a table of [`Frequencies`] out of the documents of a corpus, in bounded memory.
///
/// Only what several documents have is kept, since what a single one has weighs as much as what none has: most features of
/// a corpus are such.
///
/// ```
/// use nearstone::{Analyser, FrequencyCounter, Weights};
///
/// let analyser = Analyser::new(1).weights(Weights::Binary);
/// let mut counter = FrequencyCounter::of_features(&analyser);
/// for text in ["the cat", "the dog", "the cat again", "the end"] {
///     counter.add(analyser.distinct_features(text))?;
/// }
/// let table = counter.finish()?;
/// assert_eq!((table.documents(), table.len()), (4, 2));
/// // In all four documents, in two, in one.
/// let weigh = |word| table.weight(nearstone::feature_hash(word));
/// assert_eq!([weigh("the"), weigh("cat"), weigh("dog")], [1, 9, 17]);
///
/// // The rare words decide.
/// let weighted = analyser.idf(table.into());
/// assert_eq!(weighted.specification(), "words+shingle=1+weights=idf");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrequencyCounter {
    counted: Counted,
    least_documents: u32,
    /// The most hashes that are gathered.
    most: usize,
    folder: Option<PathBuf>,
    documents: u64,
    gathered: Vec<u64>,
    /// The runs of each size: those that were gathered, those of so many of them, and so on.
    runs: Vec<Vec<File>>,
    most_runs: usize,
}

impl FrequencyCounter {
    /// The default of [`FrequencyCounter::memory_bytes`]: 256 MiB.
    pub const DEFAULT_MEMORY_BYTES: usize = 256 << 20;

    /// Counts features of an analyser, those of [`Analyser::distinct_features`]; how it weighs them is of no account.
    #[must_use]
    pub fn of_features(analyser: &Analyser) -> Self {
        Self::of(Counted::Features(analyser.features_description()))
    }

    /// Counts lines, those of [`Frequencies::lines_of`].
    #[must_use]
    pub fn of_lines() -> Self {
        Self::of(Counted::Lines)
    }

    fn of(counted: Counted) -> Self {
        let (gathered, runs) = (Vec::new(), Vec::new());
        let most_runs = MOST_RUNS;
        Self { counted, least_documents: 2, most: 0, folder: None, documents: 0, gathered, runs, most_runs }
            .memory_bytes(Self::DEFAULT_MEMORY_BYTES)
    }

    /// Sets of how many documents the table needs an entry; 2 by default, at least 1.
    #[must_use]
    pub fn least_documents(mut self, documents: u32) -> Self {
        self.least_documents = documents.max(1);
        self
    }

    /// Sets how much is gathered in memory, at least 64 KiB; what is more goes to temporary files.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.most = bytes.max(64 << 10) / size_of::<u64>();
        self
    }

    /// Sets the folder of temporary files, by default that of the system.
    #[must_use]
    pub fn temp_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = Some(folder.as_ref().to_owned());
        self
    }

    /// Adds the hashes of a document, each of which is counted once. A document without any is none.
    ///
    /// # Errors
    /// [`Error::Io`] where a temporary file cannot be written.
    pub fn add(&mut self, mut hashes: Vec<u64>) -> Result<()> {
        hashes.sort_unstable();
        hashes.dedup();
        self.documents += u64::from(!hashes.is_empty());
        for hash in hashes {
            if self.gathered.len() >= self.most {
                let written = self.spill();
                written.map_err(|e| self.failed(e))?;
            }
            self.gathered.push(hash);
        }
        Ok(())
    }

    /// Makes the table of what was added.
    ///
    /// # Errors
    /// [`Error::Io`] where a temporary file cannot be written or read.
    pub fn finish(mut self) -> Result<Frequencies> {
        let (mut hashes, mut levels) = (Vec::new(), Vec::new());
        let least = u64::from(self.least_documents);
        let mut take = |hash, documents| {
            if documents >= least {
                hashes.push(hash);
                levels.push(level(documents));
            }
        };
        let made = if self.runs.is_empty() {
            self.gathered.sort_unstable();
            self.gathered.chunk_by(|a, b| a == b).for_each(|run| take(run[0], run.len() as u64));
            Ok(())
        } else {
            self.spill().and_then(|()| {
                let runs = std::mem::take(&mut self.runs).into_iter().flatten();
                merge(runs, |hash, documents| {
                    take(hash, documents);
                    Ok(())
                })
            })
        };
        made.map_err(|e| self.failed(e))?;
        Ok(Frequencies::new(self.counted, self.documents, self.least_documents, hashes, levels))
    }

    /// Writes what is gathered, and makes one run of many.
    fn spill(&mut self) -> io::Result<()> {
        self.gathered.sort_unstable();
        let mut out = self.run()?;
        for run in self.gathered.chunk_by(|a, b| a == b) {
            write(&mut out, run[0], run.len() as u64)?;
        }
        self.gathered.clear();
        let mut made = finished(out)?;
        for size in 0.. {
            if size == self.runs.len() {
                self.runs.push(Vec::new());
            }
            self.runs[size].push(made);
            if self.runs[size].len() < self.most_runs {
                break;
            }
            let mut out = self.run()?;
            merge(std::mem::take(&mut self.runs[size]), |hash, documents| write(&mut out, hash, documents))?;
            made = finished(out)?;
        }
        Ok(())
    }

    /// A new run, in a file without a name.
    fn run(&self) -> io::Result<BufWriter<File>> {
        let file = match &self.folder {
            Some(folder) => tempfile::tempfile_in(folder)?,
            None => tempfile::tempfile()?,
        };
        Ok(BufWriter::with_capacity(RUN_BUFFER_BYTES, file))
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        Error::Io { action: "write temporary files in", path, source }
    }
}

fn write(run: &mut BufWriter<File>, hash: u64, documents: u64) -> io::Result<()> {
    run.write_all(&hash.to_le_bytes())?;
    run.write_all(&u32::try_from(documents).unwrap_or(u32::MAX).to_le_bytes())
}

fn finished(run: BufWriter<File>) -> io::Result<File> {
    run.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Hands on all hashes of the runs in their order with the sums of their numbers.
fn merge(runs: impl IntoIterator<Item = File>, mut take: impl FnMut(u64, u64) -> io::Result<()>) -> io::Result<()> {
    let mut readers = Vec::new();
    let mut next = BinaryHeap::new();
    for (i, mut run) in runs.into_iter().enumerate() {
        run.rewind()?;
        let mut reader = BufReader::with_capacity(RUN_BUFFER_BYTES, run);
        if let Some((hash, documents)) = entry(&mut reader)? {
            next.push(Reverse((hash, i, documents)));
        }
        readers.push(reader);
    }
    let mut sum: Option<(u64, u64)> = None;
    while let Some(Reverse((hash, i, documents))) = next.pop() {
        sum = match sum {
            Some((same, sum)) if same == hash => Some((hash, sum + u64::from(documents))),
            before => {
                if let Some((hash, sum)) = before {
                    take(hash, sum)?;
                }
                Some((hash, documents.into()))
            }
        };
        if let Some((hash, documents)) = entry(&mut readers[i])? {
            next.push(Reverse((hash, i, documents)));
        }
    }
    if let Some((hash, sum)) = sum {
        take(hash, sum)?;
    }
    Ok(())
}

fn entry(run: &mut BufReader<File>) -> io::Result<Option<(u64, u32)>> {
    let mut bytes = [0; ENTRY_BYTES];
    match run.read_exact(&mut bytes) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(e) => return Err(e),
    }
    let (hash, documents) = bytes.split_first_chunk().expect("an entry is longer than a hash");
    let documents = documents.first_chunk().expect("it ends with a number");
    Ok(Some((u64::from_le_bytes(*hash), u32::from_le_bytes(*documents))))
}

impl Frequencies {
    /// Reads the table of a file.
    ///
    /// # Errors
    /// [`Error::Frequencies`] where the file is no table, and [`Error::Io`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| Error::Io { action: "read", path: path.to_owned(), source })?;
        Self::from_bytes(&bytes).map_err(|e| Error::Frequencies { path: path.to_owned(), what: e.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn runs_on_disk_give_what_memory_gives() {
        let documents: Vec<Vec<u64>> =
            (0..400u64).map(|i| (0..200).map(|j| (i * 7919 + j * j * 31) % 5003).collect()).collect();
        let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
        for document in &documents {
            let distinct: std::collections::BTreeSet<u64> = document.iter().copied().collect();
            for hash in distinct {
                *expected.entry(hash).or_default() += 1;
            }
        }
        for least in [1, 2, 9] {
            let dir = tempfile::tempdir().unwrap();
            let table = |bytes, most_runs| {
                let mut counter =
                    FrequencyCounter::of_lines().memory_bytes(bytes).least_documents(least).temp_dir(dir.path());
                counter.most_runs = most_runs;
                for document in &documents {
                    counter.add(document.clone()).unwrap();
                    assert!(counter.runs.iter().all(|runs| runs.len() < most_runs));
                }
                let runs: Vec<usize> = counter.runs.iter().map(Vec::len).collect();
                match (bytes, most_runs) {
                    (0, 2 | 3) => assert!(runs.len() > 1, "{runs:?}"),
                    (0, _) => assert!(runs.len() == 1 && runs[0] > 5, "{runs:?}"),
                    _ => assert!(runs.is_empty(), "{runs:?}"),
                }
                counter.finish().unwrap()
            };
            let whole = table(1 << 30, MOST_RUNS);
            for most_runs in [2, 3, MOST_RUNS] {
                assert_eq!(table(0, most_runs).to_bytes(), whole.to_bytes(), "{most_runs}");
            }
            let kept = expected.iter().filter(|&(_, &count)| count >= least.into());
            let kept: Vec<_> = kept.map(|(&hash, &count)| (hash, level(count))).collect();
            assert_eq!(whole.entries().collect::<Vec<_>>(), kept);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "temporary files have no names");
        }
    }

    #[test]
    fn files_that_are_no_tables_are_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "{}").unwrap();
        let error = Frequencies::read(file.path()).unwrap_err().to_string();
        assert!(error.contains(file.path().to_str().unwrap()) && error.contains("no such table"), "{error}");
        assert!(matches!(Frequencies::read("/nowhere/table"), Err(Error::Io { .. })));
    }
}
