//! Work in pieces, by several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::Result;

/// More threads than this are of no use to anyone.
pub(super) const MOST_THREADS: usize = 1024;

/// How many threads the machine runs at once.
pub(super) fn available() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Does numbered pieces of work, each in one thread, and returns what came of them in their order. After one has failed
/// no other is begun.
pub(super) fn in_threads<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = threads.min(count).min(MOST_THREADS);
    if threads <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::default();
    let run = || -> Result<()> {
        loop {
            let piece = next.fetch_add(1, Ordering::SeqCst);
            if piece >= count {
                return Ok(());
            }
            let result = work(piece).inspect_err(|_| next.store(count, Ordering::SeqCst))?;
            done.lock().unwrap_or_else(PoisonError::into_inner).push((piece, result));
        }
    };
    thread::scope(|scope| {
        // This thread does what is left where the system has no other ones to give.
        let others: Vec<_> = (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, run).ok()).collect();
        let own = run();
        let ended = others.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect::<Vec<Result<()>>>().into_iter().chain([own]).collect::<Result<()>>()
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(piece, _)| *piece);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
