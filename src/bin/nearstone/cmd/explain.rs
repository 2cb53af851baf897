//! `nearstone explain`

mod comparison;

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use nearstone::{Analyser, Options, SimhashStore, TextSketch};
use serde_json::{Value, json};

use crate::args::Explain;
use crate::failure::{Outcome, Usage};
use crate::interrupt;
use crate::near_nothing::NearNothing;
use crate::output::Output;
use crate::prose::{say, shown};
use comparison::{Comparison, Weighed};

pub(crate) fn run(args: &Explain) -> anyhow::Result<Outcome> {
    let analyser = analyser(args)?;
    let [first, second] = texts(args)?;
    let found = Comparison::of(&analyser, [&first, &second]);
    for (name, sketch) in [&args.first, &args.second].into_iter().zip(found.sketches) {
        if sketch.fingerprint().is_none() && !args.json {
            say!("nearstone: {name}: {}, so it is near nothing", NearNothing::why(sketch));
        }
    }
    let mut out = Output::stdout();
    out.bytes(if args.json { as_json(args, &analyser, &found) } else { as_text(args, &analyser, &found) }.as_bytes())?;
    out.finish()?;
    Ok(Outcome::Done)
}

fn analyser(args: &Explain) -> anyhow::Result<Analyser> {
    let Some(path) = &args.store else { return args.analysis.analyser() };
    let store = SimhashStore::open_read_only(path, &Options::new())?;
    let analyser = store.analyser().ok_or_else(|| nearstone::Error::NoAnalyser { path: path.clone() })?;
    Ok(analyser.clone())
}

/// The texts of the two files, or of the two ids.
fn texts(args: &Explain) -> anyhow::Result<[String; 2]> {
    if args.input.is_empty() {
        let read = |file: &str| {
            super::text_of(Path::new(file)).with_context(|| {
                format!("cannot read {file} as a text in UTF-8; ids need --input, the file that has their texts")
            })
        };
        return Ok([read(&args.first)?, read(&args.second)?]);
    }
    let mut found = [None, None];
    for record in args.documents.open(&args.input)? {
        interrupt::check()?;
        let document = match record.and_then(|record| record.parse()) {
            Ok(Some(document)) => document,
            Ok(None) => continue,
            Err(bad) if args.documents.reading.skip_bad => {
                say!("nearstone: {bad}");
                continue;
            }
            Err(bad) => return Err(bad.into()),
        };
        for (asked, text) in [&args.first, &args.second].into_iter().zip(&mut found) {
            if document.id == *asked && text.is_none() {
                *text = Some(document.text.clone());
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    let [first, second] = found;
    let missing = |id: &str| Usage(format!("the input has no record with the id {id:?}"));
    Ok([first.ok_or_else(|| missing(&args.first))?, second.ok_or_else(|| missing(&args.second))?])
}

fn as_text(args: &Explain, analyser: &Analyser, found: &Comparison) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<13}{value}");
    };
    line("analyser", analyser.name().to_owned());
    for (name, (which, sketch)) in [("A", (&args.first, 0)), ("B", (&args.second, 1))] {
        let fingerprint = found.sketches[sketch].fingerprint().map_or("none".to_owned(), |f| f.to_string());
        line(name, format!("{fingerprint}  {} distinct shingles  {}", found.shingles[sketch], shown(which)));
    }
    let distance = found.distance().map_or("none".to_owned(), |distance| format!("{distance} of 64 bits"));
    line("distance", format!("{distance}; {:.1} are to be expected by the cosine", found.expected_distance()));
    let jaccard = found.jaccard().map_or("none".to_owned(), |jaccard| format!("{jaccard:.3}"));
    let all = found.shingles[0] + found.shingles[1] - found.shared;
    line("jaccard", format!("{jaccard}, {} shared of {all} shingles", found.shared));
    line("cosine", format!("{:.3}", found.cosine));
    table(&mut text, "in both", found.shared(), args.top);
    table(&mut text, "only in A", found.alone(0), args.top);
    table(&mut text, "only in B", found.alone(1), args.top);
    text
}

fn table<'a>(text: &mut String, title: &str, rows: impl Iterator<Item = &'a Weighed>, top: usize) {
    let rows: Vec<&Weighed> = rows.collect();
    let _ = writeln!(text, "\n{title}: {} shingles\n   in A    in B  shingle", rows.len());
    for row in rows.iter().take(top) {
        let _ = writeln!(text, "{:>7} {:>7}  {}", row.weights[0], row.weights[1], shown(&row.shingle));
    }
    if rows.len() > top {
        let _ = writeln!(text, "                 and {} more", rows.len() - top);
    }
}

fn as_json(args: &Explain, analyser: &Analyser, found: &Comparison) -> String {
    let side = |name: &str, which: usize| {
        let sketch: TextSketch = found.sketches[which];
        json!({
            "name": name,
            "fingerprint": sketch.fingerprint().map(|fingerprint| fingerprint.to_string()),
            "shingles": found.shingles[which],
        })
    };
    let rows = |rows: &mut dyn Iterator<Item = &Weighed>| -> Vec<Value> {
        rows.take(args.top).map(|row| json!({ "shingle": row.shingle, "weights": row.weights })).collect()
    };
    let object = json!({
        "analyser": analyser.to_string(),
        "a": side(&args.first, 0),
        "b": side(&args.second, 1),
        "distance": found.distance(),
        "expected_distance": found.expected_distance(),
        "jaccard": found.jaccard(),
        "shared": found.shared,
        "cosine": found.cosine,
        "in_both": rows(&mut found.shared()),
        "only_in_a": rows(&mut found.alone(0)),
        "only_in_b": rows(&mut found.alone(1)),
    });
    format!("{object}\n")
}
