//! Which flip radii find every value within a distance: the proof, and the cheapest choice.
//!
//! A table whose probe fixes the bits S finds a stored value if and only if at most r of the bits that
//! differ lie in S, r being the *flip radius* of the probe. So radii cover a distance d when there is
//! no way to place d or fewer errors that puts more than `r_i` of them into `S_i` for every table i at
//! once. Bits that belong to the same tables are interchangeable: they form one *atom*, and a way to
//! place errors is a number for each atom, at most the size of the atom. That leaves a small integer
//! problem, which [`Cover::counter_example`] decides by exhaustive search, not by sampling.

use std::cell::Cell;
use std::cmp::Reverse;

use super::probes_of_radius;

/// The most tables of a design, and the most atoms: each has a bit of the value.
const MOST: usize = 64;

/// How many steps the search for radii may take, each some hundred nanoseconds. They are used up by large
/// distances on many tables that share bits; then the best radii that were proven by then are taken.
const BUDGET: u64 = 100_000;

/// The sets of bits that the tables of a design probe by, cut into atoms.
#[derive(Clone, Debug)]
pub(crate) struct Cover {
    atoms: Vec<Atom>,
    prefix_bits: Vec<u32>,
    /// The atoms of each table as a bit set.
    atoms_of: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Atom {
    /// The bits of a value that belong to the same tables.
    mask: u64,
    size: u8,
    /// Bit i is set where table i probes by these bits.
    tables: u64,
}

/// A table's flip radius; `None` where the table is not probed.
pub(crate) type Radius = Option<u32>;

/// A way to place errors that every table misses: masks of bits, and how many errors each gets.
pub(crate) type CounterExample = Vec<(u64, u32)>;

/// The number of errors in each atom, or of those that each table lacks.
type Counts = [u8; MOST];

/// What a search for a counter-example came to.
enum Verdict {
    /// There is none.
    Covered,
    /// These errors per atom are missed by every table.
    Missed(Counts),
    /// The budget was used up.
    Unknown,
}

impl Cover {
    /// Takes the prefix masks of at most 64 tables.
    pub(crate) fn new(masks: &[u64]) -> Self {
        assert!(masks.len() <= MOST, "a design has at most 64 tables");
        let mut atoms: Vec<Atom> = Vec::new();
        for bit in (0..64).map(|bit| 1u64 << bit) {
            let tables = (0..masks.len()).filter(|&i| masks[i] & bit != 0).map(|i| 1 << i).sum();
            match atoms.iter_mut().find(|atom| atom.tables == tables) {
                Some(atom) => {
                    atom.mask |= bit;
                    atom.size += 1;
                }
                None if tables != 0 => atoms.push(Atom { mask: bit, size: 1, tables }),
                None => {}
            }
        }
        let atoms_of = |table: usize| atoms.iter().enumerate().map(|(a, atom)| (atom.tables >> table & 1) << a).sum();
        Self {
            atoms_of: (0..masks.len()).map(atoms_of).collect(),
            prefix_bits: masks.iter().map(|mask| mask.count_ones()).collect(),
            atoms,
        }
    }

    /// Returns a way to place at most `distance` errors that all tables miss with these radii, or
    /// `None`, which proves that there is none. It looks as long as it takes.
    pub(crate) fn counter_example(&self, radii: &[Radius], distance: u32) -> Option<CounterExample> {
        // More steps than any machine takes, so the search does end.
        match self.missed(radii, distance, &Cell::new(u64::MAX)) {
            Verdict::Covered | Verdict::Unknown => None,
            Verdict::Missed(errors) => {
                let placed = self.atoms.iter().zip(errors).filter(|&(_, count)| count > 0);
                Some(placed.map(|(atom, count)| (atom.mask, u32::from(count))).collect())
            }
        }
    }

    /// Returns radii that cover `distance`, and their number of probes: the fewest possible, or where
    /// many tables share bits the fewest that a bounded search has found. `None` where it takes more
    /// than `most_probes`.
    pub(crate) fn cheapest(&self, distance: u32, most_probes: u64) -> Option<(Vec<Radius>, u64)> {
        let tables = self.prefix_bits.len();
        let (radii, probes) = self.disjoint(distance);
        let mut search = Search {
            cover: self,
            distance,
            limit: probes.min(most_probes.saturating_add(1)),
            best: (probes <= most_probes).then_some(radii),
            budget: Cell::new(BUDGET),
        };
        search.descend(&mut vec![None; tables], 0, &mut vec![distance + 1; tables]);
        search.best.map(|radii| (radii, search.limit))
    }

    /// Radii of tables that share no bits, which need no search: if the radii r of such tables have a
    /// sum of r + 1 larger than the distance, not all of them can be missed. One table within the whole
    /// distance is the simplest case.
    fn disjoint(&self, distance: u32) -> (Vec<Radius>, u64) {
        let tables = self.prefix_bits.len();
        let mut best: Option<(Vec<Radius>, u64)> = None;
        for first in 0..tables {
            let mut taken = 0;
            let mut family: Vec<usize> = Vec::new();
            for i in (0..tables).map(|offset| (first + offset) % tables) {
                if taken & self.atoms_of[i] == 0 {
                    taken |= self.atoms_of[i];
                    family.push(i);
                }
            }
            let mut radii: Vec<Radius> = vec![None; tables];
            for _ in 0..=distance {
                // As long as a rise costs more than the one before, which it does up to half of the prefix,
                // the cheapest one each time gives the least sum; beyond that it is a proof all the same.
                let next = |i: usize| radii[i].map_or(0, |r| r + 1);
                let Some(i) = family.iter().copied().min_by_key(|&i| self.rise(i, radii[i], next(i))) else { break };
                radii[i] = Some(next(i));
            }
            let probes = self.probes(&radii);
            if best.as_ref().is_none_or(|&(_, fewest)| probes < fewest) {
                best = Some((radii, probes));
            }
        }
        best.unwrap_or_default()
    }

    fn missed(&self, radii: &[Radius], distance: u32, budget: &Cell<u64>) -> Verdict {
        let mut needed = [0; MOST];
        for (needed, radius) in needed.iter_mut().zip(radii) {
            *needed = radius.map_or(0, |r| u8::try_from(r.saturating_add(1)).unwrap_or(u8::MAX));
        }
        let mut room = [0; MOST];
        for (room, atom) in room.iter_mut().zip(&self.atoms) {
            *room = atom.size;
        }
        let mut errors = [0; MOST];
        match self.place(&needed, distance, &mut errors, room, budget) {
            Some(true) => Verdict::Missed(errors),
            Some(false) => Verdict::Covered,
            None => Verdict::Unknown,
        }
    }

    /// Adds errors to the atoms until table i has `needed[i]` of them, at most `left` more errors and
    /// at most `room[a]` more in atom a. Returns whether that is possible, or `None` where the budget
    /// does not suffice to tell.
    fn place(
        &self,
        needed: &Counts,
        left: u32,
        errors: &mut Counts,
        mut room: Counts,
        budget: &Cell<u64>,
    ) -> Option<bool> {
        let tables = self.prefix_bits.len();
        let Some(table) = (0..tables).filter(|&i| needed[i] > 0).max_by_key(|&i| needed[i]) else {
            return Some(true);
        };
        budget.set(budget.get().checked_sub(1 + tables as u64 / 16)?);
        if self.disjoint_need(needed) > left {
            return Some(false);
        }
        for (a, atom) in self.atoms.iter().enumerate().filter(|(_, atom)| atom.tables >> table & 1 == 1) {
            if room[a] == 0 {
                continue;
            }
            let mut next = *needed;
            for (i, next) in next[..tables].iter_mut().enumerate() {
                *next = next.saturating_sub((atom.tables >> i & 1) as u8);
            }
            errors[a] += 1;
            room[a] -= 1;
            if self.place(&next, left - 1, errors, room, budget)? {
                return Some(true);
            }
            errors[a] -= 1;
            // All ways with one more error in this atom were tried: the others have none more.
            room[a] = 0;
        }
        Some(false)
    }

    /// A lower bound of the errors needed: tables that share no bit need theirs each for itself.
    fn disjoint_need(&self, needed: &Counts) -> u32 {
        let mut order = [0; MOST];
        let mut count = 0;
        for i in (0..self.prefix_bits.len()).filter(|&i| needed[i] > 0) {
            order[count] = i;
            count += 1;
        }
        order[..count].sort_unstable_by_key(|&i| Reverse(needed[i]));
        let mut taken = 0u64;
        let mut sum = 0;
        for &i in &order[..count] {
            let atoms = self.atoms_of[i];
            if taken & atoms == 0 {
                taken |= atoms;
                sum += u32::from(needed[i]);
            }
        }
        sum
    }

    /// The errors that fall into the bits of a table.
    fn errors_in(&self, table: usize, errors: &Counts) -> u32 {
        self.atoms.iter().zip(errors).map(|(atom, &count)| (atom.tables >> table & 1) as u32 * u32::from(count)).sum()
    }

    /// How many more probes it takes to raise the radius of a table.
    fn rise(&self, table: usize, from: Radius, to: u32) -> u64 {
        let probes = |radius: Radius| radius.map_or(0, |r| probes_of_radius(self.prefix_bits[table], r));
        probes(Some(to)).saturating_sub(probes(from))
    }

    fn probes(&self, radii: &[Radius]) -> u64 {
        let each = radii.iter().zip(&self.prefix_bits);
        each.map(|(radius, &bits)| radius.map_or(0, |r| probes_of_radius(bits, r))).fold(0, u64::saturating_add)
    }
}

/// Branch and bound: as long as some way to place the errors is missed, one of the tables must reach
/// it, and each table that could is tried, the cheapest first.
struct Search<'a> {
    cover: &'a Cover,
    distance: u32,
    best: Option<Vec<Radius>>,
    /// The probes of the best radii so far; only fewer are of interest.
    limit: u64,
    budget: Cell<u64>,
}

impl Search<'_> {
    /// The radius of table i stays below `caps[i]`.
    fn descend(&mut self, radii: &mut Vec<Radius>, probes: u64, caps: &mut Vec<u32>) {
        let mut errors = match self.cover.missed(radii, self.distance, &self.budget) {
            Verdict::Missed(errors) => errors,
            Verdict::Unknown => return,
            Verdict::Covered => {
                self.best = Some(radii.clone());
                self.limit = probes;
                return;
            }
        };
        // What follows takes as long as so many of the steps that are counted.
        let steps = self.cover.atoms.len() * radii.len() * self.distance as usize / 32;
        self.budget.set(self.budget.get().saturating_sub(steps as u64));
        self.spend(radii, &mut errors);
        let mut options: Vec<(u64, usize, u32)> = (0..radii.len())
            .map(|table| (table, self.cover.errors_in(table, &errors)))
            .filter(|&(table, radius)| radius < caps[table])
            .map(|(table, radius)| (self.cover.rise(table, radii[table], radius), table, radius))
            .collect();
        options.sort_unstable();
        let saved: Vec<(usize, u32)> = options.iter().map(|&(_, table, _)| (table, caps[table])).collect();
        for (rise, table, radius) in options {
            if probes.saturating_add(rise) >= self.limit || self.budget.get() == 0 {
                break;
            }
            let before = radii[table].replace(radius);
            self.descend(radii, probes + rise, caps);
            radii[table] = before;
            // Every choice in which this table reaches these errors was tried.
            caps[table] = radius;
        }
        for (table, cap) in saved {
            caps[table] = cap;
        }
    }

    /// Places the errors that are left where they hurt most, so that fewer tables reach the result.
    fn spend(&self, radii: &[Radius], errors: &mut Counts) {
        let cover = self.cover;
        let placed: u32 = errors.iter().map(|&count| u32::from(count)).sum();
        for _ in placed..self.distance {
            let cheapest = |errors: &Counts| {
                (0..radii.len()).map(|table| cover.rise(table, radii[table], cover.errors_in(table, errors))).min()
            };
            let mut best = None;
            for (a, atom) in cover.atoms.iter().enumerate() {
                if errors[a] < atom.size {
                    errors[a] += 1;
                    best = best.max(Some((cheapest(errors), a)));
                    errors[a] -= 1;
                }
            }
            let Some((_, a)) = best else { return };
            errors[a] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permutation::ones;

    /// Looks at every set of at most `distance` bits of a value of `width` bits.
    fn covers_by_enumeration(masks: &[u64], radii: &[Radius], width: u32, distance: u32) -> bool {
        (0..=ones(width)).filter(|errors| errors.count_ones() <= distance).all(|errors| {
            masks.iter().zip(radii).any(|(mask, radius)| radius.is_some_and(|r| (errors & mask).count_ones() <= r))
        })
    }

    fn radius() -> impl proptest::strategy::Strategy<Value = Radius> {
        proptest::option::of(0u32..5)
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

        #[test]
        fn the_proof_agrees_with_enumeration(
            tables in proptest::collection::vec((1u64..1 << 12, radius()), 1..8),
            distance in 0u32..=12,
        ) {
            let (masks, radii): (Vec<u64>, Vec<Radius>) = tables.into_iter().unzip();
            let found = Cover::new(&masks).counter_example(&radii, distance);
            proptest::prop_assert_eq!(found.is_none(), covers_by_enumeration(&masks, &radii, 12, distance));
            if let Some(found) = found {
                let errors: u64 = found.iter().map(|&(mask, count)| {
                    let mut bits = 0;
                    let mut rest = mask;
                    for _ in 0..count {
                        bits |= rest & rest.wrapping_neg();
                        rest &= rest - 1;
                    }
                    bits
                }).sum();
                proptest::prop_assert!(errors.count_ones() <= distance);
                proptest::prop_assert!(masks.iter().zip(&radii).all(|(m, r)| r.is_none_or(|r| (errors & m).count_ones() > r)));
            }
        }

        #[test]
        fn the_cheapest_radii_cover_and_no_choice_is_cheaper(
            masks in proptest::collection::vec(1u64..1 << 10, 1..4),
            distance in 0u32..=4,
        ) {
            let cover = Cover::new(&masks);
            let cost = |radii: &[Radius]| -> u64 {
                masks.iter().zip(radii).map(|(m, r)| r.map_or(0, |r| probes_of_radius(m.count_ones(), r))).sum()
            };
            // Every choice of radii, by counting in base distance + 2.
            let base = distance as usize + 2;
            let cheapest = (0..base.pow(u32::try_from(masks.len()).unwrap()))
                .map(|mut n| {
                    masks.iter().map(|_| {
                        let digit = n % base;
                        n /= base;
                        digit.checked_sub(1).map(|r| u32::try_from(r).unwrap())
                    }).collect::<Vec<Radius>>()
                })
                .filter(|radii| covers_by_enumeration(&masks, radii, 10, distance))
                .map(|radii| cost(&radii))
                .min()
                .expect("a table probed within the whole distance covers it");
            let (radii, probes) = cover.cheapest(distance, u64::MAX - 1).unwrap();
            proptest::prop_assert!(covers_by_enumeration(&masks, &radii, 10, distance));
            proptest::prop_assert_eq!(probes, cost(&radii));
            proptest::prop_assert_eq!(probes, cheapest);
        }
    }
}
