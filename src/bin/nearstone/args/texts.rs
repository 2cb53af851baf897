//! Commands about texts and analysers, without a store.

use std::path::PathBuf;

use super::analysis::Analysis;
use super::input::{Documents, Input};
use super::values::{share_alone, size, table_distance};
use clap::ArgGroup;

/// Print the fingerprints of texts.
///
/// Prints a JSON line {"id", "fingerprint", "features", "status"} for each record, in their order: 16 hexadecimal
/// digits, how many distinct features the text has, and "sketched". Texts that are near nothing have no
/// "fingerprint" and the status "no-features" or "too-short".
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone fingerprint pages.jsonl.gz --id-field url > fingerprints.jsonl
  nearstone fingerprint notes/ --analyser short
  nearstone fingerprint old.jsonl --analyser 1e0ng | \
      nearstone load seen - --format json-lines --fingerprints --skip-bad")]
pub(crate) struct Fingerprints {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) analysis: Analysis,
    /// Write here, - for the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
}

/// Show why two texts are near each other or not.
///
/// Prints the distance of their fingerprints, what share of their distinct shingles they have in common (the Jaccard
/// index), the cosine of their weights, and the shingles that weigh most of those in both and in one of them. From the
/// cosine follows the distance that is to be expected; how far the real one is from it is chance.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("of_input").args(Documents::NAMES).multiple(true).requires("input"), after_help = "Examples:
  nearstone explain monday.txt tuesday.txt
  nearstone explain https://example.org/a https://example.org/b --input pages.jsonl.gz --id-field url
  nearstone explain https://example.org/a https://example.org/b --input crawl.warc.gz --html text
  nearstone explain a.rs b.rs --analyser code --top 30")]
pub(crate) struct Explain {
    /// A text file, or with --input an id
    #[arg(value_name = "A")]
    pub(crate) first: String,
    /// Another one
    #[arg(value_name = "B")]
    pub(crate) second: String,
    /// Take the texts with these ids out of this file or folder; may be repeated
    #[arg(long, value_name = "INPUT")]
    pub(crate) input: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) documents: Documents,
    #[command(flatten)]
    pub(crate) analysis: Analysis,
    /// Take the analyser of this store
    #[arg(long, value_name = "STORE", conflicts_with_all = ["analyser", "idf", "common_lines"])]
    pub(crate) store: Option<PathBuf>,
    /// Show so many shingles of each kind
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure how well an analyser finds the pairs that are known to be near.
///
/// Compares all texts with each other and prints for every distance how many pairs are found, how many of them are
/// true, precision (which share of the found is true), recall (which share of the true is found) and F1, their
/// harmonic mean. * marks the best F1.
///
/// The truth is a table of tab-separated columns, also compressed with gzip: two ids, and maybe a third column with
/// what the texts share (their Jaccard index). A first line whose ids are not in the input is its header.
///
/// Without any truth, --edits shows how far edits of the texts themselves move their fingerprints.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("what").required(true), after_help = "Examples:
  nearstone evaluate --truth pairs.tsv pages.jsonl.gz
  nearstone evaluate --truth pairs.tsv.gz --min-jaccard 0.8 texts.jsonl --compare web,words,chars:4 --svg curves.svg
  nearstone evaluate --truth pairs.tsv texts.jsonl --analyser web+shingle=3 --examples 5
  nearstone evaluate --truth pairs.tsv texts.jsonl --compare web,web+weights=idf --idf corpus.idf
  nearstone evaluate --truth same-page.tsv pages.jsonl.gz --html-field html --compare web,web+sentences=30
  nearstone evaluate --edits articles.jsonl.gz --compare web,short,chars:3")]
pub(crate) struct Evaluate {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The pairs that are near, in a table of tab-separated columns
    #[arg(long, value_name = "FILE", group = "what")]
    pub(crate) truth: Option<PathBuf>,
    /// Replace a word of the first 5 to 200 words of each text, and cut texts, and show how far apart that is on
    /// average, and how many are within 3, 7 and 12 bits; texts of under 200 words are left out
    #[arg(long, group = "what", conflicts_with_all = ["min_jaccard", "max_distance", "examples", "svg"])]
    pub(crate) edits: bool,
    /// Count only pairs as true whose third column is at least this
    #[arg(long, value_name = "SHARE", value_parser = share_alone)]
    pub(crate) min_jaccard: Option<f64>,
    #[command(flatten)]
    pub(crate) analysis: Analysis,
    /// Measure each of these analysers, separated by commas
    #[arg(long, value_name = "ANALYSERS", value_delimiter = ',', conflicts_with = "analyser")]
    pub(crate) compare: Vec<String>,
    /// Up to which distance
    #[arg(long, value_name = "BITS", default_value = "16", value_parser = table_distance)]
    pub(crate) max_distance: u32,
    /// Show so many pairs that are near without being true, and that are true without being near
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) examples: usize,
    /// Draw the curves into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a table of how rare the features, or lines, of a corpus are.
///
/// Counts in how many documents each feature of the analyser is, and writes those that several have: 9 bytes for each. How
/// the analyser weighs is of no account. With --idf TABLE features weigh the more the fewer documents have them, which tells texts
/// apart that share much with many others, such as licences. With --lines the lines of texts are counted instead: what many pages have is
/// boilerplate.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  nearstone idf pages.jsonl.gz --id-field url -o pages.idf
  nearstone create seen --idf pages.idf                           # web+weights=idf
  nearstone idf licences/ --analyser code -o licences.idf
  nearstone dedup new/ --analyser code+weights=idf --idf licences.idf
  nearstone idf --lines crawl.warc.gz -o crawl.lines
  nearstone dedup crawl.warc.gz --analyser web+common-lines=20 --common-lines crawl.lines")]
pub(crate) struct Idf {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) analysis: Analysis,
    /// Count lines instead of features
    #[arg(long, conflicts_with_all = ["analyser", "common_lines"])]
    pub(crate) lines: bool,
    /// Leave out what fewer documents have
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_documents: u32,
    /// How much is sorted in memory at once, beside the table itself; K, M and G are powers of 1024
    #[arg(long, value_name = "BYTES", default_value = "256M", value_parser = size)]
    pub(crate) memory: usize,
    /// Where temporary files go [default: the system's folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Write the table here, - for the standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
}
