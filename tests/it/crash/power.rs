//! Lost power, as [`medium`](super::medium) simulates it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use nearstone::Durability::{self, Power, Process};
use nearstone::{SimhashStore, TableDesign};
use rustix::process::{Pid, Signal, kill_process};

use super::THREADS;
use super::account::Account;
use super::child::Task;
use super::kill::sleep_micros;
use super::medium::{Medium, Preload};
use super::plan::{Choice, Documents};
use super::process::Child;
use super::survival::{Begun, open, sound_documents};
use crate::common::{Random, Scratch, small};

/// Each begins with what the last power cut has left.
const CHILDREN_PER_STORE: u64 = 3;
const CUTS_PER_CHILD: u64 = 8;
/// So many of them come while the store is opened, or created.
const CUTS_AT_START: u64 = 3;

/// What was acknowledged under [`Durability::Power`] is there after a power cut, and of the rest a beginning.
#[test]
fn acknowledged_calls_survive_a_power_cut() {
    let Some(cuts) = Cuts::make(3, [Power, Power, Power, Process]) else { return };
    assert!(cuts.before_open > 0 && cuts.checkpoints > 0);
}

/// The simulation can tell: without syncs, calls that have returned are lost.
#[test]
fn acknowledged_calls_are_lost_where_the_log_was_not_forced_to_the_medium() {
    let Some(cuts) = Cuts::make(1, [Process; THREADS]) else { return };
    assert!(cuts.lost > 0);
}

/// Power cuts at random moments, and what became of the stores.
struct Cuts {
    preload: Preload,
    random: Random,
    /// How long it takes to create a store.
    start_up: Duration,
    before_open: usize,
    checkpoints: usize,
    /// How often a thread has lost calls that had returned, and that it may lose.
    lost: usize,
}

impl Cuts {
    fn make(stores: u64, threads: [Durability; THREADS]) -> Option<Self> {
        let seed = u64::from(std::process::id());
        let (preload, random) = (Preload::compile()?, Random(seed));
        let mut cuts = Self { preload, random, start_up: Duration::ZERO, before_open: 0, checkpoints: 0, lost: 0 };
        for _ in 0..stores {
            let mut left = (Scratch::new(), Documents::new());
            for child in 0..CHILDREN_PER_STORE {
                left = cuts.during_a_child(threads, child > 0, &left.0, &left.1);
            }
        }
        println!(
            "seed {seed}: {} cuts, {} before the store was open; {} checkpoints; {} threads have lost calls",
            stores * CHILDREN_PER_STORE * CUTS_PER_CHILD,
            cuts.before_open,
            cuts.checkpoints,
            cuts.lost
        );
        Some(cuts)
    }

    /// Returns what the last cut has left.
    fn during_a_child(
        &mut self,
        threads: [Durability; THREADS],
        mut is_created: bool,
        scratch: &Scratch,
        stored: &Documents,
    ) -> (Scratch, Documents) {
        let task = Task {
            store: scratch.path(),
            seed: self.random.next(),
            choice: Choice::All,
            write_buffer_bytes: 1 << 20,
            threads: threads.to_vec(),
        };
        let begun = Begun { task: &task, stored };
        let mut command = Child::command();
        let medium = Medium::new(&self.preload, scratch.dir.path(), &mut command);
        let mut child = Child::start(command, &task);
        let mut seen = [0; THREADS];
        let mut cut = 0;
        loop {
            self.wait(&mut child, cut);
            halt(&mut child);
            let account = child.account();
            is_created |= account.is_open;
            self.before_open += usize::from(!account.is_open);
            let copy = copied(&medium, scratch);

            for checkpoint in begun.assert_checkpoints(copy.dir.path(), seen, &account) {
                self.checkpoints += 1;
                fs::remove_dir_all(scratch.dir.path().join(checkpoint)).unwrap();
            }
            let found = match open(&copy.path(), is_created) {
                Some(store) => sound_documents(&store),
                None => sound_documents(&created_again(&copy.path())),
            };
            begun.assert_held(&found, forced_calls(&account, threads), &account);
            seen = account.calls();
            let has_lost = |&thread: &usize| !begun.may_hold(&found, thread, seen[thread], seen[thread] + 1);
            self.lost += (0..THREADS).filter(has_lost).count();

            cut += 1;
            if cut == CUTS_PER_CHILD {
                // A second copy, since the first was opened outside of the simulation.
                return (copied(&medium, scratch), found);
            }
            go_on(&child);
        }
    }

    /// Waits for the moment of a cut.
    fn wait(&mut self, child: &mut Child, cut: u64) {
        if cut < CUTS_AT_START && !self.start_up.is_zero() {
            let between = u64::try_from(self.start_up.as_micros()).unwrap() / CUTS_AT_START;
            return sleep_micros(self.random.below(between));
        }
        child.wait_for(|account| account.is_open);
        if self.start_up.is_zero() {
            self.start_up = child.started.elapsed();
        }
        if cut == CUTS_AT_START {
            // However slow the machine is, some checkpoints are finished.
            child.wait_for(|account| account.acknowledged.iter().any(|told| told.name == "checkpoint"));
        }
        sleep_micros(5_000 + self.random.below(55_000));
    }
}

/// How many calls of each thread must survive a power cut. Those with [`Durability::Power`] do, and so does all
/// that was said before a call began that forced the log to the medium. It began after its thread had said
/// that its last one had returned.
fn forced_calls(account: &Account, threads: [Durability; THREADS]) -> [usize; THREADS] {
    let (mut latest, mut covered) = ([0; THREADS], 0);
    for (place, told) in account.acknowledged.iter().enumerate() {
        // A checkpoint leaves the log of the store as it is.
        let has_forced = threads[told.thread] == Power && told.name != "checkpoint";
        if has_forced || told.name == "flush" {
            covered = covered.max(latest[told.thread]);
        }
        latest[told.thread] = place + 1;
    }
    let (returned, covered) = (account.calls(), account.calls_among(covered));
    std::array::from_fn(|thread| if threads[thread] == Power { returned[thread] } else { covered[thread] })
}

fn copied(medium: &Medium, scratch: &Scratch) -> Scratch {
    let copy = Scratch::new();
    medium.copy(scratch.dir.path(), copy.dir.path());
    copy
}

fn created_again(path: &Path) -> SimhashStore {
    SimhashStore::open_or_create(path, &TableDesign::default(), &small()).unwrap()
}

/// Stops a child, and returns when all its threads have stopped.
fn halt(child: &mut Child) {
    signal(child, Signal::STOP);
    // Twice, since a thread may have been started during the first look by one that had not stopped yet.
    let mut looks = 0;
    while looks < 2 {
        child.assert_running();
        let tasks = fs::read_dir(format!("/proc/{}/task", child.process.id())).unwrap();
        // A thread may end before it stops.
        let mut states = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
        // The state follows the name, which is in brackets and may hold anything.
        let is_stopped = states.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')));
        looks = if is_stopped { looks + 1 } else { 0 };
        if !is_stopped {
            sleep_micros(100);
        }
    }
}

/// Lets a stopped child go on.
fn go_on(child: &Child) {
    signal(child, Signal::CONT);
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(&child.process), signal).unwrap();
}
