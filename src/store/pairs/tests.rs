//! Pairs = brute force, with ranges, pieces and groups so small that few documents go through many of them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Pair, PairOptions, Pairs};
use crate::{Error, Fingerprint, LoadOptions, Options, Progress, SimhashStore, TableDesign};

/// The documents that a store has.
type Documents = BTreeMap<Vec<u8>, u64>;

fn value(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn flipped(bits: u64, flips: u64, seed: u64) -> u64 {
    (0..flips).fold(bits, |bits, n| bits ^ 1 << (value(seed << 8 | n) & 63))
}

/// Values of a kind; some come more than once.
fn values(kind: &str, count: u64) -> Vec<u64> {
    let each = |n: u64| match kind {
        "uniform" => flipped(value(n / 3), n % 3 * (n % 7), n),
        "clustered" => flipped(value(n % 5), value(n) % 14, n),
        "one prefix" => flipped(0xffff << 48 | value(n / 2) >> 16, n % 2 * 2, n),
        "around one" => flipped(0xabab_abab_abab_abab, value(n) % 9, n),
        "edges" => match n % 4 {
            0 => n / 4,
            1 => !(n / 4),
            2 => 1 << (n / 4 % 64),
            _ => u64::MAX << (n / 4 % 64),
        },
        _ => unreachable!(),
    };
    (0..count).map(each).collect()
}

fn options() -> Options {
    Options::new().cache_bytes(4 << 20).write_buffer_bytes(8 << 20).auto_seal(None)
}

fn go_on(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn load(store: &SimhashStore, documents: impl IntoIterator<Item = (Vec<u8>, u64)>) {
    let mut loader = store.bulk_loader(&LoadOptions::new().memory_bytes(8 << 20)).unwrap();
    for (id, bits) in documents {
        loader.push(id, &Fingerprint::new(bits)).unwrap();
    }
    loader.commit(go_on).unwrap();
}

fn id(n: usize) -> Vec<u8> {
    // Not in the order of their numbers, and of different lengths.
    format!("{:x}-{n}", value(n as u64) % 997).into_bytes()
}

/// The ids of each fingerprint, in order.
fn groups(documents: &Documents) -> BTreeMap<u64, Vec<&Vec<u8>>> {
    let mut groups: BTreeMap<u64, Vec<&Vec<u8>>> = BTreeMap::new();
    for (id, bits) in documents {
        groups.entry(*bits).or_default().push(id);
    }
    groups
}

fn pair(a: &[u8], b: &[u8], distance: u32) -> Pair {
    Pair { a: a.min(b).to_vec(), b: a.max(b).to_vec(), distance }
}

fn expected(documents: &Documents, max_distance: u32, expand: bool) -> Vec<Pair> {
    let groups: Vec<_> = groups(documents).into_iter().collect();
    let mut pairs = Vec::new();
    for (i, (x, ids)) in groups.iter().enumerate() {
        let shown = if expand { ids.len() } else { 1 };
        for (n, first) in ids[..shown].iter().enumerate() {
            pairs.extend(ids[n + 1..].iter().map(|id| pair(first, id, 0)));
        }
        for (y, others) in &groups[i + 1..] {
            let distance = (x ^ y).count_ones();
            if distance <= max_distance {
                let shown_others = if expand { others.len() } else { 1 };
                for a in &ids[..shown] {
                    pairs.extend(others[..shown_others].iter().map(|b| pair(a, b, distance)));
                }
            }
        }
    }
    pairs.sort();
    pairs
}

fn expected_with(a: &Documents, b: &Documents, max_distance: u32, expand: bool) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (x, ids) in groups(a) {
        for (y, others) in groups(b) {
            let distance = (x ^ y).count_ones();
            if distance <= max_distance {
                let [shown, shown_others] = if expand { [ids.len(), others.len()] } else { [1, 1] };
                for a in &ids[..shown] {
                    for b in &others[..shown_others] {
                        pairs.push(Pair { a: (*a).clone(), b: (*b).clone(), distance });
                    }
                }
            }
        }
    }
    pairs.sort();
    pairs
}

fn threads(count: usize) -> PairOptions {
    PairOptions::new().threads(NonZeroUsize::new(count).unwrap())
}

fn all(pairs: Pairs) -> Vec<Pair> {
    pairs.collect::<Result<_, _>>().unwrap()
}

fn sorted(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort();
    pairs
}

fn check(store: &SimhashStore, documents: &Documents, distances: &[u32], state: &str) {
    for &distance in distances {
        for expand in [false, true] {
            let found = sorted(all(store.pairs(distance, &threads(2).expand(expand)).unwrap()));
            let expected = expected(documents, distance, expand);
            let (count, of) = (found.len(), expected.len());
            assert!(found == expected, "{state}, within {distance}, expand {expand}: {count} of {of}");
        }
    }
}

const EACH_DISTANCE: [u32; 14] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16];

#[test]
fn pairs_are_those_of_brute_force_for_every_design_distance_and_kind_of_values() {
    let mut by_tables = 0;
    for design in ["4x1", "2x33", "10x1", "16x1", "6x1"] {
        let design = TableDesign::named(design, 3).unwrap();
        for kind in ["uniform", "clustered", "one prefix", "around one", "edges"] {
            let dir = tempfile::tempdir().unwrap();
            let store = SimhashStore::create(dir.path().join("store"), &design, &options()).unwrap();
            let documents: Documents = values(kind, 450).into_iter().enumerate().map(|(n, v)| (id(n), v)).collect();
            load(&store, documents.clone());
            check(&store, &documents, &EACH_DISTANCE, &format!("{kind}, {design}"));
            let view = store.shared.view();
            by_tables += EACH_DISTANCE
                .iter()
                .filter(|&&d| super::plan::Plan::new(&design, view.index.probes(d), d, 450).tables.len() > 1)
                .count();
        }
    }
    assert!(by_tables > 100, "{by_tables}");
}

#[test]
fn designs_of_one_table_and_of_large_distances() {
    for design in [TableDesign::choose(1, 0).unwrap(), TableDesign::choose(13, 12).unwrap()] {
        let dir = tempfile::tempdir().unwrap();
        let store = SimhashStore::create(dir.path().join("store"), &design, &options()).unwrap();
        let documents: Documents = values("clustered", 500).into_iter().enumerate().map(|(n, v)| (id(n), v)).collect();
        load(&store, documents.clone());
        check(&store, &documents, &[0, 1, 3, 7, 12, 16], &design.to_string());
    }
}

#[test]
fn pairs_are_those_of_what_is_stored_whatever_the_generations() {
    for kind in ["uniform", "clustered"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let mut store = SimhashStore::create(&path, &TableDesign::default(), &options()).unwrap();
        let values = values(kind, 900);
        let mut documents = Documents::new();
        check(&store, &documents, &[3], "empty");
        let change = |store: &SimhashStore, documents: &mut Documents, from: usize, by: usize| {
            for n in (from..from + 300).step_by(by) {
                if n % 4 == 1 {
                    store.delete(id(n)).unwrap();
                    documents.remove(&id(n));
                } else {
                    store.insert(id(n), &Fingerprint::new(values[n * 7 % 900])).unwrap();
                    documents.insert(id(n), values[n * 7 % 900]);
                }
            }
        };
        change(&store, &mut documents, 0, 1);
        check(&store, &documents, &[0, 3, 6], "live");
        load(&store, (200..600).map(|n| (id(n), values[n])));
        documents.extend((200..600).map(|n| (id(n), values[n])));
        check(&store, &documents, &[0, 3, 6], "sealed");
        change(&store, &mut documents, 400, 3);
        check(&store, &documents, &[0, 3, 6], "live over sealed");
        let little = LoadOptions::new().memory_bytes(8 << 20);
        assert!(store.seal(&little, |_| ControlFlow::Break(())).is_err());
        check(&store, &documents, &[0, 3, 6], "frozen over sealed");
        change(&store, &mut documents, 500, 2);
        check(&store, &documents, &[0, 3, 6], "live over frozen over sealed");
        drop(store);
        store = SimhashStore::open_read_only(&path, &options()).unwrap();
        check(&store, &documents, &[0, 3, 6], "read-only");
    }
}

#[test]
fn the_order_depends_on_the_store_alone_and_each_resume_point_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &options()).unwrap();
    load(&store, values("uniform", 1500).into_iter().enumerate().map(|(n, v)| (id(n), v)));
    for expand in [false, true] {
        let whole = all(store.pairs(3, &threads(1).expand(expand)).unwrap());
        for options in [threads(2), threads(3), threads(7).memory_bytes(1)] {
            assert!(all(store.pairs(3, &options.expand(expand)).unwrap()) == whole);
        }
        let mut points = 0;
        let mut pairs = store.pairs(3, &threads(2).expand(expand)).unwrap();
        for taken in 0..=whole.len() {
            if let Some(point) = pairs.resume_point() {
                points += 1;
                let rest = all(store.pairs(3, &threads(1 + taken % 3).expand(expand).resume(point)).unwrap());
                assert!(rest == whole[taken..], "after {taken}");
            }
            assert_eq!(pairs.next().is_some(), taken < whole.len());
        }
        assert_eq!(pairs.resume_point(), None);
        assert!(points > 30, "{points}");
    }
}

#[test]
fn resume_points_of_something_else_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &options()).unwrap();
    let other = SimhashStore::create(dir.path().join("other"), &TableDesign::default(), &options()).unwrap();
    store.insert("one", &Fingerprint::new(1)).unwrap();
    let point = store.pairs(3, &PairOptions::new()).unwrap().resume_point().unwrap();
    let resumed = PairOptions::new().resume(&*point);
    assert_eq!(store.pairs(3, &resumed).unwrap().count(), 0);
    let refused = |of: Result<Pairs, Error>, why: &str| {
        let error = of.unwrap_err();
        assert!(matches!(error, Error::Pairs { .. }) && error.to_string().contains(why), "{error}");
    };
    refused(store.pairs(4, &resumed), "max distance 3, asked for 4");
    refused(store.pairs(3, &resumed.clone().expand(true)), "expanded pairs: no, asked for yes");
    refused(store.pairs_with(&other, 3, &resumed), "another store: no, asked for yes");
    refused(store.pairs(3, &PairOptions::new().resume("{}")), "not one of this release");
    refused(other.pairs(3, &resumed), "has changed since");
    store.insert("two", &Fingerprint::new(2)).unwrap();
    refused(store.pairs(3, &resumed), "has changed since");
    assert!(matches!(store.pairs(17, &PairOptions::new()), Err(Error::Distance { asked: 17, maximum: 16, .. })));
}

#[test]
fn pairs_with_another_store_are_those_of_brute_force() {
    for (kind, other_kind) in [("uniform", "uniform"), ("clustered", "around one"), ("edges", "edges")] {
        let dir = tempfile::tempdir().unwrap();
        let create = |name| SimhashStore::create(dir.path().join(name), &TableDesign::default(), &options()).unwrap();
        let (a, b) = (create("a"), create("b"));
        let of_a: Documents = values(kind, 500).into_iter().enumerate().map(|(n, v)| (id(n), v)).collect();
        let of_b: Documents =
            values(other_kind, 900).into_iter().skip(300).enumerate().map(|(n, v)| (id(n * 2), v ^ 1)).collect();
        load(&a, of_a.clone());
        for (id, bits) in &of_b {
            b.insert(id, &Fingerprint::new(*bits)).unwrap();
        }
        for distance in [0, 1, 3, 5, 9] {
            for expand in [false, true] {
                let found = all(a.pairs_with(&b, distance, &threads(2).expand(expand)).unwrap());
                let again = all(a.pairs_with(&b, distance, &threads(1).expand(expand)).unwrap());
                assert!(found == again);
                let expected = expected_with(&of_a, &of_b, distance, expand);
                assert!(sorted(found) == expected, "{kind} with {other_kind} within {distance}, {expand}");
            }
        }
        let mut pairs = a.pairs_with(&b, 3, &threads(2)).unwrap();
        let begin = pairs.resume_point().unwrap();
        let whole: Vec<_> = pairs.by_ref().map(Result::unwrap).collect();
        assert!(all(a.pairs_with(&b, 3, &threads(2).resume(begin)).unwrap()) == whole);
    }
    let dir = tempfile::tempdir().unwrap();
    let a = SimhashStore::create(dir.path().join("a"), &TableDesign::default(), &options()).unwrap();
    let b = SimhashStore::create(dir.path().join("b"), &TableDesign::choose(5, 3).unwrap(), &options()).unwrap();
    let error = a.pairs_with(&b, 3, &PairOptions::new()).unwrap_err().to_string();
    assert!(error.contains("4 tables of 16 bits") && error.contains("10 tables of 25-26 bits"), "{error}");
}

#[test]
fn pairs_are_of_one_moment_while_others_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &options()).unwrap();
    let values = values("uniform", 1200);
    let documents: Documents = values.iter().enumerate().map(|(n, v)| (id(n), *v)).collect();
    load(&store, documents.iter().take(600).map(|(id, bits)| (id.clone(), *bits)));
    for (id, bits) in documents.iter().skip(600) {
        store.insert(id, &Fingerprint::new(*bits)).unwrap();
    }
    for expand in [false, true] {
        let mut now = Documents::new();
        for document in store.iter().unwrap().map(Result::unwrap) {
            now.insert(document.id, document.sketch.bits());
        }
        let mut pairs = store.pairs(3, &threads(2).expand(expand)).unwrap();
        let first = pairs.next().unwrap().unwrap();
        for (n, id) in documents.keys().enumerate().step_by(2) {
            if n % 4 == 0 {
                store.delete(id).unwrap()
            } else {
                store.insert(id, &Fingerprint::new(values[n])).unwrap()
            };
        }
        store.seal(&LoadOptions::new().memory_bytes(8 << 20), go_on).unwrap();
        let found = [vec![first], all(pairs)].concat();
        assert!(sorted(found) == expected(&now, 3, expand), "expand {expand}");
    }
}

/// A document goes to and fro between two others: at each moment it is near one of them.
#[test]
fn a_document_that_moves_is_near_one_of_two() {
    let dir = tempfile::tempdir().unwrap();
    let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &options()).unwrap();
    let places = [0u64, u64::MAX];
    store.insert("here", &Fingerprint::new(places[0])).unwrap();
    store.insert("there", &Fingerprint::new(places[1])).unwrap();
    store.insert("moves", &Fingerprint::new(places[0] ^ 1)).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1.. {
                store.insert("moves", &Fingerprint::new(places[n % 2] ^ 1 << (n % 60))).unwrap();
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for n in 0..400 {
            let found = all(store.pairs(1, &threads(1 + n % 2)).unwrap());
            is_over.store(n == 399 || found.len() != 1, Ordering::Relaxed);
            assert_eq!(found.len(), 1, "{found:?}");
        }
    });
}

#[test]
fn what_has_expired_is_in_no_pair() {
    const BEGIN: u64 = 4_000_000_000_000;
    let dir = tempfile::tempdir().unwrap();
    let retention = options().retention(Duration::from_secs(100));
    let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &retention).unwrap();
    let mut documents = Documents::new();
    for (n, bits) in values("clustered", 300).into_iter().enumerate() {
        store.shared.clock.set(BEGIN + n as u64 * 1000);
        store.insert(id(n), &Fingerprint::new(bits)).unwrap();
        if n > 210 {
            documents.insert(id(n), bits);
        }
        if n == 260 {
            store.seal(&LoadOptions::new().memory_bytes(8 << 20), go_on).unwrap();
        }
    }
    store.shared.clock.set(BEGIN + 310_000);
    check(&store, &documents, &[0, 3, 6], "some have expired");
    let pairs = store.pairs(3, &PairOptions::new()).unwrap();
    let point = pairs.resume_point().unwrap();
    store.shared.clock.set(BEGIN + 330_000);
    assert!(all(store.pairs(3, &PairOptions::new().resume(&*point)).unwrap()) == all(pairs), "as it was then");
    store.expire(go_on).unwrap();
    let error = store.pairs(3, &PairOptions::new().resume(point)).unwrap_err().to_string();
    assert!(error.contains("has changed since"), "{error}");
}

fn can_be_sent<T: Send>(of: T) -> T {
    of
}

#[test]
fn a_caller_that_has_enough_is_waited_for_by_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &options()).unwrap();
    load(&store, values("around one", 3000).into_iter().enumerate().map(|(n, v)| (id(n), v)));
    // Dropped at once, and after some; more pairs are found than the channels hold.
    for _ in 0..20 {
        drop(can_be_sent(store.pairs(12, &threads(3)).unwrap()));
    }
    let mut pairs = store.pairs(12, &threads(3)).unwrap();
    assert_eq!(pairs.by_ref().take(5).flatten().count(), 5);
    drop(pairs);
    let mut told = 0;
    let mut pairs = store.pairs(12, &threads(3)).unwrap().on_progress(move |progress| {
        told += 1;
        assert!(progress.total > 0);
        if told == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let last = pairs.by_ref().last().unwrap();
    assert!(matches!(last, Err(Error::Stopped { .. })), "{last:?}");
    assert!(pairs.next().is_none());
}
