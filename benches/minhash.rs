//! Signatures of 128 rows of texts of 100 words, which are 96 shingles of five words: of shingles that are there as strings, as
//! libraries of MinHash take them, of their hashes, and of the text; weighted ones; and two signatures compared. Beside them
//! a plain loop that hashes strings less carefully and has the same rows.

use criterion::{Bencher, Criterion, Throughput, criterion_group, criterion_main};
use nearstone::{Analyser, Minhash, feature_hash};
use std::hint::black_box;

const TEXTS: usize = 1000;

/// Texts from a seed, of words of 1 to 12 letters.
fn texts() -> Vec<String> {
    const SYLLABLES: [&str; 16] =
        ["ri", "ver", "la", "to", "ne", "sto", "ing", "ed", "con", "per", "a", "e", "of", "ma", "chi", "sun"];
    let mut state = 1u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        usize::try_from((state >> 33) % bound).expect("below a length")
    };
    let mut word = || -> String { (0..=below(2) + below(3)).map(|_| SYLLABLES[below(16)]).collect() };
    (0..TEXTS).map(|_| (0..100).map(|_| word()).collect::<Vec<_>>().join(" ")).collect()
}

fn shingles(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(5).map(|window| window.join(" ")).collect()
}

/// The least of 128 functions of a cheap hash of each string.
fn plain_loop(shingles: &[String], a: &[u32; 128], b: &[u32; 128]) -> [u32; 128] {
    let mut least = [u32::MAX; 128];
    for shingle in shingles {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for part in shingle.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            hash = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 32;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a part of the hash")]
        let x = (hash ^ hash >> 29) as u32;
        for row in 0..128 {
            least[row] = least[row].min(x.wrapping_mul(a[row]).wrapping_add(b[row]));
        }
    }
    least
}

/// Does the same to each of many things.
fn each<T, R>(bencher: &mut Bencher<'_>, all: &[T], mut act: impl FnMut(&T) -> R) {
    bencher.iter(|| {
        for one in all {
            black_box(act(one));
        }
    });
}

fn minhash(criterion: &mut Criterion) {
    let texts = texts();
    let shingles: Vec<Vec<String>> = texts.iter().map(|text| shingles(text)).collect();
    let hashes: Vec<Vec<u64>> =
        shingles.iter().map(|shingles| shingles.iter().map(|shingle| feature_hash(shingle)).collect()).collect();
    assert!(hashes.iter().all(|hashes| hashes.len() == 96));
    let minhash = Minhash::default().with_analyser(Analyser::default().shingle(5));
    let mut parameters = (0..128u32).map(|row| row.wrapping_mul(0x9e37_79b9));
    let mut a = [1; 128];
    a.iter_mut().zip(&mut parameters).for_each(|(a, parameter)| *a |= parameter);
    let b = a.map(u32::reverse_bits);

    let mut group = criterion.benchmark_group("signatures");
    group.throughput(Throughput::Elements(TEXTS as u64));
    group.bench_function("plain loop of strings", |bencher| {
        each(bencher, &shingles, |shingles| plain_loop(shingles, &a, &b));
    });
    group.bench_function("strings", |bencher| {
        each(bencher, &shingles, |shingles| minhash.of_features(shingles.iter().map(|shingle| feature_hash(shingle))));
    });
    group.bench_function("hashes", |bencher| {
        each(bencher, &hashes, |hashes| minhash.of_features(hashes.iter().copied()));
    });
    group.bench_function("texts", |bencher| each(bencher, &texts, |text| minhash.signature(text)));
    group.bench_function("weights 1 to 10", |bencher| {
        each(bencher, &hashes, |hashes| minhash.of_weighted(hashes.iter().copied().zip((1..=10).cycle())));
    });
    group.finish();

    let signatures: Vec<_> = texts.iter().filter_map(|text| minhash.signature(text)).collect();
    let mut group = criterion.benchmark_group("compared");
    group.throughput(Throughput::Elements(TEXTS as u64));
    group.bench_function("differing rows", |bencher| {
        bencher.iter(|| signatures.iter().map(|other| signatures[0].differing_rows(black_box(other))).sum::<u32>());
    });
    group.bench_function("identity", |bencher| each(bencher, &signatures, nearstone::Signature::identity));
    group.finish();
}

criterion_group!(benches, minhash);
criterion_main!(benches);
