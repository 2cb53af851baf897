//! `nearstone checkpoint`

use nearstone::{Options, SimhashStore};

use crate::args::Checkpoint;
use crate::failure::Outcome;

pub(crate) fn run(args: &Checkpoint) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    store.checkpoint(&args.copy)?;
    Ok(Outcome::Done)
}
