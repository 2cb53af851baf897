//! Storing what is near nothing stored: one document at a time, or many.
//!
//! The invariants of [`claims`](super::claims) make the look and the write one step; those of
//! [`write`](super::write) hold for the writes.

use std::collections::HashSet;

use super::Shared;
use super::change::Change;
use super::claims::Claim;
use super::query::nearest;
use super::results::{Admission, Match, NewDocument, QueryStats};
use super::sketch::{Ask, Index, NearKeys, Sketch, Way};
use super::work::{Limits, Work};
use super::write::{Content, put_holder, put_value, replace};
use crate::Result;
use crate::hash::checksum;

pub(super) fn check_and_insert<S: Sketch>(
    store: &Shared<S>,
    id: &[u8],
    new: Content<'_, S>,
    max_distance: u32,
    limits: Limits,
) -> Result<Admission> {
    let claimed = store.claimed(id, Some((new.sketch, max_distance)))?;
    let (view, now) = (&claimed.view, claimed.now);
    let mut work = Work::new(limits);
    let ask = Ask { sketch: new.sketch, max_distance, way: Way::Cheapest };
    let near = view.index.near(&store.engine, &ask, &mut work, &mut QueryStats::default())?;
    match nearest(store, view, &near, now, &mut work)? {
        Some(nearest) => Ok(Admission::Duplicate(nearest)),
        None if work.is_cut() => Ok(Admission::Undecided),
        None => {
            // What has expired may hold the sketch still.
            replace(store, &claimed, id, new, itself::<S>(&near), now)?;
            Ok(Admission::Admitted)
        }
    }
}

/// The number of the sketch that was looked for, if it was found.
fn itself<S: Sketch>(near: &NearKeys<S>) -> Option<S::Key> {
    near.first().filter(|(distance, _)| *distance == 0).map(|(_, key)| *key)
}

/// So many documents are claimed, looked for and written together: enough to share what they have in common,
/// few enough that others do not wait long, for them or for the comparison with their claims.
const TOGETHER: usize = 128;

/// Payloads of so many bytes are a batch by themselves.
const TOGETHER_BYTES: usize = 4 << 20;

/// Admits documents as if one call after the other brought them, in their order.
pub(super) fn check_and_insert_batch<S: Sketch>(
    store: &Shared<S>,
    documents: &[NewDocument<'_, S>],
    max_distance: u32,
    limits: Limits,
) -> Result<Vec<Admission>> {
    let mut answers = Vec::with_capacity(documents.len());
    // From the first document on that replaces another one: which ones probably do.
    let mut replacing: Option<(usize, Vec<bool>)> = None;
    while let Some(first) = documents.get(answers.len()) {
        let begun = answers.len();
        let rest = &documents[begun..];
        let mut most = bounded(rest);
        if let Some((from, is_replacing)) = &replacing {
            let run = is_replacing[begun - from..].iter().take(most).take_while(|&&is_replacing| !is_replacing);
            most = run.count();
        }
        if most > 0 {
            admit_together(store, &rest[..most], max_distance, limits, &mut answers)?;
        }
        if answers.len() == begun {
            answers.push(check_and_insert(store, first.id, first.content(), max_distance, limits)?);
        }
        if answers.len() - begun < most && replacing.is_none() {
            let rest = &documents[answers.len()..];
            replacing = Some((answers.len(), known(store, rest)?));
        }
    }
    Ok(answers)
}

/// How many of the first documents go together.
fn bounded<S>(documents: &[NewDocument<'_, S>]) -> usize {
    let mut bytes = 0;
    let fitting = documents.iter().take(TOGETHER).take_while(|document| {
        bytes += document.payload.len();
        bytes <= TOGETHER_BYTES
    });
    fitting.count().max(1)
}

/// Tells for each document whether its id is stored, or has come before.
fn known<S: Sketch>(store: &Shared<S>, documents: &[NewDocument<'_, S>]) -> Result<Vec<bool>> {
    let is_stored = store.view().contain(&store.engine, documents.iter().map(|document| document.id))?;
    let mut ids = HashSet::new();
    Ok(documents.iter().zip(is_stored).map(|(document, is_stored)| !ids.insert(document.id) || is_stored).collect())
}

/// Admits documents up to the first that would replace another one, and adds the answers.
fn admit_together<S: Sketch>(
    store: &Shared<S>,
    documents: &[NewDocument<'_, S>],
    max_distance: u32,
    limits: Limits,
    answers: &mut Vec<Admission>,
) -> Result<()> {
    let ids = Claim::on(documents.iter().map(|document| checksum(document.id)));
    let held =
        store.claims.hold(documents.iter().fold(ids, |claim, document| claim.and(&document.sketch, max_distance)));
    let view = store.view();
    let now = store.now();
    let sketches: Vec<S> = documents.iter().map(|document| document.sketch.clone()).collect();
    let mut work = vec![Work::new(limits); documents.len()];
    let near = view.index.near_each(&store.engine, &sketches, max_distance, &mut work)?;
    let is_stored = view.contain(&store.engine, documents.iter().map(|document| document.id))?;
    let mut ids = HashSet::new();
    let mut admitted: Vec<usize> = Vec::new();
    for (i, document) in documents.iter().enumerate() {
        let stored = nearest(store, &view, &near[i], now, &mut work[i])?;
        let before = nearest_of(store, documents, &admitted, document, max_distance);
        answers.push(match [stored, before].into_iter().flatten().min() {
            Some(nearest) => Admission::Duplicate(nearest),
            None if work[i].is_cut() => Admission::Undecided,
            None if is_stored[i] || !ids.insert(document.id) => break,
            None => {
                admitted.push(i);
                Admission::Admitted
            }
        });
    }
    if admitted.is_empty() {
        return Ok(());
    }
    // Family by family, each in the order of its keys.
    let mut change = Change::new(&store.engine, &view);
    admitted.sort_unstable_by_key(|&i| (&sketches[i], documents[i].id));
    let new: Vec<S> = admitted.iter().map(|&i| sketches[i].clone()).collect();
    let mut keys: Vec<Option<S::Key>> = vec![None; documents.len()];
    for &i in &admitted {
        keys[i] = Some(itself::<S>(&near[i]).map_or_else(|| view.index.new_key(&sketches[i]), Ok)?);
    }
    let keyed = |keys: &[Option<S::Key>], i: usize| keys[i].expect("what is admitted has a number");
    change.add(&new, &admitted.iter().map(|&i| keyed(&keys, i)).collect::<Vec<_>>());
    for &i in &admitted {
        put_holder(store, &view, &mut change.batch, documents[i].id, keyed(&keys, i), now);
    }
    admitted.sort_unstable_by_key(|&i| documents[i].id);
    for &i in &admitted {
        put_value(&view, &mut change.batch, documents[i].id, keyed(&keys, i), documents[i].payload, now);
    }
    change.commit(&held)
}

/// The nearest of the documents that were admitted together with this one, before it.
fn nearest_of<S: Sketch>(
    store: &Shared<S>,
    documents: &[NewDocument<'_, S>],
    admitted: &[usize],
    document: &NewDocument<'_, S>,
    max_distance: u32,
) -> Option<Match> {
    let near = admitted.iter().filter_map(|&i| {
        let sketch = &documents[i].sketch;
        let distance = sketch.distance_to(&document.sketch);
        let is_found = distance <= max_distance && sketch.meets(&document.sketch, &store.record.design);
        is_found.then_some((distance, documents[i].id))
    });
    near.min().map(|(distance, id)| Match { distance, id: id.to_owned(), similarity: store.similarity(distance) })
}
