//! Which stored documents are near?

use super::Shared;
use super::claims::Claim;
use super::results::{Match, Matches, QueryStats};
use super::sketch::{Ask, Index, Sketch};
use super::view::View;
use super::work::{Limits, Work};
use crate::Result;

/// How often a query is asked again because something near it was changed meanwhile, before it keeps
/// writers away from there.
const ATTEMPTS: u32 = 2;

/// Finds the documents within a distance, as they are at one moment.
///
/// Tables are read one after the other while writers go on, so what is found is one state of the store only
/// if nothing near has changed meanwhile; otherwise the query is asked again ([`claims`](super::claims), 6).
pub(super) fn query<S: Sketch>(store: &Shared<S>, ask: &Ask<'_, S>, limits: Limits) -> Result<Matches> {
    for _ in 0..ATTEMPTS {
        let watch = store.claims.watch(ask.sketch, ask.max_distance);
        let matches = query_once(store, ask, limits)?;
        if watch.is_undisturbed() {
            return Ok(matches);
        }
    }
    let _held = store.claims.hold(Claim::reading(ask.sketch, ask.max_distance));
    query_once(store, ask, limits)
}

/// Answers as of one moment of the clock: where compactions may have begun meanwhile to drop what expires later than that, it
/// is asked again.
fn query_once<S: Sketch>(store: &Shared<S>, ask: &Ask<'_, S>, limits: Limits) -> Result<Matches> {
    loop {
        let now = store.now();
        let matches = query_at(store, ask, limits, now)?;
        if !store.is_outrun(now) {
            return Ok(matches);
        }
    }
}

fn query_at<S: Sketch>(store: &Shared<S>, ask: &Ask<'_, S>, limits: Limits, now: u64) -> Result<Matches> {
    // Taken after the watch was set or the claim was held.
    let view = store.view();
    let mut stats = QueryStats::default();
    let mut work = Work::new(limits);
    let near = view.index.near(&store.engine, ask, &mut work, &mut stats)?;
    let most = limits.max_matches.unwrap_or(usize::MAX);
    let mut matches: Vec<Match> = Vec::new();
    for level in near.chunk_by(|a, b| a.0 == b.0) {
        let begin = matches.len();
        // One more than there is room for tells that there are more.
        let room = (most - begin).saturating_add(1);
        for (distance, near) in level {
            let ids = store.holders(&view, *near, now, &mut work, room)?;
            let similarity = store.similarity(*distance);
            matches.extend(ids.into_iter().map(|id| Match { distance: *distance, id, similarity }));
            // Many sketches, each of many documents, are not collected before they are cut.
            if matches.len() - begin > room.saturating_mul(2) {
                matches[begin..].sort_unstable();
                matches.truncate(begin + room);
            }
        }
        matches[begin..].sort_unstable();
        if matches.len() > most {
            matches.truncate(most);
            return Ok(Matches { found: matches, stats, is_truncated: true });
        }
    }
    Ok(Matches { found: matches, stats, is_truncated: work.is_cut() })
}

/// The nearest document, and of equally near ones the one with the smallest id, of what [`Index::near`] has
/// found.
pub(super) fn nearest<S: Sketch>(
    store: &Shared<S>,
    view: &View<S>,
    near: &[(u32, S::Key)],
    now: u64,
    work: &mut Work,
) -> Result<Option<Match>> {
    let mut best: Option<Match> = None;
    for (distance, key) in near {
        if best.as_ref().is_some_and(|best| best.distance < *distance) {
            break;
        }
        if let Some(id) = store.first_holder(view, *key, now, work)? {
            let found = Match { distance: *distance, id, similarity: store.similarity(*distance) };
            best = Some(best.map_or_else(|| found.clone(), |best| best.min(found.clone())));
        }
    }
    Ok(best)
}
