//! The child: what it is told, does and says.

use std::fmt;
use std::io::{Read, Write};
use std::path::PathBuf;

use nearstone::{Durability, Error, Fingerprint, SimhashStore, TableDesign};

use super::THREADS;
use super::plan::{Choice, Documents, Plan};
use super::survival::documents;
use crate::common::small;

const STORE: &str = "NEARSTONE_TEST_CHILD_STORE";
const TASK: &str = "NEARSTONE_TEST_CHILD_TASK";

/// What a child is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) store: PathBuf,
    pub(super) seed: u64,
    pub(super) choice: Choice,
    /// The less it is, the more often RocksDB writes files on its own.
    pub(super) write_buffer_bytes: usize,
    /// How each thread writes.
    pub(super) threads: Vec<Durability>,
}

impl Task {
    pub(super) fn variables(&self) -> [(&'static str, PathBuf); 2] {
        [(STORE, self.store.clone()), (TASK, self.to_string().into())]
    }

    fn from_variables() -> Option<Self> {
        let store = std::env::var_os(STORE)?.into();
        let text = std::env::var(TASK).unwrap();
        let mut words = text.split(' ');
        let seed = words.next().unwrap().parse().unwrap();
        let choice = words.next().unwrap();
        let choice = Choice::KNOWN.into_iter().find(|known| format!("{known:?}") == choice).unwrap();
        let write_buffer_bytes = words.next().unwrap().parse().unwrap();
        let threads = words.map(|word| match word {
            "Process" => Durability::Process,
            "Power" => Durability::Power,
            other => panic!("no durability: {other}"),
        });
        Some(Self { store, seed, choice, write_buffer_bytes, threads: threads.collect() })
    }

    /// The plan of a thread of a child that began with what was stored.
    pub(super) fn plan(&self, thread: usize, stored: &Documents) -> Plan {
        Plan::new(self.seed, thread, self.choice, stored)
    }

    /// Where a thread puts the checkpoint that is the n-th of its calls.
    pub(super) fn checkpoint(&self, thread: usize, n: usize) -> PathBuf {
        self.store.with_file_name(format!("checkpoint-{thread}-{n}"))
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.seed, self.choice, self.write_buffer_bytes)?;
        self.threads.iter().try_for_each(|durability| write!(f, " {durability:?}"))
    }
}

/// What the test binary does when it is started as a child: it writes until it is killed.
#[test]
fn child() {
    let Some(task) = Task::from_variables() else { return };
    assert!(task.threads.len() <= THREADS);
    die_with_any_thread();
    die_with_the_parent();
    let options = small().write_buffer_bytes(task.write_buffer_bytes);
    let store = SimhashStore::open_or_create(&task.store, &TableDesign::default(), &options).unwrap();
    let stored = documents(&store);
    // The harness may have begun a line.
    say("\nopen");
    std::thread::scope(|scope| {
        for (thread, durability) in task.threads.iter().enumerate() {
            let (task, store, stored) = (&task, store.with_durability(*durability), &stored);
            scope.spawn(move || write(task, thread, &store, task.plan(thread, stored)));
        }
    });
}

/// Makes the calls of a plan, and says after each that it has returned. Only a full disk ends it.
fn write(task: &Task, thread: usize, store: &SimhashStore, mut plan: Plan) {
    let is_alone = task.threads.len() == 1;
    let mut n = 0;
    let end = loop {
        let call = plan.next_call();
        match call.make(store, &task.checkpoint(thread, n)) {
            Ok(()) => say(&format!("acknowledged {thread} {}", call.name())),
            Err(Error::DiskFull { .. }) => break format!("refused {thread} {}", call.name()),
            // RocksDB tells one thread why a write failed, and others only that one has failed.
            Err(Error::Storage { .. }) if !is_alone => break format!("failed {thread} {}", call.name()),
            Err(error) => panic!("{}: {error}", call.name()),
        }
        for change in call.changes() {
            plan.apply(change);
        }
        n += 1;
    };
    store.insert("one more", &Fingerprint::new(7)).unwrap_err();
    if is_alone {
        // What the failed call was to store is not to be seen either, though the log may hold a part of it.
        assert_eq!(documents(store), plan.documents);
    }
    // Said only now, since a child that has said so is believed to have ended well.
    say(&end);
}

/// Says a whole line in one write: a line that is cut short was not said.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// A thread that fails ends the process, or the parent would wait for what never comes.
fn die_with_any_thread() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

/// Ends the process when its input ends, which the parent holds.
fn die_with_the_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::abort();
    });
}
