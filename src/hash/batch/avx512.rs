//! Dealing out by AVX-512: the lengths of 64 slices are compared with one instruction, and the numbers of those that take a
//! way are those bytes that are kept of all numbers.

use std::arch::x86_64::{
    __m512i, _mm512_cmple_epu8_mask, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_set1_epi8,
    _mm512_storeu_si512,
};

use super::{BATCH, LONGEST, WAYS};

/// The numbers of the bytes of a vector.
static IOTA: [u8; BATCH] = {
    let (mut iota, mut n) = ([0; BATCH], 0);
    while (n as usize) < BATCH {
        iota[n as usize] = n;
        n += 1;
    }
    iota
};

#[expect(unsafe_code, reason = "it is called where the instructions were found")]
pub(super) fn deal(lengths: &[u8; BATCH], count: usize, dealt: &mut [[u8; BATCH]; WAYS]) -> [usize; WAYS] {
    // SAFETY: the caller has it from `Isa::detected` that the processor has these instructions.
    unsafe { deal_out(lengths, count, dealt) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn deal_out(lengths: &[u8; BATCH], count: usize, dealt: &mut [[u8; BATCH]; WAYS]) -> [usize; WAYS] {
    let (lengths, iota) = (load(lengths), load(&IOTA));
    let all = if count < BATCH { (1 << count) - 1 } else { u64::MAX };
    let (mut counts, mut shorter) = ([0; WAYS], !all);
    for (way, dealt) in dealt.iter_mut().enumerate() {
        let longest = LONGEST.get(way).copied().unwrap_or(u8::MAX);
        let up_to = _mm512_cmple_epu8_mask(lengths, _mm512_set1_epi8(longest.cast_signed()));
        let takes = up_to & !shorter;
        shorter |= up_to;
        store(_mm512_maskz_compress_epi8(takes, iota), dealt);
        counts[way] = takes.count_ones() as usize;
    }
    counts
}

#[expect(unsafe_code, reason = "a load of a vector")]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; BATCH]) -> __m512i {
    // SAFETY: the array has the 64 bytes of a vector, and need not be aligned.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[expect(unsafe_code, reason = "a store of a vector")]
#[target_feature(enable = "avx512f")]
fn store(vector: __m512i, to: &mut [u8; BATCH]) {
    // SAFETY: the array has the 64 bytes of a vector, and need not be aligned.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), vector) }
}
