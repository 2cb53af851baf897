//! The same by vectors: 32 or 64 bytes are compared with one instruction.

use std::arch::x86_64::{
    __m256i, __m512i, _mm_cvtsi64_si128, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_sub_epi8, _mm512_add_epi64, _mm512_cmpeq_epi8_mask,
    _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi64, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_movepi8_mask,
    _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
};

use super::{BLOCK, Kinds, Way, edges_of, write};

#[expect(unsafe_code, reason = "it is called where the instructions were found")]
pub(super) fn words_by_avx2(bytes: &[u8], blocks: usize, way: &mut Way, edges: &mut [usize]) -> usize {
    // SAFETY: the caller has it from `Isa::detected` that the processor has these instructions.
    unsafe { by_avx2(bytes, blocks, way, edges) }
}

#[expect(unsafe_code, reason = "it is called where the instructions were found")]
pub(super) fn words_by_avx512(bytes: &[u8], blocks: usize, way: &mut Way, edges: &mut [usize]) -> usize {
    // SAFETY: the caller has it from `Isa::detected` that the processor has these instructions.
    unsafe { by_avx512(bytes, blocks, way, edges) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn by_avx2(bytes: &[u8], blocks: usize, way: &mut Way, edges: &mut [usize]) -> usize {
    edges_of(bytes, blocks, way, edges, |block| kinds_by_avx2(block), write)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
fn by_avx512(bytes: &[u8], blocks: usize, way: &mut Way, edges: &mut [usize]) -> usize {
    #[cfg(target_pointer_width = "64")]
    let write = |mask, base, places: &mut [usize; BLOCK]| write_by_avx512(mask, base, places);
    edges_of(bytes, blocks, way, edges, |block| kinds_by_avx512(block), write)
}

#[target_feature(enable = "avx2")]
fn kinds_by_avx2(block: &[u8; BLOCK]) -> Kinds {
    let halves = halves(block);
    let equal = |byte: u8| both(halves.map(|half| _mm256_cmpeq_epi8(half, each(byte))));
    let lower = halves.map(|half| _mm256_or_si256(half, each(0x20)));
    Kinds {
        letters: both(lower.map(|half| up_to(half, b'a', 26))) | both(halves),
        digits: both(halves.map(|half| up_to(half, b'0', 10))),
        underscores: equal(b'_'),
        dots: equal(b'.') | equal(b'\''),
        colons: equal(b':'),
        commas: equal(b',') | equal(b';'),
    }
}

/// Bytes from `first` on, so many: signed comparison orders bytes as unsigned once the highest bit is turned.
#[target_feature(enable = "avx2")]
fn up_to(bytes: __m256i, first: u8, count: u8) -> __m256i {
    _mm256_cmpgt_epi8(each(0x80 + count), _mm256_sub_epi8(bytes, each(first.wrapping_add(0x80))))
}

#[target_feature(enable = "avx2")]
fn each(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

/// The mask of the highest bits.
#[target_feature(enable = "avx2")]
fn both(halves: [__m256i; 2]) -> u64 {
    let [low, high] = halves.map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
    low | high << 32
}

#[expect(unsafe_code, reason = "a load of a vector")]
#[target_feature(enable = "avx2")]
fn halves(block: &[u8; BLOCK]) -> [__m256i; 2] {
    let (low, high) = block.split_at(BLOCK / 2);
    // SAFETY: each half has the 32 bytes of a vector, and need not be aligned.
    unsafe { [_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())] }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn kinds_by_avx512(block: &[u8; BLOCK]) -> Kinds {
    let bytes = load(block);
    let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, all(byte));
    let up_to = |bytes, first, count| _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, all(first)), all(count));
    Kinds {
        letters: up_to(_mm512_or_si512(bytes, all(0x20)), b'a', 26) | _mm512_movepi8_mask(bytes),
        digits: up_to(bytes, b'0', 10),
        underscores: equal(b'_'),
        dots: equal(b'.') | equal(b'\''),
        colons: equal(b':'),
        commas: equal(b',') | equal(b';'),
    }
}

/// The numbers of the bytes of a vector.
#[cfg(target_pointer_width = "64")]
static IOTA: [u8; BLOCK] = {
    let (mut iota, mut n) = ([0; BLOCK], 0);
    while (n as usize) < BLOCK {
        iota[n as usize] = n;
        n += 1;
    }
    iota
};

/// The numbers of the bits of a mask are bytes that are kept of all numbers. Eight places are as long as a vector, which they
/// are not where this is compiled for pointers of 32 bits.
#[cfg(target_pointer_width = "64")]
#[expect(unsafe_code, reason = "stores of vectors")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn write_by_avx512(mask: u64, base: usize, places: &mut [usize; BLOCK]) {
    let kept = _mm512_maskz_compress_epi8(mask, load(&IOTA));
    let mut numbers = [0; BLOCK];
    // SAFETY: the array has the 64 bytes of a vector.
    unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), kept) };
    let base = _mm512_set1_epi64((base as u64).cast_signed());
    let eights = numbers.as_chunks::<8>().0.iter().zip(places.as_chunks_mut::<8>().0);
    for (numbers, places) in eights.take((mask.count_ones() as usize).div_ceil(8)) {
        let eight = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(i64::from_le_bytes(*numbers)));
        // SAFETY: the eight places have the 64 bytes of a vector.
        unsafe { _mm512_storeu_si512(places.as_mut_ptr().cast(), _mm512_add_epi64(base, eight)) };
    }
}

#[expect(unsafe_code, reason = "a load of a vector")]
#[target_feature(enable = "avx512f")]
fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the block has the 64 bytes of a vector, and need not be aligned.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::super::kinds;
    use super::*;
    use crate::isa::Isa;

    #[expect(unsafe_code, reason = "the instructions are called where they are found")]
    #[test]
    fn vectors_tell_the_kinds_of_every_byte() {
        for first in 0..=u8::MAX {
            let block: [u8; BLOCK] = {
                let mut byte = first;
                [(); BLOCK].map(|()| {
                    byte = byte.wrapping_mul(5).wrapping_add(1);
                    byte
                })
            };
            for isa in Isa::all() {
                // SAFETY: the processor has all of these instructions.
                let found = match isa {
                    Isa::Portable => continue,
                    Isa::Avx2 => unsafe { kinds_by_avx2(&block) },
                    Isa::Avx512 => unsafe { kinds_by_avx512(&block) },
                };
                assert_eq!(found, kinds(&block), "{isa:?} {first}");
            }
        }
    }
}
