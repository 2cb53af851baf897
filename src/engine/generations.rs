//! Families that come and go.
//!
//! 1. A family whose generation the store record does not name belongs to nobody: it is filled before the record
//!    names it, and dropped after the record has ceased to name it, or at the next opening.
//! 2. Files are ingested into empty families only, so they land in the last level as they are, with the
//!    sequence number 0; anything else is an error here.
//! 3. Readers hold the families that they read; a dropped one disappears with its last reader.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use rocksdb::{IngestExternalFileOptions, WriteOptions};

use super::writer::PageWriter;
use super::{Engine, Handle, PageLayout, options};
use crate::format::families::Family;
use crate::format::record::RECORD_KEY;
use crate::{Error, Result};

impl Engine {
    /// Puts a new store record in the place of the old one, forced to the medium.
    pub(crate) fn set_record(&self, record: &[u8]) -> Result<()> {
        self.writable()?;
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        self.database.db.put_opt(RECORD_KEY, record, &synced).map_err(|e| self.error(&e))
    }

    /// Keeps copies from being made until the result is dropped: one must not have a record that names families
    /// which it does not have.
    pub(crate) fn without_copies(&self) -> MutexGuard<'_, ()> {
        self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes empty families, which will hold files of so many bytes.
    pub(crate) fn create_families(&self, families: &[Family], retention_millis: Option<u64>, bytes: u64) -> Result<()> {
        let resources = self.resources.for_files(bytes);
        if families.iter().any(|family| family.is_sealed()) {
            self.database.pins_index.store(resources.pins_index, Ordering::Relaxed);
            self.database.pinned_bytes.store(resources.pinned_bytes, Ordering::Relaxed);
        }
        for &family in families {
            let options = options::of(Some(family), retention_millis, &self.cache, &resources, Some(&self.expiry));
            self.database.db.create_cf(family.to_string(), &options).map_err(|e| self.error(&e))?;
            let handle = Handle::new(&self.database, family)
                .ok_or_else(|| Error::Corrupt { path: self.path.clone(), what: format!("{family} was not made") })?;
            self.handles.write().unwrap_or_else(PoisonError::into_inner).push(handle);
        }
        Ok(())
    }

    /// Drops families with all that is in them.
    pub(crate) fn drop_families(&self, is_dropped: impl Fn(Family) -> bool) -> Result<()> {
        for handle in self.handles() {
            if is_dropped(handle.family()) {
                // First of all: the binding forgets the name even where the drop fails.
                let mut handles = self.handles.write().unwrap_or_else(PoisonError::into_inner);
                handles.retain(|other| other.family() != handle.family());
                drop(handles);
                handle.drop_idle_cursors();
                self.kept.forget(handle.family());
                let name = handle.family().to_string();
                self.database.db.drop_cf(&name).map_err(|e| self.error(&e))?;
            }
        }
        Ok(())
    }

    /// Takes files of disjoint ranges of keys into an empty family: themselves, or copies of them.
    pub(crate) fn ingest(&self, family: &Handle, files: Vec<PathBuf>, are_moved: bool) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(are_moved);
        options.set_snapshot_consistency(false);
        options.set_allow_global_seqno(false);
        options.set_allow_blocking_flush(false);
        let ingested = self.database.db.ingest_external_file_cf_opts(family.column(), &options, files);
        ingested.map_err(|e| self.error(&e))
    }

    /// Begins a file of pages for a sealed family.
    pub(crate) fn page_writer(&self, family: Family, layout: PageLayout, path: &Path) -> Result<PageWriter> {
        PageWriter::create(options::page_file(family, layout, &self.cache, &self.resources), path)
    }
}
