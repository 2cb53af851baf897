//! Ranges of sorted numbers that are spread evenly, as the low bits of hashes are, and not yet in the processor's cache.
//!
//! A bisection waits for the memory at each of its steps. To begin where the number should be, and to go on by steps
//! that double, takes two or three reads that wait; where numbers are spread unevenly it takes as many as a bisection.

use std::ops::Range;

use crate::isa::prefetch;

/// The first step away from where a number should be.
const STEP: usize = 4;

/// So many lines of the processor's cache are fetched at once.
const MOST_LINES: usize = 8;

/// The values from one to another, of some in order.
pub(super) fn within(values: &[u64], from: u64, to: u64) -> &[u64] {
    let [Some(&first), Some(&last)] = [values.first(), values.last()] else { return &[] };
    between(values, [from, to], [first, last])
}

/// The same, of a list whose values are known to lie between two bounds: they tell where a value should be without a look at
/// the ends of the list.
pub(super) fn between(values: &[u64], bounds: [u64; 2], ends: [u64; 2]) -> &[u64] {
    &values[place_between(values, bounds, ends)]
}

/// The place of these values.
pub(super) fn place_between(values: &[u64], [from, to]: [u64; 2], [begin, end]: [u64; 2]) -> Range<usize> {
    if from <= begin && end <= to {
        return 0..values.len();
    }
    let first = first_from(values, from, [begin, end]);
    let values = &values[first..];
    // What follows is read anyway.
    let (mut end, mut step) = (0, 2 * STEP);
    while end + step < values.len() && values[end + step] <= to {
        end += step;
        step *= 2;
    }
    let last = (end + step + 1).min(values.len());
    first..first + end + values[end..last].partition_point(|&value| value <= to)
}

/// Has the processor fetch all from one value to another, of a list whose values lie between two bounds, as far as one read
/// after the other does not fetch them by itself.
pub(super) fn fetch_between(values: &[u64], [from, to]: [u64; 2], bounds: [u64; 2]) {
    if let [_, ..] = values {
        let [first, last] = [from, to].map(|value| guess(values, bounds, value.clamp(bounds[0], bounds[1])));
        // A place may be off by some values either way.
        let line = 64 / size_of::<u64>();
        let (first, last) = (first.saturating_sub(line / 2), last + line / 2);
        for place in (first..=last).step_by(line).take(MOST_LINES) {
            prefetch(values, place);
        }
    }
}

/// Where a value should be, of those that lie between two bounds.
fn guess(values: &[u64], [first, last]: [u64; 2], value: u64) -> usize {
    // In 32 bits, so that the product fits.
    let shift = 32u32.saturating_sub((last - first).leading_zeros());
    let share = ((value - first) >> shift) * (values.len() as u64 - 1) / ((last - first) >> shift).max(1);
    usize::try_from(share).unwrap_or(usize::MAX).min(values.len() - 1)
}

/// The place of the first value that is not less than one, in a list in order whose values lie between two bounds.
fn first_from(values: &[u64], from: u64, [begin, end]: [u64; 2]) -> usize {
    if values.is_empty() || begin >= from {
        return 0;
    }
    if end < from {
        return values.len();
    }
    let guess = guess(values, [begin, end], from);
    let mut step = STEP;
    let (mut low, mut high) = (guess, guess);
    if values[guess] < from {
        while high + step < values.len() && values[high + step] < from {
            high += step;
            step *= 2;
        }
        (low, high) = (high, (high + step).min(values.len()));
    } else {
        while low >= step && values[low - step] >= from {
            low -= step;
            step *= 2;
        }
        (low, high) = (low.saturating_sub(step), low);
    }
    low + values[low..high].partition_point(|&value| value < from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expected(values: &[u64], from: u64, to: u64) -> &[u64] {
        let values = &values[values.partition_point(|&value| value < from)..];
        &values[..values.partition_point(|&value| value <= to)]
    }

    #[test]
    fn it_is_what_bisections_find() {
        let lists: [Vec<u64>; 9] = [
            vec![],
            vec![0],
            vec![u64::MAX],
            vec![0, u64::MAX],
            (0..500).collect(),
            (0..500).map(|n| n << 55).collect(),
            (0..64).map(|n| 1 << n).collect(),
            (0..64).rev().map(|n| u64::MAX - (1 << n)).collect(),
            (0..200).map(|n| u64::MAX - 400 + n).chain([u64::MAX]).collect(),
        ];
        for values in &lists {
            let near = |value: u64| [value.saturating_sub(1), value, value.saturating_add(1)];
            let bounds: Vec<u64> = values.iter().flat_map(|&value| near(value)).chain([0, u64::MAX]).collect();
            for &from in &bounds {
                for &to in bounds.iter().step_by(7).filter(|&&to| to >= from) {
                    assert_eq!(within(values, from, to), expected(values, from, to), "{from} {to}");
                    assert_eq!(between(values, [from, to], [0, u64::MAX]), expected(values, from, to), "{from} {to}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_what_bisections_find_of_any_list(
            mut values in proptest::collection::vec(any::<u64>(), 0..300),
            shifts in 0u32..64,
            bounds in (any::<u64>(), any::<u64>()),
        ) {
            for value in &mut values {
                *value >>= shifts;
            }
            values.sort_unstable();
            values.dedup();
            let (a, b) = (bounds.0 >> shifts, bounds.1 >> shifts);
            let (from, to) = (a.min(b), a.max(b));
            prop_assert_eq!(within(&values, from, to), expected(&values, from, to));
            let [first, last] = [values.first(), values.last()].map(|value| value.copied().unwrap_or(from));
            for bounds in [[0, u64::MAX], [first & !255, last | 255], [first, last]] {
                prop_assert_eq!(between(&values, [from, to], bounds), expected(&values, from, to));
                fetch_between(&values, [from, to], bounds);
            }
        }
    }
}
