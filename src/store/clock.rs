//! Time, and what happens in it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time of the system in milliseconds since 1970, kept from going back.
#[derive(Debug, Default)]
pub(super) struct Clock {
    latest_millis: AtomicU64,
}

impl Clock {
    pub(super) fn now_millis(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.latest_millis.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

/// The time of a number of milliseconds since 1970; one that the system cannot hold is its latest.
pub(super) fn time_of(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH)
}

/// Counts the replacements of sketches, so that a query can tell that one happened during it.
#[derive(Debug, Default)]
pub(super) struct Replacements {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Replacements {
    /// Marks a replacement as under way until the result is dropped.
    pub(super) fn begin(&self) -> Replacing<'_> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        Replacing(self)
    }

    /// The number of replacements so far, or `None` while one is under way.
    pub(super) fn seen(&self) -> Option<u64> {
        let done = self.done.load(Ordering::SeqCst);
        (self.begun.load(Ordering::SeqCst) == done).then_some(done)
    }
}

pub(super) struct Replacing<'a>(&'a Replacements);

impl Drop for Replacing<'_> {
    fn drop(&mut self) {
        self.0.done.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_seen_while_it_goes_on_and_after() {
        let replacements = Replacements::default();
        assert_eq!(replacements.seen(), Some(0));
        let (one, two) = (replacements.begin(), replacements.begin());
        assert_eq!(replacements.seen(), None);
        drop(one);
        assert_eq!(replacements.seen(), None);
        drop(two);
        assert_eq!(replacements.seen(), Some(2));
    }

    #[test]
    fn any_time_from_disk_can_be_shown() {
        assert_eq!(time_of(0), UNIX_EPOCH);
        time_of(u64::MAX);
    }
}
