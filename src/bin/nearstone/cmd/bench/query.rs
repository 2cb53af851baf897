//! `nearstone bench query`

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::Context;
use nearstone::yardstick::{Arrays, scan};
use nearstone::{Fingerprint, Options, Probes, Reads, SimhashStore, TableDesign};
use serde_json::{Value, json};

use super::{Times, folder, peak_rss, per, rss};
use crate::args::BenchQuery;
use crate::failure::Outcome;
use crate::interrupt;
use crate::output::Output;
use crate::progress::{bytes, thousands};

use super::data::Data;
use super::medium::random_reads;

/// The queries are asked once, and then so many times again.
const PASSES: usize = 3;

/// So many single reads of the medium are measured.
const READS: u64 = 5_000;

pub(crate) fn run(args: &BenchQuery) -> anyhow::Result<Outcome> {
    let folder = folder(args.made.dir.as_deref())?;
    let made = folder.path().join("store");
    let path = args.store.as_deref().unwrap_or(&made);
    if args.store.is_none() {
        let &BenchQuery { ref made, live, crowded, memory, .. } = args;
        Data { made, live, crowded, planted: 0.0, memory }.store(path)?;
    }
    let options = Options::new().sketches_only();
    let options = match args.limit {
        Some(limit) => options.memory_bytes(limit),
        None => options.cache_bytes(args.cache),
    };
    let options = options.direct_reads(args.direct).read_threads(args.read_threads.get()).auto_seal(None);
    let bench = Bench::new(args, open(args, path, &options)?)?;
    let mut runs = Vec::new();
    for &threads in &args.threads {
        runs.push(bench.measure(threads.into(), args.batch)?);
    }
    let after = rss();
    let reads = args.direct.then(|| random_reads(path, READS));
    // Counts take time, so what was timed was not counted.
    let Bench { store, queries, .. } = bench;
    let design = store.design().clone();
    let documents = store.stats()?.approximate_documents;
    drop(store);
    let counts = Counts::measure(&open(args, path, &options.count_reads(true))?, &queries, args.ask())?;
    let reference = if args.no_reference { None } else { Some(Reference::measure(args, path, &design, &queries)?) };
    let queries = queries.len() as u64;
    let report = Report { args, design, documents, queries, runs, after, reads, counts, reference };
    let mut out = Output::stdout();
    let text = if args.json { format!("{}\n", report.json()) } else { report.text() };
    out.bytes(text.as_bytes())?;
    out.finish()?;
    Ok(if report.is_exact() { Outcome::Done } else { Outcome::No })
}

/// Opens the store: one that was there before is only read.
fn open(args: &BenchQuery, path: &Path, options: &Options) -> nearstone::Result<SimhashStore> {
    if args.store.is_some() { SimhashStore::open_read_only(path, options) } else { SimhashStore::open(path, options) }
}

struct Bench {
    store: SimhashStore,
    queries: Vec<u64>,
    ask: u32,
}

/// What queries took by some threads: the first time, and again.
struct Run {
    threads: usize,
    first: Times,
    again: Times,
    /// Of all threads, in the passes after the first.
    a_second: f64,
    /// The same where all are asked at once, the first time and again.
    batch_a_second: Option<[f64; 2]>,
    matches: u64,
    /// The resident set of the process after the first time.
    rss_first: Option<u64>,
}

impl Bench {
    fn new(args: &BenchQuery, store: SimhashStore) -> anyhow::Result<Self> {
        let mut stored = store.iter()?.take(usize::try_from(args.queries)?);
        let mut queries = Vec::new();
        for i in 0..args.queries {
            // Half of them near something, and half of them near nothing.
            let random = super::value(i ^ 1 << 63);
            let near = if i % 2 == 0 { stored.next().transpose()? } else { None };
            queries.push(
                near.map_or(random, |found| super::flipped(found.sketch.bits(), i / 2 % u64::from(args.ask() + 1), i)),
            );
        }
        Ok(Self { store, queries, ask: args.ask() })
    }

    fn measure(&self, threads: usize, is_batch: bool) -> anyhow::Result<Run> {
        let (first, _, matches) = self.pass(threads)?;
        let rss_first = rss();
        let mut passes = Vec::new();
        for _ in 0..PASSES {
            passes.push(self.pass(threads)?);
        }
        passes.sort_by(|a, b| a.0.quantile(0.5).total_cmp(&b.0.quantile(0.5)));
        let (again, a_second, _) = passes.swap_remove(PASSES / 2);
        let batch_a_second = if is_batch { Some(self.batch(threads, matches)?) } else { None };
        Ok(Run { threads, first, again, a_second, batch_a_second, matches, rss_first })
    }

    /// Asks all queries at once, and returns how many were answered a second, the first time and again.
    fn batch(&self, threads: usize, expected: u64) -> anyhow::Result<[f64; 2]> {
        let store = self.store.with_threads(NonZeroUsize::new(threads).context("no thread")?);
        let mut rates = Vec::new();
        // By the second time the store reads what batches need in another way.
        for _ in 0..2 + PASSES {
            interrupt::check()?;
            let (begun, mut matches) = (Instant::now(), 0);
            for found in store.query_batch(self.queries.iter().copied().map(Fingerprint::new), self.ask)? {
                matches += found?.len() as u64;
            }
            anyhow::ensure!(matches == expected, "a batch has found {matches} matches, single queries {expected}");
            rates.push(super::float(self.queries.len() as u64) / begun.elapsed().as_secs_f64());
        }
        rates[2..].sort_by(f64::total_cmp);
        Ok([rates[0], rates[2 + PASSES / 2]])
    }

    /// Asks each query once, and returns their times, how many were answered a second, and the number of matches.
    fn pass(&self, threads: usize) -> anyhow::Result<(Times, f64, u64)> {
        interrupt::check()?;
        let begun = Instant::now();
        // In one piece each: every other query is near something, and takes longer.
        let each = self.queries.len().div_ceil(threads).max(1);
        let parts: Vec<anyhow::Result<(Vec<f64>, u64)>> = thread::scope(|scope| {
            let ask = |queries: &[u64]| {
                let (mut micros, mut matches) = (Vec::with_capacity(queries.len()), 0);
                for &query in queries {
                    let begun = Instant::now();
                    let found = self.store.query(&Fingerprint::new(query), self.ask)?;
                    micros.push(begun.elapsed().as_secs_f64() * 1e6);
                    matches += found.len() as u64;
                }
                Ok((micros, matches))
            };
            let workers: Vec<_> = self.queries.chunks(each).map(|part| scope.spawn(move || ask(part))).collect();
            workers.into_iter().map(|worker| worker.join().expect("a query does not panic")).collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        let (mut micros, mut matches) = (Vec::new(), 0);
        for part in parts {
            let (times, found) = part?;
            micros.extend(times);
            matches += found;
        }
        Ok((Times::new(micros), super::float(self.queries.len() as u64) / seconds, matches))
    }
}

/// What queries look at, and read.
struct Counts {
    probes: u64,
    candidates: u64,
    first: Reads,
    again: Reads,
}

impl Counts {
    fn measure(store: &SimhashStore, queries: &[u64], ask: u32) -> anyhow::Result<Self> {
        let (mut probes, mut candidates) = (0, 0);
        let mut pass = || {
            let before = store.stats()?.reads.unwrap_or_default();
            (probes, candidates) = (0, 0);
            for &query in queries {
                interrupt::check()?;
                let found = store.query(&Fingerprint::new(query), ask)?;
                probes += found.stats().probes;
                candidates += found.stats().candidates;
            }
            anyhow::Ok(store.stats()?.reads.unwrap_or_default() - before)
        };
        let (first, again) = (pass()?, pass()?);
        Ok(Self { probes, candidates, first, again })
    }
}

/// The same queries without a store.
struct Reference {
    arrays: Times,
    scan: Option<Times>,
    matches: u64,
}

impl Reference {
    fn measure(args: &BenchQuery, path: &Path, design: &TableDesign, queries: &[u64]) -> anyhow::Result<Self> {
        let store = SimhashStore::open_read_only(path, &Options::new().sketches_only())?;
        let values = store.iter_by_fingerprint()?.map(|document| document.map(|(sketch, _)| sketch.bits()));
        let values: Vec<u64> = values.collect::<Result<_, _>>()?;
        drop(store);
        let probes = design.probes_for(args.ask());
        let scanned = args.scan.then(|| Self::scanned(&values, queries, args.ask())).transpose()?;
        let (arrays, matches) = Self::arrays(design, probes.as_ref(), &values, queries)?;
        Ok(Self { arrays, matches, scan: scanned })
    }

    fn scanned(values: &[u64], queries: &[u64], ask: u32) -> anyhow::Result<Times> {
        let mut micros = Vec::new();
        let until = Instant::now();
        for &query in queries {
            interrupt::check()?;
            let begun = Instant::now();
            std::hint::black_box(scan(values, query, ask));
            micros.push(begun.elapsed().as_secs_f64() * 1e6);
            if until.elapsed().as_secs() > 20 {
                break;
            }
        }
        Ok(Times::new(micros))
    }

    fn arrays(
        design: &TableDesign,
        probes: Option<&Probes>,
        values: &[u64],
        queries: &[u64],
    ) -> anyhow::Result<(Times, u64)> {
        let Some(probes) = probes else { return Ok((Times::default(), 0)) };
        interrupt::check()?;
        let arrays = Arrays::new(design, values);
        let (mut found, mut passes, mut matches) = (Vec::new(), Vec::new(), 0);
        for _ in 0..=PASSES {
            let mut micros = Vec::new();
            matches = 0;
            for &query in queries {
                interrupt::check()?;
                let begun = Instant::now();
                arrays.query(probes, query, &mut found);
                micros.push(begun.elapsed().as_secs_f64() * 1e6);
                matches += found.len() as u64;
            }
            passes.push(Times::new(micros));
        }
        passes.remove(0);
        passes.sort_by(|a, b| a.quantile(0.5).total_cmp(&b.quantile(0.5)));
        Ok((passes.swap_remove(PASSES / 2), matches))
    }
}

struct Report<'a> {
    args: &'a BenchQuery,
    design: TableDesign,
    documents: u64,
    queries: u64,
    runs: Vec<Run>,
    after: Option<u64>,
    reads: Option<io::Result<Times>>,
    counts: Counts,
    reference: Option<Reference>,
}

impl Report<'_> {
    /// Whether as many sketches were found as in memory; where several documents share one, that is not comparable.
    fn is_exact(&self) -> bool {
        let reference = self.reference.as_ref().filter(|reference| reference.matches > 0);
        reference.is_none_or(|reference| self.runs.iter().all(|run| run.matches >= reference.matches))
    }

    fn text(&self) -> String {
        let mut lines = vec![
            format!("store             about {} documents in {}", thousands(self.documents), self.design),
            format!(
                "queries           {} at distance {}: {:.1} probes and {:.0} candidates each",
                thousands(self.queries),
                self.args.ask(),
                per(self.counts.probes, self.queries),
                per(self.counts.candidates, self.queries)
            ),
        ];
        for run in &self.runs {
            lines.push(format!("by {:<3}            {}; {:.0} a second", run.threads, run.again.text(), run.a_second));
            if let Some([first, batch]) = run.batch_a_second {
                let ratio = batch / run.a_second;
                lines.push(format!(
                    "  at once         {batch:.0} a second, {ratio:.1} times as many; {first:.0} the first time"
                ));
            }
            lines.push(format!("  the first time  {}", run.first.text()));
        }
        if let Some(run) = self.runs.first() {
            let probe = run.again.mean() * super::float(self.queries) / super::float(self.counts.probes.max(1));
            lines.push(format!("  a probe         {probe:.2} us"));
        }
        for (name, reads) in [("again", &self.counts.again), ("the first time", &self.counts.first)] {
            lines.push(format!(
                "blocks            {name}: {:.1} a query, {:.1} % from the cache; {:.2} read, {}",
                per(reads.cache_hits + reads.cache_misses, self.queries),
                100.0 * per(reads.cache_hits, reads.cache_hits + reads.cache_misses),
                per(reads.cache_misses, self.queries),
                bytes(reads.bytes / self.queries.max(1))
            ));
        }
        if let Some(Err(error)) = &self.reads {
            lines.push(format!("random reads      not measured: {error}"));
        }
        if let Some(Ok(reads)) = &self.reads {
            let ratio = self.runs.first().map_or(0.0, |run| run.again.ratio(reads));
            lines.push(format!("random reads      {} of 4 KiB; a query takes {ratio:.1} times as long", reads.text()));
        }
        let first = self.runs.first().and_then(|run| run.rss_first);
        if let Some((first, rss)) = first.zip(self.after) {
            let (first, rss, most) = (bytes(first), bytes(rss), peak_rss().map_or_else(String::new, bytes));
            let allowed = match self.args.limit {
                Some(limit) => format!("{} for all of it", bytes(limit as u64)),
                None => format!("a cache of {}", bytes(self.args.cache as u64)),
            };
            lines.push(format!(
                "memory            {first} after the first time, {rss} at the end, {most} at most; {allowed}"
            ));
        }
        let Some(reference) = &self.reference else { return lines.join("\n") + "\n" };
        let ratio = |times: &Times| self.runs.first().map_or(0.0, |run| run.again.ratio(times));
        lines.push(format!(
            "arrays in memory  {}; the store takes {:.1} times as long",
            reference.arrays.text(),
            ratio(&reference.arrays)
        ));
        if let Some(scan) = &reference.scan {
            lines.push(format!(
                "all compared      {}; the store is {:.1} times faster",
                scan.text(),
                1.0 / ratio(scan)
            ));
        }
        if !self.is_exact() {
            lines.push(format!("WRONG             {} matches in memory, fewer in the store", reference.matches));
        }
        lines.join("\n") + "\n"
    }

    fn json(&self) -> Value {
        let runs = self.runs.iter().map(|run| {
            json!({
                "threads": run.threads, "again": run.again.json(), "first": run.first.json(),
                "queries_a_second": run.a_second, "batch_queries_a_second": run.batch_a_second.map(|[_, again]| again),
                "first_batch_queries_a_second": run.batch_a_second.map(|[first, _]| first), "matches": run.matches,
            })
        });
        let reads = |reads: &Reads| json!({"cache_hits": reads.cache_hits, "cache_misses": reads.cache_misses, "bytes": reads.bytes});
        json!({
            "documents": self.documents,
            "design": self.design.to_string(),
            "queries": self.queries,
            "distance": self.args.ask(),
            "probes": self.counts.probes,
            "candidates": self.counts.candidates,
            "runs": runs.collect::<Vec<_>>(),
            "reads_first": reads(&self.counts.first),
            "reads_again": reads(&self.counts.again),
            "random_reads": self.reads.as_ref().and_then(|reads| reads.as_ref().ok()).map(Times::json),
            "rss_bytes": self.after,
            "peak_rss_bytes": peak_rss(),
            "cache_bytes": self.args.cache,
            "limit_bytes": self.args.limit,
            "arrays": self.reference.as_ref().map(|reference| reference.arrays.json()),
            "scan": self.reference.as_ref().and_then(|reference| reference.scan.as_ref()).map(Times::json),
            "is_exact": self.is_exact(),
        })
    }
}
