//! Admission in memory: what admission to a store is compared with.

use std::collections::BTreeSet;
use std::convert::Infallible;

use crate::design::visit_prefixes;
use crate::permutation::ones;
use crate::{Probes, TableDesign};

/// A set of permuted values in order for each table.
#[derive(Debug)]
pub struct Sets {
    design: TableDesign,
    probes: Probes,
    tables: Vec<BTreeSet<u64>>,
}

impl Sets {
    /// Makes empty sets for admission within a distance; `None` where a design has no probes for it.
    #[must_use]
    pub fn new(design: &TableDesign, max_distance: u32) -> Option<Self> {
        let probes = design.probes_for(max_distance)?;
        Some(Self { design: design.clone(), probes, tables: vec![BTreeSet::new(); design.tables().len()] })
    }

    /// Adds a value whatever is near it.
    pub fn insert(&mut self, value: u64) {
        for (table, set) in self.design.tables().iter().zip(&mut self.tables) {
            set.insert(table.permute(value.into()));
        }
    }

    /// Adds a value unless one within the distance is there, and returns whether it did.
    pub fn admit(&mut self, value: u64) -> bool {
        let mut is_near = false;
        for ((table, set), radius) in self.design.tables().iter().zip(&self.tables).zip(self.probes.radii()) {
            let Some(radius) = *radius else { continue };
            let permuted = table.permute(value.into());
            let bits = 64 - table.prefix_bits();
            let prefix = permuted.checked_shr(bits).unwrap_or(0);
            let Ok(()) = visit_prefixes(prefix, table.prefix_bits(), radius, &mut |prefix| {
                let from = prefix.checked_shl(bits).unwrap_or(0);
                is_near = is_near
                    || set
                        .range(from..=from | ones(bits))
                        .any(|stored| (stored ^ permuted).count_ones() <= self.probes.distance());
                Ok::<_, Infallible>(())
            });
            if is_near {
                return false;
            }
        }
        self.insert(value);
        true
    }
}
