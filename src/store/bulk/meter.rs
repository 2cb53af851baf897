//! How far a load is, counted by all of its threads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{RecvTimeoutError, bounded};

use crate::store::Progress;
use crate::{Error, Result};

/// How often the caller is told.
const TELL: Duration = Duration::from_millis(50);

/// Counts what is done.
#[derive(Debug)]
pub(super) struct Meter {
    /// The phase, what was done before it, and about how many entries it has.
    phase: Mutex<(&'static str, u64, u64)>,
    done: AtomicU64,
    total: AtomicU64,
    is_stopped: AtomicBool,
    remedy: &'static str,
}

impl Meter {
    /// `remedy` says what to do after a stop.
    pub(super) fn new(remedy: &'static str) -> Self {
        Self {
            phase: Mutex::default(),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            remedy,
        }
    }

    pub(super) fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Begins a phase of about so many entries.
    pub(super) fn phase(&self, name: &'static str, total: u64) -> Result<()> {
        let before = self.done.load(Ordering::Relaxed);
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = (name, before, total);
        self.look()
    }

    /// Counts entries as done.
    pub(super) fn done(&self, entries: u64) -> Result<()> {
        self.done.fetch_add(entries, Ordering::Relaxed);
        self.look()
    }

    /// Fails once the caller has stopped the load.
    pub(super) fn look(&self) -> Result<()> {
        if self.is_stopped.load(Ordering::Relaxed) { Err(Error::Stopped { remedy: self.remedy }) } else { Ok(()) }
    }

    fn progress(&self) -> Progress {
        let (phase, before, phase_total) = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        Progress { phase, done, total, phase_done: done.saturating_sub(before), phase_total }
    }

    /// Does work in another thread and tells the caller meanwhile how far it is.
    pub(super) fn watch<T: Send>(
        &self,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        let mut tell = || {
            if progress(self.progress()).is_break() {
                self.is_stopped.store(true, Ordering::Relaxed);
            }
        };
        tell();
        let ended = thread::scope(|scope| {
            let (ended, end) = bounded(1);
            let worker = scope.spawn(move || {
                // Nobody waits for it where the caller has panicked.
                let _ = ended.send(work());
            });
            // A caller that panics does not want the rest.
            let stop = StopOnUnwind(&self.is_stopped);
            loop {
                match end.recv_timeout(TELL) {
                    Ok(ended) => {
                        std::mem::forget(stop);
                        return ended;
                    }
                    Err(RecvTimeoutError::Timeout) => tell(),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("a thread that has not panicked has sent its end"),
            }
        });
        tell();
        ended
    }
}

struct StopOnUnwind<'a>(&'a AtomicBool);

impl Drop for StopOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
