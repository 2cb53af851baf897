//! `nearstone seal` and `nearstone compact`

use nearstone::{LoadOptions, Options, SimhashStore};

use super::load::tell;
use crate::any_store::{AnyStore, with_store};
use crate::args::{Compact, Seal};
use crate::failure::Outcome;
use crate::progress::Steps;
use crate::prose::say;

pub(crate) fn run(args: &Seal) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    let quiet = args.work.quiet;
    let report = Steps::during(quiet, |show| store.seal(&args.work.options(), show))?;
    if !report.phases.is_empty() {
        tell(&report, 0, quiet);
    } else if !quiet {
        say!("nothing is live: there is nothing to seal");
    }
    Ok(Outcome::Done)
}

/// Seals at the end of a run that has added documents, where it is due.
pub(super) fn seal_if_due(store: &SimhashStore, quiet: bool) -> anyhow::Result<()> {
    let seal = |show: &mut dyn FnMut(_) -> _| store.seal_if_due(Options::DEFAULT_AUTO_SEAL, &LoadOptions::new(), show);
    if let Some(report) = Steps::during(quiet, seal)? {
        tell(&report, 0, quiet);
    }
    Ok(())
}

pub(crate) fn compact(args: &Compact) -> anyhow::Result<Outcome> {
    let store = AnyStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    with_store!(store, store => store.compact())?;
    Ok(Outcome::Done)
}
