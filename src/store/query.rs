//! Which stored documents are near?

use super::Shared;
use super::results::{Match, Matches, QueryStats};
use super::sketch::{Index, Sketch, Way};
use crate::Result;

/// How often a query is asked again because a document was replaced meanwhile, before it locks writers out.
const ATTEMPTS: u32 = 4;

/// Finds the documents within a distance.
///
/// Tables are read one after the other while writers go on. A document that is stored when the query
/// begins, and stays, is in every table that is read, so it is found. The exception is one whose sketch
/// is replaced during the query: its old entry may be gone when its table is read, and its new one be
/// written after its table was read. Then the query is asked again.
pub(super) fn query<S: Sketch>(store: &Shared<S>, sketch: &S, max_distance: u32, way: Way) -> Result<Matches> {
    for _ in 0..ATTEMPTS {
        let begun = store.replacements.now();
        let matches = query_once(store, sketch, max_distance, way)?;
        // What was replaced by something far is no longer near: both with and without it is an answer.
        if !store.replacements.overlap(begun, |new| new.distance_to(sketch) <= max_distance) {
            return Ok(matches);
        }
    }
    let _writers = store.lock();
    query_once(store, sketch, max_distance, way)
}

fn query_once<S: Sketch>(store: &Shared<S>, sketch: &S, max_distance: u32, way: Way) -> Result<Matches> {
    let mut stats = QueryStats::default();
    let mut matches = Vec::new();
    for (distance, near) in store.index.near(&store.engine, sketch, max_distance, way, &mut stats)? {
        store.visit_holders(&near, |id| {
            matches.push(Match { distance, id: id.to_owned() });
            Ok(true)
        })?;
    }
    Ok(Matches { matches: each_once(matches), stats })
}

/// The matches in their order, each document once. A document that was deleted and stored again with
/// another sketch during the query may have been met under both.
fn each_once(mut matches: Vec<Match>) -> Vec<Match> {
    matches.sort_unstable_by(|a, b| (&a.id, a.distance).cmp(&(&b.id, b.distance)));
    matches.dedup_by(|later, earlier| later.id == earlier.id);
    matches.sort_unstable();
    matches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_was_met_twice_is_reported_once_at_its_least_distance() {
        let found = |distance, id: &str| Match { distance, id: id.into() };
        let met = vec![found(3, "x"), found(0, "y"), found(1, "x"), found(1, "a"), found(2, "x")];
        assert_eq!(each_once(met), [found(0, "y"), found(1, "a"), found(1, "x")]);
    }
}
