//! The same design in memory: what a store is compared with.

use std::convert::Infallible;
use std::ops::Range;

use crate::design::visit_prefixes;
use crate::isa::Isa;
use crate::near::near;
use crate::permutation::ones;
use crate::{Probes, TableDesign};

/// A sorted array of permuted values for each table, with a directory of where the prefixes begin.
#[derive(Debug)]
pub struct Arrays {
    design: TableDesign,
    tables: Vec<Array>,
}

#[derive(Debug)]
struct Array {
    values: Vec<u64>,
    /// Where the values begin that have at least these highest bits.
    begins: Vec<usize>,
    directory_bits: u32,
}

impl Array {
    fn new(mut values: Vec<u64>, prefix_bits: u32) -> Self {
        values.sort_unstable();
        values.dedup();
        let directory_bits = prefix_bits.min(values.len().max(2).ilog2()).min(24);
        let mut begins = vec![0; (1 << directory_bits) + 1];
        for &value in &values {
            begins[place(value, directory_bits) + 1] += 1;
        }
        for i in 1..begins.len() {
            begins[i] += begins[i - 1];
        }
        Self { values, begins, directory_bits }
    }

    /// The values from one to another.
    fn range(&self, from: u64, to: u64) -> Range<usize> {
        let begin = self.begins[place(from, self.directory_bits)];
        let end = self.begins[place(to, self.directory_bits) + 1];
        let values = &self.values[begin..end];
        begin + values.partition_point(|&value| value < from)..begin + values.partition_point(|&value| value <= to)
    }
}

fn place(value: u64, bits: u32) -> usize {
    usize::try_from(value.checked_shr(64 - bits).unwrap_or(0)).expect("at most 24 bits")
}

impl Arrays {
    /// Permutes and sorts the values for each table; duplicates count once.
    #[must_use]
    pub fn new(design: &TableDesign, values: &[u64]) -> Self {
        let array = |table: &crate::Table| {
            Array::new(values.iter().map(|&value| table.permute(value.into())).collect(), table.prefix_bits())
        };
        Self { design: design.clone(), tables: design.tables().iter().map(array).collect() }
    }

    /// Finds the values within the distance of these probes, each once and in order, and returns the number of
    /// candidates.
    pub fn query(&self, probes: &Probes, query: u64, found: &mut Vec<u64>) -> u64 {
        found.clear();
        let isa = Isa::detected();
        let mut candidates = 0;
        for ((table, array), radius) in self.design.tables().iter().zip(&self.tables).zip(probes.radii()) {
            let Some(radius) = *radius else { continue };
            let permuted = table.permute(query.into());
            let bits = 64 - table.prefix_bits();
            let prefix = permuted.checked_shr(bits).unwrap_or(0);
            let begin = found.len();
            let Ok(()) = visit_prefixes(prefix, table.prefix_bits(), radius, &mut |prefix| {
                let from = prefix.checked_shl(bits).unwrap_or(0);
                let range = array.range(from, from | ones(bits));
                candidates += range.len() as u64;
                near(isa, &array.values[range], permuted, probes.distance(), found);
                Ok::<_, Infallible>(())
            });
            for value in &mut found[begin..] {
                *value = table.restore(*value).bits();
            }
        }
        found.sort_unstable();
        found.dedup();
        candidates
    }
}

/// Compares with every value, and returns how many are within the distance.
#[must_use]
pub fn scan(values: &[u64], query: u64, max_distance: u32) -> usize {
    let mut found = Vec::new();
    near(Isa::detected(), values, query, max_distance, &mut found);
    found.len()
}
