//! Pages of holders.

use super::{EIGHT_BYTE_IDS, Strings, TIMES, size, take_strings};
use crate::format::{Decoded, MAX_ID_BYTES, Malformed};
use crate::isa::prefetch;
use crate::packed::{self, Packed};
use crate::page::{self, Page};

/// Collects a page of holders, which come in the order of their identities and then their ids.
#[derive(Debug, Default)]
pub(crate) struct HolderPageBuilder {
    identities: Vec<u64>,
    ids: Strings,
    times: Vec<u64>,
}

/// A page of holders ends with the one that brings its ids to so many bytes, if not by their number.
const HOLDER_IDS_BYTES: usize = 16 << 10;

impl HolderPageBuilder {
    /// Adds a holder; all of them with a time, or none.
    pub(crate) fn push(&mut self, identity: u64, id: &[u8], stored_at_millis: Option<u64>) {
        self.identities.push(identity);
        self.ids.push(id);
        self.times.extend(stored_at_millis);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.identities.len() == page::MAX_VALUES || self.ids.bytes.len() >= HOLDER_IDS_BYTES
    }

    /// The key of the page: its last holder.
    pub(crate) fn key(&self) -> Vec<u8> {
        let last = self.identities.len() - 1;
        [&self.identities[last].to_be_bytes()[..], self.ids.get(last)].concat()
    }

    /// Appends the page, which has a holder at least, and begins the next one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let numbers = self.ids.numbers();
        let has_times = !self.times.is_empty();
        out.push(if numbers.is_some() { EIGHT_BYTE_IDS } else { 0 } | if has_times { TIMES } else { 0 });
        page::encode(&self.identities, out);
        if let Some(numbers) = numbers {
            packed::encode(&numbers, out);
        } else {
            packed::encode(&self.ids.lengths(), out);
            out.extend_from_slice(&self.ids.bytes);
        }
        if has_times {
            packed::encode(&self.times, out);
        }
        self.identities.clear();
        self.ids.clear();
        self.times.clear();
    }
}

/// A page of holders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HolderPage<'a> {
    identities: Page<'a>,
    ids: HolderIds<'a>,
    times: Option<Packed<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum HolderIds<'a> {
    Numbers(Packed<'a>),
    Strings(Packed<'a>, &'a [u8]),
}

impl<'a> HolderPage<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Decoded<Self> {
        let malformed = |what: &str| Malformed(format!("a page of holders {what}"));
        let (&flags, rest) = bytes.split_first().ok_or_else(|| malformed("is empty"))?;
        if flags & !(EIGHT_BYTE_IDS | TIMES) != 0 {
            return Err(malformed("has columns that its format does not have"));
        }
        let (identities, rest) = Page::parse(rest).map_err(|e| malformed(&format!("has bad sketches: {}", e.0)))?;
        let count = identities.len();
        let (numbers, rest) = Packed::parse(rest, count).map_err(|e| malformed(&format!("has bad ids: {}", e.0)))?;
        let (ids, rest) = if flags & EIGHT_BYTE_IDS != 0 {
            (HolderIds::Numbers(numbers), rest)
        } else {
            let (bytes, rest) = take_strings(numbers, count, rest).ok_or_else(|| malformed("has ids cut short"))?;
            (HolderIds::Strings(numbers, bytes), rest)
        };
        let (times, rest) = if flags & TIMES == 0 {
            (None, rest)
        } else {
            let (times, rest) =
                Packed::parse(rest, count).map_err(|e| malformed(&format!("has bad times: {}", e.0)))?;
            (Some(times), rest)
        };
        if !rest.is_empty() {
            return Err(malformed("has bytes left over"));
        }
        Ok(Self { identities, ids, times })
    }

    /// Has the processor fetch what [`visit`](Self::visit) needs for a sketch of the page of these bytes, whose last sketch is
    /// given. Of what is no page it may fetch anything.
    pub(crate) fn fetch(bytes: &[u8], sketch: u64, last: u64) {
        let Some((identities, rest)) = bytes.get(1..).and_then(|bytes| Page::parse(bytes).ok()) else { return };
        let (from, to) = identities.fetch(sketch, last);
        // Ids of one length, as most are, are as far on as identities are.
        prefetch(rest, 0);
        prefetch(rest, rest.len() / identities.len() * from);
        prefetch(rest, rest.len() / identities.len() * to);
    }

    /// Visits the ids of the documents with a sketch, and when they were stored where the page says it, until one
    /// is refused. Returns whether none was.
    pub(crate) fn visit<E>(
        &self,
        identity: u64,
        mut visit: impl FnMut(&[u8], Option<u64>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (mut first, mut count) = (0, 0);
        self.identities.visit(identity, identity, |at, _| {
            first = if count == 0 { at } else { first };
            count += 1;
        });
        if count == 0 {
            return Ok(true);
        }
        let mut start = match self.ids {
            HolderIds::Numbers(_) => 0,
            HolderIds::Strings(lengths, _) => (0..first).map(|i| size(lengths.get(i))).sum(),
        };
        for i in first..first + count {
            if !self.with_id(i, &mut start, |id, time| visit(id, time))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Visits all holders in their order.
    pub(crate) fn visit_all(&self, mut visit: impl FnMut(u64, &[u8], Option<u64>)) {
        let mut start = 0;
        self.identities.visit(0, u64::MAX, |i, identity| {
            self.with_id(i, &mut start, |id, time| visit(identity, id, time));
        });
    }

    /// Calls with the id and time at a place; `start` is where the ids of the page that are strings go on.
    fn with_id<T>(&self, i: usize, start: &mut usize, call: impl FnOnce(&[u8], Option<u64>) -> T) -> T {
        let time = self.times.map(|times| times.get(i));
        match self.ids {
            HolderIds::Numbers(numbers) => call(&numbers.get(i).to_be_bytes(), time),
            HolderIds::Strings(lengths, bytes) => {
                let end = *start + size(lengths.get(i));
                let id = bytes.get(std::mem::replace(start, end)..end).unwrap_or(&[]);
                call(id, time)
            }
        }
    }

    /// Whether these are the bytes that a builder makes of the holders, under this key.
    pub(crate) fn is_canonical(key: &[u8], bytes: &'a [u8], has_times: bool) -> bool {
        let Ok(page) = Self::parse(bytes) else { return false };
        let mut builder = HolderPageBuilder::default();
        let (mut is_ordered, mut last): (bool, Option<(u64, Vec<u8>)>) = (true, None);
        page.visit_all(|identity, id, time| {
            is_ordered &= (1..=MAX_ID_BYTES).contains(&id.len())
                && last.as_ref().is_none_or(|(i, d)| (*i, d.as_slice()) < (identity, id));
            last = Some((identity, id.to_owned()));
            builder.push(identity, id, time);
        });
        if !is_ordered || builder.is_empty() || builder.key() != key || page.times.is_some() != has_times {
            return false;
        }
        let mut again = Vec::with_capacity(bytes.len());
        builder.finish(&mut again);
        again == bytes
    }
}
