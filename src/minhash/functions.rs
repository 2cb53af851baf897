//! The hash functions of the rows, and the least hashes of many features.
//!
//! A feature of 64 bits is mixed, and its high 32 bits are x. The function of a row is a x + b modulo 2^32, a odd, which
//! permutes all x: over random x each row by itself is exactly uniform, whatever a and b are, and the rows of
//! different a depend on each other only as far as small multiples of one a are small multiples of another.
//! The low bits of a x + b follow from the low bits of x alone, though: so the least hash of a row is mixed
//! once it is found, which keeps equal ones equal.

use crate::hash;
use crate::isa::{Isa, for_each_isa};

/// Rows that are computed at once.
const BLOCK: usize = 32;

/// Features that are gathered before the rows take them.
const GATHERED: usize = 256;

/// The functions of all rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Functions {
    seed: u64,
    rows: usize,
    /// The a and b of each row, those of more rows up to a whole block included.
    blocks: Box<[Block]>,
    isa: Isa,
}

/// The functions of rows that are computed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    a: [u32; BLOCK],
    b: [u32; BLOCK],
}

impl Functions {
    pub(super) fn new(rows: usize, seed: u64) -> Self {
        let number = u32::try_from(rows.div_ceil(BLOCK) * BLOCK).expect("a signature has not so many rows");
        let parameters: Vec<u64> = (0..number).map(|row| hash::seeded(seed, row)).collect();
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let block = |parameters: &[u64; BLOCK]| Block {
            a: parameters.map(|parameters| parameters as u32 | 1),
            b: parameters.map(|parameters| (parameters >> 32) as u32),
        };
        let blocks = parameters.as_chunks().0.iter().map(block).collect();
        Self { seed, rows, blocks, isa: Isa::detected() }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The least hash of each row, if there are features.
    pub(super) fn minima(&self, features: impl IntoIterator<Item = u64>) -> Option<Vec<u32>> {
        let mut gathered = Gathered::new(self);
        gathered.extend(features);
        gathered.minima()
    }
}

/// The least hashes of features that come one by one.
#[derive(Clone, Debug)]
pub(super) struct Gathered<'a> {
    functions: &'a Functions,
    /// Those of whole blocks.
    minima: Vec<u32>,
    features: [u64; GATHERED],
    /// How many of them wait.
    waiting: usize,
    is_empty: bool,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(functions: &'a Functions) -> Self {
        let minima = vec![u32::MAX; functions.blocks.len() * BLOCK];
        Self { functions, minima, features: [0; GATHERED], waiting: 0, is_empty: true }
    }

    pub(super) fn add(&mut self, feature: u64) {
        self.features[self.waiting] = feature;
        self.waiting += 1;
        if self.waiting == GATHERED {
            self.settle();
        }
    }

    fn extend(&mut self, features: impl IntoIterator<Item = u64>) {
        let mut features = features.into_iter();
        loop {
            let places = &mut self.features[self.waiting..];
            // Places come first, so that none of the features is taken without one.
            let taken = places.iter_mut().zip(&mut features).map(|(place, feature)| *place = feature).count();
            self.waiting += taken;
            if self.waiting < GATHERED {
                return;
            }
            self.settle();
        }
    }

    fn settle(&mut self) {
        let Functions { blocks, isa, .. } = self.functions;
        lower(*isa, &self.features[..self.waiting], blocks, &mut self.minima);
        self.is_empty &= self.waiting == 0;
        self.waiting = 0;
    }

    /// The least hash of each row, if there were features.
    pub(super) fn minima(mut self) -> Option<Vec<u32>> {
        self.settle();
        self.minima.truncate(self.functions.rows);
        (!self.is_empty).then_some(self.minima)
    }
}

for_each_isa! {
    /// Lowers the least hash of each row to those of features, so many as are gathered at most.
    fn lower(features: &[u64], blocks: &[Block], minima: &mut [u32]) {
        let mut mixed = [0; GATHERED];
        for (x, feature) in mixed.iter_mut().zip(features) {
            *x = (hash::mix64(*feature) >> 32) as u32;
        }
        let mixed = &mixed[..features.len()];
        for (block, minima) in blocks.iter().zip(minima.as_chunks_mut::<BLOCK>().0) {
            let mut least = *minima;
            let Block { a, b } = *block;
            for &x in mixed {
                for row in 0..BLOCK {
                    least[row] = least[row].min(x.wrapping_mul(a[row]).wrapping_add(b[row]));
                }
            }
            *minima = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, row by row.
    fn by_definition(functions: &Functions, features: &[u64]) -> Option<Vec<u32>> {
        let x = |feature: &u64| u32::try_from(hash::mix64(*feature) >> 32).unwrap();
        let row = |row: u32| {
            let parameters = hash::seeded(functions.seed, row);
            let [a, b] = [parameters & u64::from(u32::MAX) | 1, parameters >> 32];
            features.iter().map(|feature| a.wrapping_mul(x(feature).into()).wrapping_add(b) & u64::from(u32::MAX)).min()
        };
        (0..u32::try_from(functions.rows).unwrap()).map(row).map(|least| Some(u32::try_from(least?).unwrap())).collect()
    }

    fn with(rows: usize, seed: u64, isa: Isa) -> Functions {
        Functions { isa, ..Functions::new(rows, seed) }
    }

    #[test]
    fn every_set_of_instructions_finds_the_same_least_hashes() {
        let features: Vec<u64> = (0..3 * GATHERED as u64 + 5).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for isa in Isa::all() {
            for rows in [16, 17, 31, 32, 33, 64, 127, 128, 1000, 1024] {
                let functions = with(rows, rows as u64, isa);
                for number in [0, 1, 2, 15, 16, 17, GATHERED - 1, GATHERED, GATHERED + 1, features.len()] {
                    let found = functions.minima(features[..number].iter().copied());
                    assert_eq!(found, by_definition(&functions, &features[..number]), "{isa:?} {rows} {number}");
                }
            }
        }
    }

    /// Rows depend on each other where q times one a is p times another, modulo 2^32, for small p and q.
    #[test]
    fn no_row_of_the_default_seed_is_nearly_a_multiple_of_another() {
        const SMALL: u32 = 16;
        let functions = Functions::new(1024, crate::Minhash::DEFAULT_SEED);
        let all: Vec<u32> = functions.blocks.iter().flat_map(|block| block.a).collect();
        let near = |a: u32| a.min(a.wrapping_neg());
        for (row, a) in all.iter().enumerate() {
            let inverse = (0..5).fold(*a, |x, _| x.wrapping_mul(2u32.wrapping_sub(a.wrapping_mul(x))));
            for other in &all[..row] {
                let ratio = other.wrapping_mul(inverse);
                assert!((1..=SMALL).all(|q| near(ratio.wrapping_mul(q)) > SMALL), "{a} {other}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_features_have_the_least_hashes_of_the_definition(
            features in proptest::collection::vec(proptest::prelude::any::<u64>(), 0..700), seed: u64, rows in 16usize..200,
        ) {
            for isa in Isa::all() {
                let functions = with(rows, seed, isa);
                proptest::prop_assert_eq!(functions.minima(features.iter().copied()), by_definition(&functions, &features));
            }
        }
    }
}
