//! The prefixes that a query looks at.

/// The tables to probe for one distance, and the flip radius of each.
///
/// Every stored value within the distance has a prefix within the flip radius of the query's in at
/// least one of the tables; [`TableDesign::probes_for`](crate::TableDesign::probes_for) proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probes {
    pub(super) distance: u32,
    pub(super) radii: Vec<Option<u32>>,
    pub(super) total: u64,
}

impl Probes {
    /// Returns the distance that these probes answer, inclusive.
    #[must_use]
    pub fn distance(&self) -> u32 {
        self.distance
    }

    /// Returns the flip radius of each table: how many of the prefix bits may differ. `None` where the
    /// table need not be probed.
    #[must_use]
    pub fn radii(&self) -> &[Option<u32>] {
        &self.radii
    }

    /// Returns the number of probes of all tables.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// The number of prefixes of `bits` bits that differ from one of them in at most `radius` bits.
pub(crate) fn probes_of_radius(bits: u32, radius: u32) -> u64 {
    let mut choose = 1u128;
    let mut sum = 1u128;
    for flips in 1..=radius.min(bits) {
        choose = choose * u128::from(bits - flips + 1) / u128::from(flips);
        sum += choose;
    }
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// Visits all prefixes that differ from `prefix` in at most `radius` of its `bits` lowest bits, in
/// ascending order, so that an iterator over the table only moves forward.
pub(crate) fn visit_prefixes<E>(
    prefix: u64,
    bits: u32,
    radius: u32,
    visit: &mut impl FnMut(u64) -> Result<(), E>,
) -> Result<(), E> {
    if radius == 0 || bits == 0 {
        return visit(prefix);
    }
    let bit = 1 << (bits - 1);
    let (clear, set) = (prefix & !bit, prefix | bit);
    let left = |value| if value == prefix { radius } else { radius - 1 };
    visit_prefixes(clear, bits - 1, left(clear), visit)?;
    visit_prefixes(set, bits - 1, left(set), visit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_the_field() {
        let rows = [(16, 0, 1), (16, 1, 17), (16, 2, 137), (16, 3, 697), (32, 1, 33), (0, 3, 1), (4, 9, 16)];
        for (bits, radius, probes) in rows {
            assert_eq!(probes_of_radius(bits, radius), probes, "{bits} bits, radius {radius}");
        }
        assert_eq!(probes_of_radius(64, 64), u64::MAX);
    }

    #[test]
    fn every_prefix_within_the_radius_once_and_in_order() {
        for bits in 1..=10 {
            for radius in 0..=bits {
                for prefix in [0, 1, 0x155 & ((1 << bits) - 1), (1 << bits) - 1] {
                    let mut seen = Vec::new();
                    visit_prefixes(prefix, bits, radius, &mut |p| {
                        seen.push(p);
                        Ok::<_, ()>(())
                    })
                    .unwrap();
                    let expected: Vec<u64> =
                        (0..1 << bits).filter(|p: &u64| (p ^ prefix).count_ones() <= radius).collect();
                    assert_eq!(seen, expected);
                    assert_eq!(seen.len() as u64, probes_of_radius(bits, radius));
                }
            }
        }
    }
}
