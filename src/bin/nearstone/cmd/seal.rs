//! `nearstone seal` and `nearstone compact`

use nearstone::{Options, SimhashStore};

use super::load::summary;
use crate::args::{Compact, Seal};
use crate::failure::Outcome;
use crate::progress::Steps;
use crate::prose::say;

pub(crate) fn run(args: &Seal) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open(&args.store, &Options::new().sketches_only())?;
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

pub(crate) fn compact(args: &Compact) -> anyhow::Result<Outcome> {
    SimhashStore::open(&args.store, &Options::new().sketches_only())?.compact()?;
    Ok(Outcome::Done)
}
