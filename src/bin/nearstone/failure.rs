//! Exit codes; `docs/cli.md` has the list.

use std::io;

use nearstone::ErrorKind;

use crate::interrupt::Interrupted;

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
/// The run was interrupted, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

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
    if error.is::<Interrupted>() {
        return INTERRUPTED;
    }
    match error.downcast_ref::<nearstone::Error>() {
        Some(nearstone::Error::NotAStore { .. }) => UNFIT,
        // Pages and tables of frequencies are inputs.
        None | Some(nearstone::Error::Pages { .. } | nearstone::Error::Frequencies { .. }) => FAILED,
        Some(error) => match error.kind() {
            ErrorKind::Locked => LOCKED,
            ErrorKind::Corrupt | ErrorKind::Mismatch => UNFIT,
            ErrorKind::Invalid => USAGE,
            ErrorKind::Stopped => INTERRUPTED,
            _ => FAILED,
        },
    }
}

/// The error and its causes in one line, without causes that the text before has told already; and what to do about it where
/// it comes from the system, which tells only the cause.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if !message.contains(&cause) {
            message = if message.is_empty() { cause } else { format!("{message}: {cause}") };
        }
    }
    if let Some(remedy) = error.chain().find_map(|cause| remedy(cause.downcast_ref::<io::Error>()?.kind())) {
        message = format!("{message}: {remedy}");
    }
    message.replace('\n', " ")
}

/// What helps against an error of the system.
fn remedy(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::PermissionDenied => "check the permissions of the file and its folders, or run as its owner",
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::StorageFull => "make room, or name another place",
        io::ErrorKind::ReadOnlyFilesystem => "name a place that can be written to",
        _ => return None,
    })
}

/// Whether the reader of our output went away, as `head` does when it has enough.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn errors_of_the_system_end_with_a_remedy() {
        let failed = |kind: io::ErrorKind| {
            let failed: anyhow::Result<()> = Err(io::Error::from(kind)).context("cannot write x");
            message(&failed.unwrap_err())
        };
        let denied =
            "cannot write x: permission denied: check the permissions of the file and its folders, or run as its owner";
        assert_eq!(failed(io::ErrorKind::PermissionDenied), denied);
        assert_eq!(
            failed(io::ErrorKind::StorageFull),
            "cannot write x: no storage space: make room, or name another place"
        );
        assert_eq!(failed(io::ErrorKind::TimedOut), "cannot write x: timed out");
    }
}
