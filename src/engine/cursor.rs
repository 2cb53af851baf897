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

use std::sync::Arc;

use crossbeam::queue::ArrayQueue;
use rocksdb::ReadOptions;

use super::iterator::OwnedIterator;
use super::{Database, Handle};

/// How many idle cursors a family keeps; more threads than this at once make their own.
const IDLE_CURSORS: usize = 16;

/// The idle cursors of one family.
pub(super) struct Pool {
    idle: ArrayQueue<OwnedIterator>,
}

/// A cursor in use; one of a pool goes back to it when it is dropped.
pub(crate) struct Cursor<'a> {
    iterator: Option<OwnedIterator>,
    pool: &'a Pool,
    /// Whether it goes back to the pool.
    is_kept: bool,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { idle: ArrayQueue::new(IDLE_CURSORS) }
    }

    pub(super) fn clear(&self) {
        while self.idle.pop().is_some() {}
    }
}

/// Takes a cursor that sees everything written so far.
pub(super) fn pooled<'a>(
    database: &Arc<Database>,
    family: &'a Handle,
    read_only: bool,
) -> Result<Cursor<'a>, rocksdb::Error> {
    let pool = family.cursors();
    let iterator = if let Some(mut iterator) = pool.idle.pop() {
        // What is open read-only or sealed does not change, and RocksDB refuses to refresh the former.
        if !read_only && !family.family().is_sealed() {
            iterator.raw_mut().refresh()?;
        }
        iterator
    } else {
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        options.set_auto_readahead_size(false);
        OwnedIterator::new(database, family, options)
    };
    Ok(Cursor { iterator: Some(iterator), pool, is_kept: true })
}

impl Cursor<'_> {
    /// Visits the entries from `start` on, in order, until one is refused or they end.
    ///
    /// In a family with prefixes `start` must be one whole prefix, or longer, and the visitor must refuse keys
    /// with another one: those that come after it may be any.
    pub(super) fn visit<E: From<rocksdb::Error>>(
        &mut self,
        start: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let Some(iterator) = &mut self.iterator else { return Ok(()) };
        let iterator = iterator.raw_mut();
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
        if let Some(iterator) = self.iterator.take().filter(|_| self.is_kept) {
            // A full pool hands it back, and it is dropped.
            let _ = self.pool.idle.push(iterator);
        }
    }
}

/// A cursor that is used once, and gives up where more than `max_deleted` deleted keys lie in its way.
pub(super) fn bounded<'a>(database: &Arc<Database>, family: &'a Handle, max_deleted: u64) -> Cursor<'a> {
    let mut options = ReadOptions::default();
    options.set_prefix_same_as_start(true);
    options.set_max_skippable_internal_keys(max_deleted);
    let iterator = OwnedIterator::new(database, family, options);
    Cursor { iterator: Some(iterator), pool: family.cursors(), is_kept: false }
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
