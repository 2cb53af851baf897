//! What threads have apart from each other.
//!
//! Two threads that write to one line of memory wait for it in turn, and where they take a lock, one may be sent to sleep. So
//! what each thread writes in every call is there several times, once for some of the threads.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use crossbeam::utils::CachePadded;

/// As many threads as this at once each have their own, as long as those that were there before have theirs.
const PARTS: usize = 8;

/// Something that is there once for some of all threads.
#[derive(Debug)]
pub(crate) struct Spread<T>(Box<[CachePadded<T>]>);

impl<T> Spread<T> {
    /// Makes each of them.
    pub(crate) fn new(make: impl Fn() -> T) -> Self {
        Self((0..PARTS).map(|_| CachePadded::new(make())).collect())
    }

    /// That of a thread with a number.
    pub(crate) fn of(&self, thread: usize) -> &T {
        &self.0[thread % PARTS]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(Deref::deref)
    }
}

/// The number of this thread: the smallest that no other one has.
pub(crate) fn thread_number() -> usize {
    thread_local! {
        static NUMBER: Number = Number::take();
    }
    // A thread that is about to end has none any more.
    NUMBER.try_with(|number| number.0).unwrap_or(0)
}

/// The numbers that threads have.
static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

struct Number(usize);

impl Number {
    fn take() -> Self {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let least = (0..).zip(taken.iter()).find(|(number, taken)| number != *taken).map_or(taken.len(), |(n, _)| n);
        taken.insert(least);
        Self(least)
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_numbers_of_their_own() {
        let number = thread_number();
        assert_eq!(number, thread_number());
        let barrier = std::sync::Barrier::new(20);
        let others: Vec<usize> = std::thread::scope(|scope| {
            let number = || {
                let number = thread_number();
                barrier.wait();
                number
            };
            let threads: Vec<_> = (0..20).map(|_| scope.spawn(number)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(others.iter().chain([&number]).collect::<BTreeSet<_>>().len(), 21);
        // Numbers are given back: other tests have some at the same time.
        for _ in 0..1_000 {
            assert!(std::thread::spawn(thread_number).join().unwrap() < 500);
        }
        let spread = Spread::new(String::new);
        assert_eq!(spread.iter().count(), PARTS);
        assert!(std::ptr::eq(spread.of(3), spread.of(3 + PARTS)));
        assert!(!std::ptr::eq(spread.of(3), spread.of(4)));
    }
}
