//! Which bits the tables of a design bring to the front, for values of any width: tests enumerate all
//! errors of narrow ones.

use std::ops::Range;

use crate::permutation::equal_blocks;

/// The ranges of bits that a table brings to the front, in their order.
pub(super) type Prefix = Vec<Range<u32>>;

/// One table for each choice of `chosen` out of `blocks` equal blocks. `None` where that is more than
/// `most` tables, or cannot be.
pub(super) fn combinations(width: u32, blocks: u32, chosen: u32, most: usize) -> Option<Vec<Prefix>> {
    if blocks == 0 || blocks > width || chosen == 0 || chosen > blocks {
        return None;
    }
    let ranges = equal_blocks(width, blocks);
    let mut tables = Vec::new();
    let mut choice: Vec<u32> = (0..chosen).collect();
    loop {
        if tables.len() == most {
            return None;
        }
        tables.push(choice.iter().map(|&block| ranges[block as usize].clone()).collect());
        if !next_choice(&mut choice, blocks) {
            return Some(tables);
        }
    }
}

/// One table for each choice of `outer - distance` of `outer` blocks, and for each of these one for each
/// choice of `inner - distance` of `inner` blocks that the other bits are cut into.
pub(super) fn two_level(width: u32, outer: u32, inner: u32, distance: u32, most: usize) -> Option<Vec<Prefix>> {
    let first = combinations(width, outer, outer.checked_sub(distance)?, most)?;
    let mut tables = Vec::new();
    for front in first {
        let rest: Vec<u32> = (0..width).filter(|bit| !front.iter().any(|part| part.contains(bit))).collect();
        let places = u32::try_from(rest.len()).ok()?;
        for choice in combinations(places, inner, inner.checked_sub(distance)?, most)? {
            if tables.len() == most {
                return None;
            }
            // Places among the other bits become bits again, neighbours joined.
            let mut prefix = front.clone();
            for bit in choice.into_iter().flatten().map(|place| rest[place as usize]) {
                match prefix.last_mut() {
                    Some(last) if last.end == bit => last.end += 1,
                    _ => prefix.push(bit..bit + 1),
                }
            }
            tables.push(prefix);
        }
    }
    Some(tables)
}

/// Steps to the next choice of `chosen.len()` out of `count` in lexicographic order.
fn next_choice(chosen: &mut [u32], count: u32) -> bool {
    let size = chosen.len();
    let Some(i) = (0..size).rev().find(|&i| (chosen[i] as usize) < count as usize - size + i) else {
        return false;
    };
    chosen[i] += 1;
    for j in i + 1..size {
        chosen[j] = chosen[j - 1] + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::cover::Cover;
    use super::*;
    use crate::permutation::ones;

    fn masks(width: u32, tables: &[Prefix]) -> Vec<u64> {
        let bits = |part: &Range<u32>| ones(part.end - part.start) << (width - part.end);
        tables.iter().map(|prefix| prefix.iter().map(bits).sum()).collect()
    }

    /// Every set of at most `distance` errors is found by some table within its radius, and by none if a
    /// counter-example was given.
    fn agrees(width: u32, masks: &[u64]) {
        let cover = Cover::new(masks);
        for distance in 0..=width.min(8) {
            let (radii, _) = cover.cheapest(distance, u64::MAX - 1).expect("one table within the distance is enough");
            let found = |errors: u64, radii: &[Option<u32>]| {
                masks.iter().zip(radii).any(|(mask, r)| r.is_some_and(|r| (errors & mask).count_ones() <= r))
            };
            let all = |radii: &[Option<u32>]| {
                (0..=ones(width)).filter(|e| e.count_ones() <= distance).all(|errors| found(errors, radii))
            };
            assert!(all(&radii), "{width} bits, {masks:x?} at {distance}: {radii:?}");
            // One less in any table: the proof says the same as enumeration.
            for table in 0..radii.len() {
                let mut less = radii.clone();
                let Some(radius) = less[table] else { continue };
                less[table] = radius.checked_sub(1);
                assert_eq!(cover.counter_example(&less, distance).is_none(), all(&less));
            }
        }
    }

    #[test]
    fn the_proof_agrees_with_enumeration_for_all_constructions_of_12_bits() {
        let mut count = 0;
        for blocks in 1..=7 {
            for chosen in 1..=blocks {
                if let Some(tables) = combinations(12, blocks, chosen, 20) {
                    agrees(12, &masks(12, &tables));
                    count += 1;
                }
            }
        }
        for distance in 1..=3 {
            for outer in distance + 1..=distance + 2 {
                for inner in distance + 1..=distance + 2 {
                    if let Some(tables) = two_level(12, outer, inner, distance, 20) {
                        agrees(12, &masks(12, &tables));
                        count += 1;
                    }
                }
            }
        }
        assert!(count > 25, "{count}");
    }

    #[test]
    fn the_proof_agrees_with_enumeration_for_16_bits() {
        for (blocks, chosen) in [(2, 1), (3, 1), (4, 1), (5, 2), (6, 3), (5, 1)] {
            agrees(16, &masks(16, &combinations(16, blocks, chosen, 20).unwrap()));
        }
        agrees(16, &masks(16, &two_level(16, 4, 4, 3, 16).unwrap()));
    }

    #[test]
    fn the_second_level_cuts_what_the_first_has_left() {
        let tables = two_level(64, 4, 4, 3, 64).unwrap();
        assert_eq!(tables.len(), 16);
        assert!(tables.iter().all(|prefix| prefix.iter().map(|part| part.end - part.start).sum::<u32>() == 28));
        assert_eq!(tables[0], std::slice::from_ref(&(0..28)));
        assert_eq!(tables[4], [16..32, 0..12]);
        assert_eq!(tables[5], [16..32, 12..16, 32..40]);
    }

    #[test]
    fn what_cannot_be_is_none() {
        for (blocks, chosen) in [(0, 0), (3, 0), (3, 4), (65, 1), (9, 4)] {
            assert_eq!(combinations(64, blocks, chosen, 64), None, "{blocks}, {chosen}");
        }
        assert_eq!(two_level(64, 3, 4, 3, 64), None);
        assert_eq!(two_level(64, 4, 3, 3, 64), None);
        assert_eq!(two_level(64, 6, 6, 3, 64), None);
    }
}
