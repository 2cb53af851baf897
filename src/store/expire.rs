//! Removing what has expired.
//!
//! Compactions drop documents and holders that have expired, each family in its own time; no answer depends
//! on it. Table entries do not know when they were stored, so they stay until nothing holds their sketch and
//! this walk finds it so.

use std::ops::ControlFlow;

use super::Shared;
use super::claims::Claim;
use super::progress::{Progress, Reporter};
use super::sketch::{Index, Sketch};
use super::write;
use crate::Result;
use crate::engine::malformed;
use crate::format::keys;

/// Removes what has expired, and returns how many documents that were.
pub(super) fn expire<S: Sketch>(store: &Shared<S>, progress: impl FnMut(Progress) -> ControlFlow<()>) -> Result<u64> {
    if store.settings.retention_millis.is_none() {
        return Ok(0);
    }
    store.advance_expiry(0)?;
    let engine = &store.engine;
    let families = [store.documents, store.holders, store.index.families()[0]];
    let total = families.into_iter().map(|family| engine.approximate_keys(family)).sum::<Result<u64>>()?;
    let mut reporter = Reporter::new(progress, total, "expire again to remove the rest");
    let mut removed = 0;
    let now = store.now();
    reporter.phase("documents")?;
    let mut documents = store.engine.scan(store.documents)?;
    while let Some((id, value)) = documents.next()? {
        reporter.done(1)?;
        if store.is_expired(store.decode(value)?.time, now) {
            removed += u64::from(expire_document(store, id, now)?);
        }
    }
    drop(documents);
    reporter.phase("holders")?;
    // What is left are holders whose documents a compaction has dropped.
    let mut holders = store.engine.scan(store.holders)?;
    while let Some((key, value)) = holders.next()? {
        reporter.done(1)?;
        if store.is_expired_holder(value, now)? {
            let id = keys::decode_holder(key, S::IDENTITY_BYTES).map_err(|e| malformed(store.engine.path(), e))?;
            if let Some(sketch) = S::of_identity(&key[..S::IDENTITY_BYTES]) {
                expire_holder(store, id, &sketch)?;
            }
        }
    }
    drop(holders);
    reporter.phase("table entries")?;
    let mut table = store.engine.scan(store.index.families()[0])?;
    let mut holders = store.engine.scan(store.holders)?;
    while let Some((key, _)) = table.next()? {
        reporter.done(1)?;
        let identity = store.index.identity(0, key).map_err(|e| malformed(store.engine.path(), e))?;
        let identity = identity.as_ref();
        if holders.seek(identity)?.is_none_or(|(key, _)| !key.starts_with(identity))
            && let Some(sketch) = S::of_identity(identity)
        {
            drop_unheld(store, &sketch)?;
        }
    }
    Ok(removed)
}

/// Removes a document unless it was stored anew meanwhile.
pub(super) fn expire_document<S: Sketch>(store: &Shared<S>, id: &[u8], now: u64) -> Result<bool> {
    let (held, stored) = store.claimed(id, None)?;
    let Some(stored) = stored.filter(|stored| store.is_expired(stored.time, now)) else {
        return Ok(false);
    };
    write::remove(store, &held, id, &stored.sketch)?;
    Ok(true)
}

/// Removes a holder unless there is a document for it now.
pub(super) fn expire_holder<S: Sketch>(store: &Shared<S>, id: &[u8], sketch: &S) -> Result<()> {
    let (held, stored) = store.claimed(id, Some((sketch, 0)))?;
    if stored.is_some_and(|stored| stored.sketch == *sketch) {
        return Ok(());
    }
    let mut batch = store.engine.batch();
    write::release(store, &mut batch, id, sketch)?;
    held.change(|| batch.write())
}

/// Removes a sketch from the tables unless something holds it now.
pub(super) fn drop_unheld<S: Sketch>(store: &Shared<S>, sketch: &S) -> Result<()> {
    let held = store.claims.hold(Claim::on([]).and(sketch, 0));
    if store.is_held(sketch)? {
        return Ok(());
    }
    let mut batch = store.engine.batch();
    store.index.delete(&mut batch, sketch)?;
    held.change(|| batch.write())
}
