//! A store as it is at one moment, and whether it still is as it was.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use crate::format::record::StoreRecord;
use crate::hash::checksum;
use crate::store::claims::Claim;
use crate::store::holders::Holders;
use crate::store::shared::Shared;
use crate::store::tables::Ranges;
use crate::store::walk::Lifetime;
use crate::{Error, Fingerprint, Result};

/// What is read of a store, all of it as it was at one moment, whatever is written meanwhile.
pub(super) struct Moment {
    pub(super) holders: Holders,
    /// For each thread the tables of the plan.
    pub(super) ranges: Vec<Vec<Ranges>>,
    pub(super) mark: Mark,
}

/// What tells whether a store has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Of the store record with the generations.
    record: u64,
    /// The number of the latest write.
    write: u64,
    /// When it was, in milliseconds since 1970: what has expired then is in no pair.
    now: u64,
}

impl Moment {
    /// Begins to read a store, as it is now, or as it was at an earlier moment if nothing has changed since.
    pub(super) fn new(
        store: &Arc<Shared<Fingerprint>>,
        plan: &Plan,
        threads: usize,
        earlier: Option<Mark>,
    ) -> Result<Self> {
        let engine = &store.engine;
        // Keeps all writers away until everything is begun.
        let _held = store.claims.hold(Claim::standstill());
        let view = store.view();
        let now = earlier.map_or_else(|| store.now(), |earlier| earlier.now);
        let record = StoreRecord { generations: view.generations, ..store.record.clone() };
        let mark = Mark { record: checksum(&record.encode()), write: engine.latest_write(), now };
        if let Some(earlier) = earlier {
            let expires = store.settings.retention_millis.is_some();
            let path = engine.path().display();
            if earlier != mark {
                return Err(refused(format!("the store at {path} has changed since: begin again without resuming")));
            }
            // Compactions drop what has expired, which then was in pairs or was yet to come.
            if expires && engine.expiry_limit() > now {
                let what = "documents have expired since";
                return Err(refused(format!("the store at {path} has changed since, {what}: begin again")));
            }
        }
        let lifetime = Lifetime { retention_millis: store.settings.retention_millis, now };
        let tables = || plan.tables.iter().map(|part| view.index.ranges(engine, part.index)).collect();
        let ranges = (0..threads).map(|_| tables()).collect();
        Ok(Self { holders: Holders::new(engine, &view, lifetime), ranges, mark })
    }
}

pub(super) fn refused(reason: String) -> Error {
    Error::Pairs { reason }
}
