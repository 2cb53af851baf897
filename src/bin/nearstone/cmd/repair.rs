//! `nearstone repair`

use nearstone::{Options, SimhashStore};

use crate::args::Repair;
use crate::failure::Outcome;
use crate::progress::{Steps, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Repair) -> anyhow::Result<Outcome> {
    let steps = Steps::new(args.quiet);
    let repaired = SimhashStore::repair(&args.store, &Options::new(), |progress| steps.show(progress));
    steps.finish();
    say!("tables and holders made anew, documents: {}", thousands(repaired?.documents));
    Ok(Outcome::Done)
}
