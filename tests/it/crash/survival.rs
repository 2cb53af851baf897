//! What a store holds after a crash, against what it may hold.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;

use nearstone::{Error, SimhashStore};

use super::THREADS;
use super::account::Account;
use super::child::Task;
use super::plan::{Call, Content, Documents, of_thread};
use crate::common::small;

/// Everything that a store holds.
pub(super) fn documents(store: &SimhashStore) -> Documents {
    let documents = store.iter().unwrap().map(|document| {
        let document = document.unwrap();
        (document.id, Content { sketch: document.sketch, payload: document.payload })
    });
    documents.collect()
}

/// Everything that a store holds whose families agree: by its own word, and by queries, which go through one
/// table and the holders each.
pub(super) fn sound_documents(store: &SimhashStore) -> Documents {
    let verification = store.verify(|_| ControlFlow::Continue(())).unwrap();
    assert!(verification.is_sound(), "{}: {verification:?}", store.path().display());
    let documents = documents(store);
    for (id, content) in &documents {
        let found = store.query(&content.sketch, 0).unwrap();
        assert!(found.iter().any(|found| found.id == *id), "{id:?} is not found");
    }
    documents
}

/// A child's task and what was stored when it began.
pub(super) struct Begun<'a> {
    pub(super) task: &'a Task,
    pub(super) stored: &'a Documents,
}

impl Begun<'_> {
    /// Whether what a store holds of a thread's documents is what it held at some moment after `least` calls of
    /// the thread had returned and before more than `most` of them had begun.
    pub(super) fn may_hold(&self, found: &Documents, thread: usize, least: usize, most: usize) -> bool {
        let found = of_thread(found, thread);
        let mut plan = self.task.plan(thread, self.stored);
        for n in 0..most {
            if n >= least && plan.documents == found {
                return true;
            }
            for change in plan.next_call().changes() {
                plan.apply(change);
                if n >= least && plan.documents == found {
                    return true;
                }
            }
        }
        plan.documents == found
    }

    /// Fails unless a store holds what it may hold: all that `least` calls of each thread have stored, and
    /// what of the later ones happened before some moment, up to the one that was under way.
    pub(super) fn assert_held(&self, found: &Documents, least: [usize; THREADS], account: &Account) {
        assert!(found.keys().all(|id| usize::from(id[0]) < THREADS), "an id that nobody has stored");
        for (thread, returned) in account.calls().into_iter().enumerate() {
            let (least, most) = (least[thread], returned + 1);
            assert!(
                self.may_hold(found, thread, least, most),
                "thread {thread} of {}: {} documents, which are not those after any of its calls {least}..={most}",
                self.task,
                of_thread(found, thread).len(),
            );
        }
    }

    /// Opens the finished checkpoints of the calls from `first` on and looks into them. What the thread that
    /// made one had stored is in it, no more and no less; of what others stored meanwhile, any beginning.
    /// Returns their names.
    pub(super) fn assert_checkpoints(
        &self,
        directory: &Path,
        first: [usize; THREADS],
        account: &Account,
    ) -> Vec<OsString> {
        let mut names = Vec::new();
        let returned = account.calls();
        for thread in 0..self.task.threads.len() {
            let mut plan = self.task.plan(thread, self.stored);
            for n in 0..returned[thread] {
                let call = plan.next_call();
                if matches!(call, Call::Checkpoint) && n >= first[thread] {
                    let name = self.task.checkpoint(thread, n).file_name().unwrap().to_owned();
                    let copy = SimhashStore::open_read_only(directory.join(&name), &small()).unwrap();
                    let found = sound_documents(&copy);
                    let is_exact = of_thread(&found, thread) == plan.documents;
                    assert!(is_exact, "thread {thread} of {}: not what it had stored by its call {n}", self.task);
                    self.assert_held(&found, [0; THREADS], account);
                    names.push(name);
                }
                for change in call.changes() {
                    plan.apply(change);
                }
            }
        }
        names
    }
}

/// Opens a store after a crash. `None` where its creation was interrupted, which it may be only until the child
/// has said that it was open.
pub(super) fn open(path: &Path, is_created: bool) -> Option<SimhashStore> {
    match SimhashStore::open(path, &small()) {
        Err(Error::NotFound { .. }) if !is_created => None,
        opened => Some(opened.unwrap()),
    }
}
