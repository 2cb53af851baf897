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

/// A query, and the place of the values that it is compared with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Among {
    pub(crate) query: u64,
    pub(crate) begin: u32,
    pub(crate) end: u32,
}

/// As many values as a vector has, so that few are compared quickly too.
const FEW: usize = 8;

for_each_isa! {
    /// Appends for each of some queries the values at its place that differ from it in at most `max_distance` bits, each with
    /// the number of the query, in their order.
    fn near_each(values: &[u64], asked: &[Among], max_distance: u32, found: &mut Vec<(u32, u64)>) {
        for (number, among) in (0u32..).zip(asked) {
            let (mut at, end) = (among.begin as usize, (among.end as usize).min(values.len()));
            while at < end {
                // What lies beyond the place is compared too, and not counted.
                let group: &[u64] = match values.get(at..at + FEW).and_then(<[u64]>::first_chunk::<FEW>) {
                    Some(group) => {
                        let is_near = |value: &u64| u64::from(distance(*value, among.query) <= u64::from(max_distance));
                        if group.iter().fold(0, |any, value| any | is_near(value)) == 0 {
                            at += FEW;
                            continue;
                        }
                        group
                    }
                    None => &values[at..end],
                };
                for &value in group.iter().take(end - at) {
                    if distance(value, among.query) <= u64::from(max_distance) {
                        found.push((number, value));
                    }
                }
                at += FEW;
            }
        }
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
    #[test]
    fn each_query_is_compared_with_the_values_at_its_place_only() {
        // Everything is near somebody.
        let values: Vec<u64> = (0..100).map(|n| ((n % 3) << 62) | (n % 5)).collect();
        let query = |n: u32| (u64::from(n % 4) << 62) | u64::from(n % 7);
        let places = (0..100).flat_map(|begin| [0, 1, 7, 8, 9, 40].map(|count| (begin, (begin + count).min(100))));
        let asked: Vec<Among> = places.map(|(begin, end)| Among { query: query(begin), begin, end }).collect();
        for max_distance in [0, 1, 3, 64] {
            let expected = (0u32..).zip(&asked).flat_map(|(number, among)| {
                let place = &values[among.begin as usize..among.end as usize];
                let near = |value: &&u64| (**value ^ among.query).count_ones() <= max_distance;
                place.iter().filter(near).map(move |&value| (number, value))
            });
            let expected: Vec<(u32, u64)> = expected.collect();
            for isa in Isa::all() {
                let mut found = Vec::new();
                near_each(isa, &values, &asked, max_distance, &mut found);
                assert_eq!(found, expected, "{isa:?}, {max_distance}");
            }
        }
    }
}
