//! Making a generation visible.
//!
//! 1. The files are ingested into new, empty families, which no record names yet. Links are ingested, not the files
//!    themselves, so that a load that is killed here can be gone on with.
//! 2. One synced write of the record makes the generation visible, while no writer is under way.
//! 3. The families that are not named any more are dropped after that. Those whose drop a crash prevents, and those
//!    of 1, are dropped at the next opening.

use std::fs;
use std::path::PathBuf;

use super::files::{Part, failed};
use super::folder::Folder;
use crate::format::families::Family;
use crate::format::record::{Generations, SealedGeneration};
use crate::store::shared::Shared;
use crate::{Error, Fingerprint, Result};

/// Makes what a folder holds the sealed generation; `change` says what else changes with it.
pub(super) fn commit(
    store: &Shared<Fingerprint>,
    folder: &Folder,
    change: impl FnOnce(Generations, Option<SealedGeneration>) -> Generations,
) -> Result<()> {
    let engine = &store.engine;
    let old = store.view().generations;
    let (Some(documents), Some(holders)) = (&folder.state.documents, &folder.state.holders) else {
        return Err(Error::Load { reason: "it is not finished: load again".to_owned() });
    };
    let count: u64 = documents.files.iter().map(|file| file.entries).sum();
    let held: u64 = holders.files.iter().map(|file| file.entries).sum();
    if count != held {
        let reason = format!("{count} documents got {held} holders: a temporary file was changed; load again");
        return Err(Error::Load { reason });
    }
    let sealed =
        (count > 0).then(|| SealedGeneration { number: old.next(), documents: count, sketches: holders.sketches });
    if let Some(SealedGeneration { number, .. }) = sealed {
        // What an attempt that failed has left.
        drop_unnamed(store, old)?;
        engine.create_families(&Family::sealed(&store.record.design, number), store.settings.retention_millis)?;
        for part in Part::all(store.record.design.tables().len()) {
            let files = match part {
                Part::Documents => &documents.files,
                Part::Holders => &holders.files,
                Part::Table(index) => &folder.state.tables[index],
            };
            let names = files.iter().map(|file| file.name.as_str());
            engine.ingest(&engine.family(part.family(number))?, link(folder, part, names)?)?;
        }
    }
    store.set_generations(change(old, sealed))?;
    drop_unnamed(store, store.view().generations)
}

/// Drops the families that belong to no generation.
pub(in crate::store) fn drop_unnamed(store: &Shared<Fingerprint>, generations: Generations) -> Result<()> {
    store.engine.drop_families(|family| !generations.have(family.generation(), family.is_sealed()))
}

/// Links files under other names, for the engine to take.
fn link<'a>(folder: &Folder, part: Part, names: impl Iterator<Item = &'a str>) -> Result<Vec<PathBuf>> {
    let from = folder.path().join(part.name());
    let to = folder.path().join("ingested").join(part.name());
    if to.exists() {
        fs::remove_dir_all(&to).map_err(|e| failed("remove", &to, e))?;
    }
    fs::create_dir_all(&to).map_err(|e| failed("create", &to, e))?;
    let link = |name: &str| {
        let (from, to) = (from.join(name), to.join(name));
        // Not every file system has links; there the load cannot be gone on with from here.
        let linked = fs::hard_link(&from, &to).or_else(|_| fs::rename(&from, &to));
        linked.map(|()| to).map_err(|e| failed("link", &from, e))
    };
    names.map(link).collect()
}
