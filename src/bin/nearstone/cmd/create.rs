//! `nearstone create`

use nearstone::SimhashStore;

use crate::args::Create;
use crate::failure::Outcome;
use crate::output;
use crate::prose::say;

pub(crate) fn run(args: &Create) -> anyhow::Result<Outcome> {
    output::refuse_in_store(&args.store)?;
    let mut options = args.analysis.options()?;
    if let Some(retention) = args.retention {
        options = options.retention(retention);
    }
    let store = SimhashStore::create(&args.store, &args.design()?, &options)?;
    let expiry =
        args.retention.map(|retention| format!("; documents expire after {}", humantime::format_duration(retention)));
    say!("created {}: {}{}", store.path().display(), store.design(), expiry.unwrap_or_default());
    Ok(Outcome::Done)
}
