//! The documents of fingerprints, read from end to end or looked up in ascending order, as they were at one moment.

use std::path::{Path, PathBuf};

use super::claims::Claim;
use super::shared::Shared;
use super::sketch::Sketch;
use super::view::{Layer, View};
use super::walk::Lifetime;
use crate::Result;
use crate::engine::{Engine, Scan, malformed};
use crate::format::IDENTITY_BYTES;
use crate::format::keys;
use crate::format::pages::HolderPage;

/// So many rows are read at once where one after the other is wanted.
const MOST_ROWS: usize = 512;
/// So many are where one was looked up.
const FEWEST_ROWS: usize = 8;

/// The holders of all generations.
pub(super) struct Holders {
    sources: Vec<Source>,
    /// The documents of the generations with keys, the newest first.
    newer: Vec<(Layer, Scan)>,
    lifetime: Lifetime,
    path: PathBuf,
}

/// A holder that was read, whether it counts or not.
#[derive(Clone, Debug, Default)]
pub(super) struct Holder {
    pub(super) identity: u64,
    pub(super) id: Vec<u8>,
    time: Option<u64>,
    source: usize,
}

impl Holders {
    /// Begins to read a store as it is now.
    pub(super) fn of<S: Sketch>(store: &Shared<S>) -> Self {
        let _held = store.claims.hold(Claim::standstill());
        Self::new(&store.engine, &store.view(), store.lifetime())
    }

    /// Begins to read. The caller keeps writers away until all that belongs together was begun.
    pub(super) fn new<S: Sketch>(engine: &Engine, view: &View<S>, lifetime: Lifetime) -> Self {
        let path = engine.path();
        let used = || view.rows().filter(|(_, rows)| rows.is_used());
        let rows = used().map(|(layer, rows)| Source::new(layer, engine.scan(&rows.holders), false, path));
        let pages =
            view.sealed.iter().map(|sealed| Source::new(Layer::Sealed, engine.scan(&sealed.holders), true, path));
        let sources = rows.chain(pages).collect();
        let newer = used().map(|(layer, rows)| (layer, engine.scan(&rows.documents))).collect();
        Self { sources, newer, lifetime, path: path.to_owned() }
    }

    /// Goes to the first holder of a fingerprint, or of a later one; with an id, to the first one behind it.
    pub(super) fn go_to(&mut self, identity: u64, after: Option<&[u8]>) -> Result<()> {
        self.sources.iter_mut().try_for_each(|source| source.go_to(identity, after))
    }

    /// Reads the next holder, in the order of the fingerprints and then the ids.
    pub(super) fn next(&mut self, holder: &mut Holder) -> Result<bool> {
        for source in &mut self.sources {
            source.fill()?;
        }
        let next = self.sources.iter().enumerate().filter_map(|(i, source)| Some((source.ahead()?, i))).min();
        let Some(((identity, id), source)) = next else { return Ok(false) };
        holder.identity = identity;
        holder.id.clear();
        holder.id.extend_from_slice(id);
        holder.time = self.sources[source].time();
        holder.source = source;
        self.sources[source].at += 1;
        Ok(true)
    }

    /// Reads the next holder that counts.
    pub(super) fn next_that_counts(&mut self, holder: &mut Holder) -> Result<bool> {
        while self.next(holder)? {
            if self.counts(holder)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a holder counts: it has not expired, and no newer generation has a document with its id.
    pub(super) fn counts(&mut self, holder: &Holder) -> Result<bool> {
        if holder.time.is_some_and(|time| self.lifetime.is_over(time)) {
            return Ok(false);
        }
        let layer = self.sources[holder.source].layer;
        for (_, documents) in self.newer.iter_mut().take_while(|(newer, _)| *newer != layer) {
            let found = documents.seek(&holder.id)?.filter(|(id, _)| *id == holder.id);
            let hides = found.map(|(_, value)| self.lifetime.hides(value, IDENTITY_BYTES)).transpose();
            if hides.map_err(|e| malformed(&self.path, e))? == Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Visits the ids of the documents that have a fingerprint, in order and behind one of them if it is given,
    /// until one is refused.
    pub(super) fn visit_ids(
        &mut self,
        identity: u64,
        after: Option<&[u8]>,
        holder: &mut Holder,
        mut visit: impl FnMut(&[u8]) -> bool,
    ) -> Result<()> {
        self.go_to(identity, after)?;
        while self.next(holder)? && holder.identity == identity {
            if self.counts(holder)? && !visit(&holder.id) {
                break;
            }
        }
        Ok(())
    }
}

/// The holders of one generation, read some at a time.
struct Source {
    layer: Layer,
    scan: Scan,
    is_paged: bool,
    path: PathBuf,
    identities: Vec<u64>,
    ids: Vec<u8>,
    /// Where each id ends.
    ends: Vec<usize>,
    /// Of each, or of none.
    times: Vec<u64>,
    at: usize,
    /// All holders of this fingerprint and of later ones, up to the last that was read, are among those.
    whole_from: Option<u64>,
    rows: usize,
    is_at_end: bool,
}

impl Source {
    fn new(layer: Layer, scan: Scan, is_paged: bool, path: &Path) -> Self {
        Self {
            layer,
            scan,
            is_paged,
            path: path.to_owned(),
            identities: Vec::new(),
            ids: Vec::new(),
            ends: Vec::new(),
            times: Vec::new(),
            at: 0,
            whole_from: Some(0),
            rows: MOST_ROWS,
            is_at_end: false,
        }
    }

    fn ahead(&self) -> Option<(u64, &[u8])> {
        let identity = *self.identities.get(self.at)?;
        let start = if self.at == 0 { 0 } else { self.ends[self.at - 1] };
        Some((identity, &self.ids[start..self.ends[self.at]]))
    }

    fn time(&self) -> Option<u64> {
        self.times.get(self.at).copied()
    }

    /// Reads on where all were taken.
    fn fill(&mut self) -> Result<()> {
        if self.at < self.identities.len() || self.is_at_end {
            return Ok(());
        }
        self.whole_from = self.identities.last().map_or(self.whole_from, |last| last.checked_add(1));
        self.rows = (self.rows * 2).min(MOST_ROWS);
        self.read(None)
    }

    /// Reads a page, or some rows, from a key on or else the next ones.
    fn read(&mut self, from: Option<&[u8]>) -> Result<()> {
        self.clear();
        let Self { scan, is_paged, path, identities, ids, ends, times, rows, .. } = self;
        let mut entry = match from {
            Some(key) => scan.seek(key)?,
            None => scan.next()?,
        };
        self.is_at_end = entry.is_none();
        if *is_paged {
            let Some((_, value)) = entry else { return Ok(()) };
            let page = HolderPage::parse(value).map_err(|e| malformed(path, e))?;
            page.visit_all(|identity, id, time| {
                identities.push(identity);
                ids.extend_from_slice(id);
                ends.push(ids.len());
                times.extend(time);
            });
            return Ok(());
        }
        while let Some((key, value)) = entry {
            let id = keys::decode_holder(key, IDENTITY_BYTES).map_err(|e| malformed(path, e))?;
            identities.push(u64::from_be_bytes(*key.first_chunk().expect("an id comes after eight bytes")));
            ids.extend_from_slice(id);
            ends.push(ids.len());
            if !value.is_empty() {
                times.push(keys::decode_holder_time(value).map_err(|e| malformed(path, e))?);
            }
            // What follows is not read yet: the next call of `next` returns it.
            entry = if identities.len() < *rows { scan.next()? } else { None };
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.identities.clear();
        self.ids.clear();
        self.ends.clear();
        self.times.clear();
        self.at = 0;
    }

    fn go_to(&mut self, identity: u64, after: Option<&[u8]>) -> Result<()> {
        if after.is_none() {
            if self.has(identity) {
                return Ok(());
            }
            // Where many are looked up, the next page has it, and reading on is cheaper than a seek.
            let is_behind = self.identities.last().is_some_and(|last| *last < identity);
            if is_behind && self.is_paged {
                self.at = self.identities.len();
                self.fill()?;
                if self.has(identity) {
                    return Ok(());
                }
            }
        }
        let mut key = identity.to_be_bytes().to_vec();
        if let Some(id) = after {
            key.extend_from_slice(id);
            key.push(0);
        }
        self.rows = FEWEST_ROWS;
        self.whole_from = if after.is_some() { identity.checked_add(1) } else { Some(identity) };
        self.read(Some(&key))?;
        while self.ahead().is_some_and(|ahead| ahead < (identity, after.map_or(&[][..], |_| &key[8..]))) {
            self.at += 1;
        }
        Ok(())
    }

    /// Goes to the first holder of a fingerprint, or of a later one, if it is among those that were read.
    fn has(&mut self, identity: u64) -> bool {
        let is_whole = self.whole_from.is_some_and(|from| from <= identity);
        let is_read = self.is_at_end || self.identities.last().is_some_and(|last| identity <= *last);
        if !is_whole || !is_read {
            return false;
        }
        self.at = self.identities.partition_point(|&other| other < identity);
        true
    }
}
