//! A sealed table that is in memory from end to end.
//!
//! Batches need most of a table again and again. One list of all its values, in order, is read faster than as many short
//! ones as there are stretches, which lie wherever there was room.

use crate::Result;
use crate::engine::Engine;
use crate::isa::{Isa, prefetch};
use crate::page;
use crate::store::tables::SealedTables;
use crate::store::tables::probe::page_of;

/// What is read at once.
const AHEAD_BYTES: u64 = 1 << 20;

/// All values of a table, and where each stretch ends.
#[derive(Debug)]
pub(in crate::store::tables) struct Whole {
    values: Vec<u64>,
    ends: Vec<usize>,
}

impl Whole {
    /// Reads a table whose stretches share so many bits.
    pub(in crate::store::tables) fn read(
        engine: &Engine,
        sealed: &SealedTables,
        table: usize,
        bits: u32,
    ) -> Result<Self> {
        let most = usize::try_from(sealed.sketches).unwrap_or(usize::MAX);
        let mut whole = Self { values: Vec::with_capacity(most), ends: vec![0; 1 << bits] };
        let mut room = Box::new(page::ROOM);
        let mut pages = engine.cursor_ahead(&sealed.families[table], AHEAD_BYTES);
        engine.visit_from(&mut pages, &[], |key, value| {
            let (page, _) = page_of(engine, key, value)?;
            let decoded = page::values(Isa::detected(), &page, [0, u64::MAX], &mut room);
            whole.values.extend_from_slice(&room[decoded]);
            Ok(true)
        })?;
        for &value in &whole.values {
            whole.ends[super::place(value, bits)] += 1;
        }
        let mut end = 0;
        for count in &mut whole.ends {
            end += *count;
            *count = end;
        }
        Ok(whole)
    }

    /// Has the processor fetch where a stretch lies.
    pub(super) fn fetch(&self, place: usize) {
        prefetch(&self.ends, place);
    }

    /// The values of a stretch.
    pub(super) fn get(&self, place: usize) -> &[u64] {
        let begin = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.values[begin..self.ends[place]]
    }

    pub(super) fn bytes(&self) -> u64 {
        (8 * self.values.capacity() + size_of_val(&*self.ends)) as u64
    }
}
