//! What the calls of a store return.

use std::borrow::Cow;
use std::time::SystemTime;

use super::write::Content;

/// A stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document<S> {
    /// The caller's id, 1 to [`MAX_ID_BYTES`](crate::MAX_ID_BYTES) bytes.
    pub id: Vec<u8>,
    /// The sketch.
    pub sketch: S,
    /// When it was stored, to the millisecond. Within one open store the time never goes back.
    pub stored_at: SystemTime,
    /// What the caller has stored with it, as it was given; empty where that was nothing.
    pub payload: Vec<u8>,
}

/// A document to be stored, for calls that take many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewDocument<'a, S> {
    pub(crate) id: &'a [u8],
    pub(crate) sketch: S,
    pub(crate) payload: &'a [u8],
}

impl<'a, S> NewDocument<'a, S> {
    /// A document without a payload. The id has 1 to [`MAX_ID_BYTES`](crate::MAX_ID_BYTES) bytes.
    #[must_use]
    pub fn new(id: &'a (impl AsRef<[u8]> + ?Sized), sketch: S) -> Self {
        Self { id: id.as_ref(), sketch, payload: &[] }
    }

    /// Gives it a payload, up to [`MAX_PAYLOAD_BYTES`](crate::MAX_PAYLOAD_BYTES).
    #[must_use]
    pub fn payload(mut self, payload: &'a [u8]) -> Self {
        self.payload = payload;
        self
    }

    pub(super) fn content(&self) -> Content<'_, S> {
        Content { sketch: &self.sketch, payload: self.payload }
    }
}

/// A stored document that is near the one asked about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Match {
    /// How many bits of fingerprints differ, or how many rows of signatures.
    pub distance: u32,
    /// The id of the stored document.
    pub id: Vec<u8>,
    /// The similarity of signatures that the distance tells of.
    pub(crate) similarity: Option<Similarity>,
}

/// An estimated similarity. Of two matches of one store the nearer is the more similar, so their order needs it not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Similarity(f64);

impl Similarity {
    pub(crate) fn new(similarity: f64) -> Self {
        Self(similarity)
    }
}

impl PartialEq for Similarity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Similarity {}

impl PartialOrd for Similarity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Similarity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Match {
    /// Returns the estimated Jaccard index of the texts, for signatures: unbiased, with the standard error
    /// [`MinhashDesign::standard_error`](crate::MinhashDesign::standard_error). Fingerprints do not tell one.
    #[must_use]
    pub fn similarity(&self) -> Option<f64> {
        self.similarity.map(|similarity| similarity.0)
    }

    /// Returns the id as text, for messages; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn id_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.id)
    }
}

/// The stored documents within the distance asked for: each once, by distance and then by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    pub(crate) found: Vec<Match>,
    pub(crate) stats: QueryStats,
    pub(crate) is_truncated: bool,
}

impl Matches {
    /// Returns the matches, the nearest first.
    #[must_use]
    pub fn as_slice(&self) -> &[Match] {
        &self.found
    }

    /// Returns the nearest document, the one with the smallest id where several are equally near.
    #[must_use]
    pub fn nearest(&self) -> Option<&Match> {
        self.found.first()
    }

    /// Returns the number of matches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Returns whether nothing stored is near.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns whether [`Limits`](crate::Limits) have cut the answer short: there may be, or are, other
    /// matches.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Visits the matches, the nearest first.
    pub fn iter(&self) -> std::slice::Iter<'_, Match> {
        self.found.iter()
    }

    /// Returns what the query has cost.
    #[must_use]
    pub fn stats(&self) -> &QueryStats {
        &self.stats
    }
}

impl IntoIterator for Matches {
    type Item = Match;
    type IntoIter = std::vec::IntoIter<Match>;

    fn into_iter(self) -> Self::IntoIter {
        self.found.into_iter()
    }
}

impl<'a> IntoIterator for &'a Matches {
    type Item = &'a Match;
    type IntoIter = std::slice::Iter<'a, Match>;

    fn into_iter(self) -> Self::IntoIter {
        self.found.iter()
    }
}

/// What a query has cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryStats {
    /// Prefixes that were looked up, over all tables.
    pub probes: u64,
    /// Stored sketches that were compared: in each table each distinct one once.
    pub candidates: u64,
    /// How often a table was read from end to end, since that is cheaper than its probes.
    pub scans: u64,
    /// The same for each table that was read.
    pub tables: Vec<TableStats>,
}

impl QueryStats {
    /// Adds what was done later for a table that was added.
    pub(crate) fn add_to(&mut self, place: usize, more: &TableStats) {
        self.probes += more.probes;
        self.candidates += more.candidates;
        let table = &mut self.tables[place];
        table.probes += more.probes;
        table.candidates += more.candidates;
        table.verified += more.verified;
    }

    pub(crate) fn add(&mut self, table: TableStats) {
        self.probes += table.probes;
        self.candidates += table.candidates;
        self.tables.push(table);
    }
}

/// What a query has cost in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStats {
    /// The number of the table in the design, from 0.
    pub table: usize,
    /// The prefix of the query in this table: a number of as many bits as the table's prefix has.
    pub prefix: u64,
    /// The flip radius of the probes, or `None` where the table was read from end to end.
    pub radius: Option<u32>,
    /// Prefixes that were looked up.
    pub probes: u64,
    /// Stored sketches that were compared.
    pub candidates: u64,
    /// Of these, the ones within the distance. A sketch may be found through several tables.
    pub verified: u64,
}

/// The answer of [`Store::check_and_insert`](crate::Store::check_and_insert).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing near was stored; the document is now.
    Admitted,
    /// A stored document is near, and nothing was changed: the nearest, and of equally near ones the
    /// one with the smallest id. It may be the same id, stored before.
    ///
    /// Where [`Limits`](crate::Limits) have cut the search short it is near all the same, but another one
    /// may be nearer.
    Duplicate(Match),
    /// [`Limits`](crate::Limits) have cut the search short before anything near was found, and nothing was
    /// changed. [`Store::insert`](crate::Store::insert) stores the document nevertheless.
    Undecided,
}

impl Admission {
    /// Returns whether the document was admitted.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        matches!(self, Self::Admitted)
    }
}

/// What a store has read, of all families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reads {
    /// Blocks that were found in the cache.
    pub cache_hits: u64,
    /// Blocks that were not, and were read from files.
    pub cache_misses: u64,
    /// The bytes that were read from files, as they are there.
    pub bytes: u64,
}

impl std::ops::Sub for Reads {
    type Output = Self;

    /// What was read between two looks.
    fn sub(self, before: Self) -> Self {
        Self {
            cache_hits: self.cache_hits - before.cache_hits,
            cache_misses: self.cache_misses - before.cache_misses,
            bytes: self.bytes - before.bytes,
        }
    }
}

/// The size of a store, from [`Store::stats`](crate::Store::stats).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Documents: an estimate, exact as long as none was replaced or deleted.
    pub approximate_documents: u64,
    /// Of these, the sealed ones, those included that were replaced or deleted since.
    pub sealed_documents: u64,
    /// Distinct sketches: an estimate likewise.
    pub approximate_sketches: u64,
    /// The bytes of all files.
    pub disk_bytes: u64,
    /// Of these, the data files of all tables. What is still in the write buffers is not in it.
    pub table_bytes: u64,
    /// The data files of the signatures, likewise; fingerprints have none of their own.
    pub signature_bytes: u64,
    /// The data files of the documents, likewise.
    pub document_bytes: u64,
    /// The data files of the holders, likewise.
    pub holder_bytes: u64,
    /// The bytes of the write buffers in memory.
    pub write_buffer_bytes: u64,
    /// The bytes of the caches in use: blocks of files, decoded values of sealed tables, and values of live ones.
    pub cache_bytes: u64,
    /// About the bytes that the readers of open files take besides.
    pub reader_bytes: u64,
    /// What was read since the store was opened, with [`Options::count_reads`](crate::Options::count_reads).
    pub reads: Option<Reads>,
    /// The number of tables.
    pub tables: usize,
    /// The number of the newest generation.
    pub generation: u64,
    /// When the store was created, to the millisecond.
    pub created_at: SystemTime,
}

impl Stats {
    /// Returns the bytes of memory that the open store counts: write buffers, caches and readers of files.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.write_buffer_bytes + self.cache_bytes + self.reader_bytes
    }
}
