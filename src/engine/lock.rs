//! The lock file: one writer, or any number of readers.
//!
//! RocksDB locks writers out itself, but lets a process read a directory that another one writes to,
//! and then reports sound data as damaged. This lock keeps the two apart. Its file is also the first
//! file of a new store, so a directory that holds it and no store record is an unfinished creation.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use fs4::{FileExt, TryLockError};

use super::errors;
use crate::{Error, Result};

const NAME: &str = "NEARSTONE-LOCK";

/// Held as long as the store is open.
#[derive(Debug)]
pub(super) struct Lock {
    /// `None` on a medium where no file can be created and so nobody can write.
    file: Option<File>,
}

impl Lock {
    /// Whether a directory was begun as a store.
    pub(super) fn is_in(path: &Path) -> bool {
        path.join(NAME).exists()
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
        let file =
            File::open(&name).or_else(|_| OpenOptions::new().create(true).truncate(false).write(true).open(&name));
        match file {
            Ok(file) => {
                Self::locked(path, FileExt::try_lock_shared(&file))?;
                Ok(Self { file: Some(file) })
            }
            Err(_) if fs::exists(path).unwrap_or(false) => Ok(Self { file: None }),
            Err(e) => Err(errors::io("create", &name, e)),
        }
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
