//! Are all bits of the fingerprints alive, and do they move on their own?

use crate::Fingerprint;

/// How the bits of a sample of fingerprints behave.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BitReport {
    /// The number of distinct fingerprints looked at.
    pub sampled: u64,
    /// For each bit, from the most significant one, the share of fingerprints that have it set.
    pub set_share: Vec<f64>,
    /// Bits that hardly ever change: set in less than 1 of 1,000 fingerprints, or unset in less.
    pub dead: Vec<u32>,
    /// Pairs of bits that move together, with their correlation, -1 to 1: those beyond 0.9, the closest
    /// first.
    pub mirrored: Vec<(u32, u32, f64)>,
    /// How many independent, balanced bits would spread the fingerprints as widely: 64 at best. It is the
    /// participation ratio of the covariances of the bits, (sum of variances)^2 / sum of squares.
    pub effective_bits: f64,
}

/// Below this share a bit is dead.
const DEAD_SHARE: f64 = 0.001;
/// Beyond this correlation two bits are mirrored.
const MIRRORED: f64 = 0.9;
/// Fewer fingerprints tell nothing about bits.
pub(super) const FEWEST: usize = 1_000;

/// Looks at a sample; `None` where it is too small.
pub(super) fn report(sample: &[Fingerprint]) -> Option<BitReport> {
    if sample.len() < FEWEST {
        return None;
    }
    // A column of bits for each bit, so that pairs are compared 64 fingerprints at a time.
    let columns: Vec<Vec<u64>> = (0..64)
        .map(|bit| {
            let of = |chunk: &[Fingerprint]| {
                chunk.iter().enumerate().map(|(i, f)| (f.bits() >> (63 - bit) & 1) << i).sum::<u64>()
            };
            sample.chunks(64).map(of).collect()
        })
        .collect();
    let count = number(sample.len() as u64);
    let both = |a: usize, b: usize| {
        let ones = columns[a].iter().zip(&columns[b]).map(|(x, y)| u64::from((x & y).count_ones()));
        number(ones.sum()) / count
    };
    let share: Vec<f64> = (0..64).map(|bit| both(bit, bit)).collect();
    let covariance = |a: usize, b: usize| both(a, b) - share[a] * share[b];
    let variance: Vec<f64> = share.iter().map(|p| p * (1.0 - p)).collect();
    let is_dead = |bit: usize| share[bit] < DEAD_SHARE || share[bit] > 1.0 - DEAD_SHARE;
    let mut squares: f64 = variance.iter().map(|v| v * v).sum();
    let mut mirrored = Vec::new();
    for a in 0..64 {
        for b in a + 1..64 {
            let covariance = covariance(a, b);
            squares += 2.0 * covariance * covariance;
            if !is_dead(a) && !is_dead(b) {
                let correlation = covariance / (variance[a] * variance[b]).sqrt();
                if correlation.abs() > MIRRORED {
                    mirrored.push((place(a), place(b), correlation));
                }
            }
        }
    }
    mirrored.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let total: f64 = variance.iter().sum();
    Some(BitReport {
        sampled: sample.len() as u64,
        dead: (0..64).filter(|&bit| is_dead(bit)).map(place).collect(),
        set_share: share,
        mirrored,
        effective_bits: if squares > 0.0 { total * total / squares } else { 0.0 },
    })
}

fn place(bit: usize) -> u32 {
    u32::try_from(bit).unwrap_or(64)
}

#[expect(clippy::cast_precision_loss, reason = "shares need no more")]
pub(super) fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(count: u64) -> impl Iterator<Item = u64> {
        (1..=count).map(|n| {
            let z = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n >> 7).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (z ^ z >> 31).wrapping_mul(0x94d0_49bb_1331_11eb) ^ z >> 29
        })
    }

    fn of(values: impl Iterator<Item = u64>) -> BitReport {
        report(&values.map(Fingerprint::new).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn uniform_values_have_all_their_bits() {
        let bits = of(uniform(20_000));
        assert!(bits.dead.is_empty() && bits.mirrored.is_empty(), "{bits:?}");
        assert!(bits.effective_bits > 63.0, "{}", bits.effective_bits);
        assert!(bits.set_share.iter().all(|share| (share - 0.5).abs() < 0.03), "{:?}", bits.set_share);
    }

    #[test]
    fn thirty_two_live_bits_are_told() {
        let bits = of(uniform(20_000).map(|value| value >> 32));
        assert_eq!(bits.dead, (0..32).collect::<Vec<u32>>());
        assert!((bits.effective_bits - 32.0).abs() < 0.5, "{}", bits.effective_bits);
    }

    #[test]
    fn copied_and_inverted_bits_are_mirrored() {
        let bits = of(uniform(20_000).map(|value| value & !0b11 | value >> 63 | (!value >> 62 & 1) << 1));
        let pairs: Vec<_> = bits.mirrored.iter().map(|&(a, b, r)| (a, b, r > 0.0)).collect();
        assert_eq!((pairs.len(), pairs.contains(&(0, 63, true)), pairs.contains(&(1, 62, false))), (2, true, true));
        assert!(bits.effective_bits < 62.5, "{}", bits.effective_bits);
    }

    #[test]
    fn a_few_fingerprints_tell_nothing() {
        assert_eq!(report(&[Fingerprint::new(1); FEWEST - 1]), None);
    }
}
