//! Do the families agree?
//!
//! What each family says is summed up in one pass over it: a sum of 64-bit hashes does not depend on the
//! order of what is added, so two families that say the same have the same sum, in whatever orders they
//! are kept. It is kept in parts, by the hash; only entries of parts that differ are looked up one by one.
//!
//! Each generation is whole by itself, so each is verified by itself; what newer ones hide in it counts.

mod pages;
mod rows;
mod sketches;

use std::fmt::Write;
use std::ops::ControlFlow;

use super::Shared;
use super::claims::Claim;
use super::open::stored_table;
use super::progress::{Progress, Reporter};
use super::sketch::{Index, Sketch};
use super::walk::Walk;
use crate::format::design::StoredDesign;
use crate::hash::checksum;
use crate::text::AnalyserDescription;
use crate::{Error, Result};
use pages::PinnedPages;
use rows::PinnedRows;

/// What [`Store::verify`](crate::Store::verify) has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Documents that have not expired.
    pub documents: u64,
    /// Documents and holders that have expired and still take space, in all generations.
    pub expired: u64,
    /// Distinct sketches in the tables.
    pub sketches: u64,
    /// Documents without a holder: queries miss them.
    pub missing_holders: u64,
    /// Holders without a document: queries return them.
    pub orphan_holders: u64,
    /// Sketches that a table lacks, each counted in each table that lacks it: queries may miss them.
    pub missing_entries: u64,
    /// Table entries without a holder: they take space. Where documents expire they are usual, and
    /// [`Store::expire`](crate::Store::expire) removes them.
    pub orphan_entries: u64,
    /// Entries that are not what the format says.
    pub malformed: u64,
    /// Tables of frequencies of the analyser that cannot be used: texts are not taken, and sketches are. Repair does not make them
    /// anew.
    pub unusable_tables: u64,
    /// Some of the faults, for people.
    pub examples: Vec<String>,
    pub(crate) expires: bool,
}

impl Verification {
    /// Whether nothing was found that should not be.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let faults =
            self.missing_holders + self.orphan_holders + self.missing_entries + self.malformed + self.unusable_tables;
        faults == 0 && (self.expires || self.orphan_entries == 0)
    }

    fn malformed_page(&mut self, of: &str, key: &[u8]) {
        self.malformed += 1;
        self.example(|| format!("the page of {of} that ends with {} is not what the format says", shown(key)));
    }

    fn example(&mut self, text: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(text());
        }
    }
}

const EXAMPLES: usize = 10;

/// A fault changes a part or two of so many, and a page that is lost less than one in a hundred.
const PARTS: usize = 1 << 16;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Sum {
    count: u64,
    parts: Box<[u64]>,
}

impl Default for Sum {
    fn default() -> Self {
        Self { count: 0, parts: vec![0; PARTS].into() }
    }
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.count += 1;
        let hash = checksum(bytes);
        let part = &mut self.parts[part_of(hash)];
        *part = part.wrapping_add(hash);
    }

    /// Whether what is of the same part as these bytes is not the same in both.
    fn differs_near(&self, other: &Self, bytes: &[u8]) -> bool {
        let part = part_of(checksum(bytes));
        self.parts[part] != other.parts[part]
    }
}

fn part_of(hash: u64) -> usize {
    usize::try_from(hash >> 48).expect("16 bits")
}

pub(super) fn verify<S: Sketch>(
    store: &Shared<S>,
    progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Verification> {
    let engine = &store.engine;
    // Begins to read all families while no batch is being written.
    let held = store.claims.hold(Claim::standstill());
    let view = store.view();
    let now = store.now();
    let rows: Vec<_> = view.rows().map(|(layer, rows)| PinnedRows::new(store, &view, layer, rows)).collect();
    let pages = view.sealed.as_ref().map(|sealed| PinnedPages::new(engine, &view, sealed));
    let mut walk = Walk::of(engine, &view, store.lifetime());
    let mut values = view.index.values(engine, 0);
    drop(held);
    let mut total = 0;
    for (_, rows) in view.rows() {
        total += 2 * engine.approximate_keys(&rows.documents)? + engine.approximate_keys(&rows.holders)?;
    }
    let sealed = view.generations.sealed.map_or((0, 0), |sealed| (sealed.documents, sealed.sketches));
    let tables = store.record.design.prefix_bits().len() as u64;
    let live = view.index.row_families(super::view::Layer::Live).first().map(|t| engine.approximate_keys(t));
    total += 3 * sealed.0 + (tables + 1) * (sealed.1 + live.transpose()?.unwrap_or(0));
    let mut reporter = Reporter::new(progress, total, "verify again to see the whole");
    let mut found = Verification { expires: store.settings.retention_millis.is_some(), ..Verification::default() };

    for identity in store.record.analyser.iter().flat_map(AnalyserDescription::tables) {
        if let Err(error) = stored_table(engine, engine.path(), identity) {
            found.unusable_tables += 1;
            found.example(|| format!("the table of frequencies {identity:016x} of the analyser: {}", bare(&error)));
        }
    }
    reporter.phase("documents")?;
    // What cannot be read is found, and counted, below.
    while let Ok(Some(_)) = walk.next() {
        found.documents += 1;
        reporter.done(1)?;
    }
    reporter.phase("sketches")?;
    while let Ok(Some(_)) = values.next() {
        found.sketches += 1;
        reporter.done(1)?;
    }
    for rows in rows {
        rows.verify(store, &view, now, &mut found, &mut reporter)?;
    }
    if let Some(pages) = pages {
        pages.verify(store, &view, now, &mut found, &mut reporter)?;
    }
    Ok(found)
}

/// What is wrong, without what to do about a whole store.
fn bare(error: &Error) -> String {
    match error {
        Error::Corrupt { what, .. } | Error::StoredFrequencies { what, .. } => what.clone(),
        error => error.to_string(),
    }
}

/// A key for people: as text where it is one.
fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.chars().any(char::is_control) => format!("{text:?}"),
        _ => key.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    }
}
