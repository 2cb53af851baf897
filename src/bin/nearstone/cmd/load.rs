//! `nearstone load`

use std::fmt::Write;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use nearstone::input::{Fields, FingerprintInputs, Format, Inputs};
use nearstone::{BulkLoader, LoadReport, Options, Simhash, SimhashStore};

use crate::args::{Load, LoadFormat};
use crate::failure::{Outcome, Usage};
use crate::interrupt;
use crate::pipeline::{self, Event};
use crate::progress::{Progress, Steps, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Load) -> anyhow::Result<Outcome> {
    if let [folder] = &args.inputs[..]
        && args.format.is_none()
        && is_exchange(folder)
    {
        return load_pages(args, folder);
    }
    let kind = Kind::of(args)?;
    let mut options = Options::new().auto_seal(None);
    if kind != Kind::Texts {
        options = options.sketches_only();
    }
    if args.resume {
        options = options.keep_unfinished_load();
    }
    let name = name(args)?;
    let store = SimhashStore::open(&args.store, &options)?;
    let mut load = args.work.options();
    if let Some(name) = name {
        load = load.name(name);
    }
    if kind == Kind::Rows {
        load = load.rows(args.rows.unwrap_or(0));
    }
    let mut loader = store.bulk_loader(&load)?;
    let mut bad = 0;
    if loader.is_read() {
        if !args.work.quiet {
            say!("going on with {} documents that were read before", thousands(loader.documents()));
        }
    } else {
        if kind == Kind::Rows && args.rows.is_none() && store.iter()?.next().is_some() {
            let why = "the store holds documents already: say with --rows from which number on the new ones are \
                       numbered, so that they do not take the place of others";
            return Err(Usage(why.to_owned()).into());
        }
        if args.resume && !args.work.quiet {
            say!("nothing of such a load is left to go on with: beginning anew");
        }
        bad = match kind {
            Kind::Texts => read_texts(args, &store, &mut loader)?,
            Kind::Ids | Kind::Rows => read_fingerprints(args, &store, kind == Kind::Rows, &mut loader)?,
        };
    }
    let quiet = args.work.quiet;
    let report = Steps::during(quiet, |show| loader.commit(show))?;
    tell(&report, bad, quiet);
    Ok(Outcome::Done)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Texts to be fingerprinted.
    Texts,
    /// Fingerprints with ids.
    Ids,
    /// Fingerprints that are numbered.
    Rows,
}

impl Kind {
    /// What all inputs are, which must be the same.
    fn of(args: &Load) -> Result<Self, Usage> {
        let mut kinds = args.inputs.iter().map(|input| {
            let format = args.format.or_else(|| by_name(input));
            match format {
                Some(LoadFormat::U64Le | LoadFormat::U64Be | LoadFormat::Hex) => Self::Rows,
                Some(format) if format.of_fingerprints(args.fingerprints).is_some() => Self::Ids,
                None if args.fingerprints => Self::Ids,
                _ => Self::Texts,
            }
        });
        let first = kinds.next().unwrap_or(Self::Texts);
        if kinds.any(|kind| kind != first) {
            let why =
                "inputs with ids, inputs without and texts cannot be loaded together: load them one after the other";
            return Err(Usage(why.to_owned()));
        }
        match (first, args.rows) {
            (Self::Texts, Some(_)) => Err(Usage("--rows is for fingerprints: texts have ids".to_owned())),
            (Self::Ids, Some(_)) => Ok(Self::Rows),
            (kind, _) => Ok(kind),
        }
    }
}

/// The format that the name of a file tells.
fn by_name(path: &Path) -> Option<LoadFormat> {
    let is_compressed =
        path.extension().is_some_and(|e| ["gz", "zst", "zstd"].iter().any(|c| e.eq_ignore_ascii_case(c)));
    let bare = if is_compressed { path.with_extension("") } else { path.to_owned() };
    match bare.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "u64" | "u64le" | "bin" => Some(LoadFormat::U64Le),
        "u64be" => Some(LoadFormat::U64Be),
        "hex" => Some(LoadFormat::Hex),
        "csv" => Some(LoadFormat::Csv),
        "tsv" => Some(LoadFormat::Tsv),
        _ => None,
    }
}

/// What is loaded, so that a load of something else does not go on with what this one has done. The standard input
/// cannot be told from another one.
fn name(args: &Load) -> Result<Option<String>, Usage> {
    if args.inputs.iter().any(|input| input.as_os_str() == "-") {
        if args.resume {
            let why = "--resume needs files: what the standard input brings cannot be compared with what was read";
            return Err(Usage(why.to_owned()));
        }
        return Ok(None);
    }
    let mut name = format!("{:?} {} {:?} {}", args.format, args.fingerprints, args.rows, args.row_ids);
    let fields = [&args.id_field, &args.text_field, &args.fingerprint_field];
    let (include, bytes) = (&args.include, args.max_record_bytes);
    let _ = write!(name, " {fields:?} {:?} {include:?} {} {bytes}", args.encoding, args.skip_bad);
    for input in &args.inputs {
        let path = std::path::absolute(input).unwrap_or_else(|_| input.clone());
        let mut files = DefaultHasher::new();
        hash_files(&path, &mut files);
        let _ = write!(name, " {}:{:016x}", path.display(), files.finish());
    }
    Ok(Some(name))
}

/// Hashes the names, sizes and times of a file, or of all below a folder.
fn hash_files(path: &Path, hasher: &mut DefaultHasher) {
    let Ok(metadata) = std::fs::metadata(path) else { return };
    path.hash(hasher);
    metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).hash(hasher);
    if metadata.is_file() {
        metadata.len().hash(hasher);
        return;
    }
    let mut entries: Vec<_> = std::fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    for entry in entries.iter().filter(|entry| !entry.is_symlink()) {
        hash_files(entry, hasher);
    }
}

/// Whether a folder holds page files.
fn is_exchange(folder: &Path) -> bool {
    // The first field of the manifest.
    let mut head = Vec::new();
    let read = File::open(folder.join("manifest.json")).and_then(|file| file.take(256).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains("nearstone-pages/")
}

fn read_texts(args: &Load, store: &SimhashStore, loader: &mut BulkLoader) -> anyhow::Result<u64> {
    let format = match args.format {
        Some(LoadFormat::Text) => Format::Text,
        Some(_) => Format::JsonLines,
        None => Format::Auto,
    };
    let inputs = Inputs::new(&args.inputs).format(format).max_record_bytes(args.max_record_bytes);
    let inputs = inputs.include(&args.include).map_err(|e| Usage(e.to_string()))?.exclude(store.path());
    let fields = Fields { id: Some(args.id_field.clone()), text: args.text_field.clone() };
    let analyser = store.analyser().ok_or_else(|| nearstone::Error::NoAnalyser { path: args.store.clone() })?;
    let simhash = Simhash::new(analyser.clone());
    let progress = Progress::new(&inputs, args.work.quiet);
    let (mut bad, mut without) = (0, 0u64);
    pipeline::run(inputs, &fields, &simhash, args.work.threads(), |event| {
        let Event::Document(item) = event else { return Ok(()) };
        match item {
            Err(e) if args.skip_bad => {
                bad += 1;
                progress.line(&format!("nearstone: {e}"));
            }
            Err(e) => return Err(e.into()),
            Ok(item) => match item.fingerprint {
                None => without += 1,
                Some(fingerprint) => loader.push(&item.id, &fingerprint)?,
            },
        }
        progress.documents(loader.documents());
        Ok(())
    })?;
    progress.finish();
    if without > 0 && !args.work.quiet {
        say!(
            "{} records without features (no letter, digit or emoji) are near nothing and were left out",
            thousands(without)
        );
    }
    Ok(bad)
}

fn read_fingerprints(
    args: &Load,
    store: &SimhashStore,
    are_rows: bool,
    loader: &mut BulkLoader,
) -> anyhow::Result<u64> {
    let mut inputs = FingerprintInputs::new(&args.inputs)
        .fingerprint_field(&args.fingerprint_field)
        .encoding(args.encoding.into())
        .max_record_bytes(args.max_record_bytes);
    if let Some(format) = args.format.and_then(|format| format.of_fingerprints(true)) {
        inputs = inputs.format(format);
    }
    if !are_rows {
        inputs = inputs.id_field(&args.id_field);
    }
    let inputs = inputs.include(&args.include).map_err(|e| Usage(e.to_string()))?.exclude(store.path());
    let progress = Progress::of_bytes(inputs.total_bytes(), inputs.bytes_read(), args.work.quiet);
    let mut bad = 0;
    for batch in inputs {
        interrupt::check()?;
        match batch {
            Err(e) if args.skip_bad => {
                bad += 1;
                progress.line(&format!("nearstone: {e}"));
            }
            Err(e) => return Err(e.into()),
            Ok(batch) if are_rows => loader.push_rows(batch.fingerprints())?,
            Ok(batch) => {
                for (id, fingerprint) in batch.iter() {
                    let id = id.expect("a column of ids was asked for");
                    if !args.row_ids {
                        loader.push(id, &fingerprint)?;
                    } else if let Some(row) = std::str::from_utf8(id).ok().and_then(|id| id.parse::<u64>().ok()) {
                        loader.push(row.to_be_bytes(), &fingerprint)?;
                    } else {
                        let (file, id) = (batch.file().display(), String::from_utf8_lossy(id).into_owned());
                        anyhow::bail!("{file}: the id {id:?} is not the number of a row: leave out --row-ids");
                    }
                }
            }
        }
        progress.now(loader.documents());
    }
    progress.finish();
    Ok(bad)
}

fn load_pages(args: &Load, folder: &Path) -> anyhow::Result<Outcome> {
    if args.resume || args.rows.is_some() || args.row_ids || args.skip_bad || args.fingerprints {
        let why =
            "page files are taken as they are: leave out --resume, --rows, --row-ids, --skip-bad and --fingerprints";
        return Err(Usage(why.to_owned()).into());
    }
    let store = SimhashStore::open(&args.store, &Options::new().sketches_only().auto_seal(None))?;
    let quiet = args.work.quiet;
    let report = Steps::during(quiet, |show| store.load_pages(folder, &args.work.options(), show))?;
    tell(&report, 0, quiet);
    Ok(Outcome::Done)
}

/// Takes all documents of some stores, those of the last one last, and loads them.
pub(super) fn copy(stores: &[SimhashStore], mut loader: BulkLoader, quiet: bool) -> anyhow::Result<LoadReport> {
    for store in stores {
        for document in store.iter()? {
            interrupt::check()?;
            loader.push_document(&document?)?;
        }
    }
    Ok(Steps::during(quiet, |show| loader.commit(show))?)
}

/// Says what a load has done, in a line.
pub(super) fn tell(report: &LoadReport, bad: u64, quiet: bool) {
    if quiet {
        return;
    }
    let phases = report.phases.iter().map(|(name, time)| format!("{name} {:.1} s", time.as_secs_f64()));
    let bad = if bad == 0 { String::new() } else { format!(", bad records {}", thousands(bad)) };
    say!(
        "read {}{bad}; sealed now {} documents with {} distinct fingerprints ({})",
        thousands(report.read),
        thousands(report.documents),
        thousands(report.sketches),
        phases.collect::<Vec<_>>().join(", ")
    );
}
