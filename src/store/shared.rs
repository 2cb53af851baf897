//! What the parts of a store work on, and the look-ups that they share.

use std::sync::{Arc, PoisonError, RwLock};

use smallvec::SmallVec;

use super::changes::Changes;
use super::claims::{Claim, Claims, Held};
use super::open::Opened;
use super::results::{Document, Similarity};
use super::sketch::{Index, Key, Sketch};
use super::view::{Found, Layer, View};
use super::walk::Lifetime;
use super::work::Work;
use crate::Result;
use crate::clock::{Clock, time_of};
use crate::engine::{Engine, Visited, is_expired, malformed};
use crate::format::IDENTITY_BYTES;
use crate::format::keys::{self, DocumentValue};
use crate::format::record::{Generations, StoreRecord};
use crate::format::settings::Settings;
use crate::hash::checksum;
use crate::spread::{Spread, thread_number};

/// A view that is in use.
pub(super) type ViewInUse<S> = Arc<Arc<View<S>>>;

/// What the clones of a handle share.
pub(super) struct Shared<S: Sketch> {
    pub(super) engine: Engine,
    pub(super) record: StoreRecord<S::Design>,
    pub(super) settings: Settings,
    /// For each of some threads, so that they do not count at one place how often it is in use.
    view: Spread<RwLock<ViewInUse<S>>>,
    pub(super) changes: Changes,
    /// What makes sketches out of texts, where the store has an analyser.
    pub(super) sketcher: Option<S::Sketcher>,
    pub(super) claims: Claims<S>,
    pub(super) clock: Arc<Clock>,
}

/// A document as it is on disk, whether it has expired or not.
pub(super) struct Stored<S: Sketch> {
    pub(super) sketch: S,
    pub(super) key: S::Key,
    /// When it was stored, in milliseconds since 1970.
    pub(super) time: u64,
    pub(super) payload: Vec<u8>,
}

/// What is stored under an id, and the claim that keeps it so.
pub(super) struct Claimed<'a, S: Sketch> {
    pub(super) held: Held<'a, S>,
    /// Taken after the claim was held.
    pub(super) view: ViewInUse<S>,
    pub(super) found: Found<S>,
    /// The time by which that is found.
    pub(super) now: u64,
}

impl<S: Sketch> Shared<S> {
    pub(super) fn from_opened(opened: Opened<S>) -> Result<Self> {
        let Opened { engine, record, settings, clock, sketcher, keeps_load } = opened;
        let view = Arc::new(View::open(&engine, &record, settings, record.generations, None)?);
        let view = Spread::new(|| RwLock::new(Arc::new(Arc::clone(&view))));
        let (changes, claims) = (Changes::default(), Claims::default());
        let shared = Self { engine, record, settings, view, changes, sketcher, claims, clock };
        if !shared.engine.is_read_only() {
            shared.clean(keeps_load)?;
        }
        shared.advance_expiry(0)?;
        Ok(shared)
    }

    /// Removes what belongs to no generation: it was being made, or dropped, when a process was killed.
    fn clean(&self, keeps_load: bool) -> Result<()> {
        let generations = self.record.generations;
        self.engine.drop_families(|family| !generations.have(family.generation(), family.is_sealed()))?;
        if keeps_load { Ok(()) } else { super::bulk::clean(self.engine.path()) }
    }

    /// The generations as they are now.
    pub(super) fn view(&self) -> ViewInUse<S> {
        Arc::clone(&self.view.of(thread_number()).read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other generations in the place of the present ones, on the medium and for all later calls. The caller
    /// has begun a change.
    pub(super) fn set_generations(&self, generations: Generations) -> Result<()> {
        let view = Arc::new(View::open(&self.engine, &self.record, self.settings, generations, Some(&*self.view()))?);
        let record = StoreRecord { generations, ..self.record.clone() };
        let standstill = self.claims.hold(Claim::standstill());
        self.engine.set_record(&record.encode()).inspect_err(|_| self.changes.are_uncertain())?;
        // All threads see it at once.
        let held: Vec<_> = self.view.iter().map(|view| view.write().unwrap_or_else(PoisonError::into_inner)).collect();
        // The old one goes when nobody waits for it.
        let replaced = held.into_iter().map(|mut in_use| std::mem::replace(&mut *in_use, Arc::new(Arc::clone(&view))));
        let old: Vec<_> = replaced.collect();
        drop(standstill);
        drop(old);
        Ok(())
    }

    /// The similarity that a distance tells of, where it tells of one.
    pub(super) fn similarity(&self, distance: u32) -> Option<Similarity> {
        S::similarity(&self.record.design, distance).map(Similarity::new)
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.now_millis()
    }

    /// Lets compactions drop what has expired by now, once that is so many milliseconds later than what they
    /// may drop already.
    pub(super) fn advance_expiry(&self, step_millis: u64) -> Result<()> {
        if self.settings.retention_millis.is_none() || self.engine.is_read_only() {
            return Ok(());
        }
        let now = self.now();
        let is_due = now > self.engine.expiry_limit().saturating_add(step_millis);
        if is_due { self.engine.set_expiry_limit(now) } else { Ok(()) }
    }

    /// Whether what has expired after a moment may have been dropped already, so that an answer as of it may lack some of
    /// it and have the rest.
    pub(super) fn is_outrun(&self, now: u64) -> bool {
        self.settings.retention_millis.is_some() && self.engine.expiry_limit() > now
    }

    pub(super) fn is_expired(&self, stored_at_millis: u64, now: u64) -> bool {
        self.settings.retention_millis.is_some_and(|retention| is_expired(stored_at_millis, retention, now))
    }

    /// How long documents live, seen from now.
    pub(super) fn lifetime(&self) -> Lifetime {
        Lifetime { retention_millis: self.settings.retention_millis, now: self.now() }
    }

    /// The document with an id, unless it has expired.
    pub(super) fn document(&self, id: &[u8]) -> Result<Option<Document<S>>> {
        let found = self.view().found(&self.engine, id, self.lifetime())?;
        Ok(found.into_document().map(|stored| stored.with_id(id)))
    }

    /// Holds a claim on a document, on its stored sketch and on a sketch with the distance within which it
    /// is looked for, and returns what is stored, and where.
    ///
    /// The stored sketch is not known before it is read. Where there is another one than was claimed, the
    /// claim is given up and made anew, so that claims stay in the order of their numbers.
    pub(super) fn claimed(&self, id: &[u8], sketch: Option<(&S, u32)>) -> Result<Claimed<'_, S>> {
        let mut old: SmallVec<[S; 2]> = SmallVec::new();
        loop {
            let mut claim = Claim::on([checksum(id)]);
            if let Some((sketch, distance)) = sketch {
                claim = claim.and(sketch, distance);
            }
            for old in &old {
                claim = claim.and(old, 0);
            }
            let held = self.claims.hold(claim);
            let view = self.view();
            let lifetime = self.lifetime();
            let found = view.found(&self.engine, id, lifetime)?;
            let is_claimed = |stored: &S| old.contains(stored) || sketch.is_some_and(|(sketch, _)| sketch == stored);
            if found.all().all(|stored| is_claimed(&stored.sketch)) {
                return Ok(Claimed { held, view, found, now: lifetime.now });
            }
            old = found.all().map(|stored| stored.sketch.clone()).collect();
        }
    }

    /// Whether the holder with a value has expired.
    pub(super) fn is_expired_holder(&self, value: &[u8], now: u64) -> Result<bool> {
        if self.settings.retention_millis.is_none() {
            return Ok(false);
        }
        let time = keys::decode_holder_time(value).map_err(|e| malformed(self.engine.path(), e))?;
        Ok(self.is_expired(time, now))
    }

    /// Returns the first ids, by their order and at most `most`, of the documents that have a sketch and have not
    /// expired. Where documents expire, each holder that is looked at is work.
    pub(super) fn holders(
        &self,
        view: &View<S>,
        key: S::Key,
        now: u64,
        work: &mut Work,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let lifetime = Lifetime { now, ..self.lifetime() };
        let mut ids: Vec<Vec<u8>> = Vec::new();
        let mut generations = self.row_holders(view, key, lifetime, work, most, &mut ids)?;
        let begun = ids.len();
        view.visit_sealed_holders(&self.engine, key, |id, time| {
            if !self.counts(view, Layer::Sealed, id, time, lifetime)? {
                return Ok(work.take());
            }
            ids.push(id.to_owned());
            Ok(ids.len() - begun < most)
        })?;
        generations += usize::from(ids.len() > begun);
        if generations > 1 {
            ids.sort_unstable();
            ids.truncate(most);
        }
        Ok(ids)
    }

    /// Whether a holder of a generation counts: it has not expired, and no newer generation has its id.
    pub(super) fn counts(
        &self,
        view: &View<S>,
        layer: Layer,
        id: &[u8],
        time: Option<u64>,
        lifetime: Lifetime,
    ) -> Result<bool> {
        let is_expired = time.is_some_and(|time| lifetime.is_over(time));
        Ok(!is_expired && !view.is_hidden(&self.engine, layer, id, lifetime)?)
    }

    /// Appends the first ids, at most so many of each generation with keys, of the documents that have a sketch and count,
    /// and returns how many generations have any.
    pub(super) fn row_holders(
        &self,
        view: &View<S>,
        sketch: S::Key,
        lifetime: Lifetime,
        work: &mut Work,
        most: usize,
        ids: &mut Vec<Vec<u8>>,
    ) -> Result<usize> {
        let engine = &self.engine;
        let mut generations = 0;
        let used = view.rows().filter(|(layer, rows)| rows.is_used() && view.index.may_have(*layer, sketch));
        for (layer, rows) in used {
            let begun = ids.len();
            let mut cursor = match work.left() {
                None => engine.cursor(&rows.holders)?,
                Some(left) => engine.bounded_cursor(&rows.holders, left.max(1)),
            };
            let visited = engine.visit(&mut cursor, &sketch.number().to_be_bytes(), |key, value| {
                let id = keys::decode_holder(key, IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?;
                if self.is_expired_holder(value, lifetime.now)? || view.is_hidden(engine, layer, id, lifetime)? {
                    return Ok(work.take());
                }
                ids.push(id.to_owned());
                Ok(ids.len() - begun < most)
            })?;
            if visited == Visited::GaveUp {
                work.cut();
            }
            generations += usize::from(ids.len() > begun);
        }
        Ok(generations)
    }

    /// The smallest id of a document that has a sketch and has not expired.
    pub(super) fn first_holder(
        &self,
        view: &View<S>,
        key: S::Key,
        now: u64,
        work: &mut Work,
    ) -> Result<Option<Vec<u8>>> {
        Ok(self.holders(view, key, now, work, 1)?.pop())
    }

    /// Whether the live generation has a holder of a sketch, expired or not: then the sketch is in its tables.
    pub(super) fn is_held(&self, view: &View<S>, key: S::Key) -> Result<bool> {
        if !view.index.may_have(Layer::Live, key) {
            return Ok(false);
        }
        let mut cursor = self.engine.cursor(&view.live.holders)?;
        let mut is_held = false;
        self.engine.visit(&mut cursor, &key.number().to_be_bytes(), |_, _| {
            is_held = true;
            Ok(false)
        })?;
        Ok(is_held)
    }

    /// Whether a document of the live generation other than the one with this id has a sketch, expired or not.
    ///
    /// Deleted holders lie in the way until they are compacted, so the two places where another one is
    /// likely are looked at first: behind the id, for deletions in the order of ids, and at the front.
    pub(super) fn has_other_holder(&self, view: &View<S>, key: S::Key, id: &[u8]) -> Result<bool> {
        let identity = key.number().to_be_bytes();
        let own = keys::encode_holder(&identity, id);
        let behind = [&own[..], &[0]].concat();
        for start in [&behind[..], &identity] {
            let mut others = self.engine.first_keys(&view.live.holders, start, &identity, 2)?;
            others.retain(|key| *key != own);
            if !others.is_empty() {
                return Ok(true);
            }
        }
        let mut cursor = self.engine.cursor(&view.live.holders)?;
        let mut found = false;
        self.engine.visit(&mut cursor, &identity, |key, _| {
            found = key != own;
            Ok(!found)
        })?;
        Ok(found)
    }
}

impl<S: Sketch> Stored<S> {
    pub(super) fn new(sketch: S, key: S::Key, value: &DocumentValue<'_>) -> Self {
        Self { sketch, key, time: value.stored_at_millis, payload: value.payload.to_owned() }
    }

    pub(super) fn with_id(self, id: &[u8]) -> Document<S> {
        let Self { sketch, time, payload, .. } = self;
        Document { id: id.to_owned(), sketch, stored_at: time_of(time), payload }
    }
}
