//! Table designs: which permuted tables a store keeps.

mod bands;
mod catalogue;
mod construct;
pub(crate) mod cost;
mod cover;
mod minhash;
mod plan;
mod probes;
mod table;

use std::fmt;

pub use bands::{BandDesign, BandPlan, BandPlanner};
pub use minhash::MinhashDesign;
pub use plan::{Aim, Plan, PlannedQuery, Planner};
pub use probes::Probes;
pub(crate) use probes::{probes_of_radius, visit_prefixes};
pub use table::Table;

use crate::{Error, Fingerprint, Result};
use cover::Cover;

/// The permuted tables of a store, and the distance that they are meant for.
///
/// Cut the 64 bits into m blocks. Two fingerprints that differ in at most k bits agree on all but k
/// of the blocks, so there is a choice of m - k blocks on which they agree altogether: a store with
/// one table for each choice finds them by exact prefixes (Manku, Jain and Das Sarma 2007, section 3).
/// More tables mean longer prefixes and so fewer candidates, and more disk.
///
/// What is stored is the list of tables. Which prefixes a query looks at follows from the distance
/// that it asks for, so a store answers other distances too: see [`TableDesign::probes_for`].
///
/// ```
/// use nearstone::TableDesign;
///
/// let design = TableDesign::choose(5, 3)?; // 5 blocks, of which any 2 are free of 3 errors
/// assert_eq!(design.tables().len(), 10);
/// assert_eq!(design.probes_for(3).unwrap().total(), 10);
/// # Ok::<(), nearstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableDesign {
    tables: Vec<Table>,
    max_distance: u32,
}

impl TableDesign {
    /// The largest distance in bits that a design can be meant for, and that a store answers.
    pub const MAX_DISTANCE: u32 = 16;
    /// The most tables of a design.
    pub const MAX_TABLES: usize = 64;
    /// The most probes of one query; a query that would take more scans a table instead.
    pub const MAX_PROBES: u64 = 1 << 20;

    /// Takes a list of tables and the distance that they are meant for.
    ///
    /// # Errors
    /// [`Error::Design`] where there are no tables or too many, the distance is too large, or the
    /// tables cannot answer it within [`TableDesign::MAX_PROBES`].
    pub fn new(tables: Vec<Table>, max_distance: u32) -> Result<Self> {
        let design = Self::from_stored(tables, max_distance)?;
        match design.probes_for(max_distance) {
            Some(_) => Ok(design),
            None => Err(Error::Design {
                reason: format!(
                    "distance {max_distance} takes more than {} probes with these tables: use more tables or a smaller distance",
                    Self::MAX_PROBES
                ),
            }),
        }
    }

    /// Takes tables that were looked at before, when the store was created.
    pub(crate) fn from_stored(tables: Vec<Table>, max_distance: u32) -> Result<Self> {
        let refused = |reason: String| Err(Error::Design { reason });
        if tables.is_empty() || tables.len() > Self::MAX_TABLES {
            return refused(format!("it has {} tables, 1 to {} are possible", tables.len(), Self::MAX_TABLES));
        }
        if max_distance > Self::MAX_DISTANCE {
            return refused(format!("max distance {max_distance}, at most {} is possible", Self::MAX_DISTANCE));
        }
        Ok(Self { tables, max_distance })
    }

    /// Makes the design "m blocks choose m - k": the 64 bits are cut into `blocks` blocks as equal as
    /// can be, and there is one table for each choice of `blocks - max_distance` of them.
    ///
    /// For distance 3, 4 blocks give 4 tables of 16 bits, 5 give 10 of 25 and 26, 6 give 20 of 31 to
    /// 33, and 7 give 35 of 36 and 37.
    ///
    /// # Errors
    /// [`Error::Design`] where `blocks` is not larger than `max_distance`, is more than 64, or gives
    /// more than [`TableDesign::MAX_TABLES`] tables.
    pub fn choose(blocks: u32, max_distance: u32) -> Result<Self> {
        if blocks <= max_distance || blocks > Fingerprint::BITS {
            let needed = "it takes more blocks than errors, and at most 64";
            return Err(Error::Design { reason: format!("{blocks} blocks for distance {max_distance}: {needed}") });
        }
        // One probe a table covers the distance, as said above, so there is nothing to search.
        Self::from_stored(
            Self::built(construct::combinations(64, blocks, blocks - max_distance, Self::MAX_TABLES))?,
            max_distance,
        )
    }

    /// Cuts the bits as [`TableDesign::choose`] does, but with one table for each choice of `chosen`
    /// blocks, whatever the distance; what that does not cover is found by flip radii.
    ///
    /// `combine(2, 1, 3)` is two tables of 32 bits, which answer distance 3 with 66 probes on half the
    /// disk of four tables; `combine(4, 1, 12)` answers distance 12 with 1,108 probes.
    ///
    /// # Errors
    /// [`Error::Design`] where there is no such choice, or more than [`TableDesign::MAX_TABLES`] of them,
    /// or where the distance takes more than [`TableDesign::MAX_PROBES`] probes.
    pub fn combine(blocks: u32, chosen: u32, max_distance: u32) -> Result<Self> {
        Self::new(Self::built(construct::combinations(64, blocks, chosen, Self::MAX_TABLES))?, max_distance)
    }

    /// Cuts twice: for each choice of `outer - max_distance` of `outer` blocks, the other bits are cut
    /// into `inner` blocks, of which any `inner - max_distance` are brought to the front as well (the
    /// paper's section 3.1.2). Prefixes add up and tables multiply: `two_level(4, 4, 3)` is 16 tables of 28 bits.
    ///
    /// # Errors
    /// [`Error::Design`] where one of the cuts has no more blocks than the distance, or there are more
    /// than [`TableDesign::MAX_TABLES`] tables.
    pub fn two_level(outer: u32, inner: u32, max_distance: u32) -> Result<Self> {
        let tables = construct::two_level(64, outer, inner, max_distance, Self::MAX_TABLES);
        // The errors are few enough for both cuts, so one probe a table covers the distance.
        Self::from_stored(Self::built(tables)?, max_distance)
    }

    /// Leaves out the tables that a query for the distance of the design does not probe.
    ///
    /// Of the 15 tables of `combine(6, 2, 3)`, any two blocks of six, six suffice: among any three blocks
    /// there are two that a table brings to the front.
    #[must_use]
    pub fn pruned(self) -> Self {
        let Some(probes) = self.probes_for(self.max_distance) else { return self };
        let tables = self.tables.into_iter().zip(probes.radii);
        let tables = tables.filter(|(_, radius)| radius.is_some()).map(|(table, _)| table);
        Self { tables: tables.collect(), max_distance: self.max_distance }
    }

    fn built(tables: Option<Vec<construct::Prefix>>) -> Result<Vec<Table>> {
        let none = || Error::Design {
            reason: format!("these blocks have no choice, or more than {} tables: use fewer blocks", Self::MAX_TABLES),
        };
        let mut built: Vec<Table> = Vec::new();
        for prefix in tables.ok_or_else(none)? {
            let table = Table::new(&prefix)?;
            // Two ways to cut may bring the same bits to the front: one table serves both.
            if built.iter().all(|other| other.prefix_mask() != table.prefix_mask()) {
                built.push(table);
            }
        }
        Ok(built)
    }

    /// Returns the tables.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Returns the distance in bits, inclusive, that the tables are meant for.
    #[must_use]
    pub fn max_distance(&self) -> u32 {
        self.max_distance
    }

    /// Returns the tables to probe, and the flip radius of each, for all values within `distance`.
    ///
    /// The radii are proven to cover the distance by a search over all ways in which errors can fall
    /// on the blocks, and are those with the fewest probes, as far as a bounded search has found them: it is
    /// used up only by large distances on many tables. `None` where it would take more than
    /// [`TableDesign::MAX_PROBES`] probes.
    #[must_use]
    pub fn probes_for(&self, distance: u32) -> Option<Probes> {
        let distance = distance.min(Fingerprint::BITS);
        let (radii, total) = self.cover().cheapest(distance, Self::MAX_PROBES)?;
        Some(Probes { distance, radii, total })
    }

    /// Returns how many candidates the probes yield among `sketches` distinct uniform values, over all
    /// tables: for each table its probes times `sketches` / 2^`prefix_bits`.
    #[must_use]
    pub fn candidates(&self, probes: &Probes, sketches: u64) -> f64 {
        cost::candidates(self, probes, sketches)
    }

    /// Checks that probes with these flip radii find every value within `distance`.
    ///
    /// # Errors
    /// [`Error::Design`] where they do not, with a way to place the errors that every table misses.
    pub fn check_radii(&self, radii: &[Option<u32>], distance: u32) -> Result<()> {
        if radii.len() != self.tables.len() {
            return Err(Error::Design { reason: format!("{} radii for {} tables", radii.len(), self.tables.len()) });
        }
        let Some(missed) = self.cover().counter_example(radii, distance) else {
            return Ok(());
        };
        let places: Vec<String> =
            missed.iter().map(|&(mask, count)| format!("{count} in the bits {mask:016x}")).collect();
        let errors: u32 = missed.iter().map(|&(_, count)| count).sum();
        Err(Error::Design {
            reason: format!(
                "distance {distance} is not covered: a value with {errors} errors ({}) is missed by every table",
                if places.is_empty() { "none anywhere".to_owned() } else { places.join(", ") }
            ),
        })
    }

    fn cover(&self) -> Cover {
        Cover::new(&self.tables.iter().map(Table::prefix_mask).collect::<Vec<_>>())
    }
}

/// Four tables of 16 bits for distance 3: the least disk of the exact designs for it.
impl Default for TableDesign {
    fn default() -> Self {
        Self::choose(4, 3).expect("4 blocks have 4 choices of 1")
    }
}

/// The number of tables, their prefix bits and the distance, as in `4 tables of 16 bits for distance 3`.
impl fmt::Display for TableDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = || self.tables.iter().map(Table::prefix_bits);
        let (least, most) = (bits().min().unwrap_or(0), bits().max().unwrap_or(0));
        write!(f, "{} table{} of {least}", self.tables.len(), if self.tables.len() == 1 { "" } else { "s" })?;
        if most > least {
            write!(f, "-{most}")?;
        }
        write!(f, " bits for distance {}", self.max_distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix_bits(design: &TableDesign) -> (u32, u32) {
        let bits = || design.tables().iter().map(Table::prefix_bits);
        (bits().min().unwrap(), bits().max().unwrap())
    }

    #[test]
    fn the_designs_of_the_paper_and_their_neighbours() {
        let rows = [
            (4, 3, 4, 16, 16),
            (5, 3, 10, 25, 26),
            (6, 3, 20, 31, 33),
            (7, 3, 35, 36, 37),
            (1, 0, 1, 64, 64),
            (64, 1, 64, 63, 63),
        ];
        for (blocks, distance, tables, least, most) in rows {
            let design = TableDesign::choose(blocks, distance).unwrap();
            assert_eq!((design.tables().len(), prefix_bits(&design)), (tables, (least, most)));
        }
    }

    #[test]
    fn the_two_level_and_multi_probe_designs() {
        let paper = TableDesign::two_level(4, 4, 3).unwrap();
        assert_eq!(
            (paper.tables().len(), prefix_bits(&paper), paper.probes_for(3).unwrap().total()),
            (16, (28, 28), 16)
        );
        paper.check_radii(&[Some(0); 16], 3).unwrap();
        for (design, tables, bits, probes) in [
            (TableDesign::combine(2, 1, 3), 2, (32, 32), 66),
            (TableDesign::combine(3, 1, 3), 3, (21, 22), 24),
            (TableDesign::combine(4, 1, 12), 4, (16, 16), 1108),
            (TableDesign::combine(1, 1, 1), 1, (64, 64), 65),
            (TableDesign::combine(6, 2, 3).map(TableDesign::pruned), 6, (20, 22), 6),
        ] {
            let design = design.unwrap();
            let found = design.probes_for(design.max_distance()).unwrap().total();
            assert_eq!((design.tables().len(), prefix_bits(&design), found), (tables, bits, probes), "{design}");
        }
        assert!(TableDesign::combine(1, 1, 8).is_err() && TableDesign::two_level(4, 3, 3).is_err());
    }

    #[test]
    fn every_choice_covers_its_distance_with_one_probe_a_table() {
        for distance in 0..=6 {
            for blocks in distance + 1..=16 {
                let Ok(design) = TableDesign::choose(blocks, distance) else { continue };
                let once = vec![Some(0); design.tables().len()];
                design.check_radii(&once, distance).unwrap();
                assert_eq!(
                    design.probes_for(distance).unwrap().total(),
                    if distance == 0 { 1 } else { once.len() as u64 }
                );
                if blocks < 64 {
                    assert!(design.check_radii(&once, distance + 1).is_err());
                }
            }
        }
    }

    #[test]
    fn fewer_probes_answer_a_smaller_distance() {
        let design = TableDesign::choose(5, 3).unwrap();
        let totals: Vec<u64> = (0..=3).map(|d| design.probes_for(d).unwrap().total()).collect();
        assert_eq!(totals, [1, 2, 4, 10]);
    }

    #[test]
    fn four_blocks_answer_the_distances_of_the_general_pigeonhole() {
        let design = TableDesign::default();
        for (distance, probes) in [(3, 4), (7, 68), (11, 548), (12, 1108)] {
            assert_eq!(design.probes_for(distance).unwrap().total(), probes);
        }
    }

    #[test]
    fn radii_that_do_not_cover_are_refused_with_the_errors_that_are_missed() {
        let error = TableDesign::default().check_radii(&[Some(0), Some(0), None, Some(0)], 3).unwrap_err();
        assert!(error.to_string().contains("3 errors"), "{error}");
        assert!(error.to_string().contains("ffff000000000000"), "{error}");
    }

    #[test]
    fn designs_that_cannot_be_are_refused() {
        for (blocks, distance) in [(0, 0), (3, 3), (65, 3), (9, 3), (20, 17)] {
            assert!(TableDesign::choose(blocks, distance).is_err(), "{blocks}, {distance}");
        }
        assert!(TableDesign::new(vec![], 3).is_err());
        let one = || vec![Table::new(std::slice::from_ref(&(0..64))).unwrap()];
        assert!(TableDesign::new(one(), 3).is_ok());
        assert!(TableDesign::new(one(), 17).is_err());
        assert!(TableDesign::new(one(), 8).is_err(), "more probes than allowed");
        assert!(
            Table::new(std::slice::from_ref(&(0..65))).is_err()
                && Table::new(&[]).is_err()
                && Table::new(&[0..4, 3..5]).is_err()
        );
    }
}
