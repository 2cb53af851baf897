//! What records are, for commands that take texts and fingerprints.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use nearstone::input::{Compression, FingerprintEncoding, FingerprintFormat};

use super::input::{Reading, Web};
use crate::failure::Usage;

/// What is in the inputs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Records")]
pub(crate) struct Records {
    /// What the inputs are [default: by their names; - needs it]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<LoadFormat>,
    /// JSON lines hold fingerprints as they are, not texts
    #[arg(long)]
    pub(crate) fingerprints: bool,
    /// The field or column with the id
    #[arg(long, value_name = "NAME", default_value = "id")]
    pub(crate) id_field: String,
    /// The field or column with the text, in JSON lines and Parquet
    #[arg(long, value_name = "NAME", default_value = "text")]
    pub(crate) text_field: String,
    /// The field or column with the fingerprint
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    pub(crate) fingerprint_field: String,
    /// How fingerprints are written in CSV, TSV and strings of JSON
    #[arg(long, value_name = "ENCODING", default_value = "hex")]
    pub(crate) encoding: Encoding,
    /// Whether files of fingerprints are compressed
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub(crate) compression: FileCompression,
    #[command(flatten)]
    pub(crate) web: Web,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// What records have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Texts to be fingerprinted.
    Texts,
    /// Fingerprints with ids.
    Ids,
    /// Fingerprints that are numbered.
    Rows,
}

impl Records {
    /// What all inputs are, which must be the same.
    pub(crate) fn kind(&self, inputs: &[PathBuf]) -> Result<Kind, Usage> {
        let mut kinds = inputs.iter().map(|input| {
            let format = self.format.or_else(|| by_name(input));
            match format {
                Some(LoadFormat::U64Le | LoadFormat::U64Be | LoadFormat::Hex) => Kind::Rows,
                Some(format) if format.of_fingerprints(self.fingerprints).is_some() => Kind::Ids,
                None if self.fingerprints => Kind::Ids,
                _ => Kind::Texts,
            }
        });
        let first = kinds.next().unwrap_or(Kind::Texts);
        if kinds.any(|kind| kind != first) {
            let why =
                "inputs with ids, inputs without and texts cannot be read together: take them one after the other";
            return Err(Usage(why.to_owned()));
        }
        Ok(first)
    }
}

/// The format that the name of a file tells.
fn by_name(path: &Path) -> Option<LoadFormat> {
    let is_compressed =
        path.extension().is_some_and(|e| ["gz", "zst", "zstd", "lz4"].iter().any(|c| e.eq_ignore_ascii_case(c)));
    let bare = if is_compressed { path.with_extension("") } else { path.to_owned() };
    match bare.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "u64" | "u64le" | "bin" => Some(LoadFormat::U64Le),
        "u64be" => Some(LoadFormat::U64Be),
        "hex" => Some(LoadFormat::Hex),
        "csv" => Some(LoadFormat::Csv),
        "tsv" => Some(LoadFormat::Tsv),
        "parquet" => Some(LoadFormat::Parquet),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadFormat {
    /// One JSON object a line: texts, or fingerprints with --fingerprints
    #[value(alias = "jsonl")]
    JsonLines,
    /// Each file is one text
    Text,
    /// Web archives: the texts of pages
    Warc,
    /// Web archives in the format before WARC
    Arc,
    /// Parquet: a column of texts and one of ids
    Parquet,
    /// An array of fingerprints of 8 bytes, little-endian
    U64Le,
    /// An array of fingerprints of 8 bytes, big-endian
    U64Be,
    /// A fingerprint of up to 16 hexadecimal digits a line
    Hex,
    /// Comma-separated columns with a header
    Csv,
    /// Tab-separated columns with a header
    Tsv,
}

impl LoadFormat {
    /// The format of fingerprints that it is; `None` for texts.
    pub(crate) fn of_fingerprints(self, are_fingerprints: bool) -> Option<FingerprintFormat> {
        match self {
            Self::JsonLines => are_fingerprints.then_some(FingerprintFormat::JsonLines),
            Self::Text | Self::Warc | Self::Arc | Self::Parquet => None,
            Self::U64Le => Some(FingerprintFormat::U64Le),
            Self::U64Be => Some(FingerprintFormat::U64Be),
            Self::Hex => Some(FingerprintFormat::Hex),
            Self::Csv => Some(FingerprintFormat::Csv),
            Self::Tsv => Some(FingerprintFormat::Tsv),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FileCompression {
    /// With gzip, zstd or LZ4 where they begin so
    Auto,
    /// Not at all, however they begin
    None,
}

impl From<FileCompression> for Compression {
    fn from(compression: FileCompression) -> Self {
        match compression {
            FileCompression::Auto => Self::Auto,
            FileCompression::None => Self::None,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Encoding {
    /// Hexadecimal digits
    Hex,
    /// Unsigned numbers
    Decimal,
    /// Signed numbers, as databases without unsigned ones keep them
    SignedDecimal,
}

impl From<Encoding> for FingerprintEncoding {
    fn from(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Hex => Self::Hex,
            Encoding::Decimal => Self::Decimal,
            Encoding::SignedDecimal => Self::SignedDecimal,
        }
    }
}
