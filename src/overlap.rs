//! What two lists share.

use crate::isa::for_each_isa;

/// So many comparisons of any two take less time than bisections.
const FEW: usize = 1 << 12;

for_each_isa! {
    /// Counts the values of a list in order that another one, in order, has too.
    fn common(values: &[u64], others: &[u64]) -> usize {
        if values.len().saturating_mul(others.len()) > FEW {
            return others.iter().filter(|other| values.binary_search(other).is_ok()).count();
        }
        let is_among = |other: u64| values.iter().fold(0, |found, &value| found | u64::from(value == other));
        others.iter().map(|&other| usize::from(is_among(other) == 1)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    #[test]
    fn every_set_of_instructions_counts_what_lists_share() {
        let multiples = |of: u64, count: u64| -> Vec<u64> { (0..count).map(|n| n * of).chain([u64::MAX]).collect() };
        for (of, count) in [(1, 0), (3, 1), (3, 40), (7, 200), (1, 5_000)] {
            for others in [multiples(2, 0), multiples(2, 30), multiples(5, 1_000)] {
                let values = multiples(of, count);
                let expected = others.iter().filter(|other| values.contains(other)).count();
                for isa in Isa::all() {
                    assert_eq!(common(isa, &values, &others), expected, "{isa:?}, {of}, {count}, {}", others.len());
                }
            }
        }
    }
}
