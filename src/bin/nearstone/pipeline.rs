//! Documents from the input, fingerprinted in many threads, handed on in the order of the input.
//!
//! One thread reads batches of records, `threads` workers parse and fingerprint them, and the caller's
//! thread takes the batches in order. A fixed number of tickets bounds the batches under way, so a slow
//! step holds up the others instead of filling the memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossbeam::channel::bounded;
use nearstone::input::{BadRecord, Fields, Inputs, RawRecord, TextDocument};
use nearstone::{Fingerprint, Simhash};

/// A batch ends with the record that brings it to one of these.
const BATCH_RECORDS: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// Batches under way for each worker.
const TICKETS_PER_WORKER: usize = 4;

/// A document with its fingerprint, `None` where its text has no features.
pub(crate) struct Fingerprinted {
    pub(crate) raw: RawRecord,
    pub(crate) document: TextDocument,
    pub(crate) fingerprint: Option<Fingerprint>,
}

type Item = Result<Fingerprinted, BadRecord>;

/// Hands every record of the input to `take` in order, until it fails.
pub(crate) fn run(
    inputs: Inputs,
    fields: &Fields,
    simhash: &Simhash,
    threads: usize,
    mut take: impl FnMut(Item) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let tickets = threads * TICKETS_PER_WORKER;
    let (ticket_in, ticket_out) = bounded::<()>(tickets);
    let (raw_in, raw_out) = bounded::<(u64, Vec<Result<RawRecord, BadRecord>>)>(tickets);
    let (done_in, done_out) = bounded::<(u64, Vec<Item>)>(tickets);
    let stop = AtomicBool::new(false);
    for _ in 0..tickets {
        ticket_in.send(()).expect("the channel holds all tickets");
    }
    thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            let mut inputs = inputs;
            for number in 0.. {
                // An error means that the taker is gone, and so nobody wants more.
                if ticket_out.recv().is_err() || stop.load(Ordering::Relaxed) {
                    return;
                }
                let batch = next_batch(&mut inputs);
                if batch.is_empty() || raw_in.send((number, batch)).is_err() {
                    return;
                }
            }
        });
        for _ in 0..threads {
            let (raw_out, done_in) = (raw_out.clone(), done_in.clone());
            scope.spawn(move || {
                for (number, batch) in raw_out {
                    let done = batch.into_iter().map(|raw| raw.and_then(|raw| fingerprint(raw, fields, simhash)));
                    if done_in.send((number, done.collect())).is_err() {
                        return;
                    }
                }
            });
        }
        drop((raw_out, done_in));
        let result = in_order(done_out.iter(), |batch| {
            batch.into_iter().try_for_each(&mut take)?;
            let _ = ticket_in.send(());
            Ok(())
        });
        stop.store(true, Ordering::Relaxed);
        drop((ticket_in, done_out));
        result
    })
}

fn next_batch(inputs: &mut Inputs) -> Vec<Result<RawRecord, BadRecord>> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
        let Some(record) = inputs.next() else { break };
        bytes += record.as_ref().map_or(0, |raw| raw.bytes.len());
        batch.push(record);
    }
    batch
}

fn fingerprint(raw: RawRecord, fields: &Fields, simhash: &Simhash) -> Item {
    let document = fields.parse(&raw)?;
    let fingerprint = simhash.fingerprint(&document.text);
    Ok(Fingerprinted { raw, document, fingerprint })
}

/// Hands on numbered batches by their numbers.
fn in_order<T>(
    batches: impl Iterator<Item = (u64, T)>,
    mut take: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    for (number, batch) in batches {
        early.insert(number, batch);
        while let Some(batch) = early.remove(&next) {
            take(batch)?;
            next += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_come_in_order_whatever_the_order_in_which_they_are_done() {
        let mut taken = Vec::new();
        in_order([(2, 'c'), (0, 'a'), (1, 'b'), (3, 'd')].into_iter(), |letter| {
            taken.push(letter);
            Ok(())
        })
        .unwrap();
        assert_eq!(taken, ['a', 'b', 'c', 'd']);
    }
}
