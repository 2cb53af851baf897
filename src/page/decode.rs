//! Values of a page for whoever needs all of some range.

use std::ops::Range;

use super::{
    BATCH_BYTES, HEADER_BYTES, MAX_LOAD_BITS, MAX_VALUES, Page, WORD_BYTES, bits_at, load, low_mask, read_uppers,
};
use crate::isa::{Isa, for_each_isa};

/// Room for the values of a page, and some more, so that they can be written in groups.
pub(crate) type Values = [u64; MAX_VALUES + 64];

/// Nothing in it yet.
pub(crate) const ROOM: Values = [0; MAX_VALUES + 64];

/// Puts the values from the first to the last of `bounds` into `values`, and returns where they are.
pub(crate) fn values(isa: Isa, page: &Page<'_>, bounds: [u64; 2], values: &mut Values) -> Range<usize> {
    let [from, to] = bounds;
    if from > to || to < page.first {
        return 0..0;
    }
    let count = match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 if page.low_bits <= MAX_LOAD_BITS => super::avx512::decode(page, bounds, values),
        _ => decode(isa, page, from, to, values),
    };
    // Those before the first one, and those after the last one, which were decoded with them.
    let begin = values[..count].partition_point(|&value| value < from);
    begin..begin + values[begin..count].partition_point(|&value| value <= to)
}

for_each_isa! {
    /// Decodes the values of the bytes of the uppers in which those from `from` to `to` lie, and returns their number.
    fn decode(page: &Page<'_>, from: u64, to: u64, values: &mut Values) -> usize {
        let (from, to) = (from.saturating_sub(page.first), to - page.first);
        let low_bits = page.low_bits;
        let (lows, uppers) = (&page.bytes[HEADER_BYTES..], &page.bytes[page.upper_at..]);
        let (mut at, mut index) = page.skip(from >> low_bits);
        let (mut read, mut count) = ([0; 8 * BATCH_BYTES + WORD_BYTES], 0);
        while at < uppers.len() {
            let before = (8 * at).saturating_sub(index) as u64;
            let Some(last) = (to >> low_bits).checked_sub(before) else { break };
            let (bytes, filled) = read_uppers(&uppers[at..], last, &mut read);
            let filled = filled.min(page.count.saturating_sub(index));
            let base = page.first.wrapping_add(before << low_bits);
            let start = index * low_bits as usize;
            // So many lows can be loaded eight bytes at a time.
            let loadable = (8 * lows.len().saturating_sub(WORD_BYTES)).saturating_sub(start);
            let quick = if low_bits > MAX_LOAD_BITS { 0 } else { loadable.checked_div(low_bits as usize).unwrap_or(filled).min(filled) };
            let (mask, out) = (low_mask(low_bits), &mut values[count..count + filled]);
            let (quick_out, rest) = out.split_at_mut(quick);
            for ((value, &upper), place) in quick_out.iter_mut().zip(&read).zip(0..) {
                let bit = start + place * low_bits as usize;
                let low = load(lows, bit / 8) >> (bit % 8) & mask;
                *value = base.wrapping_add(u64::from(upper) << low_bits).wrapping_add(low);
            }
            for ((value, &upper), place) in rest.iter_mut().zip(&read[quick..]).zip(quick..) {
                let low = bits_at::<true>(lows, start + place * low_bits as usize, low_bits);
                *value = base.wrapping_add(u64::from(upper).wrapping_shl(low_bits)).wrapping_add(low);
            }
            (at, index, count) = (at + bytes, index + filled, count + filled);
        }
        count
    }
}
