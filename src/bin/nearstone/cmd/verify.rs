//! `nearstone verify`

use std::fmt::Write;

use nearstone::{Options, SimhashStore, Verification};
use serde_json::json;

use crate::args::Verify;
use crate::failure::Outcome;
use crate::output::Output;
use crate::progress::{Steps, thousands};

pub(crate) fn run(args: &Verify) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open_read_only(&args.store, &Options::new().sketches_only())?;
    let found = Steps::during(args.quiet, |show| store.verify(show))?;
    let mut out = Output::stdout();
    out.bytes(if args.json { as_json(&found) } else { as_text(&found) }.as_bytes())?;
    out.finish()?;
    Ok(if found.is_sound() { Outcome::Done } else { Outcome::No })
}

fn as_text(found: &Verification) -> String {
    let mut text = String::new();
    let mut line = |name: &str, count: u64| {
        let _ = writeln!(text, "{name:<42}{}", thousands(count));
    };
    line("documents", found.documents);
    line("distinct sketches", found.sketches);
    line("expired, still on disk", found.expired);
    line("documents without a holder", found.missing_holders);
    line("holders without a document", found.orphan_holders);
    line("sketches missing in tables", found.missing_entries);
    line("table entries that nothing holds", found.orphan_entries);
    line("entries that are not of the format", found.malformed);
    for example in &found.examples {
        let _ = writeln!(text, "  {example}");
    }
    let _ = writeln!(text, "{}", if found.is_sound() { "sound" } else { "not sound: nearstone repair mends it" });
    text
}

fn as_json(found: &Verification) -> String {
    let object = json!({
        "sound": found.is_sound(),
        "documents": found.documents,
        "distinct_sketches": found.sketches,
        "expired": found.expired,
        "missing_holders": found.missing_holders,
        "orphan_holders": found.orphan_holders,
        "missing_entries": found.missing_entries,
        "orphan_entries": found.orphan_entries,
        "malformed": found.malformed,
        "examples": found.examples,
    });
    format!("{object}\n")
}
