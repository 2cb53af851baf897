//! Frames of zstd that hold no content; the first of a web archive may hold the dictionary of all others.

use super::members::Damage;
use crate::input::raw::Raw;

/// The number of the skippable frame that holds a dictionary (IIPC, WARC with zstd, 1.0).
const DICTIONARY: u8 = 0x5d;

/// The largest dictionary; tools make them of some 100 KB.
const MAX_DICTIONARY_BYTES: usize = 64 << 20;

/// What was passed over.
pub(super) enum Skipped {
    Dictionary(Vec<u8>),
    Other,
}

/// Passes over a skippable frame; `None` where none is next.
pub(super) fn next(raw: &mut Raw, is_first: bool) -> Result<Option<Skipped>, Damage> {
    let damaged = |reason: &str| Damage { reason: reason.to_owned() };
    let [kind @ 0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] = *raw.ahead(8)? else { return Ok(None) };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if !(is_first && kind == DICTIONARY && raw.offset() == 0) {
        raw.consume(8);
        let mut left = length;
        while left > 0 {
            let available = raw.ahead(1)?.len().min(left);
            if available == 0 {
                return Err(damaged("a frame to be passed over ends too early"));
            }
            raw.consume(available);
            left -= available;
        }
        return Ok(Some(Skipped::Other));
    }
    if length > MAX_DICTIONARY_BYTES {
        return Err(damaged("its zstd dictionary is longer than 64 MiB"));
    }
    let Some(frame) = raw.ahead(8 + length)?.get(8..8 + length) else {
        return Err(damaged("its zstd dictionary ends too early"));
    };
    // It may be compressed itself.
    let dictionary = if frame.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        zstd::bulk::decompress(frame, MAX_DICTIONARY_BYTES)
            .map_err(|e| damaged(&format!("its zstd dictionary is damaged ({e})")))?
    } else {
        frame.to_vec()
    };
    raw.consume(8 + length);
    Ok(Some(Skipped::Dictionary(dictionary)))
}
