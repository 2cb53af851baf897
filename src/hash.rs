//! The hashes of this crate; nothing else in it hashes.
//!
//! Features and checksums go through XXH3-64 with seed 0, and that is part of the disk format: another function, seed or
//! byte order needs another name here and another format version. The other feature hashes are those of programs
//! whose fingerprints an analyser reproduces.

mod batch;

use md5::{Digest, Md5};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

pub(crate) use batch::{Batches, hash_windows};

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

/// What makes 64 bits of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FeatureHash {
    /// [`feature_hash`].
    Xxh3,
    /// The last 8 bytes of the MD5 digest of its UTF-8 bytes, big-endian.
    Md5Tail,
    /// The string hash of Python 2 over UTF-16 units, modulo 2^64.
    ShiftMultiply,
}

impl FeatureHash {
    pub(crate) const ALL: [Self; 3] = [Self::Xxh3, Self::Md5Tail, Self::ShiftMultiply];

    /// As the store record names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Xxh3 => FEATURE_HASH,
            Self::Md5Tail => "md5-tail/1",
            Self::ShiftMultiply => "shift-multiply/1",
        }
    }

    pub(crate) fn of(self, feature: &str) -> u64 {
        match self {
            Self::Xxh3 => feature_hash(feature),
            Self::Md5Tail => {
                let digest = Md5::digest(feature.as_bytes());
                let tail = digest.last_chunk().expect("a digest has 16 bytes");
                u64::from_be_bytes(*tail)
            }
            Self::ShiftMultiply => shift_multiply(feature),
        }
    }
}

fn shift_multiply(feature: &str) -> u64 {
    let mut units = feature.encode_utf16().peekable();
    let mut hash = units.peek().map_or(0, |&first| u64::from(first) << 7);
    let mut length = 0;
    for unit in units {
        hash = hash.wrapping_mul(1_000_003) ^ u64::from(unit);
        length += 1;
    }
    hash ^ length
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_hashes_are_those_of_their_definitions() {
        // Of RFC 1321, appendix A.5, the last 8 bytes.
        let md5 = [("", 0xe980_0998_ecf8_427e), ("a", 0x31c3_99e2_6977_2661), ("abc", 0xd696_3f7d_28e1_7f72)];
        for (text, hash) in md5 {
            assert_eq!(FeatureHash::Md5Tail.of(text), hash, "{text}");
        }
        let one_unit = |unit: u64| (unit * 128 * 1_000_003) ^ unit ^ 1;
        let shift_multiply = [("", 0), ("a", one_unit(0x61)), ("é", one_unit(0xe9))];
        for (text, hash) in shift_multiply {
            assert_eq!(FeatureHash::ShiftMultiply.of(text), hash, "{text}");
        }
        assert_eq!(FeatureHash::Xxh3.of("near duplicate"), 0xc69c_3d34_337c_e164);
    }
}
