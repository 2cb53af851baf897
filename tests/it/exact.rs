//! Index = brute force: every design, every distance, in every state of a store.

use nearstone::{Fingerprint, Table, TableDesign};
use proptest::prelude::*;

use crate::common::{BruteForce, Random, Scratch, assert_same};

/// Uniform values, and clusters whose members lie within `spread` bits of a centre.
fn values(random: &mut Random, count: usize, spread: u32) -> Vec<u64> {
    let centres: Vec<u64> = (0..4).map(|_| random.next()).collect();
    (0..count)
        .map(|i| {
            if i % 3 == 0 {
                return random.next();
            }
            let centre = centres[usize::try_from(random.below(4)).unwrap()];
            let flips = u32::try_from(random.below(u64::from(spread) + 1)).unwrap();
            random.flipped(centre, flips)
        })
        .collect()
}

/// Fills a store and compares it with brute force in memory, flushed, compacted and reopened.
fn check_in_every_state(design: &TableDesign, distances: &[u32], seed: u64, count: usize) {
    let mut random = Random(seed);
    let scratch = Scratch::new();
    let mut store = scratch.create(design);
    let mut truth = BruteForce::default();
    let most = *distances.iter().max().unwrap();
    let stored = values(&mut random, count, most + 2);
    for (i, &value) in stored.iter().enumerate() {
        let id = format!("doc-{i}").into_bytes();
        store.insert(&id, &Fingerprint::new(value)).unwrap();
        truth.documents.insert(id, Fingerprint::new(value));
    }
    // Stored values, values at each distance of a stored one, and strangers.
    let mut queries: Vec<u64> = stored.iter().step_by(7).copied().chain([0, u64::MAX]).collect();
    for &distance in distances {
        for _ in 0..3 {
            let of = stored[usize::try_from(random.below(stored.len() as u64)).unwrap()];
            queries.push(random.flipped(of, distance));
        }
    }
    queries.push(random.next());
    for state in ["in memory", "flushed", "compacted", "reopened", "more in memory"] {
        match state {
            "flushed" => store.flush().unwrap(),
            "compacted" => store.compact().unwrap(),
            "reopened" => {
                drop(store);
                store = scratch.open();
            }
            "more in memory" => {
                for (i, &value) in stored.iter().enumerate().take(10) {
                    let near = random.flipped(value, most);
                    let id = format!("late-{i}").into_bytes();
                    store.insert(&id, &Fingerprint::new(near)).unwrap();
                    truth.documents.insert(id, Fingerprint::new(near));
                }
            }
            _ => {}
        }
        for &query in &queries {
            for &distance in distances {
                assert_same(&store, &truth, Fingerprint::new(query), distance, state);
            }
        }
    }
}

/// All designs "m blocks choose m - k" for k = 0 to 6; of those for k = 0 and 1, which differ in little
/// but the number of blocks, some.
#[test]
fn every_choice_design_at_every_distance_up_to_its_own() {
    let mut designs = 0;
    for max_distance in 0..=6 {
        for blocks in (max_distance + 1..=16).chain([31, 64]) {
            let Ok(design) = TableDesign::choose(blocks, max_distance) else { continue };
            let distances: Vec<u32> = (0..=max_distance).collect();
            check_in_every_state(&design, &distances, u64::from(blocks * 100 + max_distance), 120);
            designs += 1;
        }
    }
    assert!(designs > 40, "{designs}");
}

#[test]
fn distances_above_the_one_of_the_design() {
    check_in_every_state(&TableDesign::default(), &[4, 7, 8], 1, 100);
    check_in_every_state(&TableDesign::choose(5, 3).unwrap(), &[4, 5], 2, 100);
    // A scan: no prefix of 64 bits can be probed so far around.
    let whole = TableDesign::choose(1, 0).unwrap();
    check_in_every_state(&whole, &[2, 9, 16], 3, 60);
}

/// The probe prefixes that other engines lost matches with, against an oracle.
#[test]
fn prefixes_of_every_length_and_alignment() {
    for prefix_bits in [1, 7, 8, 9, 15, 16, 17, 25, 26, 28, 31, 32, 33, 48, 63, 64] {
        let tables = vec![
            Table::new(std::slice::from_ref(&(64 - prefix_bits..64))).unwrap(),
            Table::new(std::slice::from_ref(&(0..prefix_bits))).unwrap(),
        ];
        let design = TableDesign::new(tables, 0).unwrap();
        check_in_every_state(&design, &[0, 1], u64::from(prefix_bits), 150);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_values_and_any_design(
        seed: u64,
        blocks in 1u32..9,
        max_distance in 0u32..=6,
        stored in proptest::collection::vec(any::<u64>(), 1..40),
    ) {
        prop_assume!(blocks > max_distance);
        let Ok(design) = TableDesign::choose(blocks, max_distance) else { return Ok(()) };
        let scratch = Scratch::new();
        let store = scratch.create(&design);
        let mut truth = BruteForce::default();
        let mut random = Random(seed);
        for (i, &value) in stored.iter().enumerate() {
            for (j, flips) in (0..=max_distance).enumerate() {
                let id = format!("{i}-{j}").into_bytes();
                let value = Fingerprint::new(random.flipped(value, flips));
                store.insert(&id, &value).unwrap();
                truth.documents.insert(id, value);
            }
        }
        for &value in &stored {
            for distance in 0..=max_distance {
                assert_same(&store, &truth, Fingerprint::new(value), distance, "in memory");
            }
        }
    }
}
