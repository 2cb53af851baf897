//! Taking documents, and what becomes of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::build::{Build, SORTED};
use super::documents::{self, DocumentsStep};
use super::folder::{Folder, Read};
use super::meter::Meter;
use super::rows::RowWriter;
use super::runs::{RunWriter, Runs};
use super::{Changing, LoadOptions, LoadReport, Target, commit, files, manifest, seal};
use crate::clock::millis_of;
use crate::format::keys::DocumentValue;
use crate::format::record::Generations;
use crate::store::shared::Shared;
use crate::store::walk::{Lifetime, Source, Walk};
use crate::store::{Document, Progress, Store, checked_id, checked_payload};
use crate::{Error, Fingerprint, Result};

/// So many rows are handed to the threads at once.
const ROWS_TOGETHER: usize = 1 << 16;

fn failed_before() -> Error {
    Error::Load { reason: "it has failed before: begin it again".to_owned() }
}

const REMEDY: &str = "load again, or with the same name to go on after the phases that were finished";

/// Takes documents for a store by the million, and makes them visible all at once; from
/// [`Store::bulk_loader`](crate::Store::bulk_loader).
///
/// Documents are sorted in files outside the store and written in sealed pages, so a load takes a small part of
/// the time and of the disk of as many inserts. Nothing of it is seen before [`BulkLoader::commit`] returns, and
/// everything after; a load that fails, is dropped or killed leaves the store as it was. Other threads may store
/// and query meanwhile.
///
/// Of several documents with one id in the load the last one counts. It takes the place of one that was stored
/// under that id before the load began, as an insert would; one that is stored while the load goes on is newer
/// and stays. What is loaded is not compared with what is stored: near-duplicates are loaded too.
///
/// ```
/// use nearstone::{Fingerprint, LoadOptions, Options, SimhashStore, TableDesign};
///
/// # let dir = tempfile::tempdir()?;
/// let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &Options::new())?;
/// let mut loader = store.bulk_loader(&LoadOptions::new())?;
/// for n in 0..10_000u64 {
///     loader.push(format!("page-{n}"), &Fingerprint::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))?;
/// }
/// assert_eq!(store.stats()?.approximate_documents, 0);
/// let report = loader.commit(|_| std::ops::ControlFlow::Continue(()))?;
/// assert_eq!(report.documents, 10_000);
/// assert_eq!(store.query(&Fingerprint::new(0), 3)?.nearest().unwrap().id_lossy(), "page-0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BulkLoader {
    // Dropped in this order: the folder before others may begin.
    input: Input,
    folder: Folder,
    target: Arc<Target>,
    _changing: Option<Changing>,
    options: LoadOptions,
    began: std::time::Instant,
}

/// What was taken so far.
enum Input {
    /// Documents in any order.
    Runs(RunWriter),
    /// Fingerprints that are numbered.
    Rows(RowWriter),
    /// All of it, by an earlier process.
    Read,
    /// All of it, and it was made visible, too.
    Visible,
    /// Some of it is lost, so the rest is of no use.
    Failed,
}

impl BulkLoader {
    pub(super) fn new(store: &Arc<Shared<Fingerprint>>, options: &LoadOptions) -> Result<Self> {
        store.engine.writable()?;
        let changing = Changing::begin(store)?;
        let (path, tables) = (store.engine.path(), store.record.design.tables().len());
        let name = options.name.as_deref();
        let found = name.and_then(|name| Folder::find(path, name, tables, store.view().generations));
        let folder = if let Some(folder) = found {
            // What was stored since it began is newer, and stays live.
            folder
        } else {
            seal::set_live_aside(store, options)?;
            Folder::create(path, name, options.temp_dir.as_deref(), store.view().generations, store.now())?
        };
        let generations = store.view().generations;
        let target = Target::Store { store: Arc::clone(store), folder: folder.path().to_owned() };
        Ok(Self::with(Arc::new(target), folder, Some(changing), options, generations))
    }

    pub(super) fn with(
        target: Arc<Target>,
        folder: Folder,
        changing: Option<Changing>,
        options: &LoadOptions,
        generations: Generations,
    ) -> Self {
        let input = if folder.is_visible(generations) {
            Input::Visible
        } else if folder.state.read.is_some() {
            Input::Read
        } else if let Some(first) = options.first_row.filter(|_| generations.is_empty_below()) {
            let pairs = documents::pairs(folder.temp(), !target.has_times(), options.memory_bytes);
            Input::Rows(RowWriter::new(&target, first, folder.state.time, pairs, folder.is_resumable()))
        } else {
            Input::Runs(RunWriter::new(folder.temp(), 8, options.memory_bytes / SORTED))
        };
        let (options, began) = (options.clone(), std::time::Instant::now());
        Self { input, folder, target, _changing: changing, options, began }
    }

    fn generations(&self) -> Generations {
        match &*self.target {
            Target::Store { store, .. } => store.view().generations,
            Target::Pages { .. } => Generations::default(),
        }
    }

    /// Whether an earlier process has read the whole input of the load of this name: nothing need be pushed, and
    /// what is pushed is ignored.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self.input, Input::Read | Input::Visible)
    }

    /// How many documents were taken so far, those with an id that comes again included.
    #[must_use]
    pub fn documents(&self) -> u64 {
        match &self.input {
            Input::Runs(runs) => runs.documents(),
            Input::Rows(rows) => rows.documents(),
            Input::Read | Input::Visible => self.folder.state.read.as_ref().map_or(0, |read| read.documents),
            Input::Failed => 0,
        }
    }

    /// Takes a document. It counts as stored when the load began.
    ///
    /// # Errors
    /// [`Error::DocumentId`], [`Error::DiskFull`](crate::Error::DiskFull), and what the system reports;
    /// [`Error::Load`] for a load of numbered rows.
    pub fn push(&mut self, id: impl AsRef<[u8]>, fingerprint: &Fingerprint) -> Result<()> {
        self.push_with(id, fingerprint, &[])
    }

    /// Takes a document with a payload.
    ///
    /// # Errors
    /// Those of [`BulkLoader::push`]; [`Error::Payload`].
    pub fn push_with(&mut self, id: impl AsRef<[u8]>, fingerprint: &Fingerprint, payload: &[u8]) -> Result<()> {
        let time = self.folder.state.time;
        self.take(id.as_ref(), *fingerprint, time, payload)
    }

    /// Takes a document of another store, with its payload and the time at which it was stored.
    ///
    /// # Errors
    /// Those of [`BulkLoader::push_with`].
    pub fn push_document(&mut self, document: &Document<Fingerprint>) -> Result<()> {
        self.take(&document.id, document.sketch, millis_of(document.stored_at), &document.payload)
    }

    /// Takes fingerprints whose ids are their numbers, 8 bytes big-endian, from
    /// [`LoadOptions::rows`] on.
    ///
    /// # Errors
    /// Those of [`BulkLoader::push`]; [`Error::Load`] where the load is not one of numbered rows.
    pub fn push_rows(&mut self, fingerprints: &[Fingerprint]) -> Result<()> {
        let Some(first) = self.options.first_row else {
            return Err(Error::Load { reason: "it takes ids: make it with LoadOptions::rows to number them".into() });
        };
        let last = first.checked_add(self.documents() + (fingerprints.len() as u64).saturating_sub(1));
        if last.is_none() || (self.documents() > 0 && first.wrapping_add(self.documents()) == 0) {
            return Err(Error::Load { reason: "the numbers of the rows go beyond 2^64: begin lower".into() });
        }
        // A bounded part is on its way at once, however many come.
        fingerprints.chunks(ROWS_TOGETHER).try_for_each(|rows| self.take_rows(first, rows))
    }

    fn take_rows(&mut self, first: u64, fingerprints: &[Fingerprint]) -> Result<()> {
        match &mut self.input {
            Input::Read | Input::Visible => Ok(()),
            Input::Failed => Err(failed_before()),
            Input::Rows(rows) => {
                if rows.push(fingerprints.to_vec()) {
                    return Ok(());
                }
                // A thread has ended early, and says why.
                let Input::Rows(rows) = std::mem::replace(&mut self.input, Input::Failed) else { return Ok(()) };
                Err(rows.finish().err().unwrap_or_else(failed_before))
            }
            Input::Runs(_) => {
                for fingerprint in fingerprints {
                    let id = first.wrapping_add(self.documents()).to_be_bytes();
                    self.take_run(&id, *fingerprint, self.folder.state.time, &[])?;
                }
                Ok(())
            }
        }
    }

    pub(super) fn take(&mut self, id: &[u8], fingerprint: Fingerprint, time: u64, payload: &[u8]) -> Result<()> {
        let (id, payload) = (checked_id(id)?, checked_payload(payload)?);
        if self.options.first_row.is_some() {
            return Err(Error::Load { reason: "it numbers its rows: make it without LoadOptions::rows".into() });
        }
        match self.input {
            Input::Failed => Err(failed_before()),
            Input::Runs(_) => self.take_run(id, fingerprint, time, payload),
            _ => Ok(()),
        }
    }

    fn take_run(&mut self, id: &[u8], fingerprint: Fingerprint, time: u64, payload: &[u8]) -> Result<()> {
        let Input::Runs(runs) = &mut self.input else { return Err(failed_before()) };
        let value = DocumentValue { sketch: &fingerprint.to_be_bytes(), stored_at_millis: time, payload };
        runs.push(id, &value).inspect_err(|_| self.input = Input::Failed)
    }

    /// Sorts and writes what was taken, and makes it visible. When this returns the load survives a power cut.
    ///
    /// `progress` is told how far it is, and stops it with [`ControlFlow::Break`]: then the store is as it was.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::DiskFull`](crate::Error::DiskFull), and what the system reports; then nothing was loaded. A load with
    /// a name may go on after the phases that were finished, whatever the error was.
    pub fn commit(self, progress: impl FnMut(Progress) -> ControlFlow<()>) -> Result<LoadReport> {
        let meter = Meter::new(REMEDY);
        let target = Arc::clone(&self.target);
        let ended = meter.watch(progress, || self.finish(&meter));
        if let (Err(_), Target::Pages { design, folder, .. }) = (&ended, &*target) {
            // The folder had nothing in it, and shall be used again.
            for part in files::Part::all(design.tables().len()) {
                let _ = std::fs::remove_dir_all(folder.join(part.name()));
            }
        }
        ended
    }

    fn finish(mut self, meter: &Meter) -> Result<LoadReport> {
        let ended = self.phases(meter);
        if let Err(Error::Load { .. } | Error::Pages { .. }) = ended {
            // A temporary file is not what was written: it must be begun anew.
            self.folder.discard();
        }
        ended
    }

    fn phases(&mut self, meter: &Meter) -> Result<LoadReport> {
        meter.phase("sorting", 0)?;
        let read = self.documents();
        let mut report = LoadReport::new(self.began, read);
        let below = match &*self.target {
            Target::Store { store, .. } => seal::count_below(store)?,
            Target::Pages { .. } => None,
        };
        let tables = self.target.design().tables().len() as u64;
        let is_rows = matches!(self.input, Input::Rows(_));
        let total = read + below.unwrap_or(0);
        meter.set_total(total * (tables + 1 + u64::from(!is_rows)));
        let build = self.options.build(&self.target, &self.folder, meter);
        match std::mem::replace(&mut self.input, Input::Read) {
            Input::Failed => return Err(failed_before()),
            Input::Visible => {
                let generations = self.generations();
                (report.documents, report.sketches) =
                    generations.sealed.map_or((0, 0), |sealed| (sealed.documents, sealed.sketches));
                self.folder.remove();
                return Ok(report);
            }
            Input::Read => {}
            Input::Rows(rows) => {
                self.folder.state.documents = Some(rows.finish()?);
                self.folder.state.read = Some(Read { documents: read, runs: Vec::new(), is_numbered: true });
                self.folder.note()?;
            }
            Input::Runs(runs) => {
                let is_numbered = runs.is_numbered() && below.is_none();
                if self.folder.is_resumable() {
                    let runs = runs.into_files()?;
                    self.folder.state.read = Some(Read { documents: read, runs, is_numbered });
                    self.folder.note()?;
                    report.phase("reading");
                } else {
                    let runs = runs.finish()?;
                    report.phase("reading");
                    self.folder.state.documents = Some(self.write_documents(&build, runs, is_numbered, total)?);
                }
            }
        }
        if self.folder.state.documents.is_none() {
            let read = self.folder.state.read.as_ref().expect("it was just read");
            let (runs, is_numbered) = (Runs::open(&read.runs, 8)?, read.is_numbered);
            self.folder.state.documents = Some(self.write_documents(&build, runs, is_numbered, total)?);
            self.folder.note()?;
        }
        report.phase("documents");
        build.rest(&mut self.folder, &mut report)?;
        meter.phase("making it visible", 0)?;
        match &*self.target {
            Target::Store { store, .. } => {
                commit::commit(store, &mut self.folder, |old, sealed| Generations { frozen: None, sealed, ..old })?;
            }
            Target::Pages { design, has_times, folder } => manifest::write(folder, design, *has_times, &self.folder)?,
        }
        self.folder.remove();
        report.phase("commit");
        Ok(report)
    }

    /// Writes what was taken, and the older documents that it does not replace.
    fn write_documents(&self, build: &Build<'_>, runs: Runs, is_numbered: bool, total: u64) -> Result<DocumentsStep> {
        let mut sources = vec![Source::Runs(runs)];
        let mut lifetime = Lifetime { retention_millis: None, now: 0 };
        if let Target::Store { store, .. } = &*self.target {
            sources.extend(seal::below(store));
            lifetime = seal::lifetime(store)?;
        }
        build.documents(Walk::new(sources, 8, lifetime, &build.temp), is_numbered, total)
    }
}

impl std::fmt::Debug for BulkLoader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BulkLoader").field("folder", &self.folder.path()).finish_non_exhaustive()
    }
}

impl Store<Fingerprint> {
    /// Begins a load of many documents; nothing of it is seen before its [`BulkLoader::commit`].
    ///
    /// # Errors
    /// [`Error::Load`] while another load or seal is under way; [`Error::ReadOnly`](crate::Error::ReadOnly), and
    /// what the system reports.
    pub fn bulk_loader(&self, options: &LoadOptions) -> Result<BulkLoader> {
        BulkLoader::new(&self.shared, options)
    }
}
