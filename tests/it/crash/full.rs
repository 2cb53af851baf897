//! Full disks.

use std::process::Command;

use nearstone::Durability::{self, Power, Process};
use nearstone::Fingerprint;

use super::THREADS;
use super::child::Task;
use super::plan::{Choice, Documents};
use super::process::Child;
use super::survival::{Begun, sound_documents};
use crate::common::{Random, Scratch};

/// Each with its own length of what still fits.
const DISKS: u64 = 4;

/// What was acknowledged before the disk was full is there when the store is opened again, and nothing of
/// what failed.
#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged_and_keeps_nothing_that_failed() {
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut random = Random(seed);
    for _ in 0..DISKS {
        for choice in [Choice::Single, Choice::NewBatches] {
            for threads in [&[Process][..], &[Power], &[Process; THREADS], &[Power; THREADS]] {
                // All stays in the buffer, so the log is what is full.
                fill(random.next(), choice, 16 << 20, threads);
            }
        }
    }
}

/// The same where it is a data file that finds no room, long after its documents were acknowledged.
#[test]
fn a_disk_that_is_full_in_the_background_loses_nothing_that_was_acknowledged() {
    fill(7, Choice::NewBatches, 1 << 20, &[Process]);
}

/// Writes until a call fails. A limit on the size of files stands for a full disk.
fn fill(seed: u64, choice: Choice, write_buffer_bytes: usize, threads: &[Durability]) {
    let scratch = Scratch::new();
    let task = Task { store: scratch.path(), seed, choice, write_buffer_bytes, threads: threads.to_vec() };
    let child = Child::command();
    let mut limited = Command::new("sh");
    // 256 KiB for each file, and no signal when it is reached but an error. What the child says goes through
    // a pipe, which has no size.
    limited.args(["-c", "(trap '' XFSZ; ulimit -f 512; exec \"$0\" \"$@\") | cat"]);
    limited.arg(child.get_program()).args(child.get_args());
    let mut child = Child::start(limited, &task);
    child.end();
    let account = child.account();
    assert!(!account.refused.is_empty(), "{task}: {}", child.complaint());
    assert_eq!(account.refused.len() + account.failed.len(), threads.len(), "{task}: {}", child.complaint());
    assert!(account.acknowledged.len() > 50, "{task}: {}", account.acknowledged.len());

    let store = scratch.open();
    let found = sound_documents(&store);
    let begun = Begun { task: &task, stored: &Documents::new() };
    for (thread, &returned) in account.calls().iter().enumerate() {
        // A sync fails for the write of another thread too, and then its call has stored what it was to store.
        let failed = usize::from(threads.len() > 1 && threads.contains(&Power));
        assert!(begun.may_hold(&found, thread, returned, returned + failed), "{task}: thread {thread}");
    }
    store.insert("more", &Fingerprint::new(7)).unwrap();
}
