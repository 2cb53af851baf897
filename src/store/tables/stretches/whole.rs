//! A sealed table that is in memory from end to end.
//!
//! Batches need most of a table again and again. One list of all its values, in order, is read faster than as many short
//! ones as there are stretches, which lie wherever there was room.

use std::ops::Range;

use crate::Result;
use crate::engine::Engine;
use crate::isa::{Isa, prefetch};
use crate::page;
use crate::permutation::ones;
use crate::store::tables::SealedTables;
use crate::store::tables::probe::page_of;
use crate::store::tables::within::place_between;

/// What is read at once.
const AHEAD_BYTES: u64 = 1 << 20;

/// The index of a table has an entry for so many values at least.
const FEWEST_VALUES: u64 = 8;

/// All values of a table.
#[derive(Debug)]
pub(in crate::store::tables) struct Whole {
    values: Vec<u64>,
    /// How many highest bits tell the entry of the index.
    bits: u32,
    /// Where the values begin that share those bits, and after all of them where the last ones end.
    begins: Vec<u32>,
}

impl Whole {
    /// Reads a table, whose probes fix so many bits; `None` where it has more values than its index can tell.
    pub(in crate::store::tables) fn read(
        engine: &Engine,
        sealed: &SealedTables,
        table: usize,
        prefix_bits: u32,
    ) -> Result<Option<Self>> {
        if u32::try_from(sealed.sketches).is_err() {
            return Ok(None);
        }
        let most = usize::try_from(sealed.sketches).unwrap_or(usize::MAX);
        let mut values = Vec::with_capacity(most);
        let mut room = Box::new(page::ROOM);
        let mut pages = engine.cursor_ahead(&sealed.families[table], AHEAD_BYTES);
        engine.visit_from(&mut pages, &[], |key, value| {
            let (page, _) = page_of(engine, key, value)?;
            let decoded = page::values(Isa::detected(), &page, [0, u64::MAX], &mut room);
            values.extend_from_slice(&room[decoded]);
            Ok(true)
        })?;
        let spread = (sealed.sketches / FEWEST_VALUES).max(1).ilog2();
        Ok(Self::new(values, prefix_bits.min(spread)))
    }

    /// Values in order, with an index of so many of their highest bits, which are fewer than 32.
    fn new(values: Vec<u64>, bits: u32) -> Option<Self> {
        // There may be more than the record says.
        u32::try_from(values.len()).ok()?;
        let mut begins = vec![0u32; (1 << bits) + 1];
        for &value in &values {
            begins[super::place(value, bits) + 1] += 1;
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        Some(Self { values, bits, begins })
    }

    /// All values, in order.
    pub(in crate::store::tables) fn values(&self) -> &[u64] {
        &self.values
    }

    /// The place of the values from one to another, which begin and end where values that share some of their highest bits do.
    #[inline]
    pub(in crate::store::tables) fn range(&self, [from, to]: [u64; 2]) -> Range<usize> {
        let (first, last) = (super::place(from, self.bits), super::place(to, self.bits));
        let range = self.begins[first] as usize..self.begins[last + 1] as usize;
        let rest = ones(64 - self.bits);
        if from & rest == 0 && to & rest == rest {
            return range;
        }
        let place = place_between(&self.values[range.clone()], [from, to], [from & !rest, to | rest]);
        range.start + place.start..range.start + place.end
    }

    /// Has the processor fetch where the values from one on begin.
    pub(super) fn fetch(&self, value: u64) {
        prefetch(&self.begins, super::place(value, self.bits));
    }

    pub(super) fn bytes(&self) -> u64 {
        (8 * self.values.capacity() + size_of_val(&*self.begins)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found_whatever_the_index_tells() {
        let spread = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let uniform: Vec<u64> = (0..3_000).map(spread).chain([0, u64::MAX]).collect();
        let crowded: Vec<u64> =
            (0..3_000).map(|n| if n % 3 == 0 { spread(n) } else { 7 << 48 | spread(n) >> 40 }).collect();
        for mut values in [vec![], vec![0], vec![u64::MAX], uniform, crowded] {
            values.sort_unstable();
            for bits in [0, 1, 5, 12] {
                let whole = Whole::new(values.clone(), bits).unwrap();
                for prefix_bits in [0, 1, 4, 5, 6, 12, 16, 30] {
                    for of in values.iter().step_by(13).copied().chain([0, 5 << 60, u64::MAX]) {
                        let rest = ones(64 - prefix_bits);
                        let [from, to] = [of & !rest, of | rest];
                        let expected = values.iter().filter(|&&value| (from..=to).contains(&value));
                        let found = &whole.values()[whole.range([from, to])];
                        assert!(found.iter().eq(expected), "{bits} bits, {prefix_bits} of {of:x}");
                    }
                }
            }
        }
    }
}
