//! What was passed over because it is no text, by reason.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a record was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Request,
    Metadata,
    Revisit,
    Description,
    Continuation,
    OtherType,
    Dns,
    NotHttp,
    Status,
    MediaType,
}

const NAMES: [(Reason, &str); 10] = [
    (Reason::Request, "requests"),
    (Reason::Metadata, "metadata"),
    (Reason::Revisit, "revisits"),
    (Reason::Description, "descriptions of the archive"),
    (Reason::Continuation, "continuations"),
    (Reason::OtherType, "of other types"),
    (Reason::Dns, "DNS"),
    (Reason::NotHttp, "not HTTP"),
    (Reason::Status, "HTTP status not 2xx"),
    (Reason::MediaType, "not text"),
];

/// Counts the records of web archives that were passed over, by reason. They are no errors.
///
/// [`Inputs`](super::Inputs) and all its records count into the same one, so it is complete when all records were
/// parsed. `Display` gives the reasons that occurred: `2 requests, 1 not text`.
#[derive(Debug, Default)]
pub struct PassedOver([AtomicU64; NAMES.len()]);

impl PassedOver {
    pub(super) fn count(&self, reason: Reason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many records were passed over until now.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_reason().map(|(_, count)| count).sum()
    }

    /// Returns the reasons, in a fixed order, with their counts.
    pub fn by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.iter().map(|&(reason, name)| (name, self.0[reason as usize].load(Ordering::Relaxed)))
    }
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, count) in self.by_reason().filter(|&(_, count)| count > 0) {
            write!(f, "{separator}{count} {name}")?;
            separator = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_named() {
        let passed_over = PassedOver::default();
        assert_eq!((passed_over.total(), passed_over.to_string()), (0, String::new()));
        for (at, &(reason, _)) in NAMES.iter().enumerate() {
            assert_eq!(reason as usize, at);
        }
        for reason in [Reason::Status, Reason::Request, Reason::Status] {
            passed_over.count(reason);
        }
        assert_eq!(passed_over.to_string(), "1 requests, 2 HTTP status not 2xx");
        assert_eq!(passed_over.total(), 3);
    }
}
