//! Which files: those named, and those below folders.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use walkdir::WalkDir;

use super::stream::STDIN;
use super::{BadPattern, BadRecord};

/// How the names of unfinished outputs begin; they are never read from below a folder.
const UNFINISHED: &str = ".nearstone-";

/// The files still to be read.
#[derive(Debug)]
pub(super) struct Files {
    paths: VecDeque<PathBuf>,
    include: Vec<GlobMatcher>,
    excluded: Vec<PathBuf>,
    walk: Option<Walk>,
}

/// A folder in progress.
struct Walk {
    root: PathBuf,
    entries: walkdir::IntoIter,
    found: bool,
}

impl std::fmt::Debug for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Files {
    pub(super) fn new(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let paths = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Self { paths, include: vec![], excluded: vec![], walk: None }
    }

    pub(super) fn include(&mut self, patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<(), BadPattern> {
        let matchers = patterns.into_iter().map(|pattern| {
            let pattern = pattern.as_ref();
            let bad = |e: globset::Error| BadPattern { pattern: pattern.to_owned(), reason: e.kind().to_string() };
            Glob::new(pattern).map(|glob| glob.compile_matcher()).map_err(bad)
        });
        self.include = matchers.collect::<Result<_, _>>()?;
        Ok(())
    }

    pub(super) fn exclude(&mut self, path: &Path) {
        // A path that does not lead to a file yet cannot be found below a folder either.
        self.excluded.extend(fs::canonicalize(path).ok());
    }

    pub(super) fn total_bytes(&self) -> Option<u64> {
        let size = |path: &PathBuf| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|m| m.len());
        self.paths.iter().map(size).sum()
    }

    fn is_wanted(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or(path.as_os_str());
        // An output that is being written, or that a killed run has left.
        if name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            return false;
        }
        let included = self.include.is_empty() || self.include.iter().any(|glob| glob.is_match(name));
        included
            && (self.excluded.is_empty()
                || !fs::canonicalize(path)
                    .is_ok_and(|path| self.excluded.iter().any(|excluded| path.starts_with(excluded))))
    }

    /// Returns the next file, and whether it was named itself.
    pub(super) fn next(&mut self) -> Option<Result<(PathBuf, bool), BadRecord>> {
        loop {
            let Some(walk) = &mut self.walk else {
                let path = self.paths.pop_front()?;
                if path.as_os_str() != STDIN && path.is_dir() {
                    // Neither links to folders, which may lead in circles, nor links to files, which
                    // are usually below the folder themselves.
                    let entries = WalkDir::new(&path).sort_by_file_name().into_iter();
                    self.walk = Some(Walk { root: path, entries, found: false });
                    continue;
                }
                return Some(Ok((path, true)));
            };
            match walk.entries.next() {
                Some(Ok(entry)) if !entry.file_type().is_file() => {}
                Some(Ok(entry)) => {
                    let path = entry.into_path();
                    if self.is_wanted(&path) {
                        self.walk.as_mut().expect("it is being walked").found = true;
                        return Some(Ok((path, false)));
                    }
                }
                Some(Err(e)) => {
                    walk.found = true;
                    let path = e.path().unwrap_or(&walk.root).to_owned();
                    let reason = e.io_error().map_or_else(|| e.to_string(), ToString::to_string);
                    return Some(Err(BadRecord::of_file(
                        &path,
                        None,
                        format!("cannot be read ({reason})"),
                        "give it read permission, or leave it out",
                    )));
                }
                None => {
                    let walk = self.walk.take().expect("it is being walked");
                    if !walk.found {
                        let remedy = "check the folder and the patterns of --include";
                        return Some(Err(BadRecord::of_file(
                            &walk.root,
                            None,
                            "no file in this folder is wanted",
                            remedy,
                        )));
                    }
                }
            }
        }
    }
}
