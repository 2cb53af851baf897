//! The distinct ones of many features.

/// Finds distinct features, in room that is kept from one text to the next.
///
/// Each feature writes its place into a slot of a table, and whichever comes last has it. Then each looks who has its slot:
/// the one that has it is distinct, those like it are duplicates, and the few others go through the same again with other slots.
/// Nothing of that branches on features, which no processor could guess, and the table need not be cleared, since only
/// slots are read that were written before.
#[derive(Default)]
pub(super) struct Distinct {
    table: Vec<u32>,
    found: Vec<u64>,
    counts: Vec<u32>,
    /// How often the feature comes that has its place here, and 0 at the places of others.
    of_places: Vec<u32>,
    others: [Vec<u64>; 2],
}

/// Slots for each feature, rounded up to a power of two.
const SLOTS_EACH: usize = 2;

/// Fewer are compared with each other.
const FEW: usize = 8;

/// After so many rounds those that are left are sorted: only features that were chosen to meet need more.
const ROUNDS: u32 = 8;

/// 2^64 over the golden ratio: its product spreads features over the slots, whatever hash they are of.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Distinct {
    /// Returns each of the features once, in any order.
    pub(super) fn of(&mut self, features: &[u64]) -> &[u64] {
        self.find::<false>(features);
        &self.found
    }

    /// Returns each of the features once with how often it comes, in any order.
    pub(super) fn counted(&mut self, features: &[u64]) -> impl Iterator<Item = (u64, u32)> {
        self.find::<true>(features);
        self.found.iter().copied().zip(self.counts.iter().copied())
    }

    fn find<const COUNTS: bool>(&mut self, features: &[u64]) {
        let Self { table, found, counts, of_places, others: [others, next] } = self;
        found.clear();
        counts.clear();
        if features.len() < FEW || u32::try_from(features.len()).is_err() {
            others.clear();
            others.extend_from_slice(features);
        } else {
            round::<COUNTS>(features, SPREAD, table, found, (counts, of_places), others);
        }
        let mut spread = SPREAD;
        for _ in 0..ROUNDS {
            if others.len() < FEW || u32::try_from(others.len()).is_err() {
                break;
            }
            spread = spread.wrapping_mul(SPREAD) | 1;
            round::<COUNTS>(others, spread, table, found, (counts, of_places), next);
            std::mem::swap(others, next);
        }
        others.sort_unstable();
        for run in others.chunk_by(|a, b| a == b) {
            found.push(run[0]);
            counts.push(u32::try_from(run.len()).unwrap_or(u32::MAX));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let features = self.found.capacity() + self.others.iter().map(Vec::capacity).sum::<usize>();
        let places = self.table.capacity() + self.counts.capacity() + self.of_places.capacity();
        size_of::<u32>() * places + size_of::<u64>() * features
    }
}

/// Moves the features that get a slot to those found, and those that meet others to `left`.
fn round<const COUNTS: bool>(
    features: &[u64],
    spread: u64,
    table: &mut Vec<u32>,
    found: &mut Vec<u64>,
    (counts, of_places): (&mut Vec<u32>, &mut Vec<u32>),
    left: &mut Vec<u64>,
) {
    let slots = (SLOTS_EACH * features.len()).next_power_of_two();
    let shift = u64::BITS - slots.ilog2();
    if table.len() < slots {
        table.resize(slots, 0);
    }
    let table = &mut table[..slots];
    #[expect(clippy::cast_possible_truncation, reason = "it is the number of a slot")]
    let slot = |feature: u64| (feature.wrapping_mul(spread) >> shift) as usize % slots;
    for (place, &feature) in (0u32..).zip(features) {
        table[slot(feature)] = place;
    }
    let (had, before) = (found.len(), counts.len());
    found.resize(had + features.len() + 1, 0);
    left.clear();
    left.resize(features.len() + 1, 0);
    let (mut found_now, mut left_now) = (had, 0);
    for (place, &feature) in features.iter().enumerate() {
        let owner = table[slot(feature)] as usize;
        found[found_now] = feature;
        found_now += usize::from(owner == place);
        left[left_now] = feature;
        left_now += usize::from(features[owner] != feature);
    }
    found.truncate(found_now);
    left.truncate(left_now);
    if COUNTS {
        // By the owners' places, and then only those of owners, in their order.
        of_places.clear();
        of_places.resize(features.len(), 0);
        for &feature in features {
            let owner = table[slot(feature)] as usize;
            of_places[owner] = of_places[owner].saturating_add(u32::from(features[owner] == feature));
        }
        counts.extend(of_places.iter().copied().filter(|&count| count > 0));
        debug_assert_eq!(counts.len() - before, found.len() - had);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(room: &mut Distinct, features: &[u64]) {
        let mut sorted = features.to_vec();
        sorted.sort_unstable();
        let expected: Vec<_> =
            sorted.chunk_by(|a, b| a == b).map(|run| (run[0], u32::try_from(run.len()).unwrap())).collect();
        let mut found = room.of(features).to_vec();
        found.sort_unstable();
        assert!(found.iter().eq(expected.iter().map(|(feature, _)| feature)), "{features:?}");
        let mut counted: Vec<_> = room.counted(features).collect();
        counted.sort_unstable();
        assert_eq!(counted, expected);
    }

    /// The odd number whose product with another one is 1.
    fn inverse(of: u64) -> u64 {
        (0..6).fold(of, |x, _| x.wrapping_mul(2u64.wrapping_sub(of.wrapping_mul(x))))
    }

    #[test]
    fn features_that_meet_in_one_slot_are_found() {
        assert_eq!(inverse(SPREAD).wrapping_mul(SPREAD), 1);
        let meet: Vec<u64> = (0..3000).map(|n| inverse(SPREAD).wrapping_mul(n % 2000)).collect();
        // A small multiple of a small number stays in the first slot in each round.
        let always: Vec<u64> = (0..3000).map(|n| (n % 2000) << 52).collect();
        for features in [meet, always] {
            check(&mut Distinct::default(), &features);
        }
    }

    proptest::proptest! {
        #[test]
        fn each_is_found_once(texts in proptest::collection::vec(proptest::collection::vec(0u64..300, 0..600), 1..5)) {
            let mut room = Distinct::default();
            for spread in [1, SPREAD, 1 << 40, inverse(SPREAD)] {
                for features in &texts {
                    let features: Vec<u64> = features.iter().map(|n| n.wrapping_mul(spread)).collect();
                    check(&mut room, &features);
                }
            }
        }
    }
}
