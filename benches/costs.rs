//! Measures the constants of the cost model, and the designs against its predictions:
//! `cargo bench --bench costs`, with 300,000 documents or `NEARSTONE_BENCH_DOCUMENTS`.
//!
//! Fingerprints are uniform, from a seed; stores are sealed and what they read is cached. The constants stand in
//! `src/design/cost.rs`.

mod values;

use std::ops::ControlFlow;
use std::time::Instant;

use nearstone::{Fingerprint, LoadOptions, Options, Planner, SimhashStore, Table, TableDesign};
use values::value;

#[expect(clippy::cast_precision_loss, reason = "averages")]
fn float(number: u64) -> f64 {
    number as f64
}

/// A filled store, and what it took.
struct Filled {
    name: String,
    design: TableDesign,
    store: SimhashStore,
    store_micros: f64,
    dir: tempfile::TempDir,
}

/// The averages of many queries for uniform values at one distance.
struct Asked {
    micros: f64,
    tables: f64,
    probes: f64,
    candidates: f64,
}

fn fill(name: &str, documents: u64) -> Filled {
    let design = TableDesign::named(name, 3).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new().auto_seal(None).cache_bytes(2 << 30);
    let store = SimhashStore::create(dir.path().join("store"), &design, &options).unwrap();
    let begun = Instant::now();
    for n in 0..documents {
        store.insert(n.to_be_bytes(), &Fingerprint::new(value(n))).unwrap();
    }
    let store_micros = begun.elapsed().as_secs_f64() * 1e6 / float(documents);
    store.seal(&LoadOptions::new(), |_| ControlFlow::Continue(())).unwrap();
    Filled { name: name.to_owned(), design, store, store_micros, dir }
}

fn ask(filled: &Filled, distance: u32, queries: u64, documents: u64) -> Asked {
    let mut asked = Asked { micros: 0.0, tables: 0.0, probes: 0.0, candidates: 0.0 };
    let begun = Instant::now();
    for n in 0..queries {
        let matches = filled.store.query(&Fingerprint::new(value(documents + n * 31)), distance).unwrap();
        asked.tables += float(matches.stats().tables.len() as u64);
        asked.probes += float(matches.stats().probes);
        asked.candidates += float(matches.stats().candidates);
    }
    let count = float(queries);
    asked.micros = begun.elapsed().as_secs_f64() * 1e6 / count;
    (asked.tables, asked.probes, asked.candidates) =
        (asked.tables / count, asked.probes / count, asked.candidates / count);
    asked
}

fn main() {
    let documents = std::env::var("NEARSTONE_BENCH_DOCUMENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(300_000);
    println!("{documents} uniform fingerprints, distance 3; predicted / measured\n");
    println!("design  tables   bits  probes        candidates       bytes/document   cached us      store us");
    let mut stores = Vec::new();
    for name in ["2x33", "3x22", "4x1", "6x1", "10x1", "16x1", "20x1"] {
        let filled = fill(name, documents);
        // Until all of it is cached.
        ask(&filled, 3, 40_000, documents);
        let asked = ask(&filled, 3, 10_000, documents);
        let probes = filled.design.probes_for(3).unwrap();
        let plan = Planner::new(documents, 3).predict(&filled.design);
        let stats = filled.store.stats().unwrap();
        let bytes = float(stats.table_bytes + stats.document_bytes + stats.holder_bytes) / float(documents);
        let bits = || filled.design.tables().iter().map(Table::prefix_bits);
        println!(
            "{:<7} {:>6}  {:>2}-{:<2} {:>5} / {:<5.0} {:>7.2} / {:<7.2} {:>7.1} / {:<6.1} {:>6.1} / {:<6.1} {:>5.1} / {:<5.1}",
            filled.name,
            filled.design.tables().len(),
            bits().min().unwrap(),
            bits().max().unwrap(),
            probes.total(),
            asked.probes,
            filled.design.candidates(&probes, documents),
            asked.candidates,
            plan.bytes_per_document,
            bytes,
            plan.queries[0].cached_micros,
            asked.micros,
            plan.fill_minutes * 60e6 / float(documents),
            filled.store_micros,
        );
        assert!((asked.probes - float(probes.total())).abs() < 1e-6, "probes are predicted exactly");
        if documents >= 1_000_000 {
            let predicted = filled.design.candidates(&probes, documents);
            let allowed = 0.05 * predicted + 4.0 * (predicted / 10_000.0).sqrt();
            assert!((asked.candidates - predicted).abs() <= allowed, "candidates are predicted within 5 %");
            assert!((bytes - plan.bytes_per_document).abs() <= bytes * 0.1, "bytes are predicted within 10 %");
        }
        stores.push((filled, asked));
    }
    constants(&stores, documents);
    blocks_from_disk(&stores, documents);
    println!("\ncandidates of a query by the model, at 10^8 / 10^9 / 8*10^9 documents");
    for (filled, _) in &stores {
        let probes = filled.design.probes_for(3).unwrap();
        let at = |n: u64| filled.design.candidates(&probes, n);
        println!(
            "{:<7} {:>10.1} / {:>10.1} / {:>10.1}",
            filled.name,
            at(100_000_000),
            at(1_000_000_000),
            at(8_000_000_000)
        );
    }
}

/// The time of a block that neither the store nor the system has cached.
#[cfg(target_os = "linux")]
fn blocks_from_disk(stores: &[(Filled, Asked)], documents: u64) {
    let (filled, cached) = stores.iter().find(|(filled, _)| filled.name == "10x1").unwrap();
    let path = filled.dir.path().join("cold");
    std::fs::create_dir(&path).unwrap();
    // A copy, since the store itself is open, with its files forced out of the system's cache.
    for entry in std::fs::read_dir(filled.store.path()).unwrap().flatten() {
        let copy = path.join(entry.file_name());
        std::fs::copy(entry.path(), &copy).unwrap();
        let file = std::fs::File::open(&copy).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
    let store = SimhashStore::open_read_only(&path, &Options::new().auto_seal(None).cache_bytes(0)).unwrap();
    let queries = 100;
    let begun = Instant::now();
    for n in 0..queries {
        store.query(&Fingerprint::new(value(documents * 3 + n)), 3).unwrap();
    }
    let micros = begun.elapsed().as_secs_f64() * 1e6 / float(queries);
    println!("BLOCK_MICROS      {:>8.0}", (micros - cached.micros) / cached.probes);
}

#[cfg(not(target_os = "linux"))]
fn blocks_from_disk(_: &[(Filled, Asked)], _: u64) {}

fn constants(stores: &[(Filled, Asked)], documents: u64) {
    let of = |name: &str| stores.iter().find(|(filled, _)| filled.name == name).unwrap();
    let (four, four_asked) = of("4x1");
    let (two, two_asked) = of("2x33");
    let (_, twenty_asked) = of("20x1");
    let (_, ten_asked) = of("10x1");
    println!("\nconstants of src/design/cost.rs, measured");
    // Two tables, 66 probes, no candidates: all but two are further probes of their table. Ten and twenty
    // tables with one probe each tell the first probe of a table.
    let table = (twenty_asked.micros - ten_asked.micros) / (twenty_asked.tables - ten_asked.tables);
    let query = (ten_asked.micros - table * ten_asked.tables).max(0.0);
    let probe = (two_asked.micros - query - table * two_asked.tables) / (two_asked.probes - two_asked.tables);
    println!("QUERY_NANOS       {:>8.0}", query * 1e3);
    println!("TABLE_NANOS       {:>8.0}", table * 1e3);
    println!("PROBE_NANOS       {:>8.0}", probe * 1e3);
    let wide = ask(four, 7, 2_000, documents);
    let candidate = (wide.micros - four_asked.micros - (wide.probes - four_asked.probes) * probe)
        / (wide.candidates - four_asked.candidates);
    println!("CANDIDATE_NANOS   {:>8.0}", candidate * 1e3);
    // So far around that a table of 32 bits is read from end to end.
    let scanned = ask(two, 16, 5, documents);
    println!("SCAN_NANOS        {:>8.0}", scanned.micros * 1e3 / float(documents));
    let (least, most) = (&stores[0].0, &stores[stores.len() - 1].0);
    let tables = |filled: &Filled| float(filled.design.tables().len() as u64);
    let each = (most.store_micros - least.store_micros) / (tables(most) - tables(least));
    println!("STORE_TABLE_NANOS {:>8.0}", each * 1e3);
    println!("STORE_NANOS       {:>8.0}", (least.store_micros - each * tables(least)) * 1e3);
    let stats = four.store.stats().unwrap();
    let value_bits = float(stats.table_bytes) * 8.0 / float(documents) / tables(four);
    println!("VALUE_BITS        {:>8.2}", value_bits - 64.0 + float(documents).log2());
    println!("DOCUMENT_BYTES    {:>8.2}", float(stats.document_bytes + stats.holder_bytes) / float(documents));
}
