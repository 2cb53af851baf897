//! All near pairs of a store, or of two.
//!
//! A query for each document would probe each table as often as there are documents. Instead each table, which has its
//! values in order, is read from end to end, and values with the same front, or with fronts that differ in few bits,
//! are compared in memory.
//!
//! 1. [`plan`]: which tables find the pairs, and in which ranges and groups of them. A pair counts in the first table
//!    that finds it, so nothing needs to be remembered of the pairs that were found.
//! 2. [`work`]: threads read ranges and [`join`](join) their groups; the order in which pairs come is that of the plan.
//! 3. [`search`]: documents that share a fingerprint come first, from one pass over the holders; then the ids of the
//!    near fingerprints are looked up, many at a time and in their order. Tables are hints, so a fingerprint
//!    without a document is left out here.
//!
//! Everything is read as of one [`moment`], by iterators that are made while writers are kept away.

mod batch;
mod crowd;
mod groups;
mod ids;
mod join;
mod moment;
mod near;
mod options;
mod piece;
mod plan;
mod point;
mod search;
mod source;
#[cfg(test)]
mod tests;
mod work;

use super::{Store, checked_distance};
use crate::{Error, Fingerprint, Result, TableDesign};
pub(in crate::store) use groups::{Groups, Step};
pub use options::{Pair, PairOptions};
pub use search::Pairs;

impl Store<Fingerprint> {
    /// Finds all pairs of documents within `max_distance` bits, the bound included, as they are now: each pair once,
    /// `a` before `b` in the order of the ids.
    ///
    /// Of documents that share a fingerprint the one with the smallest id stands for all. First come these groups:
    /// each other member with the one that stands for it, at distance 0. Then come the near fingerprints, each
    /// pair of them as the documents that stand for them. So n copies of one page make n - 1 pairs among themselves,
    /// and one with a near page; with [`PairOptions::expand`] every pair of documents is told.
    ///
    /// Each table that a query would probe is read once, or a few times where probes flip bits, and its values are
    /// compared in memory. What order pairs come in depends on nothing but the store.
    ///
    /// # Errors
    /// [`Error::Distance`], [`Error::Pairs`] where it cannot be resumed, and what the system reports; the iterator
    /// itself ends with the first error that it yields.
    ///
    /// ```
    /// use nearstone::{Fingerprint, Options, PairOptions, SimhashStore, TableDesign};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &Options::new())?;
    /// for (id, bits) in [("first", 0b0000), ("copy", 0b0000), ("near", 0b0110), ("far", u64::MAX)] {
    ///     store.insert(id, &Fingerprint::new(bits))?;
    /// }
    /// let pairs = store.pairs(3, &PairOptions::new())?.collect::<Result<Vec<_>, _>>()?;
    /// let told: Vec<_> = pairs.iter().map(|pair| (pair.ids_lossy(), pair.distance)).collect();
    /// assert_eq!(told, [(("copy".into(), "first".into()), 0), (("copy".into(), "near".into()), 2)]);
    /// assert_eq!(store.pairs(3, &PairOptions::new().expand(true))?.count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pairs(&self, max_distance: u32, options: &PairOptions) -> Result<Pairs> {
        checked_distance(max_distance, TableDesign::MAX_DISTANCE, "a search for pairs")?;
        Pairs::new(&self.shared, None, max_distance, options)
    }

    /// Finds all pairs of a document of this store, `a`, and one of another store, `b`, within `max_distance` bits:
    /// each once, those with the same fingerprint included.
    ///
    /// In each store the document with the smallest id stands for all that share its fingerprint, unless pairs are
    /// expanded. Pairs within one store are not told. Each store is as it is at one moment, the other one a moment
    /// later.
    ///
    /// # Errors
    /// Those of [`Store::pairs`]; [`Error::Pairs`] where the stores have different designs.
    pub fn pairs_with(&self, other: &Self, max_distance: u32, options: &PairOptions) -> Result<Pairs> {
        checked_distance(max_distance, TableDesign::MAX_DISTANCE, "a search for pairs")?;
        if self.design().tables() != other.design().tables() {
            let (a, b) = (self.path().display(), other.path().display());
            let designs = format!("{a} has {}, {b} has {}", self.design(), other.design());
            let reason = format!("{designs}: load one of them into a store of the other's design (export, load)");
            return Err(Error::Pairs { reason });
        }
        Pairs::new(&self.shared, Some(&other.shared), max_distance, options)
    }
}
