//! What queries and stores cost: the constants in one place, and the formulae.
//!
//! `docs/design.md`, Costs, has them in words. `cargo bench --bench costs` measures the constants on the
//! machine at hand; these are from 2 virtual cores of an AMD EPYC (Zen 4) with a virtual SSD.

use super::{Probes, TableDesign, probes_of_radius};

/// What a query costs whatever it finds.
const QUERY_NANOS: f64 = 300.0;
/// The first probe of a table, whose values are kept decoded.
const TABLE_NANOS: f64 = 550.0;
/// Each further probe of the same table, in the order of the keys.
const PROBE_NANOS: f64 = 650.0;
/// A candidate: a value that is fetched from memory and compared.
const CANDIDATE_NANOS: f64 = 1.2;
/// A value of a sealed table that is read from end to end.
const SCAN_NANOS: f64 = 6.0;
/// A probe of a live table that is not in memory: keys of RocksDB.
const LIVE_PROBE_NANOS: f64 = 1_000.0;
/// A candidate of such a probe.
const LIVE_CANDIDATE_NANOS: f64 = 200.0;
/// An entry of a live table that is read from end to end.
const LIVE_SCAN_NANOS: f64 = 100.0;
/// A block that is not cached: read at random from the disk, checked, decoded.
const BLOCK_MICROS: f64 = 110.0;
/// As many times as fast are blocks read that several threads ask for.
const BLOCKS_AT_ONCE: f64 = 1.7;

/// Storing a document: what is not for a table, and for each table.
const STORE_NANOS: f64 = 1_000.0;
const STORE_TABLE_NANOS: f64 = 4_700.0;

/// Bits of a sealed value beyond those that tell its place among as many evenly spread ones.
const VALUE_BITS: f64 = 2.7;
/// Bytes of a document with an id of 8 bytes and no payload, and of its holder, sealed.
const DOCUMENT_BYTES: f64 = 17.0;

/// The bytes of a block of a table: a probe should read what it needs at once, and little more.
const LEAST_BLOCK_BYTES: u64 = 4 << 10;
/// Beyond this a medium takes longer for more bytes.
const MOST_BLOCK_BYTES: u64 = 16 << 10;
/// More than this is read in several steps.
const MOST_BYTES_AHEAD: u64 = 256 << 10;

/// What one query is predicted to cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct QueryCost {
    pub(super) probes: u64,
    pub(super) candidates: f64,
    pub(super) blocks: f64,
    pub(super) cached_micros: f64,
    pub(super) is_scan: bool,
}

/// Predicts a query for a distance among `sketches` values, `skew` times as many under its prefixes as
/// were the values uniform.
pub(super) fn query(design: &TableDesign, probes: Option<&Probes>, sketches: u64, skew: f64) -> QueryCost {
    let by_probes = probes.map(|probes| {
        let tables = probes.radii.iter().flatten().count() as u64;
        let candidates = candidates(design, probes, sketches) * skew;
        let nanos = QUERY_NANOS
            + float(tables) * TABLE_NANOS
            + float(probes.total - tables) * PROBE_NANOS
            + candidates * CANDIDATE_NANOS;
        let blocks = blocks(design, probes, sketches, skew);
        QueryCost { probes: probes.total, candidates, blocks, cached_micros: nanos / 1000.0, is_scan: false }
    });
    let scan = QueryCost {
        probes: 0,
        candidates: float(sketches),
        blocks: float(sketches) * value_bytes(sketches) / float(MOST_BLOCK_BYTES),
        cached_micros: (QUERY_NANOS + float(sketches) * SCAN_NANOS) / 1000.0,
        is_scan: true,
    };
    match (by_probes, probes) {
        (Some(cost), Some(probes))
            if !is_scanned(design, probes, Stored { sealed: sketches, live: 0, in_memory: 0 }) =>
        {
            cost
        }
        _ => scan,
    }
}

/// So few probes are cheaper than reading even a small table.
const PROBES_NOT_WEIGHED: u64 = 64;

/// How many sketches the tables of a store have, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) sealed: u64,
    pub(crate) live: u64,
    /// Of the live ones, those that probes find in memory.
    pub(crate) in_memory: u64,
}

impl Stored {
    pub(crate) fn all(self) -> u64 {
        self.sealed + self.live
    }

    fn scan_nanos(self) -> f64 {
        float(self.sealed) * SCAN_NANOS + float(self.live) * LIVE_SCAN_NANOS
    }

    /// What so many probes and candidates take, each of which meets sealed and live ones by their share.
    fn probing_nanos(self, probes: u64, candidates: f64) -> f64 {
        let live = float(self.live - self.in_memory) / float(self.all().max(1));
        let of = |sealed: f64, of_live: f64| sealed + (of_live - sealed) * live;
        float(probes) * of(PROBE_NANOS, LIVE_PROBE_NANOS) + candidates * of(CANDIDATE_NANOS, LIVE_CANDIDATE_NANOS)
    }
}

/// Whether a query reads a table from end to end instead of making these probes.
pub(crate) fn is_scanned(design: &TableDesign, probes: &Probes, stored: Stored) -> bool {
    let probing = stored.probing_nanos(probes.total, candidates(design, probes, stored.all()));
    probes.total > PROBES_NOT_WEIGHED && stored.scan_nanos() < probing
}

/// Whether reading a table from end to end is cheaper than so many candidates.
pub(crate) fn scan_beats_candidates(candidates: u64, stored: Stored) -> bool {
    stored.scan_nanos() < stored.probing_nanos(0, float(candidates))
}

/// Whether the number of sketches decides on [`is_scanned`] at all.
pub(crate) fn may_be_scanned(probes: &Probes) -> bool {
    probes.total > PROBES_NOT_WEIGHED
}

/// The candidates of probes among uniform values.
pub(super) fn candidates(design: &TableDesign, probes: &Probes, sketches: u64) -> f64 {
    let tables = design.tables().iter().zip(&probes.radii);
    let each = tables.filter_map(|(table, radius)| {
        let probes = probes_of_radius(table.prefix_bits(), (*radius)?);
        Some(float(probes) * float(sketches) / 2f64.powi(i32::try_from(table.prefix_bits()).ok()?))
    });
    each.sum()
}

/// The microseconds of a query whose blocks must all come from the disk, read by several threads.
pub(super) fn disk_micros(cost: &QueryCost) -> f64 {
    // A scan reads ahead; what the medium adds to it is left out.
    cost.cached_micros + if cost.is_scan { 0.0 } else { cost.blocks * BLOCK_MICROS / BLOCKS_AT_ONCE }
}

/// The bytes of a sealed value among so many.
fn value_bytes(sketches: u64) -> f64 {
    (64.0 - float(sketches.max(1)).log2() + VALUE_BITS) / 8.0
}

/// The bytes of a block of a sealed table of so many values.
pub(crate) fn block_bytes(prefix_bits: u32, sketches: u64) -> u64 {
    // Between 10^7 and 10^9 values take 4.6 to 5.4 bytes.
    let probe_bytes = sketches.checked_shr(prefix_bits).unwrap_or(0).saturating_mul(5);
    probe_bytes.saturating_mul(2).clamp(LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES).next_power_of_two()
}

/// How many bytes a probe of a sealed table of so many values reads on, beside its first block; 0 where it seldom
/// needs more than that.
pub(crate) fn bytes_ahead(prefix_bits: u32, sketches: u64) -> u64 {
    let probe_bytes = sketches.checked_shr(prefix_bits).unwrap_or(0).saturating_mul(5);
    if probe_bytes > block_bytes(prefix_bits, sketches) / 2 { probe_bytes.min(MOST_BYTES_AHEAD) } else { 0 }
}

/// The blocks that probes touch: one each, and as many more as ends of blocks lie among their values.
fn blocks(design: &TableDesign, probes: &Probes, sketches: u64, skew: f64) -> f64 {
    let tables = design.tables().iter().zip(&probes.radii);
    let each = tables.filter_map(|(table, radius)| {
        let probes = probes_of_radius(table.prefix_bits(), (*radius)?);
        let bits = i32::try_from(table.prefix_bits()).ok()?;
        let block = float(block_bytes(table.prefix_bits(), sketches));
        let bytes = float(sketches) / 2f64.powi(bits) * skew * value_bytes(sketches);
        // Probes of one table may share blocks: no more are read than it has.
        let all = (float(sketches) * value_bytes(sketches) / block).ceil();
        Some((float(probes) * (1.0 + bytes / block)).min(all))
    });
    each.sum()
}

/// The bytes on disk of a document with an id of 8 bytes, all families together, sealed.
pub(super) fn bytes_per_document(design: &TableDesign, documents: u64) -> f64 {
    float(design.tables().len() as u64) * value_bytes(documents) + DOCUMENT_BYTES
}

/// The minutes that it takes one thread to store documents one by one.
pub(super) fn fill_minutes(design: &TableDesign, documents: u64) -> f64 {
    let nanos = STORE_NANOS + float(design.tables().len() as u64) * STORE_TABLE_NANOS;
    float(documents) * nanos / 60e9
}

#[expect(clippy::cast_precision_loss, reason = "costs are estimates")]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_of_the_designs_of_the_paper() {
        for (blocks, most) in [(4, 6104.0), (5, 21.0), (6, 0.5)] {
            let design = TableDesign::choose(blocks, 3).unwrap();
            let found = candidates(&design, &design.probes_for(3).unwrap(), 100_000_000);
            assert!((found - most).abs() <= most * 0.05, "{blocks}: {found}");
        }
        let two = TableDesign::combine(2, 1, 3).unwrap();
        let found = candidates(&two, &two.probes_for(3).unwrap(), 1_000_000_000);
        assert!((found - 15.4).abs() < 0.1, "{found}");
    }

    #[test]
    fn few_entries_are_read_from_end_to_end_rather_than_probed_a_thousand_times() {
        let design = TableDesign::combine(4, 1, 12).unwrap();
        let probes = design.probes_for(12).unwrap();
        let is_scanned = |probes, sealed, live| is_scanned(&design, probes, Stored { sealed, live, in_memory: 0 });
        assert!(is_scanned(&probes, 50_000, 0) && is_scanned(&probes, 0, 5_000));
        assert!(!is_scanned(&probes, 10_000_000, 0) && !is_scanned(&probes, 0, 10_000_000));
        assert!(!is_scanned(&design.probes_for(3).unwrap(), 1, 0));
    }

    #[test]
    fn values_take_what_loads_have_written() {
        for (sketches, bytes) in [(10_000_000, 5.42), (100_000_000, 5.01), (1_000_000_000, 4.60)] {
            assert!((value_bytes(sketches) - bytes).abs() < 0.02, "{sketches}: {}", value_bytes(sketches));
        }
    }

    #[test]
    fn blocks_are_as_large_as_what_probes_need() {
        assert_eq!(
            [1_000, 100_000_000, u64::MAX].map(|sketches| block_bytes(16, sketches)),
            [4 << 10, 16 << 10, 16 << 10]
        );
        assert_eq!((block_bytes(16, 50_000_000), block_bytes(64, 1 << 40)), (8 << 10, 4 << 10));
        let design = TableDesign::default();
        let of = |sketches| blocks(&design, &design.probes_for(3).unwrap(), sketches, 1.0);
        assert!((of(1_000) - 4.0).abs() < 0.3 && (of(100_000_000) - 5.9).abs() < 0.1, "{}", of(100_000_000));
    }
}
