//! `nearstone delete`

use nearstone::Options;

use crate::any_store::{AnyStore, with_store};
use crate::args::Delete;
use crate::failure::Outcome;
use crate::output::asked_id;
use crate::prose::say;

pub(crate) fn run(args: &Delete) -> anyhow::Result<Outcome> {
    let store = AnyStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    let mut outcome = Outcome::Done;
    for id in &args.ids {
        let asked = asked_id(id, args.row)?;
        if with_store!(&store, store => store.delete(asked)?.is_none()) {
            say!("nearstone: no document {id:?}");
            outcome = Outcome::No;
        }
    }
    with_store!(&store, store => store.flush())?;
    Ok(outcome)
}
