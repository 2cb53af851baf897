//! The command line.

mod analysis;
mod bench;
mod bulk;
mod input;
mod pairs;
mod records;
mod texts;
mod values;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, Subcommand, ValueEnum};
use nearstone::{BandDesign, BandPlanner, Fingerprint, MinhashDesign, Signature, TableDesign};

use crate::failure::Usage;
pub(crate) use analysis::Analysis;
pub(crate) use bench::{Bench, BenchAdmit, BenchLoad, BenchPairs, BenchQuery, Made};
pub(crate) use bulk::{Compact, Export, ExportFormat, Load, Merge, Seal};
pub(crate) use input::Input;
pub(crate) use pairs::{PairFormat, Pairs};
pub(crate) use records::{Kind, LoadFormat, Records};
pub(crate) use texts::{Evaluate, Explain, Fingerprints, Idf};
use values::{count, distance, factor, retention, share, share_alone, table_distance, threads};

/// Find near-duplicate documents, and keep what was seen in a store on disk.
#[derive(Debug, Parser)]
#[command(
    name = "nearstone",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "Exit codes: 0 done or found, 1 nothing found, 2 wrong usage, 3 input, output or store failed,
4 store damaged or made otherwise, 5 store in use by another process, 130 interrupted.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Keep the first of each group of near-duplicates.
    Dedup(Dedup),
    /// Create an empty store.
    Create(Create),
    /// Add documents to a store, near-duplicates too.
    Add(Add),
    /// Load many documents or fingerprints into a store at once.
    Load(Load),
    /// List the stored documents near a text or fingerprint.
    Query(Query),
    /// List all pairs of near documents of a store, or of two.
    Pairs(Pairs),
    /// Print the fingerprints of texts.
    Fingerprint(Fingerprints),
    /// Show why two texts are near each other or not.
    Explain(Explain),
    /// Measure how well an analyser finds the pairs that are known to be near.
    Evaluate(Evaluate),
    /// Make a table of how rare the features, or lines, of a corpus are.
    Idf(Idf),
    /// Show a stored document.
    Get(Get),
    /// Remove documents from a store.
    Delete(Delete),
    /// Show the size of a store.
    Stats(Stats),
    /// Compare the designs for a number of documents before anything is loaded.
    Plan(Plan),
    /// Examine the data of a store, and test its answers against a full scan.
    Doctor(Doctor),
    /// Copy a store as it is now, for other processes to read or as a backup.
    Checkpoint(Checkpoint),
    /// Compare all tables, holders and documents of a store.
    Verify(Verify),
    /// Build the tables and holders of a store anew from its documents.
    Repair(Repair),
    /// Remove the documents of a store that have expired.
    Expire(Expire),
    /// Move what was stored singly into sealed pages.
    Seal(Seal),
    /// Merge the files of what was stored singly.
    Compact(Compact),
    /// Write the documents of a store, or their fingerprints, to a file.
    Export(Export),
    /// Merge stores of one design and analyser into a new one.
    Merge(Merge),
    /// Measure this machine with synthetic data.
    #[command(subcommand)]
    Bench(Bench),
    /// Print a completion script for a shell.
    #[command(hide = true)]
    Completions { shell: clap_complete::Shell },
    /// Print the manual page.
    #[command(hide = true)]
    Man,
}

const DEDUP_EXAMPLES: &str = "Examples:
  nearstone dedup pages.jsonl.gz --out kept.jsonl --duplicates duplicates.jsonl
  nearstone dedup monday.jsonl --store seen --out new.jsonl     # and tomorrow tuesday.jsonl
  zcat dump.gz | nearstone dedup - --id-field url > kept.jsonl
  nearstone dedup ~/docs --include '*.txt' --show-groups 10 > kept-paths.txt
  nearstone dedup crawl.warc.gz --html text --id record --out pages.jsonl
  nearstone dedup articles.csv.gz --id-field url --text-field body > kept.jsonl
  nearstone dedup train-*.parquet --line-ids > kept.jsonl

Kept records are written in their order: lines of JSON lines as they were, rows of tables and Parquet and pages of web
archives (WARC, WET, ARC) as lines {\"id\", \"text\"}, the path of any other file. Records without features (no letter, digit or emoji) are near nothing and are written too.
A row of --duplicates is {\"id\", \"duplicate_of\", \"distance\"}: the nearest kept document, and how many
of the 64 bits of the fingerprints differ.

With --store the run continues a store. A record that the store already holds under the same id from
an earlier run, near enough, is kept again: a run that was interrupted can be repeated. Another text
under a stored id takes the place of the stored one. Ids should not start anew with each file.";

/// Keep the first of each group of near-duplicates.
///
/// Reads JSON lines, CSV, TSV, Parquet, web archives, text files and folders of them, plain or compressed with gzip,
/// zstd or LZ4, and drops every document that is within --max-distance bits of one that was kept before.
#[derive(Debug, clap::Args)]
#[command(after_long_help = DEDUP_EXAMPLES, after_help = "See --help for examples.")]
pub(crate) struct Dedup {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Keep what was seen in this store, created if need be [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Where a temporary store goes [default: the system's]
    #[arg(long, value_name = "DIR", conflicts_with = "store")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// How many of the 64 bits may differ, inclusive: 0 to 12, or what the store admits by
    ///
    /// Names stand for what two texts of like length share of their distinct shingles (the Jaccard index) where half of
    /// such pairs are within the distance: strict, 3 bits, 98 %; balanced, 7 bits, 89 %; candidates, 12 bits, 71 %, to be
    /// confirmed by a second look.
    #[arg(long, value_name = "BITS", default_value = "3", value_parser = distance)]
    pub(crate) max_distance: u32,
    /// Write kept records here, - for the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Write a JSON line for each duplicate here
    #[arg(long, value_name = "FILE")]
    pub(crate) duplicates: Option<PathBuf>,
    /// Show the N largest groups at the end
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) show_groups: usize,
    #[command(flatten)]
    pub(crate) analysis: Analysis,
}

/// What documents become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SketchKind {
    /// Fingerprints of 64 bits, which differ in few bits: every one within the distance is found
    Simhash,
    /// Signatures of many rows, of which similar texts share as many as their shingles: found with the probability that the
    /// bands have
    Minhash,
}

/// Create an empty store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Designs for distance 3, by the number of tables and the most probes of one of them:
  4x1 (or 4)    4 blocks, any 1 of them: 4 tables of 16 bits; the default
  10x1 (or 10)  5 blocks, any 2: 10 tables of 25-26 bits
  16x1 (or 16)  4 blocks, then the other 48 bits in 4: 16 tables of 28 bits
  20x1 (or 20)  6 blocks, any 3: 20 tables of 31-33 bits
  2x33          2 blocks, any 1: 2 tables of 32 bits, 33 probes each
  auto          what `nearstone plan` picks for --documents
`nearstone plan` lists these and others, for any distance.

Examples:
  nearstone create seen --design 10
  nearstone create corpus --sketch minhash --bands 16x8
  nearstone create seen --design auto --documents 200M --max-distance 7")]
pub(crate) struct Create {
    /// A new or empty directory
    pub(crate) store: PathBuf,
    /// The distance in bits that the tables are meant for, inclusive: 0 to 16. Queries may ask for others
    #[arg(long, value_name = "BITS", default_value = "3", value_parser = table_distance)]
    pub(crate) max_distance: u32,
    /// What documents become
    #[arg(long, value_name = "KIND", default_value = "simhash")]
    pub(crate) sketch: SketchKind,
    /// Of minhash signatures: how many bands of how many rows lead to near ones, such as 16x8
    #[arg(long, value_name = "BANDSxROWS", value_parser = |text: &str| text.parse::<BandDesign>().map_err(|e| e.to_string()))]
    pub(crate) bands: Option<BandDesign>,
    /// Of minhash signatures: how many rows they have, 16 to 1024 [default: 128, or what the bands need]
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
    /// Of minhash signatures: how many bits of each row are kept, 8, 16 or 32 [default: 32]
    #[arg(long, value_name = "BITS")]
    pub(crate) row_bits: Option<u32>,
    /// The name of a design, or auto [default: BITS + 1 tables of one block]
    #[arg(long, value_name = "NAME")]
    pub(crate) design: Option<String>,
    /// Cut the 64 bits into this many blocks; one table for each choice of BLOCKS - BITS of them
    #[arg(long, conflicts_with = "design")]
    pub(crate) blocks: Option<u32>,
    /// How many documents are expected, for --design auto; K, M and G are thousands, millions, billions
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) documents: Option<u64>,
    /// Let documents expire so long after they were stored, such as 30days or 12h [default: never]
    #[arg(long, value_name = "TIME", value_parser = retention)]
    pub(crate) retention: Option<Duration>,
    #[command(flatten)]
    pub(crate) analysis: Analysis,
}

/// Compare the designs for a number of documents before anything is loaded.
///
/// Prints the designs that no other beats in disk, cached time and blocks read at once, by their disk,
/// the pick marked: a prediction for uniform fingerprints and ids of 8 bytes. The model and its formulae
/// are in docs/design.md.
///
/// With --similarity it plans bands of the rows of MinHash signatures instead: for each number of rows in a band the
/// fewest bands that find as much as --recall asks for, the share of the pairs below the similarity that are found as well, and
/// how many unrelated documents a query meets.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone plan --documents 100M
  nearstone plan --documents 1G --max-distance 3 --also 12:0.01 --aim disk
  nearstone plan --similarity 0.8 --documents 100M")]
pub(crate) struct Plan {
    /// How many documents; K, M and G are thousands, millions, billions [default with --similarity: 1M]
    #[arg(long, value_name = "N", value_parser = count, required_unless_present = "similarity")]
    pub(crate) documents: Option<u64>,
    /// Plan bands for pairs of this Jaccard index, 0 to 1
    #[arg(long, value_name = "JACCARD", value_parser = share_alone, conflicts_with_all = ["max_distance", "also", "skew", "aim"])]
    pub(crate) similarity: Option<f64>,
    #[command(flatten)]
    pub(crate) bands: Bands,
    /// The distance in bits that most queries ask for, inclusive: 0 to 16
    #[arg(long, value_name = "BITS", default_value = "3", value_parser = table_distance)]
    pub(crate) max_distance: u32,
    /// Another distance, and the share of the queries that ask for it; may be repeated
    #[arg(long, value_name = "BITS:SHARE", value_parser = share)]
    pub(crate) also: Vec<(u32, f64)>,
    /// How many times the candidates of uniform fingerprints queries see; `doctor` tells
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub(crate) skew: f64,
    /// What the pick is for
    #[arg(long, default_value = "balanced")]
    pub(crate) aim: Aim,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What bands are planned for.
#[derive(Debug, clap::Args)]
pub(crate) struct Bands {
    /// The share of the pairs at the similarity that are to be found
    #[arg(long, value_name = "SHARE", default_value_t = BandPlanner::DEFAULT_RECALL, value_parser = share_alone, requires = "similarity")]
    pub(crate) recall: f64,
    /// The rows of a signature, 16 to 1024
    #[arg(long, value_name = "N", default_value_t = Signature::DEFAULT_ROWS, requires = "similarity")]
    pub(crate) rows: usize,
    /// The bits that count of each row: 8, 16 or 32
    #[arg(long, value_name = "BITS", default_value_t = 32, requires = "similarity")]
    pub(crate) row_bits: u32,
    /// The Jaccard index of documents that have nothing to do with each other
    #[arg(long, value_name = "JACCARD", default_value_t = BandPlanner::DEFAULT_UNRELATED, value_parser = share_alone, requires = "similarity")]
    pub(crate) unrelated: f64,
    /// Pick the fewest bands by which a query meets at most so many unrelated documents [default: the strictest bands]
    #[arg(long, value_name = "N", value_parser = factor, requires = "similarity")]
    pub(crate) max_candidates: Option<f64>,
}

/// What a design is picked for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Aim {
    /// The least disk, with at most 8 times the blocks of the best
    Disk,
    /// The fewest blocks read
    Reads,
    /// The least product of disk and query time
    Balanced,
}

impl From<Aim> for nearstone::Aim {
    fn from(aim: Aim) -> Self {
        match aim {
            Aim::Disk => Self::Disk,
            Aim::Reads => Self::Reads,
            Aim::Balanced => Self::Balanced,
        }
    }
}

/// Examine the data of a store, and test its answers against a full scan.
///
/// Tells bits that are dead or move together, the most repeated fingerprints, the most crowded prefixes
/// of each table, predicted against measured candidates, and what to do about it. Exit code 1 if an
/// answer of the self-test was not that of the full scan.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearstone doctor seen --samples 1000")]
pub(crate) struct Doctor {
    /// The store
    pub(crate) store: PathBuf,
    /// How many stored fingerprints are asked for at each distance
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) samples: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Add documents to a store, near-duplicates too.
///
/// A document whose id is stored already takes the place of the stored one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone add seen pages.jsonl.zst --id-field url
  nearstone add seen crawl/ --include '*.warc.gz'")]
pub(crate) struct Add {
    /// The store
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
}

/// List the stored documents near a text or fingerprint, the nearest first.
///
/// Prints a JSON line {"id", "distance"} for each, of a store of signatures with the estimated "similarity". Exit code 1 if
/// there is none.
///
/// With --batch many texts or fingerprints are looked up together, several times faster: it prints {"query", "id",
/// "distance"} for each match, in the order of the records and the nearest first. "query" is the id of the record, or its
/// number from 0 where records have none.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("what").required(true), after_help = "Examples:
  nearstone query seen --text 'All work and no play makes Jack a dull boy'
  nearstone query seen --file page.txt --max-distance 7
  nearstone query seen --fingerprint 9f3a61c07be2d514
  nearstone query seen --batch tuesday.jsonl.gz --id-field url
  nearstone query seen --batch fingerprints.u64 --max-distance 3")]
pub(crate) struct Query {
    /// The store
    pub(crate) store: PathBuf,
    /// A text
    #[arg(long, group = "what")]
    pub(crate) text: Option<String>,
    /// A file that holds a text in UTF-8, - for the standard input
    #[arg(long, group = "what", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// A fingerprint of 16 hexadecimal digits
    #[arg(long, group = "what", value_name = "HEX")]
    pub(crate) fingerprint: Option<Fingerprint>,
    /// A file of many texts or fingerprints, as `load` takes them; may be repeated
    #[arg(long, group = "what", value_name = "FILE")]
    pub(crate) batch: Vec<PathBuf>,
    /// How many of the 64 bits may differ, inclusive: 0 to 16, strict (3), balanced (7) or candidates (12) [default: the
    /// store's]; of signatures how many rows [default: those of a similarity of 0.8]
    #[arg(long, value_name = "BITS", value_parser = distance)]
    pub(crate) max_distance: Option<u32>,
    /// Show on the standard error what the query has cost in each table
    #[arg(long, conflicts_with = "batch")]
    pub(crate) explain: bool,
    /// Threads that answer a batch [default: the number of cores]
    #[arg(long, short, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// No progress and no summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) records: Records,
}

/// Show a stored document as a JSON line.
///
/// Exit code 1 if there is none with the id.
#[derive(Debug, clap::Args)]
pub(crate) struct Get {
    /// The store
    pub(crate) store: PathBuf,
    /// The id of the document
    pub(crate) id: String,
    /// The id is the number of a row
    #[arg(long)]
    pub(crate) row: bool,
}

/// Remove documents from a store.
///
/// Exit code 1 if one of the ids is not stored; the others are removed.
#[derive(Debug, clap::Args)]
pub(crate) struct Delete {
    /// The store
    pub(crate) store: PathBuf,
    /// The ids of the documents
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
    /// The ids are numbers of rows
    #[arg(long)]
    pub(crate) row: bool,
}

/// Copy a store as it is now, for other processes to read or as a backup.
///
/// Data files are shared with the copy where the file system can, so it takes little time and space. The
/// store must not be in use: a process that has it open makes its own checkpoints, by the call of that name.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearstone checkpoint seen seen-2026-11-30")]
pub(crate) struct Checkpoint {
    /// The store
    pub(crate) store: PathBuf,
    /// The copy, a directory that does not exist
    pub(crate) copy: PathBuf,
}

/// Compare all tables, holders and documents of a store.
///
/// Reads everything once and changes nothing. Exit code 1 if something is missing, or there that should not
/// be; `repair` mends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The store
    pub(crate) store: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Build the tables and holders of a store anew from its documents.
///
/// For a store that `verify` finds fault with, or that does not open because a table was damaged or lost.
/// Documents are not changed; where they are damaged nothing is. A repair that was interrupted must be
/// repeated.
#[derive(Debug, clap::Args)]
pub(crate) struct Repair {
    /// The store
    pub(crate) store: PathBuf,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Remove the documents of a store that have expired.
///
/// They are in no answer anyway; this takes their space back now instead of bit by bit.
#[derive(Debug, clap::Args)]
pub(crate) struct Expire {
    /// The store, created with --retention
    pub(crate) store: PathBuf,
}

/// Show the size of a store.
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// The store
    pub(crate) store: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Count the documents one by one instead of estimating their number
    #[arg(long)]
    pub(crate) count: bool,
}

impl Create {
    pub(crate) fn design(&self) -> anyhow::Result<TableDesign> {
        if self.bands.is_some() || self.rows.is_some() || self.row_bits.is_some() {
            return Err(Usage("--bands, --rows and --row-bits are for --sketch minhash".to_owned()).into());
        }
        Ok(match (self.design.as_deref(), self.documents) {
            (Some("auto"), Some(documents)) => {
                TableDesign::plan(documents, self.max_distance, nearstone::Aim::Balanced)?.design
            }
            (_, Some(_)) => return Err(Usage("--documents is for --design auto".to_owned()).into()),
            (Some("auto"), None) => return Err(Usage("--design auto needs --documents".to_owned()).into()),
            (Some(name), _) => TableDesign::named(name, self.max_distance)?,
            (None, _) => TableDesign::choose(self.blocks.unwrap_or(self.max_distance + 1), self.max_distance)?,
        })
    }

    pub(crate) fn bands(&self) -> anyhow::Result<MinhashDesign> {
        if self.design.is_some() || self.blocks.is_some() || self.documents.is_some() {
            return Err(Usage("--design, --blocks and --documents are for --sketch simhash".to_owned()).into());
        }
        let mut design = MinhashDesign::new(self.bands.unwrap_or_default())?;
        if let Some(rows) = self.rows {
            design = design.with_rows(rows)?;
        }
        Ok(self.row_bits.map_or(Ok(design), |bits| design.with_row_bits(bits))?)
    }
}
