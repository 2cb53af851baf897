//! A look at a store's own data: are the fingerprints sound, where do they crowd, are the answers right?

mod bits;
mod crowds;
mod selftest;

pub use bits::BitReport;
pub use crowds::TableReport;
pub use selftest::SelfTest;

use std::sync::Arc;

use super::Shared;
use super::holders::{Holder, Holders};
use super::query::query;
use super::sketch::{Ask, Index, Way};
use super::work::Limits;
use crate::format::keys::TableKeys;
use crate::{Fingerprint, Result};
use crowds::{Repeats, Runs};

/// How many sketches the bits are judged by, at most.
const BIT_SAMPLE: usize = 1 << 17;
/// How many queries measure the candidates.
const CANDIDATE_QUERIES: usize = 200;

/// What [`Store::doctor`](crate::Store::doctor) has found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The documents that the tables answer for.
    pub documents: u64,
    /// Distinct sketches.
    pub sketches: u64,
    /// The sketches that most documents have, with their numbers, the most first.
    pub most_repeated: Vec<(Fingerprint, u64)>,
    /// How the bits behave; `None` for less than 1,000 distinct sketches.
    pub bits: Option<BitReport>,
    /// Where entries crowd, for each table.
    pub tables: Vec<TableReport>,
    /// Sketches of documents that a table does not have, over all tables, and documents that are not listed
    /// with their sketch, or are listed and not stored: 0 in a sound store.
    pub missing_entries: u64,
    /// The candidates of a query for a stored sketch at the distance of the design, over all tables, as
    /// they are predicted for uniform sketches.
    pub predicted_candidates: f64,
    /// The same, measured.
    pub measured_candidates: f64,
    /// The answers against a full scan.
    pub self_test: SelfTest,
    /// What to do about what was found; nothing where all is well.
    pub advice: Vec<String>,
}

/// Looks at a store; `samples` sketches are asked for at each distance up to that of the design.
pub(super) fn diagnose(store: &Arc<Shared<Fingerprint>>, samples: usize) -> Result<Diagnosis> {
    let design = &store.record.design;
    let mut sample = Sample::new(BIT_SAMPLE.max(samples));
    let mut repeats = Repeats::default();
    // The documents' side is the truth, so it says what the tables must know.
    let (engine, view) = (&store.engine, store.view());
    let lifetime = store.lifetime();
    let (mut holders, mut holder) = (Holders::of(store), Holder::default());
    while holders.next_that_counts(&mut holder)? {
        let sketch = Fingerprint::new(holder.identity);
        if repeats.add(sketch) {
            sample.add(sketch);
        }
    }
    drop(holders);
    let mut tables = Vec::new();
    for (index, table) in design.tables().iter().enumerate() {
        let keys = TableKeys::new(table.prefix_bits());
        let mut values = view.index.values(engine, index);
        let mut runs = Runs::default();
        while let Some(value) = values.next()? {
            runs.add(keys.prefix(value));
        }
        tables.push(runs.report(index, table.prefix_bits()));
    }
    let sample = sample.into_vec();
    let asked: Vec<Fingerprint> = spread(&sample, CANDIDATE_QUERIES);
    let mut candidates = 0;
    for sketch in &asked {
        candidates +=
            query(store, &Ask { sketch, max_distance: design.max_distance(), way: Way::Probes }, Limits::default())?
                .stats()
                .candidates;
    }
    let measured_candidates = bits::number(candidates) / bits::number(asked.len().max(1) as u64);
    let (documents, sketches) = (repeats.documents, repeats.sketches);
    // A stored sketch is a candidate for itself in each table that is probed.
    let predicted_candidates = design.probes_for(design.max_distance()).map_or(0.0, |probes| {
        let probed = probes.radii().iter().flatten().count() as u64;
        design.candidates(&probes, sketches.saturating_sub(1)) + bits::number(probed)
    });
    let tested = selftest::run(store, &spread(&sample, samples), design.max_distance(), lifetime.now)?;
    let missing = |table: &TableReport| sketches.saturating_sub(table.entries);
    let mut diagnosis = Diagnosis {
        missing_entries: tables.iter().map(missing).sum::<u64>() + documents.abs_diff(tested.documents),
        documents,
        sketches,
        most_repeated: repeats.most(),
        bits: bits::report(&sample),
        tables,
        predicted_candidates,
        measured_candidates,
        self_test: tested.result,
        advice: vec![],
    };
    diagnosis.advice = advice(&diagnosis);
    Ok(diagnosis)
}

impl Diagnosis {
    /// Whether every answer of the self-test was right, and no table lacks a sketch.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.self_test.missed + self.self_test.wrong + self.missing_entries == 0
    }
}

/// A share of the documents, or a factor, from which on something is worth a word.
const MANY_REPEATS: f64 = 0.05;
const MANY_CANDIDATES: f64 = 10.0;
const FEW_BITS: f64 = 40.0;

fn advice(found: &Diagnosis) -> Vec<String> {
    let mut advice = Vec::new();
    if !found.is_sound() {
        advice.push("answers differ from a full scan, or tables lack sketches: they are damaged; load the documents into a new store, and report it".into());
    }
    if let Some(bits) = &found.bits {
        if !bits.dead.is_empty() {
            advice.push(format!(
                "bits {:?} hardly ever change: what makes the fingerprints has a fault, such as a 32-bit mask or a lost shift; mend it and make them anew",
                bits.dead
            ));
        }
        if !bits.mirrored.is_empty() {
            advice.push(format!(
                "{} pairs of bits move together: the hash of the features repeats itself; use a hash of 64 independent bits",
                bits.mirrored.len()
            ));
        }
        if bits.effective_bits < FEW_BITS && bits.dead.is_empty() && bits.mirrored.is_empty() {
            advice.push(format!(
                "the fingerprints spread like {:.0} bits: documents share much, such as a template; use the main text alone, or longer shingles",
                bits.effective_bits
            ));
        }
    }
    if let Some(&(sketch, count)) = found.most_repeated.first()
        && bits::number(count) > bits::number(found.documents) * MANY_REPEATS
    {
        advice.push(format!(
            "{count} documents have the fingerprint {sketch}: look at some of them, it may be an error page"
        ));
    }
    if found.measured_candidates > found.predicted_candidates * MANY_CANDIDATES && found.measured_candidates > 1_000.0 {
        advice.push(format!(
            "queries see {:.0} times the candidates of uniform fingerprints: a design with longer prefixes makes them faster (nearstone plan --skew {:.0})",
            found.measured_candidates / found.predicted_candidates,
            found.measured_candidates / found.predicted_candidates
        ));
    }
    advice
}

/// A uniform sample of a stream of unknown length (Vitter's algorithm R), the same for the same stream.
struct Sample {
    kept: Vec<Fingerprint>,
    most: usize,
    seen: u64,
    state: u64,
}

impl Sample {
    fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, seen: 0, state: 0x853c_49e6_748f_ea9b }
    }

    fn add(&mut self, sketch: Fingerprint) {
        self.seen += 1;
        if self.kept.len() < self.most {
            self.kept.push(sketch);
            return;
        }
        self.state = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let place = usize::try_from((u128::from(self.state) * u128::from(self.seen)) >> 64).unwrap_or(usize::MAX);
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = sketch;
        }
    }

    fn into_vec(self) -> Vec<Fingerprint> {
        self.kept
    }
}

/// Up to `count` of the values, from all over.
fn spread(values: &[Fingerprint], count: usize) -> Vec<Fingerprint> {
    let step = (values.len() / count.max(1)).max(1);
    values.iter().step_by(step).take(count).copied().collect()
}
