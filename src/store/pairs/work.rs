//! The threads that compare the values of the tables.
//!
//! 1. Each step is done by one thread, from its begin to its end; threads take the steps in their order.
//! 2. Each step has a channel of its own, with room for a few pieces of what it finds. The channels are handed to the
//!    caller in the order of the steps, which takes one after the other. So what comes does not depend on the threads.
//! 3. A thread waits where a channel is full, or where too many steps are ahead of the caller. The earliest step that
//!    was not taken is always at work or done, so the caller never waits in vain.
//! 4. A caller that goes away sets a flag, which is looked at for each group, and while a channel is full: that of a step
//!    which the caller never came to is not closed, as it still lies in the channel by which it was handed over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crossbeam::channel::{Receiver, SendTimeoutError, Sender, bounded};

use super::join::{Ended, Join};
use super::piece::{PIECE_VALUES, Piece};
use super::plan::Plan;
use crate::Error;
use crate::store::tables::Ranges;

/// Two fingerprints that are near; of one store the smaller first.
pub(super) type Near = (u64, u64);

/// What a thread says.
pub(super) enum Message {
    Found(Vec<Near>),
    /// The step has ended.
    End,
    Failed(Error),
}

/// How often a thread whose channel is full looks whether anybody will take it.
const LOOK: Duration = Duration::from_millis(50);
/// What the channel of a step may hold, and its thread beside it.
pub(super) const STEP_BYTES: usize = (WAITING + 1) * TOGETHER * size_of::<Near>();

/// So many pairs are handed over at once.
const TOGETHER: usize = 1 << 13;
/// So many times that wait in the channel of a step.
const WAITING: usize = 2;

/// What the threads share.
pub(super) struct Task {
    plan: Plan,
    /// For each table of the plan, the bits in which ranges and groups may differ.
    flips: Vec<Vec<(u64, Vec<u64>)>>,
    max_distance: u32,
    /// The next step, and where its channel goes.
    next: Mutex<(u64, Sender<Receiver<Message>>)>,
    is_stopped: AtomicBool,
    /// The values that were compared.
    done: AtomicU64,
}

/// Why a step ends early.
enum Stop {
    Ended,
    Failed(Error),
}

impl From<Ended> for Stop {
    fn from(_: Ended) -> Self {
        Self::Ended
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Task {
    pub(super) fn new(plan: Plan, max_distance: u32, first: u64, steps: Sender<Receiver<Message>>) -> Self {
        let flips = (0..plan.tables.len()).map(|at| plan.flips(at)).collect();
        let next = Mutex::new((first, steps));
        Self { plan, flips, max_distance, next, is_stopped: AtomicBool::new(false), done: AtomicU64::new(0) }
    }

    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Does steps until there are no more. `a` has the tables of the plan; `b` those of another store, whose values
    /// are compared instead of their own.
    pub(super) fn work(&self, a: Vec<Ranges>, b: Option<Vec<Ranges>>) {
        let mut worker = Worker {
            task: self,
            a,
            b,
            piece: Piece::default(),
            other: Piece::default(),
            join: Join::new(self.max_distance),
        };
        while let Some((step, messages)) = self.take() {
            match worker.step(step, &messages) {
                Ok(()) => drop(self.send(&messages, Message::End)),
                Err(Stop::Ended) => return,
                Err(Stop::Failed(error)) => return drop(self.send(&messages, Message::Failed(error))),
            }
        }
    }

    fn send(&self, messages: &Sender<Message>, mut message: Message) -> Result<(), Ended> {
        loop {
            match messages.send_timeout(message, LOOK) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) if !self.is_stopped.load(Ordering::Relaxed) => message = back,
                Err(_) => return Err(Ended),
            }
        }
    }

    fn take(&self) -> Option<(u64, Sender<Message>)> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let step = next.0;
        self.plan.step(step)?;
        next.0 += 1;
        let (sender, receiver) = bounded(WAITING);
        // Under the lock, so that the channels come in the order of the steps.
        next.1.send(receiver).ok()?;
        Some((step, sender))
    }
}

struct Worker<'a> {
    task: &'a Task,
    a: Vec<Ranges>,
    b: Option<Vec<Ranges>>,
    piece: Piece,
    other: Piece,
    join: Join,
}

impl Worker<'_> {
    /// Compares a range of a table with itself and the ranges that may have near values; those before it have been.
    fn step(&mut self, step: u64, messages: &Sender<Message>) -> Result<(), Stop> {
        let Self { task, a, b, piece, other, join } = self;
        let plan = &task.plan;
        let (at, range) = plan.step(step).expect("it was taken");
        let (part, is_stopped) = (&plan.tables[at], &task.is_stopped);
        let is_one_store = b.is_none();
        let mut pairs: Vec<Near> = Vec::new();
        let mut found = |a: u64, b: u64| {
            let differing = part.table.permutation().invert(a ^ b);
            if plan.counts(at, differing) {
                let a = part.table.restore(a).bits();
                let b = a ^ differing;
                pairs.push(if is_one_store { (a.min(b), a.max(b)) } else { (a, b) });
            }
            if pairs.len() < TOGETHER {
                return Ok(());
            }
            task.send(messages, Message::Found(std::mem::take(&mut pairs)))
        };
        let (mut next, to) = (Some(part.range(range).0), part.range(range).1);
        while let Some(from) = next {
            next = a[at].read(from, to, PIECE_VALUES, &mut piece.values)?;
            if piece.values.is_empty() {
                continue;
            }
            piece.index(part);
            for (range_flip, flips) in &task.flips[at] {
                let beside = range ^ range_flip;
                let (mut from, to) = (Some(part.range(beside).0), part.range(beside).1);
                if is_one_store {
                    if beside < range {
                        continue;
                    }
                    if beside == range {
                        piece.within(flips, join, is_stopped, &mut found)?;
                        from = next;
                    }
                }
                while let Some(start) = from {
                    let ranges = b.as_mut().map_or(&mut a[at], |b| &mut b[at]);
                    from = ranges.read(start, to, PIECE_VALUES, &mut other.values)?;
                    if !other.values.is_empty() {
                        other.index(part);
                        piece.between(other, flips, join, is_stopped, &mut found)?;
                    }
                }
            }
            task.done.fetch_add(piece.values.len() as u64, Ordering::Relaxed);
        }
        if !pairs.is_empty() {
            task.send(messages, Message::Found(pairs))?;
        }
        Ok(())
    }
}
