//! Some of the values of a live table, all or none, under one lock.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::leaves::Leaves;
use crate::Result;
use crate::isa::prefetch;
use crate::permutation::ones;

/// The strips of a table.
#[derive(Debug)]
pub(super) struct Strips {
    /// How many highest bits tell the strip: not more than a probe fixes.
    bits: u32,
    each: Vec<Strip>,
    /// A strip is filled when it was asked for so often.
    asks: u32,
}

/// One line of the processor's cache.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Strip(RwLock<Values>);

const _: () = assert!(size_of::<Strip>() == 64, "a strip is one line");

#[derive(Debug, Default)]
struct Values {
    /// None where they are not in memory.
    leaves: Option<Leaves>,
    /// How many values were announced and may not be written yet.
    announced: u32,
    /// How often they were asked for while they were not in memory.
    asked: AtomicU32,
}

impl Values {
    fn bytes(&self) -> usize {
        self.leaves.as_ref().map_or(0, Leaves::bytes)
    }
}

impl Strips {
    /// Strips of values that share so many bits, all of them known to be empty or none.
    pub(super) fn new(bits: u32, asks: u32, are_known: bool) -> Self {
        let strip = |_| {
            let leaves = are_known.then(Leaves::default);
            Strip(RwLock::new(Values { leaves, ..Values::default() }))
        };
        Self { bits, each: (0..1u64 << bits).map(strip).collect(), asks }
    }

    /// What they take without their values.
    pub(super) fn bytes(&self) -> usize {
        self.each.len() * size_of::<Strip>()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Strip> {
        self.each.iter()
    }

    fn place(&self, value: u64) -> usize {
        usize::try_from(value.checked_shr(64 - self.bits).unwrap_or(0)).expect("a few bits")
    }

    /// The strip that a value is in.
    pub(super) fn of(&self, value: u64) -> &Strip {
        &self.each[self.place(value)]
    }

    /// Has the processor fetch the strip that a value is in, without the values.
    pub(super) fn fetch(&self, value: u64) {
        prefetch(&self.each, self.place(value));
    }

    /// The first and the last value of the strip that a value is in.
    pub(super) fn bounds(&self, value: u64) -> [u64; 2] {
        let rest = ones(64 - self.bits);
        [value & !rest, value | rest]
    }

    /// Notes that the strip of a value was asked for, and returns whether that was often enough.
    pub(super) fn is_due(&self, value: u64) -> bool {
        self.of(value).read_lock().asked.fetch_add(1, Ordering::Relaxed) >= self.asks
    }
}

impl Strip {
    fn read_lock(&self) -> RwLockReadGuard<'_, Values> {
        // Nothing that is done under the lock of a writer panics half-way, but for an allocation that ends the process.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_lock(&self) -> RwLockWriteGuard<'_, Values> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change, and returns the bytes before and after it.
    fn change(&self, change: impl FnOnce(&mut Values)) -> (usize, usize) {
        let mut values = self.write_lock();
        let before = values.bytes();
        change(&mut values);
        (before, values.bytes())
    }

    /// Says that a value is about to be written.
    pub(super) fn announce(&self, value: u64) -> (usize, usize) {
        self.change(|values| {
            values.announced += 1;
            if let Some(leaves) = &mut values.leaves {
                leaves.insert(value);
            }
        })
    }

    /// Says that a value that was announced was written or has failed.
    pub(super) fn settle(&self, _: u64) -> (usize, usize) {
        self.change(|values| values.announced = values.announced.saturating_sub(1))
    }

    /// Says that a value was removed.
    pub(super) fn remove(&self, value: u64) -> (usize, usize) {
        self.change(|values| {
            if let Some(leaves) = &mut values.leaves {
                leaves.remove(value);
            }
        })
    }

    pub(super) fn clear(&self) -> (usize, usize) {
        self.change(|values| values.leaves = None)
    }

    /// Has the processor fetch the values from one to another. The `ends` are the bounds of the strip here and below.
    pub(super) fn fetch(&self, bounds: [u64; 2], ends: [u64; 2]) {
        if let Ok(values) = self.0.try_read()
            && let Some(leaves) = &values.leaves
        {
            leaves.fetch(bounds, ends);
        }
    }

    /// Whether a value is there: `None` where that is not known.
    pub(super) fn contains(&self, value: u64, ends: [u64; 2]) -> Option<bool> {
        self.read_lock().leaves.as_ref().map(|leaves| leaves.contains(value, ends))
    }

    /// Reads the values from one to another in order, slice by slice, until one is refused; returns whether they are in
    /// memory.
    pub(super) fn read(&self, bounds: [u64; 2], ends: [u64; 2], take: impl FnMut(&[u64]) -> bool) -> bool {
        self.read_lock().leaves.as_ref().map(|leaves| leaves.read(bounds, ends, take)).is_some()
    }

    /// Fills it unless something is announced in it, or it has its values already: `fill` appends all of them in order.
    /// Returns the bytes before and after it, or `None` where `fill` has said that they are too many.
    pub(super) fn fill(&self, fill: impl FnOnce(&mut Vec<u64>) -> Result<bool>) -> Result<Option<(usize, usize)>> {
        let mut values = self.write_lock();
        let before = values.bytes();
        if values.leaves.is_none() && values.announced == 0 {
            let mut all = Vec::new();
            if !fill(&mut all)? {
                return Ok(None);
            }
            values.leaves = Some(Leaves::of(&all));
        }
        Ok(Some((before, values.bytes())))
    }
}
