//! Arguments that several commands share: what to read.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use nearstone::html::Html;
use nearstone::input::{Fields, Format, Inputs, WebId};

use crate::failure::Usage;

/// How files are read, whatever is in them.
#[derive(Debug, clap::Args)]
pub(crate) struct Reading {
    /// Below folders, read only files whose names match; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Report bad records and pass them over, instead of stopping at the first
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// The longest record in bytes, uncompressed
    #[arg(long, value_name = "BYTES", default_value_t = Inputs::DEFAULT_MAX_RECORD_BYTES)]
    pub(crate) max_record_bytes: usize,
}

/// What is taken of web archives, WARC and ARC, and of HTML.
#[derive(Debug, clap::Args)]
pub(crate) struct Web {
    /// What is taken of HTML, in web archives and in the field or column of --html-field
    #[arg(long, value_name = "WHAT", default_value = "main")]
    pub(crate) html: HtmlText,
    /// The field or column with HTML, in place of the one of --text-field
    #[arg(long, value_name = "NAME", conflicts_with = "text_field")]
    pub(crate) html_field: Option<String>,
    /// What the ids are, in web archives
    #[arg(long, value_name = "WHAT", default_value = "uri")]
    pub(crate) id: IdOfPage,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HtmlText {
    /// The main content, or all visible text where there is none
    Main,
    /// All visible text
    Text,
    /// HTML as it is
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum IdOfPage {
    /// The URL
    Uri,
    /// The WARC-Record-ID, or of ARC records `FILE:OFFSET`
    Record,
}

impl Web {
    /// Sets what was asked for.
    pub(crate) fn set(&self, inputs: Inputs) -> Inputs {
        let html = match self.html {
            HtmlText::Main => Html::Main,
            HtmlText::Text => Html::Text,
            HtmlText::Off => Html::Off,
        };
        let id = match self.id {
            IdOfPage::Uri => WebId::Uri,
            IdOfPage::Record => WebId::Record,
        };
        inputs.html(html).fields_are_html(self.html_field.is_some()).web_id(id)
    }

    /// The field with the text, where another one is named for texts.
    pub(crate) fn text_field(&self, of_texts: &str) -> String {
        self.html_field.as_deref().unwrap_or(of_texts).to_owned()
    }
}

/// What to read.
#[derive(Debug, clap::Args)]
pub(crate) struct Input {
    /// Files, folders, or - for the standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) documents: Documents,
    /// Threads that compute fingerprints [default: the number of cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// No progress and no summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How documents are found in inputs.
#[derive(Debug, clap::Args)]
pub(crate) struct Documents {
    /// What the records are [default: by the name]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<InputFormat>,
    /// The field or column with the id, in JSON lines, tables and Parquet
    #[arg(long, value_name = "NAME", default_value = "id", conflicts_with = "line_ids")]
    pub(crate) id_field: String,
    /// Take `FILE:LINE` as the id, in JSON lines and tables; in Parquet `FILE:ROW`
    #[arg(long)]
    pub(crate) line_ids: bool,
    /// The field or column with the text, in JSON lines, tables and Parquet
    #[arg(long, value_name = "NAME", default_value = "text")]
    pub(crate) text_field: String,
    #[command(flatten)]
    pub(crate) web: Web,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum InputFormat {
    /// One JSON object a line
    Jsonl,
    /// Each file is one text
    Text,
    /// Comma-separated columns with a header
    Csv,
    /// Tab-separated columns with a header
    Tsv,
    /// Web archives: the texts of pages
    Warc,
    /// Web archives in the format before WARC
    Arc,
    /// Parquet: a column of texts and one of ids
    Parquet,
}

impl Documents {
    /// The arguments, by their names in this program.
    pub(crate) const NAMES: [&str; 10] = [
        "format",
        "id_field",
        "line_ids",
        "text_field",
        "html",
        "html_field",
        "id",
        "include",
        "skip_bad",
        "max_record_bytes",
    ];

    pub(crate) fn open(&self, paths: &[PathBuf]) -> Result<Inputs, Usage> {
        let format = match self.format {
            None => Format::Auto,
            Some(InputFormat::Jsonl) => Format::JsonLines,
            Some(InputFormat::Text) => Format::Text,
            Some(InputFormat::Csv) => Format::Csv,
            Some(InputFormat::Tsv) => Format::Tsv,
            Some(InputFormat::Warc) => Format::Warc,
            Some(InputFormat::Arc) => Format::Arc,
            Some(InputFormat::Parquet) => Format::Parquet,
        };
        let fields =
            Fields { id: (!self.line_ids).then(|| self.id_field.clone()), text: self.web.text_field(&self.text_field) };
        let inputs = Inputs::new(paths).format(format).fields(fields);
        let inputs = self.web.set(inputs).max_record_bytes(self.reading.max_record_bytes);
        inputs.include(&self.reading.include).map_err(|e| Usage(e.to_string()))
    }
}

impl Input {
    pub(crate) fn open(&self) -> Result<Inputs, Usage> {
        self.documents.open(&self.inputs)
    }

    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(cores, usize::from)
    }

    /// Whether bad records are passed over.
    pub(crate) fn skips_bad(&self) -> bool {
        self.documents.reading.skip_bad
    }
}
