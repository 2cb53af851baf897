//! The same by AVX-512: a word of the uppers, and eight lows, at a time.

use std::arch::x86_64::{
    __m512i, _mm_cvtsi64_si128, _mm512_add_epi8, _mm512_add_epi64, _mm512_and_si512, _mm512_cvtepu8_epi64,
    _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8, _mm512_mullo_epi64, _mm512_permutexvar_epi8,
    _mm512_set1_epi64, _mm512_sll_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
};

use super::{HEADER_BYTES, Page, Values, WORD_BYTES, load, low_mask};

/// The values of a vector.
const LANES: usize = 8;

/// The numbers of the bytes of a vector.
static IOTA: [u8; 64] = numbers(1, 0);
/// For each byte the first one of its lane.
static FIRST_OF_LANE: [u8; 64] = numbers(0, 8);
/// For each byte its number in its lane.
static IN_LANE: [u8; 64] = {
    let (mut in_lane, mut n) = ([0; 64], 0);
    while n < 64 {
        in_lane[n] = IOTA[n] - FIRST_OF_LANE[n];
        n += 1;
    }
    in_lane
};
/// The numbers of the lanes.
static LANE: [u8; 64] = {
    let (mut lane, mut n) = ([0; 64], 0);
    while n < LANES {
        lane[8 * n] = IOTA[n];
        n += 1;
    }
    lane
};

/// `each` times the number of the byte, and `lane` times the number of the lane.
const fn numbers(each: u8, lane: u8) -> [u8; 64] {
    let (mut numbers, mut n) = ([0; 64], 0);
    while n < 64 {
        numbers[n as usize] = each * n + lane * (n / 8);
        n += 1;
    }
    numbers
}

/// Decodes the values of the words of the uppers in which those from the first to the last of `bounds` lie, and returns
/// their number. The page has at most 57 low bits.
#[expect(unsafe_code, reason = "it is called where the instructions were found")]
pub(super) fn decode(page: &Page<'_>, bounds: [u64; 2], values: &mut Values) -> usize {
    // SAFETY: the caller has it from `Isa::detected` that the processor has these instructions.
    unsafe { decode_words(page, bounds, values) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,popcnt,bmi1,bmi2")]
fn decode_words(page: &Page<'_>, [from, to]: [u64; 2], values: &mut Values) -> usize {
    let (from, to) = (from.saturating_sub(page.first), to - page.first);
    let width = u64::from(page.low_bits);
    let (lows, uppers) = (&page.bytes[HEADER_BYTES..], &page.bytes[page.upper_at..]);
    let (mut at, mut index) = page.skip(from >> width);
    let mut count = 0;
    let (iota, first_of_lane, in_lane) = (bytes(&IOTA), bytes(&FIRST_OF_LANE), bytes(&IN_LANE));
    let lane_bits = _mm512_mullo_epi64(bytes(&LANE), all(width));
    let (mask, shift) = (all(low_mask(page.low_bits)), _mm_cvtsi64_si128(i64::from(page.low_bits)));
    while at < uppers.len() && index < page.count {
        let word = load(uppers, at);
        let before = (8 * at).saturating_sub(index) as u64;
        if before > to >> width {
            break;
        }
        let filled = (word.count_ones() as usize).min(page.count - index);
        // The numbers of the bits that are set, less those of the bits that are set before each: the zeros before it.
        let mut zeros = [0; 64];
        store(_mm512_sub_epi8(_mm512_maskz_compress_epi8(word, iota), iota), &mut zeros);
        let base = all(page.first.wrapping_add(before << width));
        // Eight lows are as many bytes as each has bits, so each eight of them begin at the same bit of a byte.
        let bit = index as u64 * width;
        let bits = _mm512_add_epi64(lane_bits, all(bit % 8));
        let places = _mm512_permutexvar_epi8(first_of_lane, _mm512_srli_epi64::<3>(bits));
        let places = _mm512_add_epi8(places, in_lane);
        let shifts = _mm512_and_si512(bits, all(7));
        let mut low_at = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        for (zeros, out) in
            zeros.chunks_exact(LANES).zip(values[count..].chunks_exact_mut(LANES)).take(filled.div_ceil(LANES))
        {
            let low = _mm512_permutexvar_epi8(places, some(lows.get(low_at..).unwrap_or_default()));
            let low = _mm512_and_si512(_mm512_srlv_epi64(low, shifts), mask);
            let upper = _mm512_sll_epi64(eight(zeros), shift);
            store_values(_mm512_add_epi64(_mm512_add_epi64(base, upper), low), out);
            low_at = low_at.saturating_add(usize::try_from(width).unwrap_or(0));
        }
        (at, index, count) = (at + WORD_BYTES, index + filled, count + filled);
    }
    count
}

#[target_feature(enable = "avx512f")]
fn all(value: u64) -> __m512i {
    _mm512_set1_epi64(value.cast_signed())
}

/// Eight bytes as numbers.
#[target_feature(enable = "avx512f")]
fn eight(zeros: &[u8]) -> __m512i {
    _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(load(zeros, 0).cast_signed()))
}

#[target_feature(enable = "avx512f,avx512bw")]
fn bytes(bytes: &[u8; 64]) -> __m512i {
    some(bytes)
}

/// The first 64 bytes; zeros stand for those beyond the end.
#[expect(unsafe_code, reason = "a load of a vector")]
#[target_feature(enable = "avx512f,avx512bw")]
fn some(bytes: &[u8]) -> __m512i {
    let mask = if bytes.len() < 64 { (1u64 << bytes.len()) - 1 } else { u64::MAX };
    // SAFETY: only bytes of the slice are read, since those beyond it are masked.
    unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}

#[expect(unsafe_code, reason = "a store of a vector")]
#[target_feature(enable = "avx512f")]
fn store(vector: __m512i, to: &mut [u8; 64]) {
    // SAFETY: the array has 64 bytes.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), vector) }
}

/// Stores a vector in eight values.
#[expect(unsafe_code, reason = "a store of a vector")]
#[target_feature(enable = "avx512f")]
fn store_values(vector: __m512i, to: &mut [u64]) {
    assert!(to.len() >= LANES);
    // SAFETY: the slice has eight values of eight bytes.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), vector) }
}
