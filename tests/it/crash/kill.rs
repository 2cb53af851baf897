//! Killed processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use nearstone::Durability::{Power, Process};

use super::THREADS;
use super::child::Task;
use super::plan::{Call, Choice, Documents};
use super::process::Child;
use super::survival::{Begun, open, sound_documents};
use crate::common::{Random, Scratch};

const STORES: u64 = 20;
const KILLS_PER_STORE: u64 = 20;
/// So many of them come while the store is created or opened, and the others while threads write.
const KILLS_AT_START: u64 = 8;
/// So many of these come as soon as the directory has 0, 1, 2 and so on files.
const FILES_AT_CREATION: u64 = 4;

#[test]
fn acknowledged_calls_survive_a_killed_process() {
    let seed = u64::from(std::process::id());
    let mut kills = Kills {
        random: Random(seed),
        start_up: Duration::ZERO,
        before_open: 0,
        before_creation: 0,
        returned: BTreeMap::new(),
    };
    println!("seed {seed}");
    for _ in 0..STORES {
        kills.on_a_store();
    }
    println!(
        "{} kills, {} before the store was open, {} before it was created; returned: {:?}",
        STORES * KILLS_PER_STORE,
        kills.before_open,
        kills.before_creation,
        kills.returned
    );
    assert!(kills.before_creation > 0);
    assert!(Call::NAMES.iter().all(|name| kills.returned.contains_key(*name)), "{:?}", kills.returned);
}

/// Kills at random moments, and what they have met.
struct Kills {
    random: Random,
    /// How long it takes to create a store.
    start_up: Duration,
    before_open: usize,
    before_creation: usize,
    /// How many calls of each name have returned.
    returned: BTreeMap<String, usize>,
}

impl Kills {
    fn on_a_store(&mut self) {
        let scratch = Scratch::new();
        let (mut stored, mut is_created) = (Documents::new(), false);
        for kill in 0..KILLS_PER_STORE {
            let task = self.task(&scratch);
            let mut child = Child::start(Child::command(), &task);
            self.wait(&mut child, kill, &scratch.path());
            let account = child.kill();
            self.before_open += usize::from(!account.is_open);
            for told in &account.acknowledged {
                *self.returned.entry(told.name.clone()).or_insert(0) += 1;
            }

            let begun = Begun { task: &task, stored: &stored };
            begun.assert_checkpoints(scratch.dir.path(), [0; THREADS], &account);
            is_created |= account.is_open;
            match open(&scratch.path(), is_created) {
                Some(store) => {
                    let found = sound_documents(&store);
                    begun.assert_held(&found, account.calls(), &account);
                    (stored, is_created) = (found, true);
                }
                // The next child begins the creation anew.
                None => self.before_creation += 1,
            }
            remove_checkpoints(scratch.dir.path());
        }
    }

    fn task(&mut self, scratch: &Scratch) -> Task {
        let threads = match self.random.below(3) {
            0 => [Process; THREADS],
            1 => [Power; THREADS],
            _ => [Process, Power, Process, Power],
        };
        Task {
            store: scratch.path(),
            seed: self.random.next(),
            choice: Choice::All,
            write_buffer_bytes: 1 << 20,
            threads: threads.to_vec(),
        }
    }

    /// Waits for the moment of a kill.
    fn wait(&mut self, child: &mut Child, kill: u64, store: &Path) {
        if kill < FILES_AT_CREATION {
            // However fast the machine is, some files are there and others not yet.
            let has_files = || fs::read_dir(store).is_ok_and(|files| files.count() as u64 >= kill);
            return child.wait_for(|account| account.is_open || has_files());
        }
        if kill < KILLS_AT_START && !self.start_up.is_zero() {
            return sleep_micros(self.random.below(u64::try_from(self.start_up.as_micros()).unwrap()));
        }
        child.wait_for(|account| account.is_open);
        if self.start_up.is_zero() {
            self.start_up = child.started.elapsed();
        }
        if kill == KILLS_AT_START {
            // However slow the machine is, some checkpoints are finished.
            child.wait_for(|account| account.acknowledged.iter().any(|told| told.name == "checkpoint"));
        }
        sleep_micros(5_000 + self.random.below(55_000));
    }
}

/// Waits for so long, in microseconds.
pub(super) fn sleep_micros(micros: u64) {
    std::thread::sleep(Duration::from_micros(micros));
}

/// Removes the checkpoints of a child, finished ones and others, to make room for those of the next.
fn remove_checkpoints(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("checkpoint-") {
            fs::remove_dir_all(entry.path()).unwrap();
        }
    }
}
