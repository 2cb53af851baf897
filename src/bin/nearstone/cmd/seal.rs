//! `nearstone seal` and `nearstone compact`

use nearstone::{LoadOptions, Options, SimhashStore};

use super::load::summary;
use crate::args::{Compact, Seal};
use crate::failure::Outcome;
use crate::progress::Steps;
use crate::prose::say;

pub(crate) fn run(args: &Seal) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    let steps = Steps::new(args.work.quiet);
    let report = store.seal(&args.work.options(), |progress| steps.show(progress));
    steps.finish();
    let report = report?;
    if !args.work.quiet {
        if report.phases.is_empty() {
            say!("nothing is live: there is nothing to seal");
        } else {
            say!("{}", summary(&report, 0));
        }
    }
    Ok(Outcome::Done)
}

/// Seals at the end of a run that has added documents, where it is due.
pub(super) fn seal_if_due(store: &SimhashStore, quiet: bool) -> anyhow::Result<()> {
    let steps = Steps::new(quiet);
    let report = store.seal_if_due(Options::DEFAULT_AUTO_SEAL, &LoadOptions::new(), |progress| steps.show(progress));
    steps.finish();
    if let Some(report) = report?.filter(|_| !quiet) {
        say!("{}", summary(&report, 0));
    }
    Ok(())
}

pub(crate) fn compact(args: &Compact) -> anyhow::Result<Outcome> {
    SimhashStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?.compact()?;
    Ok(Outcome::Done)
}
