//! All documents, one after the other.

use std::marker::PhantomData;

use super::clock::time_of;
use super::results::Document;
use super::sketch::Sketch;
use crate::engine::{Scan, malformed};
use crate::format::Malformed;
use crate::format::keys::decode_document;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The documents of a store in the order of their ids, as they were when the iterator was made; from
/// [`Store::iter`](crate::Store::iter).
///
/// It reads in bounded memory. As long as it lives, files that it reads are kept on disk.
pub struct Documents<S> {
    scan: Scan,
    path: PathBuf,
    failed: bool,
    sketch: PhantomData<S>,
}

impl<S: Sketch> Documents<S> {
    pub(super) fn new(scan: Scan, path: &Path) -> Self {
        Self { scan, path: path.to_owned(), failed: false, sketch: PhantomData }
    }
}

impl<S: Sketch> Iterator for Documents<S> {
    type Item = Result<Document<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = match self.scan.next() {
            Ok(entry) => entry.map(|(id, value)| decode(&self.path, id, value)),
            Err(e) => Some(Err(e)),
        };
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

impl<S> std::fmt::Debug for Documents<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Takes a stored document apart.
pub(super) fn decode<S: Sketch>(path: &Path, id: &[u8], value: &[u8]) -> Result<Document<S>> {
    let corrupt = |e: Malformed| -> Error { malformed(path, e) };
    let value = decode_document(value, S::BYTES).map_err(corrupt)?;
    let sketch =
        S::decode(value.sketch).ok_or_else(|| corrupt(Malformed("a stored sketch has another length".into())))?;
    Ok(Document { id: id.to_owned(), sketch, stored_at: time_of(value.stored_at_millis) })
}
