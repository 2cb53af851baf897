//! Documents from the input, fingerprinted in many threads, handed on in the order of the input.
//!
//! One thread reads batches of records, `threads` workers parse and fingerprint them, and the caller's
//! thread takes the batches in order. A fixed number of tickets bounds the batches under way, so a slow
//! step holds up the others instead of filling the memory.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use nearstone::input::{BadRecord, Inputs, RawRecord};
use nearstone::{Simhash, TextSketch};

use crate::interrupt;

/// A batch ends with the record that brings it to one of these.
const BATCH_RECORDS: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// A record that took this long to come ends its batch, and the next batch is a small one again: the
/// input is a slow pipe, and what it brings is wanted now.
const SLOW: Duration = Duration::from_millis(5);

/// Batches under way for each worker.
const TICKETS_PER_WORKER: usize = 4;

/// How often an idle run looks whether it was interrupted.
const IDLE: Duration = Duration::from_millis(100);

/// A document with its fingerprint, or why it has none.
pub(crate) struct Fingerprinted {
    /// The record; without its bytes unless it is a line, since nobody needs them any more.
    pub(crate) raw: RawRecord,
    pub(crate) id: String,
    /// The text of a record that is neither a line nor a file, and so has no other form to be written in.
    pub(crate) text: Option<String>,
    pub(crate) sketch: TextSketch,
}

/// What the taker of a run is told.
pub(crate) enum Event<T = Fingerprinted> {
    /// The next document.
    Document(Result<T, BadRecord>),
    /// There is none now: what was written may be looked at.
    Idle,
}

type Read = Result<RawRecord, BadRecord>;
/// `None` where the worker failed.
type Done<T> = (u64, Option<Vec<Result<T, BadRecord>>>);

/// Hands every record of the input with its fingerprint to `take` in order, until it fails or the run is interrupted.
pub(crate) fn run(
    inputs: Inputs,
    simhash: &Simhash,
    threads: usize,
    take: impl FnMut(Event) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let simhash = simhash.clone();
    run_with(inputs, threads, move |raw| fingerprint(raw, &simhash), take)
}

/// The same for what `make` makes of records, in many threads; `None` is passed over.
pub(crate) fn run_with<T: Send + 'static>(
    inputs: Inputs,
    threads: usize,
    make: impl Fn(RawRecord) -> Result<Option<T>, BadRecord> + Send + Sync + 'static,
    mut take: impl FnMut(Event<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let tickets = threads * TICKETS_PER_WORKER;
    let (ticket_in, ticket_out) = bounded(tickets);
    let (raw_in, raw_out) = bounded(tickets);
    let (done_in, done_out) = bounded(tickets);
    for _ in 0..tickets {
        ticket_in.send(()).expect("the channel holds all tickets");
    }
    // Nobody waits for these threads: when the taker fails, the reader may be waiting for a slow input.
    let total = Arc::new(OnceLock::new());
    let reader_total = Arc::clone(&total);
    thread::spawn(move || read(inputs, &ticket_out, &raw_in, &reader_total));
    let make = Arc::new(make);
    for _ in 0..threads {
        let (raw_out, done_in, make) = (raw_out.clone(), done_in.clone(), Arc::clone(&make));
        thread::spawn(move || work(&raw_out, &done_in, &*make));
    }
    drop((raw_out, done_in));
    let mut early = BTreeMap::new();
    let mut next = 0;
    loop {
        interrupt::check()?;
        match done_out.recv_timeout(IDLE) {
            Ok((number, batch)) => early.insert(number, batch),
            Err(RecvTimeoutError::Timeout) => {
                take(Event::Idle)?;
                continue;
            }
            // All threads have ended: because the input has, or because one failed.
            Err(RecvTimeoutError::Disconnected) if total.get() == Some(&next) => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => return Err(failed()),
        };
        while let Some(batch) = early.remove(&next) {
            next += 1;
            let batch: Option<Vec<Result<T, BadRecord>>> = batch;
            for item in batch.ok_or_else(failed)? {
                interrupt::check()?;
                take(Event::Document(item))?;
            }
            // It fails when the input has ended.
            let _ = ticket_in.send(());
        }
    }
}

/// A thread panicked, and has said so.
fn failed() -> anyhow::Error {
    anyhow::anyhow!("a thread of this program failed: nothing was written; please report what it said")
}

/// Reads until the input ends, and then says how many batches there were, or until nobody takes it.
fn read(mut inputs: Inputs, tickets: &Receiver<()>, batches: &Sender<(u64, Vec<Read>)>, total: &OnceLock<u64>) {
    let mut most = 1;
    for number in 0.. {
        if tickets.recv().is_err() {
            return;
        }
        let (batch, slow) = next_batch(&mut inputs, most);
        most = if slow { 1 } else { BATCH_RECORDS.min(most * 2) };
        if batch.is_empty() {
            let _ = total.set(number);
            return;
        }
        if batches.send((number, batch)).is_err() {
            return;
        }
    }
}

/// Reads a batch, and tells whether it had to wait for it.
fn next_batch(inputs: &mut Inputs, most: usize) -> (Vec<Read>, bool) {
    let (mut batch, mut bytes, mut slow) = (Vec::new(), 0, false);
    while batch.len() < most && bytes < BATCH_BYTES && !slow {
        let begun = Instant::now();
        let Some(record) = inputs.next() else { break };
        slow = begun.elapsed() > SLOW;
        bytes += record.as_ref().map_or(0, |raw| raw.bytes.len());
        batch.push(record);
    }
    (batch, slow)
}

fn work<T>(
    batches: &Receiver<(u64, Vec<Read>)>,
    done: &Sender<Done<T>>,
    make: &impl Fn(RawRecord) -> Result<Option<T>, BadRecord>,
) {
    for (number, batch) in batches {
        let item = |raw: Read| raw.and_then(make).transpose();
        let items = || batch.into_iter().filter_map(item).collect();
        // A batch that never came back would be waited for.
        let items = catch_unwind(AssertUnwindSafe(items)).ok();
        if done.send((number, items)).is_err() {
            return;
        }
    }
}

/// Returns `None` for what is passed over.
fn fingerprint(mut raw: RawRecord, simhash: &Simhash) -> Result<Option<Fingerprinted>, BadRecord> {
    let Some(document) = raw.parse()? else { return Ok(None) };
    let sketch = simhash.sketch(&document.text);
    if raw.line().is_none() {
        raw.bytes = Vec::new();
    }
    let text = (raw.line().is_none() && !raw.is_file()).then_some(document.text);
    Ok(Some(Fingerprinted { raw, id: document.id, text, sketch }))
}
