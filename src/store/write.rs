//! Admitting, inserting and deleting.
//!
//! 1. One writer at a time: the caller holds the write lock through each function here.
//! 2. A document, its holder and the table entries of its sketch change in one batch, so a crash
//!    leaves all of them or none.
//! 3. A sketch is in the tables as long as a document holds it. It is put there with its first holder
//!    and removed with its last, so a sketch with a million holders is one entry a table.

use super::Shared;
use super::results::{Admission, Match, QueryStats};
use super::sketch::{Index, Sketch, Way};
use crate::Result;
use crate::format::keys;

pub(super) fn insert<S: Sketch>(store: &Shared<S>, id: &[u8], sketch: &S) -> Result<Option<S>> {
    let old = store.document(id)?.map(|document| document.sketch);
    if old.as_ref() != Some(sketch) {
        let is_held = store.first_holder(sketch)?.is_some();
        put(store, id, sketch, is_held, old.as_ref())?;
    }
    Ok(old)
}

pub(super) fn check_and_insert<S: Sketch>(
    store: &Shared<S>,
    id: &[u8],
    sketch: &S,
    max_distance: u32,
) -> Result<Admission> {
    if let Some(nearest) = nearest(store, sketch, max_distance)? {
        return Ok(Admission::Duplicate(nearest));
    }
    let old = store.document(id)?.map(|document| document.sketch);
    // Nothing near has a holder, so the sketch itself has none.
    put(store, id, sketch, false, old.as_ref())?;
    Ok(Admission::Admitted)
}

pub(super) fn delete<S: Sketch>(store: &Shared<S>, id: &[u8]) -> Result<Option<S>> {
    let Some(document) = store.document(id)? else { return Ok(None) };
    let mut batch = store.engine.batch();
    batch.delete(store.documents, id)?;
    release(store, &mut batch, id, &document.sketch)?;
    batch.write()?;
    Ok(Some(document.sketch))
}

/// Stores a document in place of the one that has its id, whose sketch is `old`. `is_held` tells
/// whether a document has the sketch already.
fn put<S: Sketch>(store: &Shared<S>, id: &[u8], sketch: &S, is_held: bool, old: Option<&S>) -> Result<()> {
    let mut batch = store.engine.batch();
    let identity = sketch.identity();
    if !is_held {
        store.index.put(&mut batch, sketch)?;
    }
    batch.put(store.holders, &keys::encode_holder(identity.as_ref(), id), &[])?;
    batch.put(store.documents, id, &keys::encode_document(sketch.encode().as_ref(), store.clock.now_millis(), &[]))?;
    let Some(old) = old.filter(|&old| old != sketch) else { return batch.write() };
    release(store, &mut batch, id, old)?;
    let _replacing = store.replacements.begin(sketch.clone());
    batch.write()
}

/// Takes a document out of the holders of its sketch, and the sketch out of the tables if it was the
/// last.
fn release<S: Sketch>(store: &Shared<S>, batch: &mut crate::engine::Batch<'_>, id: &[u8], sketch: &S) -> Result<()> {
    batch.delete(store.holders, &keys::encode_holder(sketch.identity().as_ref(), id))?;
    if !store.has_other_holder(sketch, id)? {
        store.index.delete(batch, sketch)?;
    }
    Ok(())
}

/// The nearest document, and of equally near ones the one with the smallest id.
fn nearest<S: Sketch>(store: &Shared<S>, sketch: &S, max_distance: u32) -> Result<Option<Match>> {
    let mut best: Option<Match> = None;
    for (distance, near) in
        store.index.near(&store.engine, sketch, max_distance, Way::Cheapest, &mut QueryStats::default())?
    {
        if best.as_ref().is_some_and(|best| best.distance < distance) {
            break;
        }
        if let Some(id) = store.first_holder(&near)? {
            let found = Match { distance, id };
            best = Some(best.map_or_else(|| found.clone(), |best| best.min(found.clone())));
        }
    }
    Ok(best)
}
