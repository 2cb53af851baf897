//! Commands about texts and analysers, without a store.

use std::path::PathBuf;

use clap::ArgGroup;
use nearstone::Analyser;

use super::input::{Analysis, Input};
use super::values::{share_alone, table_distance};

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
#[command(after_help = "Examples:
  nearstone explain monday.txt tuesday.txt
  nearstone explain https://example.org/a https://example.org/b --input pages.jsonl.gz --id-field url
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
    /// The field or column with the id
    #[arg(long, value_name = "NAME", default_value = "id", requires = "input")]
    pub(crate) id_field: String,
    /// The field or column with the text
    #[arg(long, value_name = "NAME", default_value = "text", requires = "input")]
    pub(crate) text_field: String,
    #[command(flatten)]
    pub(crate) analysis: Analysis,
    /// Take the analyser of this store
    #[arg(long, value_name = "STORE", conflicts_with = "analyser")]
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
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("analysers"), after_help = "Examples:
  nearstone evaluate --truth pairs.tsv pages.jsonl.gz
  nearstone evaluate --truth pairs.tsv.gz --min-jaccard 0.8 texts.jsonl --compare web,words,chars:4 --svg curves.svg
  nearstone evaluate --truth pairs.tsv texts.jsonl --analyser web+shingle=3 --examples 5")]
pub(crate) struct Evaluate {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The pairs that are near, in a table of tab-separated columns
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: PathBuf,
    /// Count only pairs as true whose third column is at least this
    #[arg(long, value_name = "SHARE", value_parser = share_alone)]
    pub(crate) min_jaccard: Option<f64>,
    #[command(flatten)]
    pub(crate) analysis: Analysis,
    /// Measure each of these analysers, separated by commas
    #[arg(long, value_name = "ANALYSERS", value_delimiter = ',', conflicts_with = "analyser")]
    pub(crate) compare: Vec<Analyser>,
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
