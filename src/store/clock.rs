//! The time at which documents are stored.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_time_from_disk_can_be_shown() {
        assert_eq!(time_of(0), UNIX_EPOCH);
        time_of(u64::MAX);
    }
}
