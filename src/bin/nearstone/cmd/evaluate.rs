//! `nearstone evaluate`

mod edits;
mod measure;
mod plot;
mod truth;

use std::collections::HashMap;
use std::fmt::Write;

use nearstone::{Analyser, Fingerprint, Simhash};
use serde_json::{Value, json};

use crate::args::Evaluate;
use crate::failure::{Outcome, Usage};
use crate::near_nothing::NearNothing;
use crate::output::{self, Output};
use crate::pipeline::{self, Event};
use crate::progress::{Progress, thousands};
use crate::prose::{say, shown};
use measure::Measured;
use truth::Truth;

pub(crate) fn run(args: &Evaluate) -> anyhow::Result<Outcome> {
    let analysers = args.analysis.analysers(&args.compare)?;
    if analysers.len() > 1 && args.input.inputs.iter().any(|input| input.as_os_str() == "-") {
        return Err(
            Usage("--compare reads the input several times, which - does not allow: name files".to_owned()).into()
        );
    }
    let svg = args.svg.as_ref();
    let read = args.input.inputs.iter().chain(args.analysis.tables.paths()).chain(&args.truth);
    output::check_distinct(read, &svg.into_iter().collect::<Vec<_>>())?;
    let svg = svg.map(|path| Output::create(path)).transpose()?;
    if args.edits {
        let mut out = Output::stdout();
        edits::run(args, &analysers, &mut out)?;
        out.finish()?;
        return Ok(Outcome::Done);
    }
    let truth_file = args.truth.as_ref().ok_or_else(|| Usage("--truth is missing".to_owned()))?;
    let mut truth = None;
    let mut rows = Vec::new();
    let mut out = Output::stdout();
    for analyser in analysers {
        let documents = Documents::read(args, &analyser)?;
        let truth = match &mut truth {
            Some(truth) => truth,
            None => truth.insert(Truth::read(truth_file, args.min_jaccard, &documents.numbers)?),
        };
        let measured = Measured::of(
            &documents.fingerprints,
            &truth.pairs,
            args.max_distance,
            args.examples,
            args.input.threads(),
        )?;
        let name = analyser.specification();
        if args.json {
            out.bytes(as_json(&name, &documents, truth, &measured, args)?.as_bytes())?;
        } else {
            out.bytes(as_text(&name, &documents, truth, &measured, args).as_bytes())?;
        }
        rows.push((name, measured));
    }
    if rows.len() > 1 && !args.json {
        out.bytes(summary(&rows).as_bytes())?;
    }
    out.finish()?;
    if let Some(mut svg) = svg {
        svg.bytes(plot::svg(&rows).as_bytes())?;
        svg.finish()?;
    }
    Ok(Outcome::Done)
}

/// The documents of the input by their numbers.
struct Documents {
    numbers: HashMap<String, u32>,
    fingerprints: Vec<Option<Fingerprint>>,
    nothing: NearNothing,
}

impl Documents {
    fn read(args: &Evaluate, analyser: &Analyser) -> anyhow::Result<Self> {
        let inputs = args.truth.iter().fold(args.input.open()?, nearstone::input::Inputs::exclude);
        let progress = Progress::new(&inputs, args.input.quiet);
        let mut documents = Self { numbers: HashMap::new(), fingerprints: Vec::new(), nothing: NearNothing::default() };
        pipeline::run(inputs, &Simhash::new(analyser.clone()), args.input.threads(), |event| {
            let Event::Document(item) = event else { return Ok(()) };
            match item {
                Err(e) => {
                    progress.bad(&e, args.input.skips_bad())?;
                }
                Ok(item) => {
                    let number = u32::try_from(documents.fingerprints.len())?;
                    if documents.numbers.insert(item.id.clone(), number).is_some() {
                        let why =
                            format!("the id {:?} comes twice: pairs need documents with ids of their own", item.id);
                        return Err(Usage(why).into());
                    }
                    documents.nothing.count(item.sketch);
                    documents.fingerprints.push(item.sketch.fingerprint());
                }
            }
            progress.documents(documents.fingerprints.len() as u64);
            Ok(())
        })?;
        progress.finish();
        Ok(documents)
    }

    /// The ids of two documents.
    fn names(&self) -> Vec<&str> {
        let mut names = vec![""; self.fingerprints.len()];
        for (id, &number) in &self.numbers {
            names[number as usize] = id;
        }
        names
    }

    /// True pairs that are farther apart than a distance, or near nothing, the farthest first.
    fn missed(&self, truth: &Truth, distance: usize, most: usize) -> Vec<(Option<u32>, (u32, u32))> {
        let mut missed: Vec<_> = truth
            .pairs
            .iter()
            .map(|&(a, b)| {
                let [first, second] = [a, b].map(|number| self.fingerprints[number as usize]);
                (first.zip(second).map(|(first, second)| first.distance(second)), (a, b))
            })
            .filter(|(found, _)| found.is_none_or(|found| found as usize > distance))
            .collect();
        missed.sort_unstable_by_key(|&(found, pair)| (std::cmp::Reverse(found), pair));
        missed.truncate(most);
        missed
    }
}

fn as_text(name: &str, documents: &Documents, truth: &Truth, measured: &Measured, args: &Evaluate) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{name}: {} documents ({}), {} true pairs",
        thousands(documents.fingerprints.len() as u64),
        documents.nothing.shown(),
        thousands(truth.pairs.len() as u64)
    );
    if truth.unknown > 0 && !args.input.quiet {
        say!("nearstone: {} pairs of the truth have ids that the input lacks", thousands(truth.unknown));
    }
    let _ = writeln!(text, "  distance        found         true  precision  recall     F1");
    let best = measured.best();
    for within in measured.within() {
        let _ = writeln!(
            text,
            "{} {:>8} {:>12} {:>12}  {:>9.3}  {:>6.3}  {:.3}",
            if within.distance == best.distance { '*' } else { ' ' },
            within.distance,
            thousands(within.found),
            thousands(within.hits),
            within.precision(),
            within.recall(),
            within.f1()
        );
    }
    if args.examples > 0 {
        let names = documents.names();
        let mut list = |title: &str, pairs: Vec<(Option<u32>, (u32, u32))>| {
            let _ = writeln!(text, "  {title}");
            for (distance, (a, b)) in pairs {
                let distance = distance.map_or("none".to_owned(), |distance| distance.to_string());
                let _ = writeln!(text, "  {distance:>8}  {}  {}", shown(names[a as usize]), shown(names[b as usize]));
            }
        };
        list("near, but not true:", measured.wrong().take(args.examples).collect());
        let title = format!("true, but more than {} apart:", best.distance);
        list(&title, documents.missed(truth, best.distance, args.examples));
    }
    text.push('\n');
    text
}

fn as_json(
    name: &str,
    documents: &Documents,
    truth: &Truth,
    measured: &Measured,
    args: &Evaluate,
) -> anyhow::Result<String> {
    let within = measured.within().map(|within| {
        json!({
            "distance": within.distance,
            "found": within.found,
            "true": within.hits,
            "precision": within.precision(),
            "recall": within.recall(),
            "f1": within.f1(),
        })
    });
    let names = documents.names();
    let rows = |pairs: Vec<(Option<u32>, (u32, u32))>| -> Vec<Value> {
        let row =
            |(distance, (a, b)): (Option<u32>, (u32, u32))| json!([names[a as usize], names[b as usize], distance]);
        pairs.into_iter().map(row).collect()
    };
    let best = measured.best().distance;
    let object = json!({
        "analyser": name,
        "documents": documents.fingerprints.len(),
        "without_features": documents.nothing.without_features,
        "too_short": documents.nothing.too_short,
        "true_pairs": truth.pairs.len(),
        "unknown_pairs": truth.unknown,
        "best_distance": best,
        "within": within.collect::<Vec<_>>(),
        "wrong": rows(measured.wrong().take(args.examples).collect()),
        "missed": rows(documents.missed(truth, best, args.examples)),
    });
    Ok(serde_json::to_string(&object)? + "\n")
}

/// The analysers beside each other.
fn summary(rows: &[(String, Measured)]) -> String {
    let mut text = "analyser                          best F1  at   F1 at 3  at 7  at 12\n".to_owned();
    for (name, measured) in rows {
        let best = measured.best();
        let at = |distance| measured.within().nth(distance).map_or("-".to_owned(), |w| format!("{:.3}", w.f1()));
        let [strict, balanced, candidates] = [3, 7, 12].map(at);
        let _ = writeln!(
            text,
            "{name:<32}  {:>7.3}  {:>2}     {strict:>5} {balanced:>5}  {candidates:>5}",
            best.f1(),
            best.distance
        );
    }
    text
}
