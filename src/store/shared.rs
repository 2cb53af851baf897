//! What the parts of a store work on, and the look-ups that they share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::Clock;
use super::iter;
use super::replacements::Replacements;
use super::results::Document;
use super::sketch::Sketch;
use crate::engine::{Engine, FamilyId, malformed};
use crate::format::keys;
use crate::format::record::StoreRecord;
use crate::{Result, Simhash};

/// What the clones of a handle share.
pub(super) struct Shared<S: Sketch> {
    pub(super) engine: Engine,
    pub(super) record: StoreRecord,
    pub(super) documents: FamilyId,
    pub(super) holders: FamilyId,
    pub(super) index: S::Index,
    pub(super) simhash: Option<Simhash>,
    pub(super) writers: Mutex<()>,
    pub(super) replacements: Replacements<S>,
    pub(super) clock: Clock,
}

impl<S: Sketch> Shared<S> {
    /// Keeps other writers out. A writer that panicked has left no half-done change behind: changes
    /// are whole batches.
    pub(super) fn lock(&self) -> MutexGuard<'_, ()> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn document(&self, id: &[u8]) -> Result<Option<Document<S>>> {
        let value = self.engine.get(self.documents, id)?;
        value.map(|value| iter::decode(self.engine.path(), id, &value)).transpose()
    }

    /// Visits the ids of the documents that have a sketch, in their order, until one is refused.
    pub(super) fn visit_holders(&self, sketch: &S, mut visit: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let mut cursor = self.engine.cursor(self.holders)?;
        self.engine.visit_keys(&mut cursor, sketch.identity().as_ref(), |key| {
            visit(keys::decode_holder(key, S::IDENTITY_BYTES).map_err(|e| malformed(self.engine.path(), e))?)
        })
    }

    /// The smallest id of a document that has a sketch.
    pub(super) fn first_holder(&self, sketch: &S) -> Result<Option<Vec<u8>>> {
        let mut first = None;
        self.visit_holders(sketch, |id| {
            first = Some(id.to_owned());
            Ok(false)
        })?;
        Ok(first)
    }

    /// Whether a document other than the one with this id has a sketch.
    ///
    /// Deleted holders lie in the way until they are compacted, so the two places where another one is
    /// likely are looked at first: behind the id, for deletions in the order of ids, and at the front.
    pub(super) fn has_other_holder(&self, sketch: &S, id: &[u8]) -> Result<bool> {
        let identity = sketch.identity();
        let own = keys::encode_holder(identity.as_ref(), id);
        let behind = [&own[..], &[0]].concat();
        for start in [&behind[..], identity.as_ref()] {
            let mut others = self.engine.first_keys(self.holders, start, identity.as_ref(), 2)?;
            others.retain(|key| *key != own);
            if !others.is_empty() {
                return Ok(true);
            }
        }
        let mut found = false;
        self.visit_holders(sketch, |holder| {
            found = holder != id;
            Ok(!found)
        })?;
        Ok(found)
    }
}
