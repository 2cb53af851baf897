//! The store's answers against a full scan of its documents.

use std::collections::HashMap;

use super::super::Shared;
use super::super::query::query;
use super::super::sketch::{Ask, Way};
use super::super::walk::{Lifetime, Walk};
use super::super::work::Limits;
use crate::hash::checksum;
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

/// The result, and how many documents the full scan has met.
pub(super) struct Tested {
    pub(super) result: SelfTest,
    pub(super) documents: u64,
}

/// A query, with sums over its answer and over the documents near it. Equal sums stand for equal sets: a
/// sum of 64-bit hashes of ids and distances takes no memory for answers of a million documents.
struct Asked {
    sketch: Fingerprint,
    distance: u32,
    /// In the way of each of `WAYS`.
    answered: [Sum; 2],
    near: Sum,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, id: &[u8], distance: u32) {
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(checksum(id).rotate_left(distance).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

/// The tables themselves, and what memory holds of them.
const WAYS: [Way; 2] = [Way::Tables, Way::Probes];

/// Asks for each of the sketches, with as many bits flipped as each distance, within that distance, and
/// compares the answers with all documents. The queries probe, whatever is cheaper: it is the tables that
/// are tested.
pub(super) fn run(store: &Shared<Fingerprint>, sample: &[Fingerprint], max_distance: u32, now: u64) -> Result<Tested> {
    let mut asked = Vec::new();
    for (i, sketch) in sample.iter().enumerate() {
        for distance in 0..=max_distance {
            let sketch = flipped(*sketch, distance, i as u64);
            let mut answered = [Sum::default(); 2];
            for (way, answered) in WAYS.into_iter().zip(&mut answered) {
                let ask = Ask { sketch: &sketch, max_distance: distance, way };
                for found in &query(store, &ask, Limits::default())? {
                    answered.add(&found.id, found.distance);
                }
            }
            asked.push(Asked { sketch, distance, answered, near: Sum::default() });
        }
    }
    let mut documents = 0;
    visit(store, now, |id, stored| {
        documents += 1;
        for query in &mut asked {
            let distance = query.sketch.distance(stored);
            if distance <= query.distance {
                query.near.add(id, distance);
            }
        }
    })?;
    let near = asked.iter().map(|query| query.near.count).sum();
    let mut result = SelfTest { queries: asked.len() as u64, near, ..SelfTest::default() };
    for query in &asked {
        // Where both ways are wrong, it counts once.
        if let Some(way) = WAYS.iter().zip(&query.answered).find(|(_, answered)| **answered != query.near) {
            compare(store, query, *way.0, now, &mut result)?;
        }
    }
    Ok(Tested { result, documents })
}

/// Counts what an answer lacks and what it has too much, one document after the other.
fn compare(store: &Shared<Fingerprint>, asked: &Asked, way: Way, now: u64, result: &mut SelfTest) -> Result<()> {
    let answer = query(store, &Ask { sketch: &asked.sketch, max_distance: asked.distance, way }, Limits::default())?;
    let mut answer: HashMap<Vec<u8>, u32> = answer.into_iter().map(|found| (found.id, found.distance)).collect();
    visit(store, now, |id, stored| {
        let distance = asked.sketch.distance(stored);
        if distance <= asked.distance {
            match answer.get(id) {
                Some(&told) if told == distance => drop(answer.remove(id)),
                // A match at another distance than the true one stays, and counts as wrong.
                Some(_) => {}
                None => result.missed += 1,
            }
        }
    })?;
    result.wrong += answer.len() as u64;
    Ok(())
}

/// Visits all documents that had not expired at a time.
fn visit(store: &Shared<Fingerprint>, now: u64, mut visit: impl FnMut(&[u8], Fingerprint)) -> Result<()> {
    let lifetime = Lifetime { now, ..store.lifetime() };
    let mut walk = Walk::of(&store.engine, &*store.view(), lifetime);
    while let Some(entry) = walk.next()? {
        let sketch = entry.sketch[..].try_into().map(Fingerprint::from_be_bytes);
        visit(&entry.id, sketch.expect("a walk yields sketches of their length"));
    }
    Ok(())
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
