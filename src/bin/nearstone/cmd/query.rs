//! `nearstone query`

use std::borrow::Cow;
use std::path::Path;

use anyhow::Context;
use nearstone::{Fingerprint, MinhashDesign, Options, QueryStats, Simhash, SimhashStore, Sketch, Store, TextSketch};
use serde_json::Map;

use crate::any_store::AnyStore;
use crate::args::Query;
use crate::failure::{Outcome, Usage};
use crate::near_nothing::NearNothing;
use crate::output::{self, Output};
use crate::progress::thousands;
use crate::prose::say;

pub(crate) fn run(args: &Query) -> anyhow::Result<Outcome> {
    if !args.batch.is_empty() {
        return super::query_batch::run(args);
    }
    let options = if args.fingerprint.is_some() { Options::new().sketches_only() } else { Options::new() };
    match AnyStore::open_read_only(&args.store, &options)? {
        AnyStore::Fingerprints(store) => {
            let fingerprint = match args.fingerprint {
                Some(fingerprint) => Ok(fingerprint),
                None => sketch(&store, &text(args)?)?,
            };
            ask(args, &store, fingerprint, store.design().max_distance())
        }
        AnyStore::Signatures(store) => {
            if args.fingerprint.is_some() {
                let why = "the store keeps signatures, not fingerprints: ask for a --text or a --file";
                return Err(Usage(why.to_owned()).into());
            }
            let analyser = store.analyser().ok_or_else(|| no_analyser(&store))?;
            let minhash = store.design().minhash(analyser.clone());
            let signature = super::add::signature(&minhash, &text(args)?);
            ask(args, &store, signature, distance_of(store.design()))
        }
    }
}

/// The distance by which signatures are asked for, unless another one is named: that of a similarity of 0.8.
pub(super) fn distance_of(design: &MinhashDesign) -> u32 {
    design.max_distance(0.8)
}

/// The text that is asked for.
fn text(args: &Query) -> anyhow::Result<Cow<'_, str>> {
    match (&args.text, &args.file) {
        (Some(text), _) => Ok(Cow::Borrowed(text)),
        (None, Some(file)) => Ok(Cow::Owned(read(file)?)),
        (None, None) => unreachable!("one of the three is required"),
    }
}

fn ask<S: Sketch>(
    args: &Query,
    store: &Store<S>,
    sketch: Result<S, TextSketch>,
    max_distance: u32,
) -> anyhow::Result<Outcome> {
    let sketch = match sketch {
        Ok(sketch) => sketch,
        Err(sketch) => {
            say!("nearstone: {}, so it is near nothing", NearNothing::why(sketch));
            return Ok(Outcome::No);
        }
    };
    let matches = store.query(&sketch, args.max_distance.unwrap_or(max_distance))?;
    if args.explain {
        explain(matches.stats());
    }
    let mut out = Output::stdout();
    for found in &matches {
        let mut object = Map::new();
        output::put_id(&mut object, "id", &found.id);
        object.insert("distance".to_owned(), found.distance.into());
        if let Some(similarity) = found.similarity() {
            object.insert("similarity".to_owned(), rounded(similarity).into());
        }
        out.object(object)?;
    }
    out.finish()?;
    Ok(if matches.is_empty() { Outcome::No } else { Outcome::Done })
}

/// An estimate, as exact as it is.
fn rounded(similarity: f64) -> f64 {
    (similarity * 1e4).round() / 1e4
}

fn no_analyser<S: Sketch>(store: &Store<S>) -> nearstone::Error {
    nearstone::Error::NoAnalyser { path: store.path().to_owned() }
}

/// The fingerprint of a text, or why it has none.
fn sketch(store: &SimhashStore, text: &str) -> nearstone::Result<Result<Fingerprint, TextSketch>> {
    let analyser = store.analyser().ok_or_else(|| no_analyser(store))?;
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
    super::text_of(file).with_context(|| format!("cannot read {} as a text in UTF-8", file.display()))
}
