//! What the heads of records say, whatever the format.

use super::arc;
use super::warc::{self, Type};
use crate::input::record::Offset;

/// The format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::input) enum Dialect {
    Warc,
    Arc,
}

impl Dialect {
    /// Tells the format by the first bytes of a file, uncompressed.
    pub(in crate::input) fn of_content(bytes: &[u8]) -> Option<Self> {
        if warc::begins(bytes) == Some(true) {
            Some(Self::Warc)
        } else if bytes.starts_with(b"filedesc://") && arc::begins(bytes) == Some(true) {
            Some(Self::Arc)
        } else {
            None
        }
    }

    pub(super) fn begins(self, bytes: &[u8]) -> Option<bool> {
        match self {
            Self::Warc => warc::begins(bytes),
            Self::Arc => arc::begins(bytes),
        }
    }

    pub(super) fn find(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Warc => warc::find(bytes),
            Self::Arc => arc::find(bytes),
        }
    }
}

/// What the head of a record says.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) kind: Type,
    pub(super) uri: Option<String>,
    pub(super) id: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) length: u64,
    /// Whether the length may count the two line ends behind the content.
    pub(super) counts_line_ends: bool,
}

/// Why a head is of no use.
#[derive(Debug)]
pub(super) enum HeadError {
    NoLength,
    BadLength(String),
    /// Of a length that counts the head.
    ShorterThanHead(u64),
}

/// A record that holds a document.
#[derive(Clone, Debug)]
pub(in crate::input) struct Found {
    pub(super) kind: Type,
    pub(super) uri: Option<String>,
    /// `None` where the format has none.
    pub(super) id: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) dialect: Dialect,
    pub(super) offset: Offset,
}
