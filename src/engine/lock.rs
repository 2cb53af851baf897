//! The lock file: one writer, or any number of readers.
//!
//! RocksDB locks writers out itself, but lets a process read a directory that another one writes to,
//! and then reports sound data as damaged. This lock keeps the two apart. Its file is also the first
//! file of a new store, so a directory that holds it and no store record is an unfinished creation.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use fs4::{FileExt, TryLockError};

use super::errors;
use crate::{Error, Result};

const NAME: &str = "NEARSTONE-LOCK";

/// Held as long as the store is open.
#[derive(Debug)]
pub(super) struct Lock {
    /// `None` where there is no lock file and none can be created, so that nobody can be writing.
    file: Option<File>,
}

impl Lock {
    /// Whether a directory was begun as a store.
    pub(super) fn is_in(path: &Path) -> bool {
        path.join(NAME).exists()
    }

    /// Puts the lock file into a copy of a store, unlocked.
    pub(super) fn mark(path: &Path) -> Result<()> {
        let name = path.join(NAME);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&name);
        file.and_then(|file| file.sync_all()).map_err(|e| errors::io("create", &name, e))
    }

    /// Locks the store for writing.
    pub(super) fn for_writing(path: &Path) -> Result<Self> {
        let name = path.join(NAME);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&name);
        let file = file.map_err(|e| errors::io("create", &name, e))?;
        Self::locked(path, FileExt::try_lock(&file))?;
        Ok(Self { file: Some(file) })
    }

    /// Locks the store for reading.
    pub(super) fn for_reading(path: &Path) -> Result<Self> {
        let name = path.join(NAME);
        match File::open(&name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(errors::io("open", &name, e)),
            Ok(file) => return Self::shared(path, file),
        }
        match OpenOptions::new().create(true).truncate(false).write(true).open(&name) {
            Ok(file) => Self::shared(path, file),
            // A copy on a medium, or in a directory, in which this process cannot create a file.
            Err(e) if matches!(e.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => {
                Ok(Self { file: None })
            }
            Err(e) => Err(errors::io("create", &name, e)),
        }
    }

    fn shared(path: &Path, file: File) -> Result<Self> {
        Self::locked(path, FileExt::try_lock_shared(&file))?;
        Ok(Self { file: Some(file) })
    }

    fn locked(path: &Path, attempt: Result<(), TryLockError>) -> Result<()> {
        match attempt {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(Error::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(e)) => Err(errors::io("lock", &path.join(NAME), e)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Said aloud, since a child that was forked meanwhile would keep a lock that only ends with
        // its file.
        if let Some(file) = &self.file {
            let _ = FileExt::unlock(file);
        }
    }
}
