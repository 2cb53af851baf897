//! RocksDB, and only here. This layer knows bytes and families, not fingerprints.

mod cursor;
mod errors;
mod iterator;
mod lock;
mod options;
mod scan;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rocksdb::{
    BoundColumnFamily, Cache, ColumnFamilyDescriptor, DBWithThreadMode, FlushOptions, MultiThreaded, WriteBatch,
    WriteOptions, properties,
};

pub(crate) use cursor::Probe;
pub(crate) use errors::malformed;
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

const DEFAULT_FAMILY: &str = "default";

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

/// What is at a path.
pub(crate) enum Found {
    /// Nothing, or an empty directory.
    Nothing,
    /// A directory whose creation as a store was begun; it may hold a store record or not.
    Begun,
    /// A database with these families.
    Database(Vec<String>),
    /// Something else.
    Other(String),
}

impl Engine {
    /// Looks at a path without changing or locking anything.
    pub(crate) fn inspect(path: &Path) -> Result<Found> {
        match fs::metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(e) => return Err(errors::io("read", path, e)),
            Ok(metadata) if !metadata.is_dir() => return Ok(Found::Other("is a file".into())),
            Ok(_) => {}
        }
        if path.join("CURRENT").exists() {
            return match Db::list_cf(&rocksdb::Options::default(), path) {
                Ok(names) => Ok(Found::Database(names)),
                Err(e) => Err(match errors::storage(path, &e) {
                    Error::Storage { path, detail } => Error::Corrupt { path, what: detail },
                    error => error,
                }),
            };
        }
        if Lock::is_in(path) {
            return Ok(Found::Begun);
        }
        let empty = fs::read_dir(path).map_err(|e| errors::io("read", path, e))?.next().is_none();
        Ok(if empty { Found::Nothing } else { Found::Other("holds other files".into()) })
    }

    /// Creates a database with the given families and the store record, all or nothing: until the
    /// record is on the disk, the path holds no store and can be created again.
    pub(crate) fn create(path: &Path, families: &[Family], record: &[u8], resources: &Resources) -> Result<()> {
        let begun = Lock::is_in(path);
        match Self::inspect(path)? {
            Found::Nothing | Found::Begun => {}
            Found::Database(_) if begun => {}
            Found::Database(names) if is_ours(&names) => return Err(Error::AlreadyExists { path: path.to_owned() }),
            Found::Database(_) => return Err(Error::NotAStore { path: path.to_owned(), found: FOREIGN.into() }),
            Found::Other(found) => return Err(Error::NotAStore { path: path.to_owned(), found }),
        }
        fs::create_dir_all(path).map_err(|e| errors::io("create", path, e))?;
        let _lock = Lock::for_writing(path)?;
        let storage = |e: rocksdb::Error| errors::storage(path, &e);
        // Looked at again, now that nobody else can change it.
        let existing = match Self::inspect(path)? {
            Found::Database(names) => names,
            _ => vec![],
        };
        let cache = cache(resources);
        let mut options = options::database(resources);
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let wanted: Vec<String> = families.iter().map(Family::to_string).collect();
        let mut names = existing.clone();
        names.extend(wanted.iter().filter(|name| !existing.contains(name)).cloned());
        let database =
            Db::open_cf_descriptors(&options, path, descriptors(&names, &cache, resources)).map_err(storage)?;
        if database.get(RECORD_KEY).map_err(storage)?.is_some() {
            return Err(Error::AlreadyExists { path: path.to_owned() });
        }
        // What an interrupted creation of another design has left.
        for name in existing.iter().filter(|name| *name != DEFAULT_FAMILY && !wanted.contains(name)) {
            database.drop_cf(name).map_err(storage)?;
        }
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        database.put_opt(RECORD_KEY, record, &synced).map_err(storage)?;
        sync_parent(path)
    }

    /// Opens the database at a path with whatever families it has.
    pub(crate) fn open(path: &Path, resources: &Resources, read_only: bool) -> Result<Self> {
        match Self::inspect(path)? {
            Found::Nothing | Found::Begun => return Err(Error::NotFound { path: path.to_owned() }),
            Found::Other(found) => return Err(Error::NotAStore { path: path.to_owned(), found }),
            Found::Database(names) if !is_ours(&names) => {
                return Err(Error::NotAStore { path: path.to_owned(), found: FOREIGN.into() });
            }
            Found::Database(_) => {}
        }
        let lock = if read_only { Lock::for_reading(path)? } else { Lock::for_writing(path)? };
        // The list may have changed until the lock was held.
        let Found::Database(names) = Self::inspect(path)? else {
            return Err(Error::NotFound { path: path.to_owned() });
        };
        let cache = cache(resources);
        let options = options::database(resources);
        let descriptors = descriptors(&names, &cache, resources);
        let database = if read_only {
            Db::open_cf_descriptors_read_only(&options, path, descriptors, false)
        } else {
            Db::open_cf_descriptors(&options, path, descriptors)
        };
        let db = database.map_err(|e| errors::storage(path, &e))?;
        let slots = names.into_iter().filter_map(|name| {
            let family = name.parse().ok()?;
            Some(Slot { family, name, cursors: Pool::new() })
        });
        Ok(Self {
            slots: slots.collect(),
            database: Arc::new(Database { db, _lock: lock }),
            cache,
            path: path.to_owned(),
            read_only,
            writes: AtomicUsize::new(0),
        })
    }

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
    pub(crate) fn probe(&self, family: FamilyId) -> Result<Probe<'_>> {
        let slot = &self.slots[family.0];
        let probe = slot.cursors.take(&self.database, &slot.name, self.read_only).map_err(|e| self.error(&e))?;
        probe.ok_or_else(|| self.dropped(family))
    }

    /// Visits the keys of a family that begin with `prefix`, which is the whole prefix of the family,
    /// until one is refused by `Ok(false)` or they end.
    pub(crate) fn visit_keys(
        &self,
        probe: &mut Probe<'_>,
        prefix: &[u8],
        mut visit: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        probe.keys(prefix, |key| visit(key).map_err(Stopped::Visitor)).map_err(|stopped| match stopped {
            Stopped::Visitor(error) => error,
            Stopped::Engine(error) => self.error(&error),
        })
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
        for i in 0..self.slots.len() {
            self.database.db.compact_range_cf(&self.handle(FamilyId(i))?, None::<&[u8]>, None::<&[u8]>);
        }
        self.drop_idle_cursors();
        Ok(())
    }

    /// An estimate of the number of keys: exact as long as none was written twice or deleted.
    pub(crate) fn approximate_keys(&self, family: FamilyId) -> Result<u64> {
        self.property(family, properties::ESTIMATE_NUM_KEYS)
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

const FOREIGN: &str = "holds a RocksDB database of another program";

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

fn cache(resources: &Resources) -> Cache {
    Cache::new_hyper_clock_cache(resources.cache_bytes, 0)
}

/// Every family with its own options: one opened without them would lose its prefix, and matches.
fn descriptors(names: &[String], cache: &Cache, resources: &Resources) -> Vec<ColumnFamilyDescriptor> {
    let describe =
        |name: &String| ColumnFamilyDescriptor::new(name, options::family(name.parse().ok(), cache, resources));
    names.iter().map(describe).collect()
}

/// Whether the families are those of a store, all of them but the default one.
fn is_ours(names: &[String]) -> bool {
    let mut others = names.iter().filter(|name| *name != DEFAULT_FAMILY).peekable();
    others.peek().is_some() && others.all(|name| name.parse::<Family>().is_ok())
}

/// Makes the entry of a new directory durable.
fn sync_parent(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not every system lets a directory be opened; there the entry is as durable as the system makes it.
    match fs::File::open(parent) {
        Ok(directory) => directory.sync_all().map_err(|e| errors::io("sync", parent, e)),
        Err(_) => Ok(()),
    }
}
