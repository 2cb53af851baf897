//! What threads have apart from each other.
//!
//! Two threads that write to one line of memory wait for it in turn, and where they take a lock, one may be sent to sleep. So
//! what each thread writes in every call is there several times, once for some of the threads.

use std::ops::Deref;

use crossbeam::utils::CachePadded;

/// As many threads as this at once each have their own.
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

/// The number of this thread; those that were started one after the other have consecutive ones.
pub(crate) fn thread_number() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // A thread that is about to end has none any more.
    NUMBER.try_with(|number| *number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_numbers_of_their_own() {
        let number = thread_number();
        assert_eq!(number, thread_number());
        let other = std::thread::spawn(thread_number).join().unwrap();
        assert_ne!(number, other);
        let spread = Spread::new(String::new);
        assert_eq!(spread.iter().count(), PARTS);
        assert!(std::ptr::eq(spread.of(3), spread.of(3 + PARTS)));
        assert!(!std::ptr::eq(spread.of(3), spread.of(4)));
    }
}
