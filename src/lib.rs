//! An embedded, persistent near-duplicate store.
//!
//! wip

mod design;
mod engine;
mod error;
mod fingerprint;
mod format;
mod hash;
#[cfg(feature = "input")]
pub mod input;
mod permutation;
mod simhash;
mod store;
mod text;

pub use design::{Probes, Table, TableDesign};
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use format::MAX_ID_BYTES;
pub use hash::{FEATURE_HASH, feature_hash};
pub use permutation::Permutation;
pub use simhash::{Simhash, simhash};
pub use store::{
    Admission, Document, Documents, Match, Matches, Options, QueryStats, SimhashStore, Sketch, Stats, Store,
};
pub use text::Analyser;
