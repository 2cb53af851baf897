//! One table of a design.

use std::ops::Range;

use crate::permutation::{Permutation, ones};
use crate::{Error, Fingerprint, Result};

/// One table: a permutation of the 64 bits, and how many of the bits at its front a probe fixes.
///
/// The table stores every fingerprint permuted. A *probe* reads all stored values with the same
/// `prefix_bits` first bits; each is a *candidate*.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    permutation: Permutation,
    prefix_bits: u32,
}

impl Table {
    /// Makes a table that brings the given ranges of bits to the front, in the order given, and probes
    /// by all of them. Bit 0 is the most significant one, as in the bytes and the hexadecimal digits.
    ///
    /// # Errors
    /// [`Error::Design`] where the ranges are empty, overlap, or leave the 64 bits.
    ///
    /// ```
    /// use nearstone::Table;
    ///
    /// let table = Table::new(&[16..32])?;
    /// assert_eq!(table.prefix_bits(), 16);
    /// assert_eq!(table.permute(0x0000_ffff_0000_0000.into()), 0xffff_0000_0000_0000);
    /// # Ok::<(), nearstone::Error>(())
    /// ```
    pub fn new(prefix: &[Range<u32>]) -> Result<Self> {
        match Permutation::to_front(Fingerprint::BITS, prefix) {
            Some(permutation) if prefix.iter().any(|part| !part.is_empty()) => {
                let prefix_bits = prefix.iter().map(|part| part.end.saturating_sub(part.start)).sum();
                Ok(Self { permutation, prefix_bits })
            }
            _ => Err(Error::Design {
                reason: format!("{prefix:?} are not distinct, non-empty ranges of the bits 0..64"),
            }),
        }
    }

    /// Takes a permutation as it was stored.
    pub(crate) fn from_parts(parts: &[Range<u32>], prefix_bits: u32) -> Option<Self> {
        let permutation = Permutation::new(Fingerprint::BITS, parts.iter().cloned())?;
        (1..=Fingerprint::BITS).contains(&prefix_bits).then_some(Self { permutation, prefix_bits })
    }

    /// Returns how many bits a probe fixes, 1 to 64.
    #[must_use]
    pub fn prefix_bits(&self) -> u32 {
        self.prefix_bits
    }

    /// Returns the permutation.
    #[must_use]
    pub fn permutation(&self) -> &Permutation {
        &self.permutation
    }

    /// Permutes a fingerprint into the value that the table stores.
    #[must_use]
    pub fn permute(&self, fingerprint: Fingerprint) -> u64 {
        self.permutation.apply(fingerprint.bits())
    }

    /// Turns a stored value back into its fingerprint.
    #[must_use]
    pub fn restore(&self, permuted: u64) -> Fingerprint {
        Fingerprint::new(self.permutation.invert(permuted))
    }

    /// Returns the bits of a fingerprint that a probe fixes, as a mask.
    #[must_use]
    pub fn prefix_mask(&self) -> u64 {
        self.permutation.invert(ones(self.prefix_bits) << (64 - self.prefix_bits))
    }
}
