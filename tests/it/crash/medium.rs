//! A power cut without one: a copy of a directory with what was forced to the medium, and nothing else.
//!
//! 1. The library of `tests/data/synced.c`, which is preloaded into a child, writes down the size of each
//!    file that was synced. A copy of the file ends there; of one that was never synced it is empty.
//! 2. That is right for files that only grow. RocksDB appends to all files that it writes, and uses a log file
//!    for a second time only if it is told to.
//! 3. Entries of directories, so creations, renames and removals, count as durable at once: a file system that
//!    forgets them is not simulated.
//! 4. The child must be stopped while its directory is copied, so that the copy is of one moment.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use tempfile::{NamedTempFile, TempDir};

/// The library that is preloaded, compiled.
pub(super) struct Preload {
    directory: TempDir,
}

impl Preload {
    /// Compiles it; `None`, with a message, where there is no C compiler.
    pub(super) fn compile() -> Option<Self> {
        let preload = Self { directory: tempfile::tempdir().unwrap() };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/synced.c");
        let options = ["-shared", "-fPIC", "-Wall", "-Werror", "-o"].map(OsStr::new);
        match Command::new("cc").args(options).args([&preload.path(), &source]).output() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                // Past the harness, which keeps the output of tests that pass to itself.
                let _ = writeln!(io::stderr(), "skipped: no C compiler, cc, for the library that simulates power cuts");
                None
            }
            output => {
                let output = output.unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                Some(preload)
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("synced.so")
    }
}

/// A file for all its life, under all its names: an inode and the time of its birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileId([u64; 3]);

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        let born = metadata.created().ok().map(|born| born.duration_since(UNIX_EPOCH).unwrap());
        // The library writes zeros too where the file system does not know.
        let born = born.map_or([0, 0], |born| [born.as_secs(), born.subsec_nanos().into()]);
        Self([metadata.ino(), born[0], born[1]])
    }
}

/// An id of a file and its size, as the library writes them.
const RECORD_BYTES: usize = 4 * size_of::<u64>();

/// What is on the medium of the files that a child writes.
pub(super) struct Medium {
    synced: NamedTempFile,
}

impl Medium {
    /// Takes all that is in a directory for durable, and has the child that `command` starts say what else is.
    pub(super) fn new(preload: &Preload, directory: &Path, command: &mut Command) -> Self {
        let mut synced = NamedTempFile::new().unwrap();
        for (_, metadata) in entries(directory) {
            let FileId([inode, seconds, nanoseconds]) = FileId::of(&metadata);
            let record = [inode, seconds, nanoseconds, metadata.len()].map(u64::to_ne_bytes);
            synced.write_all(record.as_flattened()).unwrap();
        }
        command.env("LD_PRELOAD", preload.path()).env("NEARSTONE_TEST_SYNCED", synced.path());
        Self { synced }
    }

    /// Copies a directory as a power cut would leave it now.
    pub(super) fn copy(&self, from: &Path, to: &Path) {
        let sizes = self.sizes();
        for (path, metadata) in entries(from) {
            let copy = to.join(path.strip_prefix(from).unwrap());
            if metadata.is_dir() {
                fs::create_dir(copy).unwrap();
            } else {
                let size = sizes.get(&FileId::of(&metadata)).copied().unwrap_or(0);
                let mut durable = File::open(path).unwrap().take(size);
                io::copy(&mut durable, &mut File::create(copy).unwrap()).unwrap();
            }
        }
    }

    /// The largest size of each file that was synced. Records of one file by two threads may be out of order.
    fn sizes(&self) -> HashMap<FileId, u64> {
        let mut sizes = HashMap::new();
        for record in fs::read(&self.synced).unwrap().chunks_exact(RECORD_BYTES) {
            let number = |i: usize| u64::from_ne_bytes(record[8 * i..8 * i + 8].try_into().unwrap());
            let size = sizes.entry(FileId([number(0), number(1), number(2)])).or_insert(0);
            *size = number(3).max(*size);
        }
        sizes
    }
}

/// All that is in a directory, each directory before what is in it.
fn entries(directory: &Path) -> Vec<(PathBuf, Metadata)> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        let is_directory = metadata.is_dir();
        entries.push((path.clone(), metadata));
        if is_directory {
            entries.extend(self::entries(&path));
        }
    }
    entries
}
