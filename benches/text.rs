//! Texts to fingerprints, by analyser: English, Chinese, Russian and source code, of the length of a page; English of ten words
//! and of 100,000; and by one thread and by two.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nearstone::Simhash;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Values from a seed: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).expect("below a length")
    }
}

/// So many words by a vocabulary in which the n-th comes as often as 1 / n, as in English: a fifth of a text is its ten
/// most common words. They are 1 to 12 letters long, 4.7 on average, stand in sentences, and one in a hundred has an
/// apostrophe that is not ASCII.
fn english(random: &mut Random, words: usize) -> String {
    const SYLLABLES: [&str; 16] =
        ["ri", "ver", "la", "to", "ne", "sto", "ing", "ed", "con", "per", "a", "e", "of", "ma", "chi", "sun"];
    const COMMON: [&str; 10] = ["the", "of", "and", "to", "a", "in", "is", "that", "for", "it"];
    let vocabulary: Vec<String> = (0..8192)
        .map(|n| match COMMON.get(n) {
            Some(&word) => word.to_owned(),
            None => (0..=random.below(2) + random.below(2)).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect(),
        })
        .collect();
    let (mut text, mut is_first) = (String::new(), true);
    for word in 1..=words {
        // As many of each power of two.
        let power = 1 << random.below(13);
        let mut next = vocabulary[power + random.below(power) - 1].clone();
        if is_first {
            next[..1].make_ascii_uppercase();
        }
        text += &next;
        is_first = false;
        text += match random.below(100) {
            0..6 => {
                is_first = true;
                ". "
            }
            6..12 => ", ",
            12 => "\u{2019}s ",
            _ if word % 13 == 0 => "\n",
            _ => " ",
        };
    }
    text
}

/// About 8 KB of Cyrillic letters.
fn russian(random: &mut Random) -> String {
    let letters: Vec<char> = ('а'..='я').collect();
    let word = |random: &mut Random| -> String {
        (0..=1 + random.below(10)).map(|_| letters[random.below(letters.len())]).collect()
    };
    (0..580).map(|n| word(random) + if n % 10 == 9 { ", " } else { " " }).collect()
}

/// About 8 KB of Han characters.
fn chinese(random: &mut Random) -> String {
    let characters: Vec<char> = ('\u{4e00}'..'\u{5600}').collect();
    (1..2700).map(|i| if i % 15 == 0 { '，' } else { characters[random.below(characters.len())] }).collect()
}

/// About 8 KB of assignments.
fn code(random: &mut Random) -> String {
    (0..250).fold(String::new(), |text, _| {
        let [a, b, c] = [(); 3].map(|()| random.below(1000));
        text + &format!("    let value_{a} = sum({b}, &other_{c});\n")
    })
}

const ANALYSERS: [&str; 12] = [
    "web",
    "short",
    "code",
    "words",
    "words+shingle=1",
    "words+shingle=5",
    "web+weights=log",
    "chars:4",
    "chars:4+weights=count",
    "web+diacritics=remove",
    "1e0ng",
    "classic",
];

fn fingerprints(criterion: &mut Criterion) {
    let mut random = Random(1);
    let texts = [
        ("english", english(&mut random, 1400)),
        ("english-10-words", english(&mut random, 10)),
        ("english-100000-words", english(&mut random, 100_000)),
        ("chinese", chinese(&mut random)),
        ("russian", russian(&mut random)),
        ("code", code(&mut random)),
    ];
    for (name, text) in texts {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        for analyser in ANALYSERS {
            let simhash = Simhash::new(analyser.parse().expect("an analyser"));
            group.bench_function(BenchmarkId::from_parameter(analyser), |bencher| {
                bencher.iter(|| simhash.fingerprint(black_box(&text)));
            });
        }
        group.finish();
    }
}

/// A thousand pages, each thread all of its own by one analyser that they share.
fn threads(criterion: &mut Criterion) {
    let mut random = Random(2);
    let texts: Vec<String> = (0..1000).map(|_| english(&mut random, 1400)).collect();
    let mut group = criterion.benchmark_group("threads");
    for analyser in ["web", "short", "chars:4"] {
        let simhash = Simhash::new(analyser.parse().expect("an analyser"));
        for threads in [1, 2] {
            group.throughput(Throughput::Bytes(threads * texts.iter().map(|text| text.len() as u64).sum::<u64>()));
            group.bench_function(BenchmarkId::new(analyser, threads), |bencher| {
                bencher.iter_custom(|times| {
                    together(threads, || {
                        for text in (0..times).flat_map(|_| &texts) {
                            black_box(simhash.fingerprint(black_box(text)));
                        }
                    })
                });
            });
        }
    }
    group.finish();
}

/// How long threads take that do the same.
fn together(threads: u64, work: impl Fn() + Sync) -> Duration {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&work);
        }
    });
    begun.elapsed()
}

criterion_group!(benches, fingerprints, threads);
criterion_main!(benches);
