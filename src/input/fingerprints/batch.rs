//! Fingerprints in the order of the input.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::value::Refusal;
use crate::Fingerprint;
use crate::input::BadRecord;

/// Fingerprints of one file in the order of the input, with their ids if those were asked for. It takes
/// three allocations however many they are.
#[derive(Clone, Debug)]
pub struct FingerprintBatch {
    file: Arc<PathBuf>,
    fingerprints: Vec<Fingerprint>,
    ids: Option<Ids>,
}

/// Ids one behind the other, and where each of them ends.
#[derive(Clone, Debug, Default)]
struct Ids {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Ids {
    fn push(&mut self, id: &[u8]) {
        self.bytes.extend_from_slice(id);
        let end = u32::try_from(self.bytes.len()).expect("the ids of a batch have 64 MiB together at most");
        self.ends.push(end);
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start as usize..self.ends[index] as usize]
    }
}

impl FingerprintBatch {
    /// The most fingerprints of a batch: 65,536.
    pub const MAX_LEN: usize = 1 << 16;

    pub(super) fn new(file: Arc<PathBuf>, with_ids: bool) -> Self {
        Self { file, fingerprints: vec![], ids: with_ids.then(Ids::default) }
    }

    /// Adds a record; its id is checked already, and is there if the batch has ids.
    pub(super) fn push(&mut self, id: Option<&[u8]>, fingerprint: Fingerprint) {
        debug_assert_eq!(id.is_some(), self.ids.is_some());
        if let (Some(ids), Some(id)) = (&mut self.ids, id) {
            ids.push(id);
        }
        self.fingerprints.push(fingerprint);
    }

    /// Adds many without ids.
    pub(super) fn extend(&mut self, fingerprints: impl Iterator<Item = Fingerprint>) {
        debug_assert!(self.ids.is_none());
        self.fingerprints.extend(fingerprints);
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= Self::MAX_LEN
    }

    /// Makes the error of a record that cannot be added.
    pub(super) fn bad(&self, line: u64, refusal: Refusal) -> BadRecord {
        BadRecord::of_file(&self.file, Some(line), refusal.reason, refusal.remedy)
    }

    /// Returns the file that all of them are from, `-` for the standard input.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns how many there are, up to [`FingerprintBatch::MAX_LEN`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// Whether there are none; never so for a batch that was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    /// Returns all fingerprints.
    #[must_use]
    pub fn fingerprints(&self) -> &[Fingerprint] {
        &self.fingerprints
    }

    /// Returns a fingerprint.
    ///
    /// # Panics
    /// If the index is [`FingerprintBatch::len`] or more.
    #[must_use]
    pub fn fingerprint(&self, index: usize) -> Fingerprint {
        self.fingerprints[index]
    }

    /// Returns the id of a fingerprint, of 1 to [`MAX_ID_BYTES`](crate::MAX_ID_BYTES) bytes, or `None` if
    /// ids were not asked for.
    ///
    /// # Panics
    /// If there are ids and the index is [`FingerprintBatch::len`] or more.
    #[must_use]
    pub fn id(&self, index: usize) -> Option<&[u8]> {
        self.ids.as_ref().map(|ids| ids.get(index))
    }

    /// Returns the ids, if those were asked for, and the fingerprints.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Option<&[u8]>, Fingerprint)> + '_ {
        self.fingerprints.iter().enumerate().map(|(index, &fingerprint)| (self.id(index), fingerprint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_there_in_order() {
        let mut batch = FingerprintBatch::new(Arc::new("f".into()), true);
        let records: Vec<_> =
            (0..1000_u16).map(|i| (vec![b'x'; usize::from(i) + 1], Fingerprint::new(i.into()))).collect();
        for (id, fingerprint) in &records {
            batch.push(Some(id), *fingerprint);
        }
        assert_eq!((batch.len(), batch.is_empty(), batch.is_full()), (1000, false, false));
        let found: Vec<_> = batch.iter().map(|(id, fingerprint)| (id.unwrap().to_vec(), fingerprint)).collect();
        assert_eq!(found, records);
        assert_eq!((batch.id(999).unwrap().len(), batch.fingerprint(999).bits()), (1000, 999));
    }

    #[test]
    fn without_ids_there_are_none() {
        let mut batch = FingerprintBatch::new(Arc::new("f".into()), false);
        batch.extend((0..FingerprintBatch::MAX_LEN as u64).map(Fingerprint::new));
        assert!(batch.is_full() && batch.id(0).is_none() && batch.iter().all(|(id, _)| id.is_none()));
    }
}
