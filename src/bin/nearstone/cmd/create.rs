//! `nearstone create`

use nearstone::{MinhashStore, SimhashStore};

use crate::args::{Create, SketchKind};
use crate::failure::Outcome;
use crate::output;
use crate::prose::say;

pub(crate) fn run(args: &Create) -> anyhow::Result<Outcome> {
    output::refuse_in_store(&args.store)?;
    let mut options = args.analysis.options()?;
    if let Some(retention) = args.retention {
        options = options.retention(retention);
    }
    let expiry =
        args.retention.map(|retention| format!("; documents expire after {}", humantime::format_duration(retention)));
    let design = match args.sketch {
        SketchKind::Simhash => SimhashStore::create(&args.store, &args.design()?, &options)?.design().to_string(),
        SketchKind::Minhash => MinhashStore::create(&args.store, &args.bands()?, &options)?.design().to_string(),
    };
    say!("created {}: {design}{}", args.store.display(), expiry.unwrap_or_default());
    Ok(Outcome::Done)
}
