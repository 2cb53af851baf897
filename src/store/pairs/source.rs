//! The threads of a search, and what they find, in the order of the steps.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, bounded};

use super::plan::Plan;
use super::work::{Message, Task};
use crate::store::tables::Ranges;

/// So long the caller waits at once, to look about in between.
const WAIT: Duration = Duration::from_millis(50);

/// The threads and what they have found. Steps are counted from 1: the pass over the holders is step 0.
pub(super) struct Source {
    task: Arc<Task>,
    threads: Vec<JoinHandle<()>>,
    /// Dropped before the threads are waited for.
    steps: Option<Receiver<Receiver<Message>>>,
    step: Option<Receiver<Message>>,
    ended: u64,
}

impl Source {
    /// Begins with a step; `ranges` has the tables of the plan for each thread, and `of_other` those of another store.
    pub(super) fn new(
        plan: Plan,
        max_distance: u32,
        step: u64,
        steps_ahead: usize,
        ranges: Vec<Vec<Ranges>>,
        of_other: Option<Vec<Vec<Ranges>>>,
    ) -> Self {
        let (sender, receiver) = bounded(steps_ahead);
        let task = Arc::new(Task::new(plan, max_distance, step.saturating_sub(1), sender));
        let mut of_other = of_other.map(Vec::into_iter);
        let threads = ranges.into_iter().map(|ranges| {
            let (task, others) = (Arc::clone(&task), of_other.as_mut().and_then(Iterator::next));
            std::thread::spawn(move || task.work(ranges, others))
        });
        let threads = threads.collect();
        Self { task, threads, steps: Some(receiver), step: None, ended: step.max(1) }
    }

    /// How many steps have ended, and been taken.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// How many values were compared.
    pub(super) fn done(&self) -> u64 {
        self.task.done()
    }

    /// Takes the next message; `None` where none has come for a while.
    pub(super) fn receive(&mut self) -> Option<Message> {
        if self.step.is_none() {
            let steps = self.steps.as_ref()?;
            // Before the look: what they have sent until then is there.
            let have_ended = self.threads.iter().all(JoinHandle::is_finished);
            self.step = steps.recv_timeout(WAIT).ok();
            if self.step.is_none() && have_ended {
                self.join();
            }
        }
        match self.step.as_ref()?.recv_timeout(WAIT) {
            Ok(Message::End) => {
                self.step = None;
                self.ended += 1;
                Some(Message::End)
            }
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => self.join(),
        }
    }

    /// Waits for the threads, which have ended before their time: passes on the panic of one.
    fn join(&mut self) -> ! {
        self.stop();
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        unreachable!("a thread that has not panicked has ended its steps");
    }

    pub(super) fn stop(&mut self) {
        self.task.stop();
        self.step = None;
        if let Some(steps) = self.steps.take() {
            // Their threads need not wait to find out.
            while steps.try_recv().is_ok() {}
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // It panicked, and has said so.
            let _ = thread.join();
        }
    }
}
