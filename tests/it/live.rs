//! Live tables that are opened, and written to while they are asked.

use std::sync::atomic::{AtomicBool, Ordering};

use nearstone::{Fingerprint, Options, SimhashStore, TableDesign};

use crate::common::{BruteForce, Random, Scratch, assert_same, go_on, little, small};

fn insert(store: &SimhashStore, truth: &mut BruteForce, id: u64, value: u64) {
    store.insert(id.to_string(), &Fingerprint::new(value)).unwrap();
    truth.documents.insert(id.to_string().into(), Fingerprint::new(value));
}

/// Answers stay those of brute force while a table that was opened with entries is asked many times and others write to it.
#[test]
fn a_live_table_that_was_opened_is_asked_without_a_miss_while_others_write() {
    let mut random = Random(31);
    let scratch = Scratch::new();
    let mut truth = BruteForce::default();
    let store = scratch.create(&TableDesign::default());
    for id in 0..4_000 {
        insert(&store, &mut truth, id, random.next());
    }
    drop(store);
    let store = scratch.open();
    let stop = AtomicBool::new(false);
    let values: Vec<u64> = truth.documents.values().map(|sketch| sketch.bits()).collect();
    let written: Vec<u64> = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut random, mut written) = (Random(32), Vec::new());
            while !stop.load(Ordering::Relaxed) {
                let value = random.next();
                store.insert(format!("new-{}", written.len()), &Fingerprint::new(value)).unwrap();
                written.push(value);
            }
            written
        });
        for round in 0..8_000 {
            let value = values[round % values.len()];
            let query = Fingerprint::new(random.flipped(value, 3));
            assert!(store.query(&query, 3).unwrap().iter().any(|found| found.distance == 3), "{query}");
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    for (n, &value) in written.iter().enumerate() {
        truth.documents.insert(format!("new-{n}").into(), Fingerprint::new(value));
    }
    for value in written.iter().chain(&values).step_by(7) {
        assert_same(&store, &truth, Fingerprint::new(random.flipped(*value, 3)), 3, "after it");
    }
    assert!(store.verify(go_on).unwrap().is_sound());
}

/// With hardly any memory the tables are read as they are.
#[test]
fn live_tables_that_are_too_large_for_the_memory_are_read() {
    let mut random = Random(33);
    let scratch = Scratch::new();
    let mut truth = BruteForce::default();
    let options = Options::new().cache_bytes(64 << 10).write_buffer_bytes(1);
    let store = SimhashStore::create(scratch.path(), &TableDesign::default(), &options).unwrap();
    for id in 0..3_000 {
        insert(&store, &mut truth, id, random.next());
        if id == 1_500 {
            store.seal(&little(), go_on).unwrap();
        }
    }
    for id in 0..300 {
        insert(&store, &mut truth, id, random.next());
    }
    let values: Vec<u64> = truth.documents.values().map(|sketch| sketch.bits()).collect();
    for value in values.iter().step_by(10) {
        assert_same(&store, &truth, Fingerprint::new(random.flipped(*value, 3)), 3, "live and sealed");
    }
    drop(store);
    let store = SimhashStore::open(scratch.path(), &small()).unwrap();
    for value in values.iter().step_by(10) {
        assert_same(&store, &truth, Fingerprint::new(random.flipped(*value, 2)), 4, "opened again");
    }
}

/// What queries take into memory leaves less of it to blocks of files, though nothing is written.
#[test]
fn all_that_is_kept_is_within_the_memory_for_it() {
    const CACHE: usize = 8 << 20;
    let mut random = Random(34);
    let scratch = Scratch::new();
    let options = Options::new().cache_bytes(CACHE).write_buffer_bytes(4 << 20);
    let store = SimhashStore::create(scratch.path(), &TableDesign::default(), &options).unwrap();
    let values: Vec<u64> = (0..50_000).map(|_| random.next()).collect();
    for (id, &value) in values.iter().enumerate() {
        let payload: Vec<u8> = (0..25).flat_map(|_| random.next().to_le_bytes()).collect();
        store.insert_with(id.to_string(), &Fingerprint::new(value), &payload).unwrap();
    }
    store.flush().unwrap();
    drop(store);
    for is_read_only in [false, true] {
        let path = scratch.path();
        let store = if is_read_only {
            SimhashStore::open_read_only(path, &options)
        } else {
            SimhashStore::open(path, &options)
        };
        let store = store.unwrap();
        for id in 0..values.len() {
            assert!(store.get(id.to_string()).unwrap().is_some());
        }
        let before = store.stats().unwrap().cache_bytes;
        for &value in &values {
            assert_eq!(store.query(&Fingerprint::new(value), 2).unwrap().len(), 1);
        }
        let after = store.stats().unwrap().cache_bytes;
        let most = CACHE as u64 + (CACHE as u64 >> 4);
        assert!(before > CACHE as u64 / 2 && before <= most && after <= most, "{before}, {after}");
    }
}
