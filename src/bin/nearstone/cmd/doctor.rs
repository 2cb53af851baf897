//! `nearstone doctor`

use std::fmt::Write;

use nearstone::{Diagnosis, Options, SimhashStore};
use serde_json::json;

use crate::args::Doctor;
use crate::failure::Outcome;
use crate::output::Output;
use crate::progress::thousands;

pub(crate) fn run(args: &Doctor) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open_read_only(&args.store, &Options::new().sketches_only())?;
    let found = store.doctor(args.samples as usize)?;
    let mut out = Output::stdout();
    out.bytes(if args.json { as_json(&found) } else { as_text(&found) }.as_bytes())?;
    out.finish()?;
    Ok(if found.is_sound() { Outcome::Done } else { Outcome::No })
}

fn as_text(found: &Diagnosis) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<20}{value}");
    };
    line(
        "documents",
        format!("{} with {} distinct fingerprints", thousands(found.documents), thousands(found.sketches)),
    );
    let repeated: Vec<String> =
        found.most_repeated.iter().map(|(sketch, n)| format!("{sketch} x {}", thousands(*n))).collect();
    line("most repeated", if repeated.is_empty() { "none".to_owned() } else { repeated.join(", ") });
    if let Some(bits) = &found.bits {
        let share = |order: fn(f64, f64) -> f64, start: f64| bits.set_share.iter().copied().fold(start, order);
        line(
            "effective bits",
            format!("{:.1} of 64, from {} fingerprints", bits.effective_bits, thousands(bits.sampled)),
        );
        line("share of bits set", format!("{:.3} to {:.3}", share(f64::min, 1.0), share(f64::max, 0.0)));
        line("dead bits", if bits.dead.is_empty() { "none".to_owned() } else { format!("{:?}", bits.dead) });
        let pairs: Vec<String> =
            bits.mirrored.iter().take(8).map(|(a, b, r)| format!("{a} and {b} ({r:+.2})")).collect();
        line("mirrored bits", if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") });
    } else {
        line("bits", "too few fingerprints to tell".to_owned());
    }
    for table in &found.tables {
        let width = usize::try_from(table.prefix_bits.div_ceil(4)).unwrap_or(16);
        let crowds = table.largest.iter().take(3).map(|(prefix, n)| format!("{prefix:0width$x} x {}", thousands(*n)));
        let crowds: Vec<String> = crowds.collect();
        let crowds = crowds.join(", ");
        line(
            &format!("table {:02}", table.table),
            format!("{} bits, skew {:.2}, largest {crowds}", table.prefix_bits, table.skew),
        );
    }
    line(
        "candidates",
        format!(
            "{:.1} measured, {:.1} predicted for uniform ones",
            found.measured_candidates, found.predicted_candidates
        ),
    );
    if found.missing_entries > 0 {
        line("missing entries", format!("{} fingerprints or holders of documents", thousands(found.missing_entries)));
    }
    let result = found.self_test;
    line("self-test", format!("{} missed, {} wrong of {}", result.missed, result.wrong, result.queries));
    for advice in &found.advice {
        line("advice", advice.clone());
    }
    text
}

fn as_json(found: &Diagnosis) -> String {
    let bits = found.bits.as_ref().map(|bits| {
        json!({
            "sampled": bits.sampled,
            "effective_bits": bits.effective_bits,
            "set_share": bits.set_share,
            "dead": bits.dead,
            "mirrored": bits.mirrored,
        })
    });
    let crowds = found.tables.iter().map(|table| {
        let largest = table.largest.iter().map(|(prefix, n)| json!({ "prefix": format!("{prefix:x}"), "entries": n }));
        json!({
            "table": table.table,
            "prefix_bits": table.prefix_bits,
            "entries": table.entries,
            "skew": table.skew,
            "largest": largest.collect::<Vec<_>>(),
        })
    });
    let repeats =
        found.most_repeated.iter().map(|(sketch, n)| json!({ "fingerprint": sketch.to_string(), "documents": n }));
    let object = json!({
        "documents": found.documents,
        "distinct_sketches": found.sketches,
        "most_repeated": repeats.collect::<Vec<_>>(),
        "bits": bits,
        "tables": crowds.collect::<Vec<_>>(),
        "missing_entries": found.missing_entries,
        "predicted_candidates": found.predicted_candidates,
        "measured_candidates": found.measured_candidates,
        "self_test": {
            "queries": found.self_test.queries,
            "missed": found.self_test.missed,
            "wrong": found.self_test.wrong,
            "near": found.self_test.near,
        },
        "advice": found.advice,
    });
    format!("{object}\n")
}
