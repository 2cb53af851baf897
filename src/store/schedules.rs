//! The claims under a schedule explorer: the same file, with locks that try orders of threads.

#[allow(unused_imports, reason = "the parts that the file under test asks for")]
mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use shuttle::sync::atomic::{AtomicUsize, Ordering};
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};

    pub(super) fn thread_number() -> usize {
        shuttle::current::me().into()
    }
}

/// What the claims ask of a sketch.
mod sketch {
    pub(in super::super) trait Sketch: Clone + std::fmt::Debug {
        fn distance_to(&self, other: &Self) -> u32;
    }
}

#[allow(dead_code, clippy::duplicate_mod, reason = "compiled a second time, with the locks above")]
#[path = "claims.rs"]
mod claims;

use std::sync::Arc;

use claims::{Claim, Claims};
use sketch::Sketch;

/// A sketch whose distance is the true one.
#[derive(Clone, Copy, Debug)]
struct Whole(u64);

impl Sketch for Whole {
    fn distance_to(&self, other: &Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }
}

/// A sketch of which only the first of the four blocks of 16 bits is looked at: claims of near-duplicates
/// that differ there do not meet.
#[derive(Clone, Copy, Debug)]
struct OneBlock(u64);

impl Sketch for OneBlock {
    fn distance_to(&self, other: &Self) -> u32 {
        if self.0 >> 48 == other.0 >> 48 { 0 } else { 64 }
    }
}

/// What the threads share: the sketches that were admitted, and which document has which.
#[derive(Default)]
struct Stored {
    sketches: shuttle::sync::Mutex<Vec<u64>>,
    documents: shuttle::sync::Mutex<Vec<(u64, u64)>>,
}

/// Looks and writes as an admission does, in two steps between which other threads may run.
fn admit<S: Sketch>(claims: &Claims<S>, stored: &Stored, sketch: u64, make: fn(u64) -> S) -> bool {
    let held = claims.hold(Claim::on([sketch]).and(&make(sketch), 3));
    let is_near = stored.sketches.lock().unwrap().iter().any(|other| (other ^ sketch).count_ones() <= 3);
    shuttle::thread::yield_now();
    if !is_near {
        held.change(|| stored.sketches.lock().unwrap().push(sketch));
    }
    !is_near
}

/// Three near-duplicates of each other and one document near none of them.
const SKETCHES: [u64; 4] = [0, 1 << 60, 1 << 63 | 1, u64::MAX];

fn admissions<S: Sketch + Send + Sync + 'static>(make: fn(u64) -> S) {
    let claims = Arc::new(Claims::<S>::default());
    let stored = Arc::new(Stored::default());
    let threads: Vec<_> = SKETCHES
        .into_iter()
        .map(|sketch| {
            let (claims, stored) = (Arc::clone(&claims), Arc::clone(&stored));
            shuttle::thread::spawn(move || admit(&claims, &stored, sketch, make))
        })
        .collect();
    let admitted: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let count = admitted[..3].iter().filter(|&&is_admitted| is_admitted).count();
    assert_eq!(count, 1, "near-duplicates were admitted together: {admitted:?}");
    assert!(admitted[3]);
}

#[test]
fn of_near_duplicates_one_is_admitted_under_any_schedule() {
    shuttle::check_random(|| admissions(Whole), 5_000);
    shuttle::check_pct(|| admissions(Whole), 5_000, 3);
}

/// The test above would notice: claims that look at one block only admit several.
#[test]
#[should_panic(expected = "near-duplicates were admitted together")]
fn claims_on_one_block_only_admit_several() {
    shuttle::check_random(|| admissions(OneBlock), 5_000);
}

/// Two threads replace two documents by each other's sketches, as a replacement does: the stored sketch is
/// read under a claim on the id, and claimed then.
#[test]
fn replacements_across_each_other_come_to_an_end() {
    let replace = |claims: &Claims<Whole>, stored: &Stored, id: u64, sketch: u64| {
        let mut old = None;
        loop {
            let mut claim = Claim::on([id]).and(&Whole(sketch), 0);
            if let Some(old) = old {
                claim = claim.and(&Whole(old), 0);
            }
            let held = claims.hold(claim);
            let found = stored.documents.lock().unwrap().iter().find(|(i, _)| *i == id).map(|(_, sketch)| *sketch);
            shuttle::thread::yield_now();
            if found.is_some_and(|found| found != sketch && old != Some(found)) {
                old = found;
                continue;
            }
            return held.change(|| {
                let mut documents = stored.documents.lock().unwrap();
                documents.retain(|(i, _)| *i != id);
                documents.push((id, sketch));
            });
        }
    };
    let run = move || {
        let claims = Arc::new(Claims::<Whole>::default());
        let stored = Arc::new(Stored::default());
        stored.documents.lock().unwrap().extend([(1, 10), (2, 20)]);
        let threads: Vec<_> = [(1, 20), (2, 10), (1, 30)]
            .into_iter()
            .map(|(id, sketch)| {
                let (claims, stored) = (Arc::clone(&claims), Arc::clone(&stored));
                shuttle::thread::spawn(move || replace(&claims, &stored, id, sketch))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(stored.documents.lock().unwrap().len(), 2);
    };
    shuttle::check_random(run, 5_000);
}

/// A reader that is not told of a change has seen all of it or nothing.
#[test]
fn what_changed_during_a_look_is_noticed() {
    let run = || {
        let claims = Arc::new(Claims::<Whole>::default());
        let tables = Arc::new([shuttle::sync::Mutex::new(false), shuttle::sync::Mutex::new(false)]);
        let (writer_claims, writer_tables) = (Arc::clone(&claims), Arc::clone(&tables));
        let writer = shuttle::thread::spawn(move || {
            let held = writer_claims.hold(Claim::on([1]).and(&Whole(1), 0));
            held.change(|| {
                for table in writer_tables.iter() {
                    *table.lock().unwrap() = true;
                }
            });
        });
        let (near, far) = (claims.watch(&Whole(0), 1), claims.watch(&Whole(u64::MAX), 1));
        let record = claims.record();
        let seen: Vec<bool> = tables.iter().map(|table| *table.lock().unwrap()).collect();
        if near.is_undisturbed() {
            assert_eq!(seen[0], seen[1]);
        }
        if record.changed().is_some_and(|changed| changed.is_empty()) {
            assert_eq!(seen[0], seen[1]);
        }
        assert!(far.is_undisturbed());
        let held = claims.hold(Claim::reading(&Whole(0), 1));
        let seen: Vec<bool> = tables.iter().map(|table| *table.lock().unwrap()).collect();
        assert_eq!(seen[0], seen[1]);
        drop(held);
        writer.join().unwrap();
    };
    shuttle::check_random(run, 5_000);
}
