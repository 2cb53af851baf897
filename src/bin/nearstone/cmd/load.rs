//! `nearstone load`

use std::fmt::Write;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use nearstone::{BulkLoader, LoadReport, Options, SimhashStore};

use super::records::{LeftOut, Record, Source};
use crate::args::{Kind, Load};
use crate::failure::{Outcome, Usage};
use crate::interrupt;
use crate::near_nothing::NearNothing;
use crate::progress::{Steps, tell_passed_over, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Load) -> anyhow::Result<Outcome> {
    if let [folder] = &args.inputs[..]
        && args.records.format.is_none()
        && is_exchange(folder)
    {
        return load_pages(args, folder);
    }
    let kind = kind_of(args)?;
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
    let mut left_out = LeftOut::default();
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
        left_out = read(args, kind, &store, &mut loader)?;
    }
    let quiet = args.work.quiet;
    let report = Steps::during(quiet, |show| loader.commit(show))?;
    tell(&report, left_out.bad, quiet);
    if !quiet {
        tell_passed_over(&left_out.passed_over);
    }
    Ok(Outcome::Done)
}

/// What the inputs are, with what was said about rows.
fn kind_of(args: &Load) -> Result<Kind, Usage> {
    match (args.records.kind(&args.inputs)?, args.rows) {
        (Kind::Texts, Some(_)) => Err(Usage("--rows is for fingerprints: texts have ids".to_owned())),
        (Kind::Ids, Some(_)) => Ok(Kind::Rows),
        (kind, _) => Ok(kind),
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
    let records = &args.records;
    let mut name = format!("{:?} {} {:?} {}", records.format, records.fingerprints, args.rows, args.row_ids);
    let fields = [&records.id_field, &records.text_field, &records.fingerprint_field];
    let (include, bytes) = (&records.reading.include, records.reading.max_record_bytes);
    let _ = write!(name, " {:?}", records.web);
    let _ = write!(name, " {fields:?} {:?} {include:?} {} {bytes}", records.encoding, records.reading.skip_bad);
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

fn read(args: &Load, kind: Kind, store: &SimhashStore, loader: &mut BulkLoader) -> anyhow::Result<LeftOut> {
    let source = Source {
        inputs: &args.inputs,
        records: &args.records,
        kind,
        analyser: store.analyser(),
        store: store.path(),
        threads: args.work.threads(),
        quiet: args.work.quiet,
    };
    let mut nothing = NearNothing::default();
    let left_out = source.read(|record| {
        match record {
            Record::Rows(fingerprints) => loader.push_rows(fingerprints)?,
            Record::NearNothing(sketch) => nothing.count(sketch),
            Record::Document { id, fingerprint, file } => {
                if !args.row_ids {
                    loader.push(id, &fingerprint)?;
                } else if let Some(row) = std::str::from_utf8(id).ok().and_then(|id| id.parse::<u64>().ok()) {
                    loader.push(row.to_be_bytes(), &fingerprint)?;
                } else {
                    let (file, id) = (file.display(), String::from_utf8_lossy(id).into_owned());
                    anyhow::bail!("{file}: the id {id:?} is not the number of a row: leave out --row-ids");
                }
            }
        }
        Ok(loader.documents())
    })?;
    if nothing.without_features > 0 && !args.work.quiet {
        say!(
            "{} records without features (no letter, digit or emoji) are near nothing and were left out",
            thousands(nothing.without_features)
        );
    }
    if nothing.too_short > 0 && !args.work.quiet {
        say!("{} records with too few features are near nothing and were left out", thousands(nothing.too_short));
    }
    Ok(left_out)
}

fn load_pages(args: &Load, folder: &Path) -> anyhow::Result<Outcome> {
    if args.resume || args.rows.is_some() || args.row_ids || args.records.reading.skip_bad || args.records.fingerprints
    {
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
