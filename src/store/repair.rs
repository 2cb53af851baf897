//! Tables and holders anew, from the documents.
//!
//! 1. The documents are read from end to end before anything is changed, and they are never changed.
//! 2. A mark beside the store record, forced to the medium, says that a repair is under way: a store with the
//!    mark is not opened, so the empty families that stand in for missing ones never answer.
//! 3. All documents are sealed anew: of the families so far only those of the documents are read, and all of them
//!    are dropped. The mark is removed after that. A repair that was interrupted begins anew.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::open::{expiry, open_even_in_repair, read_record};
use super::progress::{Progress, Reporter};
use super::shared::Shared;
use super::walk::{Lifetime, Source, Walk};
use super::{LoadOptions, Options, bulk};
use crate::clock::Clock;
use crate::engine::Engine;
use crate::format::IDENTITY_BYTES;
use crate::format::families::Family;
use crate::{Error, Fingerprint, Result};

/// What a repair has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The documents whose holders and table entries were made anew.
    pub documents: u64,
    /// The documents that were removed, since their signatures are lost or damaged.
    pub lost: u64,
}

/// Opens what is to be repaired.
pub(super) fn open_engine(path: &Path, options: &Options) -> Result<Engine> {
    let clock = Arc::new(Clock::default());
    // Leniently only where it must be: a lenient open looks less closely at the log.
    match Engine::open(path, &options.resources(), &expiry(&clock), false) {
        Err(Error::Corrupt { .. }) => Engine::open(path, &options.resources().for_repair(), &expiry(&clock), false),
        opened => opened,
    }
}

pub(super) fn repair(
    path: &Path,
    options: &Options,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Repair> {
    let mut options = options.clone().sketches_only();
    options.retention = None;
    let engine = open_engine(path, &options)?;
    let (record, settings) = read_record::<Fingerprint>(&engine, path)?;
    let generations = record.generations;
    let mut sources = Vec::new();
    let mut total = 0;
    for generation in [Some(generations.live), generations.frozen].into_iter().flatten() {
        let family = engine.family(Family::Documents { generation })?;
        total += engine.approximate_keys(&family)?;
        sources.push(Source::Rows(engine.scan(&family)));
    }
    if let Some(sealed) = generations.sealed {
        let family = engine.family(Family::DocumentPages { generation: sealed.number })?;
        total += sealed.documents;
        sources.push(Source::pages(engine.scan(&family)));
    }
    let mut reporter = Reporter::new(
        &mut progress,
        total,
        "repair again; once tables are being written, the store is not opened before its repair has ended",
    );
    reporter.phase("reading the documents")?;
    let lifetime = Lifetime { retention_millis: None, now: 0 };
    let mut walk = Walk::new(sources, IDENTITY_BYTES, lifetime, path);
    while walk.next()?.is_some() {
        reporter.done(1)?;
    }
    drop((walk, reporter));
    engine.mark_repair(true)?;
    let retention = settings.retention_millis;
    let mut needed = Family::live(&record.design, IDENTITY_BYTES, retention, generations.live);
    if let Some(frozen) = generations.frozen {
        needed.extend(Family::live(&record.design, IDENTITY_BYTES, retention, frozen));
    }
    if let Some(sealed) = generations.sealed {
        needed.extend(Family::sealed(&record.design, sealed.number));
    }
    needed.retain(|family| engine.family(*family).is_err());
    engine.create_families(&needed, retention, 0)?;
    drop(engine);
    let opened = open_even_in_repair::<Fingerprint>(path, &options, false);
    let opened = match opened {
        Err(Error::Corrupt { .. }) => super::open::open_leniently::<Fingerprint>(path, &options)?,
        opened => opened?,
    };
    let store = Arc::new(Shared::<Fingerprint>::from_opened(opened)?);
    let report = bulk::seal_anew(&store, &LoadOptions::new(), progress)?;
    store.engine.flush()?;
    store.engine.mark_repair(false)?;
    Ok(Repair { documents: report.documents, lost: 0 })
}
