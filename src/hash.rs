//! The hashes of this crate; nothing else in it hashes.
//!
//! Both are XXH3-64 with seed 0, and part of the disk format: another function, seed or byte order
//! needs another name here and another format version.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The name and version of the feature hash, kept in every store record.
pub const FEATURE_HASH: &str = "xxh3-64/1";

/// Hashes a feature: XXH3-64, seed 0, of its UTF-8 bytes.
///
/// ```
/// assert_eq!(nearstone::feature_hash("near duplicate"), 0xc69c_3d34_337c_e164);
/// ```
#[must_use]
pub fn feature_hash(feature: &str) -> u64 {
    xxh3_64(feature.as_bytes())
}

/// The checksum of bytes that come in parts.
#[derive(Clone)]
pub(crate) struct Checksum(Xxh3);

impl Checksum {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0.digest()
    }
}

impl Default for Checksum {
    fn default() -> Self {
        Self(Xxh3::new())
    }
}

/// Checks the integrity of bytes on disk.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}
