//! Copies of one moment.
//!
//! A copy is made under another name in the same directory and renamed when it is whole, so under its own
//! name it is always whole. RocksDB empties what it finds under the names that it works with, so these are
//! names that nobody else uses.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use rocksdb::checkpoint::Checkpoint;

use super::lock::Lock;
use super::{Engine, errors, open};
use crate::{Error, Result};

impl Engine {
    /// Makes a copy of the database as it is now, in a directory that does not exist; files that do not
    /// change any more are shared with it where the file system can.
    pub(crate) fn checkpoint(&self, path: &Path) -> Result<()> {
        self.writable()?;
        let _one = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if fs::symlink_metadata(path).is_ok() {
            return Err(Error::AlreadyExists { path: path.to_owned() });
        }
        let unfinished = beside(path).ok_or_else(|| {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it has no name of its own");
            errors::io("copy the store to", path, source)
        })?;
        if unfinished.parent().is_some_and(|parent| !parent.as_os_str().is_empty() && !parent.is_dir()) {
            let source = io::Error::new(io::ErrorKind::NotFound, "there is no directory for it: create that first");
            return Err(errors::io("copy the store to", path, source));
        }
        // What a copy that was killed has left.
        remove(&unfinished)?;
        let made = self.copy(&unfinished).and_then(|()| {
            fs::rename(&unfinished, path).map_err(|e| errors::io("rename the finished copy to", path, e))
        });
        if let Err(error) = made {
            // On a full disk it is in the way.
            let _ = remove(&unfinished);
            return Err(error);
        }
        open::sync_parent(path)
    }

    fn copy(&self, path: &Path) -> Result<()> {
        let checkpoint = Checkpoint::new(&self.database.db).map_err(|e| self.error(&e))?;
        checkpoint.create_checkpoint(path).map_err(|e| errors::storage(path, &e))?;
        self.drop_idle_cursors();
        Lock::mark(path)?;
        open::sync_directory(path)
    }
}

/// The name under which a copy is made.
fn beside(path: &Path) -> Option<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name()?);
    name.push(".nearstone-copy");
    Some(path.with_file_name(name))
}

/// Removes an unfinished copy, with what RocksDB makes it of.
fn remove(unfinished: &Path) -> Result<()> {
    let mut parts = unfinished.as_os_str().to_owned();
    parts.push(".tmp");
    for directory in [unfinished, Path::new(&parts)] {
        match fs::remove_dir_all(directory) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(errors::io("remove", directory, e)),
            _ => {}
        }
    }
    Ok(())
}
