//! Which stored documents are near?

use super::Shared;
use super::results::{Match, Matches, QueryStats};
use super::sketch::{Index, Sketch};
use crate::Result;

/// How often a query is asked again because a document was replaced meanwhile, before it locks writers out.
const ATTEMPTS: u32 = 4;

/// Finds the documents within a distance.
///
/// Tables are read one after the other while writers go on. A document that is stored when the query
/// begins, and stays, is in every table that is read, so it is found. The exception is one whose sketch
/// is replaced during the query: its old entry may be gone when its table is read, and its new one be
/// written after its table was read. Then the query is asked again.
pub(super) fn query<S: Sketch>(store: &Shared<S>, sketch: &S, max_distance: u32) -> Result<Matches> {
    for _ in 0..ATTEMPTS {
        let before = store.replacements.seen();
        let matches = query_once(store, sketch, max_distance)?;
        if before.is_some() && store.replacements.seen() == before {
            return Ok(matches);
        }
    }
    let _writers = store.lock();
    query_once(store, sketch, max_distance)
}

fn query_once<S: Sketch>(store: &Shared<S>, sketch: &S, max_distance: u32) -> Result<Matches> {
    let mut stats = QueryStats::default();
    let mut matches = Vec::new();
    for (distance, near) in store.index.near(&store.engine, sketch, max_distance, &mut stats)? {
        store.visit_holders(&near, |id| {
            matches.push(Match { distance, id: id.to_owned() });
            Ok(true)
        })?;
    }
    matches.sort_unstable();
    Ok(Matches { matches, stats })
}
