//! Every kind of design answers every distance as brute force does, and the doctor tells what is wrong with data.

use nearstone::{Aim, Fingerprint, Planner, SimhashStore, TableDesign};

use crate::common::{BruteForce, Random, Scratch, assert_same, data};

/// Uniform values, clusters within `spread` bits, and values that all lie within 2 bits of one.
fn data_sets(seed: u64) -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Random(seed);
    let centres: Vec<u64> = (0..5).map(|_| random.next()).collect();
    let uniform = (0..80).map(|_| random.next()).collect();
    let clustered = (0..80)
        .map(|i| {
            let flips = u32::try_from(random.below(13)).unwrap();
            random.flipped(centres[i % centres.len()], flips)
        })
        .collect();
    let near_one = (0..80)
        .map(|_| {
            let flips = u32::try_from(random.below(3)).unwrap();
            random.flipped(0xabab_abab_abab_abab, flips)
        })
        .collect();
    vec![("uniform", uniform), ("clustered", clustered), ("all near", near_one)]
}

/// Compares a store of these values with brute force at every distance from 0 to 16.
fn check(design: &TableDesign, kind: &str, values: &[u64], seed: u64, queries: usize) {
    let mut random = Random(seed);
    let scratch = Scratch::new();
    let mut store = scratch.create(design);
    let mut truth = BruteForce::default();
    for (i, &value) in values.iter().enumerate() {
        let id = i.to_string().into_bytes();
        store.insert(&id, &Fingerprint::new(value)).unwrap();
        truth.documents.insert(id, Fingerprint::new(value));
    }
    for state in ["live", "reopened"] {
        if state == "reopened" {
            store.compact().unwrap();
            drop(store);
            store = scratch.open();
        }
        for _ in 0..queries {
            let of = values[usize::try_from(random.below(values.len() as u64)).unwrap()];
            for distance in 0..=TableDesign::MAX_DISTANCE {
                let query = Fingerprint::new(random.flipped(of, distance));
                assert_same(&store, &truth, query, distance, &format!("{kind}, {state}"));
            }
        }
    }
}

/// Each construction at each distance that it is meant for, asked for distances above and below it.
#[test]
fn every_construction_at_every_distance() {
    let mut designs = vec![];
    for distance in 0..=TableDesign::MAX_DISTANCE {
        // Some of those that the planner knows: they are all of them, pruned.
        for (blocks, chosen) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 2), (7, 1), (7, 4), (8, 1)] {
            designs.extend(TableDesign::combine(blocks, chosen, distance).map(TableDesign::pruned));
        }
        designs.extend(TableDesign::choose(distance + 1, distance));
        designs.extend(TableDesign::two_level(distance + 1, distance + 1, distance));
    }
    assert!(designs.len() > 100, "{}", designs.len());
    for (seed, design) in designs.iter().enumerate() {
        let (kind, values) = data_sets(seed as u64).swap_remove(seed % 3);
        check(design, kind, &values, seed as u64, 1);
    }
}

#[test]
fn the_designs_of_distance_3_on_all_kinds_of_values() {
    for name in ["4x1", "5x1", "6x1", "10x1", "16x1", "20x1", "2x33", "3x22"] {
        let design = TableDesign::named(name, 3).unwrap();
        for (kind, values) in data_sets(7) {
            check(&design, kind, &values, 8, 2);
        }
    }
}

/// Real hashes of blank pages, all within two bits of one value: the worst case for tables.
#[test]
fn blank_pages_are_answered_as_brute_force_answers() {
    let Some(folder) = data("fingerprints") else { return };
    let table = std::fs::read_to_string(folder.join("phash_blank_pages.tsv")).unwrap();
    let hex = |line: &str| u64::from_str_radix(line.split('\t').nth(1).unwrap(), 16).unwrap();
    let values: Vec<u64> = table.lines().skip(1).map(hex).collect();
    assert!(values.len() > 700, "{}", values.len());
    for design in [TableDesign::default(), TableDesign::named("6", 3).unwrap(), TableDesign::combine(4, 1, 12).unwrap()]
    {
        check(&design, "blank pages", &values, 3, 2);
    }
}

/// The planner's predictions on uniform values: probes exactly, candidates within 5 %, bytes within 10 %.
#[test]
fn predictions_hold_on_uniform_values() {
    const DOCUMENTS: u64 = 100_000;
    for name in ["4x1", "2x33"] {
        let scratch = Scratch::new();
        let design = TableDesign::named(name, 3).unwrap();
        let store = scratch.create(&design);
        let mut random = Random(17);
        for n in 0..DOCUMENTS {
            store.insert(n.to_be_bytes(), &Fingerprint::new(random.next())).unwrap();
        }
        store.compact().unwrap();
        let plan = Planner::new(DOCUMENTS, 3).also(7, 0.1).predict(&design);
        for planned in &plan.queries {
            // One that reads a table from end to end tells nothing more when it is repeated.
            let queries = if planned.is_scan { 3 } else { 3000 };
            let (mut probes, mut candidates) = (0, 0);
            for _ in 0..queries {
                let matches = store.query(&Fingerprint::new(random.next()), planned.distance).unwrap();
                probes += matches.stats().probes;
                candidates += matches.stats().candidates;
                assert_eq!(matches.stats().scans > 0, planned.is_scan);
            }
            assert_eq!(probes, planned.probes * queries, "{name}");
            #[expect(clippy::cast_precision_loss, reason = "an average")]
            let measured = candidates as f64 / queries as f64;
            // Hardly any candidates are few to average over.
            assert!(
                (measured - planned.candidates).abs() <= planned.candidates * 0.05 + 0.01,
                "{name}: {measured}, {planned:?}"
            );
        }
        let stats = store.stats().unwrap();
        #[expect(clippy::cast_precision_loss, reason = "an average")]
        let bytes = (stats.table_bytes + stats.document_bytes + stats.holder_bytes) as f64 / DOCUMENTS as f64;
        assert!((bytes - plan.bytes_per_document).abs() < bytes * 0.1, "{name}: {bytes}, {}", plan.bytes_per_document);
    }
}

fn filled(scratch: &Scratch, values: impl IntoIterator<Item = u64>) -> SimhashStore {
    let store = scratch.create(&TableDesign::default());
    for (n, value) in values.into_iter().enumerate() {
        store.insert((n as u64).to_be_bytes(), &Fingerprint::new(value)).unwrap();
    }
    store
}

#[test]
fn a_sound_store_gets_a_clean_bill() {
    let scratch = Scratch::new();
    let mut random = Random(1);
    let store = filled(&scratch, (0..20_000).map(|_| random.next()));
    let found = store.doctor(50).unwrap();
    assert_eq!((found.documents, found.sketches), (20_000, 20_000));
    assert_eq!((found.self_test.queries, found.self_test.missed, found.self_test.wrong), (200, 0, 0));
    assert!(found.self_test.near >= 200, "each finds at least the value that it was made of");
    assert!(found.advice.is_empty(), "{:?}", found.advice);
    assert!((found.measured_candidates / found.predicted_candidates - 1.0).abs() < 0.1, "{found:?}");
    assert!(found.tables.iter().all(|table| table.entries == 20_000 && (table.skew - 1.0).abs() < 0.1));
}

/// 64 bits of which 32 live: five years unnoticed elsewhere.
#[test]
fn dead_bits_are_told() {
    let scratch = Scratch::new();
    let mut random = Random(2);
    let store = filled(&scratch, (0..5_000).map(|_| random.next() & 0xffff_ffff));
    let found = store.doctor(10).unwrap();
    assert_eq!(found.bits.as_ref().unwrap().dead, (0..32).collect::<Vec<u32>>());
    assert!(found.advice.iter().any(|advice| advice.contains("hardly ever change")), "{:?}", found.advice);
    assert_eq!((found.self_test.missed, found.self_test.wrong), (0, 0));
    // All values lie in one bucket of the first table.
    assert_eq!(found.tables[0].largest[0], (0, found.sketches));
}

/// A doctor that cannot fail would be none: what is missing from the tables is missed, what was never
/// a document is not returned.
#[test]
fn the_self_test_finds_a_table_that_lost_its_entries() {
    let scratch = Scratch::new();
    let mut random = Random(3);
    drop(filled(&scratch, (0..3_000).map(|_| random.next())));
    let options = rocksdb::Options::default();
    let names = rocksdb::DB::list_cf(&options, scratch.path()).unwrap();
    let families = names.iter().map(|name| rocksdb::ColumnFamilyDescriptor::new(name, rocksdb::Options::default()));
    let database = rocksdb::DB::open_cf_descriptors(&options, scratch.path(), families).unwrap();
    let table = database.cf_handle("table02.2.0").unwrap();
    let keys: Vec<_> =
        database.iterator_cf(table, rocksdb::IteratorMode::Start).map(|entry| entry.unwrap().0).collect();
    assert_eq!(keys.len(), 3_000);
    for key in &keys {
        database.delete_cf(table, key).unwrap();
    }
    database.flush_cf(table).unwrap();
    drop(database);
    let found = scratch.open().doctor(50).unwrap();
    assert!(found.self_test.missed > 0, "{:?}", found.self_test);
    assert_eq!(found.self_test.wrong, 0);
    assert!(found.advice.iter().any(|advice| advice.contains("differ from a full scan")));
}

#[test]
fn repeats_are_told_and_an_empty_store_is_sound() {
    let scratch = Scratch::new();
    let mut random = Random(4);
    let store = filled(&scratch, (0..3_000).map(|n| if n % 5 == 0 { 7 } else { random.next() }));
    let found = store.doctor(10).unwrap();
    assert_eq!(found.most_repeated[0], (Fingerprint::new(7), 600));
    assert!(found.advice.iter().any(|advice| advice.contains("0000000000000007")), "{:?}", found.advice);
    let empty = Scratch::new();
    let found = empty.create(&TableDesign::default()).doctor(10).unwrap();
    assert_eq!((found.documents, found.bits, found.self_test.queries), (0, None, 0));
    assert!(found.advice.is_empty(), "{:?}", found.advice);
}

/// Real fingerprints of package descriptions: sound beyond their true repeats.
#[test]
fn package_descriptions_get_a_clean_bill() {
    use std::io::Read;
    let Some(folder) = data("fingerprints") else { return };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(folder.join("debian_simhash64.u64le.gz")).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let scratch = Scratch::new();
    let values = bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap()));
    let found = filled(&scratch, values).doctor(20).unwrap();
    let bits = found.bits.unwrap();
    assert_eq!((found.documents, found.sketches), (35_841, 34_546));
    assert!(bits.dead.is_empty() && bits.mirrored.is_empty() && found.advice.is_empty(), "{:?}", found.advice);
    assert_eq!((found.self_test.missed, found.self_test.wrong), (0, 0));
}

/// The query reads the table where that is cheaper, says so, and finds the same.
#[test]
fn a_small_store_is_scanned_for_a_large_distance() {
    let scratch = Scratch::new();
    let mut random = Random(5);
    let store = filled(&scratch, (0..2_000).map(|_| random.next()));
    let matches = store.query(&Fingerprint::new(0), 12).unwrap();
    assert_eq!((matches.stats().scans, matches.stats().candidates, matches.stats().tables.len()), (1, 2_000, 1));
    assert_eq!(matches.stats().tables[0].radius, None);
    let matches = store.query(&Fingerprint::new(0), 3).unwrap();
    assert_eq!((matches.stats().scans, matches.stats().probes, matches.stats().tables.len()), (0, 4, 4));
}

#[test]
fn a_plan_for_an_aim() {
    let plan = TableDesign::plan(1_000_000, 3, Aim::Reads).unwrap();
    let scratch = Scratch::new();
    assert_eq!(scratch.create(&plan.design).design(), &plan.design);
}
