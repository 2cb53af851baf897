//! The hashes of this crate; nothing else in it hashes.
//!
//! Features and checksums go through XXH3-64 with seed 0, and that is part of the disk format: another function, seed or
//! byte order needs another name here and another format version. So it is with what MinHash mixes by. The other hashes are those of programs
//! whose fingerprints an analyser reproduces, or whose signatures are read.

mod batch;

use md5::{Digest, Md5};
use sha1::Sha1;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed, xxh3_128};

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

/// The name and version of the identity of a signature.
#[allow(dead_code, reason = "the record of a store names it")]
pub(crate) const IDENTITY_HASH: &str = "xxh3-128/1";

/// The identity of the bytes of a signature: XXH3-128, seed 0.
pub(crate) fn identity(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

/// The name and version of the hash of a band.
#[allow(dead_code, reason = "the record of a store names it")]
pub(crate) const BAND_HASH: &str = "xxh3-64-band/1";

/// The hash of the bytes of the rows of a band: XXH3-64, with the number of the band as the seed.
pub(crate) fn band(number: u32, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, number.into())
}

/// What a number gives from a seed, for parameters that are chosen once: XXH3-64 with the seed, of its 4 bytes, big-endian.
pub(crate) fn seeded(seed: u64, number: u32) -> u64 {
    xxh3_64_with_seed(&number.to_be_bytes(), seed)
}

/// Mixes 64 bits, one to one: the avalanche of XXH64.
#[inline]
pub(crate) fn mix64(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 33).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    bits = (bits ^ bits >> 29).wrapping_mul(0x1656_67b1_9e37_79f9);
    bits ^ bits >> 32
}

/// Mixes 32 bits, one to one: the avalanche of XXH32.
#[inline]
pub(crate) fn mix32(mut bits: u32) -> u32 {
    bits = (bits ^ bits >> 15).wrapping_mul(0x85eb_ca77);
    bits = (bits ^ bits >> 13).wrapping_mul(0xc2b2_ae3d);
    bits ^ bits >> 16
}

/// What [`mix32`] has mixed.
#[inline]
pub(crate) fn unmix32(mut bits: u32) -> u32 {
    bits = (bits ^ bits >> 16).wrapping_mul(0xa89e_d915);
    bits = (bits ^ bits >> 13 ^ bits >> 26).wrapping_mul(0xb6c9_2f47);
    bits ^ bits >> 15 ^ bits >> 30
}

/// The finaliser of `MurmurHash3` for 32 bits, with which datasketch mixes.
pub(crate) fn finish_murmur3(mut bits: u32) -> u32 {
    bits = (bits ^ bits >> 16).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ bits >> 13).wrapping_mul(0xc2b2_ae35);
    bits ^ bits >> 16
}

/// The first 4 bytes of the SHA-1 digest, little-endian: the hash of tokens of datasketch.
pub(crate) fn sha1_head(bytes: &[u8]) -> u32 {
    let digest = Sha1::digest(bytes);
    u32::from_le_bytes(*digest.first_chunk().expect("a digest has 20 bytes"))
}

/// Checks the integrity of bytes on disk.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_signatures_are_those_of_their_definitions() {
        // The avalanches of XXH32 and XXH64 end their hashes of nothing, which are in the tests of many implementations.
        assert_eq!(mix32(0x1656_67b1), 0x02cc_5d05);
        assert_eq!(mix64(0x27d4_eb2f_1656_67c5), 0xef46_db37_51d8_e999);
        // Of RFC 3174, section 7.3; and `MurmurHash3_x86_32` of nothing with seed 1 finishes 1.
        assert_eq!(sha1_head(b"abc").to_le_bytes(), [0xa9, 0x99, 0x3e, 0x36]);
        assert_eq!(finish_murmur3(1), 0x514e_28b7);
        assert_eq!((identity(b""), band(0, b"")), (0x99aa_06d3_0147_98d8_6001_c324_468d_497f, 0x2d06_8005_38d3_94c2));
    }

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
