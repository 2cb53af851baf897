//! The 64-bit simhash fingerprint.

use std::fmt;
use std::str::FromStr;

/// A 64-bit simhash: similar documents have fingerprints that differ in few bits.
///
/// Bit 63 is the most significant one and the first of the big-endian bytes, of the hexadecimal
/// digits and of every table key. All 64-bit values are fingerprints, 0 and `u64::MAX` included.
///
/// ```
/// use nearstone::Fingerprint;
///
/// let a: Fingerprint = "00000000000000ff".parse().unwrap();
/// let b = Fingerprint::new(0xf7);
/// assert_eq!(a.distance(b), 1);
/// assert_eq!(b.to_string(), "00000000000000f7");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The number of bits.
    pub const BITS: u32 = 64;

    /// Takes the 64 bits as they are.
    #[must_use]
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the 64 bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the Hamming distance: the number of bits that differ, 0 to 64.
    #[must_use]
    pub const fn distance(self, other: Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }

    /// Returns the eight bytes, most significant first.
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Takes eight bytes, most significant first.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }
}

impl From<u64> for Fingerprint {
    fn from(bits: u64) -> Self {
        Self(bits)
    }
}

impl From<Fingerprint> for u64 {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.0
    }
}

/// Sixteen lower-case hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// A text was not sixteen hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 16 hexadecimal digits, found {found:?}: write leading zeros, and no 0x")]
pub struct ParseFingerprintError {
    found: String,
}

/// Reads exactly sixteen hexadecimal digits, upper or lower case.
impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `from_str_radix` alone would also take a sign and fewer digits.
        let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        digits
            .then(|| u64::from_str_radix(text, 16).ok().map(Self))
            .flatten()
            .ok_or_else(|| ParseFingerprintError { found: text.chars().take(40).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_goes_out_and_in_above_the_signed_maximum() {
        for bits in [0, 1, 1 << 63, i64::MAX as u64 + 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let fingerprint = Fingerprint::new(bits);
            assert_eq!(fingerprint.to_string().len(), 16);
            assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
            assert_eq!(fingerprint.to_string().to_uppercase().parse(), Ok(fingerprint));
            assert_eq!(Fingerprint::from_be_bytes(fingerprint.to_be_bytes()), fingerprint);
        }
    }

    #[test]
    fn anything_but_sixteen_digits_is_refused() {
        for text in [
            "",
            "ff",
            "0x00000000000000f",
            "+00000000000000f",
            "00000000000000fg",
            "000000000000000ff",
            "é0000000000000f",
        ] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
    }

    #[test]
    fn distance_counts_every_bit() {
        for bit in 0..64 {
            assert_eq!(Fingerprint::new(0).distance(Fingerprint::new(1 << bit)), 1);
        }
        assert_eq!(Fingerprint::new(0).distance(Fingerprint::new(u64::MAX)), 64);
        assert_eq!(Fingerprint::new(u64::MAX).distance(Fingerprint::new(u64::MAX)), 0);
    }
}
