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

use super::build::{DocumentsStep, HoldersStep};
use super::files::{PageFile, failed};
use crate::Result;
use crate::format::record::Generations;

/// The name of the folder.
const NAME: &str = "nearstone-load";
const STATE: &str = "state.json";
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
    pub(super) live: u64,
    pub(super) sealed: Option<u64>,
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
    pub(super) runs: Vec<PathBuf>,
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
    /// Goes on with the load of this name and of these generations, or begins a new one.
    pub(super) fn open(
        store: &Path,
        name: Option<&str>,
        temp_dir: Option<&Path>,
        generations: Generations,
        time: u64,
    ) -> Result<Self> {
        let path = store.join(NAME);
        let sealed = generations.sealed.map(|sealed| sealed.number);
        if let Some(state) = read(&path)
            && state.name.as_deref() == name
            && name.is_some()
            && (state.live, state.sealed) == (generations.live, sealed)
            && state.temp.is_dir()
        {
            return Ok(Self { path, state, is_kept: true });
        }
        clean(store)?;
        fs::create_dir(&path).map_err(|e| failed("create", &path, e))?;
        let state = State {
            version: VERSION,
            name: name.map(ToOwned::to_owned),
            temp: path.join("temp"),
            live: generations.live,
            sealed,
            time,
            read: None,
            documents: None,
            holders: None,
            tables: Vec::new(),
        };
        let mut folder = Self { path, state, is_kept: name.is_some() };
        let Some(parent) = temp_dir else {
            folder.save()?;
            fs::create_dir(&folder.state.temp).map_err(|e| failed("create", &folder.state.temp, e))?;
            return Ok(folder);
        };
        let parent = fs::canonicalize(parent).map_err(|e| failed("use", parent, e))?;
        // The state names the folder before it exists: a crash in between leaves nothing that nobody knows.
        let made = tempfile::Builder::new().prefix(TEMP_PREFIX).rand_bytes(12).make_in(&parent, |temp| {
            temp.clone_into(&mut folder.state.temp);
            folder.save().map_err(io::Error::other)?;
            fs::create_dir(temp)
        });
        let made = made.map_err(|e| failed("create a folder in", &parent, e))?;
        made.into_temp_path().keep().map_err(|e| failed("keep", &parent, e.error))?;
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

    /// Writes the state down, where somebody could go on with it or must clean up.
    pub(super) fn save(&self) -> Result<()> {
        let (path, beside) = (self.path.join(STATE), self.path.join("state.new"));
        let write = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            file.write_all(&serde_json::to_vec(&self.state)?)?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|e| failed("write", &path, e))
    }

    /// Removes everything.
    pub(super) fn remove(mut self) -> Result<()> {
        self.is_kept = true;
        remove_all(&self.path, Some(&self.state))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed now is removed at the next opening.
            let _ = remove_all(&self.path, Some(&self.state));
        }
    }
}

fn read(path: &Path) -> Option<State> {
    let bytes = fs::read(path.join(STATE)).ok()?;
    serde_json::from_slice::<State>(&bytes).ok().filter(|state| state.version == VERSION)
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
    let remove = |path: &Path| match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, e)),
        _ => Ok(()),
    };
    if let Some(state) = state {
        let is_ours = state.temp.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMP_PREFIX));
        if is_ours {
            remove(&state.temp)?;
        }
    }
    // The state goes last, so that it names the temporary files as long as there are any.
    remove(path)
}
