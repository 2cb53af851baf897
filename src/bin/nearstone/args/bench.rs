//! The arguments of the benchmarks.

use std::path::PathBuf;

use clap::Subcommand;

use super::bulk::Work;
use super::values::{count, distance, size};

/// Measure this machine with synthetic data.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Load uniform fingerprints, query some of them, and compare with simpler ways in the same run
    Load(BenchLoad),
}

/// Load uniform fingerprints, query some of them, and compare with simpler ways in the same run.
///
/// Prints the time of each phase, bytes against the entropy of a sorted set, the peak of memory and of temporary
/// files; then, with at most --yardstick of the same fingerprints, what it takes to write one key for each of them,
/// and to sort them in memory; then the latency of queries a few bits from stored fingerprints, and how many of these
/// missed one, which must be none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone bench load --fingerprints 100M --design 4x1
  nearstone bench load --fingerprints 1G --memory 4G --dir /data/tmp --json")]
pub(crate) struct BenchLoad {
    /// How many fingerprints; K, M and G are thousands, millions, billions
    #[arg(long, value_name = "N", default_value = "10M", value_parser = count)]
    pub(crate) fingerprints: u64,
    /// The name of a design, as of `create`
    #[arg(long, value_name = "NAME", default_value = "4x1")]
    pub(crate) design: String,
    /// The distance in bits that the design is meant for, and that queries ask for
    #[arg(long, value_name = "BITS", default_value_t = 3, value_parser = distance())]
    pub(crate) max_distance: u32,
    /// Where the store goes, in a folder that is removed at the end [default: the system's temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// With how many of the fingerprints other ways are measured
    #[arg(long, value_name = "N", default_value = "100M", value_parser = count)]
    pub(crate) yardstick: u64,
    /// How many queries
    #[arg(long, value_name = "N", default_value = "10K", value_parser = count)]
    pub(crate) queries: u64,
    /// The block cache while it is queried
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = size)]
    pub(crate) cache: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) work: Work,
}
