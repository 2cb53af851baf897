//! The calls that keep a store in order.

use std::ops::ControlFlow;
use std::path::Path;

use super::sketch::{Index, Sketch};
use super::{Options, Progress, Reads, Repair, Stats, Store, Verification, expire, repair, verify};
use crate::clock::time_of;
use crate::engine::Handle;
use crate::format::design::StoredDesign;
use crate::{Fingerprint, Result};

impl<S: Sketch> Store<S> {
    /// Makes everything stored so far survive a power cut, and writes out what is buffered, so that the store
    /// opens fast.
    ///
    /// # Errors
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::DiskFull`](crate::Error::DiskFull), and what the system reports.
    pub fn flush(&self) -> Result<()> {
        self.shared.engine.flush()
    }

    /// Merges the files of all that is live, which makes them smaller and queries faster. It takes as long
    /// as reading and writing it; other calls go on meanwhile. [`Store::seal`] makes more of it.
    ///
    /// # Errors
    /// Those of [`Store::flush`].
    pub fn compact(&self) -> Result<()> {
        self.shared.advance_expiry(0)?;
        self.shared.engine.compact()
    }

    /// Returns the size of the store.
    ///
    /// # Errors
    /// What the system reports.
    pub fn stats(&self) -> Result<Stats> {
        let shared = &self.shared;
        let engine = &shared.engine;
        let view = shared.view();
        let sealed = view.generations.sealed.map_or((0, 0), |sealed| (sealed.documents, sealed.sketches));
        let bytes = |families: &[Handle]| families.iter().map(|family| engine.file_bytes(family)).sum::<Result<u64>>();
        let (mut documents, mut sketches) = (0, 0);
        let (mut table_bytes, mut document_bytes, mut holder_bytes) = (bytes(view.index.page_families())?, 0, 0);
        let mut signature_bytes = 0;
        for (layer, rows) in view.rows() {
            let tables = view.index.row_families(layer);
            documents += engine.approximate_keys(&rows.documents)?;
            sketches += tables.first().map_or(Ok(0), |table| engine.approximate_keys(table))?;
            table_bytes += bytes(tables)?;
            signature_bytes += view.index.sketch_family(layer).map_or(Ok(0), |family| engine.file_bytes(family))?;
            document_bytes += engine.file_bytes(&rows.documents)?;
            holder_bytes += engine.file_bytes(&rows.holders)?;
        }
        if let Some(pages) = &view.sealed {
            document_bytes += engine.file_bytes(&pages.documents)?;
            holder_bytes += engine.file_bytes(&pages.holders)?;
        }
        Ok(Stats {
            approximate_documents: documents + sealed.0,
            approximate_sketches: sketches + sealed.1,
            sealed_documents: sealed.0,
            disk_bytes: engine.disk_bytes()?,
            table_bytes,
            signature_bytes,
            document_bytes,
            holder_bytes,
            write_buffer_bytes: engine.write_buffer_bytes()?,
            cache_bytes: engine.cache_usage_bytes() + view.index.cached_bytes(),
            reader_bytes: engine.reader_bytes()?,
            reads: engine.reads().map(|of| Reads {
                cache_hits: of.cache_hits,
                cache_misses: of.cache_misses,
                bytes: of.bytes,
            }),
            tables: shared.record.design.prefix_bits().len(),
            generation: view.generations.live.max(view.generations.sealed.map_or(0, |sealed| sealed.number)),
            created_at: time_of(shared.record.created_at_millis),
        })
    }

    /// Removes the documents that have expired, and what is left in the tables of those that compactions
    /// have dropped; returns how many documents there were. Without a retention there is nothing to do.
    ///
    /// Answers do not depend on it: it makes room, at the cost of reading all documents, and all live holders and the
    /// first live table once. Where a sealed document has expired, all sealed ones are written anew without those
    /// that have. Other calls go on meanwhile.
    ///
    /// `progress` is told how far it is, and stops it with [`ControlFlow::Break`].
    ///
    /// # Errors
    /// Those of [`Store::insert`]; [`Error::Stopped`](crate::Error::Stopped); [`Error::Load`](crate::Error::Load) while a
    /// load or a seal is under way and sealed documents have expired. What was removed until then is removed.
    pub fn expire(&self, progress: impl FnMut(Progress) -> ControlFlow<()>) -> Result<u64> {
        self.shared.engine.writable()?;
        let removed = expire::expire(&self.shared, progress)?;
        self.settle()?;
        Ok(removed)
    }

    /// Copies the store as it is now into a directory that must not exist, for other processes to read, or
    /// as a backup. Writers go on meanwhile.
    ///
    /// Data files do not change once they are written, so on the same file system they are shared with the
    /// copy instead of being copied: it takes milliseconds, and disk only for what the store deletes later.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists), [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::DiskFull`](crate::Error::DiskFull), and what the system reports.
    pub fn checkpoint(&self, path: impl AsRef<Path>) -> Result<()> {
        self.shared.engine.checkpoint(path.as_ref())
    }

    /// Compares all families: every document must have its holder and be in every table, and nothing else
    /// may be there. It reads each family once from end to end in little memory, as they are now, and looks
    /// up the entries of those that do not agree, or may not where documents expire. Other calls go on
    /// meanwhile.
    ///
    /// `progress` is told how far it is, and stops it with [`ControlFlow::Break`].
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) where bytes cannot be read at all, [`Error::Stopped`](crate::Error::Stopped), and what the system reports.
    pub fn verify(&self, progress: impl FnMut(Progress) -> ControlFlow<()>) -> Result<Verification> {
        verify::verify(&self.shared, progress)
    }
}

impl Store<Fingerprint> {
    /// Builds the tables and holders of a store anew from its documents. The store must not be open.
    ///
    /// It is for stores that [`Store::verify`] finds fault with, or that cannot be opened because a table
    /// was damaged or lost. The documents are read through first: where they are damaged nothing is changed.
    /// A repair that was interrupted must be repeated before the store can be opened.
    ///
    /// # Errors
    /// Those of [`Store::open`], [`Error::Corrupt`](crate::Error::Corrupt) where the documents or the store record are damaged,
    /// [`Error::Stopped`](crate::Error::Stopped), and what the system reports.
    pub fn repair(
        path: impl AsRef<Path>,
        options: &Options,
        progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Repair> {
        repair::repair(path.as_ref(), options, progress)
    }
}
