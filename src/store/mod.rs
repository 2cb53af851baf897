//! The store: sketches and documents on top of the engine.

mod admit;
mod bands;
mod batch;
mod buckets;
mod bulk;
mod change;
mod changes;
mod claims;
mod doctor;
mod expire;
mod holders;
mod iter;
mod many;
mod open;
mod options;
mod pairs;
mod progress;
mod query;
mod repair;
mod results;
#[cfg(test)]
mod schedules;
mod shared;
mod sketch;
mod sync;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod threads;
mod upkeep;
mod verify;
mod view;
mod walk;
mod work;
mod write;

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use bands::SignaturePairs;
pub use bulk::{BulkLoader, LoadOptions, LoadReport};
pub use doctor::{BitReport, Diagnosis, SelfTest, TableReport};
pub use iter::{ByFingerprint, Documents};
pub use options::{Durability, Options};
pub use pairs::{Pair, PairOptions, Pairs};
pub use progress::Progress;
pub use repair::Repair;
pub use results::{Admission, Document, Match, Matches, NewDocument, QueryStats, Reads, Stats, TableStats};
pub use sketch::Sketch;
pub use verify::Verification;
pub use work::Limits;

use crate::format::design::StoredDesign;
use crate::format::{MAX_ID_BYTES, MAX_PAYLOAD_BYTES};
use crate::{Analyser, Error, Fingerprint, Result, Signature};
use bulk::Background;
use open::Opened;
use shared::Shared;
use sketch::Ask;
use write::Content;

/// How far what compactions may drop lags behind what has expired, while documents are stored.
const EXPIRY_STEP_MILLIS: u64 = 60_000;

/// A store of simhash fingerprints.
pub type SimhashStore = Store<Fingerprint>;

/// A store of minhash signatures.
pub type MinhashStore = Store<Signature>;

/// A persistent set of documents, each with an id and a sketch, that finds the near ones.
///
/// A store is a directory. One process has it open for writing, with any number of threads: a `Store`
/// is a handle that is cheap to clone, `Send` and `Sync`, and the directory is closed with the last
/// clone, or the last [`Documents`] iterator over it. Everything that a call has returned `Ok` for survives
/// a killed process, and a power cut too where [`Durability::Power`] was asked for.
///
/// ```
/// use nearstone::{Admission, Options, SimhashStore, TableDesign};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("pages");
/// let store = SimhashStore::open_or_create(&path, &TableDesign::default(), &Options::default())?;
/// let page = "An article about table designs, as it was first published in the morning of a day in May.";
/// let copy = "An article about table designs, as it was first published in the morning of a day in May";
///
/// assert_eq!(store.check_and_insert_text("https://a.example/", page, 3)?, Some(Admission::Admitted));
/// let Some(Admission::Duplicate(of)) = store.check_and_insert_text("https://b.example/", copy, 3)? else {
///     panic!("a copy is a duplicate");
/// };
/// assert_eq!((of.id_lossy().as_ref(), of.distance), ("https://a.example/", 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store<S: Sketch> {
    shared: Arc<Shared<S>>,
    durability: Durability,
    limits: Limits,
    threads: usize,
    background: Arc<Background>,
}

impl<S: Sketch> Store<S> {
    /// The largest distance by which a new store admits documents, unless its design is for a larger one.
    pub const ADMISSION_DISTANCE: u32 = 12;

    /// Creates a store in a new or empty directory and opens it.
    ///
    /// The design, and the analyser that `options` name, are kept for good. A crash during the
    /// call leaves a directory that can be created again.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`], [`Error::NotAStore`] where the directory holds something else,
    /// [`Error::Locked`], and what the system reports.
    pub fn create(path: impl AsRef<Path>, design: &S::Design, options: &Options) -> Result<Self> {
        let path = path.as_ref();
        open::create::<S>(path, design, options)?;
        Self::from_opened(open::open::<S>(path, options, false)?, options)
    }

    /// Opens a store for reading and writing.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotAStore`], [`Error::Locked`] where another handle or process
    /// has it open, [`Error::Format`] and [`Error::Mismatch`] where this build or `options` do not
    /// fit it, [`Error::Corrupt`], and what the system reports.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        Self::from_opened(open::open::<S>(path.as_ref(), options, false)?, options)
    }

    /// Opens a store, or creates it where there is none: the first line of a crawler.
    ///
    /// # Errors
    /// Those of [`Store::create`] and [`Store::open`]; [`Error::Mismatch`] also where the store has
    /// another design than `design`, another retention, another analyser than `options` name, or none where they name
    /// none.
    pub fn open_or_create(path: impl AsRef<Path>, design: &S::Design, options: &Options) -> Result<Self> {
        let path = path.as_ref();
        if open::is_missing(path)? {
            match open::create::<S>(path, design, options) {
                // Another thread or process was faster.
                Err(Error::AlreadyExists { .. }) | Ok(()) => {}
                Err(e) => return Err(e),
            }
        }
        match open::open_same::<S>(path, design, options) {
            // A creation that ended just before its last step.
            Err(Error::NotFound { .. }) => Self::create(path, design, options),
            opened => Self::from_opened(opened?, options),
        }
    }

    /// Opens a store that nobody writes to, such as a closed one or a copy of one, for reading. Any
    /// number of processes may have it open so.
    ///
    /// # Errors
    /// Those of [`Store::open`]; [`Error::Locked`] where a writer has it open.
    pub fn open_read_only(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        Self::from_opened(open::open::<S>(path.as_ref(), options, true)?, options)
    }

    fn from_opened(opened: Opened<S>, options: &Options) -> Result<Self> {
        let shared = Shared::from_opened(opened)?;
        let background = Arc::new(Background::new(options.auto_seal));
        Ok(Self {
            shared: Arc::new(shared),
            durability: options.durability,
            limits: Limits::default(),
            threads: threads::available(),
            background,
        })
    }

    /// Returns a handle whose calls survive what `durability` says; this one is as it was.
    ///
    /// ```
    /// use nearstone::{Durability, Fingerprint, Options, SimhashStore, TableDesign};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &Options::new())?;
    /// store.with_durability(Durability::Power).insert("kept even if the power fails now", &Fingerprint::new(7))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }

    /// Returns a handle whose queries and admissions do a bounded amount of work each; this one is as it was.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self { limits, ..self.clone() }
    }

    /// Returns a handle whose calls for many queries use so many threads, as many as the machine runs at once by
    /// default; this one is as it was. Answers do not depend on it.
    #[must_use]
    pub fn with_threads(&self, threads: NonZeroUsize) -> Self {
        Self { threads: threads.get().min(threads::MOST_THREADS), ..self.clone() }
    }

    /// Stores a document, in place of the one that has its id. Returns the sketch that it replaced.
    ///
    /// Storing the same id and sketch again changes nothing, not even the time stored.
    ///
    /// # Errors
    /// [`Error::DocumentId`], [`Error::ReadOnly`], [`Error::DiskFull`], and what the system reports;
    /// then nothing was stored. Only a sync that fails, under [`Durability::Power`] or in a store whose documents
    /// expire, may leave it stored.
    pub fn insert(&self, id: impl AsRef<[u8]>, sketch: &S) -> Result<Option<S>> {
        self.insert_with(id, sketch, &[])
    }

    /// Stores a document with a payload, which [`Store::get`] returns; otherwise as [`Store::insert`]. A
    /// document with the same id and sketch and another payload is replaced.
    ///
    /// # Errors
    /// Those of [`Store::insert`]; [`Error::Payload`].
    pub fn insert_with(&self, id: impl AsRef<[u8]>, sketch: &S, payload: &[u8]) -> Result<Option<S>> {
        let (id, payload) = (checked_id(id.as_ref())?, checked_payload(payload)?);
        self.shared.engine.writable()?;
        sketch.check(self.design())?;
        let replaced = write::insert(&self.shared, id, Content { sketch, payload })?;
        self.settle()?;
        Ok(replaced)
    }

    /// Stores a document unless one within `max_distance` bits is stored: checks and stores as one
    /// step, so of any number of near documents that threads bring at once, one is admitted and the
    /// others learn its id.
    ///
    /// An earlier version under the same id counts as stored: an unchanged page that is met again is
    /// a duplicate of itself, and one that changed beyond the distance replaces its earlier version.
    ///
    /// # Errors
    /// Those of [`Store::insert`]; [`Error::Distance`] where `max_distance` is larger than
    /// [`Store::admission_distance`].
    pub fn check_and_insert(&self, id: impl AsRef<[u8]>, sketch: &S, max_distance: u32) -> Result<Admission> {
        self.check_and_insert_with(id, sketch, &[], max_distance)
    }

    /// The same with a payload, which is stored where the document is admitted.
    ///
    /// # Errors
    /// Those of [`Store::check_and_insert`]; [`Error::Payload`].
    pub fn check_and_insert_with(
        &self,
        id: impl AsRef<[u8]>,
        sketch: &S,
        payload: &[u8],
        max_distance: u32,
    ) -> Result<Admission> {
        let (id, payload) = (checked_id(id.as_ref())?, checked_payload(payload)?);
        self.admissible(max_distance)?;
        sketch.check(self.design())?;
        let new = Content { sketch, payload };
        let answer = admit::check_and_insert(&self.shared, id, new, max_distance, self.limits)?;
        self.settle()?;
        Ok(answer)
    }

    /// Does what [`Store::check_and_insert_with`] does for each document in their order, so near-duplicates
    /// among them are found too, and returns the answers in that order. It is the fastest way for callers
    /// that have many documents at hand: some hundreds at a time. With [`Limits`] an answer that is cut short may
    /// be another one than that of a single call, which looks in another order.
    ///
    /// # Errors
    /// Those of [`Store::check_and_insert_with`]. What can be refused is refused before anything is stored;
    /// where the system fails in between, the first documents may have been stored. Then the call can be
    /// repeated: they are duplicates of themselves.
    pub fn check_and_insert_batch(
        &self,
        documents: &[NewDocument<'_, S>],
        max_distance: u32,
    ) -> Result<Vec<Admission>> {
        for document in documents {
            checked_id(document.id)?;
            checked_payload(document.payload)?;
            document.sketch.check(self.design())?;
        }
        self.admissible(max_distance)?;
        let answers = admit::check_and_insert_batch(&self.shared, documents, max_distance, self.limits)?;
        self.settle()?;
        Ok(answers)
    }

    /// Fails where a sketch or a distance cannot be asked for.
    fn askable(&self, sketch: &S, max_distance: u32) -> Result<()> {
        sketch.check(self.design())?;
        checked_distance(max_distance, self.design().most_distance(), "a query")
    }

    fn admissible(&self, max_distance: u32) -> Result<()> {
        checked_distance(max_distance, self.shared.record.admission_distance, "the admission distance of the store")?;
        self.shared.engine.writable()
    }

    /// Waits until what the call has seen and stored is as durable as it is to be. What it has seen too: who
    /// is told of a duplicate must find it again.
    fn settle(&self) -> Result<()> {
        self.shared.advance_expiry(EXPIRY_STEP_MILLIS)?;
        if self.background.is_due() {
            S::seal_in_background(&self.background, &self.shared);
        }
        match self.durability {
            Durability::Process => Ok(()),
            Durability::Power => self.shared.engine.sync(),
        }
    }

    /// Returns the stored documents within `max_distance` bits, the bound included: all of them, each
    /// once, as they are at one moment of the call.
    ///
    /// The distance of fingerprints may be smaller or larger than the one that the design is meant for, up to
    /// [`TableDesign::MAX_DISTANCE`](crate::TableDesign::MAX_DISTANCE);
    /// [`TableDesign::probes_for`](crate::TableDesign::probes_for) tells what it costs. That of signatures is in rows, up to
    /// all of them ([`MinhashDesign::max_distance`](crate::MinhashDesign::max_distance) tells that of a similarity): found is what shares
    /// a band besides.
    ///
    /// # Errors
    /// [`Error::Distance`], [`Error::Corrupt`], and what the system reports.
    pub fn query(&self, sketch: &S, max_distance: u32) -> Result<Matches> {
        self.askable(sketch, max_distance)?;
        query::query(&self.shared, &Ask::new(sketch, max_distance), self.limits)
    }

    /// Answers many queries: for each sketch what [`Store::query`] returns, in the same order, several times faster.
    ///
    /// Up to 262,144 queries are answered together: their probes are sorted, and each table is swept once, by
    /// [as many threads](Store::with_threads) as there are. The memory is bounded, so there may be any number of queries. Each
    /// answer is of one moment, those of a chunk of the moment at which it begins or a later one. Queries with limits are
    /// asked one by one.
    ///
    /// ```
    /// use nearstone::{Fingerprint, Options, SimhashStore, TableDesign};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &Options::new())?;
    /// store.insert("a", &Fingerprint::new(0b1000))?;
    /// let queries = (0..16).map(Fingerprint::new);
    /// for (query, matches) in queries.clone().zip(store.query_batch(queries, 1)?) {
    ///     for found in matches? {
    ///         println!("{query} is {} bits from {}", found.distance, found.id_lossy());
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Distance`] at once; those of [`Store::query`] as the last item.
    pub fn query_batch(
        &self,
        sketches: impl IntoIterator<Item = S>,
        max_distance: u32,
    ) -> Result<impl Iterator<Item = Result<Matches>>> {
        checked_distance(max_distance, self.design().most_distance(), "a query")?;
        Ok(batch::Answers::new(&self.shared, sketches.into_iter(), max_distance, self.limits, self.threads))
    }

    /// Returns the document with an id, unless it has expired.
    ///
    /// # Errors
    /// [`Error::DocumentId`], [`Error::Corrupt`], and what the system reports.
    pub fn get(&self, id: impl AsRef<[u8]>) -> Result<Option<Document<S>>> {
        self.shared.document(checked_id(id.as_ref())?)
    }

    /// Removes the document with an id and returns its sketch.
    ///
    /// # Errors
    /// Those of [`Store::insert`]; then nothing was removed, unless only its sync has failed.
    pub fn delete(&self, id: impl AsRef<[u8]>) -> Result<Option<S>> {
        let id = checked_id(id.as_ref())?;
        self.shared.engine.writable()?;
        let removed = write::delete(&self.shared, id)?;
        self.settle()?;
        Ok(removed)
    }

    /// Visits all documents by their ids, as they are now, in bounded memory.
    ///
    /// # Errors
    /// What the system reports; the iterator itself ends with the first error that it yields.
    #[expect(clippy::iter_not_returning_iterator, reason = "opening the iterator can fail")]
    pub fn iter(&self) -> Result<Documents<S>> {
        Ok(Documents::new(&self.shared))
    }

    /// Returns the directory of the store.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.shared.engine.path()
    }

    /// Returns the table design.
    #[must_use]
    pub fn design(&self) -> &S::Design {
        &self.shared.record.design
    }

    /// Returns the largest distance that [`Store::check_and_insert`] takes:
    /// [`Store::ADMISSION_DISTANCE`], or that of the design where it is larger.
    #[must_use]
    pub fn admission_distance(&self) -> u32 {
        self.shared.record.admission_distance
    }

    /// Returns how long after it was stored a document expires, if the store was created so.
    #[must_use]
    pub fn retention(&self) -> Option<Duration> {
        self.shared.settings.retention_millis.map(Duration::from_millis)
    }

    /// Describes the analyser that the store record names, whether texts go through it here or not.
    #[must_use]
    pub fn stored_analyser(&self) -> Option<String> {
        self.shared.record.analyser.as_ref().map(ToString::to_string)
    }

    /// Returns the analyser that texts go through, if the store has one.
    #[must_use]
    pub fn analyser(&self) -> Option<&Analyser> {
        self.shared.sketcher.as_ref().map(S::analyser)
    }

    /// Returns whether the store was opened read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.shared.engine.is_read_only()
    }
}

impl<S: Sketch> Clone for Store<S> {
    fn clone(&self) -> Self {
        let (shared, background) = (Arc::clone(&self.shared), Arc::clone(&self.background));
        Self { shared, durability: self.durability, limits: self.limits, threads: self.threads, background }
    }
}

impl<S: Sketch> fmt::Debug for Store<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path())
            .field("design", &self.design().to_string())
            .finish_non_exhaustive()
    }
}

fn checked_id(id: &[u8]) -> Result<&[u8]> {
    if (1..=MAX_ID_BYTES).contains(&id.len()) { Ok(id) } else { Err(Error::DocumentId { length: id.len() }) }
}

fn checked_payload(payload: &[u8]) -> Result<&[u8]> {
    if payload.len() <= MAX_PAYLOAD_BYTES { Ok(payload) } else { Err(Error::Payload { length: payload.len() }) }
}

fn checked_distance(asked: u32, maximum: u32, by: &'static str) -> Result<()> {
    if asked <= maximum { Ok(()) } else { Err(Error::Distance { asked, maximum, by }) }
}
