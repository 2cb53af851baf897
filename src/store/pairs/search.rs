//! The pairs of a store, one after the other.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{Batch, Resolved};
use super::crowd::{Crowd, Part};
use super::groups::{Groups, Step};
use super::moment::Moment;
use super::options::{Pair, PairOptions};
use super::plan::Plan;
use super::point::Point;
use super::source::Source;
use super::work::Message;
use crate::store::Progress;
use crate::store::holders::Holders;
use crate::store::shared::Shared;
use crate::{Error, Fingerprint, Result};

/// So long it is waited at least for more pairs whose ids can be looked up together,
const GATHER: Duration = Duration::from_millis(500);
/// and so many times longer than the latest look-ups took, so that they stay a small part of the work.
const GATHER_TIMES: u32 = 4;

/// The near pairs of a store, each once, as they were at the moment of the call; from
/// [`Store::pairs`](crate::Store::pairs) and [`Store::pairs_with`](crate::Store::pairs_with).
///
/// Other threads look for them while they are taken; when it is dropped they stop. As long as it lives, files that it
/// reads are kept on disk.
pub struct Pairs {
    source: Source,
    stage: Stage,
    /// The documents that are told before what comes next.
    crowd: Option<Crowd>,
    batch: Batch,
    steps: u64,
    total: u64,
    /// What goes on where this one ends, but for the step.
    point: Point,
    options: PairOptions,
    holders: Holders,
    other: Option<Holders>,
    progress: Option<Box<dyn Watch>>,
    latest_look_up: Duration,
}

trait Watch: FnMut(Progress) -> ControlFlow<()> + Send {}

impl<F: FnMut(Progress) -> ControlFlow<()> + Send> Watch for F {}

enum Stage {
    /// The documents that share a fingerprint; `None` before the first.
    Groups(Option<Groups>),
    Tables,
    /// All was told, or it has failed.
    Over,
}

impl Pairs {
    pub(super) fn new(
        store: &Arc<Shared<Fingerprint>>,
        other: Option<&Arc<Shared<Fingerprint>>>,
        max_distance: u32,
        options: &PairOptions,
    ) -> Result<Self> {
        let sizes = [Some(store), other].into_iter().flatten().map(|store| store.view().index.sketches(&store.engine));
        let sizes = sizes.collect::<Result<Vec<_>>>()?;
        let expand = options.expand;
        let resumed = options.resume.as_deref().map(|text| Point::parse(text, max_distance, expand, other.is_some()));
        let resumed = resumed.transpose()?;
        let sketches = resumed.as_ref().map_or(sizes[0].max(sizes[sizes.len() - 1]), |point| point.sketches);
        let view = store.view();
        let plan = Plan::new(&store.record.design, view.index.probes(max_distance), max_distance, sketches);
        let workers = options.workers();
        let marks = resumed.as_ref().map(|point| point.marks);
        let a = Moment::new(store, &plan, workers, marks.map(|marks| marks.0))?;
        let b = other.map(|other| Moment::new(other, &plan, workers, marks.and_then(|marks| marks.1))).transpose()?;

        let marks = (a.mark, b.as_ref().map(|b| b.mark));
        let step = resumed.map_or(0, |point| point.step);
        let point = Point::new(max_distance, expand, sketches, marks);
        let (steps, total) = (plan.steps() + 1, sizes[0] * plan.tables.len() as u64);
        let (other, of_other) = b.map_or((None, None), |b| (Some(b.holders), Some(b.ranges)));
        let source = Source::new(plan, max_distance, step, options.steps_ahead(), a.ranges, of_other);
        let stage = match step {
            // Documents of two stores that share a fingerprint are found like any others.
            0 if other.is_none() => Stage::Groups(None),
            _ => Stage::Tables,
        };
        let mut batch = Batch::default();
        batch.end(step);
        Ok(Self {
            source,
            stage,
            crowd: None,
            batch,
            steps,
            total,
            point,
            options: options.clone(),
            holders: a.holders,
            other,
            progress: None,
            latest_look_up: Duration::ZERO,
        })
    }

    /// Has a function told how far it is, some times a second while pairs are taken. When it says
    /// [`ControlFlow::Break`], the next pair is [`Error::Stopped`].
    #[must_use]
    pub fn on_progress(mut self, progress: impl FnMut(Progress) -> ControlFlow<()> + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Returns what [`PairOptions::resume`] takes to go on with the pairs that are still to come, without those that
    /// were taken: a text, to be kept beside what has become of these. `None` where a step is not at its end;
    /// there are some hundreds of steps or more in a large store.
    ///
    /// It is of use as long as the store does not change.
    #[must_use]
    pub fn resume_point(&self) -> Option<String> {
        let step = match (&self.stage, &self.crowd) {
            (Stage::Groups(None), None) => 0,
            (Stage::Tables, None) => self.batch.steps_taken()?,
            _ => return None,
        };
        Some(self.point.after(step).to_string())
    }

    fn take(&mut self) -> Result<Option<Pair>> {
        loop {
            if let Some(crowd) = &mut self.crowd {
                if let Some(pair) = crowd.next(&mut self.holders, self.other.as_mut())? {
                    return Ok(Some(pair));
                }
                self.crowd = None;
                if let Stage::Groups(Some(groups)) = &mut self.stage {
                    groups.skip(&mut self.holders)?;
                }
            }
            match &mut self.stage {
                Stage::Groups(groups) => {
                    let groups = groups.get_or_insert_default();
                    match groups.step(&mut self.holders)? {
                        Step::Member(a, b) if self.options.expand => {
                            debug_assert!(a.id < b.id);
                            let fingerprint = a.identity;
                            let all = Part::read(&mut self.holders, fingerprint, None)?;
                            self.crowd = Some(Crowd::of_one(all));
                        }
                        Step::Member(a, b) => {
                            return Ok(Some(Pair { a: a.id.clone(), b: b.id.clone(), distance: 0 }));
                        }
                        Step::Pause => self.tell()?,
                        Step::End => {
                            self.stage = Stage::Tables;
                            self.batch.clear();
                            self.batch.end(1);
                        }
                    }
                }
                Stage::Tables => {
                    let began = Instant::now();
                    let (expand, id_bytes) = (self.options.expand, self.options.id_bytes());
                    let is_first = self.batch.is_fresh();
                    let next = self.batch.next(&mut self.holders, self.other.as_mut(), expand, id_bytes)?;
                    if is_first {
                        self.latest_look_up = began.elapsed();
                    }
                    match next {
                        Some(Resolved::Pair(pair)) => return Ok(Some(pair)),
                        Some(Resolved::Crowd(crowd)) => self.crowd = Some(crowd),
                        None if self.source.ended() == self.steps => return Ok(None),
                        None => self.gather()?,
                    }
                }
                Stage::Over => return Ok(None),
            }
        }
    }

    /// Waits for pairs: for as many as can be looked up together, or as have come in some time.
    fn gather(&mut self) -> Result<()> {
        let taken = self.batch.steps_taken();
        self.batch.clear();
        if let Some(steps) = taken {
            self.batch.end(steps);
        }
        let began = Instant::now();
        let patience = GATHER + GATHER_TIMES * self.latest_look_up;
        while self.source.ended() < self.steps
            && self.batch.near.len() < self.options.pairs_together()
            && (self.batch.near.is_empty() || began.elapsed() < patience)
        {
            match self.source.receive() {
                Some(Message::Found(near)) => self.batch.near.extend(near),
                Some(Message::End) => self.batch.end(self.source.ended()),
                Some(Message::Failed(error)) => return Err(error),
                None => self.tell()?,
            }
        }
        self.tell()
    }

    fn tell(&mut self) -> Result<()> {
        let Some(progress) = &mut self.progress else { return Ok(()) };
        let done = self.source.done();
        let now = Progress { phase: "pairs", done, total: self.total, phase_done: done, phase_total: self.total };
        match progress(now) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                Err(Error::Stopped { remedy: "look for pairs again, or go on from the latest resume point" })
            }
        }
    }
}

impl Iterator for Pairs {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.take().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.stage = Stage::Over;
            self.source.stop();
        }
        next
    }
}

impl std::fmt::Debug for Pairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pairs").field("steps", &self.steps).finish_non_exhaustive()
    }
}
