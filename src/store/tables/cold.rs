//! Probes of what is not cached, side by side.

use super::probe::{Near, Probed, Reader};
use super::{QueryStats, TableStats, Tables, Work};
use crate::engine::{Engine, Tier};
use crate::store::work::Limits;
use crate::{Fingerprint, Result};

/// Each thread gets its probes in so many parts, so that none waits long for another.
const PARTS_A_THREAD: usize = 4;

/// The probes of a table that need what is not cached.
pub(super) struct Cold {
    /// The place of the table in the statistics of the query.
    pub(super) place: usize,
    pub(super) table: usize,
    pub(super) permuted: u64,
    /// In order.
    pub(super) prefixes: Vec<u64>,
}

/// Some of these probes, and what they have found.
struct Part<'a> {
    cold: &'a Cold,
    prefixes: &'a [u64],
    found: Vec<(u32, Fingerprint)>,
    counts: TableStats,
    outcome: Result<()>,
}

impl Tables {
    /// Does probes, by several threads where they have to wait for the medium, and adds what they find.
    pub(super) fn read_cold(
        &self,
        engine: &Engine,
        colds: &[Cold],
        near: &mut Near<'_>,
        stats: &mut QueryStats,
    ) -> Result<()> {
        let all: usize = colds.iter().map(|cold| cold.prefixes.len()).sum();
        let each = all.div_ceil(PARTS_A_THREAD * engine.readers().threads()).max(1);
        let mut parts: Vec<Part<'_>> = colds
            .iter()
            .flat_map(|cold| cold.prefixes.chunks(each).map(move |prefixes| (cold, prefixes)))
            .map(|(cold, prefixes)| {
                let counts = TableStats { probes: 0, candidates: 0, verified: 0, ..stats.tables[cold.place] };
                Part { cold, prefixes, found: Vec::new(), counts, outcome: Ok(()) }
            })
            .collect();
        let (query, max_distance) = (near.query, near.max_distance);
        engine.readers().each(&mut parts, |part| {
            let mut work = Work::new(Limits::new());
            let mut near = Near { query, max_distance, work: &mut work, found: Vec::new() };
            part.outcome = self.read_part(engine, part.cold, part.prefixes, &mut near, &mut part.counts);
            part.found = near.found;
        });
        for part in parts {
            part.outcome?;
            near.found.extend(part.found);
            stats.add_to(part.cold.place, &part.counts);
        }
        Ok(())
    }

    fn read_part(
        &self,
        engine: &Engine,
        cold: &Cold,
        prefixes: &[u64],
        near: &mut Near<'_>,
        counts: &mut TableStats,
    ) -> Result<()> {
        let look = self.sealed.as_ref().map(|sealed| sealed.stretches.look());
        let mut reader = Reader::new(self, engine, cold.table, Tier::All, look.as_ref());
        let table = &self.design.tables()[cold.table];
        for &prefix in prefixes {
            reader.probe(Probed { table, query: cold.permuted, prefix }, near, counts)?;
        }
        Ok(())
    }
}
