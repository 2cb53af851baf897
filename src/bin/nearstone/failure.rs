//! Exit codes; `docs/cli.md` has the list.

use std::io;

use nearstone::ErrorKind;

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what was asked, or found what was asked for.
    Done,
    /// It found nothing.
    No,
}

/// Nothing was found.
pub(crate) const NO: u8 = 1;
/// The command line cannot be; the same as the parser's own.
const USAGE: u8 = 2;
/// Input, output or the store failed.
const FAILED: u8 = 3;
/// The store is damaged, or of another format, design or analyser.
const UNFIT: u8 = 4;
/// Another process has the store open.
const LOCKED: u8 = 5;

/// A command line that the parser takes but that makes no sense.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

pub(crate) fn code(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() {
        return USAGE;
    }
    match error.downcast_ref::<nearstone::Error>() {
        Some(nearstone::Error::NotAStore { .. }) => UNFIT,
        Some(error) => match error.kind() {
            ErrorKind::Locked => LOCKED,
            ErrorKind::Corrupt | ErrorKind::Mismatch => UNFIT,
            ErrorKind::Invalid => USAGE,
            _ => FAILED,
        },
        None => FAILED,
    }
}

/// Whether the reader of our output went away, as `head` does when it has enough.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}
