//! Which of some values are near? All against all, for the few that are left when nothing cheaper helps.

use crate::isa::Isa;
use crate::near::near;

/// Of so many values several are compared at once by other instructions.
const WORTH_VECTORS: usize = 32;

/// So many values are looked at before one of them is looked at by itself.
const TOGETHER: usize = 8;

/// Calls `hit` with each value of `a` and each of `b` that differ in at most `max_distance` bits.
#[inline]
pub(super) fn near_pairs<E>(
    a: &[u64],
    b: &[u64],
    max_distance: u32,
    hit: &mut impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<(), E> {
    // Where the processor counts bits of several values at once, that is the way for as many as fill its registers.
    let isa = Isa::detected();
    if isa != Isa::Portable && b.len() >= WORTH_VECTORS {
        let mut found = Vec::new();
        for &x in a {
            found.clear();
            near(isa, b, x, max_distance, &mut found);
            found.iter().try_for_each(|&y| hit(x, y))?;
        }
        return Ok(());
    }
    // Below the third flipped bit, to clear the lowest bit as often is cheaper than to count all.
    match max_distance {
        0 => compare(a, b, |x| x == 0, hit),
        1 => compare(a, b, |x| cleared::<1>(x) == 0, hit),
        2 => compare(a, b, |x| cleared::<2>(x) == 0, hit),
        3 => compare(a, b, |x| cleared::<3>(x) == 0, hit),
        _ => compare(a, b, |x| x.count_ones() <= max_distance, hit),
    }
}

/// The value without its lowest bits that are set.
#[inline]
fn cleared<const BITS: u32>(mut value: u64) -> u64 {
    for _ in 0..BITS {
        value &= value.wrapping_sub(1);
    }
    value
}

#[inline]
fn compare<E>(
    a: &[u64],
    b: &[u64],
    is_near: impl Fn(u64) -> bool,
    hit: &mut impl FnMut(u64, u64) -> Result<(), E>,
) -> Result<(), E> {
    let (together, rest) = b.as_chunks::<TOGETHER>();
    for &x in a {
        for values in together {
            // Without branches among them the compiler compares several at once; hits are rare.
            let any = values.iter().fold(false, |any, y| any | is_near(x ^ y));
            if any {
                for &y in values.iter().filter(|&&y| is_near(x ^ y)) {
                    hit(x, y)?;
                }
            }
        }
        for &y in rest.iter().filter(|&&y| is_near(x ^ y)) {
            hit(x, y)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_near_pair_once_at_every_distance_and_length() {
        let values: Vec<u64> = (0..40u32).map(|n| u64::from(n) << 57 ^ 1 << (n % 9) ^ u64::MAX << n).collect();
        for distance in 0..=64 {
            for lengths in [(1, 1), (3, 7), (7, 8), (5, 9), (40, 40)] {
                let (a, b) = (&values[..lengths.0], &values[40 - lengths.1..]);
                let mut found = Vec::new();
                near_pairs(a, b, distance, &mut |x, y| {
                    found.push((x, y));
                    Ok::<_, ()>(())
                })
                .unwrap();
                let all = a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y)));
                let mut expected: Vec<_> = all.filter(|(x, y)| (x ^ y).count_ones() <= distance).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "distance {distance}, {lengths:?}");
            }
        }
    }
}
