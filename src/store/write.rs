//! Inserting and deleting, and the batches that they write.
//!
//! 1. The caller holds a claim on the id, on the sketch and on the sketch that it replaces.
//! 2. A document, its holder and the table entries of its sketch change in one batch, so a crash
//!    leaves all of them or none, and a reader finds the document in all tables or in none.
//! 3. A sketch is in the tables as long as there is a holder of it. It is put there with its first holder
//!    and removed with its last, so a sketch with a million holders is one entry a table. Who adds the
//!    first and who removes the last have claims on the same sketch.

use super::Shared;
use super::claims::Held;
use super::shared::Stored;
use super::sketch::{Index, Sketch};
use crate::Result;
use crate::engine::Batch;
use crate::format::keys;

/// What a document is made of, beside its id.
#[derive(Debug)]
pub(super) struct Content<'a, S> {
    pub(super) sketch: &'a S,
    pub(super) payload: &'a [u8],
}

// By hand: a derived one would ask it of the sketch, too.
impl<S> Clone for Content<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Content<'_, S> {}

pub(super) fn insert<S: Sketch>(store: &Shared<S>, id: &[u8], new: Content<'_, S>) -> Result<Option<S>> {
    let (held, old) = store.claimed(id, Some((new.sketch, 0)))?;
    let now = store.now();
    let live = old.as_ref().filter(|old| !store.is_expired(old.time, now));
    if live.is_none_or(|old| old.sketch != *new.sketch || old.payload != new.payload) {
        replace(store, &held, id, new, old.as_ref(), now, store.is_held(new.sketch)?)?;
    }
    Ok(live.map(|old| old.sketch.clone()))
}

pub(super) fn delete<S: Sketch>(store: &Shared<S>, id: &[u8]) -> Result<Option<S>> {
    let (held, old) = store.claimed(id, None)?;
    let Some(old) = old else { return Ok(None) };
    remove(store, &held, id, &old.sketch)?;
    Ok(Some(old.sketch).filter(|_| !store.is_expired(old.time, store.now())))
}

/// Stores a document in place of the one that has its id. `is_held` tells whether its sketch is in the
/// tables already.
pub(super) fn replace<S: Sketch>(
    store: &Shared<S>,
    held: &Held<'_, S>,
    id: &[u8],
    new: Content<'_, S>,
    old: Option<&Stored<S>>,
    now: u64,
    is_held: bool,
) -> Result<()> {
    let mut batch = store.engine.batch();
    if !is_held {
        store.index.put(&mut batch, std::slice::from_ref(new.sketch))?;
    }
    put_holder(store, &mut batch, id, new.sketch, now)?;
    put_value(store, &mut batch, id, new, now)?;
    if let Some(old) = old.filter(|old| old.sketch != *new.sketch) {
        release(store, &mut batch, id, &old.sketch)?;
    }
    held.change(|| batch.write())
}

pub(super) fn put_value<S: Sketch>(
    store: &Shared<S>,
    batch: &mut Batch<'_>,
    id: &[u8],
    new: Content<'_, S>,
    now: u64,
) -> Result<()> {
    batch.put(store.documents, id, &keys::encode_document(new.sketch.encode().as_ref(), now, new.payload))
}

pub(super) fn put_holder<S: Sketch>(
    store: &Shared<S>,
    batch: &mut Batch<'_>,
    id: &[u8],
    sketch: &S,
    stored_at_millis: u64,
) -> Result<()> {
    let time = store.settings.retention_millis.map(|_| stored_at_millis);
    let key = keys::encode_holder(sketch.identity().as_ref(), id);
    batch.put(store.holders, &key, keys::encode_holder_value(time).as_ref())
}

/// Removes a document.
pub(super) fn remove<S: Sketch>(store: &Shared<S>, held: &Held<'_, S>, id: &[u8], sketch: &S) -> Result<()> {
    let mut batch = store.engine.batch();
    batch.delete(store.documents, id)?;
    release(store, &mut batch, id, sketch)?;
    held.change(|| batch.write())
}

/// Takes a document out of the holders of its sketch, and the sketch out of the tables if it was the
/// last.
pub(super) fn release<S: Sketch>(store: &Shared<S>, batch: &mut Batch<'_>, id: &[u8], sketch: &S) -> Result<()> {
    batch.delete(store.holders, &keys::encode_holder(sketch.identity().as_ref(), id))?;
    if !store.has_other_holder(sketch, id)? {
        store.index.delete(batch, sketch)?;
    }
    Ok(())
}
