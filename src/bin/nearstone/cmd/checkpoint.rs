//! `nearstone checkpoint`

use nearstone::{Options, SimhashStore};

use crate::args::Checkpoint;
use crate::failure::Outcome;
use crate::output;

pub(crate) fn run(args: &Checkpoint) -> anyhow::Result<Outcome> {
    output::refuse_in_store(&args.copy)?;
    let store = SimhashStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    store.checkpoint(&args.copy)?;
    Ok(Outcome::Done)
}
