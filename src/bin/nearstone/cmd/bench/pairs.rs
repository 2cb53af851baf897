//! `nearstone bench pairs`

use std::num::NonZeroUsize;
use std::time::Instant;

use anyhow::Context;
use nearstone::yardstick::Arrays;
use nearstone::{Options, PairOptions, SimhashStore};
use serde_json::{Value, json};

use super::data::Data;
use super::{float, folder, peak_rss};
use crate::args::BenchPairs;
use crate::failure::{Outcome, Usage};
use crate::interrupt;
use crate::output::Output;
use crate::progress::{bytes, thousands};

pub(crate) fn run(args: &BenchPairs) -> anyhow::Result<Outcome> {
    if args.planted > 0.5 {
        return Err(Usage("--planted is at most 0.5: each is planted near one that is not".to_owned()).into());
    }
    let folder = folder(args.made.dir.as_deref())?;
    let path = folder.path().join("store");
    Data { made: &args.made, live: 0.0, crowded: 0.0, planted: args.planted, memory: args.memory }.store(&path)?;
    let store = SimhashStore::open_read_only(&path, &Options::new().sketches_only())?;
    let mut rows = Vec::new();
    for &threads in &args.threads {
        let count = NonZeroUsize::new(threads.into()).context("no thread")?;
        let (begun, mut pairs) = (Instant::now(), 0);
        for pair in store.pairs(args.ask(), &PairOptions::new().memory_bytes(args.memory).threads(count))? {
            // Of fingerprints that differ, as in memory.
            pairs += u64::from(pair?.distance > 0);
            interrupt::check()?;
        }
        rows.push(Row { threads, seconds: begun.elapsed().as_secs_f64(), pairs });
    }
    let report = Report { args, rows, after: peak_rss(), reference: reference(args, &store)? };
    let mut out = Output::stdout();
    let text = if args.json { format!("{}\n", report.json()) } else { report.text() };
    out.bytes(text.as_bytes())?;
    out.finish()?;
    Ok(if report.is_exact() { Outcome::Done } else { Outcome::No })
}

struct Row {
    threads: u8,
    seconds: f64,
    pairs: u64,
}

/// What one thread takes to make sorted arrays and to ask them for each fingerprint.
struct Reference {
    made: f64,
    asked: f64,
    pairs: u64,
}

fn reference(args: &BenchPairs, store: &SimhashStore) -> anyhow::Result<Option<Reference>> {
    let design = store.design();
    let Some(probes) = design.probes_for(args.ask()).filter(|_| !args.no_reference) else { return Ok(None) };
    let values = store.iter_by_fingerprint()?.map(|document| document.map(|(sketch, _)| sketch.bits()));
    let mut values: Vec<u64> = values.collect::<Result<_, _>>()?;
    values.dedup();
    let begun = Instant::now();
    let arrays = Arrays::new(design, &values);
    let made = begun.elapsed().as_secs_f64();
    let (begun, mut found, mut met) = (Instant::now(), Vec::new(), 0);
    for &value in &values {
        interrupt::check()?;
        arrays.query(&probes, value, &mut found);
        // Each has found itself.
        met += found.len() as u64 - 1;
    }
    Ok(Some(Reference { made, asked: begun.elapsed().as_secs_f64(), pairs: met / 2 }))
}

struct Report<'a> {
    args: &'a BenchPairs,
    rows: Vec<Row>,
    after: Option<u64>,
    reference: Option<Reference>,
}

impl Report<'_> {
    fn is_exact(&self) -> bool {
        let expected = self.reference.as_ref().map(|reference| reference.pairs);
        self.rows.iter().all(|row| expected.is_none_or(|expected| row.pairs == expected))
    }

    fn text(&self) -> String {
        let args = self.args;
        let mut lines = vec![format!(
            "store             {} fingerprints, {:.1} % planted; pairs within {} bits",
            thousands(args.made.fingerprints),
            100.0 * args.planted,
            args.ask()
        )];
        for row in &self.rows {
            let rate = float(args.made.fingerprints) / row.seconds / 1e6;
            let pairs = thousands(row.pairs);
            lines.push(format!(
                "by {:<3}            {pairs} pairs in {:.2} s, {rate:.1} M fingerprints a second",
                row.threads, row.seconds
            ));
        }
        if let Some(rss) = self.after {
            lines.push(format!(
                "memory            {} at most in the whole run, with {} for the search",
                bytes(rss),
                bytes(args.memory as u64)
            ));
        }
        if let Some(Reference { made, asked, pairs }) = &self.reference {
            let ratio = self.rows.first().map_or(0.0, |row| (made + asked) / row.seconds);
            lines.push(format!(
                "arrays in memory  {} pairs in {:.2} s, {made:.2} s of it to sort; the store is {ratio:.1} times faster",
                thousands(*pairs),
                made + asked
            ));
        }
        if !self.is_exact() {
            lines.push("WRONG             the numbers of pairs differ".to_owned());
        }
        lines.join("\n") + "\n"
    }

    fn json(&self) -> Value {
        let rows =
            self.rows.iter().map(|row| json!({"threads": row.threads, "seconds": row.seconds, "pairs": row.pairs}));
        json!({
            "fingerprints": self.args.made.fingerprints,
            "planted": self.args.planted,
            "distance": self.args.ask(),
            "rows": rows.collect::<Vec<_>>(),
            "peak_rss_bytes": self.after,
            "memory_bytes": self.args.memory,
            "arrays": self.reference.as_ref().map(|reference| {
                json!({"sort_seconds": reference.made, "ask_seconds": reference.asked, "pairs": reference.pairs})
            }),
            "is_exact": self.is_exact(),
        })
    }
}
