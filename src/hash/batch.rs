//! XXH3-64 of many short slices of one buffer.
//!
//! What a slice is hashed by depends on its length, which nothing predicts: a processor that guesses the way of one slice
//! after another is wrong every second time, and a wrong guess costs more than a hash. So the slices are first dealt out by
//! their way without a branch, and each way then takes all of its own.
//!
//! The ways are those of the specification of XXH3 (<https://github.com/Cyan4973/xxHash>, `doc/xxhash_spec.md`) for seed 0
//! and the default secret, with what they take of the secret as numbers.

#![expect(clippy::inline_always, reason = "each way is a loop without calls")]

#[cfg(target_arch = "x86_64")]
mod avx512;

use xxhash_rust::xxh3::xxh3_64;

use crate::isa::Isa;

/// Slices that are dealt out at once.
const BATCH: usize = 64;

/// The longest slices of each way but the last.
const LONGEST: [u8; WAYS - 1] = [3, 8, 16, 32, 64];

const WAYS: usize = 6;

/// Room for a batch, kept from one text to the next.
#[derive(Debug)]
pub(crate) struct Batches {
    /// The starts and ends of the slices.
    slices: Box<[(usize, usize); BATCH]>,
    /// Their lengths, as far as they fit.
    lengths: [u8; BATCH],
    /// For each way the slices that take it.
    dealt: Box<[[u8; BATCH]; WAYS]>,
    isa: Isa,
}

impl Default for Batches {
    fn default() -> Self {
        Self {
            slices: Box::new([(0, 0); BATCH]),
            lengths: [0; BATCH],
            dealt: Box::new([[0; BATCH]; WAYS]),
            isa: Isa::detected(),
        }
    }
}

impl Batches {
    /// Appends the hash of each slice, given by its start and its end, to `hashes`, in their order.
    pub(crate) fn hash(
        &mut self,
        bytes: &[u8],
        mut slices: impl ExactSizeIterator<Item = (usize, usize)>,
        hashes: &mut Vec<u64>,
    ) {
        let first = hashes.len();
        hashes.resize(first + slices.len(), 0);
        let Self { slices: batch, lengths, dealt, isa } = self;
        for hashes in hashes[first..].chunks_mut(BATCH) {
            for ((slice, length), (start, end)) in batch.iter_mut().zip(&mut *lengths).zip(slices.by_ref()) {
                *slice = (start, end);
                *length = u8::try_from(end - start).unwrap_or(u8::MAX);
            }
            let counts = match *isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512 => avx512::deal(lengths, hashes.len(), dealt),
                _ => deal(lengths, hashes.len(), dealt),
            };
            let takers = |way: usize| &dealt[way][..counts[way]];
            each(bytes, batch, takers(0), hashes, up_to_3);
            each(bytes, batch, takers(1), hashes, up_to_8);
            each(bytes, batch, takers(2), hashes, up_to_16);
            each(bytes, batch, takers(3), hashes, up_to_32);
            each(bytes, batch, takers(4), hashes, up_to_64);
            each(bytes, batch, takers(5), hashes, xxh3_64);
        }
    }
}

/// Writes which of the first so many slices take each way, and returns their numbers.
fn deal(lengths: &[u8; BATCH], count: usize, dealt: &mut [[u8; BATCH]; WAYS]) -> [usize; WAYS] {
    let mut counts = [0; WAYS];
    for (place, &length) in (0..).zip(&lengths[..count]) {
        let longer = LONGEST.map(|longest| usize::from(length > longest));
        for (way, (dealt, count)) in dealt.iter_mut().zip(&mut counts).enumerate() {
            dealt[*count % BATCH] = place;
            let reaches = if way > 0 { longer[way - 1] } else { 1 };
            *count += reaches - longer.get(way).copied().unwrap_or(0);
        }
    }
    counts
}

/// Appends the hash of every window of so many bytes to `hashes`; of all bytes, where there are fewer.
pub(crate) fn hash_windows(bytes: &[u8], length: usize, hashes: &mut Vec<u64>) {
    let length = length.clamp(1, bytes.len().max(1));
    let windows = bytes.windows(length);
    match length {
        4..=8 => hashes.extend(windows.map(up_to_8)),
        9..=16 => hashes.extend(windows.map(up_to_16)),
        _ => hashes.extend(windows.map(xxh3_64)),
    }
}

/// Hashes the slices that take a way.
#[inline(always)]
fn each(bytes: &[u8], slices: &[(usize, usize); BATCH], dealt: &[u8], hashes: &mut [u64], hash: impl Fn(&[u8]) -> u64) {
    for &place in dealt {
        let (start, end) = slices[usize::from(place) % BATCH];
        hashes[usize::from(place)] = hash(&bytes[start..end]);
    }
}

const PRIME64_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME64_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME_MX1: u64 = 0x1656_6791_9e37_79f9;
const PRIME_MX2: u64 = 0x9fb2_1c65_1e98_df25;

/// What the default secret gives for up to 3, 8 and 16 bytes: two numbers of it over each other.
const FLIP_3: u64 = 0x8727_5a9b;
const FLIP_8: u64 = 0xc73a_b174_c5ec_d5a2;
const FLIP_16: [u64; 2] = [0x6782_737b_ea42_39b9, 0xaf56_bc3b_0996_523a];

/// The first 64 bytes of the default secret.
const SECRET: [u64; 8] = [
    0xbe4b_a423_396c_feb8,
    0x1cad_21f7_2c81_017c,
    0xdb97_9083_e96d_d4de,
    0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb,
    0x2172_ffcc_7dd0_5a82,
    0x8e24_43f7_7446_08b8,
    0x4c26_3a81_e690_35e0,
];

#[inline(always)]
fn up_to_3(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if length == 0 {
        return xxh3_64(bytes);
    }
    let [first, middle, last] = [bytes[0], bytes[length / 2], bytes[length - 1]].map(u64::from);
    let mut hash = (first << 16 | middle << 24 | last | (length as u64) << 8) ^ FLIP_3;
    hash = (hash ^ hash >> 33).wrapping_mul(PRIME64_2);
    hash = (hash ^ hash >> 29).wrapping_mul(PRIME64_3);
    hash ^ hash >> 32
}

#[inline(always)]
fn up_to_8(bytes: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else { return xxh3_64(bytes) };
    let keyed = (u64::from(u32::from_le_bytes(*last)) | u64::from(u32::from_le_bytes(*first)) << 32) ^ FLIP_8;
    let mut hash = (keyed ^ keyed.rotate_left(49) ^ keyed.rotate_left(24)).wrapping_mul(PRIME_MX2);
    hash = (hash ^ ((hash >> 35) + bytes.len() as u64)).wrapping_mul(PRIME_MX2);
    hash ^ hash >> 28
}

#[inline(always)]
fn up_to_16(bytes: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else { return xxh3_64(bytes) };
    let (low, high) = (u64::from_le_bytes(*first) ^ FLIP_16[0], u64::from_le_bytes(*last) ^ FLIP_16[1]);
    let sum = (bytes.len() as u64).wrapping_add(low.swap_bytes()).wrapping_add(high).wrapping_add(folded(low, high));
    avalanche(sum)
}

#[inline(always)]
fn up_to_32(bytes: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else { return xxh3_64(bytes) };
    avalanche(
        of_length(bytes)
            .wrapping_add(mixed(first, SECRET[0], SECRET[1]))
            .wrapping_add(mixed(last, SECRET[2], SECRET[3])),
    )
}

#[inline(always)]
fn up_to_64(bytes: &[u8]) -> u64 {
    let parts = [0, 16, bytes.len().wrapping_sub(32), bytes.len().wrapping_sub(16)];
    let [Some(first), Some(second), Some(third), Some(last)] =
        parts.map(|at| bytes.get(at..).and_then(<[u8]>::first_chunk))
    else {
        return xxh3_64(bytes);
    };
    let sum = of_length(bytes)
        .wrapping_add(mixed(first, SECRET[0], SECRET[1]))
        .wrapping_add(mixed(last, SECRET[2], SECRET[3]));
    avalanche(sum.wrapping_add(mixed(second, SECRET[4], SECRET[5])).wrapping_add(mixed(third, SECRET[6], SECRET[7])))
}

#[inline(always)]
fn of_length(bytes: &[u8]) -> u64 {
    (bytes.len() as u64).wrapping_mul(PRIME64_1)
}

#[inline(always)]
fn mixed(bytes: &[u8; 16], low: u64, high: u64) -> u64 {
    let both = u128::from_le_bytes(*bytes);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    folded(both as u64 ^ low, (both >> 64) as u64 ^ high)
}

/// The halves of the product, over each other.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

#[inline(always)]
fn avalanche(sum: u64) -> u64 {
    let hash = (sum ^ sum >> 37).wrapping_mul(PRIME_MX1);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_every_length_have_the_hash_of_their_bytes() {
        let bytes: Vec<u8> = (0..40u8).map(|n| n.wrapping_mul(77)).collect();
        for (length, count) in (1..20).flat_map(|length| [0, 1, 3, 4, 5, 8, 9, 16, 17, 40].map(|count| (length, count)))
        {
            let mut hashes = vec![7];
            hash_windows(&bytes[..count], length, &mut hashes);
            let whole: Vec<u64> = bytes[..count].windows(length.min(count).max(1)).map(xxh3_64).collect();
            assert_eq!(hashes[1..], whole, "{length} of {count}");
        }
    }

    #[test]
    fn slices_of_every_length_have_the_hash_of_their_bytes() {
        let bytes: Vec<u8> = (0..2000u32).map(|n| n.wrapping_mul(0x9e37_79b1).to_be_bytes()[0]).collect();
        let slices: Vec<_> = (0..300usize).flat_map(|length| [0, 1, 77, 1000].map(|at| (at, at + length))).collect();
        for count in [0, 1, 2, BATCH - 1, BATCH, BATCH + 1, slices.len()] {
            let expected: Vec<u64> = slices[..count].iter().map(|&(start, end)| xxh3_64(&bytes[start..end])).collect();
            for isa in Isa::all() {
                let mut hashes = vec![7];
                let mut batches = Batches { isa, ..Batches::default() };
                batches.hash(&bytes, slices[..count].iter().copied(), &mut hashes);
                assert_eq!(hashes[1..], expected, "{isa:?} {count}");
            }
        }
    }
}
