//! Room that probes work in, one for each thread, so that none has to ask for memory.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use crate::page;

/// Room for one probe.
#[derive(Debug)]
pub(super) struct Room {
    /// The values under the prefix that have keys of their own.
    pub(super) own: Vec<u64>,
    /// The values of a page, and those of them that are near.
    pub(super) values: page::Values,
    pub(super) found: Vec<u64>,
    /// The values of a stretch.
    pub(super) stretch: Vec<u64>,
}

thread_local! {
    static ROOM: Cell<Option<Box<Room>>> = const { Cell::new(None) };
}

/// The room of this thread, which gets it back when this is dropped; another one where it is in use.
#[derive(Debug)]
pub(super) struct Scratch(Option<Box<Room>>);

impl Scratch {
    pub(super) fn take() -> Self {
        let room = ROOM.take();
        Self(Some(room.unwrap_or_else(|| {
            Box::new(Room { own: Vec::new(), values: page::ROOM, found: Vec::new(), stretch: Vec::new() })
        })))
    }
}

impl Deref for Scratch {
    type Target = Room;

    fn deref(&self) -> &Room {
        self.0.as_ref().expect("it is given back when it is dropped")
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut Room {
        self.0.as_mut().expect("it is given back when it is dropped")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        ROOM.set(self.0.take());
    }
}
