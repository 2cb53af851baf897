//! The ids of many fingerprints at once.

use crate::Result;
use crate::store::holders::{Holder, Holders};

/// By so many first bits a fingerprint is found.
const FRONT_BITS: u32 = 14;

/// Ids of some fingerprints, at most so many of each as were asked for.
#[derive(Default)]
pub(super) struct Ids {
    fingerprints: Vec<u64>,
    /// Where those with the same first bits begin, so that one is found in one look or two at the memory.
    fronts: Vec<usize>,
    /// Where the ids of each end in `ends`, and whether there are more.
    lists: Vec<(usize, bool)>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Ids {
    /// Looks up the ids of fingerprints, which are in order. `None` where they take more than `most_bytes`.
    pub(super) fn read(
        holders: &mut Holders,
        fingerprints: Vec<u64>,
        most: usize,
        most_bytes: usize,
    ) -> Result<Option<Self>> {
        let mut ids = Self { lists: Vec::with_capacity(fingerprints.len()), ..Self::default() };
        let mut holder = Holder::default();
        for &fingerprint in &fingerprints {
            let begun = ids.ends.len();
            let mut is_more = false;
            holders.visit_ids(fingerprint, None, &mut holder, |id| {
                if ids.ends.len() - begun == most {
                    is_more = true;
                    return false;
                }
                ids.bytes.extend_from_slice(id);
                ids.ends.push(ids.bytes.len());
                // Of one that is enough, whether there are more is of no interest.
                most > 1
            })?;
            ids.lists.push((ids.ends.len(), is_more));
            if ids.bytes.len() + ids.ends.len() * size_of::<usize>() > most_bytes && fingerprints.len() > 2 {
                return Ok(None);
            }
        }
        let mut fronts = vec![0; (1 << FRONT_BITS) + 1];
        for fingerprint in &fingerprints {
            fronts[front(*fingerprint) + 1] += 1;
        }
        let mut sum = 0;
        for front in &mut fronts {
            sum += *front;
            *front = sum;
        }
        Ok(Some(Self { fingerprints, fronts, ..ids }))
    }

    /// The ids of a fingerprint, in order, and whether there are more.
    pub(super) fn of(&self, fingerprint: u64) -> (impl ExactSizeIterator<Item = &[u8]>, bool) {
        let front = front(fingerprint);
        let [from, to] = [front, front + 1].map(|front| self.fronts.get(front).copied().unwrap_or(0));
        let (range, is_more) = match self.fingerprints[from..to].binary_search(&fingerprint) {
            Err(_) => (0..0, false),
            Ok(at) => {
                let at = from + at;
                let start = if at == 0 { 0 } else { self.lists[at - 1].0 };
                (start..self.lists[at].0, self.lists[at].1)
            }
        };
        let ids = range.map(|i| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] };
            &self.bytes[start..self.ends[i]]
        });
        (ids, is_more)
    }
}

fn front(fingerprint: u64) -> usize {
    (fingerprint >> (64 - FRONT_BITS)) as usize
}
