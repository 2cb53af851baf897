//! An iterator that keeps the database that it reads alive.

use std::sync::Arc;

use rocksdb::{DBRawIteratorWithThreadMode, ReadOptions};

use super::{Database, Db};

type RawIterator<'a> = DBRawIteratorWithThreadMode<'a, Db>;

/// A RocksDB iterator with a share of its database, so that it can be kept anywhere.
pub(super) struct OwnedIterator {
    // In this order: fields are dropped as they are declared, and the iterator must go first.
    raw: RawIterator<'static>,
    _database: Arc<Database>,
}

impl OwnedIterator {
    /// Returns `None` where the family does not exist.
    #[expect(unsafe_code, reason = "an iterator that is kept beside the database that it borrows")]
    pub(super) fn new(database: &Arc<Database>, family: &str, options: ReadOptions) -> Option<Self> {
        let handle = database.db.cf_handle(family)?;
        let raw = database.db.raw_iterator_cf_opt(&handle, options);
        // SAFETY: the iterator borrows the database behind the `Arc`, which does not move and which is
        // kept until the iterator is dropped. The handle is not borrowed: RocksDB's iterators hold
        // what they need of the family themselves, even when it is dropped meanwhile.
        let raw = unsafe { std::mem::transmute::<RawIterator<'_>, RawIterator<'static>>(raw) };
        Some(Self { raw, _database: Arc::clone(database) })
    }

    pub(super) fn raw(&self) -> &RawIterator<'static> {
        &self.raw
    }

    pub(super) fn raw_mut(&mut self) -> &mut RawIterator<'static> {
        &mut self.raw
    }
}
