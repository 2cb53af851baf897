//! What can go wrong, one variant per remedy.

use std::io;
use std::path::PathBuf;

/// The result of a fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// The message is one lower-case line: what was found, what was expected, and what to do about it.
/// Programs match on [`Error::kind`], whose numbers are stable; people read the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no store at the path.
    #[error("no store at {}: create one first", path.display())]
    NotFound {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A store is already there.
    #[error("a store already exists at {}: open it, or choose another path", path.display())]
    AlreadyExists {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The path holds something else: a file, other files, a foreign database.
    #[error("not a nearstone store: {} {found}; choose an empty or new directory", path.display())]
    NotAStore {
        /// The path that was asked for.
        path: PathBuf,
        /// What is there instead.
        found: String,
    },
    /// Another process, or another handle of this one, has the store open for writing.
    #[error(
        "the store at {} is in use elsewhere: close it there first, or work on a copy",
        path.display()
    )]
    Locked {
        /// The store that is locked.
        path: PathBuf,
    },
    /// The store was written in a format that this build does not read.
    #[error(
        "the store at {} has format {found}, this build reads format {supported}: \
         use the release that wrote it, or load its documents into a new store", path.display()
    )]
    Format {
        /// The store that was opened.
        path: PathBuf,
        /// The format found on disk.
        found: u16,
        /// The format that this build reads.
        supported: u16,
    },
    /// Bytes on disk are not what the format allows.
    #[error("the store at {} is damaged: {what}; restore a copy, or repair it (nearstone repair, Store::repair) where its documents are whole", path.display())]
    Corrupt {
        /// The store that was read.
        path: PathBuf,
        /// What was read, and what was expected.
        what: String,
    },
    /// The store was created with something else than what the caller asks for.
    #[error("the store at {} has {what} {found}, asked for {expected}: use the stored one, or create another store", path.display())]
    Mismatch {
        /// The store that was opened.
        path: PathBuf,
        /// What differs: the design, the analyser, the kind of sketch.
        what: &'static str,
        /// What the store has.
        found: String,
        /// What was asked for.
        expected: String,
    },
    /// A document id is empty or longer than [`MAX_ID_BYTES`](crate::MAX_ID_BYTES).
    #[error(
        "a document id has {length} bytes, it must have 1 to {}: shorten it, or use a hash of it",
        crate::MAX_ID_BYTES
    )]
    DocumentId {
        /// The length of the refused id in bytes.
        length: usize,
    },
    /// A payload is longer than [`MAX_PAYLOAD_BYTES`](crate::MAX_PAYLOAD_BYTES).
    #[error(
        "a payload has {length} bytes, it may have up to {}: keep it elsewhere, and store where",
        crate::MAX_PAYLOAD_BYTES
    )]
    Payload {
        /// The length of the refused payload in bytes.
        length: usize,
    },
    /// A distance is larger than what can be answered.
    #[error("max distance {asked} is larger than {maximum}, the largest that {by} allows: ask for {maximum} or less")]
    Distance {
        /// The distance asked for, in bits.
        asked: u32,
        /// The largest distance allowed, in bits.
        maximum: u32,
        /// What sets the limit.
        by: &'static str,
    },
    /// A table design cannot be built, or does not cover its distance.
    #[error("table design refused: {reason}")]
    Design {
        /// Why, with the counter-example where there is one.
        reason: String,
    },
    /// A signature cannot have such rows.
    #[error("signature refused: {reason}")]
    Signature {
        /// Why, and what is possible.
        reason: String,
    },
    /// A band design cannot be built, or does not reach what it is planned for.
    #[error("band design refused: {reason}")]
    BandDesign {
        /// Why, and what to do about it.
        reason: String,
    },
    /// A load or seal cannot be done now, or not so.
    #[error("load refused: {reason}")]
    Load {
        /// Why, and what to do about it.
        reason: String,
    },
    /// Pairs cannot be looked for so.
    #[error("pairs refused: {reason}")]
    Pairs {
        /// Why, and what to do about it.
        reason: String,
    },
    /// A file of pages, or its manifest, cannot be taken.
    #[error("the pages in {} cannot be used: {what}; write them again", path.display())]
    Pages {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file is no table of frequencies that this build reads.
    #[error("the table of frequencies at {} cannot be used: {what}; make it again, with `nearstone idf`", path.display())]
    Frequencies {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A table of frequencies that a store keeps for its analyser is missing or damaged. Its documents are not, and repair does
    /// not make a table anew.
    #[error("the store at {} has a table of frequencies {identity:016x} that cannot be used: {what}; give its file again (Options::analyser, --idf, --common-lines), or do without its analyser (Options::sketches_only)", path.display())]
    StoredFrequencies {
        /// The store that was read.
        path: PathBuf,
        /// What the store calls the table: [`Frequencies::identity`](crate::Frequencies::identity).
        identity: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A write was asked of a store opened read-only.
    #[error("the store at {} is open read-only: open it for writing to change it", path.display())]
    ReadOnly {
        /// The store that was to be changed.
        path: PathBuf,
    },
    /// A text was given to a store that was created, or opened, without an analyser.
    #[error("the store at {} has no analyser here, so it takes sketches only: compute the sketch yourself, or create a store with an analyser", path.display())]
    NoAnalyser {
        /// The store that was asked.
        path: PathBuf,
    },
    /// The disk is full. Everything acknowledged before is kept.
    #[error("no space left for the store at {}: free some and open the store again; all acknowledged documents are kept ({detail})", path.display())]
    DiskFull {
        /// The store that was written to.
        path: PathBuf,
        /// What the engine reported.
        detail: String,
    },
    /// The caller has asked a long operation to stop.
    #[error("stopped before the end: {remedy}")]
    Stopped {
        /// What to do to go on.
        remedy: &'static str,
    },
    /// A file or directory could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The storage engine failed in a way that has no variant of its own.
    #[error("the storage engine failed at {}: {detail}{}", path.display(), remedy_of(detail))]
    Storage {
        /// The store in use.
        path: PathBuf,
        /// What the engine reported.
        detail: String,
    },
}

/// The stable classes of [`Error`], as other languages and exit codes see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// The caller passed something that cannot be: an id, a distance, a design.
    Invalid = 1,
    /// Nothing is there.
    NotFound = 2,
    /// Something is there already, or something else.
    Exists = 3,
    /// Another writer holds the store.
    Locked = 4,
    /// The store and the request, or this build, do not fit each other.
    Mismatch = 5,
    /// Bytes on disk are damaged.
    Corrupt = 6,
    /// The store cannot be changed through this handle.
    ReadOnly = 7,
    /// The system or the storage engine failed.
    Io = 8,
    /// The caller has stopped the operation.
    Stopped = 9,
}

/// What to do about failures of the system that the engine only quotes.
fn remedy_of(detail: &str) -> &'static str {
    if detail.contains("Too many open files") {
        "; raise the limit of open files (ulimit -n), or set Options::max_open_files"
    } else if detail.contains("Writer has previous error") {
        "; an earlier write has failed and says why: remove its cause and open the store again"
    } else {
        ""
    }
}

impl Error {
    /// Returns the stable class of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::DocumentId { .. }
            | Self::Payload { .. }
            | Self::Distance { .. }
            | Self::Design { .. }
            | Self::Signature { .. }
            | Self::BandDesign { .. }
            | Self::Load { .. }
            | Self::Pairs { .. }
            | Self::NoAnalyser { .. } => ErrorKind::Invalid,
            Self::Stopped { .. } => ErrorKind::Stopped,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::AlreadyExists { .. } | Self::NotAStore { .. } => ErrorKind::Exists,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Format { .. } | Self::Mismatch { .. } => ErrorKind::Mismatch,
            Self::Corrupt { .. } | Self::Pages { .. } | Self::Frequencies { .. } | Self::StoredFrequencies { .. } => {
                ErrorKind::Corrupt
            }
            Self::ReadOnly { .. } => ErrorKind::ReadOnly,
            Self::DiskFull { .. } | Self::Io { .. } | Self::Storage { .. } => ErrorKind::Io,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_lower_case_line_with_both_values() {
        let error = Error::Format { path: "/s".into(), found: 9, supported: 1 };
        let text = error.to_string();
        assert!(text.contains('9') && text.contains('1') && !text.contains('\n'), "{text}");
        assert!(text.starts_with(char::is_lowercase));
        assert_eq!(error.kind() as u8, 5);
    }
}
