//! A store of either kind of sketch, for commands that take both.

use std::path::Path;

use nearstone::{Error, MinhashStore, Options, SimhashStore};

/// A store, by what its record says that it keeps.
pub(crate) enum AnyStore {
    Fingerprints(SimhashStore),
    Signatures(MinhashStore),
}

/// Does the same with the store of either kind.
macro_rules! with_store {
    ($store:expr, $name:ident => $body:expr) => {
        match $store {
            $crate::any_store::AnyStore::Fingerprints($name) => $body,
            $crate::any_store::AnyStore::Signatures($name) => $body,
        }
    };
}

pub(crate) use with_store;

impl AnyStore {
    /// Opens a store for reading and writing.
    pub(crate) fn open(path: &Path, options: &Options) -> nearstone::Result<Self> {
        match SimhashStore::open(path, options) {
            Err(error) if is_other_kind(&error) => MinhashStore::open(path, options).map(Self::Signatures),
            opened => opened.map(Self::Fingerprints),
        }
    }

    /// Opens a store for reading.
    pub(crate) fn open_read_only(path: &Path, options: &Options) -> nearstone::Result<Self> {
        match SimhashStore::open_read_only(path, options) {
            Err(error) if is_other_kind(&error) => MinhashStore::open_read_only(path, options).map(Self::Signatures),
            opened => opened.map(Self::Fingerprints),
        }
    }
}

/// Whether a store was refused because it keeps signatures.
pub(crate) fn is_other_kind(error: &Error) -> bool {
    matches!(error, Error::Mismatch { what: "sketches of the kind", found, .. } if found == "minhash")
}
