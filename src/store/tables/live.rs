//! The values of a generation with keys of its own, in memory.
//!
//! A seek among keys that were written singly costs as much as ten probes of what is kept decoded. So while all values
//! of such a generation take no more than a part of the cache, they are kept in memory as well.
//!
//! 1. The values of a table are divided by their highest bits into *strips*, each under a lock of its own. A strip has
//!    all values that the table has, or none: then it is filled, from the table, once it was asked for so often that it
//!    pays. A generation that was begun while the store is open has its strips from the beginning.
//! 2. A change announces what it adds before it is written, and what it has added and removed after it was. The claims
//!    of the store make the changes of one sketch follow each other. So a strip has each value of its table, those that
//!    are being added perhaps already and those that are being removed perhaps still; what nothing holds is in no answer.
//! 3. A strip is filled under its lock and only where nothing in it is announced: who announces something later waits,
//!    and adds it.
//! 4. Where they become too many, all of them are given up, for as long as the generation lasts.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use super::leaves::Leaves;
use crate::permutation::ones;
use crate::{Fingerprint, Result, TableDesign};

/// The values of a table lie in up to 2^this strips.
const MOST_STRIP_BITS: u32 = 12;

/// Those of all tables lie in about so many.
const MOST_STRIPS: usize = 1 << 15;

/// What a value takes, about.
const VALUE_BYTES: u64 = 13;

/// To read so many entries of a table takes as long as one probe of it.
const ENTRIES_A_PROBE: u64 = 64;

/// A strip is told from others by its bounds, and filled by a call that appends all values between them in order.
pub(super) trait Fill: FnMut([u64; 2], &mut Vec<u64>) -> Result<()> {}

impl<F: FnMut([u64; 2], &mut Vec<u64>) -> Result<()>> Fill for F {}

/// The values of all tables of a generation.
#[derive(Debug)]
pub(super) struct LiveValues {
    tables: Vec<Strips>,
    bytes: AtomicUsize,
    most_bytes: usize,
    is_given_up: AtomicBool,
}

#[derive(Debug)]
struct Strips {
    /// How many highest bits tell the strip: not more than a probe fixes.
    bits: u32,
    each: Vec<Strip>,
    /// A strip is filled when it was asked for so often.
    asks: u32,
}

/// One line of the processor's cache.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Strip {
    values: RwLock<Values>,
    asked: AtomicU32,
}

#[derive(Debug, Default)]
struct Values {
    /// None where they are not in memory.
    leaves: Option<Leaves>,
    /// How many values were announced and may not be written yet.
    announced: u32,
}

impl Strips {
    fn place(&self, value: u64) -> &Strip {
        let place = value.checked_shr(64 - self.bits).unwrap_or(0);
        &self.each[usize::try_from(place).expect("a few bits")]
    }
}

impl Strip {
    fn values(&self) -> RwLockWriteGuard<'_, Values> {
        // Each change of the leaves is whole, or was given up with the thread in the middle of an allocation.
        self.values.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveValues {
    /// Takes up to so many bytes for a generation of about so many sketches.
    pub(super) fn new(design: &TableDesign, sketches: u64, most_bytes: u64) -> Self {
        let most_bits = (MOST_STRIPS / design.tables().len()).max(2).ilog2().min(MOST_STRIP_BITS);
        let tables: Vec<Strips> = design
            .tables()
            .iter()
            .map(|table| {
                let bits = table.prefix_bits().min(most_bits);
                let strip = || Strip { values: RwLock::default(), asked: AtomicU32::new(0) };
                let asks = u32::try_from((sketches >> bits) / ENTRIES_A_PROBE).unwrap_or(u32::MAX);
                Strips { bits, each: (0..1u64 << bits).map(|_| strip()).collect(), asks }
            })
            .collect();
        let needed = sketches.saturating_mul(design.tables().len() as u64).saturating_mul(VALUE_BYTES);
        let values = Self {
            tables,
            bytes: AtomicUsize::new(0),
            most_bytes: usize::try_from(most_bytes).unwrap_or(usize::MAX),
            is_given_up: AtomicBool::new(needed > most_bytes),
        };
        if sketches == 0 {
            for strip in values.tables.iter().flat_map(|table| &table.each) {
                strip.values().leaves = Some(Leaves::default());
            }
        }
        values
    }

    fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::SeqCst)
    }

    /// Says what is about to be written.
    pub(super) fn announce(&self, design: &TableDesign, sketches: &[Fingerprint]) {
        self.change(design, sketches, |values, value| {
            values.announced += 1;
            if let Some(leaves) = &mut values.leaves {
                leaves.insert(value);
            }
        });
    }

    /// Says that what was announced was written or has failed.
    pub(super) fn settle(&self, design: &TableDesign, sketches: &[Fingerprint]) {
        self.change(design, sketches, |values, _| values.announced -= 1);
    }

    /// Says what was removed.
    pub(super) fn remove(&self, design: &TableDesign, sketches: &[Fingerprint]) {
        self.change(design, sketches, |values, value| {
            if let Some(leaves) = &mut values.leaves {
                leaves.remove(value);
            }
        });
    }

    fn change(&self, design: &TableDesign, sketches: &[Fingerprint], mut change: impl FnMut(&mut Values, u64)) {
        for (table, strips) in design.tables().iter().zip(&self.tables) {
            for &sketch in sketches {
                let value = table.permute(sketch);
                let mut values = strips.place(value).values();
                let before = bytes_of(&values);
                change(&mut values, value);
                self.count(before, bytes_of(&values));
            }
        }
        self.tidy();
    }

    /// Counts bytes before and after a change, and gives all up where they are too many.
    fn count(&self, before: usize, after: usize) {
        let all = if after >= before {
            self.bytes.fetch_add(after - before, Ordering::SeqCst) + (after - before)
        } else {
            self.bytes.fetch_sub(before - after, Ordering::SeqCst)
        };
        if all > self.most_bytes {
            self.is_given_up.store(true, Ordering::SeqCst);
        }
    }

    /// Gives back the memory of what was given up. The caller has no strip locked.
    fn tidy(&self) {
        if self.is_given_up() && self.bytes.load(Ordering::SeqCst) > 0 {
            for strip in self.tables.iter().flat_map(|table| &table.each) {
                let mut values = strip.values();
                self.count(bytes_of(&values), 0);
                values.leaves = None;
            }
        }
    }

    /// Has the processor fetch what a read from a value on needs first. Where reads of several tables follow, they need
    /// not wait one after the other.
    pub(super) fn fetch(&self, table: usize, value: u64) {
        let strip = self.tables[table].place(value);
        if let Ok(values) = strip.values.try_read()
            && let Some(leaves) = &values.leaves
        {
            leaves.fetch(value);
        }
    }

    /// Whether a generation has a sketch: `None` where that is not known without a look.
    pub(super) fn contains(&self, design: &TableDesign, sketch: Fingerprint) -> Option<bool> {
        let value = design.tables()[0].permute(sketch);
        let values = self.tables[0].place(value).values.read().unwrap_or_else(PoisonError::into_inner);
        values.leaves.as_ref().map(|leaves| leaves.contains(value))
    }

    /// Reads the values of a table from one to another, which share what a probe fixes, in order and slice by slice
    /// until one is refused. Returns whether they are in memory, or are now.
    pub(super) fn read(
        &self,
        table: usize,
        bounds: [u64; 2],
        mut take: impl FnMut(&[u64]) -> bool,
        fill: impl Fill,
    ) -> Result<bool> {
        if self.is_given_up() {
            return Ok(false);
        }
        let strips = &self.tables[table];
        let strip = strips.place(bounds[0]);
        let read = |values: &Values, take: &mut dyn FnMut(&[u64]) -> bool| {
            values.leaves.as_ref().map(|leaves| leaves.read(bounds, take)).is_some()
        };
        if read(&strip.values.read().unwrap_or_else(PoisonError::into_inner), &mut take) {
            return Ok(true);
        }
        if strip.asked.fetch_add(1, Ordering::Relaxed) < strips.asks {
            return Ok(false);
        }
        self.fill(strips, strip, bounds[0], fill)?;
        self.tidy();
        let values = strip.values.read().unwrap_or_else(PoisonError::into_inner);
        Ok(read(&values, &mut take))
    }

    /// Fills a strip unless something is announced in it.
    fn fill(&self, strips: &Strips, strip: &Strip, value: u64, mut fill: impl Fill) -> Result<()> {
        let mut values = strip.values();
        if values.leaves.is_none() && values.announced == 0 && !self.is_given_up() {
            let rest = ones(64 - strips.bits);
            let mut all = Vec::new();
            fill([value & !rest, value | rest], &mut all)?;
            let leaves = Leaves::of(&all);
            self.count(0, leaves.bytes());
            values.leaves = Some(leaves);
        }
        Ok(())
    }

    /// The bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst) as u64
    }
}

fn bytes_of(values: &Values) -> usize {
    values.leaves.as_ref().map_or(0, Leaves::bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;

    fn sketch(n: u64) -> Fingerprint {
        Fingerprint::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The values of all tables, as if they were on disk.
    struct Disk(TableDesign, Mutex<BTreeSet<u64>>);

    impl Disk {
        fn new(sketches: impl IntoIterator<Item = u64>) -> Self {
            Self(TableDesign::default(), Mutex::new(sketches.into_iter().map(|n| sketch(n).bits()).collect()))
        }

        fn values(&self, table: usize, [from, to]: [u64; 2]) -> Vec<u64> {
            let all = self.1.lock().unwrap();
            let permuted = all.iter().map(|&bits| self.0.tables()[table].permute(Fingerprint::new(bits)));
            let mut values: Vec<u64> = permuted.filter(|value| (from..=to).contains(value)).collect();
            values.sort_unstable();
            values
        }

        /// What live values tell of a prefix, where they tell it.
        fn read(&self, live: &LiveValues, table: usize, bounds: [u64; 2]) -> Option<Vec<u64>> {
            let mut values = Vec::new();
            let take = |slice: &[u64]| {
                values.extend_from_slice(slice);
                true
            };
            let fill = |bounds, all: &mut Vec<u64>| {
                all.extend(self.values(table, bounds));
                Ok(())
            };
            let is_read = live.read(table, bounds, take, fill).unwrap();
            is_read.then_some(values)
        }

        fn add(&self, live: &LiveValues, n: u64) {
            live.announce(&self.0, &[sketch(n)]);
            self.1.lock().unwrap().insert(sketch(n).bits());
            live.settle(&self.0, &[sketch(n)]);
        }

        fn remove(&self, live: &LiveValues, n: u64) {
            self.1.lock().unwrap().remove(&sketch(n).bits());
            live.remove(&self.0, &[sketch(n)]);
        }

        fn check(&self, live: &LiveValues) {
            for table in 0..self.0.tables().len() {
                for prefix in (0..1u64 << 16).step_by(997) {
                    let bounds = [prefix << 48, prefix << 48 | ones(48)];
                    assert_eq!(self.read(live, table, bounds), Some(self.values(table, bounds)), "{table} {prefix}");
                }
            }
        }
    }

    const ROOM: u64 = 1 << 30;

    #[test]
    fn what_was_begun_empty_has_all_from_the_beginning() {
        let disk = Disk::new([]);
        let live = LiveValues::new(&disk.0, 0, ROOM);
        (0..1_000).for_each(|n| disk.add(&live, n));
        (0..1_000).step_by(3).for_each(|n| disk.remove(&live, n));
        (0..1_000).step_by(9).for_each(|n| disk.add(&live, n));
        let mut is_filled = false;
        live.read(
            0,
            [0, 1],
            |_| true,
            |_, _| {
                is_filled = true;
                Ok(())
            },
        )
        .unwrap();
        assert!(!is_filled);
        disk.check(&live);
    }

    #[test]
    fn a_strip_is_filled_once_it_was_asked_for_often_enough() {
        let disk = Disk::new(0..20_000);
        // As if there were more.
        let live = LiveValues::new(&disk.0, 1_000_000, ROOM);
        let bounds = [7 << 48, 7 << 48 | ones(48)];
        let asks = (1_000_000 >> MOST_STRIP_BITS) / ENTRIES_A_PROBE;
        assert!(asks > 1);
        for ask in 0..2 * asks {
            let read = disk.read(&live, 1, bounds);
            assert_eq!(read, (ask >= asks).then(|| disk.values(1, bounds)), "{ask}");
        }
        assert!((1..100_000).contains(&live.bytes()), "{}", live.bytes());
    }

    #[test]
    fn what_is_being_written_is_not_lost_to_a_strip_that_is_filled() {
        let disk = Disk::new(0..10);
        let live = LiveValues::new(&disk.0, 10, ROOM);
        let value = disk.0.tables()[0].permute(sketch(77));
        let bounds = [value & !ones(48), value | ones(48)];
        live.announce(&disk.0, &[sketch(77)]);
        // A strip that was filled now would lack it for good.
        assert_eq!(disk.read(&live, 0, bounds), None);
        disk.1.lock().unwrap().insert(sketch(77).bits());
        live.settle(&disk.0, &[sketch(77)]);
        assert_eq!(disk.read(&live, 0, bounds), Some(vec![value]));
        disk.check(&live);
    }

    #[test]
    fn too_many_values_are_given_up_for_good() {
        let disk = Disk::new([]);
        let live = LiveValues::new(&disk.0, 0, 40_000);
        (0..5_000).for_each(|n| disk.add(&live, n));
        assert_eq!((live.bytes(), disk.read(&live, 0, [0, ones(48)])), (0, None));
        (0..5_000).for_each(|n| disk.remove(&live, n));
        (0..10).for_each(|_| assert_eq!(disk.read(&live, 0, [0, ones(48)]), None));
        assert_eq!(live.bytes(), 0);
        let all = LiveValues::new(&disk.0, 1_000_000, 40_000);
        assert_eq!(disk.read(&all, 0, [0, ones(48)]), None);
    }

    #[test]
    fn a_fill_that_is_too_much_is_given_up() {
        let disk = Disk::new(0..100_000);
        // It was thought to be small.
        let live = LiveValues::new(&disk.0, 10, 40_000);
        for prefix in 0..1u64 << 10 {
            disk.read(&live, 0, [prefix << 54, prefix << 54 | ones(48)]);
        }
        assert_eq!((live.bytes(), live.is_given_up()), (0, true));
    }

    #[test]
    fn a_fill_that_fails_is_an_error_and_leaves_nothing() {
        let disk = Disk::new(0..100);
        let live = LiveValues::new(&disk.0, 100, ROOM);
        let bad = || crate::engine::malformed(std::path::Path::new("x"), crate::format::Malformed("bad".into()));
        assert!(live.read(0, [0, ones(48)], |_| true, |_, _| Err(bad())).is_err());
        disk.check(&live);
    }

    #[test]
    fn threads_that_write_and_read_leave_what_is_on_disk() {
        let disk = Disk::new(0..50_000);
        let live = LiveValues::new(&disk.0, 1_000, ROOM);
        std::thread::scope(|scope| {
            for thread in 0..3u64 {
                let (disk, live) = (&disk, &live);
                scope.spawn(move || {
                    // The sketches of threads differ, as claims see to it.
                    for n in (thread..60_000).step_by(3) {
                        if n % 2 == 0 {
                            disk.remove(live, n);
                        }
                        if n % 5 == 0 {
                            disk.add(live, n);
                        }
                        if n % 7 == 0 {
                            disk.remove(live, n + 3);
                        }
                    }
                });
            }
            scope.spawn(|| {
                for prefix in 0..1u64 << 10 {
                    disk.read(&live, (prefix % 4) as usize, [prefix << 54, prefix << 54 | ones(48)]);
                }
            });
        });
        disk.check(&live);
    }
}
