//! `nearstone get`

use std::time::UNIX_EPOCH;

use nearstone::{Options, SimhashStore};
use serde_json::Map;

use crate::args::Get;
use crate::failure::Outcome;
use crate::output::{self, Output};
use crate::prose::say;

pub(crate) fn run(args: &Get) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open_read_only(&args.store, &Options::new().sketches_only())?;
    let Some(document) = store.get(output::asked_id(&args.id, args.row)?)? else {
        say!("nearstone: no document {:?}", args.id);
        return Ok(Outcome::No);
    };
    let millis = document.stored_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut object = Map::new();
    output::put_id(&mut object, "id", &document.id);
    object.insert("fingerprint".to_owned(), document.sketch.to_string().into());
    object.insert("stored_at_millis".to_owned(), u64::try_from(millis).unwrap_or(u64::MAX).into());
    if !document.payload.is_empty() {
        output::put_bytes(&mut object, "payload", &document.payload);
    }
    let mut out = Output::stdout();
    out.object(object)?;
    out.finish()?;
    Ok(Outcome::Done)
}
