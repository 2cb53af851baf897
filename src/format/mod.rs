//! Every byte that the store writes: keys, values and the store record.
//!
//! `docs/format.md` is the specification. Decoders are total: any bytes in, a result out.

pub(crate) mod design;
pub(crate) mod families;
pub(crate) mod keys;
pub(crate) mod pages;
pub(crate) mod record;
pub(crate) mod settings;
pub(crate) mod signatures;

/// The format that this build writes.
pub(crate) const VERSION: u16 = 2;

/// The oldest format that this build reads, and goes on to use until the store is sealed or loaded into.
pub(crate) const OLDEST_VERSION: u16 = 1;

/// The bytes by which documents and holders name a sketch.
pub(crate) const IDENTITY_BYTES: usize = 8;

/// The longest document id in bytes.
pub const MAX_ID_BYTES: usize = 1024;

/// The longest payload of a document in bytes: 16 MiB.
pub const MAX_PAYLOAD_BYTES: usize = 16 << 20;

/// Bytes that the format does not allow; says what was found and what was expected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

pub(crate) type Decoded<T> = Result<T, Malformed>;
