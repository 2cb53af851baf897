//! How pairs are looked for, and what they are.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use super::work::STEP_BYTES;
use crate::store::threads::available;

/// What a search for pairs may use, and which pairs are told.
///
/// ```
/// use nearstone::PairOptions;
///
/// let options = PairOptions::new().memory_bytes(2 << 30).expand(true);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairOptions {
    pub(super) memory_bytes: usize,
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) expand: bool,
    pub(super) resume: Option<String>,
}

impl PairOptions {
    /// The default of [`PairOptions::memory_bytes`]: 1 GiB.
    pub const DEFAULT_MEMORY_BYTES: usize = 1 << 30;
    /// What one thread may need, where all values are alike, and as much for what it has found.
    const MIN_MEMORY_BYTES: usize = 96 << 20;
    const MOST_STEPS_AHEAD: usize = 1 << 12;
    /// What one thread may need: two pieces of values, their groups, and room to sort one of them.
    const THREAD_BYTES: usize = 48 << 20;

    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self { memory_bytes: Self::DEFAULT_MEMORY_BYTES, threads: None, expand: false, resume: None }
    }

    /// Sets how much memory is used, beside that of the open store; 1 GiB by default, at least 96 MiB. Where it is
    /// too little for all threads, fewer work. The result does not depend on it.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes.max(Self::MIN_MEMORY_BYTES);
        self
    }

    /// Sets how many threads compare; as many as there are cores by default. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Tells every pair of documents, instead of one document for each fingerprint.
    ///
    /// Of n documents that have one fingerprint there are n (n - 1) / 2 pairs: half a million million where a site
    /// serves one page a million times.
    #[must_use]
    pub fn expand(mut self, expand: bool) -> Self {
        self.expand = expand;
        self
    }

    /// Goes on where an earlier search of the same store was, as [`Pairs::resume_point`](crate::Pairs::resume_point)
    /// has told.
    #[must_use]
    pub fn resume(mut self, point: impl Into<String>) -> Self {
        self.resume = Some(point.into());
        self
    }

    /// How many threads compare.
    pub(super) fn workers(&self) -> usize {
        let asked = self.threads.map_or_else(available, NonZeroUsize::get);
        asked.min(self.memory_bytes / 2 / Self::THREAD_BYTES).max(1)
    }

    /// How many pairs are resolved at once, each with two fingerprints, their places and short ids.
    pub(super) fn pairs_together(&self) -> usize {
        self.memory_bytes / 4 / 128
    }

    /// How many steps may be ahead of the caller, who looks up ids or writes what was found meanwhile.
    pub(super) fn steps_ahead(&self) -> usize {
        (self.memory_bytes / 8 / STEP_BYTES).clamp(4, Self::MOST_STEPS_AHEAD)
    }

    /// How many bytes of ids are held.
    pub(super) fn id_bytes(&self) -> usize {
        self.memory_bytes / 8
    }
}

impl Default for PairOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Two documents that are near each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Pair {
    /// The id of the one: of two documents of one store the smaller, otherwise that in the first store.
    pub a: Vec<u8>,
    /// The id of the other.
    pub b: Vec<u8>,
    /// How many bits of fingerprints differ, or how many rows of signatures.
    pub distance: u32,
}

impl Pair {
    /// A pair of documents of one store.
    pub(in crate::store) fn new(a: &[u8], b: &[u8], distance: u32) -> Self {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        Self { a: a.to_owned(), b: b.to_owned(), distance }
    }

    /// Returns the ids as texts, for messages; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn ids_lossy(&self) -> (Cow<'_, str>, Cow<'_, str>) {
        (String::from_utf8_lossy(&self.a), String::from_utf8_lossy(&self.b))
    }
}
