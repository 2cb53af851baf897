//! Documents in their order: kept, or duplicates.

use std::collections::HashSet;

use anyhow::Context;
use nearstone::input::BadRecord;
use nearstone::{Admission, Fingerprint, Match, NewDocument, SimhashStore, feature_hash};
use serde_json::Map;

use super::groups::Groups;
use crate::args::Dedup;
use crate::near_nothing::NearNothing;
use crate::output::{self, Output};
use crate::pipeline::Fingerprinted;

/// What became of the documents so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) kept: u64,
    /// Of those kept: stored by an earlier run already.
    pub(super) kept_again: u64,
    /// Of those kept: in place of another text that an earlier run has stored under the same id.
    pub(super) replaced: u64,
    pub(super) same: u64,
    pub(super) near: u64,
    pub(super) nothing: NearNothing,
    pub(super) bad: u64,
}

impl Counts {
    /// All documents; bad records are none.
    pub(super) fn documents(&self) -> u64 {
        self.kept + self.same + self.near + self.nothing.total()
    }
}

/// Why a document was not dealt with.
pub(super) enum Failure {
    /// It can be passed over.
    Record(BadRecord),
    /// The run cannot go on.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// A run in progress.
pub(super) struct Run<'a> {
    args: &'a Dedup,
    store: &'a SimhashStore,
    /// The ids that this run has kept, by their hashes; `None` where the store is new, so that all of its
    /// documents are of this run.
    kept_ids: Option<HashSet<u64>>,
    out: Output,
    duplicates: Option<Output>,
    /// Documents that wait for their answers, in their order; no two of them have one id.
    batch: Vec<Fingerprinted>,
    batch_ids: HashSet<String>,
    batch_bytes: usize,
    pub(super) counts: Counts,
    pub(super) groups: Groups,
}

/// A batch ends with the document that brings it to one of these.
const BATCH_DOCUMENTS: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

impl<'a> Run<'a> {
    pub(super) fn new(
        args: &'a Dedup,
        store: &'a SimhashStore,
        is_new: bool,
        out: Output,
        duplicates: Option<Output>,
    ) -> Self {
        let kept_ids = (!is_new).then(HashSet::new);
        Self {
            args,
            store,
            kept_ids,
            out,
            duplicates,
            batch: Vec::new(),
            batch_ids: HashSet::new(),
            batch_bytes: 0,
            counts: Counts::default(),
            groups: Groups::default(),
        }
    }

    /// Keeps a document, or reports it as a duplicate, now or with the others of its batch.
    ///
    /// A document that an earlier run has stored under the same id is kept again, so that an interrupted
    /// run can be repeated. One whose id has come before in this run is a duplicate, or a bad record.
    pub(super) fn take(&mut self, item: Fingerprinted) -> Result<(), Failure> {
        if let Some(fingerprint) = item.sketch.fingerprint() {
            if self.batch_ids.contains(&item.id) {
                self.settle()?;
            }
            if let Some(known) = self.store.get(&item.id)? {
                self.settle()?;
                return self.take_known(&item, fingerprint, known.sketch);
            }
            self.batch_ids.insert(item.id.clone());
        }
        self.batch_bytes += item.raw.bytes.len() + item.text.as_ref().map_or(0, String::len);
        self.batch.push(item);
        if self.batch.len() >= BATCH_DOCUMENTS || self.batch_bytes >= BATCH_BYTES {
            self.settle()?;
        }
        Ok(())
    }

    /// Deals with a document whose id is stored.
    fn take_known(
        &mut self,
        item: &Fingerprinted,
        fingerprint: Fingerprint,
        known: Fingerprint,
    ) -> Result<(), Failure> {
        let is_of_this_run = self.kept_ids.as_ref().is_none_or(|ids| ids.contains(&feature_hash(&item.id)));
        let is_near = known.distance(fingerprint) <= self.args.max_distance;
        if is_of_this_run && !is_near {
            let reason = format!("the id {:?} has come before in this run, with another text", item.id);
            return Err(Failure::Record(item.raw.bad(reason, item.raw.other_ids())));
        }
        if is_near && !is_of_this_run {
            self.counts.kept_again += 1;
            return Ok(self.keep(item)?);
        }
        let answer = self.store.check_and_insert(&item.id, &fingerprint, self.args.max_distance)?;
        self.counts.replaced += u64::from(answer.is_admitted());
        Ok(self.decide(item, &answer)?)
    }

    /// Admits the documents of the batch.
    pub(super) fn settle(&mut self) -> anyhow::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_ids.clear();
        self.batch_bytes = 0;
        let documents: Vec<_> =
            batch.iter().filter_map(|item| Some(NewDocument::new(&item.id, item.sketch.fingerprint()?))).collect();
        let mut answers = self.store.check_and_insert_batch(&documents, self.args.max_distance)?.into_iter();
        for item in &batch {
            if item.sketch.fingerprint().is_none() {
                self.write(item)?;
                self.counts.nothing.count(item.sketch);
            } else {
                let answer = answers.next().context("an answer for each document")?;
                self.decide(item, &answer)?;
            }
        }
        Ok(())
    }

    fn decide(&mut self, item: &Fingerprinted, answer: &Admission) -> anyhow::Result<()> {
        match answer {
            Admission::Admitted => self.keep(item),
            Admission::Duplicate(of) => self.report(&item.id, of),
            Admission::Undecided => anyhow::bail!("the store gave no answer without having been given limits"),
        }
    }

    fn keep(&mut self, item: &Fingerprinted) -> anyhow::Result<()> {
        self.counts.kept += 1;
        if let Some(ids) = &mut self.kept_ids {
            ids.insert(feature_hash(&item.id));
        }
        self.write(item)
    }

    /// Writes a line as it was read, with a line end if it is the last of a file without one, the path of a file, or
    /// any other record as a JSON line.
    fn write(&mut self, item: &Fingerprinted) -> anyhow::Result<()> {
        let raw = &item.raw;
        if let Some(text) = &item.text {
            let row = [("id", &item.id), ("text", text)];
            return self.out.object(row.into_iter().map(|(name, text)| (name.to_owned(), text[..].into())).collect());
        }
        let bytes = if raw.line().is_some() { &raw.bytes[..] } else { raw.file().as_os_str().as_encoded_bytes() };
        self.out.bytes(bytes)?;
        if bytes.ends_with(b"\n") { Ok(()) } else { self.out.bytes(b"\n") }
    }

    fn report(&mut self, id: &str, of: &Match) -> anyhow::Result<()> {
        if of.distance == 0 {
            self.counts.same += 1;
        } else {
            self.counts.near += 1;
        }
        if self.args.show_groups > 0 {
            self.groups.add(&of.id, id);
        }
        let Some(duplicates) = &mut self.duplicates else { return Ok(()) };
        let mut row = Map::new();
        output::put_id(&mut row, "id", id.as_bytes());
        output::put_id(&mut row, "duplicate_of", &of.id);
        row.insert("distance".to_owned(), of.distance.into());
        duplicates.object(row)
    }

    /// Lets the reader of a pipe see what was kept while nothing more comes.
    pub(super) fn idle(&mut self) -> anyhow::Result<()> {
        self.settle()?;
        self.out.idle()?;
        self.duplicates.as_mut().map_or(Ok(()), Output::idle)
    }

    /// Puts the outputs in their places.
    pub(super) fn finish(self) -> anyhow::Result<(Counts, Groups)> {
        let (mut out, mut duplicates) = (self.out, self.duplicates);
        // All that can fail on a full disk comes before the first of them appears.
        out.flush()?;
        duplicates.as_mut().map_or(Ok(()), Output::flush)?;
        out.finish()?;
        duplicates.map_or(Ok(()), Output::finish)?;
        Ok((self.counts, self.groups))
    }
}
