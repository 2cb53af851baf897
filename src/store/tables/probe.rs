//! One probe: what all generations have under a prefix of a table.
//!
//! A value that several generations have is one candidate. So the few that have keys of their own are read first,
//! and are left out where the sealed ones have them too.

use smallvec::SmallVec;

use super::scratch::{Room, Scratch};
use super::stretches::{Look, Stretch};
use super::within::{between, within};
use super::{Ranges, Rows, SealedTables, Tables, Work};
use crate::design::cost;
use crate::engine::{Cursor, Engine, Tier, Visited, malformed};
use crate::format::Malformed;
use crate::format::keys::TableKeys;
use crate::isa::Isa;
use crate::near::near;
use crate::overlap::common;
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
    pub(super) fn verify(&mut self, probed: Probed<'_>, candidate: u64, counts: &mut TableStats) {
        counts.candidates += 1;
        let distance = (probed.query ^ candidate).count_ones();
        if distance <= self.max_distance {
            counts.verified += 1;
            self.found.push((distance, probed.table.restore(candidate)));
        }
    }

    /// Compares the query with values. Those of `own` were compared before, and are one candidate with them.
    fn compare(
        &mut self,
        probed: Probed<'_>,
        values: &[u64],
        own: &[u64],
        found: &mut Vec<u64>,
        counts: &mut TableStats,
    ) {
        found.clear();
        near(Isa::detected(), values, probed.query, self.max_distance, found);
        let again = common(Isa::detected(), values, own);
        found.retain(|value| own.binary_search(value).is_err());
        counts.candidates += (values.len() - again) as u64;
        counts.verified += found.len() as u64;
        let found = found.iter().map(|&value| ((probed.query ^ value).count_ones(), probed.table.restore(value)));
        self.found.extend(found);
    }

    /// What was found, in order. A sketch that is near is usually found through more than one table.
    pub(super) fn into_found(mut self) -> Vec<(u32, Fingerprint)> {
        self.found.sort_unstable();
        self.found.dedup();
        self.found
    }
}

/// What is looked for in a table.
#[derive(Clone, Copy)]
pub(super) struct Probed<'a> {
    pub(super) table: &'a Table,
    /// The query, permuted as the table is.
    pub(super) query: u64,
    pub(super) prefix: u64,
}

impl Probed<'_> {
    /// The first and the last value with the prefix.
    fn bounds(self) -> [u64; 2] {
        bounds(self.table, self.prefix)
    }
}

/// The first and the last value with a prefix.
pub(super) fn bounds(table: &Table, prefix: u64) -> [u64; 2] {
    let bits = 64 - table.prefix_bits();
    let from = prefix.checked_shl(bits).unwrap_or(0);
    [from, from | ones(bits)]
}

/// The first and the last value that share a prefix with one.
pub(super) fn bounds_about(table: &Table, value: u64) -> [u64; 2] {
    let rest = ones(64 - table.prefix_bits());
    [value & !rest, value | rest]
}

/// What reads one table.
pub(super) struct Reader<'a> {
    engine: &'a Engine,
    keys: TableKeys,
    rows: SmallVec<[OneOfRows<'a>; 2]>,
    sealed: Option<&'a SealedTables>,
    table: usize,
    of: &'a Table,
    tier: Tier,
    /// What is in memory of the sealed values.
    look: Option<&'a Look<'a>>,
    /// A stretch that was looked up already, and its first value.
    ahead: Option<(u64, Stretch<'a>)>,
    /// Whether live values are read from the tables although they are in memory.
    reads_tables: bool,
    scratch: Scratch,
}

/// A generation with keys of its own, and a cursor over the table once it is needed.
struct OneOfRows<'a> {
    rows: &'a Rows,
    cursor: Option<Cursor<'a>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        tables: &'a Tables,
        engine: &'a Engine,
        table: usize,
        tier: Tier,
        look: Option<&'a Look<'_>>,
    ) -> Self {
        let rows = tables.rows().map(|rows| OneOfRows { rows, cursor: None }).collect();
        let (keys, sealed, of) = (tables.keys[table], tables.sealed.as_ref(), &tables.design.tables()[table]);
        let (ahead, reads_tables, scratch) = (None, false, Scratch::take());
        Self { engine, keys, rows, sealed, table, of, tier, look, ahead, reads_tables, scratch }
    }

    /// Takes the stretch that a value is in, where that is in memory.
    pub(super) fn with_stretch(mut self, value: u64, stretch: Option<Stretch<'a>>) -> Self {
        let begin = self.look.map(|look| look.bounds(self.table, value)[0]);
        self.ahead = begin.zip(stretch);
        self
    }

    /// The stretch that a value is in, where that is in memory.
    fn stretch(&mut self, value: u64) -> Option<Stretch<'a>> {
        let look = self.look?;
        match self.ahead.take() {
            Some((begin, stretch)) if begin == look.bounds(self.table, value)[0] => Some(stretch),
            other => {
                self.ahead = other;
                look.get(self.table, value)
            }
        }
    }

    /// Reads the tables of live values themselves.
    pub(super) fn of_tables(mut self) -> Self {
        self.reads_tables = true;
        self
    }

    /// Visits the candidates of one prefix until the work that is allowed is done. Where something is not of the tier of
    /// the reader, nothing was done.
    pub(super) fn probe(
        &mut self,
        probed: Probed<'_>,
        near: &mut Near<'_>,
        counts: &mut TableStats,
    ) -> Result<Visited> {
        let (found, before) = (near.found.len(), *counts);
        counts.probes += 1;
        let visited = self.visit(probed, near, counts)?;
        if visited == Visited::GaveUp {
            near.found.truncate(found);
            *counts = before;
        }
        Ok(visited)
    }

    fn visit(&mut self, probed: Probed<'_>, near: &mut Near<'_>, counts: &mut TableStats) -> Result<Visited> {
        if self.read_own(probed.prefix, near.work)? == Visited::GaveUp {
            return Ok(Visited::GaveUp);
        }
        if near.work.is_limited() {
            for &candidate in &self.scratch.own {
                if !near.work.take() {
                    return Ok(Visited::Whole);
                }
                near.verify(probed, candidate, counts);
            }
        } else if !self.scratch.own.is_empty() {
            let Room { own, found, .. } = &mut *self.scratch;
            near.compare(probed, own, &[], found, counts);
        }
        let Some(sealed) = self.sealed else { return Ok(Visited::Whole) };
        let [from, to] = probed.bounds();
        if near.work.is_limited() {
            self.visit_within_limits(sealed, probed, near, counts)?;
        } else if let Some((stretch, look)) = self.stretch(from).zip(self.look) {
            let Room { own, found, .. } = &mut *self.scratch;
            let values = between(&stretch, [from, to], look.bounds(self.table, from));
            near.compare(probed, values, own, found, counts);
        } else if self.tier == Tier::Cached {
            return Ok(Visited::GaveUp);
        } else {
            self.visit_pages(sealed, probed, near, counts)?;
        }
        Ok(Visited::Whole)
    }

    /// Visits the sealed values of a prefix, and keeps the stretch that they are in.
    fn visit_pages(
        &mut self,
        sealed: &'a SealedTables,
        probed: Probed<'_>,
        near: &mut Near<'_>,
        counts: &mut TableStats,
    ) -> Result<()> {
        let engine = self.engine;
        let family = &sealed.families[self.table];
        // Of what may be read beyond one block, all is read at once.
        let mut pages = match cost::bytes_ahead(self.of.prefix_bits(), sealed.sketches) {
            0 => engine.cursor(family)?,
            bytes => engine.cursor_ahead(family, bytes),
        };
        let Room { own, values, found, stretch } = &mut *self.scratch;
        let [from, to] = probed.bounds();
        let [begin, end] = sealed.stretches.bounds(self.table, from);
        let (mut own, mut is_kept) = (&own[..], true);
        stretch.clear();
        engine.visit_from(&mut pages, &begin.to_be_bytes(), |key, value| {
            let (page, last) = page_of(engine, key, value)?;
            let decoded = page::values(Isa::detected(), &page, [begin, end], values);
            let here = &values[decoded];
            let (own_here, rest) = own.split_at(own.partition_point(|&value| value <= last));
            own = rest;
            near.compare(probed, within(here, from, to), own_here, found, counts);
            is_kept = is_kept && sealed.stretches.has_room(stretch.len() + here.len());
            if is_kept {
                stretch.extend_from_slice(here);
            }
            // A stretch that is not kept need not be read to its end.
            Ok(last < if is_kept { end } else { to })
        })?;
        if let Some(look) = self.look.filter(|_| is_kept) {
            look.keep(self.table, from, stretch);
        }
        Ok(())
    }

    /// Visits the sealed values of a prefix one by one, until the work that is allowed is done.
    fn visit_within_limits(
        &mut self,
        sealed: &'a SealedTables,
        probed: Probed<'_>,
        near: &mut Near<'_>,
        counts: &mut TableStats,
    ) -> Result<()> {
        let engine = self.engine;
        let mut pages = engine.cursor(&sealed.families[self.table])?;
        let [from, to] = probed.bounds();
        let mut own = &self.scratch.own[..];
        engine.visit_from(&mut pages, &from.to_be_bytes(), |key, value| {
            let (page, last) = page_of(engine, key, value)?;
            page.visit(from, to, |_, candidate| {
                while let Some((_, rest)) = own.split_first().filter(|(own, _)| **own < candidate) {
                    own = rest;
                }
                if own.first() != Some(&candidate) && near.work.take() {
                    near.verify(probed, candidate, counts);
                }
            });
            Ok(last < to && !near.work.is_cut())
        })?;
        Ok(())
    }

    /// The values that were read last, in order.
    pub(super) fn own(&self) -> &[u64] {
        &self.scratch.own
    }

    /// Reads the values under a prefix that have keys of their own, a few more than the work allows at most.
    pub(super) fn read_own(&mut self, prefix: u64, work: &Work) -> Result<Visited> {
        let Self { engine, keys, rows, scratch, of, table, tier, reads_tables, .. } = self;
        let own = &mut scratch.own;
        own.clear();
        let bounds = bounds(of, prefix);
        for OneOfRows { rows, cursor } in rows.iter_mut() {
            let begun = own.len();
            let mut take = |values: &[u64]| {
                own.extend_from_slice(values);
                work.allows((own.len() - begun) as u64)
            };
            let fill = |[from, to]: [u64; 2], most: usize, values: &mut Vec<u64>| {
                let scan = engine.scan(&rows.families[*table]);
                let rest = Ranges::new(*keys, vec![scan], None, engine.path()).read(from, to, most.max(1), values)?;
                Ok(rest.is_none())
            };
            if !*reads_tables {
                let is_read = rows.values.read(*table, bounds, &mut take);
                // Bounded work has no room for more.
                let is_filled =
                    || Ok::<_, crate::Error>(!work.is_limited() && rows.values.fill(*table, bounds[0], fill)?);
                if is_read || is_filled()? && rows.values.read(*table, bounds, &mut take) {
                    continue;
                }
                own.truncate(begun);
            }
            let cursor = match cursor {
                Some(cursor) => cursor,
                None => cursor.insert(engine.cursor_over(&rows.families[*table], *tier)?),
            };
            let visited = engine.visit(cursor, keys.head(prefix).as_ref(), |key, _| {
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

/// A page of a table, and its last value.
pub(super) fn page_of<'p>(engine: &Engine, key: &[u8], value: &'p [u8]) -> Result<(Page<'p>, u64)> {
    let bad = |what: &str| malformed(engine.path(), Malformed(what.into()));
    let (page, rest) = Page::parse(value).map_err(|e| bad(e.0))?;
    let last = key.try_into().map(u64::from_be_bytes).ok().filter(|_| rest.is_empty());
    Ok((page, last.ok_or_else(|| bad("a page of a table has another key or length"))?))
}
