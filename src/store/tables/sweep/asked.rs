//! What many queries ask of one table.

use crate::design::visit_prefixes;
use crate::format::keys::TableKeys;
use crate::store::buckets::sorted;
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
