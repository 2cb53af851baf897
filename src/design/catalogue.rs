//! The designs that are known by name.

use super::{TableDesign, construct, probes_of_radius};
use crate::{Error, Result};

/// The most tables of a choice of blocks that is considered: more take long to search.
const MOST_TABLES: usize = 36;

/// All designs that are made for a distance, with their names, each name once.
pub(super) fn designs(max_distance: u32) -> Vec<(String, TableDesign)> {
    let mut designs: Vec<(String, TableDesign)> = Vec::new();
    if max_distance > TableDesign::MAX_DISTANCE {
        return designs;
    }
    for blocks in 1..=12 {
        for chosen in 1..=blocks {
            let few = construct::combinations(64, blocks, chosen, MOST_TABLES).is_some();
            if let Some(design) = few.then(|| TableDesign::combine(blocks, chosen, max_distance).ok()).flatten() {
                add(&mut designs, design.pruned());
            }
        }
    }
    for outer in max_distance + 1..=max_distance + 2 {
        for inner in max_distance + 1..=max_distance + 2 {
            if let Ok(design) = TableDesign::two_level(outer, inner, max_distance) {
                add(&mut designs, design);
            }
        }
    }
    designs
}

/// Adds a design; of two with one name, which look at equally many prefixes of equally many tables,
/// the longer prefixes are better.
fn add(designs: &mut Vec<(String, TableDesign)>, design: TableDesign) {
    let bits = |design: &TableDesign| design.tables().iter().map(super::Table::prefix_bits).sum::<u32>();
    let name = name(&design);
    match designs.iter_mut().find(|(other, _)| *other == name) {
        Some((_, other)) if bits(other) >= bits(&design) => {}
        Some((_, other)) => *other = design,
        None => designs.push((name, design)),
    }
}

/// The number of tables, and the most probes that one of them takes at the distance of the design.
pub(super) fn name(design: &TableDesign) -> String {
    let most = design.probes_for(design.max_distance()).map_or(0, |probes| {
        let each = design.tables().iter().zip(probes.radii());
        let each = each.map(|(table, radius)| radius.map_or(0, |r| probes_of_radius(table.prefix_bits(), r)));
        each.max().unwrap_or(0)
    });
    format!("{}x{most}", design.tables().len())
}

impl TableDesign {
    /// Makes the design of a name: the number of tables, `x`, and the most probes of one table at
    /// `max_distance`. A number alone means one probe a table.
    ///
    /// For distance 3 there are `4x1` (or `4`), `10x1`, `16x1`, `20x1`, `2x33` and others;
    /// `nearstone plan` lists them.
    ///
    /// # Errors
    /// [`Error::Design`] where no design has the name.
    ///
    /// ```
    /// use nearstone::TableDesign;
    ///
    /// assert_eq!(TableDesign::named("4x1", 3)?, TableDesign::default());
    /// assert_eq!(TableDesign::named("2x33", 3)?.probes_for(3).unwrap().total(), 66);
    /// # Ok::<(), nearstone::Error>(())
    /// ```
    pub fn named(name: &str, max_distance: u32) -> Result<Self> {
        let wanted = if name.contains('x') { name.to_owned() } else { format!("{name}x1") };
        let named = designs(max_distance).into_iter().find(|(name, _)| *name == wanted);
        named.map(|(_, design)| design).ok_or_else(|| Error::Design {
            reason: format!("no design for distance {max_distance} is called {name:?}: `nearstone plan` lists them"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_their_designs() {
        let rows = [
            ("4", 4, 16),
            ("4x1", 4, 16),
            ("10", 10, 25),
            ("16", 16, 28),
            ("20x1", 20, 31),
            ("2x33", 2, 32),
            ("35", 35, 36),
        ];
        for (name, tables, least) in rows {
            let design = TableDesign::named(name, 3).unwrap();
            let bits = design.tables().iter().map(crate::Table::prefix_bits).min().unwrap();
            assert_eq!((design.tables().len(), bits), (tables, least), "{name}");
        }
        for name in ["", "x", "4x2", "0", "5000", "auto"] {
            assert!(TableDesign::named(name, 3).is_err(), "{name}");
        }
        assert!(TableDesign::named("4", u32::MAX).is_err());
    }

    /// Each design that the planner knows, for each distance: its probes cover the distance, by proof.
    #[test]
    fn every_design_of_the_planner_covers_its_distance() {
        for distance in [0, 1, 2, 3, 5, 7, 10] {
            let mut count = 0;
            for (name, design) in designs(distance) {
                let probes = design.probes_for(distance).unwrap();
                assert_eq!(super::name(&design), name);
                design.check_radii(probes.radii(), distance).unwrap();
                count += 1;
            }
            assert!(count > 0, "{distance}");
        }
    }
}
