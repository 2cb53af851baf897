//! `nearstone fingerprint`

use nearstone::{Simhash, TextSketch};
use serde_json::Map;

use crate::args::Fingerprints;
use crate::failure::Outcome;
use crate::near_nothing::NearNothing;
use crate::output::{self, Output};
use crate::pipeline::{self, Event, Fingerprinted};
use crate::progress::{Progress, tell_passed_over, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Fingerprints) -> anyhow::Result<Outcome> {
    output::check_distinct(args.input.inputs.iter().chain(args.analysis.tables.paths()), &[&args.out])?;
    let inputs = args.input.open()?.exclude(&args.out);
    let simhash = Simhash::new(args.analysis.analyser()?);
    let mut out = Output::create(&args.out)?;
    let progress = Progress::new(&inputs, args.input.quiet);
    let passed_over = inputs.passed_over();
    let (mut sketched, mut bad, mut nothing) = (0, 0, NearNothing::default());
    pipeline::run(inputs, &simhash, args.input.threads(), |event| {
        let Event::Document(item) = event else { return out.idle() };
        match item {
            Err(e) => {
                bad += progress.bad(&e, args.input.skips_bad())?;
            }
            Ok(item) => {
                nothing.count(item.sketch);
                sketched += u64::from(item.sketch.fingerprint().is_some());
                out.object(row(&item))?;
            }
        }
        progress.documents(sketched + nothing.total() + bad);
        Ok(())
    })?;
    out.finish()?;
    progress.finish();
    if !args.input.quiet {
        say!("fingerprints {}, {}, bad records {}", thousands(sketched), nothing.shown(), thousands(bad));
        tell_passed_over(&passed_over);
    }
    Ok(Outcome::Done)
}

fn row(item: &Fingerprinted) -> Map<String, serde_json::Value> {
    let mut row = Map::new();
    output::put_id(&mut row, "id", item.id.as_bytes());
    if let Some(fingerprint) = item.sketch.fingerprint() {
        row.insert("fingerprint".to_owned(), fingerprint.to_string().into());
    }
    row.insert("features".to_owned(), item.sketch.features().into());
    let status = match item.sketch {
        TextSketch::NoFeatures => "no-features",
        TextSketch::TooShort { .. } => "too-short",
        _ => "sketched",
    };
    row.insert("status".to_owned(), status.into());
    row
}
