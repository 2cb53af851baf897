//! `nearstone repair`

use nearstone::{Options, SimhashStore};

use crate::args::Repair;
use crate::failure::Outcome;
use crate::progress::{Steps, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Repair) -> anyhow::Result<Outcome> {
    let repaired = Steps::during(args.quiet, |show| SimhashStore::repair(&args.store, &Options::new(), show))?;
    say!("tables and holders made anew, documents: {}", thousands(repaired.documents));
    Ok(Outcome::Done)
}
