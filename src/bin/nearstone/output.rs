//! What is written for programs to read.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use crate::failure::Usage;

const BUFFER_BYTES: usize = 256 << 10;

/// A file, or the standard output, being written.
///
/// A file appears, in place of an older one, when it is finished; a run that fails leaves the older one.
pub(crate) struct Output {
    name: PathBuf,
    sink: Sink,
}

enum Sink {
    Stdout(BufWriter<io::Stdout>),
    /// Written beside the target, to be renamed.
    Beside(BufWriter<NamedTempFile>, PathBuf),
    /// A pipe or device.
    Direct(BufWriter<File>),
}

impl Output {
    /// Opens a file for writing, or the standard output for `-`.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        if path.as_os_str() != "-" {
            refuse_in_store(path)?;
        }
        let sink = Self::sink(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { name: path.to_owned(), sink })
    }

    pub(crate) fn stdout() -> Self {
        Self { name: "-".into(), sink: Sink::Stdout(BufWriter::new(io::stdout())) }
    }

    fn sink(path: &Path) -> io::Result<Sink> {
        if path.as_os_str() == "-" {
            return Ok(Self::stdout().sink);
        }
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(Sink::Direct(BufWriter::new(File::options().write(true).open(path)?)));
        }
        let target = target(path)?;
        let parent = target.parent().unwrap_or(Path::new("/"));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".nearstone-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Those of any new file, which the system lessens by the user's mask.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(parent)?;
        if let Ok(metadata) = fs::metadata(&target) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        Ok(Sink::Beside(BufWriter::with_capacity(BUFFER_BYTES, file), target))
    }

    /// Writes an object as a line.
    pub(crate) fn object(&mut self, object: Map<String, Value>) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&Value::Object(object)).context("cannot encode a row")?;
        line.push(b'\n');
        self.bytes(&line)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let written = match &mut self.sink {
            Sink::Stdout(sink) => sink.write_all(bytes),
            Sink::Beside(sink, _) => sink.write_all(bytes),
            Sink::Direct(sink) => sink.write_all(bytes),
        };
        written.with_context(|| self.failed())
    }

    /// Writes out what is buffered for a reader at the other end. A file has none before it is finished.
    pub(crate) fn idle(&mut self) -> anyhow::Result<()> {
        match &mut self.sink {
            Sink::Stdout(sink) => sink.flush().with_context(|| self.failed()),
            Sink::Direct(sink) => sink.flush().with_context(|| self.failed()),
            Sink::Beside(..) => Ok(()),
        }
    }

    /// Writes out what is buffered, to the medium where it is a file.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        let flushed = match &mut self.sink {
            Sink::Stdout(sink) => sink.flush(),
            Sink::Beside(sink, _) => sink.flush().and_then(|()| sink.get_ref().as_file().sync_all()),
            Sink::Direct(sink) => sink.flush(),
        };
        flushed.with_context(|| self.failed())
    }

    /// Writes out what is buffered, and puts the file in its place.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let failed = self.failed();
        let finished = match self.sink {
            Sink::Stdout(mut sink) => sink.flush(),
            Sink::Direct(mut sink) => sink.flush(),
            Sink::Beside(sink, target) => sink
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(|file| file.persist(target).map(|_| ()).map_err(|e| e.error)),
        };
        finished.context(failed)
    }

    fn failed(&self) -> String {
        let name =
            if self.name.as_os_str() == "-" { "the standard output".into() } else { self.name.display().to_string() };
        format!("cannot write {name}")
    }
}

/// The file that a path leads to, whether it exists yet or not.
fn target(path: &Path) -> io::Result<PathBuf> {
    if fs::symlink_metadata(path).is_ok() {
        return fs::canonicalize(path);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no file name"))?;
    Ok(fs::canonicalize(parent)?.join(name))
}

/// What a store has in its folder (docs/format.md, A store).
const STORE_MARK: &str = "NEARSTONE-LOCK";

/// Fails where something would be written into the folder of a store, whose files are not ours to replace.
pub(crate) fn refuse_in_store(path: &Path) -> Result<(), Usage> {
    let Ok(target) = target(path) else { return Ok(()) };
    match target.ancestors().skip(1).find(|folder| folder.join(STORE_MARK).exists()) {
        Some(store) => {
            let (path, store) = (path.display(), store.display());
            Err(Usage(format!("{path} is in the folder of the store {store}: write to another place")))
        }
        None => Ok(()),
    }
}

/// Fails where a run would write to what it reads, or write two outputs to one file, under whatever
/// names.
pub(crate) fn check_distinct<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    outputs: &[&PathBuf],
) -> Result<(), Usage> {
    let same = |a: &Path, b: &Path| {
        a == b
            || same_file::is_same_file(a, b).unwrap_or(false)
            || matches!((target(a), target(b)), (Ok(a), Ok(b)) if a == b)
    };
    let inputs: Vec<&PathBuf> = inputs.into_iter().collect();
    for (i, output) in outputs.iter().enumerate() {
        if let Some(input) = inputs.iter().find(|input| input.as_os_str() != "-" && same(input, output)) {
            return Err(Usage(format!("{} is both input and output: write to another file", input.display())));
        }
        if let Some(other) = outputs[..i].iter().find(|other| same(other, output)) {
            return Err(Usage(format!("{} and {} are the same output: name two", other.display(), output.display())));
        }
    }
    Ok(())
}

/// Puts bytes into an object: as text, or where they are not UTF-8 as hexadecimal digits under a name that says so.
pub(crate) fn put_bytes(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        object.insert(name.to_owned(), text.into());
    } else {
        let hex = bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        object.insert(format!("{name}_hex"), hex.into());
    }
}

/// The number that an id of a numbered row is. Texts do not begin with a zero byte.
fn row_number(id: &[u8]) -> Option<u64> {
    id.try_into().ok().map(u64::from_be_bytes).filter(|row| row >> 56 == 0)
}

/// The id that the user names: a text, or the number of a row.
pub(crate) fn asked_id(text: &str, is_row: bool) -> Result<Vec<u8>, Usage> {
    if !is_row {
        return Ok(text.as_bytes().to_vec());
    }
    let row = text.parse::<u64>().map_err(|_| Usage(format!("{text:?} is not the number of a row")))?;
    Ok(row.to_be_bytes().to_vec())
}

/// An id for people and tables: a text, the number of a row, or hexadecimal digits.
pub(crate) fn shown_id(id: &[u8]) -> Vec<u8> {
    match row_number(id) {
        Some(row) => row.to_string().into_bytes(),
        None => id.to_vec(),
    }
}

/// Puts an id into an object: the number of a row as a number, another one as text, or where it is not UTF-8 as hexadecimal digits under a name
/// that says so.
pub(crate) fn put_id(object: &mut Map<String, Value>, name: &str, id: &[u8]) {
    match row_number(id) {
        Some(row) => drop(object.insert(name.to_owned(), row.into())),
        None => put_bytes(object, name, id),
    }
}
