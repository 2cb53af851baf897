//! How much a feature counts by how often it comes.

/// How much a feature counts by how often it comes in a text.
///
/// ```
/// use nearstone::Weights;
///
/// assert_eq!([1, 2, 3, 100].map(|n| Weights::Binary.of(n)), [1, 1, 1, 1]);
/// assert_eq!([1, 2, 3, 100].map(|n| Weights::Count.of(n)), [1, 2, 3, 100]);
/// assert_eq!([1, 2, 3, 100].map(|n| Weights::Log.of(n)), [1, 2, 2, 7]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Weights {
    /// Each distinct feature once: a text is the set of its shingles, whose Jaccard index distances then follow.
    Binary,
    /// As often as it comes.
    Count,
    /// 1, and 1 more each time that the number doubles: 1 + ⌊log₂ n⌋.
    Log,
}

impl Weights {
    pub(super) const ALL: [Self; 3] = [Self::Binary, Self::Count, Self::Log];

    /// Returns the name, as specifications and store records have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Count => "count",
            Self::Log => "log",
        }
    }

    /// Returns the weight of a feature that comes so many times.
    #[must_use]
    pub fn of(self, occurrences: u32) -> u32 {
        match self {
            Self::Binary => u32::from(occurrences > 0),
            Self::Count => occurrences,
            Self::Log => occurrences.checked_ilog2().map_or(0, |log| log + 1),
        }
    }
}
