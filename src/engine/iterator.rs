//! What borrows a database in RocksDB's binding, kept beside a share of the database instead.

use std::sync::Arc;

use rocksdb::{BoundColumnFamily, DBRawIteratorWithThreadMode, ReadOptions};

use super::{Database, Db, Handle};

type RawIterator<'a> = DBRawIteratorWithThreadMode<'a, Db>;

/// What RocksDB calls a family.
pub(super) type Column = Arc<BoundColumnFamily<'static>>;

/// A column family with a share of its database, so that it can be kept anywhere.
pub(super) struct OwnedColumn {
    // In this order: fields are dropped as they are declared, and the column must go first.
    column: Column,
    _database: Arc<Database>,
}

impl OwnedColumn {
    /// Returns `None` where the family does not exist.
    #[expect(unsafe_code, reason = "a column family that is kept beside the database that it borrows")]
    pub(super) fn new(database: &Arc<Database>, family: &str) -> Option<Self> {
        let column = database.db.cf_handle(family)?;
        // SAFETY: the column borrows the database behind the `Arc`, which does not move and is kept until the
        // column is dropped. RocksDB keeps a family that was dropped readable for those who hold its handle, and
        // the binding gives the handle back with the last clone of the column.
        let column = unsafe { std::mem::transmute::<Arc<BoundColumnFamily<'_>>, Column>(column) };
        Some(Self { column, _database: Arc::clone(database) })
    }

    pub(super) fn get(&self) -> &Column {
        &self.column
    }
}

/// A RocksDB iterator with a share of its database, so that it can be kept anywhere.
pub(super) struct OwnedIterator {
    // In this order: fields are dropped as they are declared, and the iterator must go first.
    raw: RawIterator<'static>,
    _database: Arc<Database>,
}

impl OwnedIterator {
    #[expect(unsafe_code, reason = "an iterator that is kept beside the database that it borrows")]
    pub(super) fn new(database: &Arc<Database>, family: &Handle, options: ReadOptions) -> Self {
        let raw = database.db.raw_iterator_cf_opt(family.column(), options);
        // SAFETY: the iterator borrows the database behind the `Arc`, which does not move and which is
        // kept until the iterator is dropped. The handle is not borrowed: RocksDB's iterators hold
        // what they need of the family themselves, even when it is dropped meanwhile.
        let raw = unsafe { std::mem::transmute::<RawIterator<'_>, RawIterator<'static>>(raw) };
        Self { raw, _database: Arc::clone(database) }
    }

    pub(super) fn raw(&self) -> &RawIterator<'static> {
        &self.raw
    }

    pub(super) fn raw_mut(&mut self) -> &mut RawIterator<'static> {
        &mut self.raw
    }
}
