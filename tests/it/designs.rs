//! Every kind of design answers every distance as brute force does, and the doctor tells what is wrong with data.

use std::collections::BTreeSet;

use nearstone::{Aim, Fingerprint, LoadOptions, Options, Planner, SimhashStore, TableDesign};

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

/// As is cheapest, by probes or a scan; that each construction is exact by probes at every distance is
/// tested inside the crate, where a scan can be forbidden.
#[test]
fn constructions_at_every_distance() {
    let mut designs = vec![];
    for distance in [0, 1, 2, 3, 4, 7, 12, 16] {
        designs.push(TableDesign::choose(distance + 1, distance).unwrap());
        designs.push(TableDesign::combine(4, 1, distance).unwrap());
    }
    designs.push(TableDesign::two_level(4, 4, 3).unwrap());
    for (seed, design) in designs.iter().enumerate() {
        for (kind, values) in data_sets(seed as u64) {
            check(design, kind, &values, seed as u64, 1);
        }
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

/// The planner's predictions on uniform values: probes exactly, candidates within 5 % and what chance adds,
/// bytes within 10 %. `cargo bench --bench costs` asserts the same at 10^6 and more.
#[test]
fn predictions_hold_on_uniform_values() {
    const DOCUMENTS: u64 = 100_000;
    for name in ["4x1", "6x1", "10x1", "2x33"] {
        let scratch = Scratch::new();
        let design = TableDesign::named(name, 3).unwrap();
        let store = scratch.create(&design);
        let mut random = Random(17);
        for n in 0..DOCUMENTS {
            store.insert(n.to_be_bytes(), &Fingerprint::new(random.next())).unwrap();
        }
        store.seal(&LoadOptions::new(), |_| std::ops::ControlFlow::Continue(())).unwrap();
        let plan = Planner::new(DOCUMENTS, 3).also(7, 0.1).predict(&design);
        for planned in &plan.queries {
            // One that reads a table from end to end tells nothing more when it is repeated.
            let queries = if planned.is_scan { 3 } else { 5000 };
            let (mut probes, mut candidates) = (0, 0);
            for _ in 0..queries {
                let matches = store.query(&Fingerprint::new(random.next()), planned.distance).unwrap();
                probes += matches.stats().probes;
                candidates += matches.stats().candidates;
                assert_eq!(matches.stats().scans > 0, planned.is_scan);
            }
            assert_eq!(probes, planned.probes * queries, "{name}");
            #[expect(clippy::cast_precision_loss, reason = "a sum for an average")]
            let (measured, predicted) = (candidates as f64, planned.candidates * queries as f64);
            let allowed = predicted * 0.05 + 4.0 * predicted.sqrt();
            assert!((measured - predicted).abs() <= allowed, "{name}: {measured}, {planned:?}");
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

/// Changes the entries of a table of a closed store by hand.
fn with_table(path: &std::path::Path, name: &str, change: impl FnOnce(&rocksdb::DB, &rocksdb::ColumnFamily)) {
    let options = rocksdb::Options::default();
    let names = rocksdb::DB::list_cf(&options, path).unwrap();
    let families = names.iter().map(|name| rocksdb::ColumnFamilyDescriptor::new(name, rocksdb::Options::default()));
    let database = rocksdb::DB::open_cf_descriptors(&options, path, families).unwrap();
    let table = database.cf_handle(name).unwrap();
    change(&database, table);
    database.flush_cf(table).unwrap();
}

/// A doctor that cannot fail would be none: each table in turn loses all of its entries, or a few.
#[test]
fn the_doctor_finds_a_table_that_lost_entries() {
    for (table, lost) in [("table00.2.0", 3_000), ("table02.2.0", 3_000), ("table00.2.0", 5), ("table03.2.0", 5)] {
        let scratch = Scratch::new();
        let mut random = Random(3);
        drop(filled(&scratch, (0..3_000).map(|_| random.next())));
        with_table(&scratch.path(), table, |database, family| {
            let keys = database.iterator_cf(family, rocksdb::IteratorMode::Start).take(lost);
            let keys: Vec<_> = keys.map(|entry| entry.unwrap().0).collect();
            assert_eq!(keys.len(), lost);
            for key in keys {
                database.delete_cf(family, key).unwrap();
            }
        });
        let found = scratch.open().doctor(50).unwrap();
        assert!(!found.is_sound());
        assert_eq!((found.missing_entries, found.self_test.wrong), (lost as u64, 0), "{table}");
        assert!(lost < 3_000 || found.self_test.missed > 0, "{table}: {:?}", found.self_test);
        assert!(found.advice.iter().any(|advice| advice.contains("damaged")));
        let doctor =
            std::process::Command::new(env!("CARGO_BIN_EXE_nearstone")).arg("doctor").arg(scratch.path()).output();
        assert_eq!(doctor.unwrap().status.code(), Some(1));
    }
}

/// A holder whose document has another sketch makes a wrong match, which the full scan does not make.
#[test]
fn the_doctor_finds_a_wrong_answer() {
    let scratch = Scratch::new();
    let mut random = Random(6);
    let values: Vec<u64> = (0..1_000).map(|_| random.next()).collect();
    drop(filled(&scratch, values.iter().copied()));
    with_table(&scratch.path(), "holders.8", |database, family| {
        // Every document becomes a holder of every hundredth sketch too.
        for value in values.iter().step_by(100) {
            let key = [&value.to_be_bytes()[..], &1u64.to_be_bytes()].concat();
            database.put_cf(family, key, b"").unwrap();
        }
    });
    let found = scratch.open().doctor(1_000).unwrap();
    assert!(found.self_test.wrong > 0 && !found.is_sound(), "{:?}", found.self_test);
    assert_eq!(found.missing_entries, 10, "holders without a document");
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

/// All values lie under one prefix of each table: the query probes some, and reads one from end to end
/// instead of the others.
#[test]
fn a_crowd_under_every_prefix_is_scanned_once_it_is_noticed() {
    let scratch = Scratch::new();
    let mut random = Random(8);
    // 60 bits are one of few patterns.
    let values: BTreeSet<u64> =
        (0..40_000).map(|_| random.below(1 << 15) * 0x0002_0004_0008_0001 % (1 << 62)).collect();
    let crowd: Vec<u64> =
        (0..30_000u64).map(|n| 0xabab_0000_0000_0000 | n).chain(values.into_iter().take(1_000)).collect();
    drop(filled(&scratch, crowd.iter().copied()));
    let asked = Fingerprint::new(0xabab_0000_0000_0123);
    let near = crowd.iter().filter(|&&value| Fingerprint::new(value).distance(asked) <= 3).count();
    // In memory, to compare with all of the crowd is cheaper than to read the table.
    for (cache_bytes, scans) in [(64 << 10, 1), (64 << 20, 0)] {
        let options = Options::new().cache_bytes(cache_bytes).read_threads(1);
        let store = SimhashStore::open(scratch.path(), &options).unwrap();
        let matches = store.query(&asked, 3).unwrap();
        assert_eq!((matches.len(), matches.stats().scans), (near, scans));
        assert!(scans == 0 || matches.stats().candidates < 3 * crowd.len() as u64, "{:?}", matches.stats());
    }
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
