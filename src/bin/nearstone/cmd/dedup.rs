//! `nearstone dedup`

mod groups;
mod run;
mod summary;

use std::time::Instant;

use anyhow::Context;
use nearstone::{Simhash, SimhashStore, TableDesign};
use tempfile::TempDir;

use super::seal::seal_if_due;
use crate::args::Dedup;
use crate::failure::{Outcome, Usage, is_broken_pipe};
use crate::interrupt::Interrupted;
use crate::output::{self, Output};
use crate::pipeline::{self, Event};
use crate::progress::Progress;
use run::{Failure, Run};

pub(crate) fn run(args: &Dedup) -> anyhow::Result<Outcome> {
    let begun = Instant::now();
    let outputs: Vec<_> = [Some(&args.out), args.duplicates.as_ref()].into_iter().flatten().collect();
    output::check_distinct(args.input.inputs.iter().chain(args.analysis.tables.paths()), &outputs)?;
    if args.store.is_some()
        && args.input.documents.line_ids
        && args.input.inputs.iter().any(|input| input.as_os_str() == "-")
    {
        let why = "with --store, --line-ids needs files: the lines of each standard input have the same ids";
        return Err(Usage(why.to_owned()).into());
    }
    let mut inputs = args.input.open()?;
    // In this order: the store is closed before its directory is removed.
    let Opened { temporary, is_new, store } = open_store(args)?;
    if args.max_distance > store.admission_distance() {
        return Err(too_far(args.max_distance, store.admission_distance()).into());
    }
    let analyser = store.analyser().ok_or_else(|| nearstone::Error::NoAnalyser { path: store.path().to_owned() })?;
    let simhash = Simhash::new(analyser.clone());
    let out = Output::create(&args.out)?;
    let duplicates = args.duplicates.as_deref().map(Output::create).transpose()?;
    // What a run writes below a folder is not to be read by it, nor by the next one.
    for path in outputs {
        inputs = inputs.exclude(path);
    }
    inputs = inputs.exclude(store.path());
    let progress = Progress::new(&inputs, args.input.quiet);
    let passed_over = inputs.passed_over();
    let mut run = Run::new(args, &store, is_new, out, duplicates);
    let ended = pipeline::run(inputs, &simhash, args.input.threads(), |event| {
        let Event::Document(item) = event else { return run.idle() };
        match item.map_err(Failure::Record).and_then(|item| run.take(item)) {
            Err(Failure::Record(bad)) if args.input.skips_bad() => {
                run.counts.bad += bad.records();
                progress.line(&format!("nearstone: {bad}"));
            }
            // The documents before it are dealt with.
            Err(Failure::Record(bad)) => return run.settle().and(Err(bad.into())),
            Err(Failure::Other(e)) => return Err(e),
            Ok(()) => {}
        }
        progress.documents(run.counts.documents());
        Ok(())
    });
    let ended = match ended {
        Ok(()) => run.settle(),
        // What was read until then is dealt with.
        Err(e) if e.is::<Interrupted>() => run.settle().and(Err(e)),
        failed => failed,
    };
    // However the run has ended, what it has stored is to last; and before an output appears. A temporary store is not.
    let flushed = if temporary.is_none() { store.flush() } else { Ok(()) };
    if let Err(e) = ended {
        let is_more_wanted = args.store.is_some() || args.duplicates.is_some();
        return Err(if is_broken_pipe(&e) && is_more_wanted {
            anyhow::anyhow!(
                "the reader of the standard output went away: the run has stopped; write to a file with --out"
            )
        } else {
            e
        });
    }
    flushed?;
    let (counts, groups) = run.finish()?;
    progress.finish();
    if !args.input.quiet {
        summary::print(&counts, &passed_over, &store, temporary.is_some(), begun)?;
    }
    groups.print(args.show_groups);
    if temporary.is_none() {
        seal_if_due(&store, args.input.quiet)?;
    }
    drop(store);
    if let Some(temporary) = temporary {
        temporary.close().context("cannot remove the temporary store")?;
    }
    Ok(Outcome::Done)
}

struct Opened {
    store: SimhashStore,
    is_new: bool,
    temporary: Option<TempDir>,
}

fn open_store(args: &Dedup) -> anyhow::Result<Opened> {
    let options = args.analysis.options()?;
    let design = TableDesign::default();
    if let Some(path) = &args.store {
        // An existing store keeps its own design.
        match SimhashStore::open(path, &options) {
            Err(nearstone::Error::NotFound { .. }) => {}
            opened => return Ok(Opened { store: opened?, is_new: false, temporary: None }),
        }
    }
    // Before anything is created.
    if args.max_distance > SimhashStore::ADMISSION_DISTANCE {
        return Err(too_far(args.max_distance, SimhashStore::ADMISSION_DISTANCE).into());
    }
    if let Some(path) = &args.store {
        output::refuse_in_store(path)?;
        let store = SimhashStore::create(path, &design, &options)?;
        return Ok(Opened { store, is_new: true, temporary: None });
    }
    let parent = args.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    output::refuse_in_store(&parent.join("store"))?;
    let temporary = tempfile::Builder::new().prefix("nearstone-").tempdir_in(&parent);
    let temporary = temporary.with_context(|| format!("cannot create a temporary store in {}", parent.display()))?;
    let store = SimhashStore::create(temporary.path().join("store"), &design, &options)?;
    Ok(Opened { store, is_new: true, temporary: Some(temporary) })
}

fn too_far(asked: u32, most: u32) -> Usage {
    Usage(format!("--max-distance {asked} is larger than {most}, the most that the store admits by: ask for less"))
}
