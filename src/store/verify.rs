//! Do the families agree?
//!
//! What each family says is summed up in one pass over it: a sum of 64-bit hashes does not depend on the
//! order of what is added, so two families that say the same have the same sum, in whatever orders they
//! are kept. Only where sums differ are entries looked up one by one.

use std::fmt::Write;
use std::ops::ControlFlow;

use super::Shared;
use super::claims::Claim;
use super::progress::{Progress, Reporter};
use super::sketch::{Index, Sketch};
use crate::engine::{FamilyId, Scan};
use crate::format::keys;
use crate::hash::checksum;
use crate::{Error, Result};

/// What [`Store::verify`](crate::Store::verify) has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Documents that have not expired.
    pub documents: u64,
    /// Documents and holders that have expired and still take space.
    pub expired: u64,
    /// Distinct sketches.
    pub sketches: u64,
    /// Documents without a holder: queries miss them.
    pub missing_holders: u64,
    /// Holders without a document: queries return them.
    pub orphan_holders: u64,
    /// Sketches that a table lacks, each counted in each table that lacks it: queries may miss them.
    pub missing_entries: u64,
    /// Table entries without a holder: they take space. Where documents expire they are usual, and
    /// [`Store::expire`](crate::Store::expire) removes them.
    pub orphan_entries: u64,
    /// Entries that are not what the format says.
    pub malformed: u64,
    /// Some of the faults, for people.
    pub examples: Vec<String>,
    pub(crate) expires: bool,
}

impl Verification {
    /// Whether nothing was found that should not be.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let faults = self.missing_holders + self.orphan_holders + self.missing_entries + self.malformed;
        faults == 0 && (self.expires || self.orphan_entries == 0)
    }

    fn example(&mut self, text: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(text());
        }
    }
}

const EXAMPLES: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(checksum(bytes));
    }
}

/// All families as they were at one moment.
struct Pinned {
    documents: Scan,
    holders: Scan,
    tables: Vec<Scan>,
    now: u64,
}

pub(super) fn verify<S: Sketch>(
    store: &Shared<S>,
    progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Verification> {
    let engine = &store.engine;
    let tables = store.index.families();
    let families = [store.documents, store.holders].into_iter().chain(tables.iter().copied());
    let total = families.map(|family| engine.approximate_keys(family)).sum::<Result<u64>>()?;
    let mut reporter = Reporter::new(progress, total, "verify again to see the whole");
    let mut pinned = pin(store, &tables)?;
    let mut found = Verification { expires: store.settings.retention_millis.is_some(), ..Verification::default() };

    reporter.phase("documents")?;
    let mut by_documents = Sum::default();
    while let Some((id, value)) = pinned.documents.next()? {
        reporter.done(1)?;
        match holder_of(store, id, value, pinned.now) {
            Ok(Some(holder)) => by_documents.add(&holder),
            Ok(None) => found.expired += 1,
            Err(e) => {
                found.malformed += 1;
                found.example(|| format!("document {}: {}", shown(id), bare(&e)));
            }
        }
    }
    found.documents = by_documents.count;
    reporter.phase("holders")?;
    let (mut by_holders, mut sketches) = (Sum::default(), Sum::default());
    let mut latest: Vec<u8> = Vec::new();
    while let Some((key, value)) = pinned.holders.next()? {
        reporter.done(1)?;
        if let Err(e) = keys::decode_holder(key, S::IDENTITY_BYTES) {
            found.malformed += 1;
            found.example(|| format!("holder {}: {}", shown(key), e.0));
            continue;
        }
        let identity = &key[..S::IDENTITY_BYTES];
        if identity != latest {
            latest.clear();
            latest.extend_from_slice(identity);
            sketches.add(identity);
        }
        match store.is_expired_holder(value, pinned.now) {
            Ok(false) => by_holders.add(&[key, value].concat()),
            Ok(true) => found.expired += 1,
            Err(e) => {
                found.malformed += 1;
                found.example(|| format!("holder {}: {}", shown(key), bare(&e)));
            }
        }
    }
    found.sketches = sketches.count;
    if by_documents != by_holders {
        compare_documents(store, &mut pinned, &mut found, &mut reporter)?;
    }
    for table in 0..tables.len() {
        reporter.phase("tables")?;
        let mut by_table = Sum::default();
        while let Some((key, _)) = pinned.tables[table].next()? {
            reporter.done(1)?;
            match store.index.identity(table, key) {
                Ok(identity) => by_table.add(identity.as_ref()),
                Err(e) => {
                    found.malformed += 1;
                    found.example(|| format!("table {table}: {}", e.0));
                }
            }
        }
        if by_table != sketches {
            compare_table(store, table, &mut pinned, &mut found, &mut reporter)?;
        }
    }
    Ok(found)
}

/// Begins to read all families while no batch is being written.
fn pin<S: Sketch>(store: &Shared<S>, tables: &[FamilyId]) -> Result<Pinned> {
    let _held = store.claims.hold(Claim::standstill());
    let engine = &store.engine;
    Ok(Pinned {
        documents: engine.scan(store.documents)?,
        holders: engine.scan(store.holders)?,
        tables: tables.iter().map(|&family| engine.scan(family)).collect::<Result<_>>()?,
        now: store.now(),
    })
}

/// The key and value of the holder that a document must have, unless it has expired.
fn holder_of<S: Sketch>(store: &Shared<S>, id: &[u8], value: &[u8], now: u64) -> Result<Option<Vec<u8>>> {
    let stored = store.decode(value)?;
    if store.is_expired(stored.time, now) {
        return Ok(None);
    }
    let time = store.settings.retention_millis.map(|_| stored.time);
    let mut holder = keys::encode_holder(stored.sketch.identity().as_ref(), id);
    holder.extend_from_slice(keys::encode_holder_value(time).as_ref());
    Ok(Some(holder))
}

/// Looks for the holder of each document, and for the document of each holder.
fn compare_documents<S: Sketch>(
    store: &Shared<S>,
    pinned: &mut Pinned,
    found: &mut Verification,
    reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>,
) -> Result<()> {
    reporter.phase("documents one by one")?;
    let value_bytes = keys::encode_holder_value(store.settings.retention_millis).as_ref().len();
    pinned.documents.restart();
    while let Some((id, value)) = pinned.documents.next()? {
        reporter.done(1)?;
        let Ok(Some(holder)) = holder_of(store, id, value, pinned.now) else { continue };
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
        let Ok(id) = keys::decode_holder(key, S::IDENTITY_BYTES) else { continue };
        if store.is_expired_holder(value, pinned.now).unwrap_or(true) {
            continue;
        }
        let document = pinned.documents.seek(id)?.filter(|(found, _)| *found == id);
        let expected = document.and_then(|(id, value)| holder_of(store, id, value, pinned.now).ok().flatten());
        if expected.is_none_or(|expected| expected != [key, value].concat()) {
            found.orphan_holders += 1;
            found.example(|| format!("holder {} has no document", shown(key)));
        }
    }
    Ok(())
}

/// Looks for the entry of each sketch in a table, and for a holder of each entry.
fn compare_table<S: Sketch>(
    store: &Shared<S>,
    table: usize,
    pinned: &mut Pinned,
    found: &mut Verification,
    reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>,
) -> Result<()> {
    reporter.phase("table entries one by one")?;
    let Pinned { holders, tables, .. } = pinned;
    let scan = &mut tables[table];
    holders.restart();
    let mut latest: Vec<u8> = Vec::new();
    while let Some((key, _)) = holders.next()? {
        reporter.done(1)?;
        let Some(identity) = key.get(..S::IDENTITY_BYTES).filter(|identity| *identity != latest) else { continue };
        latest.clear();
        latest.extend_from_slice(identity);
        let Some(entry) = store.index.key(table, identity) else { continue };
        if scan.seek(entry.as_ref())?.is_none_or(|(found, _)| found != entry.as_ref()) {
            found.missing_entries += 1;
            found.example(|| format!("table {table} lacks {}", shown(&latest)));
        }
    }
    scan.restart();
    while let Some((key, _)) = scan.next()? {
        reporter.done(1)?;
        let Ok(identity) = store.index.identity(table, key) else { continue };
        let identity = identity.as_ref();
        if holders.seek(identity)?.is_none_or(|(found, _)| !found.starts_with(identity)) {
            found.orphan_entries += 1;
            if !found.expires {
                found.example(|| format!("table {table} has {}, which no document has", shown(identity)));
            }
        }
    }
    Ok(())
}

/// What is wrong, without what to do about a whole store.
fn bare(error: &Error) -> String {
    match error {
        Error::Corrupt { what, .. } => what.clone(),
        error => error.to_string(),
    }
}

/// A key for people: as text where it is one.
fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.chars().any(char::is_control) => format!("{text:?}"),
        _ => key.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    }
}
