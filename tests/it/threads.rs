//! Many threads on one store.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nearstone::{Admission, Fingerprint, TableDesign};

use crate::common::{Random, Scratch};

/// 64 threads bring near-duplicates of each other at once: one is admitted, the others get its id.
#[test]
fn of_concurrent_near_duplicates_exactly_one_is_admitted() {
    const THREADS: u64 = 64;
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    for group in 0..50u64 {
        let mut random = Random(group);
        let centre = random.next();
        // All within 1 bit of the centre, so within 2 of each other.
        let barrier = Barrier::new(usize::try_from(THREADS).unwrap());
        let answers: Vec<(u64, Admission)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (store, barrier) = (store.clone(), &barrier);
                    scope.spawn(move || {
                        let sketch = Fingerprint::new(centre ^ 1 << thread);
                        barrier.wait();
                        let id = (group << 32 | thread).to_be_bytes();
                        (group << 32 | thread, store.check_and_insert(id, &sketch, 2).unwrap())
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let admitted: Vec<u64> = answers.iter().filter(|(_, a)| a.is_admitted()).map(|&(id, _)| id).collect();
        assert_eq!(admitted.len(), 1, "group {group}");
        for (_, answer) in &answers {
            if let Admission::Duplicate(of) = answer {
                assert_eq!(of.id, admitted[0].to_be_bytes());
            }
        }
    }
    assert_eq!(store.iter().unwrap().count(), 50);
}

/// The same page under the same id, many times at once.
#[test]
fn of_concurrent_equal_documents_exactly_one_is_admitted() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let admitted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for page in 0..100u64 {
                    let sketch = Fingerprint::new(page.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                    if store.check_and_insert(page.to_be_bytes(), &sketch, 3).unwrap().is_admitted() {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(admitted.into_inner(), 100);
}

/// A document whose sketch is replaced again and again by others near the query is found by each query:
/// it is always near, under one sketch or another.
#[test]
fn a_query_sees_a_document_that_is_being_replaced() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    // Each differs from the next so that other tables find it.
    let sketches = [0, 0x0001_0001_0001_0000, 0x0000_0001_0001_0001, 0x0001_0000_0001_0001, 0x0001_0001_0000_0001];
    store.insert("page", &Fingerprint::new(0)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut i = 0;
            while !stop.load(Ordering::Relaxed) {
                i += 1;
                store.insert("page", &Fingerprint::new(sketches[i % sketches.len()])).unwrap();
            }
            i
        });
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..3000 {
                        let matches = store.query(&Fingerprint::new(0), 3).unwrap();
                        assert_eq!(matches.len(), 1);
                    }
                })
            })
            .collect();
        for reader in readers {
            reader.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 100);
    });
    let last = store.get("page").unwrap().unwrap().sketch;
    for sketch in sketches.map(Fingerprint::new) {
        assert_eq!(store.query(&sketch, 0).unwrap().len(), usize::from(sketch == last));
    }
    // Nothing of any sketch is left behind.
    store.delete("page").unwrap();
    for sketch in sketches.map(Fingerprint::new) {
        assert_eq!(store.query(&sketch, 3).unwrap().stats().candidates, 0);
    }
}

/// Readers go on while writers write, and see every document that was stored before they ask.
#[test]
fn readers_see_what_was_acknowledged() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::choose(5, 3).unwrap());
    let stored = AtomicU64::new(0);
    let sketch = |i: u64| Fingerprint::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..4000u64 {
                store.insert(i.to_be_bytes(), &sketch(i)).unwrap();
                stored.store(i + 1, Ordering::SeqCst);
                if i % 1000 == 999 {
                    store.flush().unwrap();
                }
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let mut random = Random(1);
                loop {
                    let count = stored.load(Ordering::SeqCst);
                    if count > 0 {
                        let i = random.below(count);
                        let found = store.query(&sketch(i), 0).unwrap();
                        assert_eq!(found.nearest().map(|m| m.id.clone()), Some(i.to_be_bytes().to_vec()));
                    }
                    if count == 4000 {
                        return;
                    }
                }
            });
        }
    });
}
