//! A generation with a key for each document.

use std::ops::ControlFlow;

use super::sketches::verify_sketches;
use super::{Sum, Verification, bare, shown};
use crate::Result;
use crate::engine::{Scan, malformed};
use crate::format::{IDENTITY_BYTES, keys};
use crate::store::Shared;
use crate::store::progress::{Progress, Reporter};
use crate::store::sketch::{Index, Key, Sketch};
use crate::store::view::{Layer, Rows, View};

/// All families of the generation as they were at one moment.
pub(super) struct PinnedRows {
    documents: Scan,
    holders: Scan,
    /// The sketches, where they have a family of their own.
    sketches: Option<Scan>,
    tables: Vec<Scan>,
}

impl PinnedRows {
    pub(super) fn new<S: Sketch>(store: &Shared<S>, view: &View<S>, layer: Layer, rows: &Rows) -> Self {
        let engine = &store.engine;
        Self {
            documents: engine.scan(&rows.documents),
            holders: engine.scan(&rows.holders),
            sketches: view.index.sketch_family(layer).map(|family| engine.scan(family)),
            tables: view.index.row_families(layer).iter().map(|family| engine.scan(family)).collect(),
        }
    }

    pub(super) fn verify<S: Sketch>(
        mut self,
        store: &Shared<S>,
        view: &View<S>,
        now: u64,
        found: &mut Verification,
        reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>,
    ) -> Result<()> {
        reporter.phase("documents")?;
        let mut by_documents = Sum::default();
        while let Some((id, value)) = self.documents.next()? {
            reporter.done(1)?;
            if keys::is_tombstone(value) {
                continue;
            }
            match holder_of(store, id, value, now) {
                Ok(Some(holder)) => by_documents.add(&holder),
                Ok(None) => found.expired += 1,
                Err(e) => {
                    found.malformed += 1;
                    found.example(|| format!("document {}: {}", shown(id), bare(&e)));
                }
            }
        }
        reporter.phase("holders")?;
        let (mut by_holders, mut sketches) = (Sum::default(), Sum::default());
        let mut latest: Vec<u8> = Vec::new();
        while let Some((key, value)) = self.holders.next()? {
            reporter.done(1)?;
            if let Err(e) = keys::decode_holder(key, IDENTITY_BYTES) {
                found.malformed += 1;
                found.example(|| format!("holder {}: {}", shown(key), e.0));
                continue;
            }
            let identity = &key[..IDENTITY_BYTES];
            if identity != latest {
                latest.clear();
                latest.extend_from_slice(identity);
                sketches.add(identity);
            }
            match store.is_expired_holder(value, now) {
                Ok(false) => by_holders.add(&[key, value].concat()),
                Ok(true) => found.expired += 1,
                Err(e) => {
                    found.malformed += 1;
                    found.example(|| format!("holder {}: {}", shown(key), bare(&e)));
                }
            }
        }
        if by_documents != by_holders {
            compare_documents(store, &mut self, [&by_documents, &by_holders], now, found, reporter)?;
        }
        if let Some(scan) = self.sketches.take() {
            return verify_sketches(view, scan, self.tables, self.holders, &sketches, found, reporter);
        }
        for table in 0..self.tables.len() {
            reporter.phase("tables")?;
            let mut by_table = Sum::default();
            while let Some((key, _)) = self.tables[table].next()? {
                reporter.done(1)?;
                match view.index.decode(table, key) {
                    Ok(value) => by_table.add(&view.index.key_of(table, value).number().to_be_bytes()),
                    Err(e) => {
                        found.malformed += 1;
                        found.example(|| format!("table {table}: {}", e.0));
                    }
                }
            }
            if by_table != sketches {
                compare_table(store, view, table, &mut self, [&by_table, &sketches], found, reporter)?;
            }
        }
        Ok(())
    }
}

/// The key and value of the holder that a document must have, unless it has expired.
fn holder_of<S: Sketch>(store: &Shared<S>, id: &[u8], value: &[u8], now: u64) -> Result<Option<Vec<u8>>> {
    let stored = keys::decode_document(value, IDENTITY_BYTES).map_err(|e| malformed(store.engine.path(), e))?;
    if store.is_expired(stored.stored_at_millis, now) {
        return Ok(None);
    }
    let time = store.settings.retention_millis.map(|_| stored.stored_at_millis);
    let mut holder = keys::encode_holder(stored.sketch, id);
    holder.extend_from_slice(keys::encode_holder_value(time).as_ref());
    Ok(Some(holder))
}

/// Looks for the holder of each document, and for the document of each holder.
fn compare_documents<S: Sketch>(
    store: &Shared<S>,
    pinned: &mut PinnedRows,
    [by_documents, by_holders]: [&Sum; 2],
    now: u64,
    found: &mut Verification,
    reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>,
) -> Result<()> {
    reporter.phase("documents one by one")?;
    let value_bytes = keys::encode_holder_value(store.settings.retention_millis).as_ref().len();
    pinned.documents.restart();
    while let Some((id, value)) = pinned.documents.next()? {
        reporter.done(1)?;
        let Ok(Some(holder)) = holder_of(store, id, value, now) else { continue };
        if !by_documents.differs_near(by_holders, &holder) {
            continue;
        }
        let (key, time) = holder.split_at(holder.len() - value_bytes);
        if pinned.holders.seek(key)?.is_none_or(|(k, v)| k != key || v != time) {
            found.missing_holders += 1;
            found.example(|| format!("document {} has no holder", shown(id)));
        }
    }
    reporter.phase("holders one by one")?;
    pinned.holders.restart();
    while let Some((key, value)) = pinned.holders.next()? {
        reporter.done(1)?;
        let Ok(id) = keys::decode_holder(key, IDENTITY_BYTES) else { continue };
        let is_over = store.is_expired_holder(value, now).unwrap_or(true);
        let holder = [key, value].concat();
        if is_over || !by_documents.differs_near(by_holders, &holder) {
            continue;
        }
        let document = pinned.documents.seek(id)?.filter(|(found, _)| *found == id);
        let expected = document.and_then(|(id, value)| holder_of(store, id, value, now).ok().flatten());
        if expected.is_none_or(|expected| expected != holder) {
            found.orphan_holders += 1;
            found.example(|| format!("holder {} has no document", shown(key)));
        }
    }
    Ok(())
}

/// Looks for the entry of each sketch in a table, and for a holder of each entry.
fn compare_table<S: Sketch>(
    store: &Shared<S>,
    view: &View<S>,
    table: usize,
    pinned: &mut PinnedRows,
    [by_table, sketches]: [&Sum; 2],
    found: &mut Verification,
    reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>,
) -> Result<()> {
    reporter.phase("table entries one by one")?;
    let PinnedRows { holders, tables, .. } = pinned;
    let scan = &mut tables[table];
    holders.restart();
    let mut latest: Vec<u8> = Vec::new();
    while let Some((key, _)) = holders.next()? {
        reporter.done(1)?;
        let Some(identity) = key.get(..IDENTITY_BYTES).filter(|identity| *identity != latest) else { continue };
        latest.clear();
        latest.extend_from_slice(identity);
        if !by_table.differs_near(sketches, identity) {
            continue;
        }
        let key = S::Key::of_number(u64::from_be_bytes(identity.try_into().expect("eight bytes")));
        let Some(sketch) = view.index.sketch(&store.engine, key)? else { continue };
        let entry = view.index.encode(table, view.index.value(table, &sketch, key));
        if scan.seek(entry.as_ref())?.is_none_or(|(found, _)| found != entry.as_ref()) {
            found.missing_entries += 1;
            found.example(|| format!("table {table} lacks {}", shown(&latest)));
        }
    }
    scan.restart();
    while let Some((key, _)) = scan.next()? {
        reporter.done(1)?;
        let Ok(value) = view.index.decode(table, key) else { continue };
        let identity = view.index.key_of(table, value).number().to_be_bytes();
        if !by_table.differs_near(sketches, &identity) {
            continue;
        }
        if holders.seek(&identity)?.is_none_or(|(found, _)| !found.starts_with(&identity)) {
            found.orphan_entries += 1;
            if !found.expires {
                found.example(|| format!("table {table} has {}, which no document has", shown(&identity)));
            }
        }
    }
    Ok(())
}
