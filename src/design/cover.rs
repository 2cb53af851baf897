//! Which flip radii find every value within a distance: the proof, and the cheapest choice.
//!
//! A table whose probe fixes the bits S finds a stored value if and only if at most r of the bits that
//! differ lie in S, r being the *flip radius* of the probe. So radii cover a distance d when there is
//! no way to place d or fewer errors that puts more than `r_i` of them into `S_i` for every table i at
//! once. Bits that belong to the same tables are interchangeable: they form one *atom*, and a way to
//! place errors is a number for each atom, at most the size of the atom. That leaves a small integer
//! problem, which [`Cover::counter_example`] decides by exhaustive search, not by sampling.

use super::probes_of_radius;

/// The sets of bits that the tables of a design probe by, cut into atoms.
#[derive(Clone, Debug)]
pub(crate) struct Cover {
    atoms: Vec<Atom>,
    prefix_bits: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Atom {
    /// The bits of a value that belong to the same tables.
    mask: u64,
    size: u32,
    /// Bit i is set where table i probes by these bits.
    tables: u64,
}

/// A table's flip radius; `None` where the table is not probed.
pub(crate) type Radius = Option<u32>;

/// A way to place errors that every table misses: masks of bits, and how many errors each gets.
pub(crate) type CounterExample = Vec<(u64, u32)>;

/// How many steps the search for cheaper radii may take; what it found by then is used. All designs
/// that this crate constructs stay below it at the distances that they are meant for.
const SEARCH_STEPS: u32 = 4_000;

impl Cover {
    /// Takes the prefix masks of at most 64 tables.
    pub(crate) fn new(masks: &[u64]) -> Self {
        assert!(masks.len() <= 64, "a design has at most 64 tables");
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
        Self { atoms, prefix_bits: masks.iter().map(|mask| mask.count_ones()).collect() }
    }

    /// Returns a way to place at most `distance` errors that all tables miss with these radii, or
    /// `None`, which proves that there is none.
    pub(crate) fn counter_example(&self, radii: &[Radius], distance: u32) -> Option<CounterExample> {
        let errors = self.missed(radii, distance)?;
        let placed = self.atoms.iter().zip(errors).filter(|&(_, count)| count > 0);
        Some(placed.map(|(atom, count)| (atom.mask, count)).collect())
    }

    /// Returns the radii that cover `distance` with the fewest probes, and the number of probes.
    /// `None` where that takes more than `most_probes`.
    ///
    /// Where tables share bits, the search may end at its step limit with radii that cover, but for
    /// which a cheaper choice was not ruled out.
    pub(crate) fn cheapest(&self, distance: u32, most_probes: u64) -> Option<(Vec<Radius>, u64)> {
        let tables = self.prefix_bits.len();
        let mut search =
            Search { cover: self, distance, best: None, limit: most_probes.saturating_add(1), steps: SEARCH_STEPS };
        search.descend(&mut vec![None; tables], 0, &mut vec![distance + 1; tables]);
        search.best.map(|radii| (radii, search.limit))
    }

    /// The errors per atom of a counter-example.
    fn missed(&self, radii: &[Radius], distance: u32) -> Option<Vec<u32>> {
        let needed: Vec<u32> = radii.iter().map(|radius| radius.map_or(0, |r| r + 1)).collect();
        let mut errors = vec![0; self.atoms.len()];
        let room = self.atoms.iter().map(|atom| atom.size).collect::<Vec<_>>();
        self.place(&needed, distance, &mut errors, room).then_some(errors)
    }

    /// Adds errors to the atoms until table i has `needed[i]` of them, at most `left` more errors and
    /// at most `room[a]` more in atom a. Returns whether that is possible.
    fn place(&self, needed: &[u32], left: u32, errors: &mut [u32], mut room: Vec<u32>) -> bool {
        let Some((table, &most)) = needed.iter().enumerate().max_by_key(|&(_, &n)| n).filter(|&(_, &n)| n > 0) else {
            return true;
        };
        if most > left || self.disjoint_need(needed) > left {
            return false;
        }
        for (a, atom) in self.atoms.iter().enumerate().filter(|(_, atom)| atom.tables >> table & 1 == 1) {
            if room[a] == 0 {
                continue;
            }
            let next: Vec<u32> =
                needed.iter().enumerate().map(|(i, &n)| n.saturating_sub((atom.tables >> i & 1) as u32)).collect();
            errors[a] += 1;
            room[a] -= 1;
            if self.place(&next, left - 1, errors, room.clone()) {
                return true;
            }
            errors[a] -= 1;
            // All ways with one more error in this atom were tried: the others have none more.
            room[a] = 0;
        }
        false
    }

    /// A lower bound of the errors needed: tables that share no bit need theirs each for itself.
    fn disjoint_need(&self, needed: &[u32]) -> u32 {
        let mut order: Vec<usize> = (0..needed.len()).filter(|&i| needed[i] > 0).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(needed[i]));
        let mut taken = 0u64;
        let mut sum = 0;
        for i in order {
            let atoms = self.atoms_of(i);
            if taken & atoms == 0 {
                taken |= atoms;
                sum += needed[i];
            }
        }
        sum
    }

    /// The atoms of a table as a bit set; there are at most 64, since each has a bit of the value.
    fn atoms_of(&self, table: usize) -> u64 {
        self.atoms.iter().enumerate().map(|(a, atom)| (atom.tables >> table & 1) << a).sum()
    }

    /// The errors that fall into the bits of a table.
    fn errors_in(&self, table: usize, errors: &[u32]) -> u32 {
        self.atoms.iter().zip(errors).map(|(atom, &count)| (atom.tables >> table & 1) as u32 * count).sum()
    }

    /// How many more probes it takes to raise the radius of a table.
    fn rise(&self, table: usize, from: Radius, to: u32) -> u64 {
        let probes = |radius: Radius| radius.map_or(0, |r| probes_of_radius(self.prefix_bits[table], r));
        probes(Some(to)).saturating_sub(probes(from))
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
    steps: u32,
}

impl Search<'_> {
    /// The radius of table i stays below `caps[i]`.
    fn descend(&mut self, radii: &mut Vec<Radius>, probes: u64, caps: &mut Vec<u32>) {
        if self.steps == 0 && self.best.is_some() {
            return;
        }
        self.steps = self.steps.saturating_sub(1);
        let Some(mut errors) = self.cover.missed(radii, self.distance) else {
            self.best = Some(radii.clone());
            self.limit = probes;
            return;
        };
        self.spend(radii, &mut errors);
        let mut options: Vec<(u64, usize, u32)> = (0..radii.len())
            .map(|table| (table, self.cover.errors_in(table, &errors)))
            .filter(|&(table, radius)| radius < caps[table])
            .map(|(table, radius)| (self.cover.rise(table, radii[table], radius), table, radius))
            .collect();
        options.sort_unstable();
        let saved: Vec<(usize, u32)> = options.iter().map(|&(_, table, _)| (table, caps[table])).collect();
        for (rise, table, radius) in options {
            if probes.saturating_add(rise) >= self.limit {
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
    fn spend(&self, radii: &[Radius], errors: &mut [u32]) {
        let cover = self.cover;
        for _ in errors.iter().sum::<u32>()..self.distance {
            let cheapest = |errors: &[u32]| {
                (0..radii.len()).map(|table| cover.rise(table, radii[table], cover.errors_in(table, errors))).min()
            };
            let mut best = None;
            for a in 0..errors.len() {
                if errors[a] < cover.atoms[a].size {
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
