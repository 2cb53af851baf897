//! A walk over a whole family.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksdb::ReadOptions;

use super::iterator::OwnedIterator;
use super::{Database, Handle, errors};
use crate::Result;

/// All keys and values of a family, in key order, as they were when the scan was made.
pub(crate) struct Scan {
    iterator: OwnedIterator,
    path: PathBuf,
    /// Whether the iterator stands on an entry that was returned already.
    returned: bool,
}

impl Scan {
    pub(super) fn new(database: &Arc<Database>, family: &Handle, path: &Path) -> Self {
        let mut options = ReadOptions::default();
        // Past prefixes, and without pushing out what queries have cached. RocksDB reads ahead by itself where
        // blocks are read one after the other; told to, it would do so for each seek of a walk that looks entries up.
        options.set_total_order_seek(true);
        options.fill_cache(false);
        let mut iterator = OwnedIterator::new(database, family, options);
        iterator.raw_mut().seek_to_first();
        Self { iterator, path: path.to_owned(), returned: false }
    }

    /// Goes back to the beginning, of the same entries.
    pub(crate) fn restart(&mut self) {
        self.iterator.raw_mut().seek_to_first();
        self.returned = false;
    }

    /// Returns the first entry whose key is `key` or comes after it; the walk goes on from there.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<Option<(&[u8], &[u8])>> {
        self.iterator.raw_mut().seek(key);
        self.returned = false;
        self.next()
    }

    /// Returns the next key and value, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let raw = self.iterator.raw_mut();
        if std::mem::replace(&mut self.returned, true) && raw.valid() {
            raw.next();
        }
        // An iterator that failed looks like one that has ended.
        if !raw.valid() {
            raw.status().map_err(|e| errors::storage(&self.path, &e))?;
        }
        Ok(self.iterator.raw().item())
    }
}
