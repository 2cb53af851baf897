//! Many threads on one store.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nearstone::{Admission, Fingerprint, NewDocument, TableDesign};

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
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 1..=1000 {
                store.insert("page", &Fingerprint::new(sketches[i % sketches.len()])).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let matches = store.query(&Fingerprint::new(0), 3).unwrap();
                    assert_eq!(matches.len(), 1);
                }
            });
        }
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

/// 10^5 groups of 8 near-duplicates of each other, brought by 64 threads, 8 of them the same groups at the
/// same pace: of each group one is admitted, and the others learn its id and its distance.
#[test]
fn of_each_of_many_groups_exactly_one_is_admitted() {
    const GROUPS: u64 = 100_000;
    const TEAMS: u64 = 8;
    const MEMBERS: u64 = 8;
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    // Two bits at most between members, another one for each group.
    let sketch = |group: u64, member: u64| Random(group).next() ^ 1 << ((group * 7 + member * 5) % 64);
    let id = |group: u64, member: u64| (group * MEMBERS + member).to_be_bytes();
    let admitted: Vec<AtomicU64> = (0..GROUPS).map(|_| AtomicU64::new(0)).collect();
    let told: Vec<AtomicU64> = (0..GROUPS).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for (team, member) in (0..TEAMS).flat_map(|team| (0..MEMBERS).map(move |member| (team, member))) {
            let (store, admitted, told) = (store.clone(), &admitted, &told);
            scope.spawn(move || {
                for group in (team..GROUPS).step_by(usize::try_from(TEAMS).unwrap()) {
                    let own = sketch(group, member);
                    let place = usize::try_from(group).unwrap();
                    match store.check_and_insert(id(group, member), &Fingerprint::new(own), 3).unwrap() {
                        Admission::Admitted => {
                            // One more than the number of the member, so that a second one would be seen.
                            admitted[place].fetch_add(member + 1, Ordering::Relaxed);
                            told[place].fetch_add(1 << 32, Ordering::Relaxed);
                        }
                        Admission::Duplicate(of) => {
                            let other = u64::from_be_bytes(of.id.try_into().unwrap());
                            assert_eq!(other / MEMBERS, group);
                            assert_eq!(of.distance, (own ^ sketch(group, other % MEMBERS)).count_ones());
                            told[place].fetch_add(other % MEMBERS + 1, Ordering::Relaxed);
                        }
                        Admission::Undecided => panic!("there are no limits"),
                    }
                }
            });
        }
    });
    for (admitted, told) in admitted.iter().zip(&told) {
        let (winner, told) = (admitted.load(Ordering::Relaxed), told.load(Ordering::Relaxed));
        assert_eq!(told >> 32, 1, "as many were admitted");
        assert_eq!(told & 0xffff_ffff, winner * (MEMBERS - 1), "the others were told of another one");
    }
    let found = store.verify(|_| std::ops::ControlFlow::Continue(())).unwrap();
    assert!(found.is_sound() && found.documents == GROUPS, "{found:?}");
}

/// The same by batches, half of them, in which the groups lie in different orders.
#[test]
fn of_each_group_one_is_admitted_by_batches_too() {
    const GROUPS: u64 = 2_000;
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::choose(6, 3).unwrap());
    let admitted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (store, admitted) = (store.clone(), &admitted);
            scope.spawn(move || {
                let mut random = Random(thread);
                let mut groups: Vec<u64> = (0..GROUPS).collect();
                for i in (1..groups.len()).rev() {
                    groups.swap(i, usize::try_from(random.below(i as u64 + 1)).unwrap());
                }
                let member =
                    |group: u64| (Random(group).next() ^ 1 << (thread * 7), (group * 8 + thread).to_be_bytes());
                let mut count = 0;
                for groups in groups.chunks(100) {
                    if thread % 2 == 0 {
                        let members: Vec<_> = groups.iter().map(|&group| member(group)).collect();
                        let documents: Vec<_> = members
                            .iter()
                            .map(|(sketch, id)| NewDocument::new(id, Fingerprint::new(*sketch)))
                            .collect();
                        let answers = store.check_and_insert_batch(&documents, 2).unwrap();
                        count += answers.iter().filter(|answer| answer.is_admitted()).count();
                    } else {
                        for &group in groups {
                            let (sketch, id) = member(group);
                            let answer = store.check_and_insert(id, &Fingerprint::new(sketch), 2).unwrap();
                            count += usize::from(answer.is_admitted());
                        }
                    }
                }
                admitted.fetch_add(count as u64, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(admitted.into_inner(), GROUPS);
    assert_eq!(store.iter().unwrap().count() as u64, GROUPS);
}

/// Queries see one moment: of documents that are stored one after the other, near the same place, never a
/// later one without the earlier ones.
#[test]
fn a_query_sees_no_later_document_without_the_earlier_ones() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::choose(6, 3).unwrap());
    // Found through different tables.
    let sketch = |n: u64| Fingerprint::new(1 << (n * 11 % 64));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..400 {
                (0..5u64).for_each(|n| assert!(store.insert(n.to_be_bytes(), &sketch(n)).unwrap().is_none()));
                (0..5u64).rev().for_each(|n| assert!(store.delete(n.to_be_bytes()).unwrap().is_some()));
            }
            done.store(true, Ordering::Relaxed);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let found = store.query(&Fingerprint::new(0), 3).unwrap();
                    let mut seen: Vec<u64> =
                        found.iter().map(|m| u64::from_be_bytes(m.id.as_slice().try_into().unwrap())).collect();
                    seen.sort_unstable();
                    assert!(seen.iter().copied().eq(0..seen.len() as u64), "{seen:?}");
                }
            });
        }
    });
}

/// Few documents that take few sketches from each other, in every way there is, while the families are compared
/// again and again: they agree at each moment, and in the end.
#[test]
fn families_agree_while_documents_take_sketches_from_each_other() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let sketches = [0, 1 << 63, 0x00ff_00ff_00ff_00ff].map(Fingerprint::new);
    let done = AtomicBool::new(false);
    let go_on = |_| std::ops::ControlFlow::Continue(());
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4u64)
            .map(|seed| {
                let store = store.clone();
                scope.spawn(move || {
                    let mut random = Random(seed);
                    for _ in 0..4_000 {
                        let id = random.below(4).to_be_bytes();
                        let sketch = sketches[usize::try_from(random.below(3)).unwrap()];
                        match random.below(4) {
                            0 => assert!(store.delete(id).unwrap().is_none_or(|old| sketches.contains(&old))),
                            1 => drop(store.check_and_insert(id, &sketch, 0).unwrap()),
                            _ => assert!(store.insert(id, &sketch).unwrap().is_none_or(|old| sketches.contains(&old))),
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut compared = 0;
            while !done.load(Ordering::Relaxed) || compared == 0 {
                let found = store.verify(go_on).unwrap();
                assert!(found.is_sound(), "{found:?}");
                compared += 1;
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(store.verify(go_on).unwrap().is_sound());
    for sketch in sketches {
        let holders = store.iter().unwrap().filter(|document| document.as_ref().unwrap().sketch == sketch).count();
        assert_eq!(store.query(&sketch, 0).unwrap().len(), holders);
    }
}
