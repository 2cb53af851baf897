//! What admission costs beside the writes alone: `cargo bench --bench admit`.
//!
//! A store of 1,000,000 documents, or `NEARSTONE_BENCH_DOCUMENTS`, is made once; each measurement works on a
//! checkpoint of its own and brings 200,000 new documents, or `NEARSTONE_BENCH_NEW`. The yardstick is RocksDB
//! itself with the options of the store: write batches of the same bytes, without any look at what is stored;
//! and the same with the prefix seeks that a look takes, by iterators that are kept and refreshed, without
//! anything else. No admission can be faster than that. Every row is measured in each of three rounds; the
//! median counts.

mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use nearstone::{Durability, Fingerprint, NewDocument, Options, SimhashStore, TableDesign};
use rocksdb::{Cache, ColumnFamily, DB, Env, ReadOptions, WriteBatch};
use values::value;

const ROUNDS: usize = 3;
const TOGETHER: usize = 256;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn options() -> Options {
    Options::new().auto_seal(None).cache_bytes(512 << 20)
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// Batches of the bytes of as many documents, without a look.
    Raw {
        together: usize,
        threads: u64,
    },
    /// The same one document after the other, after a look into each table.
    RawWithSeeks,
    Single {
        threads: u64,
        durability: u8,
    },
    Batch {
        threads: u64,
        durability: u8,
    },
}

fn durability(number: u8) -> Durability {
    if number == 0 { Durability::Process } else { Durability::Power }
}

/// Documents a second.
fn measure(base: &SimhashStore, dir: &Path, row: Row, stored: u64, new: u64) -> f64 {
    let path = dir.join("run");
    base.checkpoint(&path).unwrap();
    let (threads, seconds) = match row {
        Row::Raw { together, threads } => (threads, raw(&path, base.design(), together, threads, stored, new)),
        Row::RawWithSeeks => (1, raw_with_seeks(&path, base.design(), stored, new)),
        Row::Single { threads, durability: of } => {
            let store = SimhashStore::open(&path, &options().durability(durability(of))).unwrap();
            let seconds = run("single", threads, new, |n| {
                let n = stored + n;
                let sketch = Fingerprint::new(value(n));
                assert!(store.check_and_insert(n.to_be_bytes(), &sketch, 3).unwrap().is_admitted());
            });
            (threads, seconds)
        }
        Row::Batch { threads, durability: of } => {
            let store = SimhashStore::open(&path, &options().durability(durability(of))).unwrap();
            let seconds = run("batch", threads, new / TOGETHER as u64, |n| {
                let first = stored + n * TOGETHER as u64;
                let ids: Vec<[u8; 8]> = (first..first + TOGETHER as u64).map(u64::to_be_bytes).collect();
                let documents: Vec<_> = ids
                    .iter()
                    .map(|id| NewDocument::new(id, Fingerprint::new(value(u64::from_be_bytes(*id)))))
                    .collect();
                let answers = store.check_and_insert_batch(&documents, 3).unwrap();
                assert!(answers.iter().all(nearstone::Admission::is_admitted));
            });
            (threads, seconds)
        }
    };
    std::fs::remove_dir_all(&path).unwrap();
    let brought = match row {
        Row::Single { .. } | Row::RawWithSeeks => new / threads * threads,
        Row::Raw { together, .. } => new / together as u64 / threads * threads * together as u64,
        Row::Batch { .. } => new / TOGETHER as u64 / threads * threads * TOGETHER as u64,
    };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let rate = brought as f64 / seconds;
    rate
}

/// Calls `act` with the numbers below `count`, shared out among threads; returns the seconds that it took.
///
/// The threads have names, for profilers.
fn run(name: &str, threads: u64, count: u64, act: impl Fn(u64) + Sync) -> f64 {
    let each = count / threads;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let act = &act;
            let named = std::thread::Builder::new().name(name.to_owned());
            named.spawn_scoped(scope, move || (thread * each..(thread + 1) * each).for_each(act)).unwrap();
        }
    });
    begun.elapsed().as_secs_f64()
}

/// The database of a store, opened as the store opens it.
struct Raw {
    db: DB,
    names: Vec<String>,
}

impl Raw {
    fn open(path: &Path) -> Self {
        let cache = Cache::new_hyper_clock_cache(512 << 20, 0);
        let (options, families) = rocksdb::Options::load_latest(path, Env::new().unwrap(), false, cache).unwrap();
        let names = families.iter().map(|family| family.name().to_owned()).collect();
        Self { db: DB::open_cf_descriptors(&options, path, families).unwrap(), names }
    }

    fn family(&self, begin: &str) -> &ColumnFamily {
        self.db.cf_handle(self.names.iter().find(|name| name.starts_with(begin)).unwrap()).unwrap()
    }

    fn tables(&self, design: &TableDesign) -> Vec<&ColumnFamily> {
        (0..design.tables().len()).map(|table| self.family(&format!("table{table:02}"))).collect()
    }

    /// Adds what admission writes for the n-th document.
    fn put(&self, batch: &mut WriteBatch, design: &TableDesign, tables: &[&ColumnFamily], n: u64) {
        let (id, sketch) = (n.to_be_bytes(), value(n));
        for (table, family) in design.tables().iter().zip(tables) {
            // Prefixes of 16 bits end with a byte, so the key is the permuted value.
            batch.put_cf(family, table.permute(Fingerprint::new(sketch)).to_be_bytes(), []);
        }
        batch.put_cf(self.family("holders"), [sketch.to_be_bytes(), id].concat(), []);
        batch.put_cf(self.family("documents"), id, [sketch.to_be_bytes(), [0; 8]].concat());
    }
}

fn raw(path: &Path, design: &TableDesign, together: usize, threads: u64, stored: u64, new: u64) -> f64 {
    let raw = Raw::open(path);
    let tables = raw.tables(design);
    run("raw", threads, new / together as u64, |n| {
        let mut batch = WriteBatch::default();
        for n in stored + n * together as u64..stored + (n + 1) * together as u64 {
            raw.put(&mut batch, design, &tables, n);
        }
        raw.db.write(batch).unwrap();
    })
}

fn raw_with_seeks(path: &Path, design: &TableDesign, stored: u64, new: u64) -> f64 {
    let raw = Raw::open(path);
    let tables = raw.tables(design);
    let iterators = tables.iter().map(|family| {
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        options.set_auto_readahead_size(false);
        raw.db.raw_iterator_cf_opt(family, options)
    });
    let mut iterators: Vec<_> = iterators.collect();
    let begun = Instant::now();
    let mut near = 0;
    for n in stored..stored + new {
        for (table, iterator) in design.tables().iter().zip(&mut iterators) {
            let permuted = table.permute(Fingerprint::new(value(n)));
            iterator.refresh().unwrap();
            iterator.seek(&permuted.to_be_bytes()[..2]);
            while let Some(key) = iterator.key().and_then(|key| key.try_into().ok()).map(u64::from_be_bytes) {
                near += u32::from((key ^ permuted).count_ones() <= 3);
                iterator.next();
            }
        }
        let mut batch = WriteBatch::default();
        raw.put(&mut batch, design, &tables, n);
        raw.db.write(batch).unwrap();
    }
    assert_eq!(near, 0);
    begun.elapsed().as_secs_f64()
}

fn main() {
    let (stored, new) = (number("NEARSTONE_BENCH_DOCUMENTS", 1_000_000), number("NEARSTONE_BENCH_NEW", 200_000));
    // A sync takes as long as the medium does, so fewer documents tell.
    let synced = number("NEARSTONE_BENCH_SYNCED", 4_000);
    let dir = tempfile::tempdir().unwrap();
    let base = SimhashStore::create(dir.path().join("base"), &TableDesign::default(), &options()).unwrap();
    for n in 0..stored {
        base.insert(n.to_be_bytes(), &Fingerprint::new(value(n))).unwrap();
    }
    base.compact().unwrap();
    let mut rows =
        vec![Row::Raw { together: 1, threads: 1 }, Row::Raw { together: TOGETHER, threads: 1 }, Row::RawWithSeeks];
    rows.extend([1, 2, 4, 8].map(|threads| Row::Single { threads, durability: 0 }));
    rows.extend([1, 2, 4, 8].map(|threads| Row::Batch { threads, durability: 0 }));
    rows.extend([1, 2, 4, 8].map(|threads| Row::Single { threads, durability: 1 }));
    rows.extend([1, 2].map(|threads| Row::Batch { threads, durability: 1 }));
    if let Ok(only) = std::env::var("NEARSTONE_BENCH_ONLY") {
        rows.retain(|row| format!("{row:?}").starts_with(&only) || matches!(row, Row::Raw { .. } | Row::RawWithSeeks));
    }
    rows.push(Row::Raw { together: 1, threads: 2 });
    let mut rates: BTreeMap<Row, Vec<f64>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for &row in &rows {
            let count = match row {
                Row::Single { durability: 1, .. } => synced,
                _ => new,
            };
            rates.entry(row).or_default().push(measure(&base, dir.path(), row, stored, count));
        }
    }
    let median = |row: Row| {
        let mut all = rates[&row].clone();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let raw = median(Row::Raw { together: 1, threads: 1 });
    println!("{stored} documents stored, 4 tables, distance 3, new documents only");
    for &row in &rows {
        println!(
            "{:<48} {:>9.0} documents/s {:>6.2} of one raw put after the other",
            format!("{row:?}"),
            median(row),
            median(row) / raw
        );
    }
}
