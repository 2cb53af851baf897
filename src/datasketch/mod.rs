//! Signatures of the Python library datasketch: computed, read and written.
//!
//! So an index of it can be moved: its signatures become [`Signature`]s of the same rows, and those of new documents are
//! computed as it does. They cannot be compared with signatures of [`Minhash`](crate::Minhash), which mixes better and
//! is some hundred times faster: where the texts are at hand, make those.
//!
//! ```
//! use nearstone::datasketch::{ByteOrder, Permutations, Scheme, Stored};
//!
//! // datasketch.MinHash(num_perm=16, seed=1, scheme="affine32"), update(b"Hello"), and the bytes of its LeanMinHash.
//! let permutations = Permutations::new(16, 1, Scheme::Affine32)?;
//! let signature = permutations.signature(["Hello"]).unwrap();
//! assert_eq!(signature.rows()[0], 0x2624_2774);
//!
//! let stored = Stored { scheme: Scheme::Affine32, seed: 1, signature };
//! let bytes = stored.to_bytes(ByteOrder::Little);
//! assert_eq!(bytes[..17], [1, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff, 1, 0x74, 0x27, 0x24, 0x26]);
//! assert_eq!(Stored::from_bytes(&bytes, ByteOrder::Little)?, stored);
//! # Ok::<(), nearstone::Error>(())
//! ```

mod lean;
mod mersenne;

pub use lean::{ByteOrder, Stored};

use crate::hash::{finish_murmur3, sha1_head};
use crate::signature::check_rows;
use crate::{Result, Signature};
use mersenne::Mersenne;

/// How datasketch makes rows of a token.
///
/// Both take the first 4 bytes of the token's SHA-1, little-endian, for h, and as the row the least hash of all tokens. Their
/// numbers a and b come from numpy's `RandomState` of the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// The only one up to datasketch 1: the low 32 bits of (a h + b mod 2^64) mod 2^61 - 1.
    Legacy,
    /// The default from datasketch 2.0 on: a fmix32(h) + b mod 2^32, where fmix32 is the finaliser of `MurmurHash3`. The low bits
    /// of rows depend on few bits of h, so keep all 32.
    Affine32,
}

/// The permutation functions of datasketch for a number of rows, a seed and a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutations {
    scheme: Scheme,
    seed: u32,
    /// The a and b of each row.
    parameters: Box<[(u64, u64)]>,
}

/// 2^61 - 1.
const MERSENNE_PRIME: u64 = (1 << 61) - 1;

impl Permutations {
    /// Makes those of `num_perm` = `rows`, 16 to 1024, and a seed.
    ///
    /// # Errors
    /// [`Error::Signature`](crate::Error::Signature) where a signature cannot have so many rows.
    pub fn new(rows: usize, seed: u32, scheme: Scheme) -> Result<Self> {
        check_rows(rows)?;
        Ok(Self::of_any_rows(rows, seed, scheme))
    }

    fn of_any_rows(rows: usize, seed: u32, scheme: Scheme) -> Self {
        let mut random = Mersenne::new(seed);
        let parameters = match scheme {
            Scheme::Legacy => {
                let pair = |_| (1 + random.up_to(MERSENNE_PRIME - 2), random.up_to(MERSENNE_PRIME - 1));
                (0..rows).map(pair).collect()
            }
            Scheme::Affine32 => {
                let a: Vec<u64> = (0..rows).map(|_| u64::from(random.bits32() << 1 | 1)).collect();
                a.into_iter().map(|a| (a, u64::from(random.bits32()))).collect()
            }
        };
        Self { scheme, seed, parameters }
    }

    /// Returns the scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the seed.
    #[must_use]
    pub fn seed(&self) -> u32 {
        self.seed
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.parameters.len()
    }

    /// Returns the signature of a set of tokens, strings or bytes, or `None` where there are none: datasketch has a signature
    /// of all ones then, which all such sets share.
    ///
    /// The tokens of a text are what the caller of datasketch made of it; [`Analyser::shingles`](crate::Analyser::shingles)
    /// visits those of ours.
    #[must_use]
    pub fn signature(&self, tokens: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Option<Signature> {
        self.least(tokens).map(|rows| Signature::of_checked_rows(rows.into(), 32))
    }

    fn least(&self, tokens: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Option<Vec<u32>> {
        let mut tokens = tokens.into_iter().peekable();
        tokens.peek()?;
        let mut least = vec![u32::MAX; self.rows()];
        for token in tokens {
            let hash = sha1_head(token.as_ref());
            let row = |&(a, b): &(u64, u64)| self.row(hash, a, b);
            least.iter_mut().zip(self.parameters.iter().map(row)).for_each(|(least, row)| *least = row.min(*least));
        }
        Some(least)
    }

    fn row(&self, hash: u32, a: u64, b: u64) -> u32 {
        let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).expect("32 bits");
        match self.scheme {
            Scheme::Legacy => low(a.wrapping_mul(hash.into()).wrapping_add(b) % MERSENNE_PRIME),
            Scheme::Affine32 => low(a.wrapping_mul(finish_murmur3(hash).into()).wrapping_add(b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the tests of datasketch, by its versions 1 and 2.
    #[test]
    fn parameters_and_rows_are_those_of_datasketch() {
        let legacy = Permutations::of_any_rows(4, 1, Scheme::Legacy);
        let a = [775_169_054_918_279_404, 2_109_959_069_025_162, 401_325_382_989_534_145, 1_130_051_441_076_870_728];
        let b =
            [1_758_426_461_858_698_312, 965_365_488_286_768_773, 1_703_346_441_743_126_657, 1_762_784_241_922_636_284];
        assert!(legacy.parameters.iter().copied().eq(a.into_iter().zip(b)), "{legacy:?}");
        assert_eq!(legacy.least(["Hello"]).unwrap(), [734_825_475, 960_773_806, 359_816_889, 342_714_745]);

        let affine = Permutations::of_any_rows(4, 1, Scheme::Affine32);
        let a = [3_582_191_691, 4_270_784_983, 1_892_572_953, 3_715_639_441];
        let b = [491_263, 550_290_313, 1_298_508_491, 4_290_846_341];
        assert!(affine.parameters.iter().copied().eq(a.into_iter().zip(b)), "{affine:?}");
        assert_eq!(affine.least(["Hello"]).unwrap(), [3_231_258_861, 1_388_533_999, 831_950_533, 1_845_606_703]);
    }

    #[test]
    fn sets_of_tokens_have_no_order_and_no_number() {
        for scheme in [Scheme::Legacy, Scheme::Affine32] {
            let permutations = Permutations::new(20, 3, scheme).unwrap();
            let signature = permutations.signature(["a", "b", "c"]).unwrap();
            assert_eq!(permutations.signature(["c", "a", "b", "a"]).unwrap(), signature);
            assert_ne!(permutations.signature(["c", "a"]).unwrap(), signature);
            assert_eq!(permutations.signature([""; 0]), None);
            assert!(permutations.signature([""]).is_some());
            assert_eq!((permutations.rows(), permutations.seed(), permutations.scheme()), (20, 3, scheme));
        }
        assert!(
            Permutations::new(15, 1, Scheme::Legacy).is_err() && Permutations::new(1025, 1, Scheme::Legacy).is_err()
        );
    }
}
