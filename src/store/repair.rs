//! Tables and holders anew, from the documents.
//!
//! 1. The documents are read from end to end before anything is changed, and they are never changed.
//! 2. A mark beside the store record, forced to the medium, says that a repair is under way: a store with the
//!    mark is not opened, so half-filled tables never answer.
//! 3. The mark is removed, forced to the medium, after everything is written out. A repair that was
//!    interrupted begins anew.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::open::{expiry, read_record};
use super::progress::{Progress, Reporter};
use super::shared::Shared;
use super::sketch::{Index, Sketch};
use super::write::put_holder;
use super::{Options, open};
use crate::clock::Clock;
use crate::engine::Engine;
use crate::format::families::Family;
use crate::{Error, Result};

/// What a repair has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The documents whose holders and table entries were made anew.
    pub documents: u64,
}

/// So many documents are written together.
const TOGETHER: usize = 1024;

pub(super) fn repair<S: Sketch>(
    path: &Path,
    options: &Options,
    progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Repair> {
    let mut options = options.clone().sketches_only();
    options.retention = None;
    let clock = Arc::new(Clock::default());
    // Leniently only where it must be: a lenient open looks less closely at the log.
    let strictly = Engine::open(path, &options.resources(), &expiry::<S>(&clock), false);
    let engine = match strictly {
        Err(Error::Corrupt { .. }) => {
            Engine::open(path, &options.resources().for_repair(), &expiry::<S>(&clock), false)?
        }
        opened => opened?,
    };
    let (record, settings) = read_record::<S>(&engine, path)?;
    let documents = engine.family(Family::Documents)?;
    let total = engine.approximate_keys(documents)?.saturating_mul(2);
    let mut reporter = Reporter::new(
        progress,
        total,
        "repair again; once tables are being written, the store is not opened before its repair has ended",
    );
    reporter.phase("reading the documents")?;
    let mut scan = engine.scan(documents)?;
    while let Some((_, value)) = scan.next()? {
        open::decode::<S>(path, value)?;
        reporter.done(1)?;
    }
    drop(scan);
    let derived = Family::all(&record.design, S::IDENTITY_BYTES, settings.retention_millis, record.generation);
    engine.mark_repair(true)?;
    engine.replace_families(&derived, &options.resources(), &expiry::<S>(&clock))?;
    drop(engine);
    // The new families are opened like any others.
    let store = Shared::<S>::from_opened(open::open_even_in_repair::<S>(path, &options, false)?)?;
    let documents = fill(&store, &mut reporter)?;
    store.engine.flush()?;
    store.engine.mark_repair(false)?;
    Ok(Repair { documents })
}

/// Writes the holders and table entries of all documents.
fn fill<S: Sketch>(store: &Shared<S>, reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>) -> Result<u64> {
    reporter.phase("writing tables and holders")?;
    let mut documents = 0;
    let mut scan = store.engine.scan(store.documents)?;
    let mut together: Vec<(S, Vec<u8>, u64)> = Vec::with_capacity(TOGETHER);
    loop {
        let next = scan.next()?;
        let is_end = next.is_none();
        if let Some((id, value)) = next {
            // What has expired too: to drop it is not the business of a repair.
            let stored = store.decode(value)?;
            together.push((stored.sketch, id.to_owned(), stored.time));
        }
        if together.len() == TOGETHER || is_end {
            together.sort_unstable();
            let mut batch = store.engine.batch();
            let mut sketches: Vec<S> = together.iter().map(|(sketch, ..)| sketch.clone()).collect();
            sketches.dedup();
            store.index.put(&mut batch, &sketches)?;
            for (sketch, id, time) in &together {
                put_holder(store, &mut batch, id, sketch, *time)?;
            }
            batch.write_unlogged()?;
            documents += together.len() as u64;
            together.clear();
        }
        if is_end {
            return Ok(documents);
        }
        reporter.done(1)?;
    }
}
