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
use super::sketch::{Index, Key, Sketch};
use super::view::Layer;
use super::{Shared, write};
use crate::Result;
use crate::engine::{Engine, malformed};
use crate::format::pages::DocumentPage;
use crate::format::{IDENTITY_BYTES, keys};

/// Removes what has expired, and returns how many documents that were.
pub(super) fn expire<S: Sketch>(
    store: &Arc<Shared<S>>,
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
        if !keys::is_tombstone(value) && store.is_expired(stored_at(engine, value)?, now) {
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
            let id = keys::decode_holder(key, IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?;
            let key = S::Key::of_number(u64::from_be_bytes(*key.first_chunk().expect("an id comes after eight bytes")));
            if let Some(sketch) = view.index.sketch(engine, key)? {
                expire_holder(store, id, &sketch, key)?;
            }
        }
    }
    drop(holders);
    reporter.phase("table entries")?;
    let mut table = engine.scan(&view.index.row_families(Layer::Live)[0]);
    let mut holders = engine.scan(&view.live.holders);
    while let Some((key, _)) = table.next()? {
        reporter.done(1)?;
        let value = view.index.decode(0, key).map_err(|e| malformed(engine.path(), e))?;
        let key = view.index.key_of(0, value);
        let identity = key.number().to_be_bytes();
        if holders.seek(&identity)?.is_none_or(|(key, _)| !key.starts_with(&identity))
            && let Some(sketch) = view.index.sketch(engine, key)?
        {
            drop_unheld(store, &sketch, key)?;
        }
    }
    drop((table, holders));
    reporter.phase("sealed documents")?;
    let mut sealed = 0;
    if let Some(rows) = &view.frozen {
        let mut documents = engine.scan(&rows.documents);
        while let Some((_, value)) = documents.next()? {
            let stored = keys::decode_document(value, IDENTITY_BYTES).ok();
            sealed += u64::from(stored.is_some_and(|stored| store.is_expired(stored.stored_at_millis, now)));
            reporter.done(1)?;
        }
    }
    if let Some(pages) = &view.sealed {
        let mut pages = engine.scan(&pages.documents);
        while let Some((_, page)) = pages.next()? {
            let page = DocumentPage::parse(page, IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?;
            page.visit(|_, value| sealed += u64::from(store.is_expired(value.stored_at_millis, now)));
            reporter.done(page.len() as u64)?;
        }
    }
    drop((view, reporter));
    if sealed > 0 {
        // Pages do not change: the others are written anew.
        S::reseal(store, &mut progress)?;
    }
    Ok(removed + sealed)
}

/// When a document was stored.
fn stored_at(engine: &Engine, value: &[u8]) -> Result<u64> {
    let value = keys::decode_document(value, IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?;
    Ok(value.stored_at_millis)
}

/// Removes a live document unless it was stored anew meanwhile.
pub(super) fn expire_document<S: Sketch>(store: &Shared<S>, id: &[u8], now: u64) -> Result<bool> {
    let claimed = store.claimed(id, None)?;
    let documents = &claimed.view.live.documents;
    let live = claimed.found.live();
    let time = match (live, store.engine.get(documents, id)?) {
        (Some(stored), _) => stored.time,
        // Its sketch went with its holders, which a compaction has dropped.
        (None, Some(value)) if !keys::is_tombstone(&value) => stored_at(&store.engine, &value)?,
        (None, _) => return Ok(false),
    };
    if !store.is_expired(time, now) {
        return Ok(false);
    }
    // It hides nothing, so there is nothing to leave a tombstone for.
    let mut change = Change::new(&store.engine, &claimed.view);
    change.batch.delete(documents, id);
    if let Some(stored) = live {
        write::release(store, &claimed.view, &mut change, id, &stored.sketch, stored.key)?;
    }
    change.commit(&claimed.held)?;
    Ok(true)
}

/// Removes a live holder unless there is a live document for it now.
pub(super) fn expire_holder<S: Sketch>(store: &Shared<S>, id: &[u8], sketch: &S, key: S::Key) -> Result<()> {
    let claimed = store.claimed(id, Some((sketch, 0)))?;
    if claimed.found.live().is_some_and(|stored| stored.key == key) {
        return Ok(());
    }
    let mut change = Change::new(&store.engine, &claimed.view);
    write::release(store, &claimed.view, &mut change, id, sketch, key)?;
    change.commit(&claimed.held)
}

/// Removes a sketch from the live tables unless something live holds it now.
pub(super) fn drop_unheld<S: Sketch>(store: &Shared<S>, sketch: &S, key: S::Key) -> Result<()> {
    let held = store.claims.hold(Claim::on([]).and(sketch, 0));
    let view = store.view();
    if store.is_held(&view, key)? {
        return Ok(());
    }
    let mut change = Change::new(&store.engine, &view);
    change.remove(sketch, key);
    change.commit(&held)
}
