//! Sealed values that were looked at lately, as plain numbers in memory.
//!
//! To seek a page and to decode it costs ten times as much as to compare what is in it, even where its block is cached.
//! So what a probe has read is kept decoded. A *stretch* is all values of a table that share some of their highest bits:
//! as many as the prefix has, or fewer where a prefix has few values. It is kept as a whole or not at all, and since what
//! is sealed does not change, it is right for as long as its generation lasts.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::TableDesign;
use crate::permutation::ones;

/// A stretch has about so many values, unless a prefix has more.
const FEWEST_VALUES: u64 = 128;

/// What an entry takes besides its values.
const ENTRY_BYTES: u64 = 112;

/// No stretch takes more than this part of the memory.
const MOST_SHARE: u64 = 64;

/// The stretches of the tables of a generation that are in memory.
#[derive(Debug)]
pub(super) struct Stretches {
    values: Cache<u64, Arc<[u64]>, Bytes>,
    /// How many highest bits the values of a stretch share, for each table.
    bits: Vec<u32>,
    most_values: usize,
}

#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<u64, Arc<[u64]>> for Bytes {
    fn weight(&self, _: &u64, values: &Arc<[u64]>) -> u64 {
        ENTRY_BYTES + size_of_val(&**values) as u64
    }
}

impl Stretches {
    /// Takes up to so many bytes for the tables of a design with so many sketches.
    pub(super) fn new(design: &TableDesign, sketches: u64, bytes: u64) -> Self {
        let spread = (sketches / FEWEST_VALUES).max(1).ilog2();
        let bits: Vec<u32> = design.tables().iter().map(|table| table.prefix_bits().min(spread).min(48)).collect();
        let each = ENTRY_BYTES + 8 * (sketches >> bits.iter().min().copied().unwrap_or(0)).max(FEWEST_VALUES);
        let entries = usize::try_from(bytes / each).unwrap_or(usize::MAX).max(1);
        Self {
            values: Cache::with_weighter(entries, bytes, Bytes),
            bits,
            most_values: usize::try_from((bytes / MOST_SHARE / 8).max(4 * FEWEST_VALUES)).unwrap_or(usize::MAX),
        }
    }

    /// Changes how many bytes it takes.
    pub(super) fn resize(&self, bytes: u64) {
        if self.values.capacity() != bytes {
            self.values.set_capacity(bytes);
        }
    }

    /// The bytes that all stretches of so many sketches take.
    pub(super) fn bytes_of_all(design: &TableDesign, sketches: u64) -> u64 {
        let values = sketches.saturating_mul(design.tables().len() as u64);
        values.saturating_mul(8).saturating_add(values / FEWEST_VALUES * ENTRY_BYTES)
    }

    /// The first and the last value of the stretch that a value is in.
    pub(super) fn bounds(&self, table: usize, value: u64) -> (u64, u64) {
        let rest = ones(64 - self.bits[table]);
        (value & !rest, value | rest)
    }

    fn key(&self, table: usize, value: u64) -> u64 {
        (table as u64) << 48 | value.checked_shr(64 - self.bits[table]).unwrap_or(0)
    }

    /// The values of the stretch that a value is in, where they are in memory.
    pub(super) fn get(&self, table: usize, value: u64) -> Option<Arc<[u64]>> {
        self.values.get(&self.key(table, value))
    }

    /// Keeps the values of the stretch that one of them, or one that is not there, is in.
    pub(super) fn keep(&self, table: usize, value: u64, values: &[u64]) {
        if self.has_room(values.len()) {
            self.values.insert(self.key(table, value), values.into());
        }
    }

    /// Whether a stretch of so many values is kept.
    pub(super) fn has_room(&self, values: usize) -> bool {
        values <= self.most_values
    }

    /// The bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.values.weight()
    }
}
