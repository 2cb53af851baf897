//! `nearstone merge`

use nearstone::{LoadReport, Options, SimhashStore};

use super::load::summary;
use crate::args::Merge;
use crate::failure::{Outcome, Usage};
use crate::interrupt;
use crate::progress::Steps;
use crate::prose::say;

pub(crate) fn run(args: &Merge) -> anyhow::Result<Outcome> {
    let open = |path| SimhashStore::open_read_only(path, &Options::new());
    let stores = args.stores.iter().map(open).collect::<nearstone::Result<Vec<_>>>()?;
    let first = &stores[0];
    for other in &stores[1..] {
        let differs = |what: &str, here: String, there: String| {
            let (a, b) = (first.path().display(), other.path().display());
            Usage(format!("{a} and {b} cannot be merged: the one has {what} {here}, the other {there}"))
        };
        if first.design() != other.design() {
            return Err(differs("the design", first.design().to_string(), other.design().to_string()).into());
        }
        let analyser = |store: &SimhashStore| store.analyser().map_or("none".to_owned(), ToString::to_string);
        if first.analyser() != other.analyser() {
            return Err(differs("the analyser", analyser(first), analyser(other)).into());
        }
        let retention = |store: &SimhashStore| {
            store.retention().map_or("none".to_owned(), |time| humantime::format_duration(time).to_string())
        };
        if first.retention() != other.retention() {
            return Err(differs("the retention", retention(first), retention(other)).into());
        }
    }
    let mut options = Options::new().auto_seal(None);
    options = match first.analyser() {
        Some(analyser) => options.analyser(analyser.clone()),
        None => options.sketches_only(),
    };
    if let Some(retention) = first.retention() {
        options = options.retention(retention);
    }
    let merged = SimhashStore::create(&args.out, first.design(), &options)?;
    let report = match merge(args, &stores, &merged) {
        Ok(report) => report,
        Err(e) => {
            // It was made by this run, and has nothing in it.
            drop(merged);
            let _ = std::fs::remove_dir_all(&args.out);
            return Err(e);
        }
    };
    if !args.work.quiet {
        say!("{}", summary(&report, 0));
    }
    Ok(Outcome::Done)
}

fn merge(args: &Merge, stores: &[SimhashStore], merged: &SimhashStore) -> anyhow::Result<LoadReport> {
    let mut loader = merged.bulk_loader(&args.work.options())?;
    for store in stores {
        for document in store.iter()? {
            interrupt::check()?;
            loader.push_document(&document?)?;
        }
    }
    let steps = Steps::new(args.work.quiet);
    let report = loader.commit(|progress| steps.show(progress));
    steps.finish();
    Ok(report?)
}
