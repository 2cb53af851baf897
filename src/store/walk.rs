//! The documents of several generations, or of a load, as one list in the order of their ids.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bulk::Runs;
use super::claims::Claim;
use super::shared::Shared;
use super::sketch::Sketch;
use super::view::{Layer, View};
use crate::Result;
use crate::engine::{Engine, Scan, is_expired, malformed};
use crate::format::Decoded;
use crate::format::keys::{self, DocumentValue, is_tombstone};
use crate::format::pages::{DocumentPage, HolderPage};

/// A document, or where one was removed, as it is on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: Vec<u8>,
    pub(super) sketch: Vec<u8>,
    pub(super) time: u64,
    pub(super) payload: Vec<u8>,
    pub(super) is_tombstone: bool,
}

impl Entry {
    pub(super) fn set(&mut self, id: &[u8], value: &DocumentValue<'_>) {
        refill(&mut self.id, id);
        refill(&mut self.sketch, value.sketch);
        refill(&mut self.payload, value.payload);
        self.time = value.stored_at_millis;
        self.is_tombstone = false;
    }

    pub(super) fn value(&self) -> DocumentValue<'_> {
        DocumentValue { sketch: &self.sketch, stored_at_millis: self.time, payload: &self.payload }
    }
}

fn refill(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(bytes);
}

/// Documents in the order of their ids, each id once.
pub(super) enum Source {
    /// Those of a generation with a key for each.
    Rows(Scan),
    /// Those of a sealed generation.
    Pages(Scan, PageAhead),
    /// Those of a load.
    Runs(Runs),
}

/// The documents of a page, and which is the next of them.
#[derive(Default)]
pub(super) struct PageAhead {
    documents: Vec<Entry>,
    count: usize,
    at: usize,
}

impl Source {
    pub(super) fn pages(scan: Scan) -> Self {
        Self::Pages(scan, PageAhead::default())
    }

    /// Puts the next document into `entry`, or returns `false` at the end.
    fn next(&mut self, entry: &mut Entry, sketch_bytes: usize, path: &Path) -> Result<bool> {
        match self {
            Self::Rows(scan) => {
                let Some((id, value)) = scan.next()? else { return Ok(false) };
                if is_tombstone(value) {
                    refill(&mut entry.id, id);
                    entry.is_tombstone = true;
                } else {
                    entry.set(id, &keys::decode_document(value, sketch_bytes).map_err(|e| malformed(path, e))?);
                }
                Ok(true)
            }
            Self::Pages(scan, decoded) => {
                while decoded.at == decoded.count {
                    let Some((_, value)) = scan.next()? else { return Ok(false) };
                    let page = DocumentPage::parse(value, sketch_bytes).map_err(|e| malformed(path, e))?;
                    (decoded.count, decoded.at) = (0, 0);
                    page.visit(|id, value| {
                        if decoded.count == decoded.documents.len() {
                            decoded.documents.push(Entry::default());
                        }
                        decoded.documents[decoded.count].set(id, &value);
                        decoded.count += 1;
                    });
                }
                std::mem::swap(entry, &mut decoded.documents[decoded.at]);
                decoded.at += 1;
                Ok(true)
            }
            Self::Runs(runs) => runs.next(entry),
        }
    }
}

/// How long documents live, seen from one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime {
    pub(super) retention_millis: Option<u64>,
    pub(super) now: u64,
}

impl Lifetime {
    /// Whether the value of a document, or a tombstone, hides what older generations have under its id.
    pub(super) fn hides(self, value: &[u8], sketch_bytes: usize) -> Decoded<bool> {
        if is_tombstone(value) {
            return Ok(true);
        }
        Ok(!self.is_over(keys::decode_document(value, sketch_bytes)?.stored_at_millis))
    }

    /// Whether a document that was stored at a time has expired.
    pub(super) fn is_over(self, stored_at_millis: u64) -> bool {
        self.retention_millis.is_some_and(|retention| is_expired(stored_at_millis, retention, self.now))
    }
}

/// Several sources as one; of documents with one id that of the first source counts, unless it has expired.
pub(super) struct Walk {
    sources: Vec<Ahead>,
    /// The source of the latest entry.
    current: Option<usize>,
    latest: Vec<u8>,
    is_settled: bool,
    sketch_bytes: usize,
    lifetime: Lifetime,
    path: PathBuf,
}

/// A source and its next entry.
struct Ahead {
    source: Source,
    entry: Entry,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unread,
    Read,
    End,
}

impl Walk {
    pub(super) fn new(sources: Vec<Source>, sketch_bytes: usize, lifetime: Lifetime, path: &Path) -> Self {
        let ahead = |source| Ahead { source, entry: Entry::default(), state: State::Unread };
        let sources = sources.into_iter().map(ahead).collect();
        let (latest, path) = (Vec::new(), path.to_owned());
        Self { sources, current: None, latest, is_settled: false, sketch_bytes, lifetime, path }
    }

    /// The documents of a view, as they are now.
    pub(super) fn of<S: Sketch>(engine: &Engine, view: &View<S>, lifetime: Lifetime) -> Self {
        let rows = view.rows().map(|(_, rows)| Source::Rows(engine.scan(&rows.documents)));
        let pages = view.sealed.iter().map(|sealed| Source::pages(engine.scan(&sealed.documents)));
        Self::new(rows.chain(pages).collect(), S::BYTES, lifetime, engine.path())
    }

    /// Goes to the next entry of any source, those of one id from the first source to the last, and tells whether it
    /// is a document that counts. `None` at the end.
    fn step(&mut self) -> Result<Option<(usize, bool)>> {
        if let Some(current) = self.current.take() {
            self.sources[current].state = State::Unread;
        }
        for ahead in self.sources.iter_mut().filter(|ahead| ahead.state == State::Unread) {
            let is_read = ahead.source.next(&mut ahead.entry, self.sketch_bytes, &self.path)?;
            ahead.state = if is_read { State::Read } else { State::End };
        }
        let read = self.sources.iter().enumerate().filter(|(_, ahead)| ahead.state == State::Read);
        let Some((least, _)) = read.min_by(|a, b| a.1.entry.id.cmp(&b.1.entry.id)) else { return Ok(None) };
        self.current = Some(least);
        let entry = &self.sources[least].entry;
        // Before the first there is none, and no id is empty.
        if self.latest != entry.id {
            refill(&mut self.latest, &entry.id);
            self.is_settled = false;
        }
        let is_over = !entry.is_tombstone && self.lifetime.is_over(entry.time);
        let is_visible = !self.is_settled && !entry.is_tombstone && !is_over;
        // What has expired hides nothing: it may have been dropped already.
        self.is_settled |= !is_over;
        Ok(Some((least, is_visible)))
    }

    /// Returns the next document that counts.
    pub(super) fn next(&mut self) -> Result<Option<&Entry>> {
        loop {
            match self.step()? {
                None => return Ok(None),
                Some((_, false)) => {}
                Some((source, true)) => return Ok(Some(&self.sources[source].entry)),
            }
        }
    }
}

/// The holders of a view that count, in the order of their sketches and ids.
pub(super) struct Holders<S: Sketch> {
    /// Keeps what is read.
    _store: Arc<Shared<S>>,
    /// The documents of the generations with keys, the newest first, as they were when the holders were.
    newer: Vec<(Layer, Scan)>,
    lifetime: Lifetime,
    path: PathBuf,
    sources: Vec<(Layer, HolderSource)>,
}

/// The holders of one generation.
pub(super) struct HolderSource {
    scan: Scan,
    is_paged: bool,
    path: PathBuf,
    /// Those that were read and not taken, the next one last.
    ahead: Vec<Holder>,
}

/// A document that has a sketch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder {
    pub(super) identity: u64,
    pub(super) id: Vec<u8>,
    /// When it was stored, where documents expire.
    pub(super) time: Option<u64>,
}

impl HolderSource {
    pub(super) fn rows(scan: Scan, path: &Path) -> Self {
        Self { scan, is_paged: false, path: path.to_owned(), ahead: Vec::new() }
    }

    pub(super) fn pages(scan: Scan, path: &Path) -> Self {
        Self { scan, is_paged: true, path: path.to_owned(), ahead: Vec::new() }
    }

    fn peek(&mut self) -> Result<Option<&Holder>> {
        let corrupt = |e| malformed(&self.path, e);
        if self.ahead.is_empty()
            && let Some((key, value)) = self.scan.next()?
        {
            if self.is_paged {
                let page = HolderPage::parse(value).map_err(corrupt)?;
                page.visit_all(|identity, id, time| self.ahead.push(Holder { identity, id: id.to_owned(), time }));
                self.ahead.reverse();
            } else {
                let id = keys::decode_holder(key, 8).map_err(corrupt)?.to_owned();
                let identity = u64::from_be_bytes(key[..8].try_into().expect("eight bytes"));
                let time = (!value.is_empty()).then(|| keys::decode_holder_time(value)).transpose().map_err(corrupt)?;
                self.ahead.push(Holder { identity, id, time });
            }
        }
        Ok(self.ahead.last())
    }

    pub(super) fn next(&mut self) -> Result<Option<Holder>> {
        self.peek()?;
        Ok(self.ahead.pop())
    }
}

impl<S: Sketch> Holders<S> {
    pub(super) fn of(store: &Arc<Shared<S>>) -> Self {
        // All of one moment.
        let _held = store.claims.hold(Claim::standstill());
        let (view, lifetime, engine) = (store.view(), store.lifetime(), &store.engine);
        let path = engine.path();
        let newer = view.rows().map(|(layer, rows)| (layer, engine.scan(&rows.documents))).collect();
        let rows = view.rows().map(|(layer, rows)| (layer, HolderSource::rows(engine.scan(&rows.holders), path)));
        let pages = view.sealed.iter();
        let pages = pages.map(|sealed| (Layer::Sealed, HolderSource::pages(engine.scan(&sealed.holders), path)));
        let sources = rows.chain(pages).collect();
        Self { _store: Arc::clone(store), newer, lifetime, path: path.to_owned(), sources }
    }

    pub(super) fn next(&mut self) -> Result<Option<Holder>> {
        loop {
            let mut least: Option<(usize, &Holder)> = None;
            for (i, (_, source)) in self.sources.iter_mut().enumerate() {
                if let Some(holder) = source.peek()?
                    && least.is_none_or(|(_, other)| holder < other)
                {
                    least = Some((i, holder));
                }
            }
            let Some((i, _)) = least else { return Ok(None) };
            let (layer, source) = &mut self.sources[i];
            let holder = source.next()?.expect("it was just looked at");
            let is_over = holder.time.is_some_and(|time| self.lifetime.is_over(time));
            let layer = *layer;
            if !is_over && !self.is_hidden(layer, &holder.id)? {
                return Ok(Some(holder));
            }
        }
    }

    /// Whether a newer generation than a layer has a document that has not expired, or a tombstone, with an id.
    fn is_hidden(&mut self, layer: Layer, id: &[u8]) -> Result<bool> {
        for (_, documents) in self.newer.iter_mut().take_while(|(newer, _)| *newer != layer) {
            let found = documents.seek(id)?.filter(|(found, _)| *found == id);
            let hides = found.map(|(_, value)| self.lifetime.hides(value, S::BYTES)).transpose();
            if hides.map_err(|e| malformed(&self.path, e))? == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
