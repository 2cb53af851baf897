//! Who changes the generations of a store: one at a time.

use std::sync::{Mutex, PoisonError};

/// A change of the generations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Change {
    /// Nobody.
    #[default]
    None,
    /// A load, a seal or a repair that somebody asked for.
    Asked,
    /// A seal that the store does by itself.
    Background,
    /// One that failed where it was written down, so that nobody knows which generations the record names. What is
    /// in memory goes on; nothing is changed or dropped any more.
    Uncertain,
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct Changes {
    state: Mutex<(Change, bool)>,
}

impl Changes {
    /// Begins a change, unless one is under way.
    pub(super) fn begin(&self, change: Change) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 != Change::None {
            return false;
        }
        *state = (change, false);
        true
    }

    pub(super) fn current(&self) -> Change {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Whether documents are on their way into a generation, so that what is written now must be seen to be newer.
    pub(super) fn are_under_way(&self) -> bool {
        self.current() != Change::None
    }

    /// Asks what is done in the background to end.
    pub(super) fn give_way(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
    }

    /// Whether somebody waits for the end.
    pub(super) fn must_give_way(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Notes that nobody knows what is on the medium.
    pub(super) fn are_uncertain(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = Change::Uncertain;
    }

    pub(super) fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 != Change::Uncertain {
            *state = (Change::None, false);
        }
    }
}
