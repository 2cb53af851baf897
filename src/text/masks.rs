//! The kinds of bytes that the rules for words tell apart, as masks of blocks.

#![expect(clippy::inline_always, reason = "it is compiled for each set of instructions as a part of what calls it")]

#[cfg(target_arch = "x86_64")]
mod vectors;

use std::ops::Range;

use super::scratch::PADDING;
use crate::isa::Isa;

/// The bytes of a block, each of which has a bit in a mask.
pub(super) const BLOCK: usize = PADDING;

/// The masks of the kinds of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kinds {
    /// Letters of ASCII, and bytes beyond it.
    letters: u64,
    digits: u64,
    underscores: u64,
    /// `.` and `'`.
    dots: u64,
    /// `:`.
    colons: u64,
    /// `,` and `;`.
    commas: u64,
}

/// A stretch of bytes on the way through it.
#[derive(Default)]
pub(super) struct Way {
    /// Bytes that are left.
    pub(super) rest: usize,
    /// The number of the first of them.
    pub(super) base: usize,
    joins: bool,
    /// Whether a `_` was among the bytes so far.
    pub(super) has_underscore: bool,
    /// Whether the last byte was a letter, a digit, part of a word: 1 or 0.
    letter: u64,
    digit: u64,
    word: u64,
}

impl Way {
    /// Makes the way through a stretch, in which letters and digits are joined by what UAX #29 says, or by nothing.
    pub(super) fn through(stretch: &Range<usize>, joins: bool) -> Self {
        Self { rest: stretch.len(), base: stretch.start, joins, ..Self::default() }
    }
}

/// Writes where words start and end, in turn, in some blocks or to the end of the stretch, and returns how many places that
/// are. Words are letters, digits and `_`, and on request what joins two letters or two digits by UAX #29.
///
/// `bytes` begins with what is left and holds a whole block behind it; `edges` has room for the bytes of the blocks and one
/// more block.
pub(super) fn words(isa: Isa, bytes: &[u8], blocks: usize, way: &mut Way, edges: &mut [usize]) -> usize {
    match isa {
        Isa::Portable => edges_of(bytes, blocks, way, edges, kinds, write),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => vectors::words_by_avx2(bytes, blocks, way, edges),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => vectors::words_by_avx512(bytes, blocks, way, edges),
    }
}

/// The same, by what tells the kinds of a block, and what writes the places of the bits of a mask.
#[inline(always)]
fn edges_of(
    bytes: &[u8],
    blocks: usize,
    way: &mut Way,
    edges: &mut [usize],
    kinds: impl Fn(&[u8; BLOCK]) -> Kinds,
    write: impl Fn(u64, usize, &mut [usize; BLOCK]),
) -> usize {
    let Way { mut rest, mut base, joins, mut letter, mut digit, mut word, .. } = *way;
    let (mut count, mut all_underscores) = (0, 0);
    for (number, block) in bytes.as_chunks::<BLOCK>().0.iter().enumerate().take(blocks.min(rest.div_ceil(BLOCK))) {
        let all = if rest < BLOCK { (1 << rest) - 1 } else { u64::MAX };
        let kinds = kinds(block);
        let [letters, digits, underscores] = [kinds.letters, kinds.digits, kinds.underscores].map(|mask| mask & all);
        all_underscores |= underscores;
        let mut words = letters | digits | underscores;
        if joins {
            let next = if rest > BLOCK { bytes[(number + 1) * BLOCK] } else { b' ' };
            let letter_behind = letters >> 1 | u64::from(is_letter(next)) << 63;
            let digit_behind = digits >> 1 | u64::from(next.is_ascii_digit()) << 63;
            words |= (kinds.dots | kinds.colons) & (letters << 1 | letter) & letter_behind;
            words |= (kinds.dots | kinds.commas) & (digits << 1 | digit) & digit_behind;
            (letter, digit) = (letters >> 63, digits >> 63);
        }
        let changes = words ^ (words << 1 | word);
        word = words >> 63;
        write(changes, base, edges[count..].first_chunk_mut().expect("there is room for a block"));
        count += changes.count_ones() as usize;
        let passed = rest.min(BLOCK);
        (rest, base) = (rest - passed, base + passed);
    }
    if rest == 0 && word != 0 {
        edges[count] = base;
        count += 1;
    }
    *way = Way { rest, base, letter, digit, word, has_underscore: way.has_underscore || all_underscores != 0, ..*way };
    count
}

/// Writes the places of the bits of a mask from a base on, eight at a time, and what comes after them does not matter.
#[inline(always)]
fn write(mask: u64, base: usize, places: &mut [usize; BLOCK]) {
    let (mut rest, count) = (mask, mask.count_ones() as usize);
    for eight in places.as_chunks_mut::<8>().0.iter_mut().take(count.div_ceil(8)) {
        for place in eight {
            *place = base + rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
        }
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80
}

#[inline(always)]
fn kinds(block: &[u8; BLOCK]) -> Kinds {
    Kinds {
        letters: mask(block, is_letter),
        digits: mask(block, |byte| byte.is_ascii_digit()),
        underscores: mask(block, |byte| byte == b'_'),
        dots: mask(block, |byte| byte == b'.' || byte == b'\''),
        colons: mask(block, |byte| byte == b':'),
        commas: mask(block, |byte| byte == b',' || byte == b';'),
    }
}

/// The mask of the bytes of a kind.
#[inline(always)]
fn mask(block: &[u8; BLOCK], is_of_kind: impl Fn(u8) -> bool) -> u64 {
    let flags = block.map(|byte| u8::from(is_of_kind(byte)));
    let mut bits = [0; BLOCK / 8];
    for (bits, flags) in bits.iter_mut().zip(flags.as_chunks::<8>().0) {
        // The product gathers the lowest bits of the eight bytes in its highest byte.
        [.., *bits] = u64::from_le_bytes(*flags).wrapping_mul(0x0102_0408_1020_4080).to_le_bytes();
    }
    u64::from_le_bytes(bits)
}
