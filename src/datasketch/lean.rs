//! The bytes of a `LeanMinHash` of datasketch.

use super::Scheme;
use crate::{Error, Result, Signature};

/// A signature as datasketch keeps it.
///
/// | bytes | what |
/// |---|---|
/// | 8 | the seed, signed |
/// | 4 | the number of rows; its negative where the next byte is there |
/// | 0 or 1 | none for [`Scheme::Legacy`], 1 for [`Scheme::Affine32`], then 3 bytes 0 with [`ByteOrder::Aligned`] |
/// | 4 each | the rows |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The scheme by which its rows are made.
    pub scheme: Scheme,
    /// The seed of the permutation functions.
    pub seed: u32,
    /// The rows, of 32 bits.
    pub signature: Signature,
}

/// In which order the bytes of numbers are: the `byteorder` of `serialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// `"@"`, the default, on machines that are little-endian: the least significant byte first, the rows at a multiple of 4
    /// bytes.
    #[default]
    Aligned,
    /// `"<"`: the least significant byte first.
    Little,
    /// `">"` and `"!"`: the most significant byte first.
    Big,
}

/// The code of [`Scheme::Affine32`].
const AFFINE32: u8 = 1;

/// The code of the scheme with rows of 64 bits.
const AFFINE64: u8 = 2;

impl ByteOrder {
    fn bytes<const N: usize>(self, mut little_endian: [u8; N]) -> [u8; N] {
        if self == Self::Big {
            little_endian.reverse();
        }
        little_endian
    }

    /// Where rows begin behind the code of a scheme.
    fn padding(self) -> usize {
        if self == Self::Aligned { 3 } else { 0 }
    }
}

impl Stored {
    /// Returns the bytes that `LeanMinHash.serialize` writes. Rows of fewer than 32 bits are written as they are, filled up with 0.
    #[must_use]
    pub fn to_bytes(&self, order: ByteOrder) -> Vec<u8> {
        let rows = count(&self.signature);
        let mut bytes = order.bytes(i64::from(self.seed).to_le_bytes()).to_vec();
        match self.scheme {
            Scheme::Legacy => bytes.extend(order.bytes(rows.to_le_bytes())),
            Scheme::Affine32 => {
                bytes.extend(order.bytes((-rows).to_le_bytes()));
                bytes.push(AFFINE32);
                bytes.extend(std::iter::repeat_n(0, order.padding()));
            }
        }
        bytes.extend(self.signature.rows().iter().flat_map(|row| order.bytes(row.to_le_bytes())));
        bytes
    }

    /// Reads the bytes that `LeanMinHash.serialize` writes, of datasketch 1 and 2.
    ///
    /// # Errors
    /// [`Error::Signature`] where they are not that, have fewer than 16 or more than 1024 rows, or rows of 64 bits.
    pub fn from_bytes(bytes: &[u8], order: ByteOrder) -> Result<Self> {
        let refused = |reason: String| Error::Signature { reason };
        let short = || refused(format!("{} bytes of datasketch, it takes at least 12", bytes.len()));
        let (seed, rest) = bytes.split_first_chunk().ok_or_else(short)?;
        let (count, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let seed = i64::from_le_bytes(order.bytes(*seed));
        let seed = u32::try_from(seed).map_err(|_| {
            refused(format!("the seed {seed} of datasketch, which takes 0 to 2^32 - 1: try another byte order"))
        })?;
        let count = i32::from_le_bytes(order.bytes(*count));
        let (scheme, rest) = if count >= 0 {
            (Scheme::Legacy, rest)
        } else {
            let (&code, rest) = rest.split_first().ok_or_else(short)?;
            match code {
                AFFINE32 => (Scheme::Affine32, rest.get(order.padding()..).ok_or_else(short)?),
                AFFINE64 => {
                    let reason = "rows of 64 bits, by the scheme affine64 of datasketch: make them by affine32";
                    return Err(refused(reason.to_owned()));
                }
                _ => return Err(refused(format!("scheme {code} of datasketch, this build reads 1"))),
            }
        };
        let (rows, left) = rest.as_chunks();
        if !left.is_empty() || u64::try_from(rows.len()).ok() != Some(count.unsigned_abs().into()) {
            let (expected, found) = (count.unsigned_abs(), rest.len());
            return Err(refused(format!("{expected} rows of datasketch in {found} bytes: try another byte order")));
        }
        let rows: Vec<u32> = rows.iter().map(|row| u32::from_le_bytes(order.bytes(*row))).collect();
        Ok(Self { scheme, seed, signature: Signature::new(rows)? })
    }
}

fn count(signature: &Signature) -> i32 {
    i32::try_from(signature.len()).expect("at most 1024")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [ByteOrder; 3] = [ByteOrder::Aligned, ByteOrder::Little, ByteOrder::Big];

    #[test]
    fn bytes_have_the_lengths_of_datasketch() {
        let signature = Signature::new(vec![7; 16]).unwrap();
        for (scheme, lengths) in [(Scheme::Legacy, [76, 76, 76]), (Scheme::Affine32, [80, 77, 77])] {
            let stored = Stored { scheme, seed: u32::MAX, signature: signature.clone() };
            for (order, length) in ORDERS.into_iter().zip(lengths) {
                let bytes = stored.to_bytes(order);
                assert_eq!(bytes.len(), length, "{scheme:?} {order:?}");
                assert_eq!(Stored::from_bytes(&bytes, order).unwrap(), stored);
                assert!((0..bytes.len()).all(|end| Stored::from_bytes(&bytes[..end], order).is_err()));
            }
        }
    }

    #[test]
    fn other_schemes_and_orders_are_refused_by_name() {
        let signature = Signature::new(vec![7; 16]).unwrap();
        let stored = Stored { scheme: Scheme::Affine32, seed: 1, signature };
        let mut bytes = stored.to_bytes(ByteOrder::Little);
        let refused = |bytes: &[u8], order| Stored::from_bytes(bytes, order).unwrap_err().to_string();
        assert!(refused(&bytes, ByteOrder::Big).contains("byte order"));
        bytes[12] = 2;
        assert!(refused(&bytes, ByteOrder::Little).contains("affine64"));
        bytes[12] = 3;
        assert!(refused(&bytes, ByteOrder::Little).contains("scheme 3"));
        bytes[..8].copy_from_slice(&(-1i64).to_le_bytes());
        assert!(refused(&bytes, ByteOrder::Little).contains("seed -1"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_signature_or_an_error(
            seed: u32, count in -70i32..70, rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300),
        ) {
            for order in ORDERS {
                let numbers = [order.bytes(i64::from(seed).to_le_bytes()).to_vec(), order.bytes(count.to_le_bytes()).to_vec()];
                let bytes = [numbers.concat(), vec![1; usize::from(count < 0)], rest.clone()].concat();
                if let Ok(stored) = Stored::from_bytes(&bytes, order) {
                    proptest::prop_assert_eq!(stored.to_bytes(order).len(), bytes.len());
                }
                let _ = Stored::from_bytes(&rest, order);
            }
        }
    }
}
