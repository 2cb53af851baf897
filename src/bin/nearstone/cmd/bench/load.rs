//! `nearstone bench load`

use std::path::Path;
use std::time::{Duration, Instant};

use nearstone::{Fingerprint, LoadReport, Options, SimhashStore, TableDesign, yardstick};
use serde_json::json;

use super::{BATCH, Times, disk_usage, flipped, float, folder, peak_rss, value};
use crate::args::BenchLoad;
use crate::failure::Outcome;
use crate::interrupt;
use crate::output::Output;
use crate::progress::{Progress, Steps, bytes, thousands};

pub(crate) fn run(args: &BenchLoad) -> anyhow::Result<Outcome> {
    let folder = folder(args.made.dir.as_deref())?;
    let path = folder.path().join("store");
    let design = args.made.design()?;
    let loaded = Loaded::measure(args, &path, &design)?;
    let queried = Queried::measure(args, &path)?;
    let yardsticks = Yardsticks::measure(args, folder.path(), &design)?;
    let mut out = Output::stdout();
    let text = if args.json {
        format!("{}\n", as_json(args, &design, &loaded, &queried, &yardsticks))
    } else {
        as_text(args, &design, &loaded, &queried, &yardsticks)
    };
    out.bytes(text.as_bytes())?;
    out.finish()?;
    Ok(if queried.missed() == 0 { Outcome::Done } else { Outcome::No })
}

/// What a load took.
struct Loaded {
    report: LoadReport,
    seconds: f64,
    /// The largest resident set of the process until then, where the system tells it.
    peak_rss: Option<u64>,
    /// The most bytes in the folder of the store and for temporary files at once, beyond those at the end.
    temp_bytes: u64,
    store_bytes: u64,
    table_bytes: u64,
}

impl Loaded {
    fn measure(args: &BenchLoad, path: &Path, design: &TableDesign) -> anyhow::Result<Self> {
        let store = SimhashStore::create(path, design, &Options::new().sketches_only())?;
        let begun = Instant::now();
        let mut loader = store.bulk_loader(&args.work.options().rows(0))?;
        let progress = Progress::of_bytes(None, std::sync::Arc::default(), args.work.quiet);
        let mut batch = Vec::new();
        while loader.documents() < args.made.fingerprints {
            interrupt::check()?;
            let next = loader.documents();
            batch.clear();
            batch.extend((next..args.made.fingerprints.min(next + BATCH)).map(|n| Fingerprint::new(value(n))));
            loader.push_rows(&batch)?;
            progress.now(loader.documents());
        }
        progress.finish();
        let (mut peak, mut looked) = (0, Instant::now());
        let temp = args.work.temp_dir.as_deref();
        let report = Steps::during(args.work.quiet, |show| {
            loader.commit(|progress| {
                if looked.elapsed() > Duration::from_millis(200) {
                    peak = peak.max(disk_usage(path) + temp.map_or(0, disk_usage));
                    looked = Instant::now();
                }
                show(progress)
            })
        })?;
        let seconds = begun.elapsed().as_secs_f64();
        let store_bytes = disk_usage(path);
        Ok(Self {
            report,
            seconds,
            peak_rss: peak_rss(),
            temp_bytes: peak.saturating_sub(store_bytes),
            store_bytes,
            table_bytes: store.stats()?.table_bytes,
        })
    }

    /// The seconds of some phases.
    fn phases(&self, names: &[&str]) -> f64 {
        self.report.phases.iter().filter(|(name, _)| names.contains(name)).map(|(_, time)| time.as_secs_f64()).sum()
    }
}

/// What queries took: when they were asked first, and when they were asked again, with what they read cached.
struct Queried {
    first: Pass,
    again: Pass,
}

/// What queries took, one after the other.
struct Pass {
    times: Times,
    missed: u64,
    candidates: u64,
}

impl Queried {
    fn measure(args: &BenchLoad, path: &Path) -> anyhow::Result<Self> {
        let store = SimhashStore::open_read_only(path, &Options::new().sketches_only().cache_bytes(args.cache))?;
        Ok(Self { first: Pass::measure(args, &store)?, again: Pass::measure(args, &store)? })
    }

    fn missed(&self) -> u64 {
        self.first.missed + self.again.missed
    }
}

impl Pass {
    /// Asks for stored fingerprints with up to the distance of bits flipped.
    fn measure(args: &BenchLoad, store: &SimhashStore) -> anyhow::Result<Self> {
        let (mut pass, mut micros) = (Self { times: Times::default(), missed: 0, candidates: 0 }, Vec::new());
        let queries = if args.made.fingerprints == 0 { 0 } else { args.queries };
        for i in 0..queries {
            interrupt::check()?;
            let row = value(i ^ 1 << 63) % args.made.fingerprints;
            let flipped = flipped(value(row), i % u64::from(args.made.max_distance + 1), i);
            let begun = Instant::now();
            let matches = store.query(&Fingerprint::new(flipped), args.made.max_distance)?;
            micros.push(begun.elapsed().as_secs_f64() * 1e6);
            pass.candidates += matches.stats().candidates;
            pass.missed += u64::from(!matches.iter().any(|found| found.id == row.to_be_bytes()));
        }
        Ok(Self { times: Times::new(micros), ..pass })
    }
}

/// Other ways, with the same fingerprints.
struct Yardsticks {
    fingerprints: u64,
    sort_seconds: f64,
    keys_seconds: f64,
    keys_bytes: u64,
}

impl Yardsticks {
    fn measure(args: &BenchLoad, folder: &Path, design: &TableDesign) -> anyhow::Result<Self> {
        let fingerprints = args.yardstick.min(args.made.fingerprints);
        let mut values: Vec<u64> = (0..fingerprints).map(value).collect();
        let begun = Instant::now();
        values.sort_unstable();
        let sort_seconds = begun.elapsed().as_secs_f64();
        interrupt::check()?;
        let begun = Instant::now();
        let keys_bytes = if values.is_empty() {
            0
        } else {
            yardstick::one_key_per_fingerprint(&folder.join("keys.sst"), design, 0, &values)?
        };
        Ok(Self { fingerprints, sort_seconds, keys_seconds: begun.elapsed().as_secs_f64(), keys_bytes })
    }
}

/// The bytes that a value of a sorted set of uniform ones takes at least: 64 - log2 n + log2 e bits.
fn floor_bytes(fingerprints: u64) -> f64 {
    (64.0 - float(fingerprints.max(1)).log2() + std::f64::consts::LOG2_E) / 8.0
}

/// What a fingerprint takes in a table, and its quotient to the floor.
fn per_table(design: &TableDesign, loaded: &Loaded) -> (f64, f64) {
    let entries = float(loaded.report.sketches.max(1)) * float(design.tables().len() as u64);
    let each = float(loaded.table_bytes) / entries;
    (each, each / floor_bytes(loaded.report.sketches))
}

fn nanos(seconds: f64, count: u64) -> f64 {
    seconds * 1e9 / float(count.max(1))
}

fn as_text(args: &BenchLoad, design: &TableDesign, loaded: &Loaded, queried: &Queried, than: &Yardsticks) -> String {
    let tables = design.tables().len() as u64;
    let count = args.made.fingerprints;
    let (each, ratio) = per_table(design, loaded);
    let phases = loaded.report.phases.iter().map(|(name, time)| format!("{name} {:.2} s", time.as_secs_f64()));
    let sort = nanos(than.sort_seconds, than.fingerprints);
    let keys = nanos(than.keys_seconds, than.fingerprints);
    let total = nanos(loaded.seconds, count * tables);
    let lines = [
        format!("loaded            {} fingerprints into {design}", thousands(count)),
        format!(
            "time              {:.2} s, {:.2} million a second, {total:.1} ns a fingerprint and table",
            loaded.seconds,
            float(count) / loaded.seconds / 1e6
        ),
        format!("  phases          {}", phases.collect::<Vec<_>>().join(", ")),
        format!(
            "  documents and holders {:.2} s, tables {:.2} s",
            loaded.phases(&["sorting", "documents", "holders"]),
            loaded.phases(&["tables"])
        ),
        format!(
            "tables            {each:.3} bytes a fingerprint and table, {ratio:.3} of the floor of {:.3}",
            floor_bytes(loaded.report.sketches)
        ),
        format!(
            "store             {}, {:.1} bytes a document",
            bytes(loaded.store_bytes),
            float(loaded.store_bytes) / float(count.max(1))
        ),
        format!("temporary files   {} at most", bytes(loaded.temp_bytes)),
        format!(
            "memory            {} at most, for a budget of {}",
            loaded.peak_rss.map_or_else(|| "not known".to_owned(), bytes),
            bytes(args.work.memory as u64)
        ),
        format!("in the same run, with {} of the fingerprints:", thousands(than.fingerprints)),
        format!(
            "  sort in memory  {sort:.1} ns a fingerprint; the load takes {:.2} times that for each table",
            total / sort
        ),
        format!(
            "  a key for each  {keys:.1} ns a fingerprint and table once sorted, {:.2} bytes; the load is {:.1} times faster, with sorting in both {:.1}",
            float(than.keys_bytes) / float(than.fingerprints.max(1)),
            keys / total,
            (keys + sort) / total
        ),
        format!(
            "queries           {} at distance {}: {} missed; p50 {:.1} us, p99 {:.1} us, again {:.1} and {:.1} us; {:.0} candidates",
            thousands(queried.first.times.len() as u64),
            args.made.max_distance,
            queried.missed(),
            queried.first.times.quantile(0.5),
            queried.first.times.quantile(0.99),
            queried.again.times.quantile(0.5),
            queried.again.times.quantile(0.99),
            float(queried.first.candidates) / float((queried.first.times.len() as u64).max(1))
        ),
    ];
    lines.join("\n") + "\n"
}

fn as_json(
    args: &BenchLoad,
    design: &TableDesign,
    loaded: &Loaded,
    queried: &Queried,
    than: &Yardsticks,
) -> serde_json::Value {
    let (each, ratio) = per_table(design, loaded);
    let phases: serde_json::Map<String, serde_json::Value> =
        loaded.report.phases.iter().map(|(name, time)| ((*name).to_owned(), time.as_secs_f64().into())).collect();
    json!({
        "fingerprints": args.made.fingerprints,
        "design": design.to_string(),
        "tables": design.tables().len(),
        "seconds": loaded.seconds,
        "phase_seconds": phases,
        "bytes_per_fingerprint_and_table": each,
        "of_the_floor": ratio,
        "store_bytes": loaded.store_bytes,
        "temporary_bytes": loaded.temp_bytes,
        "memory_budget_bytes": args.work.memory,
        "peak_rss_bytes": loaded.peak_rss,
        "yardstick_fingerprints": than.fingerprints,
        "sort_in_memory_seconds": than.sort_seconds,
        "key_each_seconds": than.keys_seconds,
        "key_each_bytes": than.keys_bytes,
        "queries": queried.first.times.len(),
        "missed": queried.missed(),
        "query_p50_micros": queried.first.times.quantile(0.5),
        "query_p90_micros": queried.first.times.quantile(0.9),
        "query_p99_micros": queried.first.times.quantile(0.99),
        "query_again_p50_micros": queried.again.times.quantile(0.5),
        "query_again_p99_micros": queried.again.times.quantile(0.99),
        "candidates": queried.first.candidates,
    })
}
