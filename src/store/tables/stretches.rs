//! Sealed values that were looked at lately, as plain numbers in memory.
//!
//! To seek a page and to decode it costs ten times as much as to compare what is in it, even where its block is cached.
//! So what a probe has read is kept decoded. A *stretch* is all values of a table that share some of their highest bits:
//! as many as the prefix has, or fewer where a prefix has few values. It is kept as a whole or not at all, and since what
//! is sealed does not change, it is right for as long as its generation lasts.
//!
//! Where there is room for all stretches, each has a place of its own, which is written once and read without a lock.
//! Otherwise a cache keeps those that are asked for again. What is there is looked at under a lock that only a change
//! from one to the other takes for itself; nobody waits for that: meanwhile nothing is there.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, TryLockError};

use crossbeam::sync::{ShardedLock, ShardedLockReadGuard};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::TableDesign;
use crate::isa::prefetch;
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
    places: ShardedLock<Places>,
    /// How many highest bits the values of a stretch share, for each table.
    bits: Vec<u32>,
    most_values: usize,
    bytes_of_all: u64,
}

#[derive(Debug)]
enum Places {
    All(All),
    Lately(Cache<u64, Arc<[u64]>, Bytes>),
}

type Place = OnceLock<Arc<[u64]>>;

/// A place for each stretch of each table.
#[derive(Debug)]
struct All {
    tables: Vec<Box<[Place]>>,
    bytes: AtomicU64,
}

#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<u64, Arc<[u64]>> for Bytes {
    fn weight(&self, _: &u64, values: &Arc<[u64]>) -> u64 {
        ENTRY_BYTES + size_of_val(&**values) as u64
    }
}

impl All {
    fn new(bits: &[u32]) -> Self {
        let places = |bits: &u32| (0..1u64 << bits).map(|_| OnceLock::new()).collect();
        Self { tables: bits.iter().map(places).collect(), bytes: AtomicU64::new(0) }
    }
}

impl Stretches {
    /// Takes up to so many bytes for the tables of a design with so many sketches.
    pub(super) fn new(design: &TableDesign, sketches: u64, bytes: u64) -> Self {
        let spread = (sketches / FEWEST_VALUES).max(1).ilog2();
        let bits: Vec<u32> = design.tables().iter().map(|table| table.prefix_bits().min(spread).min(48)).collect();
        let bytes_of_all = Self::bytes_of_all(design, sketches);
        let most_values = usize::try_from((bytes / MOST_SHARE / 8).max(4 * FEWEST_VALUES)).unwrap_or(usize::MAX);
        let stretches = Self { places: ShardedLock::new(Places::Lately(lately(0))), bits, most_values, bytes_of_all };
        stretches.resize(bytes);
        stretches
    }

    /// Changes how many bytes it takes.
    pub(super) fn resize(&self, bytes: u64) {
        let has_room_for_all = bytes >= self.bytes_of_all;
        match &*self.places.read().unwrap_or_else(PoisonError::into_inner) {
            Places::All(_) if has_room_for_all => return,
            Places::Lately(cache) if !has_room_for_all => {
                if cache.capacity() != bytes {
                    cache.set_capacity(bytes);
                }
                return;
            }
            _ => {}
        }
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        if has_room_for_all {
            // What was asked for again is read again.
            *places = Places::All(All::new(&self.bits));
            return;
        }
        let cache = lately(bytes);
        if let Places::All(all) = &*places {
            for (table, stretches) in (0u64..).zip(&all.tables) {
                for (place, stretch) in (0u64..).zip(stretches) {
                    if let Some(values) = stretch.get() {
                        cache.insert(key(table, place), Arc::clone(values));
                    }
                }
            }
        }
        *places = Places::Lately(cache);
    }

    /// The bytes that all stretches of so many sketches take.
    pub(super) fn bytes_of_all(design: &TableDesign, sketches: u64) -> u64 {
        let values = sketches.saturating_mul(design.tables().len() as u64);
        values.saturating_mul(8).saturating_add(values / FEWEST_VALUES * ENTRY_BYTES)
    }

    /// The first and the last value of the stretch that a value is in.
    pub(super) fn bounds(&self, table: usize, value: u64) -> [u64; 2] {
        let rest = ones(64 - self.bits[table]);
        [value & !rest, value | rest]
    }

    /// Whether a stretch of so many values is kept.
    pub(super) fn has_room(&self, values: usize) -> bool {
        values <= self.most_values
    }

    /// Looks at what is in memory, which stays there until the look ends.
    pub(super) fn look(&self) -> Look<'_> {
        let places = match self.places.try_read() {
            Ok(places) => Some(places),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        Look(places, self)
    }

    /// The bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        match self.look().0.as_deref() {
            None => 0,
            Some(Places::Lately(cache)) => cache.weight(),
            Some(Places::All(all)) => {
                let places: usize = all.tables.iter().map(|places| size_of_val(&**places)).sum();
                all.bytes.load(Ordering::Relaxed) + places as u64
            }
        }
    }
}

fn lately(bytes: u64) -> Cache<u64, Arc<[u64]>, Bytes> {
    let entries = usize::try_from(bytes / (ENTRY_BYTES + 8 * FEWEST_VALUES)).unwrap_or(usize::MAX).max(1);
    Cache::with_weighter(entries, bytes, Bytes)
}

fn key(table: u64, place: u64) -> u64 {
    table << 48 | place
}

/// A look at what is in memory.
pub(super) struct Look<'a>(Option<ShardedLockReadGuard<'a, Places>>, &'a Stretches);

/// The values of a stretch.
pub(super) enum Stretch<'a> {
    Lent(&'a [u64]),
    Shared(Arc<[u64]>),
}

impl Deref for Stretch<'_> {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        match self {
            Self::Lent(values) => values,
            Self::Shared(values) => values,
        }
    }
}

impl Look<'_> {
    fn place(&self, table: usize, value: u64) -> u64 {
        value.checked_shr(64 - self.1.bits[table]).unwrap_or(0)
    }

    /// The first and the last value of the stretch that a value is in.
    pub(super) fn bounds(&self, table: usize, value: u64) -> [u64; 2] {
        self.1.bounds(table, value)
    }

    /// Whether there is room for all stretches.
    pub(super) fn is_at_all(&self) -> bool {
        matches!(self.0.as_deref(), Some(Places::All(_)))
    }

    /// Has the processor fetch the place of the stretch that a value is in.
    pub(super) fn fetch(&self, table: usize, value: u64) {
        if let Some(Places::All(all)) = self.0.as_deref() {
            prefetch(&all.tables[table], index(self.place(table, value)));
        }
    }

    /// The values of the stretch that a value is in, where they are in memory.
    pub(super) fn get(&self, table: usize, value: u64) -> Option<Stretch<'_>> {
        let place = self.place(table, value);
        match self.0.as_deref()? {
            Places::All(all) => all.tables[table][index(place)].get().map(|values| Stretch::Lent(values)),
            Places::Lately(cache) => cache.get(&key(table as u64, place)).map(Stretch::Shared),
        }
    }

    /// Keeps the values of the stretch that one of them, or one that is not there, is in.
    pub(super) fn keep(&self, table: usize, value: u64, values: &[u64]) {
        if !self.1.has_room(values.len()) {
            return;
        }
        let place = self.place(table, value);
        match self.0.as_deref() {
            Some(Places::All(all)) if all.tables[table][index(place)].set(values.into()).is_ok() => {
                // Both counts of an `Arc`, and what an allocation takes.
                all.bytes.fetch_add(32 + size_of_val(values) as u64, Ordering::Relaxed);
            }
            Some(Places::Lately(cache)) => cache.insert(key(table as u64, place), values.into()),
            None | Some(Places::All(_)) => {}
        }
    }
}

fn index(place: u64) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}
