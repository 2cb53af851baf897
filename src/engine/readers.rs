//! Threads that read for a query what has to come from the medium.
//!
//! A medium answers many reads at once nearly as fast as one, and a query knows all that it has to read from the
//! beginning. What is cached is read in the thread of the query: to wake another one takes longer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// Reads that take less than this come from the system's cache, and would not be faster in other threads.
const WORTH_A_THREAD: Duration = Duration::from_micros(20);

/// The threads of a store, which are started when they are first needed.
pub(crate) struct Readers {
    threads: usize,
    pool: OnceLock<Option<ThreadPool>>,
    /// What a read took lately, in nanoseconds.
    latency: AtomicU64,
}

impl Readers {
    /// With one thread, that of the query, there are no others.
    pub(super) fn new(threads: usize) -> Self {
        Self { threads, pool: OnceLock::new(), latency: AtomicU64::new(nanos(WORTH_A_THREAD)) }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Whether reads may be done by several threads.
    pub(crate) fn are_several(&self) -> bool {
        self.threads > 1
    }

    /// Reads each part of what is to be read, side by side where that pays.
    pub(crate) fn each<T: Send>(&self, parts: &mut [T], read: impl Fn(&mut T) + Sync) {
        let timed = |part: &mut T| {
            let begun = Instant::now();
            read(part);
            self.note(begun.elapsed());
        };
        let is_slow = self.latency.load(Ordering::Relaxed) >= nanos(WORTH_A_THREAD);
        let pool = if self.are_several() && parts.len() > 1 && is_slow { self.pool() } else { None };
        let (Some(pool), Some((first, others))) = (pool, parts.split_first_mut()) else {
            return parts.iter_mut().for_each(timed);
        };
        let timed = &timed;
        pool.in_place_scope(|scope| {
            for part in others {
                scope.spawn(move |_| timed(part));
            }
            timed(first);
        });
    }

    /// The threads besides that of the query; `None` where the system has none to give.
    fn pool(&self) -> Option<&ThreadPool> {
        let start = || {
            let pool = ThreadPoolBuilder::new().num_threads(self.threads - 1);
            pool.thread_name(|number| format!("nearstone-read-{number}")).build().ok()
        };
        self.pool.get_or_init(start).as_ref()
    }

    /// Lets the latest reads count most: an eighth each.
    fn note(&self, took: Duration) {
        let before = self.latency.load(Ordering::Relaxed);
        self.latency.store(before - before / 8 + nanos(took) / 8, Ordering::Relaxed);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_read_once_whoever_reads() {
        for threads in [1, 2, 5] {
            let readers = Readers::new(threads);
            for count in 0..20 {
                let mut parts: Vec<usize> = (0..count).collect();
                readers.each(&mut parts, |part| {
                    std::thread::sleep(Duration::from_micros(30));
                    *part += 100;
                });
                assert!(parts.iter().copied().eq(100..100 + count), "{threads} threads, {parts:?}");
            }
            assert_eq!(readers.pool.get().is_some(), threads > 1);
        }
    }

    #[test]
    fn quick_reads_take_no_thread() {
        let readers = Readers::new(4);
        readers.latency.store(1_000, Ordering::Relaxed);
        let caller = std::thread::current().id();
        let mut parts = [0; 8];
        readers.each(&mut parts, |_| assert_eq!(std::thread::current().id(), caller));
        assert!(readers.pool.get().is_none());
    }
}
