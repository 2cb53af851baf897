//! Loading many documents at once: sorted outside the engine, written in pages, made visible in one step.

mod build;
mod commit;
mod distribute;
mod documents;
mod drain;
mod files;
mod folder;
mod loader;
mod manifest;
mod meter;
mod options;
mod pages;
mod portions;
mod rows;
mod runs;
mod seal;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(super) use folder::clean;
pub use loader::BulkLoader;
pub use options::{LoadOptions, LoadReport};
pub(super) use runs::Runs;
pub(super) use seal::{Background, reseal, seal_anew};

use super::changes::Change;
use super::shared::Shared;
use crate::{Error, Fingerprint, Result, TableDesign};
use files::Form;

/// Where a load goes.
pub(in crate::store) enum Target {
    /// Into a store.
    Store { store: Arc<Shared<Fingerprint>>, folder: PathBuf },
    /// Into a folder, for a store to take.
    Pages { design: TableDesign, has_times: bool, folder: PathBuf },
}

impl Target {
    fn folder(&self) -> PathBuf {
        match self {
            Self::Store { folder, .. } | Self::Pages { folder, .. } => folder.clone(),
        }
    }

    fn form(&self) -> Form<'_> {
        match self {
            Self::Store { store, .. } => Form::Engine(&store.engine),
            Self::Pages { .. } => Form::Exchange,
        }
    }

    fn has_times(&self) -> bool {
        match self {
            Self::Store { store, .. } => store.settings.retention_millis.is_some(),
            Self::Pages { has_times, .. } => *has_times,
        }
    }

    fn design(&self) -> &TableDesign {
        match self {
            Self::Store { store, .. } => &store.record.design,
            Self::Pages { design, .. } => design,
        }
    }
}

/// Says that somebody changes the generations of a store, until it is dropped.
pub(in crate::store) struct Changing(Arc<Shared<Fingerprint>>);

/// How often who waits for a seal in the background looks whether it has ended.
const LOOK: Duration = Duration::from_millis(2);

impl Changing {
    /// Begins a change that somebody asked for. A seal that the store does by itself gives way.
    pub(in crate::store) fn begin(store: &Arc<Shared<Fingerprint>>) -> Result<Self> {
        loop {
            if store.changes.begin(Change::Asked) {
                return Ok(Self(Arc::clone(store)));
            }
            match store.changes.current() {
                Change::Background => {
                    store.changes.give_way();
                    std::thread::sleep(LOOK);
                }
                Change::None => {}
                Change::Asked => {
                    let reason = "another load, seal or repair of the store is under way: wait for it";
                    return Err(Error::Load { reason: reason.to_owned() });
                }
                Change::Uncertain => {
                    let reason = "the last change of its generations could not be written down: open the store again";
                    return Err(Error::Load { reason: reason.to_owned() });
                }
            }
        }
    }

    /// Begins one that nobody asked for, unless another one is under way.
    fn begin_in_background(store: &Arc<Shared<Fingerprint>>) -> Option<Self> {
        store.changes.begin(Change::Background).then(|| Self(Arc::clone(store)))
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        self.0.changes.end();
    }
}
