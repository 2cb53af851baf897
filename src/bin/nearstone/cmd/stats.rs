//! `nearstone stats`

use std::fmt::Write;

use nearstone::{Options, Sketch, Store};
use serde_json::json;

use crate::any_store::AnyStore;
use crate::args::Stats;
use crate::failure::Outcome;
use crate::output::Output;
use crate::progress::{bytes, ratio, thousands};

pub(crate) fn run(args: &Stats) -> anyhow::Result<Outcome> {
    match AnyStore::open_read_only(&args.store, &Options::new().sketches_only())? {
        AnyStore::Fingerprints(store) => show(args, &store, "fingerprints", store.design().max_distance()),
        // What is asked for unless something else is.
        AnyStore::Signatures(store) => show(args, &store, "signatures", super::query::distance_of(store.design())),
    }
}

fn show<S: Sketch>(args: &Stats, store: &Store<S>, sketches: &str, max_distance: u32) -> anyhow::Result<Outcome> {
    let stats = store.stats()?;
    let documents = if args.count {
        store.iter()?.try_fold(0u64, |count, document| document.map(|_| count + 1))?
    } else {
        stats.approximate_documents
    };
    let mut out = String::new();
    if args.json {
        let object = json!({
            "documents": documents,
            "documents_are_exact": args.count,
            "distinct_sketches_estimate": stats.approximate_sketches,
            "disk_bytes": stats.disk_bytes,
            "tables": stats.tables,
            "sketches": sketches,
            "design": store.design().to_string(),
            "max_distance": max_distance,
            "analyser": store.stored_analyser(),
            "generation": stats.generation,
            "retention_millis": store.retention().map(|retention| u64::try_from(retention.as_millis()).unwrap_or(u64::MAX)),
        });
        writeln!(out, "{object}")?;
        return print(&out);
    }
    let about = if args.count { "" } else { "about " };
    writeln!(out, "documents          {about}{}", thousands(documents))?;
    writeln!(out, "distinct sketches  about {}", thousands(stats.approximate_sketches))?;
    writeln!(
        out,
        "on disk            {}, {} bytes a document",
        bytes(stats.disk_bytes),
        ratio(stats.disk_bytes, documents)
    )?;
    writeln!(out, "design             {}", store.design())?;
    writeln!(out, "analyser           {}", store.stored_analyser().unwrap_or_else(|| "none".to_owned()))?;
    if let Some(retention) = store.retention() {
        writeln!(out, "documents expire   after {}", humantime::format_duration(retention))?;
    }
    print(&out)
}

fn print(text: &str) -> anyhow::Result<Outcome> {
    let mut out = Output::stdout();
    out.bytes(text.as_bytes())?;
    out.finish()?;
    Ok(Outcome::Done)
}
