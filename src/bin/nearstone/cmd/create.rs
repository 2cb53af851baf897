//! `nearstone create`

use nearstone::SimhashStore;

use crate::args::Create;
use crate::failure::Outcome;

pub(crate) fn run(args: &Create) -> anyhow::Result<Outcome> {
    let store = SimhashStore::create(&args.store, &args.design()?, &args.analysis.options())?;
    eprintln!("created {}: {}", store.path().display(), store.design());
    Ok(Outcome::Done)
}
