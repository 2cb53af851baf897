//! A file that grows under another name, and that a later run can go on with.
//!
//! Beside FILE its beginning is kept as FILE.part, and what is needed to go on as FILE.part.state. A state is written
//! after the bytes that it counts were forced to the medium, in place of the one before, so it is whole and never
//! ahead of them; what a killed run has written beyond it is cut off.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::failure::Usage;
use crate::output::refuse_in_store;

/// Between two states so many times the time passes that it took to write one.
const SAVE_TIMES: u32 = 20;

const BUFFER_BYTES: usize = 256 << 10;

/// What a later run needs.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// What was asked for, to be compared word by word.
    asked: Vec<(String, String)>,
    length: u64,
    point: String,
}

pub(crate) struct Growing {
    target: PathBuf,
    part: PathBuf,
    state: PathBuf,
    file: BufWriter<File>,
    length: u64,
    asked: Vec<(String, String)>,
    /// When the latest state was written, and how long that took.
    saved: Option<(Instant, Duration)>,
}

impl Growing {
    /// Begins the file, or goes on with it and returns the point that was saved. `asked` is what both runs must ask
    /// for, by name.
    pub(crate) fn open(
        target: &Path,
        asked: Vec<(String, String)>,
        resume: bool,
    ) -> anyhow::Result<(Self, Option<String>)> {
        refuse_in_store(target)?;
        let beside = |suffix: &str| {
            let mut name = target.file_name().map(OsString::from)?;
            name.push(suffix);
            Some(target.with_file_name(name))
        };
        let (Some(part), Some(state)) = (beside(".part"), beside(".part.state")) else {
            return Err(Usage(format!("{} has no file name", target.display())).into());
        };
        let found = if resume { Some(read(&state, &part, &asked)?) } else { None };
        let mut file = File::options().write(true).create(true).truncate(found.is_none()).open(&part);
        let length = found.as_ref().map_or(0, |found| found.length);
        if let Ok(file) = &mut file {
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
        }
        let file = file.with_context(|| format!("cannot write {}", part.display()))?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let growing = Self { target: target.to_owned(), part, state, file, length, asked, saved: None };
        if found.is_none() {
            remove(&growing.state)?;
        }
        Ok((growing, found.map(|found| found.point)))
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.length += bytes.len() as u64;
        self.file.write_all(bytes).with_context(|| format!("cannot write {}", self.part.display()))
    }

    /// Whether it is time to save.
    pub(crate) fn is_due(&self) -> bool {
        self.saved.is_none_or(|(at, took)| at.elapsed() >= SAVE_TIMES * took)
    }

    /// Notes that a later run can go on from here.
    pub(crate) fn save(&mut self, point: String) -> anyhow::Result<()> {
        let began = Instant::now();
        let state = State { asked: self.asked.clone(), length: self.length, point };
        self.try_save(&state).with_context(|| format!("cannot write {}", self.state.display()))?;
        self.saved = Some((Instant::now(), began.elapsed()));
        Ok(())
    }

    fn try_save(&mut self, state: &State) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        let folder = folder(&self.state);
        let mut file = tempfile::Builder::new().prefix(".nearstone-").tempfile_in(folder)?;
        serde_json::to_writer(&mut file, state)?;
        file.as_file().sync_all()?;
        file.persist(&self.state).map_err(|e| e.error)?;
        Ok(())
    }

    /// Puts the file in its place.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let mut finish = || {
            self.file.flush()?;
            self.file.get_ref().sync_all()?;
            fs::rename(&self.part, &self.target)
        };
        finish().with_context(|| format!("cannot write {}", self.target.display()))?;
        remove(&self.state)
    }
}

fn read(path: &Path, part: &Path, asked: &[(String, String)]) -> anyhow::Result<State> {
    let refused = |why: String| Usage(format!("{why}: leave --resume out to begin again"));
    let text = match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(refused(format!("there is no run to go on with, {} is missing", path.display())).into());
        }
        read => read.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let state: State = serde_json::from_slice(&text)
        .map_err(|e| refused(format!("{} does not say how to go on ({e})", path.display())))?;
    for ((name, value), (_, before)) in asked.iter().zip(&state.asked) {
        if value != before {
            return Err(refused(format!("the run that was interrupted had {name} {before}, asked for {value}")).into());
        }
    }
    let length = fs::metadata(part).map_or(0, |part| part.len());
    if length < state.length || asked.len() != state.asked.len() {
        let found = format!("{} has {length} bytes of {}", part.display(), state.length);
        return Err(refused(found).into());
    }
    Ok(state)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
