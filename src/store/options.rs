//! How a store is opened.

use crate::Analyser;
use crate::engine::Resources;

/// What an open store may use, and which analyser is expected. None of it is stored, but the analyser
/// of a new store.
///
/// ```
/// use nearstone::Options;
///
/// let options = Options::new().cache_bytes(1 << 30);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) cache_bytes: usize,
    pub(crate) write_buffer_bytes: usize,
    pub(crate) max_open_files: Option<u32>,
    pub(crate) text: Text,
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

    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            cache_bytes: Self::DEFAULT_CACHE_BYTES,
            write_buffer_bytes: Self::DEFAULT_WRITE_BUFFER_BYTES,
            max_open_files: None,
            text: Text::Stored,
        }
    }

    /// Sets the size of the block cache, which all tables share; 128 MiB by default, at least
    /// 64 KiB.
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

    pub(crate) fn resources(&self) -> Resources {
        Resources {
            cache_bytes: self.cache_bytes,
            write_buffer_bytes: self.write_buffer_bytes,
            max_open_files: self.max_open_files,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
