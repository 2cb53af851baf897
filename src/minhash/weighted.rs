//! Weighted features as sets of units.
//!
//! A feature of weight w is the units 0 to w - 1, each a feature of its own, so that of two weights the lesser one has a
//! part of the units of the greater one, and the Jaccard index of units is that of the weights. To bound them, units are
//! larger from 256 on: each octave has 128 of equal mass, and a weight has those whose middle it reaches.
//!
//! A unit of mass 2^m stands for so many units of mass 1, so its hash u, from 0 to 1, must be as likely the least as that
//! of any of 2^m is: it is the less, the greater (1 - u)^(2^-m) is. Units of one mass are compared by u alone; the least ones
//! of each mass are then compared by squaring 1 - u as often as their masses are doubled.

use super::functions::{Functions, Gathered};

/// Units of mass 1.
const ONES: u64 = 256;

/// Units of each larger mass.
const OCTAVE: u64 = 128;

/// 2^64 over the golden ratio, by which the units of a feature lie apart before they are mixed.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// The least hashes of weighted features.
pub(super) struct Weighted<'a> {
    functions: &'a Functions,
    /// Of the units of mass 2^m, for each m up to the largest that occurs.
    masses: Vec<Gathered<'a>>,
}

impl<'a> Weighted<'a> {
    pub(super) fn new(functions: &'a Functions) -> Self {
        Self { functions, masses: Vec::new() }
    }

    pub(super) fn add(&mut self, feature: u64, weight: u32) {
        for unit in 0..units(weight) {
            let mass = mass(unit);
            if self.masses.len() <= mass {
                self.masses.resize_with(mass + 1, || Gathered::new(self.functions));
            }
            self.masses[mass].add(feature.wrapping_add(unit.wrapping_mul(APART)));
        }
    }

    /// The least hash of each row, if any feature has a weight.
    pub(super) fn minima(self) -> Option<Vec<u32>> {
        let mut masses = (0u32..).zip(self.masses).filter_map(|(mass, gathered)| Some((mass, gathered.minima()?)));
        let (mass, mut minima) = masses.next()?;
        let mut of_masses = vec![mass; minima.len()];
        for (mass, others) in masses {
            for ((least, of_mass), other) in minima.iter_mut().zip(&mut of_masses).zip(others) {
                if is_less(other, *least, mass - *of_mass) {
                    (*least, *of_mass) = (other, mass);
                }
            }
        }
        Some(minima)
    }
}

/// How many units a weight has.
fn units(weight: u32) -> u64 {
    let weight = u64::from(weight);
    let mass = u64::from((weight / ONES).checked_ilog2().map_or(0, |octave| octave + 1));
    if mass == 0 {
        return weight;
    }
    let before = ONES << (mass - 1);
    ONES + (mass - 1) * OCTAVE + (weight - before + (1 << (mass - 1))) / (1 << mass)
}

/// The m of the mass 2^m of a unit.
fn mass(unit: u64) -> usize {
    usize::try_from(unit.checked_sub(ONES).map_or(0, |over| 1 + over / OCTAVE)).expect("a weight has few octaves")
}

/// Whether a hash is less than another one of a mass that is 2^`doublings` times less.
fn is_less(hash: u32, lesser_mass: u32, doublings: u32) -> bool {
    // 1 - u with 64 bits behind the point, for the middle of what rounds to the hash.
    let rest = |hash: u32| u64::MAX - (u64::from(hash) << 32 | 1 << 31);
    let square = |rest: u64, _| ((u128::from(rest) * u128::from(rest)) >> 64) as u64;
    rest(hash) > (0..doublings).fold(rest(lesser_mass), square)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the masses of the units.
    fn sum(weight: u32) -> u64 {
        (0..units(weight)).map(|unit| 1u64 << mass(unit)).sum()
    }

    #[test]
    fn units_make_up_the_weight_to_eight_bits() {
        assert!((0..=256).all(|weight| sum(weight) == u64::from(weight)));
        let weights =
            (0..32).flat_map(|bit| [0, 1, 2, 77, 1 << bit >> 1].map(|more| (1u32 << bit).saturating_add(more)));
        for weight in weights.chain([u32::MAX - 1, u32::MAX]) {
            assert!(
                sum(weight).abs_diff(weight.into()) * 256 <= weight.into(),
                "{weight} is made up by {}",
                sum(weight)
            );
        }
        assert!((0..70_000).map(sum).is_sorted());
        let most = (0..32).map(|bit| units(u32::MAX >> bit)).max();
        assert_eq!((most, units(u32::MAX), sum(u32::MAX)), (Some(3_328), 3_328, 1 << 32));
    }

    #[test]
    fn larger_masses_have_less_hashes() {
        assert!(is_less(5, 6, 0) && !is_less(6, 5, 0) && !is_less(5, 5, 0));
        // Of twice the mass a hash is as likely the least up to about twice as large, while both are small.
        assert!(is_less(1_999, 1_000, 1) && !is_less(2_002, 1_000, 1));
        // 1 - u = 1/2 is as good as 1/4 of half the mass.
        let (half, quarter) = (1 << 31, 3 << 30);
        assert!(is_less(quarter - 2, half, 1) && !is_less(quarter + 2, half, 1));
        assert!(is_less(u32::MAX, u32::MAX, 24) && !is_less(u32::MAX, 0, 24));
    }
}
