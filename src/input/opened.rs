//! A file that was opened, and its first bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::BadRecord;
use super::stream::STDIN;

/// So much is asked for at first; a pipe may bring less.
const FIRST_BYTES: usize = 64 << 10;

/// So many bytes tell a compression, and are waited for.
const MAGIC_BYTES: usize = 4;

/// A file of which only the first bytes were read.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    /// All of the file where it is shorter than a few bytes.
    pub(super) first: Vec<u8>,
    pub(super) rest: Box<dyn Read + Send>,
}

impl Opened {
    pub(super) fn open(path: &Path, bytes_read: &Arc<AtomicU64>) -> Result<Self, BadRecord> {
        let file: io::Result<Box<dyn Read + Send>> = if path.as_os_str() == STDIN {
            Ok(Box::new(io::stdin()))
        } else {
            File::open(path).map(|file| Box::new(file) as Box<dyn Read + Send>)
        };
        let opened = file.and_then(|file| {
            let mut rest = Counted { inner: file, bytes: Arc::clone(bytes_read) };
            let mut first = vec![0; FIRST_BYTES];
            let mut count = 0;
            // By the first bytes, since names lie.
            while count < MAGIC_BYTES {
                match rest.read(&mut first[count..]) {
                    Ok(0) => break,
                    Ok(more) => count += more,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
            first.truncate(count);
            Ok(Self { path: path.to_owned(), first, rest: Box::new(rest) })
        });
        opened.map_err(|e| BadRecord::unreadable(path, &e))
    }
}

/// Counts what was read from a file.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
