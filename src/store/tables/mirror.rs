//! The values of a live generation, in memory.
//!
//! A seek among keys that are written singly costs as much as ten probes of what is kept decoded, so they are kept in
//! memory as well, up to a number of bytes.
//!
//! 1. A value is in the mirror before the batch that has it is written, and is never taken out. So the mirror has all
//!    that is stored, and perhaps more: tables are hints, and what nothing holds is in no answer.
//! 2. The mirror of a generation that was begun while the store was open has all its values from the beginning. That
//!    of another one is filled by one pass over a table, once so many probes have asked for it that the pass pays. What
//!    is written meanwhile is added by its writers, so nothing is missed. Until it is done the table is read.
//! 3. A mirror that has become too large is given up for good.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use crate::permutation::ones;
use crate::{Fingerprint, Result, TableDesign};

/// What a value takes in a set, about.
pub(super) const VALUE_BYTES: u64 = 20;

/// A table is divided into 2^this sets, each under a lock of its own.
const SET_BITS: u32 = 10;

/// To read so many entries of a table takes as long as one probe.
const ENTRIES_A_PROBE: u64 = 16;

const UNFILLED: u8 = 0;
const WHOLE: u8 = 1;
const GIVEN_UP: u8 = 2;

/// The values of all tables.
pub(super) struct Mirror {
    state: AtomicU8,
    /// For each table the values by their highest bits.
    tables: Vec<Vec<RwLock<BTreeSet<u64>>>>,
    values: AtomicUsize,
    most_values: usize,
    /// How often it was asked while it was unfilled.
    asked: AtomicU64,
    filling: Mutex<()>,
}

impl Mirror {
    /// A mirror of a generation that is empty, or of one whose values it does not have yet.
    pub(super) fn new(design: &TableDesign, is_empty: bool, bytes: u64) -> Self {
        let sets = || (0..1 << SET_BITS).map(|_| RwLock::default()).collect();
        Self {
            state: AtomicU8::new(if is_empty { WHOLE } else { UNFILLED }),
            tables: design.tables().iter().map(|_| sets()).collect(),
            values: AtomicUsize::new(0),
            most_values: usize::try_from(bytes / VALUE_BYTES).unwrap_or(usize::MAX),
            asked: AtomicU64::new(0),
            filling: Mutex::default(),
        }
    }

    /// Whether all values are in it.
    pub(super) fn is_whole(&self) -> bool {
        self.state.load(Ordering::SeqCst) == WHOLE
    }

    /// Adds sketches that are about to be written.
    pub(super) fn add(&self, design: &TableDesign, sketches: impl IntoIterator<Item = Fingerprint>) {
        for sketch in sketches {
            if self.state.load(Ordering::SeqCst) == GIVEN_UP {
                return;
            }
            let mut added = 0;
            for (table, sets) in design.tables().iter().zip(&self.tables) {
                let value = table.permute(sketch);
                let mut set = sets[place(value)].write().unwrap_or_else(PoisonError::into_inner);
                added += usize::from(set.insert(value));
            }
            if self.values.fetch_add(added, Ordering::SeqCst) + added > self.most_values {
                self.give_up();
            }
        }
    }

    /// Whether so many sketches are too many for it; then it is given up.
    pub(super) fn is_too_small_for(&self, sketches: u64) -> bool {
        let is_too_small = sketches.saturating_mul(self.tables.len() as u64) > self.most_values as u64;
        if is_too_small {
            self.give_up();
        }
        is_too_small
    }

    /// Adds many sketches, table by table and in order, which is ten times as fast as one by one.
    pub(super) fn add_all(&self, design: &TableDesign, sketches: &[Fingerprint]) {
        if self.is_too_small_for(sketches.len() as u64) {
            return;
        }
        let mut values = Vec::with_capacity(sketches.len());
        for (table, sets) in design.tables().iter().zip(&self.tables) {
            values.clear();
            values.extend(sketches.iter().map(|&sketch| table.permute(sketch)));
            values.sort_unstable();
            for values in values.chunk_by(|&a, &b| place(a) == place(b)) {
                let mut all: BTreeSet<u64> = values.iter().copied().collect();
                let mut set = sets[place(values[0])].write().unwrap_or_else(PoisonError::into_inner);
                let before = set.len();
                all.append(&mut set);
                self.values.fetch_add(all.len() - before, Ordering::SeqCst);
                *set = all;
            }
        }
        if self.values.load(Ordering::SeqCst) > self.most_values {
            self.give_up();
        }
    }

    fn give_up(&self) {
        self.state.store(GIVEN_UP, Ordering::SeqCst);
        for set in self.tables.iter().flatten() {
            set.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Appends the values of a table from one to another until one is refused, in order; returns whether that is all
    /// there are, which it is not where the mirror is not whole.
    pub(super) fn read(&self, table: usize, [from, to]: [u64; 2], mut take: impl FnMut(u64) -> bool) -> bool {
        if !self.is_whole() {
            return false;
        }
        for set in &self.tables[table][place(from)..=place(to)] {
            let set = set.read().unwrap_or_else(PoisonError::into_inner);
            if !set.range(from..=to).all(|&value| take(value)) {
                break;
            }
        }
        // It may have been given up meanwhile, and sets cleared.
        self.is_whole()
    }

    /// Fills it from a table with so many entries, once it has been asked for often enough; `fill` adds all of them.
    pub(super) fn fill_if_worth_it(
        &self,
        entries: impl FnOnce() -> Result<u64>,
        fill: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self.state.load(Ordering::SeqCst) != UNFILLED {
            return Ok(());
        }
        // Looked at now and then: the number of entries is not known for nothing.
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        if !asked.is_multiple_of(1024) || asked.saturating_mul(ENTRIES_A_PROBE) < entries()? {
            return Ok(());
        }
        let Ok(_alone) = self.filling.try_lock() else { return Ok(()) };
        if self.state.load(Ordering::SeqCst) == UNFILLED {
            fill()?;
            // Unless it was given up.
            let _ = self.state.compare_exchange(UNFILLED, WHOLE, Ordering::SeqCst, Ordering::SeqCst);
        }
        Ok(())
    }

    /// The bytes in use, about.
    pub(super) fn bytes(&self) -> u64 {
        if self.state.load(Ordering::SeqCst) == GIVEN_UP {
            0
        } else {
            self.values.load(Ordering::SeqCst) as u64 * VALUE_BYTES
        }
    }
}

/// The set that a value is in.
fn place(value: u64) -> usize {
    usize::try_from(value >> (64 - SET_BITS) & ones(SET_BITS)).expect("a few bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mirror: &Mirror, table: usize, bounds: [u64; 2]) -> Option<Vec<u64>> {
        let mut values = Vec::new();
        let is_whole = mirror.read(table, bounds, |value| {
            values.push(value);
            true
        });
        is_whole.then_some(values)
    }

    fn sketches() -> Vec<Fingerprint> {
        let value = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..3_000).map(value).chain([0, u64::MAX, 1 << 63, 1]).map(Fingerprint::new).collect()
    }

    #[test]
    fn values_come_back_by_table_and_range() {
        let design = TableDesign::default();
        let mirror = Mirror::new(&design, true, 1 << 30);
        mirror.add(&design, sketches());
        mirror.add(&design, sketches());
        for (index, table) in design.tables().iter().enumerate() {
            let mut all: Vec<u64> = sketches().iter().map(|&sketch| table.permute(sketch)).collect();
            all.sort_unstable();
            all.dedup();
            for [from, to] in [[0, u64::MAX], [0, 0], [u64::MAX, u64::MAX], [1 << 40, 1 << 62], [all[7], all[2_000]]] {
                let expected: Vec<u64> = all.iter().copied().filter(|value| (from..=to).contains(value)).collect();
                assert_eq!(read(&mirror, index, [from, to]), Some(expected));
            }
        }
        let mut count = 0;
        mirror.read(0, [0, u64::MAX], |_| {
            count += 1;
            count < 5
        });
        assert_eq!(count, 5);
    }

    #[test]
    fn an_unfilled_one_is_filled_once_it_pays_and_has_what_was_added_before() {
        let design = TableDesign::default();
        let (mirror, all) = (Mirror::new(&design, false, 1 << 30), sketches());
        mirror.add(&design, all[..10].iter().copied());
        assert_eq!(read(&mirror, 0, [0, u64::MAX]), None);
        let mut fills = 0;
        for _ in 0..100_000 {
            mirror
                .fill_if_worth_it(
                    || Ok(1_000_000),
                    || {
                        fills += 1;
                        mirror.add_all(&design, &all[5..]);
                        Ok(())
                    },
                )
                .unwrap();
        }
        assert_eq!((fills, read(&mirror, 2, [0, u64::MAX]).map(|values| values.len())), (1, Some(all.len() - 1)));
    }

    #[test]
    fn a_large_one_is_given_up_for_good() {
        let design = TableDesign::default();
        let mirror = Mirror::new(&design, true, 1_000 * VALUE_BYTES);
        mirror.add(&design, sketches());
        assert_eq!(read(&mirror, 0, [0, 1]), None);
        mirror.fill_if_worth_it(|| Ok(0), || panic!("it is given up")).unwrap();
        assert!(mirror.tables.iter().flatten().all(|set| set.read().unwrap().is_empty()));
    }
}
