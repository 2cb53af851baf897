//! The documents of several generations, or of a load, as one list in the order of their ids.

use std::path::{Path, PathBuf};

use super::bulk::Runs;
use super::sketch::Sketch;
use super::view::View;
use crate::Result;
use crate::engine::{Engine, Scan, is_expired, malformed};
use crate::format::Decoded;
use crate::format::IDENTITY_BYTES;
use crate::format::keys::{self, DocumentValue, is_tombstone};
use crate::format::pages::DocumentPage;

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
        Self::new(rows.chain(pages).collect(), IDENTITY_BYTES, lifetime, engine.path())
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
