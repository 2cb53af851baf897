//! The folder in which a generation is made, inside the directory of its store.
//!
//! 1. Everything that is written before a generation is visible lies in this folder, or in one for temporary files
//!    that the state in this folder names. So whoever opens the store next for writing can remove it all.
//! 2. The state names a phase as finished after its files are on the medium, and is itself replaced as a whole. A
//!    load that goes on trusts what the state says and nothing else.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::build::HoldersStep;
use super::documents::DocumentsStep;
use super::files::{PageFile, Part, failed, sync_folder};
use super::runs::RunPath;
use crate::Result;
use crate::format::record::Generations;
use crate::hash::checksum;

/// The name of the folder.
pub(super) const NAME: &str = "nearstone-load";
/// The file of the state: a checksum of 8 bytes, then JSON.
const STATE: &str = "state";
/// What the names of folders for temporary files begin with.
const TEMP_PREFIX: &str = "nearstone-load-";
/// The version of the state: another build may write it otherwise, and then there is nothing to go on with.
const VERSION: u32 = 1;

/// How far a load is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// What the load was called; one without a name is not gone on with.
    pub(super) name: Option<String>,
    /// Where temporary files are.
    temp: PathBuf,
    /// The generations that it is added to.
    live: u64,
    frozen: Option<u64>,
    sealed: Option<u64>,
    /// The number of the generation that it was about to make visible.
    pub(super) number: Option<u64>,
    /// When the documents count as stored, in milliseconds since 1970.
    pub(super) time: u64,
    /// How many documents were read, once all are.
    pub(super) read: Option<Read>,
    pub(super) documents: Option<DocumentsStep>,
    pub(super) holders: Option<HoldersStep>,
    pub(super) tables: Vec<Vec<PageFile>>,
}

/// All documents, sorted in runs, unless they went straight into pages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Read {
    pub(super) documents: u64,
    pub(super) runs: Vec<RunPath>,
    pub(super) is_numbered: bool,
}

/// The folder, which is removed when this is dropped, unless it was kept.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    pub(super) state: State,
    is_kept: bool,
}

impl Folder {
    /// The bytes of the finished files of a part, as far as they are there.
    pub(super) fn bytes(&self, part: Part) -> u64 {
        let folder = self.path().join(part.name());
        let sizes = self.state.files(part).iter().filter_map(|file| fs::metadata(folder.join(&file.name)).ok());
        sizes.map(|metadata| metadata.len()).sum()
    }
}

impl State {
    /// The finished files of a part.
    pub(super) fn files(&self, part: Part) -> &[PageFile] {
        match part {
            Part::Documents => self.documents.as_ref().map_or(&[], |step| &step.files),
            Part::Holders => self.holders.as_ref().map_or(&[], |step| &step.files),
            Part::Table(index) => self.tables.get(index).map_or(&[], |files| files),
        }
    }

    /// Whether everything is there that it says is there.
    fn is_whole(&self, path: &Path, tables: usize) -> bool {
        let has = |part: Part| self.files(part).iter().all(|file| path.join(part.name()).join(&file.name).is_file());
        let runs = self.read.iter().flat_map(|read| &read.runs).all(RunPath::is_in_place);
        let steps = match (&self.documents, &self.holders) {
            (_, Some(holders)) => self.tables.len() == tables || holders.is_in_place(),
            (Some(documents), None) => documents.pairs.is_in_place(),
            (None, None) => runs,
        };
        self.temp.is_dir() && self.tables.len() <= tables && Part::all(tables).all(has) && steps
    }
}

impl Folder {
    /// Finds what is left of the load with a name, if it can be gone on with.
    pub(super) fn find(store: &Path, name: &str, tables: usize, generations: Generations) -> Option<Self> {
        let path = fs::canonicalize(store).ok()?.join(NAME);
        let state = read(&path).filter(|state| state.name.as_deref() == Some(name))?;
        let folder = Self { path, state, is_kept: true };
        let sealed = generations.sealed.map(|sealed| sealed.number);
        let state = &folder.state;
        let is_added_to =
            (state.frozen, state.sealed) == (generations.frozen, sealed) && state.live == generations.live;
        let is_of_use = folder.is_visible(generations) || is_added_to && state.is_whole(&folder.path, tables);
        is_of_use.then_some(folder)
    }

    /// Whether what it was to make is the sealed generation already: the process was killed right after that.
    pub(super) fn is_visible(&self, generations: Generations) -> bool {
        let sealed = generations.sealed.map(|sealed| sealed.number);
        self.state.number.is_some() && self.state.number == sealed
    }

    /// Begins in a new folder, in place of what is left of other loads.
    pub(super) fn create(
        store: &Path,
        name: Option<&str>,
        temp_dir: Option<&Path>,
        generations: Generations,
        time: u64,
    ) -> Result<Self> {
        // Whole, since another process that goes on with it may be in another directory.
        let path = fs::canonicalize(store).map_err(|e| failed("use", store, e))?.join(NAME);
        clean(store)?;
        fs::create_dir(&path).map_err(|e| failed("create", &path, e))?;
        let state = State {
            version: VERSION,
            name: name.map(ToOwned::to_owned),
            temp: path.join("temp"),
            live: generations.live,
            frozen: generations.frozen,
            sealed: generations.sealed.map(|sealed| sealed.number),
            number: None,
            time,
            read: None,
            documents: None,
            holders: None,
            tables: Vec::new(),
        };
        // What fails from here on is removed, unless it was done once.
        let mut folder = Self { path, state, is_kept: false };
        let Some(parent) = temp_dir else {
            folder.save()?;
            fs::create_dir(&folder.state.temp).map_err(|e| failed("create", &folder.state.temp, e))?;
            folder.is_kept = name.is_some();
            return Ok(folder);
        };
        let parent = fs::canonicalize(parent).map_err(|e| failed("use", parent, e))?;
        let owner = owner(store);
        // The state names the folder before it exists: a crash in between leaves nothing that nobody knows.
        let made = tempfile::Builder::new().prefix(TEMP_PREFIX).rand_bytes(12).make_in(&parent, |temp| {
            temp.clone_into(&mut folder.state.temp);
            folder.save().map_err(io::Error::other)?;
            fs::create_dir(temp)?;
            fs::write(temp.join(OWNER), &owner)
        });
        let made = made.map_err(|e| failed("create a folder in", &parent, e))?;
        made.into_temp_path().keep().map_err(|e| failed("keep", &parent, e.error))?;
        folder.is_kept = name.is_some();
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn temp(&self) -> &Path {
        &self.state.temp
    }

    pub(super) fn is_resumable(&self) -> bool {
        self.state.name.is_some()
    }

    /// Writes the state down where somebody may go on with it.
    pub(super) fn note(&self) -> Result<()> {
        if !self.is_resumable() {
            return Ok(());
        }
        // The files that it names are on the medium; their names must be, too.
        for entry in fs::read_dir(&self.path).map_err(|e| failed("read", &self.path, e))?.flatten() {
            if entry.path().is_dir() {
                sync_folder(&entry.path())?;
            }
        }
        sync_folder(&self.state.temp)?;
        sync_folder(&self.state.temp.join("values"))?;
        self.save()
    }

    fn save(&self) -> Result<()> {
        let (path, beside) = (self.path.join(STATE), self.path.join("state.new"));
        let write = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            let state = serde_json::to_vec(&self.state)?;
            file.write_all(&checksum(&state).to_be_bytes())?;
            file.write_all(&state)?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|e| failed("write", &path, e))?;
        sync_folder(&self.path)
    }

    /// Gives up what was done: it is not what it should be, so nobody is to go on with it.
    pub(super) fn discard(&mut self) {
        self.is_kept = false;
    }

    /// Removes everything. The work is done: what cannot be removed now is removed at the next opening.
    pub(super) fn remove(&mut self) {
        self.is_kept = false;
        let _ = remove_all(&self.path, Some(&self.state));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Before anything is read there is nothing to go on with.
        if !self.is_kept || self.state.read.is_none() {
            // What cannot be removed now is removed at the next opening.
            let _ = remove_all(&self.path, Some(&self.state));
        }
    }
}

/// What a folder for temporary files has in its file of this name: the store that it belongs to.
const OWNER: &str = "STORE";

fn owner(store: &Path) -> Vec<u8> {
    let path = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn read(path: &Path) -> Option<State> {
    let bytes = fs::read(path.join(STATE)).ok()?;
    let (sum, state) = bytes.split_first_chunk::<8>()?;
    let is_whole = checksum(state).to_be_bytes() == *sum;
    serde_json::from_slice::<State>(state).ok().filter(|state| is_whole && state.version == VERSION)
}

/// Removes what loads that were interrupted have left of the store in a directory.
pub(in crate::store) fn clean(store: &Path) -> Result<()> {
    let path = store.join(NAME);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(());
    }
    remove_all(&path, read(&path).as_ref())
}

fn remove_all(path: &Path, state: Option<&State>) -> Result<()> {
    if let Some(state) = state {
        let is_named_so = state.temp.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMP_PREFIX));
        // A copy of a store names the folder of the store that it was copied from. The owner may be cut short.
        let is_owned = match fs::read(state.temp.join(OWNER)) {
            Ok(found) => path.parent().is_some_and(|store| owner(store).starts_with(&found)),
            Err(_) => fs::read_dir(&state.temp).is_ok_and(|mut entries| entries.next().is_none()),
        };
        if is_named_so && is_owned {
            remove_last(&state.temp, OWNER)?;
        }
    }
    // The state names the temporary files as long as there are any, and what was done as long as anything is left.
    remove_last(path, STATE)
}

/// Removes a folder, and a file of it after all else, so that it tells what the folder is until the end.
fn remove_last(folder: &Path, last: &str) -> Result<()> {
    let remove = |path: &Path| {
        let removed =
            if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match removed {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, e)),
            _ => Ok(()),
        }
    };
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|e| failed("read", folder, e))?,
    };
    for entry in entries.flatten().filter(|entry| entry.file_name() != last) {
        remove(&entry.path())?;
    }
    remove(&folder.join(last))?;
    fs::remove_dir(folder).map_err(|e| failed("remove", folder, e))
}
