//! What many queries ask of one table.

use crate::design::visit_prefixes;
use crate::format::keys::TableKeys;
use crate::{Fingerprint, Result, Table};

/// One probe: the prefix, and the number of the query.
pub(super) type Probe = (u64, u32);

/// The probes of a table, in the order of their prefixes and then of the queries.
pub(super) struct Asked {
    pub(super) table: usize,
    pub(super) radius: u32,
    pub(super) probes: Vec<Probe>,
}

impl Asked {
    pub(super) fn of(
        (index, table, keys): (usize, &Table, TableKeys),
        radius: u32,
        sketches: &[Fingerprint],
    ) -> Result<Self> {
        let mut probes = Vec::with_capacity(sketches.len());
        for (query, sketch) in (0u32..).zip(sketches) {
            visit_prefixes(keys.prefix(table.permute(*sketch)), table.prefix_bits(), radius, &mut |prefix| {
                probes.push((prefix, query));
                Ok::<_, crate::Error>(())
            })?;
        }
        Ok(Self { table: index, radius, probes: sorted(probes, table.prefix_bits()) })
    }
}

/// Prefixes are sorted by so many of their highest bits at once.
const MOST_BITS: u32 = 16;

/// So few are compared with each other.
const FEW: usize = 1 << 10;

/// Sorts probes whose prefixes have so many bits, of which those with one prefix are in the order of the queries.
fn sorted(mut probes: Vec<Probe>, prefix_bits: u32) -> Vec<Probe> {
    if probes.len() < FEW {
        probes.sort_unstable();
        return probes;
    }
    let bits = prefix_bits.min(MOST_BITS).min(probes.len().ilog2());
    let shift = prefix_bits - bits;
    let bucket = |probe: &Probe| usize::try_from(probe.0 >> shift).unwrap_or(usize::MAX);
    let mut ends = vec![0; 1 << bits];
    for probe in &probes {
        ends[bucket(probe)] += 1;
    }
    let mut begin = 0;
    for end in &mut ends {
        begin += std::mem::replace(end, begin);
    }
    let mut sorted = vec![(0, 0); probes.len()];
    for probe in probes {
        let at = &mut ends[bucket(&probe)];
        sorted[*at] = probe;
        *at += 1;
    }
    if shift > 0 {
        let mut begin = 0;
        for end in ends {
            sorted[begin..end].sort_unstable();
            begin = end;
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_in_order_whatever_their_prefixes_are() {
        for bits in [0, 1, 7, 16, 17, 33, 64] {
            for count in [0, 1, 900, 5_000] {
                for crowd in [1, 40, u64::MAX] {
                    let prefix = |n: u32| {
                        let value = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15) % crowd;
                        value & crate::permutation::ones(bits)
                    };
                    let probes: Vec<Probe> = (0..count).map(|n| (prefix(n), n)).collect();
                    let mut expected = probes.clone();
                    expected.sort_unstable();
                    assert_eq!(sorted(probes, bits), expected, "{bits} bits, {count} probes, {crowd}");
                }
            }
        }
    }
}
