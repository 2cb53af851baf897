//! Real data sets with known truth; each test skips with a message where its set is absent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use nearstone::{Fingerprint, SimhashStore, TableDesign};

use crate::common::{Scratch, data};

pub(crate) fn gunzip(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

fn hex(text: &str) -> Fingerprint {
    text.parse().unwrap()
}

/// The distinct sketches within 3 bits, by distance, from the store.
fn near(store: &SimhashStore, query: Fingerprint) -> BTreeSet<(u32, Fingerprint)> {
    let matches = store.query(&query, 3).unwrap();
    matches.iter().map(|m| (m.distance, store.get(&m.id).unwrap().unwrap().sketch)).collect()
}

/// The answers to the queries of a set of fingerprints, live and after reopening, are those of brute
/// force; returns the store.
fn queries_agree(folder: &Path, set: &str) -> (Scratch, SimhashStore) {
    let scratch = Scratch::new();
    let mut store = scratch.create(&TableDesign::default());
    let mut stored = BTreeSet::new();
    for (row, chunk) in (0u32..).zip(gunzip(&folder.join(format!("{set}_simhash64.u64le.gz"))).chunks_exact(8)) {
        let value = Fingerprint::new(u64::from_le_bytes(chunk.try_into().unwrap()));
        store.insert(row.to_be_bytes(), &value).unwrap();
        stored.insert(value);
    }
    let table = String::from_utf8(gunzip(&folder.join(format!("{set}_queries_d10.tsv.gz")))).unwrap();
    let mut truth: BTreeMap<Fingerprint, BTreeSet<(u32, Fingerprint)>> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let distance: u32 = columns[2].parse().unwrap();
        if distance <= 3 {
            truth.entry(hex(columns[0])).or_default().insert((distance, hex(columns[1])));
        }
    }
    let queries = std::fs::read_to_string(folder.join(format!("{set}_queries.txt"))).unwrap();
    for state in ["live", "reopened"] {
        for query in queries.lines().map(hex) {
            let mut expected = truth.get(&query).cloned().unwrap_or_default();
            // The table leaves the value itself out.
            if stored.contains(&query) {
                expected.insert((0, query));
            }
            assert_eq!(near(&store, query), expected, "{set} {state} {query}");
        }
        if state == "live" {
            drop(store);
            store = scratch.open();
        }
    }
    (scratch, store)
}

#[test]
fn package_summaries_are_answered_as_brute_force_answers() {
    let Some(folder) = data("fingerprints") else { return };
    let (_scratch, store) = queries_agree(&folder, "pypi");
    // One value is held 4,910 times, and is one candidate in each table that it is found in.
    let mut holders: BTreeMap<Fingerprint, u32> = BTreeMap::new();
    for document in store.iter().unwrap() {
        *holders.entry(document.unwrap().sketch).or_default() += 1;
    }
    let (&value, &count) = holders.iter().max_by_key(|&(_, count)| count).unwrap();
    assert_eq!(count, 4910);
    let same = store.query(&value, 0).unwrap();
    assert_eq!((same.len(), same.stats().probes, same.stats().candidates), (4910, 0, 1), "its holders tell");
    let near = store.query(&value, 3).unwrap();
    let block = |sketch: &Fingerprint, table: u32| sketch.bits() << (16 * table) >> 48;
    let bucket = |table| holders.keys().filter(|other| block(other, table) == block(&value, table)).count() as u64;
    assert_eq!(
        (near.stats().probes, near.stats().candidates),
        (4, (0..4).map(bucket).sum()),
        "the buckets of its prefixes, each value once"
    );
}

#[test]
fn package_descriptions_are_answered_as_brute_force_answers() {
    let Some(folder) = data("fingerprints") else { return };
    queries_agree(&folder, "debian");
}

/// The program on the licences: the figures add up, the bytes do not depend on the run or the threads,
/// and every pair that is reported is truly near: by the exact Jaccard index of word 5-shingles, at least
/// .7, and at least .85 for 9 of 10.
#[test]
fn licences_are_deduplicated_the_same_each_time_and_truly() {
    let Some(folder) = data("spdx_licenses") else { return };
    let scratch = Scratch::new();
    let rows = scratch.dir.path().join("duplicates.jsonl");
    let run = |threads: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_nearstone"))
            .args(["dedup", "--threads", threads, "--duplicates", rows.to_str().unwrap()])
            .arg(folder.join("licenses.jsonl.gz"))
            .output()
            .unwrap();
        assert!(output.status.success());
        (output.stdout, std::fs::read_to_string(&rows).unwrap())
    };
    let (kept, duplicates) = run("1");
    for threads in ["1", "2", "2"] {
        assert_eq!(run(threads), (kept.clone(), duplicates.clone()));
    }
    let kept = String::from_utf8(kept).unwrap().lines().count();
    assert_eq!(kept + duplicates.lines().count(), 728);
    let table = std::fs::read_to_string(folder.join("near_pairs_w5_j03.tsv")).unwrap();
    let mut jaccard: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (a, b, j) = (columns[0], columns[1], columns[2].parse().unwrap());
        jaccard.insert((a, b), j);
        jaccard.insert((b, a), j);
    }
    let mut found: Vec<f64> = duplicates
        .lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let pair = (row["id"].as_str().unwrap(), row["duplicate_of"].as_str().unwrap());
            *jaccard.get(&pair).unwrap_or(&0.0)
        })
        .collect();
    found.sort_by(f64::total_cmp);
    assert!(found.len() > 60 && found[0] >= 0.7 && found[found.len() / 10] >= 0.85, "{found:?}");
}
