//! The values of sealed families: pages of documents and of holders. Those of tables are [`page`](crate::page) alone.
//!
//! A page holds columns, so that ids, sketches and times that are alike lie side by side. Which columns it has, a
//! byte of flags says.

mod documents;
mod holders;

pub(crate) use documents::{DocumentPage, DocumentPageBuilder, NUMBERED_DOCUMENTS, encode_numbered};
pub(crate) use holders::{HolderPage, HolderPageBuilder};

use crate::packed::Packed;

/// The ids are numbers of 8 bytes, big-endian.
const EIGHT_BYTE_IDS: u8 = 1;
/// There is a column of payloads.
const PAYLOADS: u8 = 2;
/// There is a column of times.
const TIMES: u8 = 4;

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

/// Takes as many bytes as the lengths add up to.
fn take_strings<'a>(lengths: Packed<'_>, count: usize, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let total = (0..count).try_fold(0u64, |sum, i| sum.checked_add(lengths.get(i)))?;
    bytes.split_at_checked(usize::try_from(total).ok()?)
}

/// A length that was checked against the bytes that are there.
fn size(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::documents::{put_number, take_number};
    use super::*;
    use crate::format::keys::DocumentValue;
    use crate::{packed, page};
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
        let spec = include_str!("../../../docs/format.md");
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
