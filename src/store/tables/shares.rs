//! How the memory for caches is shared.
//!
//! What of it the values of live generations and pinned indexes take, sealed values that are kept decoded cannot have, and of
//! what is left they get three quarters, unless all of them take less. Blocks of files get the rest, and the indexes
//! are among them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Tables;
use super::stretches::Stretches;
use crate::engine::Engine;

/// What the values of one live generation may take, in sixteenths.
const LIVE_SIXTEENTHS: u64 = 7;

/// Shares are told anew when what live values take has changed by this part of the whole.
const STEP: u64 = 64;

/// What live values took when the shares were told last.
#[derive(Debug)]
pub(super) struct Shares {
    told: AtomicU64,
}

impl Default for Shares {
    fn default() -> Self {
        Self { told: AtomicU64::new(u64::MAX) }
    }
}

/// The bytes that the values of a live generation may take.
pub(super) fn most_live_bytes(engine: &Engine) -> u64 {
    engine.cache_capacity_bytes() / 16 * LIVE_SIXTEENTHS
}

impl Tables {
    /// The bytes that the values of live generations take.
    pub(super) fn live_bytes(&self) -> u64 {
        self.rows().map(|rows| rows.values.bytes()).sum()
    }

    /// Tells the caches what each of them may take, where that has changed by much.
    pub(super) fn share(&self, engine: &Engine) {
        let (all, live) = (engine.cache_capacity_bytes(), self.live_bytes());
        let told = self.shares.told.load(Ordering::Relaxed);
        if told == u64::MAX || told.abs_diff(live) > all / STEP {
            self.share_anew(engine);
        }
    }

    /// Tells the caches what each of them may take.
    pub(super) fn share_anew(&self, engine: &Engine) {
        let live = self.live_bytes();
        self.shares.told.store(live, Ordering::Relaxed);
        let left = engine.cache_capacity_bytes().saturating_sub(live);
        let sealed = self.sealed.as_ref().map_or(0, |sealed| {
            let most = left.saturating_sub(engine.pinned_bytes()) / 4 * 3;
            let bytes = Stretches::bytes_of_all(&self.design, sealed.sketches).min(most);
            sealed.stretches.resize(bytes);
            bytes
        });
        engine.share_of_blocks(left - sealed);
    }
}
