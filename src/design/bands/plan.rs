//! Which bands reach a recall, and how many candidates they bring.

use super::BandDesign;
use crate::signature::{check_row_bits, check_rows};
use crate::{Error, Result, Signature};

/// Lists and picks band designs for a similarity, a recall and a number of documents.
///
/// ```
/// use nearstone::BandPlanner;
///
/// let planner = BandPlanner::new(1_000_000, 0.8);
/// let plan = planner.pick()?;
/// assert_eq!(plan.design.to_string(), "13x7");
/// assert!(plan.recall >= 0.95);
/// // A higher recall takes more bands, and brings more candidates.
/// let more = planner.recall(0.99).pick()?;
/// assert!(more.design.bands() > plan.design.bands() && more.candidate_rate > plan.candidate_rate);
/// # Ok::<(), nearstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPlanner {
    documents: u64,
    similarity: f64,
    recall: f64,
    rows: usize,
    row_bits: u32,
    unrelated: f64,
    max_candidates: Option<f64>,
}

/// A band design and what it is predicted to find.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BandPlan {
    /// The design.
    pub design: BandDesign,
    /// The share of the pairs at the similarity that are candidates: [`BandDesign::recall`].
    pub recall: f64,
    /// The share of the pairs below it that are candidates, were they evenly spread: [`BandDesign::candidate_rate`].
    pub candidate_rate: f64,
    /// Unrelated documents that are candidates of a query.
    pub candidates: f64,
}

impl BandPlanner {
    /// The recall by default.
    pub const DEFAULT_RECALL: f64 = 0.95;
    /// The similarity of unrelated documents by default.
    pub const DEFAULT_UNRELATED: f64 = 0.05;

    /// Plans for a number of documents, with queries for a similarity of 0 to 1, by signatures of 128 rows of 32 bits.
    #[must_use]
    pub fn new(documents: u64, similarity: f64) -> Self {
        Self {
            documents,
            similarity,
            recall: Self::DEFAULT_RECALL,
            rows: Signature::DEFAULT_ROWS,
            row_bits: 32,
            unrelated: Self::DEFAULT_UNRELATED,
            max_candidates: None,
        }
    }

    /// Sets which share of the pairs at the similarity has to be found, 0 to 1; [`BandPlanner::DEFAULT_RECALL`] by default.
    #[must_use]
    pub fn recall(self, recall: f64) -> Self {
        Self { recall, ..self }
    }

    /// Sets how many rows signatures have, and how many bits of each count; 128 and 32 by default.
    #[must_use]
    pub fn rows(self, rows: usize, row_bits: u32) -> Self {
        Self { rows, row_bits, ..self }
    }

    /// Sets how similar unrelated documents are, 0 to 1; [`BandPlanner::DEFAULT_UNRELATED`] by default.
    #[must_use]
    pub fn unrelated(self, similarity: f64) -> Self {
        Self { unrelated: similarity, ..self }
    }

    /// Sets how many unrelated candidates a query may have: then the fewest bands that keep to it are picked, which take the
    /// least disk. Without it, and where none keep to it, those with the fewest candidates are.
    #[must_use]
    pub fn max_candidates(self, candidates: f64) -> Self {
        Self { max_candidates: Some(candidates), ..self }
    }

    /// Returns for each number of rows in a band the fewest bands that reach the recall, where there are enough rows, by their
    /// rows in a band: the first is the laxest.
    ///
    /// # Errors
    /// [`Error::BandDesign`] where a similarity or a share is not from 0 to 1, and [`Error::Signature`] where signatures
    /// cannot have such rows.
    pub fn frontier(&self) -> Result<Vec<BandPlan>> {
        for (what, number) in [
            ("similarity", self.similarity),
            ("recall", self.recall),
            ("similarity of unrelated documents", self.unrelated),
        ] {
            if !(0.0..=1.0).contains(&number) {
                return Err(Error::BandDesign { reason: format!("a {what} of {number}: take one from 0 to 1") });
            }
        }
        check_rows(self.rows)?;
        check_row_bits(self.row_bits)?;
        let plans = (1..).take(self.rows).filter_map(|rows_per_band| {
            let mut designs = (1..).map_while(|bands| BandDesign::new(bands, rows_per_band).ok());
            designs
                .by_ref()
                .take_while(|design| design.rows() <= self.rows)
                .find(|design| design.recall(self.similarity, self.row_bits) >= self.recall)
        });
        Ok(plans.map(|design| self.predict(&design)).collect())
    }

    /// Returns the design with the fewest candidates of those that reach the recall, or the one with the fewest bands
    /// that keeps to [`BandPlanner::max_candidates`].
    ///
    /// # Errors
    /// Those of [`BandPlanner::frontier`], and [`Error::BandDesign`] where the rows are too few for the recall.
    pub fn pick(&self) -> Result<BandPlan> {
        let plans = self.frontier()?;
        let fewest = plans
            .iter()
            .min_by(|a, b| a.candidate_rate.total_cmp(&b.candidate_rate).then(a.design.bands().cmp(&b.design.bands())));
        let enough = plans.iter().filter(|plan| self.max_candidates.is_some_and(|most| plan.candidates <= most));
        let picked = enough.min_by_key(|plan| plan.design.bands()).or(fewest);
        picked.copied().ok_or_else(|| Error::BandDesign {
            reason: format!(
                "no bands of {} rows find {} of the pairs of similarity {}: take more rows, or ask for less",
                self.rows, self.recall, self.similarity
            ),
        })
    }

    /// Predicts what a design finds.
    #[must_use]
    pub fn predict(&self, design: &BandDesign) -> BandPlan {
        BandPlan {
            design: *design,
            recall: design.recall(self.similarity, self.row_bits),
            candidate_rate: design.candidate_rate(self.similarity, self.row_bits),
            candidates: crate::design::cost::float(self.documents) * design.recall(self.unrelated, self.row_bits),
        }
    }
}
