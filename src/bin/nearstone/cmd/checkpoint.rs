//! `nearstone checkpoint`

use nearstone::Options;

use crate::any_store::{AnyStore, with_store};
use crate::args::Checkpoint;
use crate::failure::Outcome;
use crate::output;

pub(crate) fn run(args: &Checkpoint) -> anyhow::Result<Outcome> {
    output::refuse_in_store(&args.copy)?;
    let store = AnyStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    with_store!(store, store => store.checkpoint(&args.copy))?;
    Ok(Outcome::Done)
}
