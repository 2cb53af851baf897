//! The documents of many sketches, looked up in the order in which they are kept.

use std::sync::Arc;

use crate::Result;
use crate::engine::{Cursor, Engine, Entries, Handle, malformed};
use crate::format::pages::HolderPage;
use crate::isa::prefetch;
use crate::store::shared::Shared;
use crate::store::sketch::{Key, Sketch};
use crate::store::view::{Layer, View};
use crate::store::walk::Lifetime;
use crate::store::work::{Limits, Work};

/// The processor fetches what is needed for a sketch so many others before.
const AHEAD: usize = 4;

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

#[cfg(test)]
impl<'a> FromIterator<&'a [&'a str]> for Ids {
    fn from_iter<I: IntoIterator<Item = &'a [&'a str]>>(sketches: I) -> Self {
        let mut ids = Self::default();
        for of_sketch in sketches {
            for id in of_sketch {
                ids.push(id.as_bytes());
            }
            ids.counts.push(ids.ends.len());
        }
        ids
    }
}

/// Looks up the documents of sketches, which come in the order of their identities, as they are at a moment.
pub(super) fn holders<S: Sketch>(store: &Shared<S>, view: &View<S>, sketches: &[S::Key], now: u64) -> Result<Ids> {
    let engine = &store.engine;
    let lifetime = Lifetime { now, ..store.lifetime() };
    let mut pages = view.sealed.as_ref().map(|sealed| Pages::of(engine, &sealed.holders)).transpose()?;
    let (mut ids, mut several) = (Ids::default(), Vec::new());
    ids.counts.reserve(sketches.len());
    for (at, &sketch) in sketches.iter().enumerate() {
        if let Some(pages) = &mut pages {
            pages.fetch(
                sketches[at..].get(AHEAD).map(|key| key.number()),
                sketches[at..].get(2 * AHEAD).map(|key| key.number()),
            );
        }
        let work = &mut Work::new(Limits::new());
        let generations = store.row_holders(view, sketch, lifetime, work, usize::MAX, &mut several)?;
        if let Some(pages) = &mut pages {
            pages.visit(engine, sketch.number(), |id, time| {
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

/// The pages of sealed holders, of which those with later identities are read later.
enum Pages<'a> {
    /// All are in memory.
    Kept {
        entries: Arc<Entries>,
        at: usize,
        ahead: usize,
    },
    Files(Cursor<'a>),
}

impl<'a> Pages<'a> {
    fn of(engine: &'a Engine, holders: &'a Handle) -> Result<Self> {
        Ok(match engine.kept(holders) {
            Some(entries) => Self::Kept { entries, at: 0, ahead: 0 },
            None => Self::Files(engine.cursor(holders)?),
        })
    }

    /// Has the processor fetch what is needed for an identity that comes soon, and where that for a later one lies.
    fn fetch(&mut self, soon: Option<u64>, later: Option<u64>) {
        let Self::Kept { entries, at, ahead } = self else { return };
        if let Some(later) = later {
            *ahead = from(entries.heads(), *ahead, later);
            prefetch(entries.value(*ahead).unwrap_or_default(), 0);
        }
        if let Some(soon) = soon {
            let at = from(entries.heads(), *at, soon);
            if let (Some(page), Some(&last)) = (entries.value(at), entries.heads().get(at)) {
                HolderPage::fetch(page, soon, last);
            }
        }
    }

    /// Visits the sealed holders of an identity, which is not before the one that was visited last.
    fn visit(
        &mut self,
        engine: &Engine,
        identity: u64,
        mut visit: impl FnMut(&[u8], Option<u64>) -> Result<()>,
    ) -> Result<()> {
        let mut visit = |page: &[u8]| {
            let page = HolderPage::parse(page).map_err(|e| malformed(engine.path(), e))?;
            page.visit(identity, |id, time| visit(id, time).map(|()| true)).map(|_| ())
        };
        match self {
            Self::Kept { entries, at, .. } => {
                *at = from(entries.heads(), *at, identity);
                while let Some(page) = entries.value(*at) {
                    visit(page)?;
                    // Where the last one has the sketch, so may the first of the next page.
                    if entries.heads()[*at] != identity {
                        break;
                    }
                    *at += 1;
                }
            }
            Self::Files(cursor) => {
                let key = identity.to_be_bytes();
                // A page has the key of its last holder.
                let is_before = |entry: Option<(&[u8], &[u8])>| entry.is_none_or(|(last, _)| last < &key[..]);
                if is_before(cursor.entry()) && is_before(engine.step(cursor)?) {
                    engine.seek(cursor, &key)?;
                }
                while let Some((last, page)) = cursor.entry() {
                    visit(page)?;
                    // As above.
                    if !last.starts_with(&key) {
                        break;
                    }
                    engine.step(cursor)?;
                }
            }
        }
        Ok(())
    }
}

/// The first place from one on whose number is not less than another one, which is rarely far away.
fn from(numbers: &[u64], mut at: usize, number: u64) -> usize {
    let mut step = 1;
    while numbers.get(at + step).is_some_and(|&other| other < number) {
        at += step;
        step *= 2;
    }
    let end = (at + step + 1).min(numbers.len());
    let at = at.min(end);
    at + numbers[at..end].partition_point(|&other| other < number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_from_any_other() {
        let numbers = [0, 3, 3, 3, 7, 8, 9, 20, 21, 22, 40, u64::MAX, u64::MAX];
        for number in [0, 1, 3, 4, 8, 20, 21, 23, 41, u64::MAX] {
            let expected = numbers.partition_point(|&other| other < number);
            for at in 0..=expected {
                assert_eq!(from(&numbers, at, number), expected, "{number} from {at}");
            }
        }
        assert_eq!((from(&[], 0, 5), from(&numbers, numbers.len(), u64::MAX)), (0, numbers.len()));
    }
}
