//! Inserting and deleting, and the batches that they write.
//!
//! 1. The caller holds a claim on the id, on the sketch and on the sketch that it replaces.
//! 2. A document, its holder and the table entries of its sketch change in one batch, so a crash
//!    leaves all of them or none, and a reader finds the document in all tables or in none.
//! 3. A sketch is in the live tables as long as there is a live holder of it. It is put there with its first holder
//!    and removed with its last, so a sketch with a million holders is one entry a table. Who adds the
//!    first and who removes the last have claims on the same sketch.

use super::Shared;
use super::change::Change;
use super::shared::Claimed;
use super::sketch::{Index, Key, Sketch};
use super::view::View;
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
    let claimed = store.claimed(id, Some((new.sketch, 0)))?;
    let old = claimed.found.document();
    let is_same = old.is_some_and(|old| old.sketch == *new.sketch && old.payload == new.payload);
    // A load that is under way may bring the id, and this is newer: what is the same is said once more, as it was.
    let is_said = !is_same || (claimed.found.live().is_none() && store.changes.are_under_way());
    if is_said {
        let time = old.filter(|_| is_same).map_or(claimed.now, |old| old.time);
        let known = claimed.view.index.find(&store.engine, new.sketch)?;
        replace(store, &claimed, id, new, known, time)?;
    }
    Ok(old.map(|old| old.sketch.clone()))
}

pub(super) fn delete<S: Sketch>(store: &Shared<S>, id: &[u8]) -> Result<Option<S>> {
    let claimed = store.claimed(id, None)?;
    // A load that is under way may bring the id, and the removal is newer.
    if claimed.found.all().next().is_some() || store.changes.are_under_way() {
        remove(store, &claimed, id)?;
    }
    Ok(claimed.found.document().map(|old| old.sketch.clone()))
}

/// Stores a document in place of the one that has its id. `known` is the number of its sketch, if that may be stored.
pub(super) fn replace<S: Sketch>(
    store: &Shared<S>,
    claimed: &Claimed<'_, S>,
    id: &[u8],
    new: Content<'_, S>,
    known: Option<S::Key>,
    now: u64,
) -> Result<()> {
    let view = &claimed.view;
    let is_held = known.map_or(Ok(false), |key| store.is_held(view, key))?;
    let key = known.map_or_else(|| view.index.new_key(new.sketch), Ok)?;
    let mut change = Change::new(&store.engine, view);
    if !is_held {
        change.add(std::slice::from_ref(new.sketch), &[key]);
    }
    put_holder(store, view, &mut change.batch, id, key, now);
    put_value(view, &mut change.batch, id, key, new.payload, now);
    // What an older generation has under the id is hidden from now on.
    if let Some(old) = claimed.found.live().filter(|old| old.sketch != *new.sketch) {
        release(store, view, &mut change, id, &old.sketch, old.key)?;
    }
    change.commit(&claimed.held)
}

pub(super) fn put_value<S: Sketch>(
    view: &View<S>,
    batch: &mut Batch<'_>,
    id: &[u8],
    key: S::Key,
    payload: &[u8],
    now: u64,
) {
    batch.put(&view.live.documents, id, &keys::encode_document(&key.number().to_be_bytes(), now, payload));
}

pub(super) fn put_holder<S: Sketch>(
    store: &Shared<S>,
    view: &View<S>,
    batch: &mut Batch<'_>,
    id: &[u8],
    key: S::Key,
    stored_at_millis: u64,
) {
    let time = store.settings.retention_millis.map(|_| stored_at_millis);
    let key = keys::encode_holder(&key.number().to_be_bytes(), id);
    batch.put(&view.live.holders, &key, keys::encode_holder_value(time).as_ref());
}

/// Removes the document that is stored under an id.
pub(super) fn remove<S: Sketch>(store: &Shared<S>, claimed: &Claimed<'_, S>, id: &[u8]) -> Result<()> {
    let view = &claimed.view;
    let mut change = Change::new(&store.engine, view);
    if store.changes.are_under_way() || view.is_below(&store.engine, id)? {
        change.batch.put(&view.live.documents, id, keys::TOMBSTONE);
    } else {
        change.batch.delete(&view.live.documents, id);
    }
    if let Some(old) = claimed.found.live() {
        release(store, view, &mut change, id, &old.sketch, old.key)?;
    }
    change.commit(&claimed.held)
}

/// Takes a document of the live generation out of the holders of its sketch, and the sketch out of the tables
/// if it was the last.
pub(super) fn release<S: Sketch>(
    store: &Shared<S>,
    view: &View<S>,
    change: &mut Change<'_, S>,
    id: &[u8],
    sketch: &S,
    key: S::Key,
) -> Result<()> {
    change.batch.delete(&view.live.holders, &keys::encode_holder(&key.number().to_be_bytes(), id));
    if !store.has_other_holder(view, key, id)? {
        change.remove(sketch, key);
    }
    Ok(())
}
