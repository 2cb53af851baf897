//! Every document of one fingerprint with every one of another, or with the others of its own.
//!
//! A fingerprint may have a million documents, so some of the ones are held, and some of the others, and all pairs of
//! these are told before the next come.

use super::options::Pair;
use crate::Result;
use crate::store::holders::{Holder, Holders};

/// So many ids of a fingerprint are held at once.
pub(super) const HELD: usize = if cfg!(test) { 3 } else { 1 << 12 };

/// Some ids of a fingerprint.
#[derive(Clone, Debug)]
pub(super) struct Part {
    fingerprint: u64,
    ids: Vec<Vec<u8>>,
    /// Whether more come after them.
    is_more: bool,
}

impl Part {
    pub(super) fn new<'a>(fingerprint: u64, ids: impl Iterator<Item = &'a [u8]>, is_more: bool) -> Self {
        Self { fingerprint, ids: ids.map(<[u8]>::to_vec).collect(), is_more }
    }

    /// Reads the first ids, or those after one.
    pub(super) fn read(holders: &mut Holders, fingerprint: u64, after: Option<&[u8]>) -> Result<Self> {
        let mut part = Self { fingerprint, ids: Vec::new(), is_more: false };
        holders.visit_ids(fingerprint, after, &mut Holder::default(), |id| {
            part.is_more = part.ids.len() == HELD;
            if !part.is_more {
                part.ids.push(id.to_owned());
            }
            !part.is_more
        })?;
        Ok(part)
    }

    fn next(&self, holders: &mut Holders) -> Result<Self> {
        Self::read(holders, self.fingerprint, self.ids.last().map(Vec::as_slice))
    }
}

/// The pairs of documents of two fingerprints, or of one.
pub(super) struct Crowd {
    a: Part,
    b: Part,
    i: usize,
    j: usize,
    /// Whether they are of one fingerprint, and whether `b` is `a`.
    is_one: bool,
    is_same: bool,
    distance: u32,
}

impl Crowd {
    pub(super) fn of_two(a: Part, b: Part) -> Self {
        let distance = (a.fingerprint ^ b.fingerprint).count_ones();
        Self { a, b, i: 0, j: 0, is_one: false, is_same: false, distance }
    }

    pub(super) fn of_one(a: Part) -> Self {
        Self { b: a.clone(), a, i: 0, j: 1, is_one: true, is_same: true, distance: 0 }
    }

    /// The next pair. The second fingerprint is of `other`, if that is given.
    pub(super) fn next(&mut self, holders: &mut Holders, mut other: Option<&mut Holders>) -> Result<Option<Pair>> {
        loop {
            if let (Some(a), Some(b)) = (self.a.ids.get(self.i), self.b.ids.get(self.j)) {
                let (a, b) = if other.is_none() && a > b { (b, a) } else { (a, b) };
                self.j += 1;
                return Ok(Some(Pair { a: a.clone(), b: b.clone(), distance: self.distance }));
            }
            if self.i + 1 < self.a.ids.len() && !self.b.ids.is_empty() {
                self.i += 1;
                self.j = if self.is_same { self.i + 1 } else { 0 };
                continue;
            }
            let of_b = other.as_deref_mut().unwrap_or(holders);
            if self.b.is_more {
                self.b = self.b.next(of_b)?;
                self.is_same = false;
            } else if self.a.is_more {
                let first = if self.is_one { None } else { Some(Part::read(of_b, self.b.fingerprint, None)?) };
                self.a = self.a.next(holders)?;
                self.is_same = self.is_one;
                self.b = first.unwrap_or_else(|| self.a.clone());
            } else {
                return Ok(None);
            }
            (self.i, self.j) = (0, usize::from(self.is_same));
        }
    }
}
