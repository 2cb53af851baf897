//! Pages of documents.

use super::{EIGHT_BYTE_IDS, PAYLOADS, Strings, size, take_strings};
use crate::format::keys::DocumentValue;
use crate::format::{Decoded, MAX_ID_BYTES, MAX_PAYLOAD_BYTES, Malformed};
use crate::packed::{self, Packed};
use crate::page::{self, Page};

/// A page of documents ends with the one that brings it to so many bytes, if not by their number.
const DOCUMENT_PAGE_BYTES: usize = 16 << 10;

/// Collects a page of documents, which come in the order of their ids.
#[derive(Debug, Default)]
pub(crate) struct DocumentPageBuilder {
    ids: Strings,
    sketches: Vec<u8>,
    times: Vec<u64>,
    payloads: Strings,
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
            let (ids, rest) = Page::parse(rest).map_err(|e| malformed(&format!("has bad ids: {}", e.0)))?;
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
        let (times, rest) = Packed::parse(rest, count).map_err(|e| malformed(&format!("has bad times: {}", e.0)))?;
        let (payloads, rest) = if flags & PAYLOADS == 0 {
            (None, rest)
        } else {
            let (lengths, rest) =
                Packed::parse(rest, count).map_err(|e| malformed(&format!("has bad lengths of payloads: {}", e.0)))?;
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

/// Appends a number below 2^14 in one or two bytes, seven bits in each, the lowest first.
pub(super) fn put_number(number: usize, out: &mut Vec<u8>) {
    debug_assert!(number < 1 << 14);
    let low = u8::try_from(number & 0x7f).expect("seven bits");
    match u8::try_from(number >> 7) {
        Ok(0) => out.push(low),
        high => out.extend([low | 0x80, high.unwrap_or(0x7f)]),
    }
}

pub(super) fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let (&low, rest) = bytes.split_first()?;
    *bytes = rest;
    if low < 0x80 {
        return Some(usize::from(low));
    }
    let (&high, rest) = bytes.split_first()?;
    *bytes = rest;
    (1..0x80).contains(&high).then(|| usize::from(low & 0x7f) | usize::from(high) << 7)
}
