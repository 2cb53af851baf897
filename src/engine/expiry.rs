//! Expired entries are dropped while RocksDB compacts.
//!
//! 1. An entry is dropped only when it has expired, and no reader returns what has expired. So a reader
//!    need not know whether, or of which families, it was dropped.
//! 2. That must hold after the clock was set back and on other machines too. So entries are dropped by a time
//!    that was forced to the medium before, the limit, and no reader's time is earlier than the limit.
//! 3. RocksDB calls in from its own threads, several at once. They share atomic numbers, and nothing here
//!    can panic: bytes that are not understood are kept.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rocksdb::CompactionDecision;
use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};

use crate::clock::Clock;
use crate::format::keys::{decode_document, decode_holder_time};

/// Whether something stored at a time has expired.
pub(crate) fn is_expired(stored_at_millis: u64, retention_millis: u64, now_millis: u64) -> bool {
    stored_at_millis.saturating_add(retention_millis) <= now_millis
}

/// What the engine must know to let entries expire.
#[derive(Clone, Debug)]
pub(crate) struct Expiry {
    pub(crate) clock: Arc<Clock>,
    /// What has expired by this time, in milliseconds since 1970, may be dropped.
    pub(crate) limit: Arc<AtomicU64>,
    /// The length of the encoded sketch at the front of a document's value.
    pub(crate) sketch_bytes: usize,
}

/// Which family's values are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values {
    Documents,
    Holders,
}

/// Makes a filter for each compaction.
pub(super) struct ExpiryFactory {
    pub(super) expiry: Expiry,
    pub(super) values: Values,
    pub(super) retention_millis: u64,
}

/// Drops what had expired by the limit when the compaction began.
pub(super) struct ExpiryFilter {
    values: Values,
    sketch_bytes: usize,
    retention_millis: u64,
    now_millis: u64,
}

const NAME: &CStr = c"nearstone-expiry";

impl CompactionFilterFactory for ExpiryFactory {
    type Filter = ExpiryFilter;

    fn create(&mut self, _: CompactionFilterContext) -> ExpiryFilter {
        ExpiryFilter {
            values: self.values,
            sketch_bytes: self.expiry.sketch_bytes,
            retention_millis: self.retention_millis,
            now_millis: self.expiry.limit.load(Ordering::SeqCst),
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

impl CompactionFilter for ExpiryFilter {
    fn filter(&mut self, _level: u32, _key: &[u8], value: &[u8]) -> CompactionDecision {
        let stored_at = match self.values {
            Values::Documents => decode_document(value, self.sketch_bytes).map(|document| document.stored_at_millis),
            Values::Holders => decode_holder_time(value),
        };
        match stored_at {
            Ok(time) if is_expired(time, self.retention_millis, self.now_millis) => CompactionDecision::Remove,
            _ => CompactionDecision::Keep,
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_expires_when_its_retention_is_over_and_not_before() {
        assert!(!is_expired(1_000, 500, 1_499));
        assert!(is_expired(1_000, 500, 1_500));
        // Times that the clock cannot reach do not wrap around.
        assert!(!is_expired(u64::MAX - 1, 500, u64::MAX - 1));
        assert!(!is_expired(5, u64::MAX, u64::MAX - 1));
    }

    proptest::proptest! {
        #[test]
        fn the_filter_takes_any_bytes_and_keeps_what_it_does_not_understand(value: Vec<u8>) {
            for values in [Values::Documents, Values::Holders] {
                let mut filter = ExpiryFilter { values, sketch_bytes: 8, retention_millis: 1, now_millis: u64::MAX };
                let understood = match values { Values::Documents => value.len() >= 16, Values::Holders => value.len() == 8 };
                let is_kept = matches!(filter.filter(0, b"key", &value), CompactionDecision::Keep);
                proptest::prop_assert_eq!(is_kept, !understood);
            }
        }
    }
}
