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

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::strip::{Strip, Strips};
use crate::{Fingerprint, Result, TableDesign};

/// The values of a table lie in up to 2^this strips.
const MOST_STRIP_BITS: u32 = 12;

/// Those of all tables lie in about so many.
const MOST_STRIPS: usize = 1 << 15;

/// Strips themselves take no more than this part of the memory.
const STRIPS_SHARE: u64 = 8;

/// What a value takes, about.
const VALUE_BYTES: u64 = 13;

/// To read so many entries of a table takes as long as one probe of it.
const ENTRIES_A_PROBE: u64 = 64;

/// The values of all tables of a generation.
#[derive(Debug)]
pub(super) struct LiveValues {
    /// None where they were given up from the beginning.
    tables: Vec<Strips>,
    bytes: AtomicUsize,
    most_bytes: usize,
    is_given_up: AtomicBool,
}

impl LiveValues {
    /// Takes up to so many bytes for a generation of about so many sketches.
    pub(super) fn new(design: &TableDesign, sketches: u64, most_bytes: u64) -> Self {
        let count = design.tables().len();
        let needed = sketches.saturating_mul(count as u64).saturating_mul(VALUE_BYTES);
        let room = usize::try_from(most_bytes / STRIPS_SHARE).unwrap_or(usize::MAX) / size_of::<Strip>();
        let most_bits = (MOST_STRIPS.min(room) / count).max(2).ilog2().min(MOST_STRIP_BITS);
        let is_given_up = needed > most_bytes || room < 2 * count;
        let strips = |table: &crate::Table| {
            let bits = table.prefix_bits().min(most_bits);
            Strips::new(bits, u32::try_from((sketches >> bits) / ENTRIES_A_PROBE).unwrap_or(u32::MAX), sketches == 0)
        };
        let tables: Vec<Strips> = design.tables().iter().filter(|_| !is_given_up).map(strips).collect();
        Self {
            bytes: AtomicUsize::new(tables.iter().map(Strips::bytes).sum()),
            tables,
            most_bytes: usize::try_from(most_bytes).unwrap_or(usize::MAX),
            is_given_up: AtomicBool::new(is_given_up),
        }
    }

    /// Whether they are too many to be kept.
    pub(super) fn are_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::SeqCst)
    }

    /// Says what is about to be written.
    pub(super) fn announce(&self, design: &TableDesign, sketches: &[Fingerprint]) {
        self.change(design, sketches, Strip::announce);
    }

    /// Says that what was announced was written or has failed.
    pub(super) fn settle(&self, design: &TableDesign, sketches: &[Fingerprint]) {
        self.change(design, sketches, Strip::settle);
    }

    /// Says what was removed.
    pub(super) fn remove(&self, design: &TableDesign, sketches: &[Fingerprint]) {
        self.change(design, sketches, Strip::remove);
    }

    fn change(&self, design: &TableDesign, sketches: &[Fingerprint], change: impl Fn(&Strip, u64) -> (usize, usize)) {
        // What was given up is so for good: nothing of it is read again.
        if self.are_given_up() {
            return;
        }
        for (table, strips) in design.tables().iter().zip(&self.tables) {
            for &sketch in sketches {
                let value = table.permute(sketch);
                self.count(change(strips.of(value), value));
            }
        }
        self.tidy();
    }

    /// Counts bytes before and after a change, and gives all up where they are too many.
    fn count(&self, (before, after): (usize, usize)) {
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
        if self.are_given_up() {
            for strip in self.tables.iter().flat_map(Strips::all) {
                self.count(strip.clear());
            }
        }
    }

    /// Has the processor fetch the strip that a value is in. Where those of several tables are needed, they come at once.
    pub(super) fn fetch_strip(&self, table: usize, value: u64) {
        if let Some(strips) = self.tables.get(table) {
            strips.fetch(value);
        }
    }

    /// Has the processor fetch the values that a read between these bounds needs, once the strip is there.
    pub(super) fn fetch(&self, table: usize, bounds: [u64; 2]) {
        if !self.are_given_up() {
            let strips = &self.tables[table];
            strips.of(bounds[0]).fetch(bounds, strips.bounds(bounds[0]));
        }
    }

    /// Whether the generation may have a sketch; false only where no table has it.
    pub(super) fn may_have(&self, design: &TableDesign, sketch: Fingerprint) -> bool {
        if self.are_given_up() {
            return true;
        }
        let values = || design.tables().iter().zip(&self.tables).map(|(table, strips)| (strips, table.permute(sketch)));
        values().for_each(|(strips, value)| strips.fetch(value));
        values().for_each(|(strips, value)| strips.of(value).fetch([value, value], strips.bounds(value)));
        values().any(|(strips, value)| strips.of(value).contains(value, strips.bounds(value)) != Some(false))
    }

    /// Reads the values of a table from one to another, which share what a probe fixes, in order and slice by slice
    /// until one is refused. Returns whether they are in memory.
    pub(super) fn read(&self, table: usize, bounds: [u64; 2], take: impl FnMut(&[u64]) -> bool) -> bool {
        if self.are_given_up() {
            return false;
        }
        let strips = &self.tables[table];
        strips.of(bounds[0]).read(bounds, strips.bounds(bounds[0]), take)
    }

    /// Fills the strip of a value where it was asked for often enough, and returns whether it is in memory now. `fill`
    /// appends all values between two bounds in order, and returns false where they are more than so many.
    pub(super) fn fill(
        &self,
        table: usize,
        value: u64,
        mut fill: impl FnMut([u64; 2], usize, &mut Vec<u64>) -> Result<bool>,
    ) -> Result<bool> {
        if self.are_given_up() || !self.tables[table].is_due(value) {
            return Ok(false);
        }
        let strips = &self.tables[table];
        let most = self.most_bytes.saturating_sub(self.bytes.load(Ordering::SeqCst)) / 8;
        let filled = strips.of(value).fill(|values| {
            // A whole strip, or nothing.
            Ok(!self.are_given_up() && fill(strips.bounds(value), most, values)?)
        })?;
        let Some(changed) = filled else {
            self.is_given_up.store(true, Ordering::SeqCst);
            self.tidy();
            return Ok(false);
        };
        self.count(changed);
        self.tidy();
        Ok(!self.are_given_up())
    }

    /// The bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;
    use crate::permutation::ones;

    fn sketch(n: u64) -> Fingerprint {
        Fingerprint::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The values of all tables, as if they were on disk.
    struct Disk(TableDesign, Mutex<BTreeSet<u64>>);

    impl Disk {
        fn new(sketches: impl IntoIterator<Item = u64>) -> Self {
            Self::of(TableDesign::default(), sketches)
        }

        fn of(design: TableDesign, sketches: impl IntoIterator<Item = u64>) -> Self {
            Self(design, Mutex::new(sketches.into_iter().map(|n| sketch(n).bits()).collect()))
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
            let mut is_read = || {
                values.clear();
                live.read(table, bounds, |slice| {
                    values.extend_from_slice(slice);
                    true
                })
            };
            let fill = |bounds, most, all: &mut Vec<u64>| {
                all.extend(self.values(table, bounds));
                Ok(all.len() <= most)
            };
            let is_read = is_read() || live.fill(table, bounds[0], fill).unwrap() && is_read();
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

        /// Compares some prefixes of each table.
        fn check(&self, live: &LiveValues) {
            for (index, table) in self.0.tables().iter().enumerate() {
                let bits = table.prefix_bits();
                for n in 0..100u64 {
                    let prefix = table.permute(sketch(n * 7)) >> (64 - bits);
                    self.check_one(live, index, [prefix << (64 - bits), prefix << (64 - bits) | ones(64 - bits)]);
                }
            }
        }

        fn check_one(&self, live: &LiveValues, table: usize, bounds: [u64; 2]) {
            assert_eq!(self.read(live, table, bounds), Some(self.values(table, bounds)), "{table} {bounds:x?}");
        }
    }

    const ROOM: u64 = 1 << 30;

    #[test]
    fn what_was_begun_empty_has_all_from_the_beginning() {
        let combined = TableDesign::combine(16, 1, 15).unwrap();
        assert!(combined.tables()[0].prefix_bits() < MOST_STRIP_BITS);
        let named = ["4x1", "2x33", "20"].map(|name| TableDesign::named(name, 3).unwrap());
        for design in named.into_iter().chain([combined]) {
            let disk = Disk::of(design, []);
            let live = LiveValues::new(&disk.0, 0, ROOM);
            (0..1_000).for_each(|n| disk.add(&live, n));
            (0..1_000).step_by(3).for_each(|n| disk.remove(&live, n));
            (0..1_000).step_by(9).for_each(|n| disk.add(&live, n));
            let is_filled = live.fill(0, 0, |_, _, _| panic!("it is known"));
            assert!(is_filled.unwrap());
            disk.check(&live);
            for n in 0..1_000 {
                assert_eq!(live.may_have(&disk.0, sketch(n)), n % 3 != 0 || n % 9 == 0, "{n}");
            }
        }
    }

    #[test]
    fn one_of_the_tables_is_enough_to_have_a_sketch() {
        let disk = Disk::new([1]);
        let live = LiveValues::new(&disk.0, 1, ROOM);
        assert!(live.may_have(&disk.0, sketch(2)), "nothing is known");
        let values = || disk.0.tables().iter().map(|table| table.permute(sketch(1)));
        for (index, (table, value)) in disk.0.tables().iter().zip(values()).enumerate() {
            let rest = ones(64 - table.prefix_bits());
            disk.check_one(&live, index, [value & !rest, value | rest]);
        }
        for (index, value) in values().enumerate() {
            assert!(live.may_have(&disk.0, sketch(1)), "{index} tables have lost it");
            live.tables[index].of(value).remove(value);
        }
        assert!(!live.may_have(&disk.0, sketch(1)));
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
        let strips: usize = live.tables.iter().map(Strips::bytes).sum();
        assert!((1..100_000).contains(&(live.bytes() - strips as u64)), "{}", live.bytes());
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

    /// So little that a few thousand values are too many.
    const LITTLE: u64 = 100_000;

    #[test]
    fn too_many_values_are_given_up_for_good() {
        let disk = Disk::new([]);
        let live = LiveValues::new(&disk.0, 0, LITTLE);
        (0..5_000).for_each(|n| disk.add(&live, n));
        let strips: usize = live.tables.iter().map(Strips::bytes).sum();
        assert_eq!((live.bytes(), disk.read(&live, 0, [0, ones(48)])), (strips as u64, None));
        (0..5_000).for_each(|n| disk.remove(&live, n));
        (0..10).for_each(|_| assert_eq!(disk.read(&live, 0, [0, ones(48)]), None));
        assert!(live.may_have(&disk.0, sketch(1)));
        for (sketches, bytes) in [(1_000_000, LITTLE), (1, 64), (0, 0)] {
            let live = LiveValues::new(&disk.0, sketches, bytes);
            live.fetch(0, [1, 1]);
            live.fetch_strip(0, 1);
            disk.add(&live, 7);
            assert_eq!((live.bytes(), disk.read(&live, 0, [0, ones(48)])), (0, None));
        }
    }

    #[test]
    fn a_fill_that_is_too_much_is_given_up() {
        let disk = Disk::new(0..100_000);
        // It was thought to be small.
        let live = LiveValues::new(&disk.0, 10, LITTLE);
        for prefix in 0..1u64 << 10 {
            disk.read(&live, 0, [prefix << 54, prefix << 54 | ones(48)]);
        }
        assert!(live.are_given_up() && live.bytes() < LITTLE / 4, "{}", live.bytes());
    }

    #[test]
    fn a_fill_that_fails_is_an_error_and_leaves_nothing() {
        let disk = Disk::new(0..100);
        let live = LiveValues::new(&disk.0, 100, ROOM);
        let bad = || crate::engine::malformed(std::path::Path::new("x"), crate::format::Malformed("bad".into()));
        assert!(live.fill(0, 0, |_, _, _| Err(bad())).is_err());
        disk.check(&live);
    }

    #[test]
    fn threads_that_write_and_read_leave_what_is_on_disk() {
        let disk = Disk::new(0..50_000);
        let live = LiveValues::new(&disk.0, 1_000, ROOM);
        // These are filled while others write.
        let asked: Vec<(usize, [u64; 2])> = (0..60u64)
            .map(|n| ((n % 4) as usize, (n * 1_000) << 48))
            .map(|(table, from)| (table, [from, from | ones(48)]))
            .collect();
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
                for &(table, bounds) in &asked {
                    disk.read(&live, table, bounds);
                }
            });
        });
        for &(table, bounds) in &asked {
            disk.check_one(&live, table, bounds);
        }
        disk.check(&live);
    }
}
