//! The arguments of `nearstone pairs`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use nearstone::PairOptions;

use super::values::{distance, size, threads};

/// List all pairs of near documents of a store, or of two.
///
/// Prints a line for each pair: the two ids and how many bits differ. Of documents that share a fingerprint the one with the
/// smallest id stands for all: first comes a line for each other member of such a group, at distance 0, then
/// a line for each pair of near fingerprints.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone pairs seen > pairs.tsv
  nearstone pairs seen --max-distance 7 --format json-lines -o pairs.jsonl
  nearstone pairs seen -o pairs.tsv --resume           # after it was interrupted
  nearstone pairs monday --with tuesday                # one document of each")]
pub(crate) struct Pairs {
    /// The store
    pub(crate) store: PathBuf,
    /// Pair the documents of STORE with those of this store, of the same design, and not among themselves
    #[arg(long, value_name = "STORE")]
    pub(crate) with: Option<PathBuf>,
    /// How many of the 64 bits may differ, inclusive: 0 to 16, strict (3), balanced (7) or candidates (12) [default: the
    /// store's]; of signatures how many rows [default: those of a similarity of 0.8]
    #[arg(long, short = 'd', value_name = "BITS", value_parser = distance)]
    pub(crate) max_distance: Option<u32>,
    /// List every pair of documents, also of those that share a fingerprint
    #[arg(long)]
    pub(crate) expand: bool,
    /// Write here, - for the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// What is written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    pub(crate) format: PairFormat,
    /// Go on with a run of the same options that was interrupted, where the store has not changed
    #[arg(long)]
    pub(crate) resume: bool,
    /// How much memory is used, beside that of the open store; K, M and G are powers of 1024
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = size)]
    pub(crate) memory: usize,
    /// Threads that compare [default: the number of cores]
    #[arg(long, short, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// No progress and no summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PairFormat {
    /// The two ids and the distance, tab-separated, without a header
    Tsv,
    /// An object a line: a, b, distance
    #[value(alias = "jsonl")]
    JsonLines,
}

impl Pairs {
    pub(crate) fn options(&self) -> PairOptions {
        let options = PairOptions::new().memory_bytes(self.memory).expand(self.expand);
        self.threads.map_or(options.clone(), |threads| options.threads(threads))
    }
}
