//! `nearstone delete`

use nearstone::{Options, SimhashStore};

use crate::args::Delete;
use crate::failure::Outcome;
use crate::output::asked_id;
use crate::prose::say;

pub(crate) fn run(args: &Delete) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    let mut outcome = Outcome::Done;
    for id in &args.ids {
        if store.delete(asked_id(id, args.row)?)?.is_none() {
            say!("nearstone: no document {id:?}");
            outcome = Outcome::No;
        }
    }
    store.flush()?;
    Ok(outcome)
}
