//! All documents, one after the other.

use std::sync::Arc;

use super::claims::Claim;
use super::holders::{Holder, Holders};
use super::open::number;
use super::results::Document;
use super::shared::{Shared, Stored};
use super::sketch::{Index, Key, Sketch};
use super::view::lost_sketch;
use super::walk::Walk;
use crate::{Fingerprint, Result};

/// The documents of a store in the order of their ids, as they were when the iterator was made; from
/// [`Store::iter`](crate::Store::iter).
///
/// It reads in bounded memory. As long as it lives, files that it reads are kept on disk.
pub struct Documents<S: Sketch> {
    walk: Walk,
    sketches: <S::Index as Index<S>>::Pinned,
    store: Arc<Shared<S>>,
    failed: bool,
}

impl<S: Sketch> Documents<S> {
    pub(super) fn new(store: &Arc<Shared<S>>) -> Self {
        let _held = <S::Index as Index<S>>::IS_PINNED.then(|| store.claims.hold(Claim::standstill()));
        let view = store.view();
        let walk = Walk::of(&store.engine, &view, store.lifetime());
        let sketches = view.index.pin(&store.engine);
        Self { walk, sketches, store: Arc::clone(store), failed: false }
    }

    fn read(&mut self) -> Result<Option<Document<S>>> {
        let Some(entry) = self.walk.next()? else { return Ok(None) };
        let key = S::Key::of_number(number(&entry.value()));
        let sketch = <S::Index as Index<S>>::pinned(&mut self.sketches, key)?;
        let sketch = sketch.ok_or_else(|| lost_sketch(&self.store.engine, &entry.id))?;
        Ok(Some(Stored::new(sketch, key, &entry.value()).with_id(&entry.id)))
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

/// The documents of a store in the order of their fingerprints and then their ids, as they were when the iterator
/// was made; from [`Store::iter_by_fingerprint`](crate::Store::iter_by_fingerprint).
pub struct ByFingerprint {
    holders: Holders,
    holder: Holder,
    failed: bool,
}

impl ByFingerprint {
    pub(super) fn new(store: &Shared<Fingerprint>) -> Self {
        Self { holders: Holders::of(store), holder: Holder::default(), failed: false }
    }
}

impl Iterator for ByFingerprint {
    type Item = Result<(Fingerprint, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let holder = &mut self.holder;
        let next = self.holders.next_that_counts(holder);
        self.failed = next.is_err();
        let next = next.map(|is_one| is_one.then(|| (Fingerprint::new(holder.identity), holder.id.clone())));
        next.transpose()
    }
}

impl std::fmt::Debug for ByFingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByFingerprint").finish_non_exhaustive()
    }
}
