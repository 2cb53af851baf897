//! Real data sets with known truth; each test skips with a message where its set is absent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use nearstone::input::{Fields, Inputs};
use nearstone::{Fingerprint, Simhash, SimhashStore, TableDesign};

use crate::common::{Scratch, data};

fn gunzip(path: &Path) -> Vec<u8> {
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
    let matches = store.query(&value, 0).unwrap();
    assert_eq!(matches.len(), 4910);
    let bucket = holders.keys().filter(|other| other.bits() >> 48 == value.bits() >> 48).count() as u64;
    assert_eq!(
        (matches.stats().probes, matches.stats().candidates),
        (1, bucket),
        "its table's bucket, each value once"
    );
}

#[test]
fn package_descriptions_are_answered_as_brute_force_answers() {
    let Some(folder) = data("fingerprints") else { return };
    queries_agree(&folder, "debian");
}

/// Every pair that is reported shares most of its shingles, by the exact Jaccard index of the set.
#[test]
fn reported_licences_are_truly_near() {
    let Some(folder) = data("spdx_licenses") else { return };
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let simhash = Simhash::default();
    let mut shingles: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut pairs = 0;
    for raw in Inputs::new([folder.join("licenses.jsonl.gz")]) {
        let document = Fields::default().parse(&raw.unwrap()).unwrap();
        let fingerprint = simhash.fingerprint(&document.text).unwrap();
        let mut own = BTreeSet::new();
        simhash.analyser().shingles(&document.text, |shingle| {
            own.insert(shingle.to_owned());
        });
        if let nearstone::Admission::Duplicate(of) = store.check_and_insert(&document.id, &fingerprint, 3).unwrap() {
            let other = &shingles[of.id_lossy().as_ref()];
            let shared = own.intersection(other).count();
            let all = own.len() + other.len() - shared;
            assert!(shared * 2 > all, "{} and {}: {shared} of {all} shingles", document.id, of.id_lossy());
            pairs += 1;
        }
        shingles.insert(document.id, own);
    }
    assert_eq!((shingles.len(), pairs > 80), (728, true));
}
