//! Forcing the log to the medium, once for all threads that ask at the same time.
//!
//! 1. A write is counted after RocksDB has put it into the log. A sync that begins later covers it.
//! 2. Of the threads that wait, one syncs and the others wait for it. The sync covers all writes that
//!    were counted before it began, so whoever came before that is done with it; the others form the
//!    next group.
//! 3. A failed sync covers nothing: each of those who waited tries itself, and gets the error itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Debug, Default)]
pub(super) struct Syncs {
    written: AtomicU64,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    synced: u64,
    under_way: bool,
}

impl Syncs {
    /// Counts a write and returns its number.
    pub(super) fn wrote(&self) -> u64 {
        self.written.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Returns once all writes counted so far are covered by a sync, by this thread or another one.
    pub(super) fn sync<E>(&self, sync: impl Fn() -> Result<(), E>) -> Result<(), E> {
        let wanted = self.written.load(Ordering::SeqCst);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.synced < wanted {
            if state.under_way {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.under_way = true;
            drop(state);
            let covered = self.written.load(Ordering::SeqCst);
            let result = sync();
            state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.under_way = false;
            if result.is_ok() {
                state.synced = state.synced.max(covered);
            }
            self.ended.notify_all();
            result?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    #[test]
    fn threads_share_a_sync_and_each_write_is_covered() {
        const THREADS: usize = 16;
        let (syncs, calls) = (Syncs::default(), AtomicUsize::new(0));
        // What a medium would hold: the writes counted when a sync began.
        let durable = AtomicU64::new(0);
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    barrier.wait();
                    for _ in 0..20 {
                        let own = syncs.wrote();
                        let synced = syncs.sync(|| {
                            calls.fetch_add(1, Ordering::SeqCst);
                            let seen = syncs.written.load(Ordering::SeqCst);
                            std::thread::sleep(Duration::from_millis(1));
                            durable.fetch_max(seen, Ordering::SeqCst);
                            Ok::<(), ()>(())
                        });
                        synced.unwrap();
                        assert!(durable.load(Ordering::SeqCst) >= own);
                    }
                });
            }
        });
        let calls = calls.into_inner();
        assert!((20..THREADS * 20).contains(&calls), "{calls} syncs for {} writes", THREADS * 20);
        syncs.sync(|| Err("nothing is left to sync")).unwrap();
    }

    #[test]
    fn a_failed_sync_covers_nothing() {
        let syncs = Syncs::default();
        syncs.wrote();
        assert_eq!(syncs.sync(|| Err("full")), Err("full"));
        assert_eq!(syncs.sync(|| Err("still full")), Err("still full"));
        assert_eq!(syncs.sync(|| Ok::<(), &str>(())), Ok(()));
    }
}
