//! How far long operations are.

use std::ops::ControlFlow;

use crate::{Error, Result};

/// How far a long operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done, in a few words.
    pub phase: &'static str,
    /// The entries that are done, over all phases.
    pub done: u64,
    /// How many there are about; it may be less than `done`.
    pub total: u64,
    /// The entries of this phase that are done.
    pub phase_done: u64,
    /// How many it has about, or 0 where that is not known.
    pub phase_total: u64,
}

/// So many entries are done between two reports of progress.
const REPORT: u64 = 1 << 13;

/// Tells the caller how far it is.
pub(super) struct Reporter<F> {
    progress: F,
    state: Progress,
    remedy: &'static str,
}

impl<F: FnMut(Progress) -> ControlFlow<()>> Reporter<F> {
    pub(super) fn new(progress: F, total: u64, remedy: &'static str) -> Self {
        Self { progress, state: Progress { phase: "", done: 0, total, phase_done: 0, phase_total: 0 }, remedy }
    }

    pub(super) fn phase(&mut self, phase: &'static str) -> Result<()> {
        if self.state.phase != phase {
            self.state.phase_done = 0;
        }
        self.state.phase = phase;
        self.report()
    }

    pub(super) fn done(&mut self, entries: u64) -> Result<()> {
        let before = self.state.done;
        self.state.done += entries;
        self.state.phase_done += entries;
        if before / REPORT == self.state.done / REPORT { Ok(()) } else { self.report() }
    }

    fn report(&mut self) -> Result<()> {
        match (self.progress)(self.state) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped { remedy: self.remedy }),
        }
    }
}
