//! `nearstone merge`

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nearstone::{Options, SimhashStore};

use super::load;
use crate::args::Merge;
use crate::failure::{Outcome, Usage};
use crate::output;

pub(crate) fn run(args: &Merge) -> anyhow::Result<Outcome> {
    let open = |path| SimhashStore::open_read_only(path, &Options::new());
    let stores = args.stores.iter().map(open).collect::<nearstone::Result<Vec<_>>>()?;
    let first = &stores[0];
    for other in &stores[1..] {
        let differs = |what: &str, here: String, there: String| {
            let (a, b) = (first.path().display(), other.path().display());
            Usage(format!("{a} and {b} cannot be merged: the one has {what} {here}, the other {there}"))
        };
        if first.design() != other.design() {
            return Err(differs("the design", first.design().to_string(), other.design().to_string()).into());
        }
        let analyser = |store: &SimhashStore| store.analyser().map_or("none".to_owned(), ToString::to_string);
        if first.analyser() != other.analyser() {
            return Err(differs("the analyser", analyser(first), analyser(other)).into());
        }
        let retention = |store: &SimhashStore| {
            store.retention().map_or("none".to_owned(), |time| humantime::format_duration(time).to_string())
        };
        if first.retention() != other.retention() {
            return Err(differs("the retention", retention(first), retention(other)).into());
        }
    }
    let mut options = Options::new().auto_seal(None);
    options = match first.analyser() {
        Some(analyser) => options.analyser(analyser.clone()),
        None => options.sketches_only(),
    };
    if let Some(retention) = first.retention() {
        options = options.retention(retention);
    }
    output::refuse_in_store(&args.out)?;
    if std::fs::symlink_metadata(&args.out).is_ok() {
        return Err(nearstone::Error::AlreadyExists { path: args.out.clone() }.into());
    }
    // Made under another name, so that under its own it is always whole.
    let unfinished = beside(&args.out)?;
    remove(&unfinished)?;
    let made = SimhashStore::create(&unfinished, first.design(), &options)
        .map_err(Into::into)
        .and_then(|merged| load::copy(&stores, merged.bulk_loader(&args.work.options())?, args.work.quiet));
    let report = made.inspect_err(|_| drop(remove(&unfinished)))?;
    std::fs::rename(&unfinished, &args.out)
        .with_context(|| format!("cannot rename {} to {}", unfinished.display(), args.out.display()))?;
    load::tell(&report, 0, args.work.quiet);
    Ok(Outcome::Done)
}

/// The name under which a store is made.
fn beside(path: &Path) -> Result<PathBuf, Usage> {
    let name = path.file_name().ok_or_else(|| Usage(format!("{} has no name of its own", path.display())))?;
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(".nearstone-merge");
    Ok(path.with_file_name(beside))
}

/// Removes what a merge that was killed has left.
fn remove(unfinished: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(unfinished) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("cannot remove {}", unfinished.display()))
        }
        _ => Ok(()),
    }
}
