//! One document after the other: kept, or a duplicate.

use std::io::{self, Write};
use std::time::SystemTime;

use anyhow::Context;
use nearstone::input::{BadRecord, RawRecord};
use nearstone::{Admission, Match, SimhashStore};
use serde_json::Map;

use super::groups::Groups;
use crate::args::Dedup;
use crate::output;
use crate::pipeline::Fingerprinted;

/// What became of the documents so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) kept: u64,
    /// Of those kept: stored by an earlier run already.
    pub(super) kept_again: u64,
    pub(super) same: u64,
    pub(super) near: u64,
    pub(super) without_features: u64,
    pub(super) bad: u64,
}

impl Counts {
    /// All documents; bad records are none.
    pub(super) fn documents(&self) -> u64 {
        self.kept + self.same + self.near + self.without_features
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
    begun: SystemTime,
    out: Box<dyn Write>,
    duplicates: Option<Box<dyn Write>>,
    pub(super) counts: Counts,
    groups: Groups,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        args: &'a Dedup,
        store: &'a SimhashStore,
        out: Box<dyn Write>,
        duplicates: Option<Box<dyn Write>>,
    ) -> Self {
        let begun = SystemTime::now();
        Self { args, store, begun, out, duplicates, counts: Counts::default(), groups: Groups::default() }
    }

    /// Keeps a document, or reports it as a duplicate.
    ///
    /// A document that an earlier run has stored under the same id is kept again, so that an interrupted
    /// run can be repeated. The store tells such a document by its time from one of this run, whose
    /// id has come twice.
    pub(super) fn take(&mut self, item: &Fingerprinted) -> Result<(), Failure> {
        let Some(fingerprint) = item.fingerprint else {
            self.write(&item.raw)?;
            self.counts.without_features += 1;
            return Ok(());
        };
        let id = item.document.id.as_bytes();
        if let Some(known) = self.store.get(id)? {
            let is_near = known.sketch.distance(fingerprint) <= self.args.max_distance;
            let is_of_this_run = known.stored_at >= self.begun;
            if is_of_this_run && !is_near {
                let reason = format!("the id {:?} has come before in this run, with another text", item.document.id);
                let remedy = "name another field with --id-field, or take --line-ids";
                return Err(Failure::Record(item.raw.bad(reason, remedy)));
            }
            if is_near && !is_of_this_run {
                self.counts.kept_again += 1;
                return Ok(self.keep(&item.raw)?);
            }
        }
        match self.store.check_and_insert(id, &fingerprint, self.args.max_distance)? {
            Admission::Admitted => Ok(self.keep(&item.raw)?),
            Admission::Duplicate(of) => Ok(self.report(&item.document.id, &of)?),
        }
    }

    fn keep(&mut self, raw: &RawRecord) -> anyhow::Result<()> {
        self.counts.kept += 1;
        self.write(raw)
    }

    fn write(&mut self, raw: &RawRecord) -> anyhow::Result<()> {
        write_record(&mut self.out, raw).with_context(|| format!("cannot write {}", self.args.out.display()))
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
        output::line(&mut **duplicates, row).context("cannot write the duplicates")
    }

    /// Writes out what is buffered.
    pub(super) fn finish(mut self) -> anyhow::Result<(Counts, Groups)> {
        self.out.flush().with_context(|| format!("cannot write {}", self.args.out.display()))?;
        if let Some(duplicates) = &mut self.duplicates {
            duplicates.flush().context("cannot write the duplicates")?;
        }
        Ok((self.counts, self.groups))
    }
}

/// Writes a line as it was read, with a line end if it is the last of a file without one, or the path
/// of a file.
fn write_record(out: &mut dyn Write, raw: &RawRecord) -> io::Result<()> {
    let bytes = if raw.line().is_some() { &raw.bytes[..] } else { raw.file().as_os_str().as_encoded_bytes() };
    out.write_all(bytes)?;
    if bytes.ends_with(b"\n") { Ok(()) } else { out.write_all(b"\n") }
}
