//! The planner: which design for how many documents and which distances, and what it will cost.

use super::TableDesign;
use super::catalogue::{designs, name};
use super::cost::{self, QueryCost};
use crate::{Error, Result};

/// What a design is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Aim {
    /// The least disk, of the designs that read not many times more than the best.
    Disk,
    /// The fewest blocks that a query reads.
    Reads,
    /// The least product of disk and query time.
    #[default]
    Balanced,
}

/// Lists and picks designs for a number of documents and the distances that will be asked.
///
/// All figures are predictions by the cost model of `docs/design.md`, for uniform fingerprints and ids of
/// 8 bytes, in a store that is sealed; `nearstone doctor` compares them with a store.
///
/// ```
/// use nearstone::{Aim, Planner};
///
/// // Distance 3 nearly always, 12 for one query in a hundred.
/// let planner = Planner::new(100_000_000, 3).also(12, 0.01);
/// let plan = planner.pick(Aim::Disk)?;
/// assert!(plan.design.tables().len() <= 4);
/// assert_eq!(plan.queries.len(), 2);
/// # Ok::<(), nearstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Planner {
    documents: u64,
    max_distance: u32,
    also: Vec<(u32, f64)>,
    skew: f64,
}

/// A design and what it is predicted to cost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The name by which [`TableDesign::named`] makes the design.
    pub name: String,
    /// The design.
    pub design: TableDesign,
    /// Bytes on disk of each document, all tables, the document and its holder, sealed.
    pub bytes_per_document: f64,
    /// Keys that are written for each document.
    pub keys_per_document: usize,
    /// Minutes in which one thread stores all documents one by one.
    pub fill_minutes: f64,
    /// A query for each of the distances, the first one that the design is meant for.
    pub queries: Vec<PlannedQuery>,
}

/// What a query for one distance is predicted to cost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedQuery {
    /// The distance in bits.
    pub distance: u32,
    /// The share of the queries that ask for it, 0 to 1.
    pub share: f64,
    /// Prefixes that are looked up; 0 for a scan.
    pub probes: u64,
    /// Sketches that are compared, among uniform values.
    pub candidates: f64,
    /// The same with the skew that the planner was told.
    pub skewed_candidates: f64,
    /// Blocks that are read, from the cache or the disk.
    pub blocks: f64,
    /// Microseconds if all values are kept in memory.
    pub cached_micros: f64,
    /// Microseconds if all blocks come from the disk, read by several threads.
    pub disk_micros: f64,
    /// Whether reading a table from end to end is cheaper than the probes, so that the query does it.
    pub is_scan: bool,
}

/// More than any data has.
const MAX_SKEW: f64 = 1e12;

/// How many times the blocks of the best design a design may read that is chosen for its disk.
const DISK_BLOCKS: f64 = 8.0;

impl Planner {
    /// Plans for a number of documents, with queries for `max_distance`.
    #[must_use]
    pub fn new(documents: u64, max_distance: u32) -> Self {
        Self { documents, max_distance, also: vec![], skew: 1.0 }
    }

    /// Plans for a share of the queries, 0 to 1, that ask for another distance. All shares together are at
    /// most 1; the rest asks for the distance of the design.
    #[must_use]
    pub fn also(mut self, distance: u32, share: f64) -> Self {
        self.also.push((distance, if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }));
        self
    }

    /// Sets how many times more documents share the prefixes of a query than were the fingerprints
    /// uniform; 1 by default. `nearstone doctor` measures it on a store.
    #[must_use]
    pub fn skew(mut self, skew: f64) -> Self {
        self.skew = skew.clamp(0.0, MAX_SKEW);
        if self.skew.is_nan() {
            self.skew = 1.0;
        }
        self
    }

    /// Returns the designs that no other one beats in disk, in time with all blocks cached and in
    /// blocks read at once, by their disk.
    ///
    /// # Errors
    /// [`Error::Distance`] where a distance is larger than [`TableDesign::MAX_DISTANCE`].
    pub fn frontier(&self) -> Result<Vec<Plan>> {
        for distance in self.also.iter().map(|&(distance, _)| distance).chain([self.max_distance]) {
            if distance > TableDesign::MAX_DISTANCE {
                return Err(Error::Distance { asked: distance, maximum: TableDesign::MAX_DISTANCE, by: "a design" });
            }
        }
        // Prefixes much longer than the number of documents needs only cost disk.
        let enough = f64::from(self.documents.max(1).ilog2()) + 10.0;
        let designs = designs(self.max_distance).into_iter().filter(|(_, design)| {
            let bits: u32 = design.tables().iter().map(super::Table::prefix_bits).sum();
            design.tables().len() <= 4 || f64::from(bits) / cost::float(design.tables().len() as u64) <= enough
        });
        let mut plans: Vec<Plan> = designs.map(|(name, design)| self.plan(name, design)).collect();
        let beaten = |plan: &Plan| {
            plans.iter().any(|other| {
                let (a, b) = (plan.measures(), other.measures());
                (0..3).all(|i| b[i] <= a[i]) && (0..3).any(|i| b[i] < a[i])
            })
        };
        let kept: Vec<bool> = plans.iter().map(|plan| !beaten(plan)).collect();
        let mut kept = kept.into_iter();
        plans.retain(|_| kept.next().unwrap_or(false));
        plans.sort_by(|a, b| a.bytes_per_document.total_cmp(&b.bytes_per_document));
        // Equal in all three: one of them is enough.
        plans.dedup_by(|b, a| (0..3).all(|i| a.measures()[i].total_cmp(&b.measures()[i]).is_eq()));
        Ok(plans)
    }

    /// Returns the design for an aim.
    ///
    /// # Errors
    /// Those of [`Planner::frontier`].
    pub fn pick(&self, aim: Aim) -> Result<Plan> {
        let plans = self.frontier()?;
        let picked = aim.pick(&plans).cloned();
        picked.ok_or_else(|| Error::Design { reason: "no design answers this distance".into() })
    }

    /// Predicts the costs of a design.
    #[must_use]
    pub fn predict(&self, design: &TableDesign) -> Plan {
        self.plan(name(design), design.clone())
    }

    fn plan(&self, name: String, design: TableDesign) -> Plan {
        let others: f64 = self.also.iter().map(|&(_, share)| share).sum();
        let distances = [(self.max_distance, (1.0 - others).max(0.0))].into_iter().chain(self.also.iter().copied());
        let queries = distances.map(|(distance, share)| {
            let probes = design.probes_for(distance);
            let uniform = cost::query(&design, probes.as_ref(), self.documents, 1.0);
            planned(distance, share, uniform, cost::query(&design, probes.as_ref(), self.documents, self.skew))
        });
        Plan {
            queries: queries.collect(),
            bytes_per_document: cost::bytes_per_document(&design, self.documents),
            keys_per_document: design.tables().len() + 2,
            fill_minutes: cost::fill_minutes(&design, self.documents),
            name,
            design,
        }
    }
}

fn planned(distance: u32, share: f64, uniform: QueryCost, skewed: QueryCost) -> PlannedQuery {
    PlannedQuery {
        distance,
        share,
        probes: skewed.probes,
        candidates: uniform.candidates,
        skewed_candidates: skewed.candidates,
        blocks: skewed.blocks,
        cached_micros: skewed.cached_micros,
        disk_micros: cost::disk_micros(&skewed),
        is_scan: skewed.is_scan,
    }
}

impl Plan {
    /// Returns the cached microseconds of a query, over all distances by their shares.
    #[must_use]
    pub fn cached_micros(&self) -> f64 {
        self.queries.iter().map(|query| query.share * query.cached_micros).sum()
    }

    /// Returns the microseconds of a query with all blocks from the disk, over all distances likewise.
    #[must_use]
    pub fn disk_micros(&self) -> f64 {
        self.queries.iter().map(|query| query.share * query.disk_micros).sum()
    }

    /// Returns the blocks that a query reads, over all distances likewise.
    #[must_use]
    pub fn blocks(&self) -> f64 {
        self.queries.iter().map(|query| query.share * query.blocks).sum()
    }

    fn measures(&self) -> [f64; 3] {
        [self.bytes_per_document, self.cached_micros(), self.blocks()]
    }
}

impl Aim {
    /// Picks from the plans of a frontier; `None` where there are none.
    #[must_use]
    pub fn pick(self, plans: &[Plan]) -> Option<&Plan> {
        let least = |measure: &dyn Fn(&Plan) -> f64| plans.iter().min_by(|a, b| measure(a).total_cmp(&measure(b)));
        let fewest = plans.iter().map(Plan::blocks).fold(f64::INFINITY, f64::min);
        match self {
            Self::Reads => least(&Plan::blocks),
            Self::Disk => least(&|plan| {
                if plan.blocks() <= fewest * DISK_BLOCKS { plan.bytes_per_document } else { f64::INFINITY }
            }),
            Self::Balanced => {
                least(&|plan| plan.bytes_per_document * (plan.cached_micros() * plan.disk_micros()).sqrt())
            }
        }
    }

    /// Says in a sentence what a pick for this aim is.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Disk => "it takes the least disk of the designs that read at most 8 times the blocks of the best",
            Self::Reads => "its queries read the fewest blocks",
            Self::Balanced => "its disk and its query time, cached and from the disk, have the least product",
        }
    }
}

impl TableDesign {
    /// Picks a design for a number of documents, a distance and an aim: [`Planner::pick`].
    ///
    /// # Errors
    /// Those of [`Planner::frontier`].
    pub fn plan(documents: u64, max_distance: u32, aim: Aim) -> Result<Plan> {
        Planner::new(documents, max_distance).pick(aim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plans: &[Plan]) -> Vec<&str> {
        plans.iter().map(|plan| plan.name.as_str()).collect()
    }

    #[test]
    fn the_frontier_of_distance_3_runs_from_disk_to_reads() {
        let plans = Planner::new(100_000_000, 3).frontier().unwrap();
        for name in ["2x33", "3x22", "4x1", "5x1", "6x1"] {
            assert!(names(&plans).contains(&name), "{name} in {:?}", names(&plans));
        }
        assert!(plans.is_sorted_by(|a, b| a.bytes_per_document <= b.bytes_per_document));
        for (aim, tables) in [(Aim::Disk, 2..=4), (Aim::Reads, 4..=20), (Aim::Balanced, 4..=10)] {
            let picked = aim.pick(&plans).unwrap();
            assert!(tables.contains(&picked.design.tables().len()), "{aim:?}: {}", picked.name);
        }
        assert_eq!(Aim::Disk.pick(&[]), None);
    }

    #[test]
    fn more_documents_want_longer_prefixes() {
        let bits = |documents| {
            let plan = TableDesign::plan(documents, 3, Aim::Reads).unwrap();
            plan.design.tables().iter().map(crate::Table::prefix_bits).min().unwrap()
        };
        assert!(bits(100_000) <= bits(10_000_000) && bits(10_000_000) < bits(10_000_000_000));
    }

    #[test]
    fn other_distances_and_skew_count_by_their_share() {
        let alone = Planner::new(10_000_000, 3).pick(Aim::Balanced).unwrap();
        let both = Planner::new(10_000_000, 3).also(12, 0.5).pick(Aim::Balanced).unwrap();
        assert_eq!((alone.queries.len(), both.queries.len()), (1, 2));
        assert!(both.cached_micros() > alone.cached_micros());
        let skewed = Planner::new(10_000_000, 3).skew(10.0).frontier().unwrap();
        let four = skewed.iter().find(|plan| plan.name == "4x1").unwrap();
        assert!((four.queries[0].skewed_candidates / four.queries[0].candidates - 10.0).abs() < 1e-9);
        assert!(Planner::new(1, 17).frontier().is_err() && Planner::new(1, 3).also(17, 0.1).frontier().is_err());
    }
}
