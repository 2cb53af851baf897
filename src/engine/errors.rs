//! The engine's errors as ours.

use std::io;
use std::path::Path;

use crate::Error;
use crate::format::Malformed;

/// Maps an error of RocksDB. Its kinds do not tell a lock or a full disk from other failures, so the
/// text decides; the tests of the store hold these texts.
pub(super) fn storage(path: &Path, error: &rocksdb::Error) -> Error {
    let (path, detail) = (path.to_owned(), error.to_string().replace('\n', " "));
    let says = |texts: &[&str]| texts.iter().any(|text| detail.contains(text));
    if says(&["lock hold by current process", "While lock file"]) {
        Error::Locked { path }
    } else if says(&["No space left on device", "File too large", "Disk quota exceeded"]) {
        Error::DiskFull { path, detail }
    } else if error.kind() == rocksdb::ErrorKind::Corruption || says(&[".sst: No such file"]) {
        Error::Corrupt { path, what: detail }
    } else {
        Error::Storage { path, detail }
    }
}

/// Whether an error says only that an earlier one, perhaps of another thread, has stopped the log.
pub(super) fn is_echo(error: &rocksdb::Error) -> bool {
    error.to_string().contains("Writer has previous error")
}

pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Error {
    if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return Error::DiskFull { path: path.to_owned(), detail: format!("cannot {action} it: {source}") };
    }
    Error::Io { action, path: path.to_owned(), source }
}

pub(crate) fn malformed(path: &Path, malformed: Malformed) -> Error {
    Error::Corrupt { path: path.to_owned(), what: malformed.0 }
}
