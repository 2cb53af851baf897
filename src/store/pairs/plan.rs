//! Which parts of which tables are compared with which others.
//!
//! Two sketches within the distance are found in table i if at most `r_i` of the bits in which they differ lie in its
//! prefix, and the radii of the design see to it that some table finds them. A pair counts in the first table that
//! finds it, which the bits in which it differs tell by themselves.
//!
//! * A table is cut into *ranges* of about equal size, were its values uniform: as many as fit into a processor's
//!   cache. Steps are done range by range.
//! * A range is cut into *groups* of values with the same first bits, which are compared with the groups that differ
//!   from them in no more bits than a pair may. There may be fewer of these bits than the prefix has: what is in the
//!   radius of the prefix is in that of its front. So groups are as large as makes the join cheapest.
//!
//! All of this follows from the design, the distance and about how many sketches there are, and from nothing else:
//! not from threads, nor from memory. So the order in which pairs come does not either.

use crate::design::probes_of_radius;
use crate::permutation::ones;
use crate::{Fingerprint, Probes, Table, TableDesign};

/// About so many values are in a range; few where tests are to go through many ranges.
const RANGE_VALUES: u64 = if cfg!(test) { 1 << 6 } else { 1 << 17 };
/// The most bits by which a table is cut into ranges, and a range into groups.
const MAX_RANGE_BITS: u32 = 20;
const MAX_GROUP_BITS: u32 = 18;

/// What it costs to go to a pair of groups, and to put a value into its bucket, in comparisons.
const GROUP: f64 = 16.0;
const PLACING: f64 = 8.0;

/// The plan of a join.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) tables: Vec<Part>,
    max_distance: u32,
}

/// What is done in one table.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The number of the table in the design.
    pub(super) index: usize,
    pub(super) table: Table,
    /// The bits of a fingerprint of which at most `radius` may differ.
    mask: u64,
    radius: u32,
    /// The bits by which the table is cut into ranges, and into groups.
    range_bits: u32,
    group_bits: u32,
}

impl Plan {
    pub(super) fn new(design: &TableDesign, probes: Option<&Probes>, max_distance: u32, sketches: u64) -> Self {
        let range_bits = sketches.div_ceil(RANGE_VALUES).next_power_of_two().trailing_zeros().min(MAX_RANGE_BITS);
        let size = Size { range_bits, sketches, max_distance };
        // Too many prefixes for a query need not be too many for a join, which looks at groups. But where all against
        // all is cheaper, one table will do.
        let mut tables = vec![Part::all(&design.tables()[0], &size)];
        if let Some(probes) = probes {
            let each = design.tables().iter().enumerate().zip(probes.radii());
            let parts: Vec<Part> =
                each.filter_map(|((index, table), radius)| Some(Part::new(index, table, (*radius)?, &size))).collect();
            if parts.iter().map(|part| part.cost(&size)).sum::<f64>() <= tables[0].cost(&size) {
                tables = parts;
            }
        }
        Self { tables, max_distance }
    }

    /// The steps: a table, and a range of it.
    pub(super) fn steps(&self) -> u64 {
        self.tables.iter().map(|part| 1 << part.range_bits).sum()
    }

    /// The place of a table in the plan and the range of a step.
    pub(super) fn step(&self, mut step: u64) -> Option<(usize, u64)> {
        for (at, part) in self.tables.iter().enumerate() {
            let ranges = 1 << part.range_bits;
            if step < ranges {
                return Some((at, step));
            }
            step -= ranges;
        }
        None
    }

    /// The bits in which ranges that are compared differ, and for each the bits in which their groups do.
    pub(super) fn flips(&self, at: usize) -> Vec<(u64, Vec<u64>)> {
        let part = &self.tables[at];
        let inner = part.group_bits - part.range_bits;
        let mut flips: Vec<(u64, Vec<u64>)> = Vec::new();
        part.visit_flips(part.group_bits, 0, 0, self.max_distance, &mut |flip| {
            let (range, group) = (flip >> inner, flip & ones(inner));
            match flips.last_mut() {
                Some((latest, groups)) if *latest == range => groups.push(group),
                _ => flips.push((range, vec![group])),
            }
        });
        flips
    }

    /// Whether a pair counts in a table of the plan, by the bits in which it differs.
    pub(super) fn counts(&self, at: usize, differing: u64) -> bool {
        let finds = |part: &Part| (differing & part.mask).count_ones() <= part.radius;
        finds(&self.tables[at]) && !self.tables[..at].iter().any(finds)
    }
}

/// What costs depend on.
struct Size {
    range_bits: u32,
    sketches: u64,
    max_distance: u32,
}

impl Part {
    /// As many groups as are cheapest.
    fn new(index: usize, table: &Table, radius: u32, size: &Size) -> Self {
        let least = size.range_bits;
        let part = |group_bits| Self {
            index,
            table: table.clone(),
            mask: table.prefix_mask(),
            radius: radius.min(size.max_distance),
            range_bits: least,
            group_bits,
        };
        let most = table.prefix_bits().min(least + MAX_GROUP_BITS).max(least);
        let parts = (least..=most).map(part);
        parts.min_by(|a, b| a.cost(size).total_cmp(&b.cost(size))).expect("there is one at least")
    }

    /// All with all: any of the bits may differ.
    fn all(table: &Table, size: &Size) -> Self {
        let range_bits = size.range_bits;
        Self { index: 0, table: table.clone(), mask: 0, radius: 0, range_bits, group_bits: range_bits }
    }

    /// What it costs were the values uniform, in comparisons.
    fn cost(&self, size: &Size) -> f64 {
        let prefix = if self.mask == 0 { 0 } else { self.group_bits.min(self.table.prefix_bits()) };
        let behind = probes_of_radius(self.group_bits - prefix, size.max_distance);
        let pairs = float(1 << self.group_bits) / 2.0 * float(probes_of_radius(prefix, self.radius)) * float(behind);
        let group = float(size.sketches) / float(1 << self.group_bits);
        let blocks = f64::from(size.max_distance + 1);
        let per_block = (Fingerprint::BITS - self.group_bits) / (size.max_distance + 1);
        let all = group * group;
        let cut = blocks * (PLACING * 2.0 * group + all / float(1 << per_block.min(63)));
        pairs * (GROUP + all.min(cut))
    }

    /// The values of a range: the first, and the last.
    pub(super) fn range(&self, range: u64) -> (u64, u64) {
        let shift = 64 - self.range_bits;
        let from = if shift == 64 { 0 } else { range << shift };
        (from, from | ones(shift))
    }

    /// The number of groups in a range, as the power of two that it is.
    pub(super) fn groups_bits(&self) -> u32 {
        self.group_bits - self.range_bits
    }

    /// The group of a value in its range.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^18 groups in a range")]
    pub(super) fn group(&self, value: u64) -> usize {
        let inner = self.groups_bits();
        if inner == 0 { 0 } else { (value << self.range_bits >> (64 - inner)) as usize }
    }

    /// Visits the ways in which the first bits may differ, in ascending order.
    fn visit_flips(&self, left: u32, flip: u64, flipped: u32, any: u32, visit: &mut impl FnMut(u64)) {
        let Some(next) = left.checked_sub(1) else { return visit(flip) };
        self.visit_flips(next, flip << 1, flipped, any, visit);
        let place = self.group_bits - left;
        let in_prefix = self.mask != 0 && place < self.table.prefix_bits();
        if any > 0 && (!in_prefix || flipped < self.radius) {
            self.visit_flips(next, flip << 1 | 1, flipped + u32::from(in_prefix), any - 1, visit);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "costs need not be exact")]
fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(design: &TableDesign, max_distance: u32, sketches: u64) -> Plan {
        Plan::new(design, design.probes_for(max_distance).as_ref(), max_distance, sketches)
    }

    #[test]
    fn steps_are_the_ranges_of_the_tables() {
        for sketches in [0, 1, 100, 10_000, 1 << 20, 100_000_000] {
            let plan = plan(&TableDesign::default(), 3, sketches);
            let steps: Vec<_> = (0..plan.steps()).map(|step| plan.step(step).unwrap()).collect();
            assert!(steps.is_sorted() && plan.step(plan.steps()).is_none());
            for part in &plan.tables {
                let ranges = 1 << part.range_bits;
                let mut next = Some(0);
                for range in 0..ranges {
                    let (from, to) = part.range(range);
                    assert_eq!(Some(from), next);
                    next = to.checked_add(1);
                    assert_eq!((part.group(from), part.group(to)), (0, (1 << part.groups_bits()) - 1));
                }
                assert_eq!(next, None);
            }
            assert_eq!(plan.tables.len(), if sketches < 100 { 1 } else { 4 }, "{sketches}");
        }
    }

    /// Any two values within the distance are in groups that are compared, in exactly one table that counts them.
    #[test]
    fn every_pair_counts_in_exactly_one_table_in_groups_that_are_compared() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed ^ seed >> 29
        };
        for design in ["4x1", "10x1", "2x33", "16x1", "6x1"] {
            let design = TableDesign::named(design, 3).unwrap();
            for (max_distance, sketches) in [(0, 50), (1, 1000), (3, 10), (3, 5_000_000), (5, 1_000_000), (9, 300_000)]
            {
                let plan = plan(&design, max_distance, sketches);
                let flips: Vec<_> = (0..plan.tables.len()).map(|at| plan.flips(at)).collect();
                for n in 0..200 {
                    let a = random();
                    let differing = (0..n % (max_distance + 1)).fold(0, |bits, _| bits | 1 << (random() >> 20 & 63));
                    let counted: Vec<usize> = (0..plan.tables.len()).filter(|&at| plan.counts(at, differing)).collect();
                    let &[at] = &counted[..] else { panic!("{design}: {differing:x} counts in {counted:?}") };
                    let part = &plan.tables[at];
                    let [a, b] = [a, a ^ differing].map(|bits| part.table.permute(Fingerprint::new(bits)));
                    let range = |value: u64| value.unbounded_shr(64 - part.range_bits);
                    let group = (part.group(a) ^ part.group(b)) as u64;
                    let ranges = flips[at].iter().filter(|(flip, _)| *flip == range(a) ^ range(b));
                    let met = ranges.flat_map(|(_, groups)| groups).filter(|&&flip| flip == group).count();
                    assert_eq!(met, 1, "{design}: {differing:x} within {max_distance}");
                }
            }
        }
    }
}
