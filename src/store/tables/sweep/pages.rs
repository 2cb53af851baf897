//! The pages of a table, of which a sweep needs some, read forward.

use std::ops::Range;

use super::Piece;
use super::asked::Probe;
use crate::engine::{Cursor, Engine};
use crate::isa::Isa;
use crate::page;
use crate::store::tables::Tables;
use crate::store::tables::probe::{bounds, page_of};
use crate::store::tables::within::within;
use crate::{Result, Table};

/// A sweep of most pages reads so many bytes at once.
const AHEAD_BYTES: u64 = 256 << 10;

/// The pages of a table.
pub(super) struct Pages<'a> {
    engine: &'a Engine,
    cursor: Option<Cursor<'a>>,
    table: &'a Table,
    /// The probes whose values come after those that are decoded.
    probes: &'a [Probe],
    values: Box<page::Values>,
    decoded: Range<usize>,
    /// The last value of the page that was decoded, and up to where it was.
    current: Option<(u64, u64)>,
    is_at_end: bool,
}

impl<'a> Pages<'a> {
    /// Those that a piece needs.
    pub(super) fn new(tables: &'a Tables, engine: &'a Engine, piece: Piece<'a>) -> Result<Self> {
        let family = tables.sealed.as_ref().map(|sealed| &sealed.families[piece.table]);
        let cursor = match family {
            Some(family) if piece.needs_most => Some(engine.cursor_ahead(family, AHEAD_BYTES)),
            family => family.map(|family| engine.cursor(family)).transpose()?,
        };
        Ok(Self {
            engine,
            is_at_end: cursor.is_none(),
            cursor,
            table: &tables.design.tables()[piece.table],
            probes: piece.probes,
            values: Box::new(page::ROOM),
            decoded: 0..0,
            current: None,
        })
    }

    /// The values from one to another that are on the first page that has any value from the first on, and the last
    /// value of that page. The first value does not descend from call to call.
    pub(super) fn values(&mut self, from: u64, to: u64) -> Result<Option<(&[u64], u64)>> {
        let is_here = self.current.is_some_and(|(last, until)| from <= last && to.min(last) <= until);
        if !is_here && !self.read(from)? {
            return Ok(None);
        }
        let last = self.current.map_or(u64::MAX, |(last, _)| last);
        Ok(Some((within(&self.values[self.decoded.clone()], from, to), last)))
    }

    /// Reads the page that has the first value from one on, and decodes it as far as probes need it.
    fn read(&mut self, from: u64) -> Result<bool> {
        let passed = self.probes.partition_point(|probe| bounds(self.table, probe.0)[1] < from);
        self.probes = &self.probes[passed..];
        let Some(cursor) = self.cursor.as_mut().filter(|_| !self.is_at_end) else { return Ok(false) };
        let key = from.to_be_bytes();
        // The next page is often the one, and is nearer than a seek.
        let may_be_next = self.current.is_some_and(|(last, _)| last < from);
        if !(may_be_next && self.engine.step(cursor)?.is_some_and(|(last, _)| last >= &key[..])) {
            self.engine.seek(cursor, &key)?;
        }
        let Some((last, page)) = self.cursor.as_ref().and_then(Cursor::entry) else {
            self.is_at_end = true;
            return Ok(false);
        };
        let (page, last) = page_of(self.engine, last, page)?;
        let here = self.probes.partition_point(|probe| bounds(self.table, probe.0)[0] <= last);
        let until = here.checked_sub(1).map_or(last, |at| bounds(self.table, self.probes[at].0)[1].min(last));
        self.decoded = page::values(Isa::detected(), &page, [from, until], &mut self.values);
        self.current = Some((last, until));
        Ok(true)
    }
}
