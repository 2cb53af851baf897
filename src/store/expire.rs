//! Removing what has expired.
//!
//! Compactions drop documents and holders that have expired, each family in its own time; no answer depends
//! on it. Table entries do not know when they were stored, so they stay until nothing holds their sketch and
//! this walk finds it so. Sealed pages are never changed: where something in them has expired, they are written
//! anew without it.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::change::Change;
use super::claims::Claim;
use super::progress::{Progress, Reporter};
use super::sketch::sealed::Sealed;
use super::sketch::{Index, Sketch};
use super::view::Layer;
use super::{LoadOptions, Shared, bulk, open, write};
use crate::engine::malformed;
use crate::format::keys;
use crate::format::pages::DocumentPage;
use crate::{Fingerprint, Result};

/// What writing the sealed documents anew may sort in memory.
const RESEAL_MEMORY_BYTES: usize = 256 << 20;

/// Removes what has expired, and returns how many documents that were.
pub(super) fn expire(
    store: &Arc<Shared<Fingerprint>>,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<u64> {
    if store.settings.retention_millis.is_none() {
        return Ok(0);
    }
    store.advance_expiry(0)?;
    let engine = &store.engine;
    let (view, now) = (store.view(), store.now());
    let rows = [&view.live.documents, &view.live.holders, &view.index.row_families(Layer::Live)[0]];
    let rows = rows.into_iter().map(|family| engine.approximate_keys(family)).sum::<Result<u64>>()?;
    let total = rows + view.generations.sealed.map_or(0, |sealed| sealed.documents);
    let mut reporter = Reporter::new(&mut progress, total, "expire again to remove the rest");
    let mut removed = 0;
    reporter.phase("documents")?;
    let mut documents = engine.scan(&view.live.documents);
    while let Some((id, value)) = documents.next()? {
        reporter.done(1)?;
        if !keys::is_tombstone(value) && store.is_expired(open::decode::<Fingerprint>(engine.path(), value)?.time, now)
        {
            removed += u64::from(expire_document(store, id, now)?);
        }
    }
    drop(documents);
    reporter.phase("holders")?;
    // What is left are holders whose documents a compaction has dropped.
    let mut holders = engine.scan(&view.live.holders);
    while let Some((key, value)) = holders.next()? {
        reporter.done(1)?;
        if store.is_expired_holder(value, now)? {
            let id = keys::decode_holder(key, Fingerprint::IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?;
            if let Some(sketch) = Fingerprint::of_identity(&key[..Fingerprint::IDENTITY_BYTES]) {
                expire_holder(store, id, &sketch)?;
            }
        }
    }
    drop(holders);
    reporter.phase("table entries")?;
    let mut table = engine.scan(&view.index.row_families(Layer::Live)[0]);
    let mut holders = engine.scan(&view.live.holders);
    while let Some((key, _)) = table.next()? {
        reporter.done(1)?;
        let identity = view.index.identity(0, key).map_err(|e| malformed(engine.path(), e))?;
        let identity = identity.as_ref();
        if holders.seek(identity)?.is_none_or(|(key, _)| !key.starts_with(identity))
            && let Some(sketch) = Fingerprint::of_identity(identity)
        {
            drop_unheld(store, &sketch)?;
        }
    }
    drop((table, holders));
    reporter.phase("sealed documents")?;
    let mut sealed = 0;
    if let Some(rows) = &view.frozen {
        let mut documents = engine.scan(&rows.documents);
        while let Some((_, value)) = documents.next()? {
            let stored = keys::decode_document(value, Fingerprint::BYTES).ok();
            sealed += u64::from(stored.is_some_and(|stored| store.is_expired(stored.stored_at_millis, now)));
            reporter.done(1)?;
        }
    }
    if let Some(pages) = &view.sealed {
        let mut pages = engine.scan(&pages.documents);
        while let Some((_, page)) = pages.next()? {
            let page = DocumentPage::parse(page, Fingerprint::BYTES).map_err(|e| malformed(engine.path(), e))?;
            page.visit(|_, value| sealed += u64::from(store.is_expired(value.stored_at_millis, now)));
            reporter.done(page.len() as u64)?;
        }
    }
    drop((view, reporter));
    if sealed > 0 {
        // Pages do not change: the others are written anew.
        bulk::reseal(store, &LoadOptions::new().memory_bytes(RESEAL_MEMORY_BYTES), progress)?;
    }
    Ok(removed + sealed)
}

/// Removes a live document unless it was stored anew meanwhile.
pub(super) fn expire_document<S: Sketch>(store: &Shared<S>, id: &[u8], now: u64) -> Result<bool> {
    let claimed = store.claimed(id, None)?;
    let Some(stored) = claimed.found.live().filter(|stored| store.is_expired(stored.time, now)) else {
        return Ok(false);
    };
    // It hides nothing, so there is nothing to leave a tombstone for.
    let mut change = Change::new(&store.engine, &claimed.view);
    change.batch.delete(&claimed.view.live.documents, id);
    write::release(store, &claimed.view, &mut change, id, &stored.sketch)?;
    change.commit(&claimed.held)?;
    Ok(true)
}

/// Removes a live holder unless there is a live document for it now.
pub(super) fn expire_holder<S: Sketch>(store: &Shared<S>, id: &[u8], sketch: &S) -> Result<()> {
    let claimed = store.claimed(id, Some((sketch, 0)))?;
    if claimed.found.live().is_some_and(|stored| stored.sketch == *sketch) {
        return Ok(());
    }
    let mut change = Change::new(&store.engine, &claimed.view);
    write::release(store, &claimed.view, &mut change, id, sketch)?;
    change.commit(&claimed.held)
}

/// Removes a sketch from the live tables unless something live holds it now.
pub(super) fn drop_unheld<S: Sketch>(store: &Shared<S>, sketch: &S) -> Result<()> {
    let held = store.claims.hold(Claim::on([]).and(sketch, 0));
    let view = store.view();
    if store.is_held(&view, sketch)? {
        return Ok(());
    }
    let mut change = Change::new(&store.engine, &view);
    change.remove(sketch);
    change.commit(&held)
}
