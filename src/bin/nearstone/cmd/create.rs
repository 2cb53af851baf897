//! `nearstone create`

use nearstone::SimhashStore;

use crate::args::Create;
use crate::failure::Outcome;
use crate::prose::say;

pub(crate) fn run(args: &Create) -> anyhow::Result<Outcome> {
    let store = SimhashStore::create(&args.store, &args.design()?, &args.analysis.options())?;
    say!("created {}: {}", store.path().display(), store.design());
    Ok(Outcome::Done)
}
