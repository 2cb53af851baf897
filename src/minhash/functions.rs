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
        features.into_iter().for_each(|feature| gathered.add(feature));
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
    gathered: usize,
    is_empty: bool,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(functions: &'a Functions) -> Self {
        let minima = vec![u32::MAX; functions.blocks.len() * BLOCK];
        Self { functions, minima, features: [0; GATHERED], gathered: 0, is_empty: true }
    }

    pub(super) fn add(&mut self, feature: u64) {
        self.features[self.gathered] = feature;
        self.gathered += 1;
        if self.gathered == GATHERED {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let Functions { blocks, isa, .. } = self.functions;
        lower(*isa, &self.features[..self.gathered], blocks, &mut self.minima);
        self.is_empty &= self.gathered == 0;
        self.gathered = 0;
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
            #[expect(clippy::cast_possible_truncation, reason = "the high half")]
            { *x = (hash::mix64(*feature) >> 32) as u32; }
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
