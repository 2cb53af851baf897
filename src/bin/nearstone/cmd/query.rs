//! `nearstone query`

use std::path::Path;

use anyhow::Context;
use nearstone::{Fingerprint, Options, QueryStats, Simhash, SimhashStore, TextSketch};
use serde_json::Map;

use crate::args::Query;
use crate::failure::Outcome;
use crate::near_nothing::NearNothing;
use crate::output::{self, Output};
use crate::progress::thousands;
use crate::prose::say;

pub(crate) fn run(args: &Query) -> anyhow::Result<Outcome> {
    if !args.batch.is_empty() {
        return super::query_batch::run(args);
    }
    let options = if args.fingerprint.is_some() { Options::new().sketches_only() } else { Options::new() };
    let store = SimhashStore::open_read_only(&args.store, &options)?;
    let max_distance = args.max_distance.unwrap_or(store.design().max_distance());
    let fingerprint = match (args.fingerprint, &args.text, &args.file) {
        (Some(fingerprint), ..) => Ok(fingerprint),
        (None, Some(text), _) => sketch(&store, text)?,
        (None, None, Some(file)) => sketch(&store, &read(file)?)?,
        (None, None, None) => unreachable!("one of the three is required"),
    };
    let fingerprint = match fingerprint {
        Ok(fingerprint) => fingerprint,
        Err(sketch) => {
            say!("nearstone: {}, so it is near nothing", NearNothing::why(sketch));
            return Ok(Outcome::No);
        }
    };
    let matches = store.query(&fingerprint, max_distance)?;
    if args.explain {
        explain(matches.stats());
    }
    let mut out = Output::stdout();
    for found in &matches {
        let mut object = Map::new();
        output::put_id(&mut object, "id", &found.id);
        object.insert("distance".to_owned(), found.distance.into());
        out.object(object)?;
    }
    out.finish()?;
    Ok(if matches.is_empty() { Outcome::No } else { Outcome::Done })
}

/// The fingerprint of a text, or why it has none.
fn sketch(store: &SimhashStore, text: &str) -> nearstone::Result<Result<Fingerprint, TextSketch>> {
    let analyser = store.analyser().ok_or_else(|| nearstone::Error::NoAnalyser { path: store.path().to_owned() })?;
    let sketch = Simhash::new(analyser.clone()).sketch(text);
    Ok(sketch.fingerprint().ok_or(sketch))
}

fn explain(stats: &QueryStats) {
    say!("table  prefix            radius   probes  candidates  verified");
    for table in &stats.tables {
        let radius = table.radius.map_or("scan".to_owned(), |radius| radius.to_string());
        let prefix = format!("{:x}", table.prefix);
        let (probes, candidates) = (thousands(table.probes), thousands(table.candidates));
        say!(
            "{:>5}  {prefix:<16}  {radius:>6} {probes:>8} {candidates:>11} {:>9}",
            table.table,
            thousands(table.verified)
        );
    }
    say!("  all  {:<16}  {:>6} {:>8} {:>11}", "", "", thousands(stats.probes), thousands(stats.candidates));
}

fn read(file: &Path) -> anyhow::Result<String> {
    let text =
        if file.as_os_str() == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
    text.with_context(|| format!("cannot read {} as a text in UTF-8", file.display()))
}
