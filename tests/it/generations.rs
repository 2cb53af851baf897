//! Loaded, sealed and live documents together: exact, whole, and each candidate once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nearstone::{Admission, Error, ErrorKind, Fingerprint, Limits, LoadOptions, SimhashStore, TableDesign};

use crate::common::{BruteForce, Random, Scratch, assert_same, copy, data, go_on, little, small};

fn load(store: &SimhashStore, documents: impl IntoIterator<Item = (Vec<u8>, Fingerprint)>) {
    let mut loader = store.bulk_loader(&little()).unwrap();
    for (id, print) in documents {
        loader.push(id, &print).unwrap();
    }
    loader.commit(go_on).unwrap();
}

/// Uniform values, clusters, and the edges of the key space.
fn values(random: &mut Random) -> Vec<u64> {
    let mut values: Vec<u64> = (0..150).map(|_| random.next()).collect();
    let centre = random.next();
    values.extend((0..150).map(|n| random.flipped(centre, n % 12)));
    values.extend([0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 0xffff_0000_0000_0000, 0xffff_ffff]);
    values.extend((0..64).map(|bit| 1 << bit));
    values
}

/// Every kind of design at every distance, with documents in one, two and three generations, some replaced, some
/// removed, before and after reopening.
#[test]
fn answers_are_those_of_brute_force_whatever_the_generations() {
    let designs = [
        TableDesign::choose(4, 3).unwrap(),
        TableDesign::choose(5, 3).unwrap(),
        TableDesign::choose(6, 3).unwrap(),
        TableDesign::two_level(4, 4, 3).unwrap(),
        TableDesign::combine(2, 1, 3).unwrap(),
        TableDesign::combine(3, 1, 3).unwrap(),
        TableDesign::choose(1, 0).unwrap(),
        TableDesign::choose(13, 12).unwrap(),
    ];
    for design in designs {
        let mut random = Random(7);
        let scratch = Scratch::new();
        let mut store = scratch.create(&design);
        let mut truth = BruteForce::default();
        let values = values(&mut random);
        let check = |store: &SimhashStore, truth: &BruteForce, random: &mut Random, state: &str| {
            for distance in 0..=TableDesign::MAX_DISTANCE {
                for _ in 0..2 {
                    let of = values[usize::try_from(random.below(values.len() as u64)).unwrap()];
                    assert_same(store, truth, Fingerprint::new(random.flipped(of, distance)), distance, state);
                }
            }
            assert!(store.verify(go_on).unwrap().is_sound(), "{state}");
            let stored: BTreeMap<_, _> = store.iter().unwrap().map(|d| d.map(|d| (d.id, d.sketch)).unwrap()).collect();
            assert_eq!(stored, truth.documents, "{state}");
            let mut by_fingerprint: Vec<_> = truth.documents.iter().map(|(id, print)| (*print, id.clone())).collect();
            by_fingerprint.sort();
            let found: Vec<_> = store.iter_by_fingerprint().unwrap().map(Result::unwrap).collect();
            assert_eq!(found, by_fingerprint, "{state}");
        };
        let print = |n: usize| Fingerprint::new(values[n % values.len()]);
        let id = |n: usize| format!("document {n}").into_bytes();
        for round in 0..2 {
            let first: Vec<_> = (0..300).map(|n| (id(n * 3), print(n * 7 + round))).collect();
            load(&store, first.clone());
            truth.documents.extend(first);
            check(&store, &truth, &mut random, "loaded");
            for n in 0..120 {
                let (id, print) = (id(n * 2), print(n * 5 + round));
                if n % 3 == 0 {
                    assert_eq!(store.delete(&id).unwrap(), truth.documents.remove(&id));
                } else {
                    assert_eq!(store.insert(&id, &print).unwrap(), truth.documents.insert(id, print));
                }
            }
            check(&store, &truth, &mut random, "live over sealed");
            // Stopped when the live generation was set aside: three generations from now on.
            assert!(matches!(store.seal(&little(), |_| ControlFlow::Break(())), Err(Error::Stopped { .. })));
            check(&store, &truth, &mut random, "frozen over sealed");
            for n in 100..200 {
                let (id, print) = (id(n), print(n * 11 + round));
                if n % 4 == 0 {
                    assert_eq!(store.delete(&id).unwrap(), truth.documents.remove(&id));
                } else {
                    assert_eq!(store.insert(&id, &print).unwrap(), truth.documents.insert(id, print));
                }
            }
            check(&store, &truth, &mut random, "live over frozen over sealed");
            drop(store);
            store = scratch.open();
            check(&store, &truth, &mut random, "reopened");
            if round == 1 {
                store.seal(&little(), go_on).unwrap();
                check(&store, &truth, &mut random, "sealed");
                drop(store);
                store = scratch.open();
                check(&store, &truth, &mut random, "sealed and reopened");
            }
        }
    }
}

#[test]
fn a_match_that_one_table_alone_finds_is_found_on_whichever_page() {
    let mut random = Random(77);
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::named("4x1", 3).unwrap());
    // All share one prefix of table 0, over many pages; they differ from the queries in each of the other blocks.
    let values: Vec<u64> = (0..6_000).map(|_| random.next() >> 16 | 0xabcd << 48).collect();
    load(&store, values.iter().enumerate().map(|(n, &value)| (n.to_string().into_bytes(), Fingerprint::new(value))));
    for value in values {
        let query = value ^ 1 << random.below(16) ^ 1 << (16 + random.below(16)) ^ 1 << (32 + random.below(16));
        let found = store.query(&Fingerprint::new(query), 3).unwrap();
        assert!(!found.is_empty(), "{query:x} misses {value:x}");
    }
}

#[test]
fn a_fingerprint_that_is_sealed_and_live_is_one_candidate_a_table() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let print = Fingerprint::new(0x0123_4567_89ab_cdef);
    load(&store, (0..5u8).map(|n| (vec![n], print)));
    assert_eq!(store.query(&print, 3).unwrap().stats().candidates, 4);
    store.insert("live", &print).unwrap();
    let found = store.query(&print, 3).unwrap();
    assert_eq!((found.len(), found.stats().candidates), (6, 4));
    assert!(store.seal(&little(), |_| ControlFlow::Break(())).is_err());
    store.insert("live too", &print).unwrap();
    let found = store.query(&print, 3).unwrap();
    assert_eq!((found.len(), found.stats().candidates), (7, 4));
    // A scan too meets it once.
    assert_eq!(store.query(&print, 16).unwrap().stats().candidates, 1);
    let report = store.seal(&little(), go_on).unwrap();
    assert_eq!((report.documents, report.sketches), (7, 1));
}

#[test]
fn the_last_of_an_id_counts_and_admission_sees_what_is_sealed() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let (a, b) = (Fingerprint::new(1 << 40), Fingerprint::new(u64::MAX));
    load(&store, [(b"x".to_vec(), a), (b"y".to_vec(), a), (b"x".to_vec(), b)]);
    assert_eq!(store.get("x").unwrap().unwrap().sketch, b);
    assert_eq!(store.query(&a, 0).unwrap().as_slice().len(), 1);
    let near = Fingerprint::new(a.bits() | 7);
    let Admission::Duplicate(of) = store.check_and_insert("z", &near, 3).unwrap() else { panic!("it is near y") };
    assert_eq!((of.id, of.distance), (b"y".to_vec(), 3));
    assert_eq!(store.check_and_insert("z", &near, 2).unwrap(), Admission::Admitted);
    assert_eq!(store.delete("y").unwrap(), Some(a));
    assert_eq!(store.get("y").unwrap(), None);
    assert_eq!(store.delete("y").unwrap(), None);
    // What was removed can be loaded again, and takes the place of what is live.
    load(&store, [(b"y".to_vec(), b), (b"z".to_vec(), b)]);
    let ids: BTreeSet<Vec<u8>> = store.query(&b, 0).unwrap().into_iter().map(|found| found.id).collect();
    assert_eq!(ids, [b"x".to_vec(), b"y".to_vec(), b"z".to_vec()].into());
    assert!(store.query(&near, 3).unwrap().is_empty());
}

#[test]
fn crowds_that_are_sealed_are_bounded_by_limits() {
    const COUNT: u32 = 200_000;
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let one = Fingerprint::new(0xabcd);
    load(&store, (0..COUNT).map(|n| (n.to_be_bytes().to_vec(), one)));
    load(
        &store,
        (0..COUNT).map(|n| (format!("under one prefix {n}").into_bytes(), Fingerprint::new(u64::from(n) << 24))),
    );
    assert_eq!(store.query(&one, 0).unwrap().len(), COUNT as usize);
    let first = store.with_limits(Limits::new().max_matches(3)).query(&one, 1).unwrap();
    assert_eq!((first.len(), first.is_truncated()), (3, true));
    assert_eq!(first.as_slice()[1].id, 1u32.to_be_bytes());
    let few = store.with_limits(Limits::new().max_candidates(50)).query(&Fingerprint::new(0xff), 3).unwrap();
    assert!(few.is_truncated() && few.stats().candidates <= 50);
    assert_eq!(store.stats().unwrap().sealed_documents, u64::from(COUNT) * 2);
}

/// Readers see all of a load or nothing, and writers go on, while generations change.
#[test]
fn readers_and_writers_go_on_while_generations_change() {
    const COUNT: u64 = 3_000;
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let centre = 0x5555_0000_ffff_1234u64;
    // All of a load lie within 3 bits of one value, at places that no other load uses.
    let of = |round: u64, n: u64| Fingerprint::new(centre ^ round << 60 ^ 1 << (n % 20));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    for round in 0..4 {
                        let found = store.query(&Fingerprint::new(centre ^ round << 60), 1).unwrap();
                        let loaded = found.iter().filter(|found| found.id.starts_with(b"load")).count() as u64;
                        assert!([0, COUNT].contains(&loaded), "{loaded} of a load");
                    }
                }
            });
        }
        let writer = scope.spawn(|| {
            let mut written = 0u64;
            while !is_done.load(Ordering::SeqCst) {
                let print = Fingerprint::new(written.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 0xff);
                store.insert(format!("live {written}"), &print).unwrap();
                assert_eq!(store.get(format!("live {}", written / 2)).unwrap().map(|_| ()), Some(()));
                written += 1;
            }
            written
        });
        for round in 0..4 {
            let mut loader = store.bulk_loader(&little()).unwrap();
            assert!(matches!(store.bulk_loader(&little()), Err(Error::Load { .. })), "one at a time");
            for n in 0..COUNT {
                loader.push(format!("load {round} {n}"), &of(round, n)).unwrap();
            }
            loader.commit(go_on).unwrap();
            assert_eq!(store.query(&Fingerprint::new(centre ^ round << 60), 1).unwrap().len() as u64, COUNT);
            store.seal(&little(), go_on).unwrap();
        }
        is_done.store(true, Ordering::SeqCst);
        let written = writer.join().unwrap();
        let found = store.verify(go_on).unwrap();
        assert!(found.is_sound(), "{found:?}");
        assert_eq!(found.documents, written + 4 * COUNT);
    });
}

#[test]
fn rows_are_numbered_and_other_ids_refused() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let prints: Vec<Fingerprint> =
        (0..100_000u64).map(|n| Fingerprint::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut loader = store.bulk_loader(&little().rows(7)).unwrap();
    assert!(matches!(loader.push("x", &prints[0]), Err(Error::Load { .. })));
    prints.chunks(30_000).for_each(|chunk| loader.push_rows(chunk).unwrap());
    assert_eq!(loader.documents(), 100_000);
    loader.commit(go_on).unwrap();
    for n in [0, 1, 50_000, 99_999] {
        let found = store.query(&prints[n], 3).unwrap();
        assert_eq!(found.nearest().unwrap().id, (n as u64 + 7).to_be_bytes());
        assert_eq!(store.get((n as u64 + 7).to_be_bytes()).unwrap().unwrap().sketch, prints[n]);
    }
    // Over what is there: numbered likewise, and merged.
    let mut loader = store.bulk_loader(&little().rows(100_006)).unwrap();
    loader.push_rows(&prints[..2]).unwrap();
    let report = loader.commit(go_on).unwrap();
    assert_eq!((report.documents, report.sketches), (100_001, 99_999));
    let mut loader = store.bulk_loader(&little()).unwrap();
    assert!(matches!(loader.push_rows(&prints[..1]), Err(Error::Load { .. })));
    assert_eq!(loader.push("", &prints[0]).unwrap_err().kind(), ErrorKind::Invalid);
    drop(loader);
    let mut last = store.bulk_loader(&little().rows(u64::MAX)).unwrap();
    assert!(matches!(last.push_rows(&prints[..2]), Err(Error::Load { .. })));
    last.push_rows(&prints[..1]).unwrap();
    assert!(matches!(last.push_rows(&prints[..1]), Err(Error::Load { .. })));
    last.commit(go_on).unwrap();
    assert_eq!(store.get(u64::MAX.to_be_bytes()).unwrap().unwrap().sketch, prints[0]);
    assert!(store.verify(go_on).unwrap().is_sound());
    assert!(!scratch.path().join("nearstone-load").exists());
    // More memory than there is, is not asked for.
    let mut vast = store.bulk_loader(&LoadOptions::new().memory_bytes(usize::MAX)).unwrap();
    vast.push("one more", &prints[0]).unwrap_or_else(|e| panic!("{e}"));
    vast.commit(go_on).unwrap();
}

/// The first of two loads leaves nothing behind that the second one could meet, whenever it is dropped.
#[test]
fn a_load_that_is_dropped_halfway_leaves_nothing_behind() {
    let prints: Vec<Fingerprint> =
        (0..400_000u64).map(|n| Fingerprint::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    for rows in [0, 1, 65_536, 65_537, 400_000] {
        let scratch = Scratch::new();
        let store = scratch.create(&TableDesign::default());
        let mut dropped = store.bulk_loader(&little().rows(0)).unwrap();
        dropped.push_rows(&prints[..rows]).unwrap();
        drop(dropped);
        assert!(!scratch.path().join("nearstone-load").exists());
        let mut loader = store.bulk_loader(&little().rows(5)).unwrap();
        loader.push_rows(&prints[..70_000]).unwrap();
        assert_eq!(loader.commit(go_on).unwrap().documents, 70_000);
        let found = store.verify(go_on).unwrap();
        assert!(found.is_sound() && found.documents == 70_000, "{found:?}");
        assert_eq!(store.query(&prints[69_999], 0).unwrap().nearest().unwrap().id, 70_004u64.to_be_bytes());
        // Nothing keeps the directory open.
        drop(store);
        drop(scratch.open());
    }
}

#[test]
fn what_is_stored_or_removed_while_a_load_goes_on_is_newer() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let (a, b, c) = (Fingerprint::new(1), Fingerprint::new(u64::MAX), Fingerprint::new(1 << 63 | 7));
    store.insert("same", &a).unwrap();
    let time = store.get("same").unwrap().unwrap().stored_at;
    store.insert("gone", &a).unwrap();
    let mut loader = store.bulk_loader(&little()).unwrap();
    for id in ["same", "gone", "new and gone", "unknown and gone", "loaded"] {
        loader.push(id, &b).unwrap();
    }
    store.insert("same", &a).unwrap();
    store.delete("gone").unwrap();
    store.insert("new and gone", &c).unwrap();
    assert_eq!(store.delete("new and gone").unwrap(), Some(c));
    assert_eq!(store.delete("unknown and gone").unwrap(), None);
    loader.commit(go_on).unwrap();
    for state in ["live over loaded", "sealed"] {
        let same = store.get("same").unwrap().unwrap();
        assert_eq!((same.sketch, same.stored_at), (a, time), "{state}");
        assert_eq!(store.get("loaded").unwrap().unwrap().sketch, b);
        assert_eq!(store.iter().unwrap().count(), 2, "{state}");
        assert_eq!(store.query(&b, 0).unwrap().len(), 1, "{state}");
        assert!(store.verify(go_on).unwrap().is_sound());
        store.seal(&little(), go_on).unwrap();
    }
}

/// What a generation has replaced is gone from the disk, and from the families.
#[test]
fn old_generations_take_no_disk() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let documents = |round: u64| {
        (0..50_000u64)
            .map(move |n| (n.to_be_bytes().to_vec(), Fingerprint::new((n + round).wrapping_mul(0x9e37_79b9_7f4a_7c15))))
    };
    load(&store, documents(0));
    let once = store.stats().unwrap().disk_bytes;
    for round in 1..5 {
        load(&store, documents(round));
        store.insert("live", &Fingerprint::new(round)).unwrap();
        store.seal(&little(), go_on).unwrap();
    }
    let later = store.stats().unwrap().disk_bytes;
    assert!(later < once * 3 / 2, "{later} bytes, {once} after the first load");
    let families = rocksdb::DB::list_cf(&rocksdb::Options::default(), scratch.path()).unwrap();
    assert_eq!(families.len(), 1 + 2 * 6, "{families:?}");
}

/// Of documents with large payloads few are in memory at once, and they come back.
#[test]
fn large_payloads_go_through_small_memory() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let payload = |n: u8| vec![n; if n.is_multiple_of(10) { 16 << 20 } else { 300_000 }];
    for round in 0..2u8 {
        let mut loader = store.bulk_loader(&little()).unwrap();
        for n in 0..60u8 {
            loader.push_with([n.wrapping_mul(7)], &Fingerprint::new(n.into()), &payload(n ^ round)).unwrap();
        }
        loader.commit(go_on).unwrap();
        for n in 0..60u8 {
            let found = store.get([n.wrapping_mul(7)]).unwrap().unwrap();
            assert!(found.payload == payload(n ^ round), "{n}");
        }
    }
}

/// An iterator by fingerprints meets each document where it was when the iterator was made.
#[test]
fn an_iterator_by_fingerprints_is_of_one_moment() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    load(&store, (0..100u64).map(|n| (n.to_string().into_bytes(), Fingerprint::new(n << 40))));
    let before = store.iter_by_fingerprint().unwrap();
    for n in 0..100u64 {
        store.insert(n.to_string(), &Fingerprint::new(n)).unwrap();
    }
    let found: Vec<_> = before.map(Result::unwrap).collect();
    assert_eq!(found, (0..100u64).map(|n| (Fingerprint::new(n << 40), n.to_string().into_bytes())).collect::<Vec<_>>());
}

/// A store of the first format answers as it did, is written to, and becomes one of this format when it is sealed.
#[test]
fn a_store_of_the_first_format_is_read_and_goes_on() {
    let scratch = Scratch::new();
    copy(Path::new("tests/data/store-v1"), &scratch.path());
    let text =
        "The river report number 5: the water at bridge 35 has risen by 5 metres since Monday, and road 15 is closed.";
    for _ in 0..2 {
        let store = SimhashStore::open_read_only(scratch.path(), &small()).unwrap();
        let near = store.query_text(text, 0).unwrap().unwrap();
        let ids: Vec<_> = near.iter().map(|found| found.id_lossy().into_owned()).collect();
        assert_eq!(ids, ["copy-of-05", "doc-05"]);
        let found = store.verify(go_on).unwrap();
        assert!(found.is_sound() && found.documents == 40, "{found:?}");
    }
    let store = scratch.open();
    assert!(store.delete("doc-05").unwrap().is_some());
    store.insert("new", &Fingerprint::new(5)).unwrap();
    drop(store);
    let store = scratch.open();
    assert_eq!(store.iter().unwrap().count(), 40);
    assert_eq!(store.seal(&little(), go_on).unwrap().documents, 40);
    drop(store);
    let store = scratch.open();
    assert_eq!(store.query_text(text, 0).unwrap().unwrap().len(), 1);
    assert!(store.verify(go_on).unwrap().is_sound());
}

/// All pairs within 3 bits of the distinct package fingerprints, after a load.
#[test]
fn all_pairs_of_the_package_summaries_are_found_after_a_load() {
    let Some(folder) = data("fingerprints") else { return };
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let mut loader = store.bulk_loader(&little().rows(0)).unwrap();
    let bytes = crate::real_data::gunzip(&folder.join("pypi_simhash64.u64le.gz"));
    let prints: Vec<_> =
        bytes.chunks_exact(8).map(|bytes| Fingerprint::new(u64::from_le_bytes(bytes.try_into().unwrap()))).collect();
    loader.push_rows(&prints).unwrap();
    let report = loader.commit(go_on).unwrap();
    let distinct: BTreeSet<Fingerprint> = prints.iter().copied().collect();
    assert_eq!((report.documents, report.sketches), (822_679, distinct.len() as u64));
    let mut pairs = BTreeSet::new();
    let few = store.with_limits(Limits::new());
    for &print in &distinct {
        let found = few.query(&print, 3).unwrap();
        for near in found.iter().filter(|near| near.distance > 0) {
            let row = usize::try_from(u64::from_be_bytes(near.id[..].try_into().unwrap())).unwrap();
            let other = prints[row];
            pairs.insert((print.min(other), print.max(other), near.distance));
        }
    }
    let table = String::from_utf8(crate::real_data::gunzip(&folder.join("pypi_pairs_d3.tsv.gz"))).unwrap();
    let expected: BTreeSet<_> = table
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let (a, b): (Fingerprint, Fingerprint) = (columns[0].parse().unwrap(), columns[1].parse().unwrap());
            (a.min(b), a.max(b), columns[2].parse().unwrap())
        })
        .collect();
    assert_eq!(expected.len(), 4_838);
    assert!(pairs == expected, "{} pairs", pairs.len());
}

#[test]
fn what_is_read_is_counted_where_it_is_asked_for() {
    let mut random = Random(41);
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let values: Vec<u64> = (0..20_000).map(|_| random.next()).collect();
    load(&store, values.iter().enumerate().map(|(n, &value)| (n.to_string().into_bytes(), Fingerprint::new(value))));
    assert_eq!(store.stats().unwrap().reads, None);
    drop(store);
    let store = SimhashStore::open(scratch.path(), &small().count_reads(true)).unwrap();
    let reads = || store.stats().unwrap().reads.unwrap();
    let before = reads();
    assert_eq!(store.query(&Fingerprint::new(values[7]), 3).unwrap().len(), 1);
    let first = reads() - before;
    // Of each table a block, and one of holders, none of which is smaller than a page.
    assert!(first.cache_misses >= 5 && first.bytes >= 15_000, "{first:?}");
    let before = reads();
    assert_eq!(store.query(&Fingerprint::new(values[7]), 3).unwrap().len(), 1);
    let again = reads() - before;
    assert_eq!((again.cache_misses, again.bytes), (0, 0), "{again:?}");
}
