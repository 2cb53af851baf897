//! Synthetic fingerprints, and stores of them.

use std::ops::ControlFlow;
use std::path::Path;

use nearstone::{Fingerprint, LoadOptions, Options, SimhashStore, TableDesign};

use super::{BATCH, float, value};
use crate::args::BenchQuery;
use crate::interrupt;

/// So many centres have other fingerprints around them, within so many bits.
const CENTRES: u64 = 1_000;
const SPREAD: u64 = 6;

/// Uniform fingerprints, and a share of them in crowds.
pub(super) struct Data {
    count: u64,
    crowded: f64,
}

impl Data {
    pub(super) fn from(args: &BenchQuery) -> Self {
        Self { count: args.made.fingerprints, crowded: args.crowded }
    }

    fn fingerprint(&self, n: u64) -> u64 {
        let random = value(n);
        if self.crowded == 0.0 || float(value(n ^ 1 << 61) >> 40) >= self.crowded * float(1 << 24) {
            return random;
        }
        super::flipped(value((random % CENTRES) ^ (1 << 62)), random / CENTRES % (SPREAD + 1), n)
    }

    /// Loads the first, and stores the others one by one.
    pub(super) fn store(&self, path: &Path, args: &BenchQuery) -> anyhow::Result<()> {
        let design = TableDesign::named(&args.made.design, args.made.max_distance)?;
        let store = SimhashStore::create(path, &design, &Options::new().sketches_only().auto_seal(None))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the count")]
        let sealed = self.count - (float(self.count) * args.live) as u64;
        let mut loader = store.bulk_loader(&LoadOptions::new().memory_bytes(args.memory).rows(0))?;
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
        for n in sealed..self.count {
            interrupt::check()?;
            store.insert(n.to_be_bytes(), &Fingerprint::new(self.fingerprint(n)))?;
        }
        Ok(store.flush()?)
    }
}
