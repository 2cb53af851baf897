//! `nearstone expire`

use nearstone::Options;

use crate::any_store::{AnyStore, with_store};
use crate::args::Expire;
use crate::failure::{Outcome, Usage};
use crate::progress::{Steps, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Expire) -> anyhow::Result<Outcome> {
    let store = AnyStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    if with_store!(&store, store => store.retention()).is_none() {
        let why = "documents of this store never expire: create one with --retention for those that should";
        return Err(Usage(why.to_owned()).into());
    }
    let removed = Steps::during(false, |show| with_store!(&store, store => store.expire(show)));
    with_store!(&store, store => store.flush())?;
    say!("expired documents removed: {}", thousands(removed?));
    Ok(Outcome::Done)
}
