//! All documents, one after the other.

use std::sync::Arc;

use super::results::Document;
use super::shared::Shared;
use super::sketch::Sketch;
use crate::Result;
use crate::engine::Scan;

/// The documents of a store in the order of their ids, as they were when the iterator was made; from
/// [`Store::iter`](crate::Store::iter).
///
/// It reads in bounded memory. As long as it lives, files that it reads are kept on disk.
pub struct Documents<S: Sketch> {
    scan: Scan,
    store: Arc<Shared<S>>,
    now: u64,
    failed: bool,
}

impl<S: Sketch> Documents<S> {
    pub(super) fn new(store: &Arc<Shared<S>>) -> Result<Self> {
        let scan = store.engine.scan(store.documents)?;
        Ok(Self { scan, store: Arc::clone(store), now: store.now(), failed: false })
    }

    fn read(&mut self) -> Result<Option<Document<S>>> {
        while let Some((id, value)) = self.scan.next()? {
            let stored = self.store.decode(value)?;
            if !self.store.is_expired(stored.time, self.now) {
                return Ok(Some(stored.with_id(id)));
            }
        }
        Ok(None)
    }
}

impl<S: Sketch> Iterator for Documents<S> {
    type Item = Result<Document<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.read().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

impl<S: Sketch> std::fmt::Debug for Documents<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents").field("path", &self.store.engine.path()).finish_non_exhaustive()
    }
}
