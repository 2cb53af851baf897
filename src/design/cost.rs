//! What queries and stores cost: the constants in one place, and the formulae.
//!
//! `docs/design.md`, Costs, has them in words. `cargo bench --bench costs` measures the constants on the
//! machine at hand; these are from 2 virtual cores of an AMD EPYC (Zen 4) with a virtual SSD.

use super::{Probes, TableDesign, probes_of_radius};

/// What a query costs whatever it finds.
const QUERY_NANOS: f64 = 200.0;
/// The first probe of a table, whose blocks are cached.
const TABLE_NANOS: f64 = 2_600.0;
/// Each further probe of the same table, in the order of the keys.
const PROBE_NANOS: f64 = 1_000.0;
/// A candidate: a key that is read and compared.
const CANDIDATE_NANOS: f64 = 200.0;
/// An entry of a table that is read from end to end.
const SCAN_NANOS: f64 = 100.0;
/// A block that is not cached: read at random from the disk, checked, decompressed.
const BLOCK_MICROS: f64 = 110.0;
/// Entries in a block of 8 KiB: 8 to 9 bytes of key, 8 of RocksDB, and 3 for their lengths, less what
/// neighbours share.
const BLOCK_ENTRIES: f64 = 430.0;

/// Storing a document: what is not for a table, and for each table.
const STORE_NANOS: f64 = 1_000.0;
const STORE_TABLE_NANOS: f64 = 4_700.0;

/// Bytes of a table entry by the decimal logarithm of the number of sketches, compacted. The steps come from
/// the whole bytes that neighbours share. Measured up to 10^6 by the benchmark; from 10^7 on, by a
/// prototype up to 10^8, and by extrapolation.
const ENTRY_BYTES: [(f64, f64); 6] = [(5.0, 9.25), (5.5, 8.5), (6.0, 7.9), (7.0, 8.1), (8.0, 8.25), (9.0, 8.3)];
/// More for a key of nine bytes, where neither the prefix nor the rest is whole bytes.
const NINTH_BYTE: f64 = 0.55;
/// Bytes of a document with an id of 8 bytes and no payload.
const DOCUMENT_BYTES: f64 = 13.2;
/// Bytes of a holder with an id of 8 bytes.
const HOLDER_BYTES: [(f64, f64); 3] = [(5.0, 14.0), (6.0, 12.9), (7.0, 12.0)];

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
        // Probes of one table may share blocks: no more are read than the tables have.
        let all = (float(sketches) / BLOCK_ENTRIES).ceil() * float(tables);
        let blocks = (float(probes.total) + candidates / BLOCK_ENTRIES).min(all);
        QueryCost { probes: probes.total, candidates, blocks, cached_micros: nanos / 1000.0, is_scan: false }
    });
    let scan = QueryCost {
        probes: 0,
        candidates: float(sketches),
        blocks: float(sketches) / BLOCK_ENTRIES,
        cached_micros: (QUERY_NANOS + float(sketches) * SCAN_NANOS) / 1000.0,
        is_scan: true,
    };
    match (by_probes, probes) {
        (Some(cost), Some(probes)) if !is_scanned(design, probes, sketches) => cost,
        _ => scan,
    }
}

/// So few probes are cheaper than reading even a small table.
const PROBES_NOT_WEIGHED: u64 = 64;

/// Whether a query reads a table of `sketches` entries from end to end instead of making these probes.
pub(crate) fn is_scanned(design: &TableDesign, probes: &Probes, sketches: u64) -> bool {
    let probing = float(probes.total) * PROBE_NANOS + candidates(design, probes, sketches) * CANDIDATE_NANOS;
    probes.total > PROBES_NOT_WEIGHED && float(sketches) * SCAN_NANOS < probing
}

/// Whether reading a table of `sketches` entries from end to end is cheaper than so many candidates.
pub(crate) fn scan_beats_candidates(candidates: u64, sketches: u64) -> bool {
    float(sketches) * SCAN_NANOS < float(candidates) * CANDIDATE_NANOS
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

/// The microseconds of a query whose blocks must all come from the disk, one after the other.
pub(super) fn disk_micros(cost: &QueryCost) -> f64 {
    // A scan reads ahead; what the medium adds to it is left out.
    cost.cached_micros + if cost.is_scan { 0.0 } else { cost.blocks * BLOCK_MICROS }
}

/// The bytes on disk of a document with an id of 8 bytes, all families together, compacted.
pub(super) fn bytes_per_document(design: &TableDesign, documents: u64) -> f64 {
    let entry = interpolated(&ENTRY_BYTES, documents);
    let tables = design.tables().iter().map(|table| {
        let is_whole = table.prefix_bits().is_multiple_of(8);
        entry + if is_whole { 0.0 } else { NINTH_BYTE }
    });
    tables.sum::<f64>() + DOCUMENT_BYTES + interpolated(&HOLDER_BYTES, documents)
}

/// The minutes that it takes one thread to store documents one by one.
pub(super) fn fill_minutes(design: &TableDesign, documents: u64) -> f64 {
    let nanos = STORE_NANOS + float(design.tables().len() as u64) * STORE_TABLE_NANOS;
    float(documents) * nanos / 60e9
}

/// The value at the decimal logarithm of a number, between the points and as at the last ones beyond.
fn interpolated(points: &[(f64, f64)], number: u64) -> f64 {
    let x = float(number.max(1)).log10();
    let next = points.iter().position(|&(at, _)| x < at).unwrap_or(points.len());
    match (next.checked_sub(1).map(|i| points[i]), points.get(next)) {
        (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some((_, y)), None) | (None, Some(&(_, y))) => y,
        (None, None) => 0.0,
    }
}

#[expect(clippy::cast_precision_loss, reason = "costs are estimates")]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolation_goes_through_the_points_and_stays_beyond_them() {
        let points = [(1.0, 10.0), (2.0, 20.0)];
        for (number, value) in [(1, 10.0), (10, 10.0), (100, 20.0), (1000, 20.0)] {
            assert!((interpolated(&points, number) - value).abs() < 1e-9, "{number}");
        }
        assert!((interpolated(&points, 32) - 15.05).abs() < 0.01);
    }

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
        assert!(is_scanned(&design, &probes, 5_000));
        assert!(!is_scanned(&design, &probes, 10_000_000));
        assert!(!is_scanned(&design, &design.probes_for(3).unwrap(), 1));
    }
}
