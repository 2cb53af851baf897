//! Threads that read for a query what has to come from the medium.
//!
//! A medium answers many reads at once nearly as fast as one, and a query knows all that it has to read from the
//! beginning. What is cached is read in the thread of the query: to wake another one takes longer.
//!
//! 1. A query shares its parts by a counter. It takes parts itself, so it ends even if no other thread has time.
//! 2. What the other threads are given borrows from the query. So the query waits, whatever happens to it, until each
//!    thread that has begun has let go, and none begins after that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, unbounded};

/// Reads that take less than this come from the system's cache, and would not be faster in other threads.
const WORTH_A_THREAD: Duration = Duration::from_micros(20);

/// The threads of a store, which are started when they are first needed and end with it.
pub(crate) struct Readers {
    threads: usize,
    /// `None` inside where the system has no thread to give.
    calls: OnceLock<Option<Sender<Call>>>,
    /// What a read took lately, in nanoseconds.
    latency: AtomicU64,
}

/// A query that wants other threads to work for it.
struct Call {
    work: &'static (dyn Fn() + Sync),
    under_way: Arc<UnderWay>,
}

/// Who works on what a query has lent.
#[derive(Default)]
struct UnderWay {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether the query wants no other thread to begin.
    is_closed: bool,
    /// How many threads have begun and not let go.
    threads: usize,
}

impl UnderWay {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a thread may begin, which is to end then.
    fn begin(&self) -> bool {
        let mut state = self.state();
        state.threads += usize::from(!state.is_closed);
        !state.is_closed
    }

    fn end(&self) {
        let mut state = self.state();
        state.threads -= 1;
        if state.threads == 0 {
            self.ended.notify_all();
        }
    }
}

/// Lets no other thread begin once it is dropped, and waits until those that have begun have let go.
struct Waiter(Arc<UnderWay>);

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        while state.threads > 0 {
            state = self.0.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Readers {
    /// With one thread, that of the query, there are no others.
    pub(super) fn new(threads: usize) -> Self {
        Self { threads, calls: OnceLock::new(), latency: AtomicU64::new(nanos(WORTH_A_THREAD)) }
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
        let calls = if self.are_several() && parts.len() > 1 && is_slow { self.calls() } else { None };
        let Some(calls) = calls else {
            return parts.iter_mut().for_each(timed);
        };
        let others = parts.len().min(self.threads) - 1;
        let (next, has_panicked) = (AtomicUsize::new(0), AtomicBool::new(false));
        // Each part is locked once, by whom its number falls to.
        let parts: Vec<Mutex<&mut T>> = parts.iter_mut().map(Mutex::new).collect();
        let work = || {
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                timed(&mut part.lock().unwrap_or_else(PoisonError::into_inner));
            }
        };
        let shared = || {
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                has_panicked.store(true, Ordering::Relaxed);
            }
        };
        call(calls, others, &shared, work);
        assert!(!has_panicked.load(Ordering::Relaxed), "a thread that reads has panicked");
    }

    /// The threads besides that of the query.
    fn calls(&self) -> Option<&Sender<Call>> {
        let start = || {
            let (calls, called) = unbounded();
            let started = (1..self.threads).filter(|&number| start(number, called.clone()));
            (started.count() > 0).then_some(calls)
        };
        self.calls.get_or_init(start).as_ref()
    }

    /// Lets the latest reads count most: an eighth each.
    fn note(&self, took: Duration) {
        let before = self.latency.load(Ordering::Relaxed);
        self.latency.store(before - before / 8 + nanos(took) / 8, Ordering::Relaxed);
    }
}

/// Starts a thread, which ends when nobody can call it any more.
fn start(number: usize, called: Receiver<Call>) -> bool {
    let thread = std::thread::Builder::new().name(format!("nearstone-read-{number}"));
    let run = move || {
        for Call { work, under_way } in called {
            // One that comes late finds the query done, and does not look at what it had lent.
            if under_way.begin() {
                work();
                under_way.end();
            }
        }
    };
    thread.spawn(run).is_ok()
}

/// Lets so many threads do the shared work while this one does its own.
#[expect(unsafe_code, reason = "threads that outlive a query work on what it has borrowed")]
fn call(calls: &Sender<Call>, threads: usize, shared: &(dyn Fn() + Sync), own: impl FnOnce()) {
    let under_way = Arc::new(UnderWay::default());
    // SAFETY: a thread uses the reference between `begin` and `end` only. This function does not return, nor unwind, before
    // `waiter` is dropped: after that no thread begins, and all that have begun have ended.
    let work = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(shared) };
    let waiter = Waiter(Arc::clone(&under_way));
    for _ in 0..threads {
        // Where all threads have ended this one does everything.
        let _ = calls.send(Call { work, under_way: Arc::clone(&under_way) });
    }
    own();
    drop(waiter);
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
            assert_eq!(readers.calls.get().is_some(), threads > 1);
        }
    }

    #[test]
    fn quick_reads_take_no_thread() {
        let readers = Readers::new(4);
        readers.latency.store(1_000, Ordering::Relaxed);
        let caller = std::thread::current().id();
        let mut parts = [0; 8];
        readers.each(&mut parts, |_| assert_eq!(std::thread::current().id(), caller));
        assert!(readers.calls.get().is_none());
    }

    #[test]
    fn a_panic_reaches_the_query_and_the_threads_go_on() {
        let readers = Readers::new(3);
        for round in 0..20 {
            let mut parts: Vec<u32> = (0..9).collect();
            let read = |part: &mut u32| {
                std::thread::sleep(Duration::from_micros(50));
                assert!(*part != 7 || round % 2 == 0, "a read that fails");
                *part = 1;
            };
            let ended = catch_unwind(AssertUnwindSafe(|| readers.each(&mut parts, read)));
            assert_eq!(ended.is_ok(), round % 2 == 0);
            assert!(ended.is_err() || parts.iter().all(|&part| part == 1));
        }
    }
}
