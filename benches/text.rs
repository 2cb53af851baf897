//! Texts to fingerprints, by preset: English, Chinese and source code, of the length of a page.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nearstone::{Analyser, Preset, Simhash};
use std::hint::black_box;

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

/// About 8 KB of words, with a comma or a full stop now and then.
fn english(random: &mut Random) -> String {
    const SYLLABLES: [&str; 16] =
        ["ri", "ver", "la", "to", "ne", "sto", "ing", "ed", "con", "per", "a", "the", "of", "ma", "chi", "sun"];
    let mut text = String::new();
    for word in 1..1400 {
        for _ in 0..=random.below(3) {
            text += SYLLABLES[random.below(SYLLABLES.len())];
        }
        text += if word % 12 == 0 { ". " } else { " " };
    }
    text
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

fn fingerprints(criterion: &mut Criterion) {
    let mut random = Random(1);
    let texts = [("english", english(&mut random)), ("chinese", chinese(&mut random)), ("code", code(&mut random))];
    for (name, text) in texts {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        for preset in Preset::ALL {
            let simhash = Simhash::new(Analyser::preset(preset));
            group.bench_function(BenchmarkId::from_parameter(preset.name()), |bencher| {
                bencher.iter(|| simhash.fingerprint(black_box(&text)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, fingerprints);
criterion_main!(benches);
