//! Exactness by probes wherever they are possible: small stores would read a table from end to end instead.

mod model;
mod retention;

use super::claims::{Claim, Claims};
use super::query::query;
use super::sketch::{Ask, Way};
use super::work::Limits;
use super::{Options, SimhashStore};
use crate::{Fingerprint, TableDesign};

/// More than this would take long, and a scan in any store that fits into a test.
const MOST_PROBES: u64 = 12_000;

/// The n-th of a sequence of uniform values.
fn value(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A value with exactly `count` bits flipped, others for each seed.
fn flipped(bits: u64, count: u32, seed: u64) -> u64 {
    let mut mask = 0u64;
    let mut n = seed << 20;
    while mask.count_ones() < count {
        n += 1;
        mask |= 1 << (value(n) % 64);
    }
    bits ^ mask
}

/// Uniform values, clusters, and values that lie within 2 bits of one, in one list.
fn values() -> Vec<u64> {
    let uniform = (0..40).map(value);
    let clustered = (0..60).map(|n| flipped(value(1_000 + n % 4), u32::try_from(n % 14).unwrap(), n));
    let near_one = (0..40).map(|n| flipped(0xabab_abab_abab_abab, u32::try_from(n % 3).unwrap(), n));
    uniform.chain(clustered).chain(near_one).collect()
}

/// Asks at every distance from 0 to 16; returns how many of the distances were answered by probes.
fn check(design: &TableDesign) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new().cache_bytes(4 << 20).write_buffer_bytes(4 << 20);
    let store = SimhashStore::create(dir.path().join("store"), design, &options).unwrap();
    let values = values();
    for (n, &value) in values.iter().enumerate() {
        store.insert(n.to_string(), &Fingerprint::new(value)).unwrap();
    }
    let mut answered = 0;
    for distance in 0..=TableDesign::MAX_DISTANCE {
        let Some(probes) = design.probes_for(distance).filter(|probes| probes.total() <= MOST_PROBES) else { continue };
        answered += 1;
        // One of each kind of value.
        for of in [3, 50, 75, 120] {
            let asked = Fingerprint::new(flipped(values[of], distance, of as u64 + 7));
            let answer = |way| {
                let ask = Ask { sketch: &asked, max_distance: distance, way };
                query(&store.shared, &ask, Limits::default()).unwrap()
            };
            let (answer, of_tables) = (answer(Way::Probes), answer(Way::Tables));
            assert_eq!(answer, of_tables, "{design} at {distance}");
            assert_eq!((answer.stats().scans, answer.stats().probes), (0, probes.total()), "{design} at {distance}");
            let near = values.iter().enumerate().map(|(n, &v)| (Fingerprint::new(v).distance(asked), n.to_string()));
            let mut near: Vec<_> = near.filter(|&(d, _)| d <= distance).collect();
            near.sort();
            let found: Vec<_> = answer.iter().map(|m| (m.distance, m.id_lossy().into_owned())).collect();
            assert_eq!(found, near, "{design} at {distance}");
        }
    }
    answered
}

/// Each construction at each distance that it can be meant for.
#[test]
fn every_construction_by_probes_at_every_distance() {
    let mut designs: Vec<TableDesign> = Vec::new();
    let mut add = |design: TableDesign| {
        // What differs in the distance that it is meant for alone is the same store.
        if designs.iter().all(|other| other.tables() != design.tables()) {
            designs.push(design);
        }
    };
    for distance in 0..=TableDesign::MAX_DISTANCE {
        // One block more than errors can always be had; two more give too many tables from distance 10 on.
        add(TableDesign::choose(distance + 1, distance).unwrap());
        match TableDesign::choose(distance + 2, distance) {
            Ok(design) => add(design),
            Err(e) => assert!(distance >= 10, "{distance}: {e}"),
        }
        match TableDesign::two_level(distance + 1, distance + 1, distance) {
            Ok(design) => add(design),
            // For distance 0 the first cut leaves nothing to cut again.
            Err(e) => assert!(distance == 0 || distance >= 8, "{distance}: {e}"),
        }
        for (blocks, chosen) in [(1, 1), (2, 1), (3, 1), (5, 2), (6, 2), (7, 4), (8, 2)] {
            match TableDesign::combine(blocks, chosen, distance) {
                Ok(design) => add(design.pruned()),
                // Long prefixes take too many probes for large distances.
                Err(e) => assert!(distance >= 5, "{blocks}, {chosen} for {distance}: {e}"),
            }
        }
    }
    add(TableDesign::two_level(4, 5, 3).unwrap());
    add(TableDesign::two_level(5, 4, 3).unwrap());
    let answered: usize = designs.iter().map(check).sum();
    assert!(designs.len() > 50 && answered > 500, "{} designs, {answered} distances", designs.len());
}

/// A record of more changes than it holds says so, instead of leaving some out.
#[test]
fn a_record_has_all_changes_or_says_that_it_has_not() {
    let claims = Claims::<Fingerprint>::default();
    for count in [0, 1, 1_000, 20_000] {
        let record = claims.record();
        for n in 0..count {
            claims.hold(Claim::on([n]).and(&Fingerprint::new(n), 0)).change(|| ());
        }
        let expected: Vec<_> = (0..count).map(Fingerprint::new).collect();
        assert_eq!(record.changed(), (count <= 1_000).then_some(expected), "{count}");
    }
    // One that begins while a change is under way has it.
    let held = claims.hold(Claim::on([1]).and(&Fingerprint::new(7), 0));
    let changed = held.change(|| claims.record().changed());
    assert_eq!(changed, Some(vec![Fingerprint::new(7)]));
}
