//! How a load is done, and what came of it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Target;
use super::build::Build;
use super::folder::Folder;
use super::meter::Meter;
use crate::store::threads::available;

/// What a load may use, and where its ids come from.
///
/// ```
/// use nearstone::LoadOptions;
///
/// let options = LoadOptions::new().memory_bytes(4 << 30).rows(0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    pub(super) memory_bytes: usize,
    pub(super) temp_dir: Option<PathBuf>,
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) first_row: Option<u64>,
    pub(super) name: Option<String>,
}

impl LoadOptions {
    /// The default of [`LoadOptions::memory_bytes`]: 1 GiB.
    pub const DEFAULT_MEMORY_BYTES: usize = 1 << 30;
    /// Less than this would be read and written in crumbs.
    const MIN_MEMORY_BYTES: usize = 8 << 20;

    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self { memory_bytes: Self::DEFAULT_MEMORY_BYTES, temp_dir: None, threads: None, first_row: None, name: None }
    }

    /// Sets how much is sorted in memory at once; 1 GiB by default, at least 8 MiB. What the open store uses, and
    /// some buffers, about 100 MiB, come on top.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes.max(Self::MIN_MEMORY_BYTES);
        self
    }

    /// Puts temporary files into a folder of their own in this directory, instead of into that of the store. They
    /// take up to 24 bytes for each document with an id of 8 bytes.
    #[must_use]
    pub fn temp_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.temp_dir = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets how many threads sort and write; as many as there are cores by default. The result does not depend
    /// on it.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Numbers the documents from `first` on: their ids are 8 bytes, big-endian, in the order in which they come.
    /// It is for [`BulkLoader::push_rows`](crate::BulkLoader::push_rows).
    #[must_use]
    pub fn rows(mut self, first: u64) -> Self {
        self.first_row = Some(first);
        self
    }

    /// Names the load, so that it can be gone on with after it was killed: finished phases are kept, and a load of
    /// the same name into the same store goes on after them. The store must be opened with
    /// [`Options::keep_unfinished_load`](crate::Options::keep_unfinished_load) for that, or what is left of it is
    /// removed. The name should say what is loaded.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub(super) fn build<'a>(&self, target: &'a Target, folder: &Folder, meter: &'a Meter) -> Build<'a> {
        let threads = self.threads.map_or_else(available, NonZeroUsize::get);
        Build {
            design: target.design().clone(),
            has_times: target.has_times(),
            folder: target.folder(),
            temp: folder.temp().to_owned(),
            form: target.form(),
            memory_bytes: self.memory_bytes,
            threads,
            is_resumable: folder.is_resumable(),
            meter,
        }
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// What a load has done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// The documents that were taken, those with an id that came again included.
    pub read: u64,
    /// The documents that are sealed now, with those that were before.
    pub documents: u64,
    /// The distinct fingerprints of these.
    pub sketches: u64,
    /// How long each phase took.
    pub phases: Vec<(&'static str, Duration)>,
    latest: Instant,
}

impl LoadReport {
    pub(super) fn new(began: Instant, read: u64) -> Self {
        Self { read, documents: 0, sketches: 0, phases: Vec::new(), latest: began }
    }

    /// Notes that a phase has ended.
    pub(super) fn phase(&mut self, name: &'static str) {
        let now = Instant::now();
        self.phases.push((name, now - std::mem::replace(&mut self.latest, now)));
    }
}
