//! Making a generation visible.
//!
//! 1. The files are ingested into new, empty families, which no record names yet. Links are ingested, not the files
//!    themselves, so that a load that is killed here can be gone on with.
//! 2. One synced write of the record makes the generation visible, while no writer is under way.
//! 3. The families that are not named any more are dropped after that. Those whose drop a crash prevents, and those
//!    of 1, are dropped at the next opening.

use std::path::PathBuf;
use std::{fs, io};

use super::files::{Part, failed};
use super::folder::Folder;
use crate::format::families::Family;
use crate::format::record::{Generations, SealedGeneration};
use crate::store::shared::Shared;
use crate::{Error, Fingerprint, Result};

/// Makes what a folder holds the sealed generation; `change` says what else changes with it.
pub(super) fn commit(
    store: &Shared<Fingerprint>,
    folder: &mut Folder,
    change: impl FnOnce(Generations, Option<SealedGeneration>) -> Generations,
) -> Result<()> {
    let engine = &store.engine;
    let old = store.view().generations;
    // A copy has the families that its record names.
    let _copies = engine.without_copies();
    let (Some(documents), Some(holders)) = (&folder.state.documents, &folder.state.holders) else {
        return Err(Error::Load { reason: "it is not finished: load again".to_owned() });
    };
    let (count, sketches): (u64, u64) = (documents.files.iter().map(|file| file.entries).sum(), holders.sketches);
    let held: u64 = holders.files.iter().map(|file| file.entries).sum();
    if count != held {
        let reason = format!("{count} documents got {held} holders: a temporary file was changed; load again");
        return Err(Error::Load { reason });
    }
    let sealed = (count > 0).then(|| SealedGeneration { number: old.next(), documents: count, sketches });
    if let Some(SealedGeneration { number, .. }) = sealed {
        folder.state.number = Some(number);
        folder.note()?;
        // What an attempt that failed has left.
        drop_unnamed(store, old)?;
        let tables = store.record.design.tables().len();
        let bytes = Part::all(tables).map(|part| folder.bytes(part)).sum();
        let families = Family::sealed(&store.record.design, number);
        engine.create_families(&families, store.settings.retention_millis, bytes)?;
        for part in Part::all(tables) {
            let files = folder.state.files(part);
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            let (files, are_links) = link(folder, part, &names)?;
            engine.ingest(&engine.family(part.family(number))?, files, are_links)?;
        }
    }
    store.set_generations(change(old, sealed))?;
    // It is done; what cannot be dropped now is dropped at the next opening.
    let _ = drop_unnamed(store, store.view().generations);
    Ok(())
}

/// Drops the families that belong to no generation.
pub(in crate::store) fn drop_unnamed(store: &Shared<Fingerprint>, generations: Generations) -> Result<()> {
    store.engine.drop_families(|family| !generations.have(family.generation(), family.is_sealed()))
}

/// Links files under other names, for the engine to take. Where the file system has no links the files are to be
/// copied instead; tells whether they are links.
fn link(folder: &Folder, part: Part, names: &[&str]) -> Result<(Vec<PathBuf>, bool)> {
    let from = folder.path().join(part.name());
    let to = folder.path().join("ingested").join(part.name());
    if to.exists() {
        fs::remove_dir_all(&to).map_err(|e| failed("remove", &to, e))?;
    }
    fs::create_dir_all(&to).map_err(|e| failed("create", &to, e))?;
    let linked: io::Result<Vec<PathBuf>> =
        names.iter().map(|name| fs::hard_link(from.join(name), to.join(name)).map(|()| to.join(name))).collect();
    Ok(linked.map_or_else(|_| (names.iter().map(|name| from.join(name)).collect(), false), |files| (files, true)))
}
