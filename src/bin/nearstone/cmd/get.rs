//! `nearstone get`

use std::fmt::Write;
use std::time::UNIX_EPOCH;

use nearstone::{Document, Options, Signature};
use serde_json::Map;

use crate::any_store::AnyStore;
use crate::args::Get;
use crate::failure::Outcome;
use crate::output::{self, Output};
use crate::prose::say;

pub(crate) fn run(args: &Get) -> anyhow::Result<Outcome> {
    let id = output::asked_id(&args.id, args.row)?;
    let object = match AnyStore::open_read_only(&args.store, &Options::new().sketches_only())? {
        AnyStore::Fingerprints(store) => {
            store.get(id)?.map(|document| object("fingerprint", document.sketch.to_string(), &document))
        }
        AnyStore::Signatures(store) => {
            store.get(id)?.map(|document| object("signature", hex(&document.sketch), &document))
        }
    };
    let Some(object) = object else {
        say!("nearstone: no document {:?}", args.id);
        return Ok(Outcome::No);
    };
    let mut out = Output::stdout();
    out.object(object)?;
    out.finish()?;
    Ok(Outcome::Done)
}

/// What is printed of a document.
fn object<S>(name: &str, sketch: String, document: &Document<S>) -> Map<String, serde_json::Value> {
    let millis = document.stored_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut object = Map::new();
    output::put_id(&mut object, "id", &document.id);
    object.insert(name.to_owned(), sketch.into());
    object.insert("stored_at_millis".to_owned(), u64::try_from(millis).unwrap_or(u64::MAX).into());
    if !document.payload.is_empty() {
        output::put_bytes(&mut object, "payload", &document.payload);
    }
    object
}

/// The rows, one after the other.
fn hex(signature: &Signature) -> String {
    signature.to_bytes().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
