//! What a call changes in the live generation, as one batch.

use smallvec::SmallVec;

use super::claims::Held;
use super::sketch::{Index, Sketch};
use super::view::View;
use crate::Result;
use crate::engine::{Batch, Engine};

/// A batch, with the sketches that it puts into the tables or takes out of them.
pub(super) struct Change<'a, S: Sketch> {
    view: &'a View<S>,
    engine: &'a Engine,
    /// Documents and holders are written by the caller.
    pub(super) batch: Batch<'a>,
    added: SmallVec<[S::Key; 1]>,
    removed: SmallVec<[S::Key; 1]>,
}

impl<'a, S: Sketch> Change<'a, S> {
    /// A change under a claim that was held before the view was taken.
    pub(super) fn new(engine: &'a Engine, view: &'a View<S>) -> Self {
        Self { view, engine, batch: engine.batch(), added: SmallVec::new(), removed: SmallVec::new() }
    }

    /// Adds sketches to the tables.
    pub(super) fn add(&mut self, sketches: &[S], keys: &[S::Key]) {
        self.view.index.put(&mut self.batch, sketches, keys);
        self.added.extend_from_slice(keys);
    }

    /// Removes a sketch from the tables.
    pub(super) fn remove(&mut self, sketch: &S, key: S::Key) {
        self.view.index.delete(&mut self.batch, sketch, key);
        self.removed.push(key);
    }

    /// Writes it.
    pub(super) fn commit(self, held: &Held<'_, S>) -> Result<()> {
        let Self { view, engine, batch, added, removed } = self;
        view.will_be_used();
        held.change(|| {
            view.index.announce(&added);
            let written = batch.write();
            view.index.settle(engine, &added, if written.is_ok() { &removed } else { &[] });
            written
        })
    }
}
