//! The store's answers against a full scan of its documents.

use std::collections::HashMap;

use super::super::iter::decode;
use super::super::query::query;
use super::super::sketch::Way;
use super::super::{Shared, TableDesign};
use crate::{Fingerprint, Result};

/// What a self-test has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelfTest {
    /// The queries that were asked.
    pub queries: u64,
    /// Documents within the distance that a query has not returned.
    pub missed: u64,
    /// Documents that a query has returned and that are not within the distance, or not at the distance
    /// that it says.
    pub wrong: u64,
    /// Documents that the full scan has found near the queries.
    pub near: u64,
}

/// A query, and what is left of its answer: the documents that the scan has not met yet.
struct Asked {
    sketch: Fingerprint,
    distance: u32,
    answer: HashMap<Vec<u8>, u32>,
}

/// Asks for each of the sketches, with as many bits flipped as each distance, within that distance, and
/// compares the answers with all documents. The queries probe, whatever is cheaper: it is the tables that
/// are tested.
pub(super) fn run(store: &Shared<Fingerprint>, sample: &[Fingerprint], max_distance: u32) -> Result<SelfTest> {
    let max_distance = max_distance.min(TableDesign::MAX_DISTANCE);
    let mut asked = Vec::new();
    for (i, sketch) in sample.iter().enumerate() {
        for distance in 0..=max_distance {
            let sketch = flipped(*sketch, distance, i as u64);
            let answer =
                query(store, &sketch, distance, Way::Probes)?.into_iter().map(|found| (found.id, found.distance));
            asked.push(Asked { sketch, distance, answer: answer.collect() });
        }
    }
    let mut result = SelfTest { queries: asked.len() as u64, ..SelfTest::default() };
    let mut scan = store.engine.scan(store.documents)?;
    while let Some((id, value)) = scan.next()? {
        let stored = decode::<Fingerprint>(store.engine.path(), id, value)?.sketch;
        for query in &mut asked {
            let distance = query.sketch.distance(stored);
            if distance <= query.distance {
                result.near += 1;
                // A match at another distance than the true one stays, and counts as wrong.
                match query.answer.get(id) {
                    Some(&told) if told == distance => drop(query.answer.remove(id)),
                    Some(_) => {}
                    None => result.missed += 1,
                }
            }
        }
    }
    result.wrong = asked.iter().map(|query| query.answer.len() as u64).sum();
    Ok(result)
}

/// Flips as many bits as asked, others for each seed.
fn flipped(sketch: Fingerprint, count: u32, seed: u64) -> Fingerprint {
    let mut mask = 0u64;
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while mask.count_ones() < count {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        mask |= 1 << (state >> 58);
    }
    Fingerprint::new(sketch.bits() ^ mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bits_are_flipped_as_asked() {
        for count in 0..=16 {
            for seed in 0..50u64 {
                let sketch = Fingerprint::new(seed.wrapping_mul(0x1234_5678_9abc_def1));
                assert_eq!(flipped(sketch, count, seed).distance(sketch), count);
            }
        }
    }
}
