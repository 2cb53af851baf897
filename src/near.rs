//! Which of many values differ from one in few bits.

use crate::isa::for_each_isa;

/// So many values are compared before it is asked whether any of them is near, which few are.
const GROUP: usize = 32;

for_each_isa! {
    /// Appends the values that differ from `query` in at most `max_distance` bits, in their order.
    fn near(values: &[u64], query: u64, max_distance: u32, found: &mut Vec<u64>) {
        let (groups, rest) = values.as_chunks::<GROUP>();
        for group in groups {
            let nearest = group.iter().fold(u64::MAX, |nearest, value| nearest.min(distance(*value, query)));
            if nearest <= u64::from(max_distance) {
                found.extend(group.iter().filter(|&&value| distance(value, query) <= u64::from(max_distance)));
            }
        }
        found.extend(rest.iter().filter(|&&value| distance(value, query) <= u64::from(max_distance)));
    }
}

/// As a number of 64 bits, so that values and distances have lanes of one width.
#[inline]
fn distance(a: u64, b: u64) -> u64 {
    u64::from((a ^ b).count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    #[test]
    fn every_set_of_instructions_finds_what_a_filter_finds() {
        let value = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n << 60;
        for count in (0..130).chain([1_000]) {
            let values: Vec<u64> = (0..count).map(|n| if n % 3 == 0 { 1 << (n % 64) } else { value(n) }).collect();
            for query in [0, u64::MAX, value(5), 1 << 63] {
                for max_distance in [0, 1, 2, 31, 63, 64] {
                    let near_one = |&value: &u64| (value ^ query).count_ones() <= max_distance;
                    let expected: Vec<u64> = values.iter().copied().filter(near_one).collect();
                    for isa in Isa::all() {
                        let mut found = Vec::new();
                        near(isa, &values, query, max_distance, &mut found);
                        assert_eq!(found, expected, "{isa:?}, {count} values, {max_distance} of {query:x}");
                    }
                }
            }
        }
    }
}
