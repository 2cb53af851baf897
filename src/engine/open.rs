//! What is at a path, and how a database is created and opened there.
//!
//! 1. The lock file is the first file of a store, and its record the last thing that creation writes,
//!    forced to the medium: a directory with the one and without the other is an unfinished creation.
//! 2. Where there is a lock file it is locked before anything else is looked at, so that no other
//!    process changes what was seen.
//! 3. Nothing is changed in a directory that is not ours.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use rocksdb::{Cache, ColumnFamilyDescriptor, WriteOptions};

use super::expiry::Expiry;
use super::lock::Lock;
use super::readers::Readers;
use super::sync::Syncs;
use super::{Database, Db, Engine, Handle, Resources, errors, options};
use crate::format::families::Family;
use crate::format::record::{
    self, EXPIRY_KEY, FREQUENCIES_PART_BYTES, FREQUENCIES_PREFIX, RECORD_KEY, frequencies_key,
};
use crate::format::{OLDEST_VERSION, VERSION};
use crate::{Error, Result};

/// RocksDB ends the process where it cannot map the cache: nothing, or more than there can be.
pub(super) const CACHE_BYTES: Range<usize> = 64 << 10..1 << 40;

const DEFAULT_FAMILY: &str = "default";
const FOREIGN: &str = "holds a RocksDB database of another program";

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing, or an empty directory.
    Nothing,
    /// A directory whose creation as a store was begun and has not got to its families.
    Begun,
    /// The families of a store, perhaps without a store record yet.
    Store(Vec<String>),
    /// Something else.
    Other(String),
}

/// Looks at a path without changing or locking anything.
pub(crate) fn inspect(path: &Path) -> Result<Found> {
    match fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(e) => return Err(errors::io("read", path, e)),
        Ok(metadata) if !metadata.is_dir() => return Ok(Found::Other("is a file".into())),
        Ok(_) => {}
    }
    let is_begun = Lock::is_in(path);
    if !path.join("CURRENT").exists() {
        let entries = fs::read_dir(path).map_err(|e| errors::io("read", path, e))?.flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).peekable();
        if is_begun {
            // CURRENT comes before any data, so data without it was a store.
            return match names.find(|name| matches!(Path::new(name).extension(), Some(e) if e == "sst" || e == "log")) {
                None => Ok(Found::Begun),
                Some(_) => Err(Error::Corrupt { path: path.to_owned(), what: "the file CURRENT is missing".into() }),
            };
        }
        let empty = names.peek().is_none();
        return Ok(if empty { Found::Nothing } else { Found::Other("holds other files".into()) });
    }
    let names = match Db::list_cf(&rocksdb::Options::default(), path) {
        Ok(names) => names,
        Err(e) if is_begun => {
            return Err(match errors::storage(path, &e) {
                Error::Storage { path, detail } => Error::Corrupt { path, what: detail },
                error => error,
            });
        }
        Err(e) => return Ok(Found::Other(format!("holds other files, or a database that cannot be read ({e})"))),
    };
    let others = || names.iter().filter(|name| *name != DEFAULT_FAMILY);
    let has = |kind: fn(&Family) -> bool| others().filter_map(|name| name.parse().ok()).any(|family| kind(&family));
    Ok(match is_begun {
        // A creation that was interrupted has no data yet.
        true if others().next().is_none() && has_data(path)? => {
            let what = "its MANIFEST names no family, but there are data files".to_owned();
            return Err(Error::Corrupt { path: path.to_owned(), what });
        }
        true if others().next().is_none() => Found::Begun,
        // One of our families is enough: the others may be missing, or of a later format.
        true if others().any(|name| is_ours(name)) => Found::Store(names),
        // A copy that was made without the lock file.
        false
            if has(|family| matches!(family, Family::Documents { .. }))
                && has(|family| matches!(family, Family::Holders { .. })) =>
        {
            Found::Store(names)
        }
        _ => Found::Other(FOREIGN.into()),
    })
}

fn has_data(path: &Path) -> Result<bool> {
    let mut entries = fs::read_dir(path).map_err(|e| errors::io("read", path, e))?.flatten();
    Ok(entries.any(|entry| entry.path().extension().is_some_and(|extension| extension == "sst")))
}

fn is_ours(name: &str) -> bool {
    name.parse::<Family>().is_ok()
}

impl Engine {
    /// Creates a database with the given families, tables of frequencies and the store record, all or nothing: until the
    /// record is on the disk, the path holds no store and can be created again.
    pub(crate) fn create(
        path: &Path,
        families: &[Family],
        tables: &[(u64, Vec<u8>)],
        record: &[u8],
        resources: &Resources,
    ) -> Result<()> {
        let is_begun = Lock::is_in(path);
        if !is_begun {
            refuse_other(path, inspect(path)?)?;
            fs::create_dir_all(path).map_err(|e| errors::io("create", path, e))?;
        }
        let _lock = Lock::for_writing(path)?;
        let storage = |e: rocksdb::Error| errors::storage(path, &e);
        let existing = match inspect(path)? {
            Found::Store(names) => names,
            Found::Other(found) if is_begun => return Err(Error::NotAStore { path: path.to_owned(), found }),
            // The database may exist without any family of ours.
            _ => vec![DEFAULT_FAMILY.to_owned()],
        };
        let cache = cache(resources);
        let mut options = options::database(resources);
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let wanted: Vec<String> = families.iter().map(Family::to_string).collect();
        let mut names = existing.clone();
        names.extend(wanted.iter().filter(|name| !existing.contains(name)).cloned());
        let descriptors = descriptors(&names, &cache, resources, None);
        let database = Db::open_cf_descriptors(&options, path, descriptors).map_err(storage)?;
        if database.get(RECORD_KEY).map_err(storage)?.is_some() {
            return Err(Error::AlreadyExists { path: path.to_owned() });
        }
        // An interrupted creation has left families, of another design perhaps, but nothing in them; and tables of
        // frequencies.
        for name in &existing {
            let family = database.cf_handle(name).ok_or_else(|| Error::NotFound { path: path.to_owned() })?;
            let mut keys = database.raw_iterator_cf(&family);
            keys.seek_to_first();
            while let Some(key) = keys.key() {
                if name != DEFAULT_FAMILY || !key.starts_with(FREQUENCIES_PREFIX) {
                    return Err(Error::NotAStore { path: path.to_owned(), found: FOREIGN.into() });
                }
                database.delete(key).map_err(storage)?;
                keys.next();
            }
            keys.status().map_err(storage)?;
        }
        for name in existing.iter().filter(|name| is_ours(name) && !wanted.contains(name)) {
            database.drop_cf(name).map_err(storage)?;
        }
        // The record is forced to the medium after them, and with it all that was written before.
        for (identity, table) in tables {
            for (part, bytes) in (0..).zip(table.chunks(FREQUENCIES_PART_BYTES)) {
                database.put(frequencies_key(*identity, part), bytes).map_err(storage)?;
            }
        }
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        database.put_opt(RECORD_KEY, record, &synced).map_err(storage)?;
        sync_parent(path)
    }

    /// Opens the database at a path with whatever families it has.
    pub(crate) fn open(path: &Path, resources: &Resources, expiry: &Expiry, read_only: bool) -> Result<Self> {
        if !Lock::is_in(path) {
            store_names(path, inspect(path)?)?;
        }
        let lock = if read_only { Lock::for_reading(path)? } else { Lock::for_writing(path)? };
        let names = store_names(path, inspect(path)?)?;
        let cache = cache(resources);
        let options = options::database(resources);
        if let Some(unknown) = names.iter().find(|name| *name != DEFAULT_FAMILY && !is_ours(name)) {
            return Err(unknown_family(path, unknown, &options)?);
        }
        let sized = resources.for_files(table_file_bytes(path));
        let descriptors = descriptors(&names, &cache, &sized, Some(expiry));
        let database = if read_only {
            Db::open_cf_descriptors_read_only(&options, path, descriptors, false)
        } else {
            Db::open_cf_descriptors(&options, path, descriptors)
        };
        let db = database.map_err(|e| errors::storage(path, &e))?;
        let limit = db.get(EXPIRY_KEY).map_err(|e| errors::storage(path, &e))?;
        if let Some(limit) = limit.and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes) {
            expiry.clock.is_at_least(limit);
            expiry.limit.store(limit, Ordering::SeqCst);
        }
        let database = Arc::new(Database {
            db,
            pins_index: AtomicBool::new(sized.pins_index),
            pinned_bytes: AtomicU64::new(sized.pinned_bytes),
            _lock: lock,
        });
        let families = names.iter().filter_map(|name| name.parse().ok());
        let handles = families.filter_map(|family| Handle::new(&database, family)).collect();
        let counted = resources.counts_reads.then_some(options);
        Ok(Self {
            counted,
            handles: RwLock::new(handles),
            database,
            cache,
            resources: *resources,
            path: path.to_owned(),
            read_only,
            syncs: Syncs::default(),
            kept: super::kept::Kept::default(),
            readers: Readers::new(resources.read_threads.max(1)),
            checkpoints: Mutex::new(()),
            expiry: expiry.clone(),
            limits: Mutex::new(()),
            is_full: AtomicBool::new(false),
        })
    }
}

/// Fails unless a store can be created at a path where no creation was begun.
fn refuse_other(path: &Path, found: Found) -> Result<()> {
    match found {
        Found::Nothing | Found::Begun => Ok(()),
        Found::Store(_) => Err(Error::AlreadyExists { path: path.to_owned() }),
        Found::Other(found) => Err(Error::NotAStore { path: path.to_owned(), found }),
    }
}

/// The families of a store, if that is what was found.
fn store_names(path: &Path, found: Found) -> Result<Vec<String>> {
    match found {
        Found::Store(names) => Ok(names),
        Found::Nothing | Found::Begun => Err(Error::NotFound { path: path.to_owned() }),
        Found::Other(found) => Err(Error::NotAStore { path: path.to_owned(), found }),
    }
}

/// Why a store has a family that this build does not know: usually it is of a later format. The record is
/// read without the families, read-only.
fn unknown_family(path: &Path, name: &str, options: &rocksdb::Options) -> Result<Error> {
    let database = Db::open_cf_descriptors_read_only(
        options,
        path,
        [ColumnFamilyDescriptor::new(DEFAULT_FAMILY, rocksdb::Options::default())],
        false,
    );
    let database = database.map_err(|e| errors::storage(path, &e))?;
    let bytes = database.get(RECORD_KEY).map_err(|e| errors::storage(path, &e))?;
    let path = path.to_owned();
    Ok(match bytes.and_then(|bytes| record::version(&bytes)) {
        Some(found) if !(OLDEST_VERSION..=VERSION).contains(&found) => {
            Error::Format { path, found, supported: VERSION }
        }
        _ => Error::Corrupt { path, what: format!("it has a family {name:?} that its format does not have") },
    })
}

/// The bytes of all table files in a folder.
fn table_file_bytes(path: &Path) -> u64 {
    let files = fs::read_dir(path).into_iter().flatten().flatten();
    let tables = files.filter(|file| matches!(file.path().extension(), Some(e) if e == "sst"));
    tables.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

fn cache(resources: &Resources) -> Cache {
    let bytes = resources.cache_bytes.clamp(CACHE_BYTES.start, CACHE_BYTES.end);
    Cache::new_hyper_clock_cache(bytes, 0)
}

/// Every family with its own options: one opened without them would lose its prefix, and matches.
fn descriptors(
    names: &[String],
    cache: &Cache,
    resources: &Resources,
    expiry: Option<&Expiry>,
) -> Vec<ColumnFamilyDescriptor> {
    let retention = names.iter().filter_map(|name| name.parse::<Family>().ok()).find_map(Family::retention_millis);
    let describe = |name: &String| {
        ColumnFamilyDescriptor::new(name, options::of(name.parse().ok(), retention, cache, resources, expiry))
    };
    names.iter().map(describe).collect()
}

/// Makes the entry of a new directory durable.
pub(super) fn sync_parent(path: &Path) -> Result<()> {
    sync_directory(path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// Makes the entries of a directory durable.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    // Not every system lets a directory be opened; there the entry is as durable as the system makes it.
    match fs::File::open(path) {
        Ok(directory) => directory.sync_all().map_err(|e| errors::io("sync", path, e)),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn a_creation_that_was_interrupted_behind_its_tables_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let resources = crate::Options::new().resources();
        let families = Family::live(&crate::TableDesign::default(), 8, None, 0);
        let table = vec![7; FREQUENCIES_PART_BYTES + 1];
        let create = |tables: &[(u64, Vec<u8>)]| Engine::create(&path, &families, tables, b"record", &resources);
        create(&[(1, table.clone())]).unwrap();
        assert!(matches!(create(&[]), Err(Error::AlreadyExists { .. })));
        let expiry = Expiry { clock: Arc::new(Clock::default()), limit: Arc::default(), sketch_bytes: 8 };
        let open = || Engine::open(&path, &resources, &expiry, false).unwrap();
        let engine = open();
        assert!(engine.frequencies(1).unwrap() == table && engine.frequencies(2).unwrap().is_empty());
        // The record is what is written last.
        engine.database.db.delete(RECORD_KEY).unwrap();
        drop(engine);
        create(&[(2, vec![5; 9])]).unwrap();
        let engine = open();
        assert_eq!((engine.frequencies(1).unwrap(), engine.frequencies(2).unwrap()), (vec![], vec![5; 9]));
    }
}
