//! What calls cost, beside what they are compared with in the same run: `cargo bench --bench store`.
//!
//! The number of stored documents is 1,000,000, or `NEARSTONE_BENCH_DOCUMENTS`. Fingerprints are uniform,
//! from a seed.

mod values;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use nearstone::{Fingerprint, Options, Simhash, SimhashStore, TableDesign};
use values::value;

fn documents() -> u64 {
    std::env::var("NEARSTONE_BENCH_DOCUMENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000_000)
}

fn queries(c: &mut Criterion) {
    let count = documents();
    let values: Vec<u64> = (0..count).map(value).collect();
    let mut group = c.benchmark_group(format!("query, {count} documents"));
    group.sample_size(20);
    let mut next = 0;
    let mut query = move || {
        next = (next + 7919) % count;
        // Every other one is two bits from a stored one.
        if next % 2 == 0 { value(next) ^ 1 << 40 ^ 1 << 7 } else { value(next + count) }
    };
    group.bench_function("baseline: every value in RAM is compared", |b| {
        b.iter_batched(
            &mut query,
            |query| values.iter().filter(|&&v| (v ^ black_box(query)).count_ones() <= 3).count(),
            BatchSize::SmallInput,
        );
    });
    for (name, blocks) in [("4 tables", 4), ("10 tables", 5)] {
        let dir = tempfile::tempdir().unwrap();
        let design = TableDesign::choose(blocks, 3).unwrap();
        let options = Options::new().auto_seal(None).cache_bytes(1 << 30);
        let store = SimhashStore::create(dir.path().join("store"), &design, &options).unwrap();
        for (n, &value) in values.iter().enumerate() {
            store.insert((n as u64).to_be_bytes(), &Fingerprint::new(value)).unwrap();
        }
        store.compact().unwrap();
        group.bench_function(format!("{name}, distance 3"), |b| {
            b.iter_batched(
                &mut query,
                |query| store.query(&Fingerprint::new(query), 3).unwrap().len(),
                BatchSize::SmallInput,
            );
        });
        let mut n = count;
        group.bench_function(format!("{name}, check_and_insert of new documents"), |b| {
            b.iter(|| {
                n += 1;
                let sketch = Fingerprint::new(value(n));
                store.check_and_insert(n.to_be_bytes(), &sketch, 3).unwrap()
            });
        });
        let stats = store.stats().unwrap();
        eprintln!("{name}: {} bytes on disk", stats.disk_bytes);
    }
}

fn texts(c: &mut Criterion) {
    let words: Vec<String> = (0..2000).map(|n| format!("{:x}", value(n) >> 40)).collect();
    let text = words.join(" ");
    let simhash = Simhash::default();
    let mut group = c.benchmark_group("fingerprint of a text");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("baseline: split at white space", |b| b.iter(|| black_box(&text).split_whitespace().count()));
    group.bench_function("ASCII words", |b| b.iter(|| simhash.fingerprint(black_box(&text))));
    let chinese: String =
        (0..4000).map(|n| char::from_u32(0x4e00 + u32::try_from(value(n) % 5000).unwrap()).unwrap()).collect();
    group.throughput(Throughput::Bytes(chinese.len() as u64));
    group.bench_function("Chinese", |b| b.iter(|| simhash.fingerprint(black_box(&chinese))));
}

criterion_group!(benches, texts, queries);
criterion_main!(benches);
