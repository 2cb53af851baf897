//! The values of sealed families: pages of documents and of holders. Those of tables are [`page`] alone.
//!
//! A page holds columns, so that ids, sketches and times that are alike lie side by side. Which columns it has, a
//! byte of flags says.

use super::keys::DocumentValue;
use super::{Decoded, MAX_ID_BYTES, MAX_PAYLOAD_BYTES, Malformed};
use crate::packed::{self, Packed};
use crate::page::{self, Page};

/// A page of documents ends with the one that brings it to so many bytes, if not by their number.
const DOCUMENT_PAGE_BYTES: usize = 16 << 10;

/// The ids are numbers of 8 bytes, big-endian.
const EIGHT_BYTE_IDS: u8 = 1;
/// There is a column of payloads.
const PAYLOADS: u8 = 2;
/// There is a column of times.
const TIMES: u8 = 4;

/// Collects a page of documents, which come in the order of their ids.
#[derive(Debug, Default)]
pub(crate) struct DocumentPageBuilder {
    ids: Strings,
    sketches: Vec<u8>,
    times: Vec<u64>,
    payloads: Strings,
}

/// Byte strings behind one another.
#[derive(Debug, Default)]
struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    fn lengths(&self) -> Vec<u64> {
        self.iter().map(|string| string.len() as u64).collect()
    }

    /// The strings as numbers, where each has 8 bytes.
    fn numbers(&self) -> Option<Vec<u64>> {
        self.iter().map(|string| string.try_into().ok().map(u64::from_be_bytes)).collect()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

impl DocumentPageBuilder {
    pub(crate) fn push(&mut self, id: &[u8], value: &DocumentValue<'_>) {
        self.ids.push(id);
        self.sketches.extend_from_slice(value.sketch);
        self.times.push(value.stored_at_millis);
        self.payloads.push(value.payload);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.times.len() == page::MAX_VALUES
            || self.ids.bytes.len() + self.sketches.len() + self.payloads.bytes.len() >= DOCUMENT_PAGE_BYTES
    }

    /// The key of the page: its last id.
    pub(crate) fn key(&self) -> &[u8] {
        self.ids.get(self.ids.len() - 1)
    }

    /// Appends the page, which has a document at least, and begins the next one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let numbers = self.ids.numbers();
        let has_payloads = !self.payloads.bytes.is_empty();
        out.push(if numbers.is_some() { EIGHT_BYTE_IDS } else { 0 } | if has_payloads { PAYLOADS } else { 0 });
        match numbers {
            Some(numbers) => page::encode(&numbers, out),
            None => self.fronts(out),
        }
        out.extend_from_slice(&self.sketches);
        packed::encode(&self.times, out);
        if has_payloads {
            packed::encode(&self.payloads.lengths(), out);
            out.extend_from_slice(&self.payloads.bytes);
        }
        self.ids.clear();
        self.sketches.clear();
        self.times.clear();
        self.payloads.clear();
    }

    /// Each id without what it shares with the front of the one before.
    fn fronts(&self, out: &mut Vec<u8>) {
        let count = u16::try_from(self.ids.len()).expect("a page has at most 512 documents");
        out.extend(count.to_be_bytes());
        let mut before: &[u8] = &[];
        for id in self.ids.iter() {
            let shared = before.iter().zip(id).take_while(|(a, b)| a == b).count();
            put_number(shared, out);
            put_number(id.len() - shared, out);
            out.extend_from_slice(&id[shared..]);
            before = id;
        }
    }
}

/// How many documents whose ids are consecutive numbers, without payloads, a page holds.
pub(crate) const NUMBERED_DOCUMENTS: usize = page::MAX_VALUES;

/// Appends the page of documents whose ids are numbers from `first` on, all stored at one time: that which a builder
/// makes of them. Returns its key.
pub(crate) fn encode_numbered(first: u64, sketches: &[[u8; 8]], time: u64, out: &mut Vec<u8>) -> [u8; 8] {
    let numbers: Vec<u64> = (0..sketches.len() as u64).map(|n| first + n).collect();
    out.push(EIGHT_BYTE_IDS);
    page::encode(&numbers, out);
    out.extend_from_slice(sketches.as_flattened());
    packed::encode(&vec![time; sketches.len()], out);
    numbers[numbers.len() - 1].to_be_bytes()
}

/// A page of documents.
#[derive(Debug)]
pub(crate) struct DocumentPage<'a> {
    ids: DocumentIds<'a>,
    sketch_bytes: usize,
    sketches: &'a [u8],
    times: Packed<'a>,
    payloads: Option<(Packed<'a>, &'a [u8])>,
}

#[derive(Debug)]
enum DocumentIds<'a> {
    Numbers(Page<'a>),
    Strings(Strings),
}

impl<'a> DocumentPage<'a> {
    /// Takes a page of documents with sketches of `sketch_bytes` apart.
    pub(crate) fn parse(bytes: &'a [u8], sketch_bytes: usize) -> Decoded<Self> {
        let malformed = |what: &str| Malformed(format!("a page of documents {what}"));
        let (&flags, rest) = bytes.split_first().ok_or_else(|| malformed("is empty"))?;
        if flags & !(EIGHT_BYTE_IDS | PAYLOADS) != 0 {
            return Err(malformed("has columns that its format does not have"));
        }
        let (ids, rest) = if flags & EIGHT_BYTE_IDS != 0 {
            let (ids, rest) = Page::parse(rest).map_err(|e| malformed(e.0))?;
            (DocumentIds::Numbers(ids), rest)
        } else {
            let (ids, rest) = parse_fronts(rest).ok_or_else(|| malformed("has ids that are cut short"))?;
            (DocumentIds::Strings(ids), rest)
        };
        let count = match &ids {
            DocumentIds::Numbers(page) => page.len(),
            DocumentIds::Strings(strings) => strings.len(),
        };
        let sketches = rest.split_at_checked(count * sketch_bytes);
        let (sketches, rest) = sketches.ok_or_else(|| malformed("has too few sketches"))?;
        let (times, rest) = Packed::parse(rest, count).map_err(|e| malformed(e.0))?;
        let (payloads, rest) = if flags & PAYLOADS == 0 {
            (None, rest)
        } else {
            let (lengths, rest) = Packed::parse(rest, count).map_err(|e| malformed(e.0))?;
            let (bytes, rest) =
                take_strings(lengths, count, rest).ok_or_else(|| malformed("has payloads cut short"))?;
            if (0..count).any(|i| lengths.get(i) > MAX_PAYLOAD_BYTES as u64) {
                return Err(malformed("has a payload that is too long"));
            }
            (Some((lengths, bytes)), rest)
        };
        if !rest.is_empty() {
            return Err(malformed("has bytes left over"));
        }
        Ok(Self { ids, sketch_bytes, sketches, times, payloads })
    }

    pub(crate) fn len(&self) -> usize {
        self.sketches.len() / self.sketch_bytes
    }

    /// Returns the document with an id, if it is in the page.
    pub(crate) fn find(&self, id: &[u8]) -> Option<DocumentValue<'a>> {
        let place = match &self.ids {
            DocumentIds::Numbers(page) => {
                let number = u64::from_be_bytes(id.try_into().ok()?);
                let mut place = None;
                page.visit(number, number, |i, _| place = Some(i));
                place?
            }
            DocumentIds::Strings(ids) => {
                let place = (0..ids.len()).collect::<Vec<_>>().partition_point(|&i| ids.get(i) < id);
                (place < ids.len() && ids.get(place) == id).then_some(place)?
            }
        };
        Some(self.value(place, self.payload_start(place)))
    }

    /// Visits all documents in the order of their ids.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&[u8], DocumentValue<'a>)) {
        let mut payload = 0;
        let mut with_value = |i: usize, id: &[u8]| {
            let value = self.value(i, payload);
            payload += value.payload.len();
            visit(id, value);
        };
        match &self.ids {
            DocumentIds::Numbers(page) => page.visit(0, u64::MAX, |i, id| with_value(i, &id.to_be_bytes())),
            DocumentIds::Strings(ids) => ids.iter().enumerate().for_each(|(i, id)| with_value(i, id)),
        }
    }

    fn payload_start(&self, place: usize) -> usize {
        self.payloads.map_or(0, |(lengths, _)| (0..place).map(|i| size(lengths.get(i))).sum())
    }

    fn value(&self, place: usize, payload_start: usize) -> DocumentValue<'a> {
        let payload = self.payloads.map_or(&[][..], |(lengths, bytes)| {
            bytes.get(payload_start..payload_start + size(lengths.get(place))).unwrap_or(&[])
        });
        let sketch = &self.sketches[place * self.sketch_bytes..][..self.sketch_bytes];
        DocumentValue { sketch, stored_at_millis: self.times.get(place), payload }
    }

    /// Whether these are the bytes that a builder makes of the documents, under this key.
    pub(crate) fn is_canonical(key: &[u8], bytes: &'a [u8], sketch_bytes: usize) -> bool {
        let Ok(page) = Self::parse(bytes, sketch_bytes) else { return false };
        let mut builder = DocumentPageBuilder::default();
        let (mut is_ordered, mut last): (bool, Option<Vec<u8>>) = (true, None);
        page.visit(|id, value| {
            is_ordered &= (1..=MAX_ID_BYTES).contains(&id.len()) && last.as_deref().is_none_or(|last| last < id);
            last = Some(id.to_owned());
            builder.push(id, &value);
        });
        if !is_ordered || builder.is_empty() || builder.key() != key || builder.times.len() != page.len() {
            return false;
        }
        let mut again = Vec::with_capacity(bytes.len());
        builder.finish(&mut again);
        again == bytes
    }
}

/// Reads ids that lack what they share with the one before.
fn parse_fronts(bytes: &[u8]) -> Option<(Strings, &[u8])> {
    let (count, mut rest) = bytes.split_first_chunk::<2>()?;
    let count = usize::from(u16::from_be_bytes(*count));
    if !(1..=page::MAX_VALUES).contains(&count) {
        return None;
    }
    let mut ids = Strings::default();
    let mut id: Vec<u8> = Vec::new();
    for _ in 0..count {
        let shared = take_number(&mut rest)?;
        let more = take_number(&mut rest)?;
        if shared > id.len() || shared + more > MAX_ID_BYTES {
            return None;
        }
        let (suffix, after) = rest.split_at_checked(more)?;
        id.truncate(shared);
        id.extend_from_slice(suffix);
        ids.push(&id);
        rest = after;
    }
    Some((ids, rest))
}

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
        let (identities, rest) = Page::parse(rest).map_err(|e| malformed(e.0))?;
        let count = identities.len();
        let (numbers, rest) = Packed::parse(rest, count).map_err(|e| malformed(e.0))?;
        let (ids, rest) = if flags & EIGHT_BYTE_IDS != 0 {
            (HolderIds::Numbers(numbers), rest)
        } else {
            let (bytes, rest) = take_strings(numbers, count, rest).ok_or_else(|| malformed("has ids cut short"))?;
            (HolderIds::Strings(numbers, bytes), rest)
        };
        let (times, rest) = if flags & TIMES == 0 {
            (None, rest)
        } else {
            let (times, rest) = Packed::parse(rest, count).map_err(|e| malformed(e.0))?;
            (Some(times), rest)
        };
        if !rest.is_empty() {
            return Err(malformed("has bytes left over"));
        }
        Ok(Self { identities, ids, times })
    }

    /// Visits the ids of the documents with a sketch, and when they were stored where the page says it, until one
    /// is refused. Returns whether none was.
    pub(crate) fn visit<E>(
        &self,
        identity: u64,
        mut visit: impl FnMut(&[u8], Option<u64>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (first, mut count) = (self.identities.find_from(identity), 0);
        self.identities.visit(identity, identity, |_, _| count += 1);
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

/// Takes as many bytes as the lengths add up to.
fn take_strings<'a>(lengths: Packed<'_>, count: usize, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let total = (0..count).try_fold(0u64, |sum, i| sum.checked_add(lengths.get(i)))?;
    bytes.split_at_checked(usize::try_from(total).ok()?)
}

/// A length that was checked against the bytes that are there.
fn size(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// Appends a number below 2^14 in one or two bytes, seven bits in each, the lowest first.
fn put_number(number: usize, out: &mut Vec<u8>) {
    debug_assert!(number < 1 << 14);
    let low = u8::try_from(number & 0x7f).expect("seven bits");
    match u8::try_from(number >> 7) {
        Ok(0) => out.push(low),
        high => out.extend([low | 0x80, high.unwrap_or(0x7f)]),
    }
}

fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let (&low, rest) = bytes.split_first()?;
    *bytes = rest;
    if low < 0x80 {
        return Some(usize::from(low));
    }
    let (&high, rest) = bytes.split_first()?;
    *bytes = rest;
    (1..0x80).contains(&high).then(|| usize::from(low & 0x7f) | usize::from(high) << 7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Row = (Vec<u8>, u64, u64, Vec<u8>);

    fn document_page(rows: &[Row]) -> (Vec<u8>, Vec<u8>) {
        let mut builder = DocumentPageBuilder::default();
        for (id, sketch, time, payload) in rows {
            let sketch = sketch.to_be_bytes();
            builder.push(id, &DocumentValue { sketch: &sketch, stored_at_millis: *time, payload });
        }
        let (key, mut bytes) = (builder.key().to_owned(), vec![]);
        builder.finish(&mut bytes);
        (key, bytes)
    }

    fn check_documents(rows: &[Row]) {
        let (key, bytes) = document_page(rows);
        let page = DocumentPage::parse(&bytes, 8).unwrap();
        let mut found: Vec<Row> = vec![];
        page.visit(|id, value| {
            let sketch = u64::from_be_bytes(value.sketch.try_into().unwrap());
            found.push((id.to_owned(), sketch, value.stored_at_millis, value.payload.to_owned()));
        });
        assert_eq!(found, rows);
        for (id, sketch, time, payload) in rows {
            let value = page.find(id).unwrap();
            assert_eq!(
                (value.sketch, value.stored_at_millis, value.payload),
                (&sketch.to_be_bytes()[..], *time, &payload[..])
            );
            assert_eq!(
                page.find(&[&id[..], &[0]].concat()).is_some(),
                rows.iter().any(|row| row.0 == [&id[..], &[0]].concat())
            );
        }
        assert!(DocumentPage::is_canonical(&key, &bytes, 8));
        assert!(!DocumentPage::is_canonical(b"another key", &bytes, 8));
    }

    fn check_holders(rows: &[(u64, Vec<u8>)], times: Option<&[u64]>) {
        let mut builder = HolderPageBuilder::default();
        for (i, (identity, id)) in rows.iter().enumerate() {
            builder.push(*identity, id, times.map(|times| times[i]));
        }
        let (key, mut bytes) = (builder.key(), vec![]);
        builder.finish(&mut bytes);
        let page = HolderPage::parse(&bytes).unwrap();
        let mut found = vec![];
        page.visit_all(|identity, id, time| found.push((identity, id.to_owned(), time)));
        let expected: Vec<_> =
            rows.iter().enumerate().map(|(i, (n, id))| (*n, id.clone(), times.map(|times| times[i]))).collect();
        assert_eq!(found, expected);
        for (identity, _) in rows {
            let mut ids = vec![];
            let whole = page.visit(*identity, |id, time| {
                ids.push((*identity, id.to_owned(), time));
                Ok::<_, ()>(true)
            });
            let of_it: Vec<_> = expected.iter().filter(|row| row.0 == *identity).cloned().collect();
            assert_eq!((whole, ids), (Ok(true), of_it));
        }
        assert_eq!(page.visit(rows[0].0, |_, _| Ok::<_, ()>(false)), Ok(false));
        assert!(HolderPage::is_canonical(&key, &bytes, times.is_some()));
        assert!(!HolderPage::is_canonical(&key, &bytes, times.is_none()));
    }

    fn ids(eight: bool) -> impl Strategy<Value = Vec<Vec<u8>>> {
        let length = if eight { 8..9usize } else { 1..20 };
        proptest::collection::btree_set(proptest::collection::vec(0u8..4, length), 1..60)
            .prop_map(|set| set.into_iter().collect())
    }

    proptest! {
        #[test]
        fn documents_come_back(
            ids in prop_oneof![ids(true), ids(false)],
            seeds: [u64; 7],
            payload in prop_oneof![Just(0usize), 0..40usize],
        ) {
            let rows: Vec<Row> = ids.into_iter().enumerate().map(|(i, id)| {
                let payload = vec![b'x'; if i % 3 == 0 { payload } else { 0 }];
                (id, seeds[i % 7], seeds[i % 5] >> (i % 64), payload)
            }).collect();
            check_documents(&rows);
        }

        #[test]
        fn holders_come_back(ids in prop_oneof![ids(true), ids(false)], seeds: [u64; 3], repeat in 1..20usize, times: bool) {
            let mut rows: Vec<_> = ids.into_iter().enumerate().map(|(i, id)| (seeds[i / repeat % 3], id)).collect();
            rows.sort();
            let stored: Vec<u64> = (0..rows.len()).map(|i| seeds[i % 3] >> 3).collect();
            check_holders(&rows, times.then_some(&stored[..]));
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes: Vec<u8>, flags in 0u8..8) {
            for bytes in [bytes.clone(), [&[flags][..], &bytes].concat()] {
                if let Ok(page) = DocumentPage::parse(&bytes, 8) {
                    page.visit(|_, _| ());
                    page.find(b"12345678");
                    page.find(b"x");
                }
                if let Ok(page) = HolderPage::parse(&bytes) {
                    page.visit_all(|_, _, _| ());
                    let _ = page.visit(7, |_, _| Ok::<_, ()>(true));
                }
                DocumentPage::is_canonical(b"x", &bytes, 8);
                HolderPage::is_canonical(b"x", &bytes, false);
            }
        }

        #[test]
        fn damaged_pages_are_taken_or_refused(at in 0usize..4000, bit in 0u8..8, eight: bool) {
            let id = |i: u64| if eight { i.to_be_bytes().to_vec() } else { format!("id-{i:05}").into_bytes() };
            let rows: Vec<Row> = (0..100).map(|i| (id(i), i << 50, i, vec![1; 3])).collect();
            let (key, mut bytes) = document_page(&rows);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            DocumentPage::is_canonical(&key, &bytes, 8);
            let mut builder = HolderPageBuilder::default();
            for (id, sketch, time, _) in &rows {
                builder.push(*sketch, id, Some(*time));
            }
            let mut bytes = vec![];
            builder.finish(&mut bytes);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            HolderPage::is_canonical(&key, &bytes, true);
        }
    }

    #[test]
    fn numbered_documents_make_the_page_of_a_builder() {
        for (first, count) in [(0, 1), (7, 300), (1 << 40, 512), (u64::MAX - 6, 6)] {
            let sketches: Vec<[u8; 8]> = (0..count).map(|n: u64| (n << 50 | 3).to_be_bytes()).collect();
            let mut builder = DocumentPageBuilder::default();
            for (id, sketch) in (first..).zip(&sketches) {
                assert!(!builder.is_full());
                builder.push(&u64::to_be_bytes(id), &DocumentValue { sketch, stored_at_millis: 9, payload: &[] });
            }
            assert_eq!(builder.is_full(), sketches.len() == NUMBERED_DOCUMENTS);
            let (key, mut expected, mut found) = (builder.key().to_owned(), vec![], vec![]);
            builder.finish(&mut expected);
            assert_eq!(encode_numbered(first, &sketches, 9, &mut found)[..], key);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_worked_example_of_the_specification() {
        let spec = include_str!("../../docs/format.md");
        let row = |name: &str| {
            let line = spec.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
            let hex = line.split('|').nth(2).unwrap().trim().trim_matches('`').replace(' ', "");
            (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect::<Vec<u8>>()
        };
        let first = 0x0123_4567_89ab_cdef;
        let values =
            [first, first, 0x0123_4567_89ac_0000, 0x0123_4567_89c0_ffee, 0x0123_4567_8a00_0001, 0x0123_4567_8b00_0000];
        let mut bytes = vec![];
        page::encode(&values, &mut bytes);
        assert_eq!(bytes, row("page of a table"));
        let mut bytes = vec![];
        packed::encode(&[1007, 1000, 1002, 1019, 1001], &mut bytes);
        assert_eq!(bytes, row("packed numbers"));
        assert_eq!(crate::format::keys::TOMBSTONE, row("tombstone"));
    }

    #[test]
    fn the_longest_ids_and_pages() {
        let long = |n: u8| [vec![b'u'; 1023], vec![n]].concat();
        let rows: Vec<Row> = (0..15).map(|n| (long(n), 1, 2, vec![])).collect();
        check_documents(&rows);
        let rows: Vec<Row> = (0..512u64).map(|n| (n.to_be_bytes().to_vec(), n, 5, vec![])).collect();
        check_documents(&rows);
        check_holders(&(0..15).map(|n| (u64::MAX, long(n))).collect::<Vec<_>>(), None);
        for number in [0, 1, 127, 128, 1024, (1 << 14) - 1] {
            let mut bytes = vec![];
            put_number(number, &mut bytes);
            let mut rest = &bytes[..];
            assert_eq!((take_number(&mut rest), rest), (Some(number), &[][..]));
        }
    }
}
