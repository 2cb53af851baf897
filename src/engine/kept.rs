//! A sealed family that is in memory from end to end, apart from the cache of blocks: to look up a block, and to begin to read
//! it, takes as long as several entries that lie in one list.
//!
//! 1. What is sealed does not change, so what was read of a family is right for as long as there is the family.
//! 2. It is kept only where the blocks of files could have twice its bytes, which they have less then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Engine, Handle};
use crate::Result;
use crate::format::families::Family;

/// What is read at once.
const AHEAD_BYTES: u64 = 1 << 20;

/// The entries of a family, in order.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// The first eight bytes of each key, which zeros follow where it is shorter.
    heads: Vec<u64>,
    values: Vec<u8>,
    /// Where each value ends.
    ends: Vec<usize>,
}

impl Entries {
    fn push(&mut self, key: &[u8], value: &[u8]) {
        let mut head = [0; 8];
        let bytes = key.len().min(8);
        head[..bytes].copy_from_slice(&key[..bytes]);
        self.heads.push(u64::from_be_bytes(head));
        self.values.extend_from_slice(value);
        self.ends.push(self.values.len());
    }

    /// The heads of the keys.
    pub(crate) fn heads(&self) -> &[u64] {
        &self.heads
    }

    /// The value at a place, where there is one.
    pub(crate) fn value(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        Some(&self.values[at.checked_sub(1).map_or(0, |before| self.ends[before])..end])
    }

    fn bytes(&self) -> u64 {
        (self.values.capacity() + 16 * self.ends.capacity()) as u64
    }
}

/// The family that is kept, if any is.
#[derive(Default)]
pub(super) struct Kept {
    entries: Mutex<Slot>,
    /// Whether most of a family was needed before.
    was_needed: AtomicBool,
}

#[derive(Default)]
struct Slot {
    kept: Option<(Family, Arc<Entries>)>,
    /// What blocks and the family may take together.
    most_bytes: u64,
}

impl Slot {
    fn bytes(&self) -> u64 {
        self.kept.as_ref().map_or(0, |(_, entries)| entries.bytes())
    }
}

impl Kept {
    fn slot(&self) -> std::sync::MutexGuard<'_, Slot> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is told what blocks and the family may take, and returns what is left for the blocks.
    pub(super) fn share(&self, most_bytes: u64) -> u64 {
        let mut slot = self.slot();
        slot.most_bytes = most_bytes;
        if slot.bytes() > most_bytes / 2 {
            slot.kept = None;
        }
        most_bytes - slot.bytes()
    }

    /// Lets go a family that is dropped.
    pub(super) fn forget(&self, family: Family) {
        let mut slot = self.slot();
        slot.kept.take_if(|(kept, _)| *kept == family);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.slot().bytes()
    }
}

impl Engine {
    /// The entries of a sealed family that is kept in memory.
    pub(crate) fn kept(&self, family: &Handle) -> Option<Arc<Entries>> {
        let slot = self.kept.slot();
        slot.kept.as_ref().filter(|(kept, _)| *kept == family.family()).map(|(_, entries)| Arc::clone(entries))
    }

    /// Is told that most of a sealed family is needed. From the second time on it is kept in memory, where there is room: what
    /// was needed twice will be again.
    pub(crate) fn keep(&self, family: &Handle) -> Result<()> {
        if !self.kept.was_needed.swap(true, Ordering::Relaxed) || self.kept(family).is_some() {
            return Ok(());
        }
        let has_room = |bytes: u64| bytes <= self.kept.slot().most_bytes / 2;
        let in_files = self.file_bytes(family)?;
        if !has_room(in_files) {
            return Ok(());
        }
        let room = usize::try_from(in_files).unwrap_or(usize::MAX);
        let mut entries = Entries { values: Vec::with_capacity(room), ..Entries::default() };
        let (mut cursor, mut is_whole) = (self.cursor_ahead(family, AHEAD_BYTES), true);
        self.visit_from(&mut cursor, &[], |key, value| {
            entries.push(key, value);
            is_whole = has_room(entries.bytes());
            Ok(is_whole)
        })?;
        entries.values.shrink_to_fit();
        let mut slot = self.kept.slot();
        if is_whole && entries.bytes() <= slot.most_bytes / 2 {
            slot.kept = Some((family.family(), Arc::new(entries)));
            let left = slot.most_bytes - slot.bytes();
            drop(slot);
            self.set_blocks(left);
        }
        Ok(())
    }
}
