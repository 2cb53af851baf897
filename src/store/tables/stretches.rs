//! Sealed values that were looked at lately, as plain numbers in memory.
//!
//! To seek a page and to decode it costs ten times as much as to compare what is in it, even where its block is cached.
//! So what a probe has read is kept decoded. A *stretch* is all values of a table that share some of their highest bits:
//! as many as the prefix has, or fewer where a prefix has few values. It is kept as a whole or not at all, and since what
//! is sealed does not change, it is right for as long as its generation lasts.
//!
//! Where there is room for all stretches, each has a place of its own, which is written once and read without a lock, or all
//! of a table are read at once for batches that need most of them.
//! Otherwise a cache keeps those that are asked for again. What is there is looked at under a lock that only a change
//! from one to the other takes for itself. Who looks does not wait for that: meanwhile nothing is there. Who makes the
//! change waits for looks to end, so they are not held for long, nor while a table is read from end to end.

mod whole;

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, TryLockError};

use crossbeam::sync::{ShardedLock, ShardedLockReadGuard};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::TableDesign;
use crate::isa::prefetch;
use crate::permutation::ones;
pub(super) use whole::Whole;

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
    /// Whether a sweep has needed most pages of a table.
    were_swept: AtomicBool,
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
    /// Whether tables are read as a whole, or were.
    are_read_whole: bool,
    /// The tables that are there as a whole.
    wholes: Vec<OnceLock<Whole>>,
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
    fn new(bits: &[u32], are_read_whole: bool) -> Self {
        let places = |bits: &u32| (0..1u64 << bits).map(|_| OnceLock::new()).collect();
        let wholes = bits.iter().map(|_| OnceLock::new()).collect();
        Self { tables: bits.iter().map(places).collect(), are_read_whole, wholes, bytes: AtomicU64::new(0) }
    }

    fn of_cache(cache: &Cache<u64, Arc<[u64]>, Bytes>, bits: &[u32]) -> Self {
        let all = Self::new(bits, false);
        for (key, values) in cache.iter() {
            all.keep(usize::try_from(key >> 48).unwrap_or(usize::MAX), number(key & ones(48)), values);
        }
        all
    }

    fn to_cache(&self, bytes: u64) -> Cache<u64, Arc<[u64]>, Bytes> {
        let cache = lately(bytes);
        for (table, stretches) in self.tables.iter().enumerate() {
            for (place, stretch) in stretches.iter().enumerate() {
                if let Some(values) = stretch.get() {
                    cache.insert(key(table, place), Arc::clone(values));
                }
            }
        }
        cache
    }

    fn keep(&self, table: usize, place: usize, values: Arc<[u64]>) {
        // Both counts of an `Arc`, and what an allocation takes.
        let bytes = 32 + size_of_val(&*values) as u64;
        if self.tables[table][place].set(values).is_ok() {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl Stretches {
    /// Takes up to so many bytes for the tables of a design with so many sketches.
    pub(super) fn new(design: &TableDesign, sketches: u64, bytes: u64) -> Self {
        let spread = (sketches / FEWEST_VALUES).max(1).ilog2();
        let bits: Vec<u32> = design.tables().iter().map(|table| table.prefix_bits().min(spread).min(48)).collect();
        let bytes_of_all = Self::bytes_of_all(design, sketches);
        let most_values = usize::try_from((bytes / MOST_SHARE / 8).max(4 * FEWEST_VALUES)).unwrap_or(usize::MAX);
        let places =
            if bytes >= bytes_of_all { Places::All(All::new(&bits, false)) } else { Places::Lately(lately(bytes)) };
        Self { places: ShardedLock::new(places), bits, most_values, bytes_of_all, were_swept: AtomicBool::new(false) }
    }

    /// Is told that a sweep needs most of a table, and tells whether the tables are to be read as a whole now: what a second
    /// one needs, a third will. What was kept of them is let go before.
    pub(super) fn are_worth_reading(&self) -> bool {
        let is_second = self.were_swept.swap(true, Ordering::Relaxed);
        let are_due = |places: &Places| matches!(places, Places::All(all) if !all.are_read_whole);
        if !is_second || !self.look().places.as_deref().is_some_and(are_due) {
            return false;
        }
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been here in the meantime.
        let are_due = are_due(&places);
        if are_due {
            *places = Places::All(All::new(&self.bits, true));
        }
        are_due
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
        // As above.
        let other = match &*places {
            Places::All(all) if !has_room_for_all => Places::Lately(all.to_cache(bytes)),
            Places::Lately(cache) if has_room_for_all => Places::All(All::of_cache(cache, &self.bits)),
            _ => return,
        };
        *places = other;
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
        Look { places, of: self }
    }

    /// The bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        match self.look().places.as_deref() {
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

fn key(table: usize, place: usize) -> u64 {
    (table as u64) << 48 | place as u64
}

/// A look at what is in memory.
pub(super) struct Look<'a> {
    /// None while they are changed.
    places: Option<ShardedLockReadGuard<'a, Places>>,
    of: &'a Stretches,
}

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

/// The number of the stretch that a value is in, where those of a table share so many bits.
fn place(value: u64, bits: u32) -> usize {
    number(value.checked_shr(64 - bits).unwrap_or(0))
}

fn number(place: u64) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

impl Look<'_> {
    fn place(&self, table: usize, value: u64) -> usize {
        place(value, self.of.bits[table])
    }

    /// Keeps a table as a whole.
    pub(super) fn keep_whole(&self, table: usize, whole: Whole) {
        if let Some(Places::All(all)) = self.places.as_deref() {
            let bytes = whole.bytes();
            if all.wholes[table].set(whole).is_ok() {
                all.bytes.fetch_add(bytes, Ordering::Relaxed);
            }
        }
    }

    /// The first and the last value of the stretch that a value is in.
    pub(super) fn bounds(&self, table: usize, value: u64) -> [u64; 2] {
        self.of.bounds(table, value)
    }

    /// Whether there is room for all stretches.
    pub(super) fn has_room_for_all(&self) -> bool {
        matches!(self.places.as_deref(), Some(Places::All(_)))
    }

    /// A table that is there as a whole.
    pub(super) fn whole(&self, table: usize) -> Option<&Whole> {
        match self.places.as_deref()? {
            Places::All(all) => all.wholes[table].get(),
            Places::Lately(_) => None,
        }
    }

    /// Has the processor fetch the place of the stretch that a value is in.
    pub(super) fn fetch(&self, table: usize, value: u64) {
        if let Some(Places::All(all)) = self.places.as_deref() {
            match all.wholes[table].get() {
                Some(whole) => whole.fetch(value),
                None => prefetch(&all.tables[table], self.place(table, value)),
            }
        }
    }

    /// The values of the stretch that a value is in, where they are in memory.
    pub(super) fn get(&self, table: usize, value: u64) -> Option<Stretch<'_>> {
        let place = self.place(table, value);
        match self.places.as_deref()? {
            Places::All(all) => match all.wholes[table].get() {
                Some(whole) => Some(Stretch::Lent(&whole.values()[whole.range(self.bounds(table, value))])),
                None => all.tables[table][place].get().map(|values| Stretch::Lent(values)),
            },
            Places::Lately(cache) => cache.get(&key(table, place)).map(Stretch::Shared),
        }
    }

    /// Keeps the values of the stretch that one of them, or one that is not there, is in.
    pub(super) fn keep(&self, table: usize, value: u64, values: &[u64]) {
        if !self.of.has_room(values.len()) {
            return;
        }
        let place = self.place(table, value);
        match self.places.as_deref() {
            Some(Places::All(all)) => all.keep(table, place, values.into()),
            Some(Places::Lately(cache)) => cache.insert(key(table, place), values.into()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKETCHES: u64 = 1 << 20;

    fn of(stretches: &Stretches, table: usize, value: u64) -> Option<Vec<u64>> {
        stretches.look().get(table, value).map(|values| values.to_vec())
    }

    #[test]
    fn what_was_kept_is_there_whether_there_is_room_for_all_or_not() {
        let design = TableDesign::default();
        let all = Stretches::bytes_of_all(&design, SKETCHES);
        let stretches = Stretches::new(&design, SKETCHES, all);
        assert!(stretches.look().has_room_for_all());
        let before = stretches.bytes();
        let ends = [0, 1, 1 << 63, u64::MAX];
        for (table, value) in (0..design.tables().len()).flat_map(|table| ends.map(|value| (table, value))) {
            let [from, to] = stretches.bounds(table, value);
            assert!((from..=to).contains(&value) && to - from == u64::MAX >> stretches.bits[table]);
            stretches.look().keep(table, value, &[from, value, to]);
            // The first that is kept stays.
            let kept = if value == 1 { 0 } else { value };
            assert_eq!(of(&stretches, table, value), Some(vec![from, kept, to]));
        }
        assert_eq!(of(&stretches, 0, 5 << 60), None);
        assert_eq!(stretches.bytes() - before, 4 * 3 * (32 + 24));
        // As much as is kept still has room.
        stretches.resize(all / 2);
        assert!(!stretches.look().has_room_for_all());
        assert_eq!(of(&stretches, 3, u64::MAX).map(|values| values.len()), Some(3));
        stretches.resize(all - 1);
        assert_eq!(of(&stretches, 3, u64::MAX).map(|values| values.len()), Some(3));
        stretches.resize(all);
        assert!(stretches.look().has_room_for_all());
        assert_eq!(of(&stretches, 3, u64::MAX).map(|values| values.len()), Some(3));
        assert_eq!(stretches.bytes() - before, 4 * 3 * (32 + 24));
        // One that is too long is not kept in either way.
        for bytes in [all, all / 2] {
            stretches.resize(bytes);
            stretches.look().keep(0, 5 << 60, &vec![0; stretches.most_values + 1]);
            assert_eq!(of(&stretches, 0, 5 << 60), None);
        }
    }

    #[test]
    fn tables_are_read_by_the_second_of_their_sweeps_where_all_have_room() {
        let design = TableDesign::default();
        let all = Stretches::bytes_of_all(&design, SKETCHES);
        let stretches = Stretches::new(&design, SKETCHES, all);
        stretches.look().keep(0, 0, &[7]);
        assert_eq!([(); 3].map(|()| stretches.are_worth_reading()), [false, true, false]);
        assert_eq!(of(&stretches, 0, 0), None);
        stretches.resize(all / 2);
        assert!(!stretches.are_worth_reading());
        stretches.resize(all);
        assert!(stretches.are_worth_reading());
    }

    #[test]
    fn nobody_waits_for_a_change() {
        let design = TableDesign::default();
        let stretches = Stretches::new(&design, SKETCHES, 1 << 40);
        stretches.look().keep(0, 0, &[7]);
        let places = stretches.places.write().unwrap();
        assert_eq!(of(&stretches, 0, 0), None);
        stretches.look().keep(0, 0, &[8]);
        assert_eq!(stretches.bytes(), 0);
        drop(places);
        assert_eq!(of(&stretches, 0, 0), Some(vec![7]));
    }
}
