//! What the codecs of a table's values cost, beside reading plain integers: `cargo bench --bench page`.
//!
//! The values are uniform, from a seed: the gaps of pages are those of 10^7, 10^8 and 10^9 values. There are
//! 64 pages, 32,768 values, visited in turn.

mod values;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[path = "../src/isa.rs"]
mod isa;
#[path = "../src/near.rs"]
#[allow(dead_code, unused_imports, reason = "a part is measured, and the tests in it are not run here")]
mod near;
#[path = "../src/packed.rs"]
#[expect(dead_code, reason = "the bench measures a part")]
mod packed;
#[path = "../src/page/mod.rs"]
#[expect(dead_code, reason = "the bench measures a part")]
mod page;

use packed::Packed;
use page::{MAX_VALUES, Page};
use values::value;

const PAGES: usize = 64;
const SOME: usize = 64;

/// As many sorted values as the pages hold, as near to each other as 2^`log2_gap` on the average.
fn sorted(log2_gap: f64) -> Vec<u64> {
    let count = PAGES * MAX_VALUES;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive range, roughly"
    )]
    let range = (log2_gap.exp2() * count as f64) as u128;
    let mut values: Vec<u64> = (0..count as u64)
        .map(|n| u64::try_from((u128::from(value(n)) * range) >> 64).expect("below the range"))
        .collect();
    values.sort_unstable();
    values
}

fn codecs(c: &mut Criterion) {
    for (name, log2_gap) in [("10^7", 40.75), ("10^8", 37.42), ("10^9", 34.1)] {
        let values = sorted(log2_gap);
        let lists: Vec<&[u64]> = values.chunks(MAX_VALUES).collect();
        let pages: Vec<Vec<u8>> = lists
            .iter()
            .map(|list| {
                let mut bytes = Vec::new();
                page::encode(list, &mut bytes);
                bytes
            })
            .collect();
        let mut group = c.benchmark_group(format!("page of {name}"));
        let mut turn = 0;
        let mut next = move || {
            turn = (turn + 1) % PAGES;
            turn
        };

        group.throughput(Throughput::Elements(MAX_VALUES as u64));
        group.bench_function("baseline: sum of plain integers", |b| {
            b.iter(|| black_box(lists[next()]).iter().fold(0, |sum: u64, &value| sum.wrapping_add(value)));
        });
        group.bench_function("visit of all", |b| {
            b.iter(|| {
                let mut sum = 0u64;
                let (page, _) = Page::parse(black_box(&pages[next()])).expect("it was encoded");
                page.visit(0, u64::MAX, |_, value| sum = sum.wrapping_add(value));
                sum
            });
        });
        for isa in isa::Isa::all() {
            let (mut values, mut found) = (page::ROOM, Vec::new());
            group.bench_function(format!("compared, {isa:?}"), |b| {
                b.iter(|| {
                    let (page, _) = Page::parse(black_box(&pages[next()])).expect("it was encoded");
                    let decoded = page::values(isa, &page, [0, u64::MAX], &mut values);
                    near::near(isa, &values[decoded], black_box(77), 3, &mut found);
                    found.len()
                });
            });
        }
        let mut decoded = Vec::with_capacity(MAX_VALUES);
        group.bench_function("strict decoding", |b| {
            b.iter(|| {
                decoded.clear();
                let (page, _) = Page::parse(black_box(&pages[next()])).expect("it was encoded");
                page.decode_into(&mut decoded)
            });
        });
        let mut encoded = Vec::with_capacity(8 * MAX_VALUES);
        group.bench_function("encoding", |b| {
            b.iter(|| {
                encoded.clear();
                page::encode(black_box(lists[next()]), &mut encoded);
            });
        });

        group.throughput(Throughput::Elements(SOME as u64));
        let middle = MAX_VALUES / 2;
        group.bench_function("baseline: sum of 64 of plain integers, by binary search", |b| {
            b.iter(|| {
                let list = black_box(lists[next()]);
                let (from, to) = (list[middle], list[middle + SOME - 1]);
                let start = list.partition_point(|&value| value < from);
                list[start..].iter().take_while(|&&v| v <= to).fold(0, |sum: u64, &value| sum.wrapping_add(value))
            });
        });
        group.bench_function("visit of 64 from the middle", |b| {
            b.iter(|| {
                let turn = next();
                let mut sum = 0u64;
                let (page, _) = Page::parse(black_box(&pages[turn])).expect("it was encoded");
                let list = lists[turn];
                page.visit(list[middle], list[middle + SOME - 1], |_, value| sum = sum.wrapping_add(value));
                sum
            });
        });
    }
}

fn columns(c: &mut Criterion) {
    let mut group = c.benchmark_group("packed integers");
    group.throughput(Throughput::Elements(MAX_VALUES as u64));
    for width in [24, 30, 60] {
        let values: Vec<u64> = (0..MAX_VALUES as u64).map(|n| value(n) >> (64 - width)).collect();
        let mut bytes = Vec::new();
        packed::encode(&values, &mut bytes);
        group.bench_function(format!("get of all, {width} bits"), |b| {
            b.iter(|| {
                let (packed, _) = Packed::parse(black_box(&bytes), MAX_VALUES).expect("they were encoded");
                (0..MAX_VALUES).fold(0, |sum: u64, index| sum.wrapping_add(packed.get(index)))
            });
        });
    }
}

criterion_group!(benches, codecs, columns);
criterion_main!(benches);
