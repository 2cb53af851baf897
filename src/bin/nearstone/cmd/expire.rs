//! `nearstone expire`

use nearstone::{Options, SimhashStore};

use crate::args::Expire;
use crate::failure::{Outcome, Usage};
use crate::progress::{Steps, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Expire) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    if store.retention().is_none() {
        let why = "documents of this store never expire: create one with --retention for those that should";
        return Err(Usage(why.to_owned()).into());
    }
    let removed = Steps::during(false, |show| store.expire(show));
    store.flush()?;
    say!("expired documents removed: {}", thousands(removed?));
    Ok(Outcome::Done)
}
