//! What a child has said.

use super::THREADS;

/// A call of a child's thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) thread: usize,
    pub(super) name: String,
}

/// The lines of a child, as far as they go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// The store was open.
    pub(super) is_open: bool,
    /// The calls that have returned, in the order in which it was said.
    pub(super) acknowledged: Vec<Told>,
    /// The calls that have failed with the error for a full disk.
    pub(super) refused: Vec<Told>,
    /// The calls that have failed with another one since.
    pub(super) failed: Vec<Told>,
}

impl Account {
    pub(super) fn read(text: &str) -> Self {
        let mut account = Self::default();
        // A process that is killed may have written a part of its last line.
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let told = |words: &str| {
                let (thread, name) = words.split_once(' ').unwrap();
                Told { thread: thread.parse().unwrap(), name: name.to_owned() }
            };
            if line == "open" {
                account.is_open = true;
            } else if let Some(words) = line.strip_prefix("acknowledged ") {
                account.acknowledged.push(told(words));
            } else if let Some(words) = line.strip_prefix("refused ") {
                account.refused.push(told(words));
            } else if let Some(words) = line.strip_prefix("failed ") {
                account.failed.push(told(words));
            }
        }
        account
    }

    /// How many calls of each thread are among the first so many that have returned.
    pub(super) fn calls_among(&self, first: usize) -> [usize; THREADS] {
        let mut calls = [0; THREADS];
        for told in &self.acknowledged[..first] {
            calls[told.thread] += 1;
        }
        calls
    }

    /// How many calls of each thread have returned.
    pub(super) fn calls(&self) -> [usize; THREADS] {
        self.calls_among(self.acknowledged.len())
    }
}
