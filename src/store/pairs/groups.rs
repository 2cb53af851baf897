//! The documents that share a fingerprint, in one pass over all holders.

use crate::Result;
use crate::store::holders::{Holder, Holders};

/// Where the pass is.
#[derive(Default)]
pub(in crate::store) struct Groups {
    /// The first holder of the fingerprint at hand.
    first: Holder,
    has_first: bool,
    /// Whether it is known to count. It is looked up only where there is another one.
    is_counted: bool,
    next: Holder,
    pub(super) read: u64,
}

/// A step of the pass.
pub(in crate::store) enum Step<'a> {
    /// The first document of a fingerprint, and another one.
    Member(&'a Holder, &'a Holder),
    /// So many holders were read that the caller may want to look about.
    Pause,
    End,
}

/// The caller looks about after so many holders.
const PAUSE: u64 = 1 << 13;

impl Groups {
    pub(in crate::store) fn step(&mut self, holders: &mut Holders) -> Result<Step<'_>> {
        while holders.next(&mut self.next)? {
            self.read += 1;
            if !self.has_first || self.first.identity != self.next.identity {
                std::mem::swap(&mut self.first, &mut self.next);
                (self.has_first, self.is_counted) = (true, false);
            } else if !self.is_counted && !holders.counts(&self.first)? {
                std::mem::swap(&mut self.first, &mut self.next);
            } else {
                self.is_counted = true;
                if holders.counts(&self.next)? {
                    return Ok(Step::Member(&self.first, &self.next));
                }
            }
            if self.read.is_multiple_of(PAUSE) {
                return Ok(Step::Pause);
            }
        }
        Ok(Step::End)
    }

    /// Leaves out the rest of the fingerprint at hand.
    pub(super) fn skip(&mut self, holders: &mut Holders) -> Result<()> {
        self.has_first = false;
        match self.first.identity.checked_add(1) {
            Some(next) => holders.go_to(next, None),
            None => holders.go_to(u64::MAX, Some(&[0xff; crate::MAX_ID_BYTES])),
        }
    }
}
