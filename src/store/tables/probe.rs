//! One probe: what all generations have under a prefix of a table.
//!
//! A value that several generations have is one candidate. So the few that have keys of their own are read first,
//! and are left out where the pages have them too.

use smallvec::SmallVec;

use super::scratch::{Room, Scratch};
use super::{Tables, Work};
use crate::engine::{Cursor, Engine, Tier, Visited, malformed};
use crate::format::Malformed;
use crate::format::keys::TableKeys;
use crate::isa::Isa;
use crate::page::{self, Page};
use crate::permutation::ones;
use crate::store::TableStats;
use crate::{Fingerprint, Result, Table};

/// The query and what was found near it.
pub(super) struct Near<'a> {
    pub(super) query: Fingerprint,
    pub(super) max_distance: u32,
    pub(super) work: &'a mut Work,
    pub(super) found: Vec<(u32, Fingerprint)>,
}

impl Near<'_> {
    /// Keeps a candidate that is near. Permuted values have the distance of the values.
    #[inline]
    pub(super) fn verify(&mut self, table: &Table, permuted: u64, candidate: u64, counts: &mut TableStats) {
        counts.candidates += 1;
        let distance = (permuted ^ candidate).count_ones();
        if distance <= self.max_distance {
            counts.verified += 1;
            self.found.push((distance, table.restore(candidate)));
        }
    }

    /// Keeps candidates that are near.
    fn keep(&mut self, table: &Table, permuted: u64, found: &[u64], counts: &mut TableStats) {
        counts.verified += found.len() as u64;
        self.found.extend(found.iter().map(|&value| ((permuted ^ value).count_ones(), table.restore(value))));
    }

    /// What was found, in order. A sketch that is near is usually found through more than one table.
    pub(super) fn into_found(mut self) -> Vec<(u32, Fingerprint)> {
        self.found.sort_unstable();
        self.found.dedup();
        self.found
    }
}

/// The cursors over one table.
pub(super) struct Reader<'a> {
    engine: &'a Engine,
    keys: TableKeys,
    rows: SmallVec<[Cursor<'a>; 2]>,
    pages: Option<Cursor<'a>>,
    scratch: Scratch,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tables: &'a Tables, engine: &'a Engine, table: usize, tier: Tier) -> Result<Self> {
        let rows = tables.rows().map(|rows| engine.cursor_over(&rows.families[table], tier)).collect::<Result<_>>()?;
        let pages =
            tables.sealed.as_ref().map(|(families, _)| engine.cursor_over(&families[table], tier)).transpose()?;
        Ok(Self { engine, keys: tables.keys[table], rows, pages, scratch: Scratch::take() })
    }

    /// The values that were read last, in order.
    pub(super) fn own(&self) -> &[u64] {
        &self.scratch.own
    }

    /// Visits the candidates of one prefix until the work that is allowed is done. Where something is not of the tier of
    /// the reader, nothing was done.
    pub(super) fn probe(
        &mut self,
        table: &Table,
        prefix: u64,
        permuted: u64,
        near: &mut Near<'_>,
        counts: &mut TableStats,
    ) -> Result<Visited> {
        let (found, before) = (near.found.len(), *counts);
        counts.probes += 1;
        let visited = self.visit(table, prefix, permuted, near, counts)?;
        if visited == Visited::GaveUp {
            near.found.truncate(found);
            *counts = before;
        }
        Ok(visited)
    }

    fn visit(
        &mut self,
        table: &Table,
        prefix: u64,
        permuted: u64,
        near: &mut Near<'_>,
        counts: &mut TableStats,
    ) -> Result<Visited> {
        if self.read_own(prefix, near.work)? == Visited::GaveUp {
            return Ok(Visited::GaveUp);
        }
        for &candidate in &self.scratch.own {
            if !near.work.take() {
                return Ok(Visited::Whole);
            }
            near.verify(table, permuted, candidate, counts);
        }
        let Self { engine, pages: Some(pages), scratch, .. } = self else { return Ok(Visited::Whole) };
        let Room { own, values, found } = &mut **scratch;
        let isa = Isa::detected();
        let bits = 64 - table.prefix_bits();
        let from = if bits == 64 { 0 } else { prefix << bits };
        let to = from | ones(bits);
        let mut own = &own[..];
        engine.visit_from(pages, &from.to_be_bytes(), |key, value| {
            let (page, rest) = Page::parse(value).map_err(|e| malformed(engine.path(), Malformed(e.0.into())))?;
            let last = key.try_into().map(u64::from_be_bytes).ok().filter(|_| rest.is_empty());
            let last = last.ok_or_else(|| {
                malformed(engine.path(), Malformed("a page of a table has another key or length".into()))
            })?;
            if !near.work.is_limited() {
                found.clear();
                let range = page::near(isa, &page, [from, to], permuted, near.max_distance, values, found);
                let met = &values[range];
                // What was met before is one candidate with what is met here.
                let (here, rest) = own.split_at(own.partition_point(|&value| value <= last));
                let again = here.iter().filter(|value| met.binary_search(value).is_ok()).count();
                found.retain(|value| here.binary_search(value).is_err());
                own = rest;
                counts.candidates += (met.len() - again) as u64;
                near.keep(table, permuted, found, counts);
                return Ok(last < to);
            }
            page.visit(from, to, |_, candidate| {
                while let Some((_, rest)) = own.split_first().filter(|(own, _)| **own < candidate) {
                    own = rest;
                }
                if own.first() != Some(&candidate) && near.work.take() {
                    near.verify(table, permuted, candidate, counts);
                }
            });
            Ok(last < to && !near.work.is_cut())
        })
    }

    /// Reads the values under a prefix that have keys of their own, one more than the work allows at most.
    pub(super) fn read_own(&mut self, prefix: u64, work: &Work) -> Result<Visited> {
        let Self { engine, keys, rows, scratch, .. } = self;
        let own = &mut scratch.own;
        own.clear();
        let head = keys.head(prefix);
        for cursor in rows.iter_mut() {
            let begun = own.len();
            let visited = engine.visit(cursor, head.as_ref(), |key, _| {
                own.push(keys.decode(key).map_err(|e| malformed(engine.path(), e))?);
                Ok(work.allows((own.len() - begun) as u64))
            })?;
            if visited == Visited::GaveUp {
                return Ok(visited);
            }
        }
        if rows.len() > 1 {
            own.sort_unstable();
            own.dedup();
        }
        Ok(Visited::Whole)
    }
}
