//! The arguments of the benchmarks.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Subcommand;
use nearstone::{Durability, TableDesign};

use super::bulk::Work;
use super::values::{count, count_in_memory, share_alone, size, table_distance, threads};

/// Measure this machine with synthetic data.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Load uniform fingerprints, query some of them, and compare with simpler ways in the same run
    Load(BenchLoad),
    /// Ask a store, and compare with sorted arrays in memory in the same run
    Query(BenchQuery),
    /// Admit new fingerprints to a store, and compare with storing them unseen and with sets in memory in the same run
    Admit(BenchAdmit),
    /// Find all near pairs of a store, and compare with asking sorted arrays in memory in the same run
    Pairs(BenchPairs),
}

/// The store that is made.
#[derive(Debug, clap::Args)]
pub(crate) struct Made {
    /// How many fingerprints; K, M and G are thousands, millions, billions
    #[arg(long, value_name = "N", default_value = "10M", value_parser = count)]
    pub(crate) fingerprints: u64,
    /// The name of a design, as of `create` [default: BITS + 1 tables of one block]
    #[arg(long, value_name = "NAME")]
    pub(crate) design: Option<String>,
    /// The distance in bits that the design is meant for, and that queries ask for
    #[arg(long, value_name = "BITS", default_value = "3", value_parser = table_distance)]
    pub(crate) max_distance: u32,
    /// Where the store goes, in a folder that is removed at the end [default: the system's temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

impl Made {
    pub(crate) fn design(&self) -> nearstone::Result<TableDesign> {
        match &self.design {
            Some(name) => TableDesign::named(name, self.max_distance),
            None => TableDesign::choose(self.max_distance + 1, self.max_distance),
        }
    }
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
    #[command(flatten)]
    pub(crate) made: Made,
    /// With how many of the fingerprints other ways are measured
    #[arg(long, value_name = "N", default_value = "100M", value_parser = count)]
    pub(crate) yardstick: u64,
    /// How many queries
    #[arg(long, value_name = "N", default_value = "10K", value_parser = count_in_memory)]
    pub(crate) queries: u64,
    /// The cache while it is queried
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = size)]
    pub(crate) cache: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Ask a store for the fingerprints near others, and compare with sorted arrays in memory in the same run.
///
/// Half of the queries are 0 to --ask bits from a stored fingerprint, half of them are near nothing. They are asked
/// once, which reads what is not cached, and then again three times, of which the one with the median p50 is told.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone bench query --fingerprints 10M --threads 1,2
  nearstone bench query --fingerprints 1M --live 1
  nearstone bench query --fingerprints 10M --queries 100K --batch --threads 1,2
  nearstone bench query --fingerprints 10M --ask 7 --scan
  nearstone bench query --store seen --direct --limit 1G --no-reference")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct BenchQuery {
    #[command(flatten)]
    pub(crate) made: Made,
    /// The distance that queries ask for instead
    #[arg(long, value_name = "BITS", value_parser = table_distance)]
    pub(crate) ask: Option<u32>,
    /// The share of the fingerprints that are stored one by one and not sealed, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share_alone)]
    pub(crate) live: f64,
    /// The share of the fingerprints that lie within 6 bits of one of 1,000 centres, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share_alone)]
    pub(crate) crowded: f64,
    /// Ask this store instead of a new one
    #[arg(long, value_name = "STORE", conflicts_with_all = ["fingerprints", "design", "max_distance", "live", "crowded"])]
    pub(crate) store: Option<PathBuf>,
    /// The memory for loading it
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = size)]
    pub(crate) memory: usize,
    /// How many queries
    #[arg(long, value_name = "N", default_value = "10K", value_parser = count_in_memory)]
    pub(crate) queries: u64,
    /// By how many threads they are asked, one number after the other
    #[arg(long, value_name = "N,..", default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) threads: Vec<u8>,
    /// The cache: blocks, decoded values and live ones
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = size)]
    pub(crate) cache: usize,
    /// The memory of the open store, all in all, instead
    #[arg(long, value_name = "BYTES", value_parser = size, conflicts_with = "cache")]
    pub(crate) limit: Option<usize>,
    /// Read past the cache of the system, and tell how long a single read takes
    #[arg(long)]
    pub(crate) direct: bool,
    /// How many threads may read for a query
    #[arg(long, value_name = "N", default_value = "8", value_parser = threads)]
    pub(crate) read_threads: NonZeroUsize,
    /// Ask all of them at once, too
    #[arg(long)]
    pub(crate) batch: bool,
    /// Compare with comparing every fingerprint, too
    #[arg(long, conflicts_with = "no_reference")]
    pub(crate) scan: bool,
    /// Do not compare with arrays, which take 8 bytes for each fingerprint and table
    #[arg(long)]
    pub(crate) no_reference: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl BenchQuery {
    pub(crate) fn ask(&self) -> u32 {
        self.ask.unwrap_or(self.made.max_distance)
    }
}

/// What a call that returned has survived.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Survives {
    /// A killed process
    Process,
    /// A power cut too
    Power,
}

impl From<Survives> for Durability {
    fn from(survives: Survives) -> Self {
        match survives {
            Survives::Process => Self::Process,
            Survives::Power => Self::Power,
        }
    }
}

/// Admit fingerprints to a store, one `check_and_insert` each, and compare.
///
/// Each row works on a copy of its own of the same store. The new fingerprints are uniform, but for a share of them
/// that lie within the distance of a stored one. Compared are the same with `insert`, which does not look for near
/// ones, and sets in memory with the same tables.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone bench admit --fingerprints 1M --live 1 --threads 1,2
  nearstone bench admit --fingerprints 10M --live 0.1 --together 256
  nearstone bench admit --fingerprints 1M --new 2K --durability power")]
pub(crate) struct BenchAdmit {
    #[command(flatten)]
    pub(crate) made: Made,
    /// The share of the fingerprints that are stored one by one and not sealed, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share_alone)]
    pub(crate) live: f64,
    /// How many are brought
    #[arg(long, value_name = "N", default_value = "200K", value_parser = count_in_memory)]
    pub(crate) new: u64,
    /// The share of them that are near a stored one, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share_alone)]
    pub(crate) near: f64,
    /// By how many threads they are brought, one number after the other
    #[arg(long, value_name = "N,..", default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) threads: Vec<u8>,
    /// Bring so many at once, too
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) together: Option<u16>,
    /// What each call survives
    #[arg(long, value_enum, default_value_t = Survives::Process)]
    pub(crate) durability: Survives,
    /// The cache: blocks, decoded values and live ones
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = size)]
    pub(crate) cache: usize,
    /// The memory for loading the store
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = size)]
    pub(crate) memory: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Find all near pairs of a store, and compare.
///
/// A share of the fingerprints is planted: each of these lies within the distance of another one. In the same run all
/// fingerprints are asked of sorted arrays in memory, one after the other, and the numbers of pairs are compared.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone bench pairs --fingerprints 1M
  nearstone bench pairs --fingerprints 100M --memory 2G --no-reference")]
pub(crate) struct BenchPairs {
    #[command(flatten)]
    pub(crate) made: Made,
    /// The distance that is asked for instead
    #[arg(long, value_name = "BITS", value_parser = table_distance)]
    pub(crate) ask: Option<u32>,
    /// The share of the fingerprints that are planted near another one, 0 to 0.5
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = share_alone)]
    pub(crate) planted: f64,
    /// By how many threads, one number after the other
    #[arg(long, value_name = "N,..", default_value = "1,2", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) threads: Vec<u8>,
    /// The memory for the search, and for loading the store
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = size)]
    pub(crate) memory: usize,
    /// Do not compare with arrays, which take 8 bytes for each fingerprint and table
    #[arg(long)]
    pub(crate) no_reference: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl BenchPairs {
    pub(crate) fn ask(&self) -> u32 {
        self.ask.unwrap_or(self.made.max_distance)
    }
}
