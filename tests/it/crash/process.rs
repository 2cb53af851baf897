//! A child as its parent sees it.

use std::fs::{self, File};
use std::process::{self, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::account::Account;
use super::child::Task;

/// A child that runs. It is killed when this is dropped.
pub(super) struct Child {
    pub(super) process: process::Child,
    pub(super) started: Instant,
    /// Files take what it says: they hold all that was written, whatever becomes of the child.
    said: TempDir,
}

impl Child {
    /// The command that starts a child without a task.
    pub(super) fn command() -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["crash::child::child", "--exact", "--nocapture"]);
        command
    }

    pub(super) fn start(mut command: Command, task: &Task) -> Self {
        let said = tempfile::tempdir().unwrap();
        let file = |name| Stdio::from(File::create(said.path().join(name)).unwrap());
        command.envs(task.variables()).stdin(Stdio::piped()).stdout(file("out")).stderr(file("err"));
        Self { process: command.spawn().unwrap(), started: Instant::now(), said }
    }

    pub(super) fn account(&self) -> Account {
        Account::read(&fs::read_to_string(self.said.path().join("out")).unwrap())
    }

    /// What it has complained about.
    pub(super) fn complaint(&self) -> String {
        fs::read_to_string(self.said.path().join("err")).unwrap()
    }

    /// Waits until it has said something.
    pub(super) fn wait_for(&mut self, is_said: impl Fn(&Account) -> bool) {
        while !is_said(&self.account()) {
            self.assert_running();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn assert_running(&mut self) {
        let ended = self.process.try_wait().unwrap();
        assert_eq!(ended, None, "the child has ended by itself: {}", self.complaint());
    }

    /// Kills it, and returns all that it has said.
    pub(super) fn kill(mut self) -> Account {
        self.assert_running();
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.account()
    }

    /// Waits for its end.
    pub(super) fn end(&mut self) {
        // Not `wait`, which would close its input first and so end it.
        while self.process.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
