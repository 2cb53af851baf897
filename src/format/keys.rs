//! Keys and values of the families, all big-endian.

use super::{Decoded, Malformed};
use crate::permutation::ones;

/// The most bytes of a table key: a prefix and a rest that both end within a byte.
const MAX_TABLE_KEY_BYTES: usize = 9;

/// A table key, or its head, on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableKey {
    bytes: [u8; MAX_TABLE_KEY_BYTES],
    length: usize,
}

impl AsRef<[u8]> for TableKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The keys of one table: the `prefix_bits` first bits of a permuted value, left-aligned and
/// zero-padded to whole bytes, the *head*; then the other bits as a big-endian number.
///
/// The head is what a probe fixes. It is padded so that the engine's prefix, which is counted in
/// bytes, is exactly the probe's, which is counted in bits: a longer one would lose matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableKeys {
    prefix_bits: u32,
}

impl TableKeys {
    /// `prefix_bits` is 1 to 64.
    pub(crate) fn new(prefix_bits: u32) -> Self {
        debug_assert!((1..=64).contains(&prefix_bits));
        Self { prefix_bits }
    }

    pub(crate) fn head_bytes(self) -> usize {
        self.prefix_bits.div_ceil(8) as usize
    }

    fn rest_bytes(self) -> usize {
        (64 - self.prefix_bits).div_ceil(8) as usize
    }

    /// The prefix of a permuted value, as a number.
    pub(crate) fn prefix(self, permuted: u64) -> u64 {
        permuted >> (64 - self.prefix_bits)
    }

    /// The head of all keys with a prefix.
    pub(crate) fn head(self, prefix: u64) -> TableKey {
        let aligned = prefix << (64 - self.prefix_bits);
        let mut bytes = [0; MAX_TABLE_KEY_BYTES];
        bytes[..8].copy_from_slice(&aligned.to_be_bytes());
        TableKey { bytes, length: self.head_bytes() }
    }

    pub(crate) fn encode(self, permuted: u64) -> TableKey {
        let mut key = self.head(self.prefix(permuted));
        let head = key.length;
        let rest = permuted & ones(64 - self.prefix_bits);
        let rest_bytes = self.rest_bytes();
        key.length = head + rest_bytes;
        key.bytes[head..key.length].copy_from_slice(&rest.to_be_bytes()[8 - rest_bytes..]);
        key
    }

    /// Returns the permuted value.
    pub(crate) fn decode(self, key: &[u8]) -> Decoded<u64> {
        let (head_bytes, rest_bytes) = (self.head_bytes(), self.rest_bytes());
        if key.len() != head_bytes + rest_bytes {
            return Err(Malformed(format!(
                "a table key has {} bytes instead of {}",
                key.len(),
                head_bytes + rest_bytes
            )));
        }
        let mut wide = [0; 8];
        wide[..head_bytes].copy_from_slice(&key[..head_bytes]);
        let prefix = u64::from_be_bytes(wide);
        let mut wide = [0; 8];
        wide[8 - rest_bytes..].copy_from_slice(&key[head_bytes..]);
        let rest = u64::from_be_bytes(wide);
        if prefix & ones(64 - self.prefix_bits) != 0 || rest & !ones(64 - self.prefix_bits) != 0 {
            return Err(Malformed(format!("the padding of the table key {key:02x?} is not zero")));
        }
        Ok(prefix | rest)
    }
}

/// The key of a holder: the identity of a sketch, then the id of a document that has it.
pub(crate) fn encode_holder(identity: &[u8], id: &[u8]) -> Vec<u8> {
    [identity, id].concat()
}

/// Returns the document id of a holder key.
pub(crate) fn decode_holder(key: &[u8], identity_bytes: usize) -> Decoded<&[u8]> {
    match key.get(identity_bytes..) {
        Some(id) if !id.is_empty() && id.len() <= super::MAX_ID_BYTES => Ok(id),
        _ => Err(Malformed(format!("a holder key has {} bytes", key.len()))),
    }
}

/// The value of a holder: the time stored where documents expire, nothing otherwise.
pub(crate) fn encode_holder_value(stored_at_millis: Option<u64>) -> HolderValue {
    HolderValue {
        bytes: stored_at_millis.unwrap_or(0).to_be_bytes(),
        length: if stored_at_millis.is_some() { 8 } else { 0 },
    }
}

/// A holder's value on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HolderValue {
    bytes: [u8; 8],
    length: usize,
}

impl AsRef<[u8]> for HolderValue {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Returns the time stored of a holder's value in a store where documents expire.
pub(crate) fn decode_holder_time(value: &[u8]) -> Decoded<u64> {
    let time = value.try_into().map(u64::from_be_bytes);
    time.map_err(|_| Malformed(format!("a holder value has {} bytes instead of 8", value.len())))
}

/// The value of a document: the sketch, the time stored in milliseconds since 1970, the payload.
pub(crate) fn encode_document(sketch: &[u8], stored_at_millis: u64, payload: &[u8]) -> Vec<u8> {
    [sketch, &stored_at_millis.to_be_bytes(), payload].concat()
}

/// A document's value, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentValue<'a> {
    pub(crate) sketch: &'a [u8],
    pub(crate) stored_at_millis: u64,
    pub(crate) payload: &'a [u8],
}

/// The value of a document that was removed, where an older generation has one with its id.
pub(crate) const TOMBSTONE: &[u8] = &[0];

/// Whether the value of a document says that it was removed.
pub(crate) fn is_tombstone(value: &[u8]) -> bool {
    value == TOMBSTONE
}

pub(crate) fn decode_document(value: &[u8], sketch_bytes: usize) -> Decoded<DocumentValue<'_>> {
    let short =
        || Malformed(format!("a document value has {} bytes, at least {} are needed", value.len(), sketch_bytes + 8));
    let (sketch, rest) = value.split_at_checked(sketch_bytes).ok_or_else(short)?;
    let (time, payload) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    Ok(DocumentValue { sketch, stored_at_millis: u64::from_be_bytes(*time), payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_of_the_specification() {
        let spec = include_str!("../../docs/format.md");
        let row = |name: &str| {
            let line = spec
                .lines()
                .find(|line| line.starts_with(&format!("| {name} |")))
                .unwrap_or_else(|| panic!("no row {name}"));
            let hex = line.split('|').nth(2).unwrap().trim().trim_matches('`').replace(' ', "");
            (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect::<Vec<u8>>()
        };
        let value = 0x0123_4567_89ab_cdef;
        assert_eq!(TableKeys::new(16).encode(value).as_ref(), row("table key, 16 prefix bits"));
        assert_eq!(TableKeys::new(26).encode(value).as_ref(), row("table key, 26 prefix bits"));
        assert_eq!(encode_holder(&u64::to_be_bytes(value), b"doc-1"), row("holder key"));
        assert_eq!(encode_holder_value(Some(1_700_000_000_000)).as_ref(), row("holder value, with a retention"));
        assert!(encode_holder_value(None).as_ref().is_empty());
        assert_eq!(encode_document(&u64::to_be_bytes(value), 1_700_000_000_000, b"hi"), row("document value"));
    }

    #[test]
    fn keys_of_every_prefix_length_come_back_and_keep_the_order() {
        let mut values = vec![0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 0x0123_4567_89ab_cdef];
        values.extend((0..64).map(|bit| 1 << bit));
        values.extend((1..64).map(ones));
        values.sort_unstable();
        for prefix_bits in 1..=64 {
            let keys = TableKeys::new(prefix_bits);
            let encoded: Vec<TableKey> = values.iter().map(|&value| keys.encode(value)).collect();
            assert!(encoded.is_sorted_by_key(|key| key.as_ref().to_vec()), "{prefix_bits}");
            for (&value, key) in values.iter().zip(&encoded) {
                assert_eq!(keys.decode(key.as_ref()), Ok(value), "{prefix_bits} {value:x}");
                let head = keys.head(keys.prefix(value));
                assert!(key.as_ref().starts_with(head.as_ref()));
                assert_eq!(head.as_ref().len(), keys.head_bytes());
                // The head is the prefix and nothing else.
                for &other in &values {
                    let same_head = keys.encode(other).as_ref().starts_with(head.as_ref());
                    assert_eq!(same_head, keys.prefix(other) == keys.prefix(value));
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn decoders_take_any_bytes(bytes: Vec<u8>, prefix_bits in 1u32..=64) {
            if let Ok(value) = TableKeys::new(prefix_bits).decode(&bytes) {
                let encoded = TableKeys::new(prefix_bits).encode(value);
                proptest::prop_assert_eq!(encoded.as_ref(), &bytes[..]);
            }
            if let Ok(id) = decode_holder(&bytes, 8) {
                proptest::prop_assert_eq!(encode_holder(&bytes[..8], id), bytes.clone());
            }
            if let Ok(time) = decode_holder_time(&bytes) {
                let value = encode_holder_value(Some(time));
                proptest::prop_assert_eq!(value.as_ref(), &bytes[..]);
            }
            if let Ok(value) = decode_document(&bytes, 8) {
                proptest::prop_assert_eq!(encode_document(value.sketch, value.stored_at_millis, value.payload), bytes.clone());
            }
        }
    }
}
