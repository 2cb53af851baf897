//! Expiry, with a clock that a test sets.

use std::ops::ControlFlow;
use std::time::Duration;

use super::super::sketch::Index;
use super::super::view::Layer;
use super::value;
use crate::store::expire;
use crate::{Admission, Fingerprint, Limits, Options, SimhashStore, TableDesign, Verification};

const DAY: u64 = 24 * 60 * 60 * 1000;
/// Later than the clock of any machine, since time does not go back.
const BEGIN: u64 = 4_000_000_000_000;

fn options() -> Options {
    Options::new().cache_bytes(4 << 20).write_buffer_bytes(4 << 20).retention(Duration::from_millis(DAY))
}

fn create(dir: &tempfile::TempDir) -> SimhashStore {
    let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &options()).unwrap();
    store.shared.clock.set(BEGIN);
    store
}

fn verified(store: &SimhashStore) -> Verification {
    let found = store.verify(|_| ControlFlow::Continue(())).unwrap();
    assert!(found.is_sound(), "{found:?}");
    found
}

/// How many keys are on disk: documents, holders and entries of the first table.
fn keys(store: &SimhashStore) -> [u64; 3] {
    let engine = &store.shared.engine;
    let view = store.shared.view();
    let table = &view.index.row_families(Layer::Live)[0];
    [&view.live.documents, &view.live.holders, table].map(|family| {
        let mut scan = engine.scan(family);
        let mut count = 0;
        while scan.next().unwrap().is_some() {
            count += 1;
        }
        count
    })
}

#[test]
fn what_has_expired_is_in_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    let sketch = Fingerprint::new(7);
    store.insert_with("page", &sketch, b"payload").unwrap();
    store.shared.clock.set(BEGIN + DAY - 1);
    assert_eq!(store.query(&sketch, 3).unwrap().len(), 1);
    assert!(!store.check_and_insert("other", &sketch, 3).unwrap().is_admitted());
    store.shared.clock.set(BEGIN + DAY);
    assert!(store.get("page").unwrap().is_none());
    assert!(store.query(&sketch, 3).unwrap().is_empty());
    assert_eq!(store.iter().unwrap().count(), 0);
    assert!(store.delete("page").unwrap().is_none());
    store.insert("page", &sketch).unwrap();
    store.shared.clock.set(BEGIN + 3 * DAY);
    // The same sketch under another id: what has expired holds it on disk still.
    assert_eq!(store.check_and_insert("other", &sketch, 3).unwrap(), Admission::Admitted);
    assert_eq!(store.query(&sketch, 0).unwrap().len(), 1);
    assert_eq!(store.insert("page", &sketch).unwrap(), None);
    assert_eq!(store.query(&sketch, 0).unwrap().len(), 2);
    verified(&store);
}

/// A document that is stored again lives on, and storing the same again does not prolong its life.
#[test]
fn the_time_of_a_document_is_that_of_its_last_change() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    let sketch = Fingerprint::new(7);
    for id in ["same", "changed", "payload"] {
        store.insert(id, &sketch).unwrap();
    }
    store.shared.clock.set(BEGIN + DAY / 2);
    store.insert("same", &sketch).unwrap();
    store.insert("changed", &Fingerprint::new(6)).unwrap();
    store.insert_with("payload", &sketch, b"new").unwrap();
    store.shared.clock.set(BEGIN + DAY);
    let left: Vec<_> = store.query(&sketch, 3).unwrap().into_iter().map(|m| m.id).collect();
    assert_eq!(left, [b"payload".to_vec(), b"changed".to_vec()]);
    verified(&store);
}

#[test]
fn compaction_drops_what_has_expired_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    for n in 0..1000u64 {
        store.shared.clock.set(BEGIN + n);
        store.insert(n.to_be_bytes(), &Fingerprint::new(value(n))).unwrap();
    }
    store.shared.clock.set(BEGIN + DAY + 299);
    store.compact().unwrap();
    assert_eq!(keys(&store), [700, 700, 1000]);
    let found = verified(&store);
    assert_eq!((found.documents, found.expired, found.orphan_entries), (700, 0, 4 * 300));
    for n in 0..1000u64 {
        assert_eq!(store.query(&Fingerprint::new(value(n)), 0).unwrap().len(), usize::from(n >= 300), "{n}");
    }
    // Some of those whose entries are left come again.
    for n in 0..100u64 {
        assert!(store.check_and_insert(n.to_be_bytes(), &Fingerprint::new(value(n)), 3).unwrap().is_admitted());
    }
    assert_eq!(store.expire(|_| ControlFlow::Continue(())).unwrap(), 0);
    assert_eq!(keys(&store), [800, 800, 800]);
    assert_eq!(verified(&store).orphan_entries, 0);
    drop(store);
    let store = SimhashStore::open(dir.path().join("store"), &options()).unwrap();
    store.shared.clock.set(BEGIN + DAY + 299);
    assert_eq!(verified(&store).documents, 800);
}

/// Table entries outlive the last document, and the store is opened as one in which nothing lives.
#[test]
fn entries_that_are_left_of_a_store_without_documents_hide_nothing_that_comes() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    let sketch = |n| Fingerprint::new(value(n));
    for n in 0..500u64 {
        store.insert(n.to_be_bytes(), &sketch(n)).unwrap();
    }
    store.shared.clock.set(BEGIN + DAY);
    store.compact().unwrap();
    assert_eq!(keys(&store), [0, 0, 500]);
    drop(store);
    let store = SimhashStore::open(dir.path().join("store"), &options()).unwrap();
    store.shared.clock.set(BEGIN + DAY);
    for n in 0..250u64 {
        assert!(store.query(&sketch(n), 3).unwrap().is_empty());
        assert!(store.check_and_insert(n.to_be_bytes(), &sketch(n), 3).unwrap().is_admitted(), "{n}");
        store.insert([&n.to_be_bytes()[..], b"again"].concat(), &sketch(n + 250)).unwrap();
    }
    for n in 0..500u64 {
        assert_eq!(store.query(&sketch(n), 3).unwrap().len(), 1, "{n}");
        assert!(!store.check_and_insert("other", &sketch(n), 3).unwrap().is_admitted(), "{n}");
    }
    assert_eq!(keys(&store), [500, 500, 500]);
    verified(&store);
}

#[test]
fn expire_removes_what_has_expired_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    for n in 0..300u64 {
        store.shared.clock.set(BEGIN + n);
        // Each sketch three times, so that some lose a holder and keep another.
        store.insert(n.to_be_bytes(), &Fingerprint::new(value(n % 100))).unwrap();
    }
    store.shared.clock.set(BEGIN + DAY + 149);
    assert_eq!(store.expire(|_| ControlFlow::Continue(())).unwrap(), 150);
    assert_eq!(keys(&store), [150, 150, 100]);
    store.shared.clock.set(BEGIN + DAY + 249);
    assert_eq!(store.expire(|_| ControlFlow::Continue(())).unwrap(), 100);
    assert_eq!(keys(&store), [50, 50, 50]);
    assert_eq!(verified(&store).expired, 0);
}

/// Holders without documents, as a compaction of the documents alone leaves them.
#[test]
fn expire_removes_holders_whose_documents_were_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    for n in 0..10u64 {
        store.insert(n.to_be_bytes(), &Fingerprint::new(value(n))).unwrap();
    }
    let mut batch = store.shared.engine.batch();
    for n in 0..5u64 {
        batch.delete(&store.shared.view().live.documents, &n.to_be_bytes());
    }
    batch.write().unwrap();
    store.shared.clock.set(BEGIN + DAY);
    assert_eq!(store.expire(|_| ControlFlow::Continue(())).unwrap(), 5);
    assert_eq!(keys(&store), [0, 0, 0]);
}

/// A crowd of expired holders is work, and work is bounded.
#[test]
fn expired_holders_count_as_work() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    let sketch = Fingerprint::new(7);
    for n in 0..1000u32 {
        store.insert(n.to_be_bytes(), &sketch).unwrap();
    }
    store.shared.clock.set(BEGIN + DAY);
    let bounded = store.with_limits(Limits::new().max_candidates(100));
    assert!(bounded.query(&sketch, 0).unwrap().is_truncated());
    assert_eq!(bounded.check_and_insert("new", &sketch, 3).unwrap(), Admission::Undecided);
    assert!(store.check_and_insert("new", &sketch, 3).unwrap().is_admitted());
}

#[test]
fn the_retention_is_kept_with_the_store() {
    let dir = tempfile::tempdir().unwrap();
    drop(create(&dir));
    let path = dir.path().join("store");
    let plain = Options::new();
    assert_eq!(SimhashStore::open(&path, &plain).unwrap().retention(), Some(Duration::from_millis(DAY)));
    let other = Options::new().retention(Duration::from_secs(1));
    for refused in
        [SimhashStore::open(&path, &other), SimhashStore::open_or_create(&path, &TableDesign::default(), &plain)]
    {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("the retention 86400000 ms"), "{message}");
    }
    SimhashStore::open_or_create(&path, &TableDesign::default(), &options()).unwrap();
    // One that is not a store with that retention.
    let path = dir.path().join("plain");
    drop(SimhashStore::create(&path, &TableDesign::default(), &plain).unwrap());
    let message = SimhashStore::open(&path, &options()).unwrap_err().to_string();
    assert!(message.contains("the retention none, asked for 86400000 ms"), "{message}");
}

/// What compactions may have dropped has expired for good, whatever the clock of the next process says.
#[test]
fn a_clock_that_was_set_back_brings_nothing_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    for n in 0..100u64 {
        store.insert(n.to_be_bytes(), &Fingerprint::new(value(n))).unwrap();
    }
    store.shared.clock.set(BEGIN + DAY);
    // Of some documents and of other holders, as compactions of single families do it.
    store.shared.advance_expiry(0).unwrap();
    let mut batch = store.shared.engine.batch();
    for n in 0..50u64 {
        batch.delete(&store.shared.view().live.documents, &n.to_be_bytes());
    }
    batch.write().unwrap();
    let copy = dir.path().join("copy");
    store.checkpoint(&copy).unwrap();
    drop(store);
    // These have the clock of the machine, which is earlier.
    let copy = SimhashStore::open_read_only(&copy, &options()).unwrap();
    let store = SimhashStore::open(dir.path().join("store"), &options()).unwrap();
    for store in [&copy, &store] {
        assert_eq!(store.iter().unwrap().count(), 0);
        assert!((0..100).all(|n| store.query(&Fingerprint::new(value(n)), 3).unwrap().is_empty()));
        verified(store);
    }
    assert!(store.check_and_insert("new", &Fingerprint::new(value(1)), 3).unwrap().is_admitted());
    assert!(store.get("new").unwrap().unwrap().stored_at >= crate::clock::time_of(BEGIN + DAY));
}

/// What was stored anew between the look of `expire` and its claim stays, whole.
#[test]
fn what_comes_back_while_it_is_expired_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    let sketch = Fingerprint::new(7);
    store.insert("page", &sketch).unwrap();
    store.shared.clock.set(BEGIN + DAY);
    store.insert("page", &sketch).unwrap();
    assert!(!expire::expire_document(&store.shared, b"page", BEGIN + DAY).unwrap());
    expire::expire_holder(&store.shared, b"page", &sketch, sketch).unwrap();
    expire::drop_unheld(&store.shared, &sketch, sketch).unwrap();
    assert_eq!(keys(&store), [1, 1, 1]);
    assert_eq!(verified(&store).documents, 1);
    assert_eq!(store.query(&Fingerprint::new(6), 3).unwrap().len(), 1);
}

/// Of limits that threads set at once the latest counts, in memory and on the medium.
#[test]
fn the_latest_expiry_limit_counts() {
    const THREADS: u64 = 8;
    let dir = tempfile::tempdir().unwrap();
    drop(create(&dir));
    for round in 1..=40 {
        let store = SimhashStore::open(dir.path().join("store"), &options()).unwrap();
        let barrier = std::sync::Barrier::new(usize::try_from(THREADS).unwrap());
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (store, barrier) = (&store, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    store.shared.engine.set_expiry_limit(BEGIN + round * THREADS + thread).unwrap();
                });
            }
        });
        drop(store);
        let store = SimhashStore::open_read_only(dir.path().join("store"), &options()).unwrap();
        assert_eq!(store.shared.engine.expiry_limit(), BEGIN + round * THREADS + THREADS - 1);
    }
}

/// Calls that store move the limit on, a minute behind at most.
#[test]
fn storing_moves_the_expiry_limit_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    store.shared.engine.set_expiry_limit(BEGIN).unwrap();
    for (millis, limit) in [(60_000, BEGIN), (60_001, BEGIN + 60_001), (60_500, BEGIN + 60_001)] {
        store.shared.clock.set(BEGIN + millis);
        store.insert(millis.to_be_bytes(), &Fingerprint::new(millis)).unwrap();
        assert_eq!(store.shared.engine.expiry_limit(), limit);
    }
}

/// An answer as of a moment before the limit may lack what compactions have dropped since, and is not given.
#[test]
fn an_answer_that_expiry_has_overtaken_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let store = create(&dir);
    let before = store.shared.now();
    assert!(!store.shared.is_outrun(before));
    store.shared.clock.set(BEGIN + DAY);
    store.shared.advance_expiry(0).unwrap();
    assert!(store.shared.is_outrun(before));
    assert!(!store.shared.is_outrun(store.shared.now()));
    // Whose next moment is late enough is not asked again for ever.
    assert!(store.query(&Fingerprint::new(1), 3).unwrap().is_empty());
    assert_eq!(store.query_batch([Fingerprint::new(1)], 3).unwrap().count(), 1);
}
