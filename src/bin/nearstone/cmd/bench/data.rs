//! Synthetic fingerprints, and stores of them.

use std::ops::ControlFlow;
use std::path::Path;

use nearstone::{Fingerprint, LoadOptions, Options, SimhashStore};

use super::{BATCH, float, value};
use crate::args::Made;
use crate::interrupt;

/// So many centres have other fingerprints around them, within so many bits.
const CENTRES: u64 = 1_000;
const SPREAD: u64 = 6;

/// Uniform fingerprints, and a share of them in crowds, or planted near others.
#[derive(Clone, Copy)]
pub(super) struct Data<'a> {
    pub(super) made: &'a Made,
    /// The share that is stored one by one.
    pub(super) live: f64,
    /// The share that lies around one of some centres.
    pub(super) crowded: f64,
    /// The share that lies near the one before it, at most a half.
    pub(super) planted: f64,
    /// The memory for loading.
    pub(super) memory: usize,
}

impl Data<'_> {
    fn fingerprint(&self, n: u64) -> u64 {
        let random = value(n);
        if is_among(n ^ 1 << 61, self.crowded) {
            return super::flipped(value((random % CENTRES) ^ (1 << 62)), random / CENTRES % (SPREAD + 1), n);
        }
        // Every other one is what the next one may be planted near.
        if n % 2 == 1 && is_among(n ^ 1 << 59, 2.0 * self.planted) {
            return super::flipped(value(n - 1), random % u64::from(self.made.max_distance.max(1)) + 1, n);
        }
        random
    }

    /// Loads the first, and stores the others one by one.
    pub(super) fn store(&self, path: &Path) -> anyhow::Result<()> {
        let (made, count) = (self.made, self.made.fingerprints);
        let design = made.design()?;
        let store = SimhashStore::create(path, &design, &Options::new().sketches_only().auto_seal(None))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the count")]
        let sealed = count - (float(count) * self.live) as u64;
        let mut loader = store.bulk_loader(&LoadOptions::new().memory_bytes(self.memory).rows(0))?;
        let mut batch = Vec::new();
        while loader.documents() < sealed {
            interrupt::check()?;
            let next = loader.documents();
            batch.clear();
            batch.extend((next..sealed.min(next + BATCH)).map(|n| Fingerprint::new(self.fingerprint(n))));
            loader.push_rows(&batch)?;
        }
        loader.commit(|_| match interrupt::check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        })?;
        for n in sealed..count {
            interrupt::check()?;
            store.insert(n.to_be_bytes(), &Fingerprint::new(self.fingerprint(n)))?;
        }
        Ok(store.flush()?)
    }
}

/// Whether a number is among a share of all.
fn is_among(n: u64, share: f64) -> bool {
    share > 0.0 && float(value(n) >> 40) < share * float(1 << 24)
}
