//! Sorted portions on their way into pages.

use std::ops::Range;
use std::path::Path;

use super::distribute::Distributed;
use super::drain::{Portions, drain};
use super::files::{ExchangeWriter, PageFile, PageFileWriter};
use super::meter::Meter;
use crate::Result;
use crate::format::pages::HolderPageBuilder;
use crate::page;

/// Takes ascending values, and writes them in pages.
struct ValuePages {
    values: Vec<u64>,
    bytes: Vec<u8>,
}

impl ValuePages {
    fn new() -> Self {
        Self { values: Vec::with_capacity(page::MAX_VALUES), bytes: Vec::new() }
    }

    /// Adds a value, and hands a page on that it has filled.
    fn push(&mut self, value: u64, put: impl FnMut(&[u8], &[u8], u64) -> Result<()>) -> Result<()> {
        self.values.push(value);
        if self.values.len() == page::MAX_VALUES { self.end(put) } else { Ok(()) }
    }

    fn end(&mut self, mut put: impl FnMut(&[u8], &[u8], u64) -> Result<()>) -> Result<()> {
        let Some(last) = self.values.last() else { return Ok(()) };
        self.bytes.clear();
        page::encode(&self.values, &mut self.bytes);
        put(&last.to_be_bytes(), &self.bytes, self.values.len() as u64)?;
        self.values.clear();
        Ok(())
    }
}

/// Writes the distinct sketches of a file of holders.
pub(super) struct ValueWriter {
    pages: ValuePages,
    file: ExchangeWriter,
    count: u64,
    latest: Option<u64>,
}

impl ValueWriter {
    pub(super) fn new(file: ExchangeWriter) -> Self {
        Self { pages: ValuePages::new(), file, count: 0, latest: None }
    }

    fn push(&mut self, value: u64) -> Result<()> {
        if self.latest.replace(value) == Some(value) {
            return Ok(());
        }
        self.count += 1;
        self.pages.push(value, |key, page, _| self.file.put(key, page))
    }

    /// How many there were, and the checksum of the file.
    fn finish(mut self) -> Result<(u64, u64)> {
        self.pages.end(|key, page, _| self.file.put(key, page))?;
        let (_, checksum) = self.file.finish()?;
        Ok((self.count, checksum))
    }
}

/// Writes holders that come in order.
pub(super) struct HolderPortions<'a> {
    page: HolderPageBuilder,
    count: u64,
    bytes: Vec<u8>,
    file: PageFileWriter,
    values: ValueWriter,
    meter: &'a Meter,
}

impl<'a> HolderPortions<'a> {
    pub(super) fn new(file: PageFileWriter, values: ValueWriter, meter: &'a Meter) -> Self {
        Self { page: HolderPageBuilder::default(), count: 0, bytes: Vec::new(), file, values, meter }
    }

    fn push(&mut self, identity: u64, id: &[u8], time: Option<u64>) -> Result<()> {
        self.values.push(identity)?;
        self.page.push(identity, id, time);
        self.count += 1;
        if self.page.is_full() { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> Result<()> {
        if self.page.is_empty() {
            return Ok(());
        }
        let key = self.page.key();
        self.bytes.clear();
        self.page.finish(&mut self.bytes);
        self.meter.done(self.count)?;
        self.file.put(&key, &self.bytes, std::mem::take(&mut self.count))
    }

    /// The file, unless it would be empty; how many distinct sketches there were, and the checksum of theirs.
    fn finish(mut self) -> Result<Written> {
        self.end()?;
        Ok((self.file.finish()?, self.values.finish()?))
    }
}

/// A file of holders, and the number and the checksum of its distinct sketches.
type Written = (Option<PageFile>, (u64, u64));

/// Something that writes a file of holders.
pub(super) trait Output: Portions + Sized {
    fn drain(&mut self, parts: &[Distributed], buckets: Range<usize>, memory: usize, scratch: &Path) -> Result<()> {
        drain(parts, buckets, memory, scratch, self)
    }

    fn finish(self) -> Result<Written>;
}

/// Sorts holders whose ids are numbers: sketch, id, and the time where there is one.
pub(super) struct NumberPortions<'a> {
    out: HolderPortions<'a>,
    pairs: Vec<(u64, u64)>,
    /// In a store where documents expire.
    timed: Vec<(u64, u64, u64)>,
    has_times: bool,
}

impl<'a> NumberPortions<'a> {
    pub(super) fn new(out: HolderPortions<'a>, has_times: bool) -> Self {
        Self { out, pairs: Vec::new(), timed: Vec::new(), has_times }
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

impl Portions for NumberPortions<'_> {
    fn length(&self, _: &[u8]) -> usize {
        if self.has_times { 24 } else { 16 }
    }

    fn add(&mut self, records: &[u8]) {
        if self.has_times {
            let records = records.chunks_exact(24);
            self.timed.extend(records.map(|r| (number(&r[..8]), number(&r[8..16]), number(&r[16..]))));
        } else {
            self.pairs.extend(records.chunks_exact(16).map(|r| (number(&r[..8]), number(&r[8..]))));
        }
    }

    fn hand_on(&mut self) -> Result<()> {
        self.pairs.sort_unstable();
        for (identity, id) in self.pairs.drain(..) {
            self.out.push(identity, &id.to_be_bytes(), None)?;
        }
        self.timed.sort_unstable();
        for (identity, id, time) in self.timed.drain(..) {
            self.out.push(identity, &id.to_be_bytes(), Some(time))?;
        }
        Ok(())
    }
}

impl Output for NumberPortions<'_> {
    fn finish(self) -> Result<Written> {
        self.out.finish()
    }
}

/// Sorts holders with any ids: sketch, length of the id in two bytes, id, and the time where there is one.
pub(super) struct StringPortions<'a> {
    out: HolderPortions<'a>,
    records: Vec<u8>,
    places: Vec<(u64, usize)>,
    time_bytes: usize,
}

impl<'a> StringPortions<'a> {
    pub(super) fn new(out: HolderPortions<'a>, has_times: bool) -> Self {
        Self { out, records: Vec::new(), places: Vec::new(), time_bytes: if has_times { 8 } else { 0 } }
    }
}

/// The id of the record at a place.
fn id_at(records: &[u8], at: usize) -> &[u8] {
    let length = u16::from_le_bytes([records[at + 8], records[at + 9]]);
    &records[at + 10..][..usize::from(length)]
}

impl Portions for StringPortions<'_> {
    fn length(&self, records: &[u8]) -> usize {
        10 + id_at(records, 0).len() + self.time_bytes
    }

    fn add(&mut self, records: &[u8]) {
        let mut at = self.records.len();
        self.records.extend_from_slice(records);
        while at < self.records.len() {
            self.places.push((number(&self.records[at..at + 8]), at));
            at += self.length(&self.records[at..]);
        }
    }

    fn hand_on(&mut self) -> Result<()> {
        let Self { out, records, places, time_bytes } = self;
        places.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| id_at(records, a.1).cmp(id_at(records, b.1))));
        for (identity, at) in places.drain(..) {
            let id = id_at(records, at);
            let time = (*time_bytes > 0).then(|| number(&records[at + 10 + id.len()..][..8]));
            out.push(identity, id, time)?;
        }
        records.clear();
        Ok(())
    }
}

impl Output for StringPortions<'_> {
    fn finish(self) -> Result<Written> {
        self.out.finish()
    }
}

/// Sorts the values of a table.
pub(super) struct TablePortions<'a> {
    values: Vec<u64>,
    pages: ValuePages,
    file: PageFileWriter,
    meter: &'a Meter,
}

impl<'a> TablePortions<'a> {
    pub(super) fn new(file: PageFileWriter, meter: &'a Meter) -> Self {
        Self { values: Vec::new(), pages: ValuePages::new(), file, meter }
    }

    pub(super) fn finish(mut self) -> Result<Option<PageFile>> {
        self.pages.end(|key, page, count| self.file.put(key, page, count))?;
        self.file.finish()
    }
}

impl Portions for TablePortions<'_> {
    fn length(&self, _: &[u8]) -> usize {
        8
    }

    fn add(&mut self, records: &[u8]) {
        self.values.extend(records.chunks_exact(8).map(number));
    }

    fn hand_on(&mut self) -> Result<()> {
        self.values.sort_unstable();
        self.meter.done(self.values.len() as u64)?;
        for value in self.values.drain(..) {
            self.pages.push(value, |key, page, count| self.file.put(key, page, count))?;
        }
        Ok(())
    }
}
