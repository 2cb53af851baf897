//! `nearstone verify`

use std::fmt::Write;

use nearstone::{Options, Verification};
use serde_json::json;

use crate::any_store::{AnyStore, with_store};
use crate::args::Verify;
use crate::failure::Outcome;
use crate::output::Output;
use crate::progress::{Steps, thousands};

pub(crate) fn run(args: &Verify) -> anyhow::Result<Outcome> {
    let store = AnyStore::open_read_only(&args.store, &Options::new().sketches_only())?;
    let found = Steps::during(args.quiet, |show| with_store!(&store, store => store.verify(show)))?;
    let mut out = Output::stdout();
    out.bytes(if args.json { as_json(&found) } else { as_text(&found) }.as_bytes())?;
    out.finish()?;
    Ok(if found.is_sound() { Outcome::Done } else { Outcome::No })
}

/// What to do about tables of frequencies.
const TABLES: &str =
    "not sound: texts need --idf or --common-lines with the files of its tables; repair does not make them";

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
    line("tables of frequencies that cannot be used", found.unusable_tables);
    for example in &found.examples {
        let _ = writeln!(text, "  {example}");
    }
    let faults = found.missing_holders + found.orphan_holders + found.missing_entries + found.malformed;
    let outcome = match (found.is_sound(), found.unusable_tables) {
        (true, _) => "sound",
        (false, 0) => "not sound: nearstone repair mends it",
        (false, _) if faults == 0 => TABLES,
        (false, _) => &format!("{TABLES}; nearstone repair mends the rest"),
    };
    let _ = writeln!(text, "{outcome}");
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
        "unusable_tables": found.unusable_tables,
        "examples": found.examples,
    });
    format!("{object}\n")
}
