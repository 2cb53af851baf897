//! The time at which documents are stored, and by which they expire.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time of the system in milliseconds since 1970, kept from going back.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    latest_millis: AtomicU64,
    /// Where it is not zero, the time stands still there until a test moves it.
    #[cfg(test)]
    set_millis: AtomicU64,
}

impl Clock {
    pub(crate) fn now_millis(&self) -> u64 {
        #[cfg(test)]
        if let set @ 1.. = self.set_millis.load(Ordering::Relaxed) {
            return set;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        // Mostly the millisecond has not changed, and threads that only read do not slow each other down.
        let latest = self.latest_millis.load(Ordering::Relaxed);
        if now <= latest { latest } else { self.latest_millis.fetch_max(now, Ordering::Relaxed).max(now) }
    }

    /// Keeps the time from being earlier than this.
    pub(crate) fn is_at_least(&self, millis: u64) {
        self.latest_millis.fetch_max(millis, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn set(&self, millis: u64) {
        self.set_millis.store(millis, Ordering::Relaxed);
    }
}

/// The time of a number of milliseconds since 1970; one that the system cannot hold is its latest.
pub(crate) fn time_of(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH)
}

/// The milliseconds since 1970 of a time; an earlier one is 0.
pub(crate) fn millis_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
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
