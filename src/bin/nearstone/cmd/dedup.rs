//! `nearstone dedup`

mod groups;
mod run;
mod summary;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use nearstone::{Simhash, SimhashStore, TableDesign};
use tempfile::TempDir;

use crate::args::Dedup;
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::pipeline;
use crate::progress::Progress;
use run::{Failure, Run};

pub(crate) fn run(args: &Dedup) -> anyhow::Result<Outcome> {
    let begun = Instant::now();
    refuse_to_overwrite_input(args)?;
    let (store, temporary) = open_store(args)?;
    if args.max_distance > store.admission_distance() {
        let maximum = store.admission_distance();
        return Err(Usage(format!(
            "--max-distance {} is larger than {maximum}, the most that the store admits by",
            args.max_distance
        ))
        .into());
    }
    let analyser = store.analyser().ok_or_else(|| nearstone::Error::NoAnalyser { path: store.path().to_owned() })?;
    let simhash = Simhash::new(analyser.clone());
    // Created before the folders are walked, so that they are not taken for input.
    let out = output::create(&args.out)?;
    let duplicates = args.duplicates.as_deref().map(output::create).transpose()?;
    let mut inputs = args.input.open()?;
    for path in [Some(&args.out), args.duplicates.as_ref()].into_iter().flatten() {
        inputs = inputs.exclude(path);
    }
    let progress = Progress::new(&inputs, args.input.quiet);
    let mut run = Run::new(args, &store, out, duplicates);
    pipeline::run(inputs, &args.input.fields(), &simhash, args.input.threads(), |item| {
        match item.map_err(Failure::Record).and_then(|item| run.take(&item)) {
            Err(Failure::Record(bad)) if args.input.skip_bad => {
                run.counts.bad += 1;
                progress.line(&format!("nearstone: {bad}"));
            }
            Err(Failure::Record(bad)) => return Err(bad.into()),
            Err(Failure::Other(e)) => return Err(e),
            Ok(()) => {}
        }
        progress.documents(run.counts.documents());
        Ok(())
    })?;
    let (counts, groups) = run.finish()?;
    store.flush()?;
    progress.finish();
    if !args.input.quiet {
        summary::print(&counts, &store, begun)?;
        groups.print(args.show_groups);
    }
    drop(store);
    if let Some(temporary) = temporary {
        temporary.close().context("cannot remove the temporary store")?;
    }
    Ok(Outcome::Done)
}

/// A run that reads what it writes would destroy it.
fn refuse_to_overwrite_input(args: &Dedup) -> Result<(), Usage> {
    for output in [Some(&args.out), args.duplicates.as_ref()].into_iter().flatten() {
        let Ok(output_path) = std::fs::canonicalize(output) else { continue };
        let is_input = |input: &PathBuf| std::fs::canonicalize(input).is_ok_and(|input| input == output_path);
        if args.input.inputs.iter().any(is_input) {
            return Err(Usage(format!("{} is both input and output: write to another file", output.display())));
        }
    }
    if args.duplicates.as_ref() == Some(&args.out) {
        return Err(Usage("--out and --duplicates are the same file: name two".to_owned()));
    }
    Ok(())
}

fn open_store(args: &Dedup) -> anyhow::Result<(SimhashStore, Option<TempDir>)> {
    let options = args.analysis.options();
    let design = TableDesign::default();
    if let Some(path) = &args.store {
        // An existing store keeps its own design.
        let opened = match SimhashStore::open(path, &options) {
            Err(nearstone::Error::NotFound { .. }) => SimhashStore::create(path, &design, &options),
            opened => opened,
        };
        return Ok((opened?, None));
    }
    let parent = args.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    let temporary = tempfile::Builder::new().prefix("nearstone-").tempdir_in(&parent);
    let temporary = temporary.with_context(|| format!("cannot create a temporary store in {}", parent.display()))?;
    Ok((SimhashStore::create(temporary.path().join("store"), &design, &options)?, Some(temporary)))
}
