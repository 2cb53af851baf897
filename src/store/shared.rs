//! What the parts of a store work on, and the look-ups that they share.

use std::sync::Arc;

use super::claims::{Claim, Claims, Held};
use super::open::{self, Opened};
use super::results::Document;
use super::sketch::{Index, Sketch};
use super::work::Work;
use crate::clock::{Clock, time_of};
use crate::engine::{Engine, FamilyId, Visited, is_expired, malformed};
use crate::format::families::Family;
use crate::format::record::StoreRecord;
use crate::format::settings::Settings;
use crate::format::{Malformed, keys};
use crate::hash::checksum;
use crate::{Error, Result, Simhash};

/// What the clones of a handle share.
pub(super) struct Shared<S: Sketch> {
    pub(super) engine: Engine,
    pub(super) record: StoreRecord,
    pub(super) settings: Settings,
    pub(super) documents: FamilyId,
    pub(super) holders: FamilyId,
    pub(super) index: S::Index,
    pub(super) simhash: Option<Simhash>,
    pub(super) claims: Claims<S>,
    pub(super) clock: Arc<Clock>,
}

/// A document as it is on disk, whether it has expired or not.
pub(super) struct Stored<S> {
    pub(super) sketch: S,
    /// When it was stored, in milliseconds since 1970.
    pub(super) time: u64,
    pub(super) payload: Vec<u8>,
}

impl<S: Sketch> Shared<S> {
    pub(super) fn from_opened(opened: Opened) -> Result<Self> {
        let Opened { engine, record, settings, clock, simhash } = opened;
        let documents = engine.family(Family::Documents)?;
        let retention_millis = settings.retention_millis;
        let holders = engine.family(Family::Holders { identity_bytes: S::IDENTITY_BYTES, retention_millis })?;
        let index = S::Index::open(&engine, &record)?;
        let claims = Claims::default();
        let shared = Self { engine, record, settings, documents, holders, index, simhash, claims, clock };
        shared.advance_expiry(0)?;
        Ok(shared)
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

    pub(super) fn is_expired(&self, stored_at_millis: u64, now: u64) -> bool {
        self.settings.retention_millis.is_some_and(|retention| is_expired(stored_at_millis, retention, now))
    }

    /// The document with an id, unless it has expired.
    pub(super) fn document(&self, id: &[u8]) -> Result<Option<Document<S>>> {
        let live = self.stored(id)?.filter(|stored| !self.is_expired(stored.time, self.now()));
        Ok(live.map(|stored| stored.with_id(id)))
    }

    /// What is on disk under an id.
    pub(super) fn stored(&self, id: &[u8]) -> Result<Option<Stored<S>>> {
        self.engine.get(self.documents, id)?.map(|value| self.decode(&value)).transpose()
    }

    pub(super) fn decode(&self, value: &[u8]) -> Result<Stored<S>> {
        open::decode(self.engine.path(), value)
    }

    /// Holds a claim on a document, on its stored sketch and on a sketch with the distance within which it
    /// is looked for, and returns what is stored.
    ///
    /// The stored sketch is not known before it is read. Where there is another one than was claimed, the
    /// claim is given up and made anew, so that claims stay in the order of their numbers.
    pub(super) fn claimed(&self, id: &[u8], sketch: Option<(&S, u32)>) -> Result<(Held<'_, S>, Option<Stored<S>>)> {
        let mut old: Option<S> = None;
        loop {
            let mut claim = Claim::on([checksum(id)]);
            if let Some((sketch, distance)) = sketch {
                claim = claim.and(sketch, distance);
            }
            if let Some(old) = &old {
                claim = claim.and(old, 0);
            }
            let held = self.claims.hold(claim);
            let stored = self.stored(id)?;
            match &stored {
                Some(stored) if old.as_ref() != Some(&stored.sketch) && sketch.map(|s| s.0) != Some(&stored.sketch) => {
                    old = Some(stored.sketch.clone());
                }
                _ => return Ok((held, stored)),
            }
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

    /// Visits the ids of the documents that have a sketch and have not expired, in their order, until one is
    /// refused. Where documents expire, each holder that is looked at is work.
    pub(super) fn visit_holders(
        &self,
        sketch: &S,
        now: u64,
        work: &mut Work,
        mut visit: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let corrupt = |e: Malformed| -> Error { malformed(self.engine.path(), e) };
        let mut cursor = match work.left() {
            None => self.engine.cursor(self.holders)?,
            Some(left) => self.engine.bounded_cursor(self.holders, left.max(1))?,
        };
        let visited = self.engine.visit(&mut cursor, sketch.identity().as_ref(), |key, value| {
            let id = keys::decode_holder(key, S::IDENTITY_BYTES).map_err(corrupt)?;
            if self.is_expired_holder(value, now)? {
                return Ok(work.take());
            }
            visit(id)
        })?;
        if visited == Visited::GaveUp {
            work.cut();
        }
        Ok(())
    }

    /// The smallest id of a document that has a sketch and has not expired.
    pub(super) fn first_holder(&self, sketch: &S, now: u64, work: &mut Work) -> Result<Option<Vec<u8>>> {
        let mut first = None;
        self.visit_holders(sketch, now, work, |id| {
            first = Some(id.to_owned());
            Ok(false)
        })?;
        Ok(first)
    }

    /// Whether there is a holder of a sketch, expired or not: then the sketch is in the tables.
    pub(super) fn is_held(&self, sketch: &S) -> Result<bool> {
        let mut cursor = self.engine.cursor(self.holders)?;
        let mut is_held = false;
        self.engine.visit(&mut cursor, sketch.identity().as_ref(), |_, _| {
            is_held = true;
            Ok(false)
        })?;
        Ok(is_held)
    }

    /// Whether a document other than the one with this id has a sketch, expired or not.
    ///
    /// Deleted holders lie in the way until they are compacted, so the two places where another one is
    /// likely are looked at first: behind the id, for deletions in the order of ids, and at the front.
    pub(super) fn has_other_holder(&self, sketch: &S, id: &[u8]) -> Result<bool> {
        let identity = sketch.identity();
        let own = keys::encode_holder(identity.as_ref(), id);
        let behind = [&own[..], &[0]].concat();
        for start in [&behind[..], identity.as_ref()] {
            let mut others = self.engine.first_keys(self.holders, start, identity.as_ref(), 2)?;
            others.retain(|key| *key != own);
            if !others.is_empty() {
                return Ok(true);
            }
        }
        let mut cursor = self.engine.cursor(self.holders)?;
        let mut found = false;
        self.engine.visit(&mut cursor, identity.as_ref(), |key, _| {
            found = key != own;
            Ok(!found)
        })?;
        Ok(found)
    }
}

impl<S: Sketch> Stored<S> {
    pub(super) fn with_id(self, id: &[u8]) -> Document<S> {
        let Self { sketch, time, payload } = self;
        Document { id: id.to_owned(), sketch, stored_at: time_of(time), payload }
    }
}
