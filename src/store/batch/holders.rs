//! The documents of many sketches, looked up in the order in which they are kept.

use crate::Result;
use crate::engine::{Cursor, Engine, malformed};
use crate::format::pages::HolderPage;
use crate::store::shared::Shared;
use crate::store::sketch::{Key, Sketch};
use crate::store::view::{Layer, View};
use crate::store::walk::Lifetime;
use crate::store::work::{Limits, Work};

/// The ids of the documents of some sketches.
#[derive(Default)]
pub(super) struct Ids {
    bytes: Vec<u8>,
    /// Where each id ends.
    ends: Vec<usize>,
    /// How many ids there are up to each sketch, itself included.
    counts: Vec<usize>,
}

impl Ids {
    /// The ids of the documents that have one of the sketches.
    pub(super) fn of(&self, sketch: usize) -> impl Iterator<Item = &[u8]> {
        let before = |at: usize, of: &[usize]| if at == 0 { 0 } else { of[at - 1] };
        let ids = before(sketch, &self.counts)..self.counts[sketch];
        ids.map(move |id| &self.bytes[before(id, &self.ends)..self.ends[id]])
    }

    fn push(&mut self, id: &[u8]) {
        self.bytes.extend_from_slice(id);
        self.ends.push(self.bytes.len());
    }
}

/// Looks up the documents of sketches, which come in the order of their identities, as they are at a moment.
pub(super) fn holders<S: Sketch>(store: &Shared<S>, view: &View<S>, sketches: &[S::Key], now: u64) -> Result<Ids> {
    let engine = &store.engine;
    let lifetime = Lifetime { now, ..store.lifetime() };
    let mut pages = view.sealed.as_ref().map(|sealed| engine.cursor(&sealed.holders)).transpose()?;
    let (mut ids, mut several) = (Ids::default(), Vec::new());
    for &sketch in sketches {
        let work = &mut Work::new(Limits::new());
        let generations = store.row_holders(view, sketch, lifetime, work, usize::MAX, &mut several)?;
        if let Some(pages) = &mut pages {
            visit(engine, pages, sketch.number(), |id, time| {
                if store.counts(view, Layer::Sealed, id, time, lifetime)? {
                    if generations > 0 { several.push(id.to_owned()) } else { ids.push(id) }
                }
                Ok(())
            })?;
        }
        several.sort_unstable();
        several.drain(..).for_each(|id| ids.push(&id));
        ids.counts.push(ids.ends.len());
    }
    Ok(ids)
}

/// Visits the sealed holders of an identity, which is not before the one that was visited last.
fn visit(
    engine: &Engine,
    pages: &mut Cursor<'_>,
    identity: u64,
    mut visit: impl FnMut(&[u8], Option<u64>) -> Result<()>,
) -> Result<()> {
    let key = identity.to_be_bytes();
    // A page has the key of its last holder.
    let is_before = |entry: Option<(&[u8], &[u8])>| entry.is_none_or(|(last, _)| last < &key[..]);
    if is_before(pages.entry()) && is_before(engine.step(pages)?) {
        engine.seek(pages, &key)?;
    }
    while let Some((last, page)) = pages.entry() {
        let page = HolderPage::parse(page).map_err(|e| malformed(engine.path(), e))?;
        page.visit(identity, |id, time| visit(id, time).map(|()| true))?;
        // Where the last one has the sketch, so may the first of the next page.
        if !last.starts_with(&key) {
            break;
        }
        engine.step(pages)?;
    }
    Ok(())
}
