//! RocksDB, and only here. This layer knows bytes and families, not fingerprints.

mod cursor;
mod errors;
mod iterator;
mod lock;
mod open;
mod options;
mod scan;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rocksdb::{
    BottommostLevelCompaction, BoundColumnFamily, Cache, CompactOptions, DBWithThreadMode, FlushOptions, MultiThreaded,
    WriteBatch, properties,
};

pub(crate) use cursor::Cursor;
pub(crate) use errors::malformed;
pub(crate) use open::{Found, inspect};
pub(crate) use options::Resources;
pub(crate) use scan::Scan;

use crate::format::families::Family;
use crate::format::record::RECORD_KEY;
use crate::{Error, Result};
use cursor::Pool;
use lock::Lock;

type Db = DBWithThreadMode<MultiThreaded>;

/// A database and the lock that it is open under, which is let go after it is closed.
struct Database {
    db: Db,
    _lock: Lock,
}

/// After so many writes the idle cursors are dropped, so that they do not keep old files alive.
const WRITES_PER_CURSOR: usize = 1 << 16;

/// An open RocksDB database with the families of a store.
pub(crate) struct Engine {
    slots: Vec<Slot>,
    database: Arc<Database>,
    cache: Cache,
    path: PathBuf,
    read_only: bool,
    writes: AtomicUsize,
}

/// A family of an open database.
struct Slot {
    family: Family,
    name: String,
    cursors: Pool,
}

/// The place of a family in its engine, cheaper than its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FamilyId(usize);

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

    /// Finds a family that a store must have.
    pub(crate) fn family(&self, family: Family) -> Result<FamilyId> {
        let place = self.slots.iter().position(|slot| slot.family == family);
        place
            .map(FamilyId)
            .ok_or_else(|| Error::Corrupt { path: self.path.clone(), what: format!("the family {family} is missing") })
    }

    pub(crate) fn get(&self, family: FamilyId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.database.db.get_cf(&self.handle(family)?, key).map_err(|e| self.error(&e))
    }

    /// Takes a cursor that sees everything written so far.
    pub(crate) fn cursor(&self, family: FamilyId) -> Result<Cursor<'_>> {
        let slot = &self.slots[family.0];
        let cursor = slot.cursors.take(&self.database, &slot.name, self.read_only).map_err(|e| self.error(&e))?;
        cursor.ok_or_else(|| self.dropped(family))
    }

    /// Visits the keys of a family that begin with `prefix`, which is the whole prefix of the family,
    /// until one is refused by `Ok(false)` or they end.
    pub(crate) fn visit_keys(
        &self,
        cursor: &mut Cursor<'_>,
        prefix: &[u8],
        mut visit: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        cursor.keys(prefix, |key| visit(key).map_err(Stopped::Visitor)).map_err(|stopped| match stopped {
            Stopped::Visitor(error) => error,
            Stopped::Engine(error) => self.error(&error),
        })
    }

    /// Returns up to `count` of the keys from `start` on that begin with `prefix`. It gives up, with
    /// fewer, where many deleted keys lie in between.
    pub(crate) fn first_keys(
        &self,
        family: FamilyId,
        start: &[u8],
        prefix: &[u8],
        count: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let name = &self.slots[family.0].name;
        let keys = cursor::first_keys(&self.database, name, start, prefix, count).map_err(|e| self.error(&e))?;
        keys.ok_or_else(|| self.dropped(family))
    }

    /// Reads a family from its first key to its last, as it is now.
    pub(crate) fn scan(&self, family: FamilyId) -> Result<Scan> {
        Scan::new(&self.database, &self.slots[family.0].name, &self.path).ok_or_else(|| self.dropped(family))
    }

    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch { engine: self, batch: WriteBatch::default() }
    }

    /// Writes what is in memory to the disk: after this nothing acknowledged depends on the log, and
    /// a power cut loses none of it.
    pub(crate) fn flush(&self) -> Result<()> {
        self.writable()?;
        let handles: Vec<_> = (0..self.slots.len()).map(|i| self.handle(FamilyId(i))).collect::<Result<_>>()?;
        let borrowed: Vec<_> = handles.iter().collect();
        let mut wait = FlushOptions::default();
        wait.set_wait(true);
        self.database.db.flush_cfs_opt(&borrowed, &wait).map_err(|e| self.error(&e))?;
        self.database.db.flush_wal(true).map_err(|e| self.error(&e))?;
        self.drop_idle_cursors();
        Ok(())
    }

    /// Merges all files of all families, which takes space back and makes reads cheaper.
    pub(crate) fn compact(&self) -> Result<()> {
        self.flush()?;
        let mut options = CompactOptions::default();
        // The last level too, or what was flushed straight to it would keep its lighter compression.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        for i in 0..self.slots.len() {
            let family = self.handle(FamilyId(i))?;
            self.database.db.compact_range_cf_opt(&family, None::<&[u8]>, None::<&[u8]>, &options);
        }
        self.drop_idle_cursors();
        Ok(())
    }

    /// An estimate of the number of keys: exact as long as none was written twice or deleted.
    pub(crate) fn approximate_keys(&self, family: FamilyId) -> Result<u64> {
        self.property(family, properties::ESTIMATE_NUM_KEYS)
    }

    /// The bytes of the files of a family, without what is still in the write buffer.
    pub(crate) fn file_bytes(&self, family: FamilyId) -> Result<u64> {
        self.property(family, properties::TOTAL_SST_FILES_SIZE)
    }

    /// The bytes of the write buffers of all families.
    pub(crate) fn write_buffer_bytes(&self) -> Result<u64> {
        let sizes = (0..self.slots.len()).map(|i| self.property(FamilyId(i), properties::CUR_SIZE_ALL_MEM_TABLES));
        sizes.sum()
    }

    /// The bytes in use of the block cache.
    pub(crate) fn cache_usage_bytes(&self) -> u64 {
        self.cache.get_usage() as u64
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

    fn property(&self, family: FamilyId, name: &properties::PropName) -> Result<u64> {
        let value = self.database.db.property_int_value_cf(&self.handle(family)?, name);
        value.map(|v| v.unwrap_or(0)).map_err(|e| self.error(&e))
    }

    fn handle(&self, family: FamilyId) -> Result<Arc<BoundColumnFamily<'_>>> {
        self.database.db.cf_handle(&self.slots[family.0].name).ok_or_else(|| self.dropped(family))
    }

    fn drop_idle_cursors(&self) {
        for slot in &self.slots {
            slot.cursors.clear();
        }
    }

    fn dropped(&self, family: FamilyId) -> Error {
        Error::Corrupt { path: self.path.clone(), what: format!("the family {} is gone", self.slots[family.0].name) }
    }

    fn error(&self, error: &rocksdb::Error) -> Error {
        errors::storage(&self.path, error)
    }
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
    batch: WriteBatch,
}

impl Batch<'_> {
    pub(crate) fn put(&mut self, family: FamilyId, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.put_cf(&self.engine.handle(family)?, key, value);
        Ok(())
    }

    pub(crate) fn delete(&mut self, family: FamilyId, key: &[u8]) -> Result<()> {
        self.batch.delete_cf(&self.engine.handle(family)?, key);
        Ok(())
    }

    /// Writes the batch. When this returns it survives a killed process.
    pub(crate) fn write(self) -> Result<()> {
        let engine = self.engine;
        engine.writable()?;
        engine.database.db.write(self.batch).map_err(|e| engine.error(&e))?;
        if engine.writes.fetch_add(1, Ordering::Relaxed) % WRITES_PER_CURSOR == WRITES_PER_CURSOR - 1 {
            engine.drop_idle_cursors();
        }
        Ok(())
    }
}
