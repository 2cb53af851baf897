//! In how many documents of a corpus a feature or a line is.
//!
//! Numbers of documents are kept as *levels*, in eighths of a doubling, by integer arithmetic alone: a table gives the same
//! weights on every machine.

mod bytes;

use std::fmt;
use std::hash::{Hash, Hasher};

pub use bytes::FrequenciesError;

/// Levels to a doubling.
const STEPS: u32 = 8;

/// How many bits of a hash say where to look for it: that many that a look-up ends among a few neighbours.
const NEIGHBOURS: usize = 4;

/// What a table is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Features, of an analyser with this description.
    Features(String),
    /// Lines.
    Lines,
}

/// In how many documents of a corpus each feature is, or each line: the table that weights by rarity, and that
/// boilerplate is known by.
///
/// [`FrequencyCounter`](crate::FrequencyCounter) makes it, and `docs/format.md` has its bytes. It takes 9 bytes for each entry on disk, and 11 in
/// memory.
/// A store keeps the tables of its analyser.
#[derive(Clone)]
pub struct Frequencies {
    counted: Counted,
    documents: u64,
    least_documents: u32,
    /// Ascending.
    hashes: Vec<u64>,
    levels: Vec<u8>,
    /// The place of the first entry for each value of the highest bits, and the end.
    starts: Vec<usize>,
    shift: u32,
    /// The hash of its bytes.
    identity: u64,
}

/// The level of a number of documents: ⌊8 log₂ n⌋, at most 255; 0 for 0.
pub(crate) fn level(documents: u64) -> u8 {
    let Some(whole) = documents.checked_ilog2() else { return 0 };
    // Between 1 and 2, with 63 bits behind the point: each squaring brings one bit of the logarithm.
    let mut rest = documents << (63 - whole);
    let mut level = whole;
    let mut steps = STEPS;
    while steps > 1 {
        let square = (u128::from(rest) * u128::from(rest)) >> 63;
        let bit = u32::from(square >> 64 > 0);
        rest = u64::try_from(square >> bit).expect("it is less than 2 again");
        level = 2 * level + bit;
        steps /= 2;
    }
    u8::try_from(level).unwrap_or(u8::MAX)
}

impl Frequencies {
    /// Makes a table of entries by their hashes, which ascend.
    pub(crate) fn new(
        counted: Counted,
        documents: u64,
        least_documents: u32,
        hashes: Vec<u64>,
        levels: Vec<u8>,
    ) -> Self {
        let bits = (hashes.len() / NEIGHBOURS).max(1).ilog2();
        let shift = 64 - bits;
        let starts = starts(&hashes, bits);
        let mut table = Self { counted, documents, least_documents, hashes, levels, starts, shift, identity: 0 };
        table.identity = table.checksum();
        table
    }

    /// The entries, by their hashes.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, u8)> {
        self.hashes.iter().copied().zip(self.levels.iter().copied())
    }

    /// Returns how many documents the corpus has, those without anything to count left out.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns how many features or lines it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether it is of lines, and not of features.
    #[must_use]
    pub fn is_of_lines(&self) -> bool {
        self.counted == Counted::Lines
    }

    /// Returns the description of the analyser whose features it is of.
    #[must_use]
    pub fn analyser(&self) -> Option<&str> {
        if let Counted::Features(analyser) = &self.counted { Some(analyser) } else { None }
    }

    /// Returns the hash of its bytes, by which a store names it.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// The level of the number of documents that a hash is in, if it is in the table.
    pub(super) fn level_of(&self, hash: u64) -> Option<u8> {
        let at =
            usize::try_from(hash.checked_shr(self.shift).unwrap_or(0)).expect("there are fewer starts than entries");
        let (from, to) = (self.starts[at], self.starts[at + 1]);
        let place = self.hashes[from..to].binary_search(&hash).ok()?;
        Some(self.levels[from + place])
    }

    /// Returns the weight of a feature: 1 where all documents of the corpus have it, and 8 more for each time that those that
    /// have it are halved. A feature that is not in the table counts as one of a single document.
    #[must_use]
    pub fn weight(&self, feature: u64) -> u32 {
        let level = self.level_of(feature).unwrap_or(0);
        1 + u32::from(self::level(self.documents).saturating_sub(level))
    }

    /// Whether more than so many documents have a line, as far as levels tell: exactly up to 15, above that to an
    /// eleventh.
    pub(super) fn exceeds(&self, line: u64, documents: u32) -> bool {
        self.level_of(line).is_some_and(|found| found > level(documents.into()))
    }
}

/// Where the entries of each value of the highest bits begin.
fn starts(hashes: &[u64], bits: u32) -> Vec<usize> {
    let shift = 64 - bits;
    let mut starts = Vec::with_capacity((1 << bits) + 1);
    let mut at = 0;
    for value in 0..1u64 << bits {
        while hashes.get(at).is_some_and(|hash| hash.checked_shr(shift).unwrap_or(0) < value) {
            at += 1;
        }
        starts.push(at);
    }
    starts.push(hashes.len());
    starts
}

impl fmt::Debug for Frequencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_of_lines() { "lines" } else { "features" };
        write!(f, "Frequencies({:016x}: {} {what} of {} documents)", self.identity, self.len(), self.documents)
    }
}

/// By the hash of the bytes.
impl PartialEq for Frequencies {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Eq for Frequencies {}

impl Hash for Frequencies {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_eighths_of_doublings() {
        let rows = [(0, 0), (1, 0), (2, 8), (3, 12), (4, 16), (5, 18), (16, 32), (17, 32), (18, 33), (1 << 31, 248)];
        for (documents, expected) in rows {
            assert_eq!(level(documents), expected, "{documents}");
        }
        assert_eq!((level(u64::MAX), level(1 << 32)), (255, 255));
        // n^8 is at least 2^level, and less than 2^(level + 1).
        for documents in 1..1u64 << 15 {
            let (power, level) = (u128::from(documents).pow(8), u32::from(level(documents)));
            assert!(power.ilog2() == level, "{documents}: {level}");
        }
    }

    #[test]
    fn rare_features_weigh_more_and_unknown_ones_most() {
        let table = Frequencies::new(Counted::Lines, 1024, 2, vec![3, 7, u64::MAX], vec![level(2), level(512), 80]);
        assert_eq!([3, 7, u64::MAX, 4].map(|feature| table.weight(feature)), [73, 9, 1, 81]);
        assert!(table.exceeds(3, 1) && !table.exceeds(3, 2) && !table.exceeds(4, 1));
        let none = Frequencies::new(Counted::Lines, 0, 2, vec![], vec![]);
        assert_eq!((none.weight(1), none.len()), (1, 0));
    }

    #[test]
    fn numbers_of_documents_are_told_apart_as_far_as_is_said() {
        let counts: Vec<u64> = (1..=4000).collect();
        let levels = counts.iter().map(|&count| level(count)).collect();
        let table = Frequencies::new(Counted::Lines, 10_000, 1, counts.clone(), levels);
        for bound in 1..=16 {
            let wrong: Vec<u64> =
                counts.iter().copied().filter(|&count| table.exceeds(count, bound) != (count > bound.into())).collect();
            assert_eq!(wrong, if bound < 16 { vec![] } else { vec![17] }, "{bound}");
        }
        // A line of an eleventh more documents is above any bound, and none that is not above it counts as if it were.
        for bound in 16..3600 {
            let least = counts.iter().copied().find(|&count| table.exceeds(count, bound)).unwrap();
            let bound = u64::from(bound);
            assert!(bound < least && 11 * least <= 12 * bound + 11, "{bound}: {least}");
        }
    }

    #[test]
    fn every_entry_is_found_and_nothing_else() {
        for count in [1u64, 2, 3, 7, 8, 63, 1000, 5000] {
            let hash = |i: u64| crate::feature_hash(&i.to_string());
            let mut hashes: Vec<u64> = (0..count).map(hash).chain([0, 1, u64::MAX]).collect();
            hashes.sort_unstable();
            let levels = hashes.iter().map(|hash| hash.to_be_bytes()[7]).collect();
            let table = Frequencies::new(Counted::Lines, 10, 1, hashes.clone(), levels);
            for hash in hashes {
                assert_eq!(table.level_of(hash), Some(hash.to_be_bytes()[7]));
            }
            assert!((count..2 * count).all(|i| table.level_of(hash(i)).is_none()));
        }
    }
}
