//! Faults in what is sealed: verification counts each kind, and repair takes the documents at their word.

use std::path::Path;

use nearstone::{Error, Fingerprint, SimhashStore, TableDesign};

use crate::common::{Scratch, go_on, little, small};

/// What becomes of a page: other bytes, or nothing.
type Change = dyn Fn(Vec<u8>) -> Option<Vec<u8>>;

/// Whether there are missing holders, orphan holders, missing entries, orphan entries, malformed ones.
type Faults = [bool; 5];

fn print(n: u64) -> Fingerprint {
    Fingerprint::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Takes a page out of a sealed family, or puts another one in its place.
fn damage(path: &Path, kind: &str, change: &Change) {
    let names = rocksdb::DB::list_cf(&rocksdb::Options::default(), path).unwrap();
    let name = names.iter().find(|name| name.starts_with(kind)).unwrap();
    let database = rocksdb::DB::open_cf(&rocksdb::Options::default(), path, &names).unwrap();
    let family = database.cf_handle(name).unwrap();
    let (key, page) = database.iterator_cf(&family, rocksdb::IteratorMode::Start).nth(3).unwrap().unwrap();
    match change(page.into_vec()) {
        Some(page) => database.put_cf(&family, key, page).unwrap(),
        None => database.delete_cf(&family, key).unwrap(),
    }
}

#[test]
fn faults_of_a_sealed_generation_are_counted_and_repaired() {
    const COUNT: u64 = 20_000;
    // What is damaged, and what of missing holders, orphan holders, missing entries, orphan entries, malformed ones is
    // found then, and whether repair mends it. The record counts otherwise too where documents or holders are gone.
    let lost = |_| None;
    let padding = |mut page: Vec<u8>| {
        *page.last_mut().unwrap() ^= 0x40;
        Some(page)
    };
    let other_value = |mut page: Vec<u8>| {
        let middle = page.len() / 2;
        page[middle] ^= 0x10;
        Some(page)
    };
    let cases: [(&str, &Change, Faults, bool); 7] = [
        ("document-pages", &lost, [false, true, false, false, true], true),
        ("holder-pages", &lost, [true, false, false, true, true], true),
        ("pages00", &lost, [false, false, true, false, false], true),
        ("pages02", &lost, [false, false, true, false, false], true),
        ("document-pages", &padding, [false, true, false, false, true], false),
        ("pages03", &padding, [false, false, false, false, true], true),
        ("pages03", &other_value, [false, false, true, true, false], true),
    ];
    for (kind, change, expected, is_mended) in cases {
        let scratch = Scratch::new();
        let store = scratch.create(&TableDesign::default());
        let mut loader = store.bulk_loader(&little()).unwrap();
        for n in 0..COUNT {
            loader.push(n.to_string(), &print(n)).unwrap();
        }
        loader.commit(go_on).unwrap();
        drop(store);
        damage(&scratch.path(), kind, change);
        let found = SimhashStore::open_read_only(scratch.path(), &small()).unwrap().verify(go_on).unwrap();
        let faults =
            [found.missing_holders, found.orphan_holders, found.missing_entries, found.orphan_entries, found.malformed];
        assert!(!found.is_sound() && !found.examples.is_empty(), "{kind}");
        assert_eq!(faults.map(|count| count > 0), expected, "{kind}: {found:?}");
        let repaired = SimhashStore::repair(scratch.path(), &small(), go_on);
        let is_found = |store: &SimhashStore, n| store.query(&print(n), 0).is_ok_and(|found| found.len() == 1);
        if !is_mended {
            // The documents are never guessed at: the store is as it was, with whatever of it can be read.
            assert!(matches!(repaired, Err(Error::Corrupt { .. })), "{repaired:?}");
            let store = scratch.open();
            assert!((0..COUNT).filter(|&n| is_found(&store, n)).count() as u64 > COUNT / 2);
            continue;
        }
        let repaired = repaired.unwrap().documents;
        assert_eq!(repaired < COUNT, kind == "document-pages", "{kind}");
        let store = scratch.open();
        assert!(store.verify(go_on).unwrap().is_sound(), "{kind}");
        assert_eq!((0..COUNT).filter(|&n| is_found(&store, n)).count() as u64, repaired, "{kind}");
    }
}
