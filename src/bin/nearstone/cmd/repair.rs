//! `nearstone repair`

use nearstone::{MinhashStore, Options, SimhashStore};

use crate::any_store::is_other_kind;
use crate::args::Repair;
use crate::failure::Outcome;
use crate::progress::{Steps, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Repair) -> anyhow::Result<Outcome> {
    let options = Options::new();
    let repaired = match Steps::during(args.quiet, |show| SimhashStore::repair(&args.store, &options, show)) {
        Err(error) if is_other_kind(&error) => {
            Steps::during(args.quiet, |show| MinhashStore::repair(&args.store, &options, show))
        }
        repaired => repaired,
    }?;
    say!("tables and holders made anew, documents: {}", thousands(repaired.documents));
    if repaired.lost > 0 {
        say!("documents whose signatures were lost, removed: {}", thousands(repaired.lost));
    }
    Ok(Outcome::Done)
}
