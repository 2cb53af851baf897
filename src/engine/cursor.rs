//! Probes: one prefix of one family, read by iterators that are used again and again.
//!
//! A new iterator for each probe costs up to as much as the probe itself, so iterators are pooled by
//! family and refreshed when they are taken.
//!
//! 1. A cursor owns a share of the database that it reads, so it never outlives it.
//! 2. A cursor is refreshed after it is taken and before it is positioned: it sees every write that
//!    was acknowledged before it was taken. Who takes it after taking a lock sees the writes of the
//!    previous holder.
//! 3. An idle cursor keeps old files alive, so the pool is emptied by flushes and every so many writes.
//! 4. An iterator that is sought into another file makes a new reader of that file, which costs a fifth of the seek. A
//!    sealed family keeps its files, so its cursors are pooled by file.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use crossbeam::queue::ArrayQueue;
use rocksdb::{ReadOptions, ReadTier};

use super::iterator::OwnedIterator;
use super::{Database, Handle};
use crate::format::families::Family;
use crate::spread::{Spread, thread_number};

/// How many idle cursors a family keeps for each of some threads; more at once are made anew.
const IDLE_CURSORS: usize = 2;

/// How many a sealed family keeps of each of its files.
const IDLE_CURSORS_OF_FILE: usize = 1;

/// What a cursor reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// What is in the block cache or a write buffer. At anything else its visits end.
    Cached,
    /// Everything.
    All,
}

/// The idle cursors of one family.
pub(super) struct Pool {
    files: OnceLock<Files>,
}

/// The files of a sealed family, or one that stands for all of another.
struct Files {
    /// The last keys of all but the last.
    ends: Vec<Vec<u8>>,
    /// Of each file, by what they read.
    idle: Vec<[Idle; 2]>,
}

/// A thread takes what it, or one of few others, has given back: what a cursor holds is in the cache of its processor.
type Idle = Spread<ArrayQueue<OwnedIterator>>;

impl Files {
    fn of(database: &Database, family: &Handle, has_few_files: bool) -> Self {
        // An idle cursor keeps its file open.
        let mut ends = if family.family().is_sealed() && !has_few_files { ends(database, family) } else { Vec::new() };
        ends.pop();
        let each = if ends.is_empty() { IDLE_CURSORS } else { IDLE_CURSORS_OF_FILE };
        let idle = || Spread::new(|| ArrayQueue::new(each));
        Self { idle: (0..=ends.len()).map(|_| [idle(), idle()]).collect(), ends }
    }

    fn take(&self, place: usize, tier: Tier) -> Option<OwnedIterator> {
        self.idle[place][tier as usize].of(thread_number()).pop()
    }

    fn give_back(&self, place: usize, tier: Tier, iterator: OwnedIterator) {
        // A full pool hands it back, and it is dropped.
        let _ = self.idle[place][tier as usize].of(thread_number()).push(iterator);
    }

    /// The file that a key lies in.
    fn place(&self, key: &[u8]) -> usize {
        self.ends.partition_point(|end| end.as_slice() < key)
    }
}

/// The last keys of the files of a family, in order; none where they are not known.
fn ends(database: &Database, family: &Handle) -> Vec<Vec<u8>> {
    let name = family.family().to_string();
    let files = database.db.live_files().unwrap_or_default();
    let mut ends: Vec<_> =
        files.into_iter().filter(|file| file.column_family_name == name).filter_map(|file| file.end_key).collect();
    ends.sort_unstable();
    ends
}

/// A cursor in use; one of a pool goes back to it when it is dropped.
pub(crate) struct Cursor<'a> {
    iterator: Option<OwnedIterator>,
    /// The file that it was sought in last.
    place: usize,
    tier: Tier,
    database: &'a Arc<Database>,
    family: &'a Handle,
    /// The pool that it goes back to, unless it is used once.
    files: Option<&'a Files>,
    /// Whether it was told to stop at something that it may meet.
    may_stop: bool,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { files: OnceLock::new() }
    }

    pub(super) fn clear(&self) {
        let all = self.files.get().into_iter().flat_map(|files| files.idle.iter().flatten());
        for idle in all.flat_map(Spread::iter) {
            while idle.pop().is_some() {}
        }
    }
}

/// Takes a cursor that sees everything written so far.
pub(super) fn pooled<'a>(
    database: &'a Arc<Database>,
    family: &'a Handle,
    read_only: bool,
    tier: Tier,
    has_few_files: bool,
) -> Result<Cursor<'a>, rocksdb::Error> {
    let files = family.cursors().files.get_or_init(|| Files::of(database, family, has_few_files));
    let mut cursor =
        Cursor { iterator: None, place: 0, tier, database, family, files: Some(files), may_stop: tier == Tier::Cached };
    if !family.family().is_sealed() {
        // What is open read-only does not change, and RocksDB refuses to refresh it.
        if let Some(mut iterator) = files.take(0, tier) {
            if !read_only {
                iterator.raw_mut().refresh()?;
            }
            cursor.iterator = Some(iterator);
        } else {
            cursor.iterator = Some(new(database, family, tier));
        }
    }
    Ok(cursor)
}

fn new(database: &Arc<Database>, family: &Handle, tier: Tier) -> OwnedIterator {
    let mut options = ReadOptions::default();
    if tier == Tier::Cached {
        options.set_read_tier(ReadTier::BlockCache);
    }
    options.set_prefix_same_as_start(true);
    options.set_auto_readahead_size(false);
    options.fill_cache(fills_cache(database, family));
    OwnedIterator::new(database, family, options)
}

/// Whether what is read goes to the block cache. What is read of tables in pages is kept decoded by those who read it; parts
/// of an index that are not pinned go the way of the rest.
fn fills_cache(database: &Database, family: &Handle) -> bool {
    let is_kept_decoded = matches!(family.family(), Family::Pages { .. });
    !(is_kept_decoded && database.pins_index.load(Ordering::Relaxed))
}

impl Cursor<'_> {
    /// The iterator that was sought last in the file of a key.
    fn turned_to(&mut self, key: &[u8]) -> &mut OwnedIterator {
        if let Some(files) = self.files.filter(|files| !files.ends.is_empty()) {
            let place = files.place(key);
            if place != self.place {
                self.give_back();
                self.place = place;
            }
        }
        let Self { iterator, place, tier, database, family, files, .. } = self;
        iterator.get_or_insert_with(|| {
            files.and_then(|files| files.take(*place, *tier)).unwrap_or_else(|| new(database, family, *tier))
        })
    }

    /// Whether an error is what the cursor was told to stop at.
    pub(super) fn may_give_up(&self, error: &rocksdb::Error) -> bool {
        self.may_stop && error.kind() == rocksdb::ErrorKind::Incomplete
    }

    fn give_back(&mut self) {
        if let Some((files, iterator)) = self.files.zip(self.iterator.take()) {
            files.give_back(self.place, self.tier, iterator);
        }
    }

    /// The entry that the cursor is at.
    pub(crate) fn entry(&self) -> Option<(&[u8], &[u8])> {
        self.iterator.as_ref()?.raw().item()
    }

    /// Goes to the first entry whose key is not before `key`, in a family without prefixes.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<(), rocksdb::Error> {
        let iterator = self.turned_to(key).raw_mut();
        iterator.seek(key);
        iterator.status()
    }

    /// Goes to the next entry.
    pub(super) fn step(&mut self) -> Result<(), rocksdb::Error> {
        let Some(iterator) = self.iterator.as_mut().map(OwnedIterator::raw_mut).filter(|raw| raw.valid()) else {
            return Ok(());
        };
        iterator.next();
        iterator.status()
    }

    /// Visits the entries from `start` on, in order, until one is refused or they end.
    ///
    /// In a family with prefixes `start` must be one whole prefix, or longer, and the visitor must refuse keys
    /// with another one: those that come after it may be any.
    pub(super) fn visit<E: From<rocksdb::Error>>(
        &mut self,
        start: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let iterator = self.turned_to(start).raw_mut();
        iterator.seek(start);
        while let Some((key, value)) = iterator.item() {
            if !visit(key, value)? {
                return Ok(());
            }
            iterator.next();
        }
        // An iterator that failed looks like one that has ended.
        Ok(iterator.status()?)
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// A cursor that is used once and moves forward only: with the first block that is not cached it reads so many bytes more.
pub(super) fn ahead<'a>(database: &'a Arc<Database>, family: &'a Handle, bytes: usize) -> Cursor<'a> {
    let mut options = ReadOptions::default();
    options.fill_cache(fills_cache(database, family));
    options.set_readahead_size(bytes);
    let iterator = OwnedIterator::new(database, family, options);
    Cursor { iterator: Some(iterator), place: 0, tier: Tier::All, database, family, files: None, may_stop: false }
}

/// A cursor that is used once, and gives up where more than `max_deleted` deleted keys lie in its way.
pub(super) fn bounded<'a>(database: &'a Arc<Database>, family: &'a Handle, max_deleted: u64) -> Cursor<'a> {
    let mut options = ReadOptions::default();
    options.set_prefix_same_as_start(true);
    options.set_max_skippable_internal_keys(max_deleted);
    let iterator = OwnedIterator::new(database, family, options);
    Cursor { iterator: Some(iterator), place: 0, tier: Tier::All, database, family, files: None, may_stop: true }
}

/// How many deleted keys [`first_keys`] passes over.
const MAX_DELETED: u64 = 256;

/// Returns up to `count` of the keys from `start` on that begin with `prefix`, fewer where it meets too
/// many deleted ones.
pub(super) fn first_keys(
    database: &Arc<Database>,
    family: &Handle,
    start: &[u8],
    prefix: &[u8],
    count: usize,
) -> Result<Vec<Vec<u8>>, rocksdb::Error> {
    let mut options = ReadOptions::default();
    options.set_prefix_same_as_start(true);
    options.set_max_skippable_internal_keys(MAX_DELETED);
    let mut iterator = OwnedIterator::new(database, family, options);
    let iterator = iterator.raw_mut();
    let mut keys = Vec::new();
    iterator.seek(start);
    while let Some(key) = iterator.key().filter(|key| key.starts_with(prefix) && keys.len() < count) {
        keys.push(key.to_owned());
        iterator.next();
    }
    match iterator.status() {
        Err(e) if e.kind() == rocksdb::ErrorKind::Incomplete => Ok(keys),
        Err(e) => Err(e),
        Ok(()) => Ok(keys),
    }
}

/// Returns the last key of a family.
pub(super) fn last_key(database: &Arc<Database>, family: &Handle) -> Result<Option<Vec<u8>>, rocksdb::Error> {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    let mut iterator = OwnedIterator::new(database, family, options);
    let iterator = iterator.raw_mut();
    iterator.seek_to_last();
    // One that has failed has no key either.
    iterator.status()?;
    Ok(iterator.key().map(<[u8]>::to_owned))
}
