//! One probe: what all generations have under a prefix of a table.
//!
//! A value that several generations have is one candidate. So the few that have keys of their own are read first,
//! and are left out where the pages have them too.

use smallvec::SmallVec;

use super::{Tables, Work};
use crate::engine::{Cursor, Engine, malformed};
use crate::format::Malformed;
use crate::format::keys::TableKeys;
use crate::page::Page;
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
    /// The values under the prefix that have keys of their own.
    own: Vec<u64>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tables: &'a Tables, engine: &'a Engine, table: usize) -> Result<Self> {
        let rows = tables.rows().map(|rows| engine.cursor(&rows.families[table])).collect::<Result<_>>()?;
        let pages = tables.sealed.as_ref().map(|(families, _)| engine.cursor(&families[table])).transpose()?;
        Ok(Self { engine, keys: tables.keys[table], rows, pages, own: Vec::new() })
    }

    /// Visits the candidates of one prefix until the work that is allowed is done.
    pub(super) fn probe(
        &mut self,
        table: &Table,
        prefix: u64,
        permuted: u64,
        near: &mut Near<'_>,
        counts: &mut TableStats,
    ) -> Result<()> {
        counts.probes += 1;
        self.read_own(prefix, near.work)?;
        for &candidate in &self.own {
            if !near.work.take() {
                return Ok(());
            }
            near.verify(table, permuted, candidate, counts);
        }
        let Some(pages) = &mut self.pages else { return Ok(()) };
        let engine = self.engine;
        let bits = 64 - table.prefix_bits();
        let from = if bits == 64 { 0 } else { prefix << bits };
        let to = from | ones(bits);
        let mut own = &self.own[..];
        engine.visit_from(pages, &from.to_be_bytes(), |key, value| {
            let (page, rest) = Page::parse(value).map_err(|e| malformed(engine.path(), Malformed(e.0.into())))?;
            let last = key.try_into().map(u64::from_be_bytes).ok().filter(|_| rest.is_empty());
            let last = last.ok_or_else(|| {
                malformed(engine.path(), Malformed("a page of a table has another key or length".into()))
            })?;
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
    fn read_own(&mut self, prefix: u64, work: &Work) -> Result<()> {
        self.own.clear();
        let Self { engine, keys, rows, own, .. } = self;
        let head = keys.head(prefix);
        for cursor in rows.iter_mut() {
            let begun = own.len();
            engine.visit(cursor, head.as_ref(), |key, _| {
                own.push(keys.decode(key).map_err(|e| malformed(engine.path(), e))?);
                Ok(work.allows((own.len() - begun) as u64))
            })?;
        }
        if rows.len() > 1 {
            own.sort_unstable();
            own.dedup();
        }
        Ok(())
    }
}
