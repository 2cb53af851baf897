//! Sealing: the live documents and the sealed ones become one new sealed generation, while readers and writers go
//! on.
//!
//! 1. An empty live generation takes the place of the one so far, which is *frozen*. The change waits for the
//!    writers that are under way, so none of them writes to the frozen one after it.
//! 2. The frozen and the sealed generation are written as a new sealed one. Nobody changes them meanwhile.
//! 3. The new one takes the place of both in one step.
//!
//! After a crash, or a stop, between 1 and 3 there is a frozen generation, which is read like the others; the next
//! seal begins with it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use super::commit::commit;
use super::folder::Folder;
use super::meter::Meter;
use super::options::{LoadOptions, LoadReport};
use super::{Changing, Target};
use crate::format::IDENTITY_BYTES;
use crate::format::families::Family;
use crate::format::record::Generations;
use crate::store::shared::Shared;
use crate::store::walk::{Lifetime, Source, Walk};
use crate::store::{Progress, Store};
use crate::{Fingerprint, Result};

const REMEDY: &str = "seal again to go on; answers do not depend on it";

/// Seals all that is live.
pub(in crate::store) fn seal(
    store: &Arc<Shared<Fingerprint>>,
    options: &LoadOptions,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadReport> {
    let _changing = Changing::begin(store)?;
    seal_under_way(store, options, &mut progress)
}

fn seal_under_way(
    store: &Arc<Shared<Fingerprint>>,
    options: &LoadOptions,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadReport> {
    let mut report = LoadReport::new(Instant::now(), 0);
    if store.view().frozen.is_some() {
        // What an earlier seal or load has left.
        merge(store, options, &mut report, &mut progress)?;
    }
    if freeze(store)? {
        merge(store, options, &mut report, &mut progress)?;
    }
    Ok(report)
}

/// Writes the sealed generation anew, without what has expired or is hidden by newer generations.
pub(in crate::store) fn reseal(
    store: &Arc<Shared<Fingerprint>>,
    options: &LoadOptions,
    progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadReport> {
    let _changing = Changing::begin(store)?;
    let mut report = LoadReport::new(Instant::now(), 0);
    merge(store, options, &mut report, progress)?;
    Ok(report)
}

/// Writes everything as a new sealed generation, out of the documents alone.
pub(in crate::store) fn seal_anew(
    store: &Arc<Shared<Fingerprint>>,
    options: &LoadOptions,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadReport> {
    let _changing = Changing::begin(store)?;
    let mut report = LoadReport::new(Instant::now(), 0);
    if store.view().frozen.is_some() {
        merge(store, options, &mut report, &mut progress)?;
    }
    // An unused generation has families that may be damaged all the same.
    set_aside(store)?;
    merge(store, options, &mut report, &mut progress)?;
    Ok(report)
}

/// Makes sure that nothing is live, so that a load finds all that is older in generations that do not change.
pub(super) fn set_live_aside(store: &Arc<Shared<Fingerprint>>, options: &LoadOptions) -> Result<()> {
    let view = store.view();
    if view.live.is_used() && view.frozen.is_some() {
        drop(view);
        // Only one can be set aside.
        let mut report = LoadReport::new(Instant::now(), 0);
        merge(store, options, &mut report, |_| ControlFlow::Continue(()))?;
    }
    freeze(store).map(|_| ())
}

/// How long documents live, by the time that was forced to the medium: what is left out by it is in no later answer
/// either, whatever the clock of a later process says.
pub(super) fn lifetime(store: &Shared<Fingerprint>) -> Result<Lifetime> {
    store.advance_expiry(0)?;
    Ok(Lifetime { now: store.engine.expiry_limit(), ..store.lifetime() })
}

/// The documents below the live generation, the newest first.
pub(super) fn below(store: &Shared<Fingerprint>) -> Vec<Source> {
    let view = store.view();
    let frozen = view.frozen.iter().map(|rows| Source::Rows(store.engine.scan(&rows.documents)));
    let sealed = view.sealed.iter().map(|sealed| Source::pages(store.engine.scan(&sealed.documents)));
    frozen.chain(sealed).collect()
}

/// About how many documents there are below the live generation; `None` where there is no such generation.
pub(super) fn count_below(store: &Shared<Fingerprint>) -> Result<Option<u64>> {
    let view = store.view();
    if view.generations.is_empty_below() {
        return Ok(None);
    }
    let frozen = view.frozen.as_ref().map_or(Ok(0), |rows| store.engine.approximate_keys(&rows.documents))?;
    Ok(Some(frozen + view.generations.sealed.map_or(0, |sealed| sealed.documents)))
}

/// Puts an empty live generation before the one so far, unless that was never used.
fn freeze(store: &Shared<Fingerprint>) -> Result<bool> {
    if !store.view().live.is_used() {
        return Ok(false);
    }
    set_aside(store)?;
    Ok(true)
}

fn set_aside(store: &Shared<Fingerprint>) -> Result<()> {
    let old = store.view().generations;
    let _copies = store.engine.without_copies();
    super::commit::drop_unnamed(store, old)?;
    let live = old.next();
    let (identity_bytes, retention) = (IDENTITY_BYTES, store.settings.retention_millis);
    store.engine.create_families(&Family::live(&store.record.design, identity_bytes, retention, live), retention, 0)?;
    store.set_generations(Generations { live, frozen: Some(old.live), ..old })
}

/// Writes the frozen and the sealed generation as one.
fn merge(
    store: &Arc<Shared<Fingerprint>>,
    options: &LoadOptions,
    report: &mut LoadReport,
    progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<()> {
    let total = count_below(store)?.unwrap_or(0);
    let walk = Walk::new(below(store), 8, lifetime(store)?, store.engine.path());
    rewrite(store, options, walk, total, report, progress, |old, sealed| Generations { frozen: None, sealed, ..old })
}

/// Writes documents as the sealed generation; `change` says what else changes with it.
pub(in crate::store) fn rewrite(
    store: &Arc<Shared<Fingerprint>>,
    options: &LoadOptions,
    walk: Walk,
    total: u64,
    report: &mut LoadReport,
    progress: impl FnMut(Progress) -> ControlFlow<()>,
    change: impl FnOnce(Generations, Option<crate::format::record::SealedGeneration>) -> Generations + Send,
) -> Result<()> {
    let meter = Meter::new(REMEDY);
    meter.set_total(total * (store.record.design.tables().len() as u64 + 2));
    let temp_dir = options.temp_dir.as_deref();
    let mut folder = Folder::create(store.engine.path(), None, temp_dir, store.view().generations, store.now())?;
    let target = Target::Store { store: Arc::clone(store), folder: folder.path().to_owned() };
    meter.watch(progress, || {
        let build = options.build(&target, &folder, &meter);
        folder.state.documents = Some(build.documents(walk, false, total)?);
        report.phase("documents");
        build.rest(&mut folder, report)?;
        meter.phase("making it visible", 0)?;
        commit(store, &mut folder, change)?;
        folder.remove();
        report.phase("commit");
        Ok(())
    })
}

impl Store<Fingerprint> {
    /// Does [`Store::seal`] where a million documents are live and they are as much as a share of the sealed ones, which
    /// is when a store does it by itself. Returns `None` where it is not due.
    ///
    /// # Errors
    /// Those of [`Store::seal`].
    pub fn seal_if_due(
        &self,
        share: f64,
        options: &LoadOptions,
        progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<LoadReport>> {
        if is_due(&self.shared, share)? { self.seal(options, progress).map(Some) } else { Ok(None) }
    }

    /// Moves the live documents, with the sealed ones, into a new sealed generation, while other calls go on: it
    /// takes less disk, and queries of it are faster. What is stored meanwhile stays live.
    ///
    /// It reads and writes the documents once and sorts their fingerprints for each table, in bounded memory; it
    /// is worth it when the live documents are a sizeable part. Until it ends the disk holds the old and the new
    /// pages. A store does it by itself unless
    /// [`Options::auto_seal`](crate::Options::auto_seal) says otherwise.
    ///
    /// `progress` is told how far it is, and stops it with [`ControlFlow::Break`].
    ///
    /// # Errors
    /// [`Error::Load`](crate::Error::Load) while a load or another seal is under way, [`Error::Stopped`](crate::Error::Stopped),
    /// [`Error::DiskFull`](crate::Error::DiskFull), and what the system reports; the documents are as they were, and
    /// are found.
    pub fn seal(&self, options: &LoadOptions, progress: impl FnMut(Progress) -> ControlFlow<()>) -> Result<LoadReport> {
        self.shared.engine.writable()?;
        seal(&self.shared, options, progress)
    }
}

/// The thread that seals when enough is live.
#[derive(Debug)]
pub(in crate::store) struct Background {
    share: Option<f64>,
    /// The calls that have stored something.
    calls: AtomicU64,
    is_stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Fewer live documents are not worth a new generation.
const FEWEST_LIVE: u64 = 1_000_000;
/// What sealing in the background may sort in memory.
const BACKGROUND_MEMORY_BYTES: usize = 256 << 20;

/// Whether so much is live that it is worth a new generation, or a seal that was stopped has set something aside.
fn is_due(store: &Shared<Fingerprint>, share: f64) -> Result<bool> {
    let view = store.view();
    let live = store.engine.approximate_keys(&view.live.documents)?;
    let sealed = view.generations.sealed.map_or(0, |sealed| sealed.documents);
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more")]
    let is_share = live as f64 >= share * sealed as f64;
    Ok(view.frozen.is_some() || live >= FEWEST_LIVE && is_share)
}

/// So often the number of live documents is looked at.
const CALLS: u64 = 1 << 12;

impl Background {
    /// Seals where the live documents are more than a share of the sealed ones.
    pub(in crate::store) fn new(share: Option<f64>) -> Self {
        Self { share, calls: AtomicU64::new(0), is_stopped: Arc::default(), thread: Mutex::default() }
    }

    /// Counts a call that stores something, and tells whether it is time for a look.
    pub(in crate::store) fn is_due(&self) -> bool {
        self.share.is_some() && self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(CALLS)
    }

    /// Begins to seal, in another thread, where enough documents are live.
    pub(in crate::store) fn look(&self, store: &Arc<Shared<Fingerprint>>) {
        let Some(share) = self.share else { return };
        if store.changes.are_under_way() {
            return;
        }
        // What cannot be counted now is counted later.
        if !is_due(store, share).unwrap_or(false) {
            return;
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let (store, is_stopped) = (Arc::clone(store), Arc::clone(&self.is_stopped));
        *thread = Some(std::thread::spawn(move || {
            let options = LoadOptions::new().memory_bytes(BACKGROUND_MEMORY_BYTES);
            let Some(_changing) = Changing::begin_in_background(&store) else { return };
            let is_wanted = || !is_stopped.load(Ordering::SeqCst) && !store.changes.must_give_way();
            // It is tried again when more was stored; until then answers are right without it.
            let _ = seal_under_way(&store, &options, |_| {
                if is_wanted() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }));
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It panicked, and has said so.
            let _ = thread.join();
        }
    }
}
