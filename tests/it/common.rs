//! What the themes share: stores in temporary directories, values from a seed, brute force.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use nearstone::{Fingerprint, LoadOptions, Options, Progress, SimhashStore, TableDesign};
use tempfile::TempDir;

/// A store in a directory of its own that goes away with it.
pub(crate) struct Scratch {
    pub(crate) dir: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    pub(crate) fn create(&self, design: &TableDesign) -> SimhashStore {
        SimhashStore::create(self.path(), design, &small()).unwrap()
    }

    pub(crate) fn open(&self) -> SimhashStore {
        SimhashStore::open(self.path(), &small()).unwrap()
    }
}

/// Options with little memory, so that tests run side by side.
pub(crate) fn small() -> Options {
    Options::new().cache_bytes(8 << 20).write_buffer_bytes(16 << 20)
}

/// Values from a seed: splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// The value with exactly `flips` of its bits flipped.
    pub(crate) fn flipped(&mut self, value: u64, flips: u32) -> u64 {
        let mut mask = 0u64;
        while mask.count_ones() < flips {
            mask |= 1 << self.below(64);
        }
        value ^ mask
    }
}

/// The stored documents, and the answers that a store must give about them.
#[derive(Default, Clone)]
pub(crate) struct BruteForce {
    pub(crate) documents: BTreeMap<Vec<u8>, Fingerprint>,
}

impl BruteForce {
    pub(crate) fn near(&self, query: Fingerprint, max_distance: u32) -> Vec<(u32, Vec<u8>)> {
        let all = self.documents.iter().map(|(id, stored)| (stored.distance(query), id.clone()));
        let mut near: Vec<_> = all.filter(|&(distance, _)| distance <= max_distance).collect();
        near.sort();
        near
    }
}

/// Asks the store and brute force, and compares every match.
pub(crate) fn assert_same(
    store: &SimhashStore,
    truth: &BruteForce,
    query: Fingerprint,
    max_distance: u32,
    state: &str,
) {
    let answer: Vec<(u32, Vec<u8>)> =
        store.query(&query, max_distance).unwrap().into_iter().map(|found| (found.distance, found.id)).collect();
    assert_eq!(answer, truth.near(query, max_distance), "{state}: {query} within {max_distance}, {}", store.design());
}

/// A folder of the real data sets, or `None` with a message where it is absent.
pub(crate) fn data(set: &str) -> Option<PathBuf> {
    let named = std::env::var_os("NEARSTONE_TEST_DATA").map(PathBuf::from);
    let is_named = named.is_some();
    let shared = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"));
    let folder = shared.join(set);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!is_named, "NEARSTONE_TEST_DATA has no data set {set}");
    // Past the harness, which keeps the output of tests that pass to itself.
    let _ =
        writeln!(std::io::stderr(), "skipped: no data set {set}; NEARSTONE_TEST_DATA names the folder that holds it");
    None
}

/// What lets a long step run to its end.
pub(crate) fn go_on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Bulk loading that has little memory, so that it goes through many runs.
pub(crate) fn little() -> LoadOptions {
    LoadOptions::new().memory_bytes(8 << 20)
}

/// Copies a folder and all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.metadata().unwrap().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
