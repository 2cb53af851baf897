//! The arguments of the commands that move whole stores.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use nearstone::LoadOptions;

use super::records::Records;
use super::values::{count, size, threads};

const LOAD_EXAMPLES: &str = "Examples:
  nearstone load seen corpus.jsonl.zst --id-field url            # texts
  nearstone load seen CC-MAIN.warc.wet.gz                        # texts of a crawl
  nearstone load seen fingerprints.u64 --memory 4G               # row numbers become the ids
  nearstone load seen prints.csv --encoding decimal --id-field page_id
  nearstone load seen prints.jsonl --fingerprints
  nearstone load seen shard-17/                                  # page files with their manifest
  nearstone load seen corpus.jsonl.zst --id-field url --resume   # after it was killed

Everything becomes visible at once at the end; a load that fails, or is killed, leaves the store as it was. Of
several documents with one id the last one counts, and it takes the place of a stored one. Near-duplicates are
loaded too: `dedup` keeps them out. Arrays (.u64, .u64be) and .hex files have no ids: the documents are
numbered through all inputs, and their ids are the numbers, 8 bytes big-endian.";

/// Load many documents or fingerprints into a store, many times faster than one by one.
///
/// Sorts in files of its own in bounded memory, and writes sealed pages, which take less disk and answer faster
/// than what is added singly.
#[derive(Debug, clap::Args)]
#[command(after_long_help = LOAD_EXAMPLES, after_help = "See --help for examples.")]
pub(crate) struct Load {
    /// The store; `create` makes one
    pub(crate) store: PathBuf,
    /// Files, folders, - for the standard input, or a folder with a manifest of page files
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Number the documents from FIRST on instead of taking ids; a store with documents needs it for .u64 and .hex
    #[arg(long, value_name = "FIRST", value_parser = count)]
    pub(crate) rows: Option<u64>,
    /// Take ids as the numbers of rows, as `export` writes those
    #[arg(long, conflicts_with = "rows")]
    pub(crate) row_ids: bool,
    /// Go on with a load of the same inputs that was killed
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) records: Records,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// What sorting and writing may use.
#[derive(Debug, clap::Args)]
pub(crate) struct Work {
    /// How much is sorted in memory at once; K, M and G are powers of 1024
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = size)]
    pub(crate) memory: usize,
    /// Where temporary files go [default: the folder of the store]
    #[arg(long, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Threads that compute, sort and write [default: the number of cores]
    #[arg(long, short, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// No progress and no summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Work {
    pub(crate) fn options(&self) -> LoadOptions {
        let mut options = LoadOptions::new().memory_bytes(self.memory);
        if let Some(directory) = &self.temp_dir {
            options = options.temp_dir(directory);
        }
        self.threads.map_or(options.clone(), |threads| options.threads(threads))
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
    }
}

/// Move what was stored singly into sealed pages.
///
/// They take less disk and answer faster. `add` and `dedup` do it at their end, once there are a million live documents and
/// a quarter as many as there are sealed ones; a store does it by itself while a process has it open.
#[derive(Debug, clap::Args)]
pub(crate) struct Seal {
    /// The store
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Merge the files of what was stored singly, without sealing it.
#[derive(Debug, clap::Args)]
pub(crate) struct Compact {
    /// The store
    pub(crate) store: PathBuf,
}

/// Write the documents of a store, or their fingerprints, to a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone export seen > seen.jsonl               # load --fingerprints takes it, with --row-ids if ids are rows
  nearstone export seen --format csv --sorted -o by-fingerprint.csv
  nearstone export seen --format u64-le -o seen.u64
  nearstone export seen --pages seen-pages         # with payloads and times, for `load` into another store")]
pub(crate) struct Export {
    /// The store
    pub(crate) store: PathBuf,
    /// Write here, - for the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// What is written: ids and fingerprints, or with u64-le, u64-be and hex fingerprints alone
    #[arg(long, value_name = "FORMAT", default_value = "json-lines")]
    pub(crate) format: ExportFormat,
    /// In the order of the fingerprints instead of the ids
    #[arg(long)]
    pub(crate) sorted: bool,
    /// Write page files and their manifest into this new folder instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "sorted", "format"])]
    pub(crate) pages: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// An object a line: id, fingerprint, time stored and payload; by --sorted the first two
    #[value(alias = "jsonl")]
    JsonLines,
    /// Columns id and fingerprint
    Csv,
    /// The same, tab-separated
    Tsv,
    /// An array of 8 bytes each, little-endian
    U64Le,
    /// An array of 8 bytes each, big-endian
    U64Be,
    /// 16 hexadecimal digits a line
    Hex,
}

/// Merge stores of one design and analyser into a new one.
///
/// Where several have a document with one id, that of the store that is named last counts. Times and payloads are
/// kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearstone merge monday tuesday -o week")]
pub(crate) struct Merge {
    /// The stores
    #[arg(required = true, num_args = 2.., value_name = "STORE")]
    pub(crate) stores: Vec<PathBuf>,
    /// The new store
    #[arg(long, short, value_name = "STORE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) work: Work,
}
