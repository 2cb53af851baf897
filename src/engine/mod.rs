//! RocksDB, and only here. This layer knows bytes and families, not fingerprints.

mod checkpoint;
mod cursor;
mod errors;
mod expiry;
mod generations;
mod handle;
mod iterator;
mod kept;
mod lock;
mod open;
mod options;
mod readers;
mod scan;
mod sync;
mod writer;

use rocksdb::statistics::Ticker;
use rocksdb::{
    BottommostLevelCompaction, Cache, CompactOptions, DBWithThreadMode, FlushOptions, MultiThreaded, WriteBatch,
    WriteOptions, properties,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub(crate) use cursor::{Cursor, Tier};
pub(crate) use errors::{io as io_error, malformed};
pub(crate) use expiry::{Expiry, is_expired};
pub(crate) use handle::Handle;
pub(crate) use kept::Entries;
use kept::Kept;
pub(crate) use open::{Found, inspect};
pub(crate) use options::{PageLayout, Resources};
use readers::Readers;
pub(crate) use scan::Scan;
pub(crate) use writer::{PageWriter, write_keys};

use crate::format::families::Family;
use crate::format::record::{EXPIRY_KEY, RECORD_KEY, REPAIR_KEY, frequencies_key};
use crate::{Error, Result};
use lock::Lock;
use sync::Syncs;

type Db = DBWithThreadMode<MultiThreaded>;

/// A database and the lock that it is open under, which is let go after it is closed.
struct Database {
    db: Db,
    /// Whether the indexes of sealed families stay in the cache.
    pins_index: AtomicBool,
    /// About what they take.
    pinned_bytes: AtomicU64,
    _lock: Lock,
}

/// Blocks that were looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    pub(crate) cache_hits: u64,
    pub(crate) cache_misses: u64,
    /// The bytes that were read from files.
    pub(crate) bytes: u64,
}

/// After so many writes the idle cursors are dropped, so that they do not keep old files alive.
const WRITES_PER_CURSOR: u64 = 1 << 16;

/// An open RocksDB database with the families of a store.
pub(crate) struct Engine {
    handles: RwLock<Vec<Handle>>,
    database: Arc<Database>,
    cache: Cache,
    resources: Resources,
    /// Where reads are counted, if they are.
    counted: Option<rocksdb::Options>,
    path: PathBuf,
    read_only: bool,
    syncs: Syncs,
    readers: Readers,
    kept: Kept,
    /// One checkpoint at a time.
    checkpoints: Mutex<()>,
    expiry: Expiry,
    /// One change of the expiry limit at a time.
    limits: Mutex<()>,
    /// Whether a write has failed for lack of space.
    is_full: AtomicBool,
}

impl Engine {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Returns the store record's bytes.
    pub(crate) fn record(&self) -> Result<Option<Vec<u8>>> {
        self.database.db.get(RECORD_KEY).map_err(|e| self.error(&e))
    }

    /// Returns the bytes of a table of frequencies; none where the store has not got it.
    pub(crate) fn frequencies(&self, identity: u64) -> Result<Vec<u8>> {
        let mut table = Vec::new();
        for part in 0.. {
            match self.database.db.get_pinned(frequencies_key(identity, part)).map_err(|e| self.error(&e))? {
                Some(bytes) => table.extend_from_slice(&bytes),
                None => break,
            }
        }
        Ok(table)
    }

    /// The number of the latest write, which grows with each.
    pub(crate) fn latest_write(&self) -> u64 {
        self.database.db.latest_sequence_number()
    }

    /// What has expired by this time, in milliseconds since 1970, may have been dropped.
    pub(crate) fn expiry_limit(&self) -> u64 {
        self.expiry.limit.load(Ordering::SeqCst)
    }

    /// Lets compactions drop what has expired by a time, unless they may by a later one already.
    pub(crate) fn set_expiry_limit(&self, millis: u64) -> Result<()> {
        // One after the other, or an earlier limit could take the place of a later one on the medium.
        let _one = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if millis <= self.expiry_limit() {
            return Ok(());
        }
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        let db = &self.database.db;
        db.put_opt(EXPIRY_KEY, millis.to_be_bytes(), &synced).map_err(|e| self.error(&e))?;
        self.expiry.limit.store(millis, Ordering::SeqCst);
        Ok(())
    }

    /// Whether a repair of the store was begun and has not ended.
    pub(crate) fn is_in_repair(&self) -> Result<bool> {
        self.database.db.get(REPAIR_KEY).map(|mark| mark.is_some()).map_err(|e| self.error(&e))
    }

    /// Says, forced to the medium, whether a repair is under way.
    pub(crate) fn mark_repair(&self, is_under_way: bool) -> Result<()> {
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        let db = &self.database.db;
        let marked =
            if is_under_way { db.put_opt(REPAIR_KEY, b"begun", &synced) } else { db.delete_opt(REPAIR_KEY, &synced) };
        marked.map_err(|e| self.error(&e))
    }

    /// Finds a family that a store must have.
    pub(crate) fn family(&self, family: Family) -> Result<Handle> {
        let found = self.handles().into_iter().find(|handle| handle.family() == family);
        found.ok_or_else(|| Error::Corrupt { path: self.path.clone(), what: format!("the family {family} is missing") })
    }

    pub(crate) fn get(&self, family: &Handle, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.database.db.get_cf(family.column(), key).map_err(|e| self.error(&e))
    }

    /// Tells whether a key is in a family.
    pub(crate) fn has(&self, family: &Handle, key: &[u8]) -> Result<bool> {
        let value = self.database.db.get_pinned_cf(family.column(), key);
        value.map(|value| value.is_some()).map_err(|e| self.error(&e))
    }

    /// Visits the values of those of the keys that are in a family, which come in their order, each with the place of its key.
    pub(crate) fn get_each<'a>(
        &self,
        family: &Handle,
        keys: impl Iterator<Item = &'a [u8]>,
        mut visit: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let keys: Vec<_> = keys.collect();
        let values = self.database.db.batched_multi_get_cf(family.column(), &keys, true);
        for (place, value) in values.into_iter().enumerate() {
            if let Some(value) = value.map_err(|e| self.error(&e))? {
                visit(place, &value)?;
            }
        }
        Ok(())
    }

    /// Returns the last key of a family, in the order of the keys.
    pub(crate) fn last_key(&self, family: &Handle) -> Result<Option<Vec<u8>>> {
        cursor::last_key(&self.database, family).map_err(|e| self.error(&e))
    }

    /// Tells for each key whether it is in a family.
    pub(crate) fn contain<'a>(&self, family: &Handle, keys: impl Iterator<Item = &'a [u8]>) -> Result<Vec<bool>> {
        let keys: Vec<_> = keys.collect();
        let values = self.database.db.batched_multi_get_cf(family.column(), &keys, false);
        values.into_iter().map(|value| value.map(|v| v.is_some()).map_err(|e| self.error(&e))).collect()
    }

    /// Takes a cursor that sees everything written so far.
    pub(crate) fn cursor<'a>(&'a self, family: &'a Handle) -> Result<Cursor<'a>> {
        self.cursor_over(family, Tier::All)
    }

    /// The same, whose visits end with [`Visited::GaveUp`] at what is not of a tier.
    pub(crate) fn cursor_over<'a>(&'a self, family: &'a Handle, tier: Tier) -> Result<Cursor<'a>> {
        let has_few_files = self.resources.max_open_files.is_some();
        cursor::pooled(&self.database, family, self.read_only, tier, has_few_files).map_err(|e| self.error(&e))
    }

    /// Takes a cursor of a sealed family that moves forward only, and with the first block that is not cached reads so many
    /// bytes more: one read of several blocks takes little longer than that of one.
    pub(crate) fn cursor_ahead<'a>(&'a self, family: &'a Handle, bytes: u64) -> Cursor<'a> {
        cursor::ahead(&self.database, family, usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// The threads that read what is not cached.
    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Takes a cursor whose visits end with [`Visited::GaveUp`] where more deleted keys than that lie in the way.
    pub(crate) fn bounded_cursor<'a>(&'a self, family: &'a Handle, max_deleted: u64) -> Cursor<'a> {
        cursor::bounded(&self.database, family, max_deleted)
    }

    /// Visits the entries of a family whose keys begin with `prefix`, which is the whole prefix of the
    /// family, until one is refused by `Ok(false)` or they end.
    pub(crate) fn visit(
        &self,
        cursor: &mut Cursor<'_>,
        prefix: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool>,
    ) -> Result<Visited> {
        let walked = cursor.visit(prefix, |key, value| {
            if key.starts_with(prefix) { visit(key, value).map_err(Stopped::Visitor) } else { Ok(false) }
        });
        self.visited(cursor, walked)
    }

    /// Visits the entries of a family without prefixes from the first key that is not before `start`, until one is
    /// refused by `Ok(false)` or they end.
    pub(crate) fn visit_from(
        &self,
        cursor: &mut Cursor<'_>,
        start: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool>,
    ) -> Result<Visited> {
        let walked = cursor.visit(start, |key, value| visit(key, value).map_err(Stopped::Visitor));
        self.visited(cursor, walked)
    }

    /// Goes to the first entry whose key is not before `key`, in a family without prefixes.
    pub(crate) fn seek(&self, cursor: &mut Cursor<'_>, key: &[u8]) -> Result<()> {
        cursor.seek(key).map_err(|e| self.error(&e))
    }

    /// Goes to the next entry, and returns it.
    pub(crate) fn step<'c>(&self, cursor: &'c mut Cursor<'_>) -> Result<Option<(&'c [u8], &'c [u8])>> {
        cursor.step().map_err(|e| self.error(&e))?;
        Ok(cursor.entry())
    }

    fn visited(&self, cursor: &Cursor<'_>, walked: Result<(), Stopped>) -> Result<Visited> {
        match walked {
            Ok(()) => Ok(Visited::Whole),
            Err(Stopped::Visitor(error)) => Err(error),
            Err(Stopped::Engine(error)) if cursor.may_give_up(&error) => Ok(Visited::GaveUp),
            Err(Stopped::Engine(error)) => Err(self.error(&error)),
        }
    }

    /// Returns up to `count` of the keys from `start` on that begin with `prefix`. It gives up, with
    /// fewer, where many deleted keys lie in between.
    pub(crate) fn first_keys(
        &self,
        family: &Handle,
        start: &[u8],
        prefix: &[u8],
        count: usize,
    ) -> Result<Vec<Vec<u8>>> {
        cursor::first_keys(&self.database, family, start, prefix, count).map_err(|e| self.error(&e))
    }

    /// Reads a family from its first key to its last, as it is now.
    pub(crate) fn scan(&self, family: &Handle) -> Scan {
        Scan::new(&self.database, family, &self.path)
    }

    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch { engine: self, changes: WriteBatch::default() }
    }

    /// Writes what is in memory to the disk: after this nothing acknowledged depends on the log, and
    /// a power cut loses none of it.
    pub(crate) fn flush(&self) -> Result<()> {
        self.writable()?;
        let mut wait = FlushOptions::default();
        wait.set_wait(true);
        for handle in self.handles() {
            let flushed = self.database.db.flush_cf_opt(handle.column(), &wait);
            let is_dropped = || self.handles().iter().all(|other| other.family() != handle.family());
            if let Err(error) = flushed
                && !is_dropped()
            {
                return Err(self.error(&error));
            }
        }
        self.sync()?;
        self.drop_idle_cursors();
        Ok(())
    }

    /// Forces the log to the medium: after this a power cut loses nothing that was written before.
    /// Threads that ask at the same time share the work.
    pub(crate) fn sync(&self) -> Result<()> {
        self.syncs.sync(|| self.database.db.flush_wal(true)).map_err(|e| self.error(&e))
    }

    /// Merges all files of the live families, which takes space back and makes reads cheaper.
    pub(crate) fn compact(&self) -> Result<()> {
        self.flush()?;
        let mut options = CompactOptions::default();
        // The last level too, or what was flushed straight to it would keep its lighter compression.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        // Those of sealed families were written in one piece.
        for handle in self.handles().iter().filter(|handle| !handle.family().is_sealed()) {
            self.database.db.compact_range_cf_opt(handle.column(), None::<&[u8]>, None::<&[u8]>, &options);
        }
        self.drop_idle_cursors();
        Ok(())
    }

    /// An estimate of the number of keys: exact as long as none was written twice or deleted.
    pub(crate) fn approximate_keys(&self, family: &Handle) -> Result<u64> {
        self.property(family, properties::ESTIMATE_NUM_KEYS)
    }

    /// The bytes of the files of a family, without what is still in the write buffer.
    pub(crate) fn file_bytes(&self, family: &Handle) -> Result<u64> {
        self.property(family, properties::TOTAL_SST_FILES_SIZE)
    }

    /// The bytes of the write buffers of all families.
    pub(crate) fn write_buffer_bytes(&self) -> Result<u64> {
        let handles = self.handles();
        handles.iter().map(|handle| self.property(handle, properties::CUR_SIZE_ALL_MEM_TABLES)).sum()
    }

    /// About the bytes that readers of open files take, beside the cache.
    pub(crate) fn reader_bytes(&self) -> Result<u64> {
        let handles = self.handles();
        handles.iter().map(|handle| self.property(handle, properties::ESTIMATE_TABLE_READERS_MEM)).sum()
    }

    /// The bytes for caches of all kinds.
    pub(crate) fn cache_capacity_bytes(&self) -> u64 {
        self.resources.cache_bytes as u64
    }

    /// About how many of them indexes take that stay in the cache.
    pub(crate) fn pinned_bytes(&self) -> u64 {
        self.database.pinned_bytes.load(Ordering::Relaxed)
    }

    /// Sets how many of them the blocks of files may take, and a family that is kept in memory with them.
    pub(crate) fn share_of_blocks(&self, bytes: u64) {
        self.set_blocks(self.kept.share(bytes));
    }

    fn set_blocks(&self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.cache.clone().set_capacity(bytes.clamp(open::CACHE_BYTES.start, open::CACHE_BYTES.end));
    }

    /// What was read so far, if it is counted.
    pub(crate) fn reads(&self) -> Option<Reads> {
        let counted = self.counted.as_ref()?;
        Some(Reads {
            cache_hits: counted.get_ticker_count(Ticker::BlockCacheHit),
            cache_misses: counted.get_ticker_count(Ticker::BlockCacheMiss),
            bytes: counted.get_ticker_count(Ticker::LastLevelReadBytes)
                + counted.get_ticker_count(Ticker::NonLastLevelReadBytes),
        })
    }

    /// The bytes in use of the block cache.
    pub(crate) fn cache_usage_bytes(&self) -> u64 {
        self.cache.get_usage() as u64 + self.kept.bytes()
    }

    /// The bytes of all files of the store.
    pub(crate) fn disk_bytes(&self) -> Result<u64> {
        let entries = fs::read_dir(&self.path).map_err(|e| errors::io("read", &self.path, e))?;
        // A file may be deleted between the listing and the look at it.
        Ok(entries
            .flatten()
            .filter_map(|entry| entry.metadata().ok())
            .filter(fs::Metadata::is_file)
            .map(|m| m.len())
            .sum())
    }

    /// Fails on a store that was opened read-only.
    pub(crate) fn writable(&self) -> Result<()> {
        if self.read_only { Err(Error::ReadOnly { path: self.path.clone() }) } else { Ok(()) }
    }

    fn property(&self, family: &Handle, name: &properties::PropName) -> Result<u64> {
        let value = self.database.db.property_int_value_cf(family.column(), name);
        value.map(|v| v.unwrap_or(0)).map_err(|e| self.error(&e))
    }

    /// All families that are open.
    fn handles(&self) -> Vec<Handle> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn drop_idle_cursors(&self) {
        for handle in self.handles() {
            handle.drop_idle_cursors();
        }
    }

    fn error(&self, error: &rocksdb::Error) -> Error {
        match errors::storage(&self.path, error) {
            error @ Error::DiskFull { .. } => {
                self.is_full.store(true, Ordering::Relaxed);
                error
            }
            // Every thread is to learn why, not the first one alone.
            Error::Storage { path, detail } if errors::is_echo(error) && self.is_full.load(Ordering::Relaxed) => {
                Error::DiskFull { path, detail }
            }
            error => error,
        }
    }
}

/// How a visit has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visited {
    /// All entries were visited, or those up to the refused one.
    Whole,
    /// Too many deleted keys lay in the way, or something that is not of the tier of the cursor.
    GaveUp,
}

/// Why a walk over keys ended early.
enum Stopped {
    Visitor(Error),
    Engine(rocksdb::Error),
}

impl From<rocksdb::Error> for Stopped {
    fn from(error: rocksdb::Error) -> Self {
        Self::Engine(error)
    }
}

/// Changes to any families that become visible, and survive a crash, all or none.
pub(crate) struct Batch<'a> {
    engine: &'a Engine,
    changes: WriteBatch,
}

impl Batch<'_> {
    pub(crate) fn put(&mut self, family: &Handle, key: &[u8], value: &[u8]) {
        self.changes.put_cf(family.column(), key, value);
    }

    pub(crate) fn delete(&mut self, family: &Handle, key: &[u8]) {
        self.changes.delete_cf(family.column(), key);
    }

    /// Writes the batch. When this returns it survives a killed process.
    pub(crate) fn write(self) -> Result<()> {
        let engine = self.engine;
        engine.writable()?;
        engine.database.db.write(self.changes).map_err(|e| engine.error(&e))?;
        if engine.syncs.wrote().is_multiple_of(WRITES_PER_CURSOR) {
            engine.drop_idle_cursors();
        }
        Ok(())
    }
}
