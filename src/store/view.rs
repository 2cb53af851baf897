//! The generations that a store consists of.
//!
//! 1. The newest generation is *live*: documents are written to it, one key each. Below it may lie a *frozen* one,
//!    which was live and is being sealed, and a *sealed* one, in pages. Neither of them changes.
//! 2. Each generation is whole by itself: each of its documents has its holder in it, and the sketch of each
//!    holder is in each of its tables.
//! 3. Of several documents with one id the one in the newest generation counts. A document that is removed
//!    leaves a tombstone in the live generation if there is one below. So a holder counts unless a newer generation
//!    has a document or tombstone with its id. What has expired hides nothing, since compactions may have dropped
//!    it: the answer is the same before and after.
//! 4. A call works on one view from its first look to its last. Views change under a claim that keeps writers away
//!    where the set of documents changes, so a writer whose view was taken after it held its claim writes to the
//!    live generation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::open;
use super::shared::Stored;
use super::sketch::{Index, Key, Sketch};
use super::walk::Lifetime;
use crate::Result;
use crate::engine::{Engine, Handle, malformed};
use crate::format::families::Family;
use crate::format::keys::{DocumentValue, decode_document, is_tombstone};
use crate::format::pages::{DocumentPage, HolderPage};
use crate::format::record::{Generations, StoreRecord};
use crate::format::settings::Settings;
use crate::format::{IDENTITY_BYTES, Malformed};

/// The families of a store at one moment.
pub(super) struct View<S: Sketch> {
    pub(super) generations: Generations,
    pub(super) live: Rows,
    pub(super) frozen: Option<Rows>,
    pub(super) sealed: Option<Sealed>,
    pub(super) index: S::Index,
}

/// The documents and holders of a generation with one key for each.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) documents: Handle,
    pub(super) holders: Handle,
    /// Whether anything was ever written to the generation.
    pub(super) is_used: Arc<AtomicBool>,
}

/// The documents and holders of a sealed generation.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    pub(super) documents: Handle,
    pub(super) holders: Handle,
}

/// What was found under an id.
pub(super) struct Found<S: Sketch> {
    /// What the live generation has, and whether it has expired.
    live: Option<(Stored<S>, bool)>,
    /// What counts of older generations, where the live one does not hide it.
    below: Option<Stored<S>>,
}

impl<S: Sketch> Found<S> {
    /// The document that counts.
    pub(super) fn document(&self) -> Option<&Stored<S>> {
        self.live.as_ref().filter(|(_, is_over)| !is_over).map(|(stored, _)| stored).or(self.below.as_ref())
    }

    pub(super) fn into_document(self) -> Option<Stored<S>> {
        self.live.filter(|(_, is_over)| !is_over).map(|(stored, _)| stored).or(self.below)
    }

    /// What the live generation has, whether it has expired or not.
    pub(super) fn live(&self) -> Option<&Stored<S>> {
        self.live.as_ref().map(|(stored, _)| stored)
    }

    /// All that a change of the document concerns.
    pub(super) fn all(&self) -> impl Iterator<Item = &Stored<S>> {
        self.live().into_iter().chain(self.below.as_ref())
    }
}

/// Where a document was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Live,
    Frozen,
    Sealed,
}

impl Rows {
    fn open(engine: &Engine, settings: Settings, generation: u64) -> Result<Self> {
        let retention_millis = settings.retention_millis;
        let documents = engine.family(Family::Documents { generation })?;
        let identity_bytes = IDENTITY_BYTES;
        let holders = engine.family(Family::Holders { identity_bytes, retention_millis, generation })?;
        // A holder outlives its document where compactions drop them one by one.
        // What cannot be read is something too.
        let has_any = |family| !matches!(engine.scan(family).next(), Ok(None));
        let is_used = has_any(&documents) || has_any(&holders);
        Ok(Self { documents, holders, is_used: Arc::new(AtomicBool::new(is_used)) })
    }

    pub(super) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::SeqCst)
    }
}

impl<S: Sketch> View<S> {
    /// Finds the families of generations. `before` is the view that this one takes the place of.
    pub(super) fn open(
        engine: &Engine,
        record: &StoreRecord<S::Design>,
        settings: Settings,
        generations: Generations,
        before: Option<&Self>,
    ) -> Result<Self> {
        let rows = |generation: u64| {
            let known = before.and_then(|before| {
                let all = [Some(&before.live), before.frozen.as_ref()];
                all.into_iter().flatten().find(|rows| rows.documents.family() == Family::Documents { generation })
            });
            known.map_or_else(|| Rows::open(engine, settings, generation), |rows| Ok(rows.clone()))
        };
        let live = rows(generations.live)?;
        let frozen = generations.frozen.map(rows).transpose()?;
        let sealed = generations.sealed.map(|sealed| {
            let generation = sealed.number;
            Ok::<_, crate::Error>(Sealed {
                documents: engine.family(Family::DocumentPages { generation })?,
                holders: engine.family(Family::HolderPages { generation })?,
            })
        });
        let sealed = sealed.transpose()?;
        let used = [Some(&live), frozen.as_ref()].map(|rows| rows.map(|rows| Arc::clone(&rows.is_used)));
        let index = S::Index::open(engine, &record.design, generations, used, before.map(|before| &before.index))?;
        Ok(Self { generations, live, frozen, sealed, index })
    }

    /// Says that something is about to be written to the live generation: who finds it unused has begun to look before.
    pub(super) fn will_be_used(&self) {
        self.live.is_used.store(true, Ordering::SeqCst);
    }

    /// The generations with a key for each document, the newest first.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Layer, &Rows)> {
        [(Layer::Live, Some(&self.live)), (Layer::Frozen, self.frozen.as_ref())]
            .into_iter()
            .filter_map(|(layer, rows)| Some((layer, rows?)))
    }

    /// What is stored under an id.
    pub(super) fn found(&self, engine: &Engine, id: &[u8], lifetime: Lifetime) -> Result<Found<S>> {
        for _ in 0..LOOKS {
            if let Some(found) = self.look(engine, id, lifetime)? {
                return Ok(found);
            }
        }
        Err(lost_sketch(engine, id))
    }

    /// The same; `None` where the sketch of a document was not found, as when both were removed meanwhile.
    fn look(&self, engine: &Engine, id: &[u8], lifetime: Lifetime) -> Result<Option<Found<S>>> {
        let mut found = Found { live: None, below: None };
        for (layer, rows) in self.rows().filter(|(_, rows)| rows.is_used()) {
            let Some(value) = engine.get(&rows.documents, id)? else { continue };
            if is_tombstone(&value) {
                return Ok(Some(found));
            }
            let parts = decode_document(&value, IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?;
            let Some(stored) = self.stored(engine, &parts)? else {
                // Where compactions have dropped the holders of what has expired, its sketch may be gone before it.
                if lifetime.is_over(parts.stored_at_millis) {
                    continue;
                }
                return Ok(None);
            };
            let is_over = lifetime.is_over(stored.time);
            match layer {
                Layer::Live => found.live = Some((stored, is_over)),
                _ if !is_over => found.below = Some(stored),
                _ => {}
            }
            if !is_over {
                return Ok(Some(found));
            }
        }
        found.below = self.sealed_document(engine, id)?.filter(|stored| !lifetime.is_over(stored.time));
        Ok(Some(found))
    }

    /// Tells for each id whether a generation has a document or a tombstone with it.
    pub(super) fn contain<'a>(&self, engine: &Engine, ids: impl Iterator<Item = &'a [u8]>) -> Result<Vec<bool>> {
        let ids: Vec<&[u8]> = ids.collect();
        let mut found = vec![false; ids.len()];
        for (_, rows) in self.rows().filter(|(_, rows)| rows.is_used()) {
            for (found, is_here) in found.iter_mut().zip(engine.contain(&rows.documents, ids.iter().copied())?) {
                *found |= is_here;
            }
        }
        for (found, id) in found.iter_mut().zip(ids).filter(|(found, _)| !**found) {
            *found = self.sealed_document(engine, id)?.is_some();
        }
        Ok(found)
    }

    /// Whether there is a document with an id below the live generation, expired or not.
    pub(super) fn is_below(&self, engine: &Engine, id: &[u8]) -> Result<bool> {
        if let Some(frozen) = self.frozen.as_ref().filter(|frozen| frozen.is_used())
            && let Some(value) = engine.get(&frozen.documents, id)?
        {
            return Ok(!is_tombstone(&value));
        }
        Ok(self.sealed_document(engine, id)?.is_some())
    }

    /// Makes a document of the parts of its value.
    fn stored(&self, engine: &Engine, value: &DocumentValue<'_>) -> Result<Option<Stored<S>>> {
        let key = S::Key::of_number(open::number(value));
        Ok(self.index.sketch(engine, key)?.map(|sketch| Stored::new(sketch, key, value)))
    }

    /// The document with an id in the sealed generation.
    fn sealed_document(&self, engine: &Engine, id: &[u8]) -> Result<Option<Stored<S>>> {
        let Some(sealed) = &self.sealed else { return Ok(None) };
        let mut found = None;
        engine.visit_from(&mut engine.cursor(&sealed.documents)?, id, |_, value| {
            let page = DocumentPage::parse(value, IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?;
            if let Some(value) = page.find(id) {
                // What is sealed does not change.
                found = Some(self.stored(engine, &value)?.ok_or_else(|| lost_sketch(engine, id))?);
            }
            Ok(false)
        })?;
        Ok(found)
    }

    /// Visits the holders of a sketch in the sealed generation, in the order of their ids, whether they count or
    /// not, until one is refused.
    pub(super) fn visit_sealed_holders(
        &self,
        engine: &Engine,
        key: S::Key,
        mut visit: impl FnMut(&[u8], Option<u64>) -> Result<bool>,
    ) -> Result<()> {
        let Some(sealed) = &self.sealed else { return Ok(()) };
        let identity = key.number();
        engine.visit_from(&mut engine.cursor(&sealed.holders)?, &identity.to_be_bytes(), |key, value| {
            let page = HolderPage::parse(value).map_err(|e| malformed(engine.path(), e))?;
            // Its key is its last holder: where that has the sketch, so may the first of the next page.
            Ok(page.visit(identity, &mut visit)? && key.starts_with(&identity.to_be_bytes()))
        })?;
        Ok(())
    }

    /// Whether a newer generation than a layer has a document that has not expired, or a tombstone, with an id.
    pub(super) fn is_hidden(&self, engine: &Engine, layer: Layer, id: &[u8], lifetime: Lifetime) -> Result<bool> {
        let newer = self.rows().take_while(|(other, _)| *other != layer).filter(|(_, rows)| rows.is_used());
        for (_, rows) in newer {
            let hides = if lifetime.retention_millis.is_none() {
                engine.has(&rows.documents, id)?
            } else if let Some(value) = engine.get(&rows.documents, id)? {
                lifetime.hides(&value, IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?
            } else {
                false
            };
            if hides {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// So often a document is read again whose sketch was not found.
const LOOKS: u32 = 8;

/// The error of a document that names a sketch which is not stored.
pub(super) fn lost_sketch(engine: &Engine, id: &[u8]) -> crate::Error {
    let what = format!("the signature of the document {:?} is missing", String::from_utf8_lossy(id));
    malformed(engine.path(), Malformed(what))
}
