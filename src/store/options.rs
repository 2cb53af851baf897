//! How a store is opened.

use std::time::Duration;

use crate::Analyser;
use crate::engine::Resources;

/// What an open store may use, and which analyser is expected. Of it only the analyser
/// and the retention of a new store are stored.
///
/// ```
/// use nearstone::Options;
///
/// let options = Options::new().cache_bytes(1 << 30);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub(crate) cache_bytes: usize,
    pub(crate) write_buffer_bytes: usize,
    pub(crate) max_open_files: Option<u32>,
    pub(crate) text: Text,
    pub(crate) durability: Durability,
    pub(crate) retention: Option<Duration>,
    pub(crate) auto_seal: Option<f64>,
    pub(crate) keeps_load: bool,
    pub(crate) reads_directly: bool,
    pub(crate) counts_reads: bool,
    pub(crate) read_threads: usize,
}

/// What a call that returned `Ok` has survived; `docs/durability.md` has the details and the tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A killed process. What was stored is in the hands of the system, which writes it to the medium within
    /// seconds; a power cut may lose the latest documents, always the latest first. The default.
    #[default]
    Process,
    /// A power cut too: the log is forced to the medium before the call returns. Threads that store at the
    /// same time share the wait, which is that of one `fsync` for all of them.
    Power,
}

/// What a store is to do with texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// A new store gets the default analyser, an open one keeps its own.
    Stored,
    /// This analyser, and no other.
    Analyser(Analyser),
    /// Sketches only.
    None,
}

impl Options {
    /// The default of [`Options::cache_bytes`]: 128 MiB.
    pub const DEFAULT_CACHE_BYTES: usize = 128 << 20;
    /// The default of [`Options::write_buffer_bytes`]: 128 MiB.
    pub const DEFAULT_WRITE_BUFFER_BYTES: usize = 128 << 20;

    /// The least that [`Options::memory_bytes`] means.
    const MIN_MEMORY_BYTES: usize = 64 << 20;
    /// What is set aside of it, beside an eighth.
    const UNCOUNTED_BYTES: usize = 24 << 20;

    /// The default of [`Options::auto_seal`]: a quarter.
    pub const DEFAULT_AUTO_SEAL: f64 = 0.25;

    /// The default of [`Options::read_threads`]: 8.
    pub const DEFAULT_READ_THREADS: usize = 8;

    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            cache_bytes: Self::DEFAULT_CACHE_BYTES,
            write_buffer_bytes: Self::DEFAULT_WRITE_BUFFER_BYTES,
            max_open_files: None,
            text: Text::Stored,
            durability: Durability::Process,
            retention: None,
            auto_seal: Some(Self::DEFAULT_AUTO_SEAL),
            keeps_load: false,
            reads_directly: false,
            counts_reads: false,
            read_threads: Self::DEFAULT_READ_THREADS,
        }
    }

    /// Sets how much memory the store may take, all in all, by setting [`Options::cache_bytes`] and
    /// [`Options::write_buffer_bytes`]. Less than 64 MiB counts as that.
    ///
    /// Of `bytes`, 24 MiB and an eighth are set aside for what is not counted: readers of files, cursors, threads and
    /// what the allocator keeps. A quarter of the rest, and at most 128 MiB, is for write buffers, and what is left for
    /// caches. [`Stats`](crate::Stats) tells what is in use. Loads, seals and [`Store::pairs`](crate::Store::pairs) have
    /// memory of their own, by options of their own; a seal that the store begins by itself, and [`Store::expire`](crate::Store::expire)
    /// where sealed documents have expired, take up to 256 MiB ([`Options::auto_seal`]). Answers are the caller's.
    ///
    /// ```
    /// use nearstone::Options;
    ///
    /// let options = Options::new().memory_bytes(1 << 30).direct_reads(true);
    /// ```
    #[must_use]
    pub fn memory_bytes(self, bytes: usize) -> Self {
        let bytes = bytes.max(Self::MIN_MEMORY_BYTES);
        let counted = bytes - bytes / 8 - Self::UNCOUNTED_BYTES;
        let buffers = (counted / 4).min(Self::DEFAULT_WRITE_BUFFER_BYTES);
        self.write_buffer_bytes(buffers).cache_bytes(counted - buffers)
    }

    /// Sets how much queries may keep in memory: blocks of files, with their indexes and filters, decoded values of sealed
    /// tables, and the values of live ones; 128 MiB by default, at least 64 KiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets how much may be buffered before it is written to files, all tables together; 128 MiB by
    /// default, at least 1 MiB. The log on disk is kept below twice that, or 64 MiB.
    #[must_use]
    pub fn write_buffer_bytes(mut self, bytes: usize) -> Self {
        self.write_buffer_bytes = bytes;
        self
    }

    /// Limits how many files are held open; unlimited by default, which is fastest. Set it where the
    /// process may open few files.
    #[must_use]
    pub fn max_open_files(mut self, files: u32) -> Self {
        self.max_open_files = Some(files);
        self
    }

    /// Sets the analyser: a new store keeps it, and a store that has another one is refused.
    ///
    /// Without this a new store gets [`Analyser::default`], and an open store uses its own.
    #[must_use]
    pub fn analyser(mut self, analyser: Analyser) -> Self {
        self.text = Text::Analyser(analyser);
        self
    }

    /// Takes sketches only: a new store gets no analyser, and that of an open one is not looked at,
    /// so that a store can be read whose analyser this build does not have. Calls with texts fail.
    #[must_use]
    pub fn sketches_only(mut self) -> Self {
        self.text = Text::None;
        self
    }

    /// Sets what the calls that store are to survive before they return; [`Durability::Process`] by default.
    /// [`Store::with_durability`](crate::Store::with_durability) overrides it for single calls.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Lets the documents of a new store expire so long after they were stored, in whole milliseconds and at
    /// least one; never by default. It is kept with the store, and a store that has another one is refused.
    ///
    /// What has expired is in no answer from that moment on. Its space comes back when the engine compacts
    /// the files it is in, and with [`Store::expire`](crate::Store::expire).
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = Some(retention);
        self
    }

    /// Sets how many live documents, as a share of the sealed ones, make the store seal them by itself, in a thread
    /// of its own; a quarter by default, `None` for never. A million live documents are needed besides.
    ///
    /// [`Store::seal`](crate::Store::seal) does it at any time.
    #[must_use]
    pub fn auto_seal(mut self, share: impl Into<Option<f64>>) -> Self {
        self.auto_seal = share.into();
        self
    }

    /// Keeps what a load with a [name](crate::LoadOptions::name) that was killed has left, so that it can be gone on
    /// with. Otherwise it is removed when the store is opened for writing.
    #[must_use]
    pub fn keep_unfinished_load(mut self) -> Self {
        self.keeps_load = true;
        self
    }

    /// Reads files past the cache of the system, which then keeps its memory for others; not by default. It is for
    /// stores that are much larger than the memory: what is not in the block cache comes from the medium each time.
    #[must_use]
    pub fn direct_reads(mut self, are_direct: bool) -> Self {
        self.reads_directly = are_direct;
        self
    }

    /// Sets how many threads may read for queries what has to come from the medium, the thread of the query included; 8
    /// by default, 1 for none but that. They are started when they are first needed, and are not used for what is
    /// cached, by the store or by the system.
    ///
    /// A query needs a block of each table, or of many where it flips bits, and a medium answers several reads at once
    /// nearly as fast as one.
    #[must_use]
    pub fn read_threads(mut self, threads: usize) -> Self {
        self.read_threads = threads;
        self
    }

    /// Counts what is found in the block cache and what is read, for [`Stats::reads`](crate::Stats::reads); not by
    /// default, since counting takes time.
    #[must_use]
    pub fn count_reads(mut self, are_counted: bool) -> Self {
        self.counts_reads = are_counted;
        self
    }

    /// The retention in whole milliseconds, at least one.
    pub(crate) fn retention_millis(&self) -> Option<u64> {
        self.retention.map(|retention| u64::try_from(retention.as_millis()).unwrap_or(u64::MAX).max(1))
    }

    pub(crate) fn resources(&self) -> Resources {
        Resources {
            cache_bytes: self.cache_bytes,
            write_buffer_bytes: self.write_buffer_bytes,
            max_open_files: self.max_open_files,
            reads_directly: self.reads_directly,
            counts_reads: self.counts_reads,
            read_threads: self.read_threads,
            ..Resources::default()
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memory_is_shared_out() {
        let shares = |bytes| {
            let options = Options::new().memory_bytes(bytes);
            (options.cache_bytes, options.write_buffer_bytes)
        };
        assert_eq!([0, 1, 64 << 20].map(shares), [(24 << 20, 8 << 20); 3]);
        assert_eq!(shares(1 << 30), ((1 << 30) - (128 << 20) - (24 << 20) - (128 << 20), 128 << 20));
        for bytes in (26..40).map(|bits| 1 << bits).chain([usize::MAX]) {
            let (cache, buffers) = shares(bytes);
            assert!(cache + buffers <= bytes - bytes / 8 && cache >= 3 * buffers, "{bytes}");
        }
    }
}
