//! Records of files, for commands that take texts and fingerprints.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearstone::input::{Fields, FingerprintInputs, Format, Inputs, PassedOver};
use nearstone::{Analyser, Fingerprint, Simhash, TextSketch};

use crate::args::{Kind, LoadFormat, Records};
use crate::failure::Usage;
use crate::interrupt;
use crate::pipeline::{self, Event};
use crate::progress::Progress;

/// What was read.
pub(super) enum Record<'a> {
    /// A fingerprint, that of a text or as it is.
    Document { id: &'a [u8], fingerprint: Fingerprint, file: &'a Path },
    /// A text without one.
    NearNothing(TextSketch),
    /// Fingerprints that are numbered.
    Rows(&'a [Fingerprint]),
}

/// What of the input is none of the records.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Bad ones, with --skip-bad.
    pub(super) bad: u64,
    /// Those of web archives that are no texts.
    pub(super) passed_over: Arc<PassedOver>,
}

/// Where records come from.
pub(super) struct Source<'a> {
    pub(super) inputs: &'a [PathBuf],
    pub(super) records: &'a Records,
    pub(super) kind: Kind,
    /// How texts become fingerprints.
    pub(super) analyser: Option<&'a Analyser>,
    /// The store, which is no input.
    pub(super) store: &'a Path,
    pub(super) threads: usize,
    pub(super) quiet: bool,
}

impl Source<'_> {
    /// Hands all records on, in their order; `take` returns how many there were until then.
    pub(super) fn read(&self, take: impl FnMut(Record<'_>) -> anyhow::Result<u64>) -> anyhow::Result<LeftOut> {
        match self.kind {
            Kind::Texts => self.read_texts(take),
            Kind::Ids | Kind::Rows => self.read_fingerprints(take),
        }
    }

    fn read_texts(&self, mut take: impl FnMut(Record<'_>) -> anyhow::Result<u64>) -> anyhow::Result<LeftOut> {
        let records = self.records;
        let format = match records.format {
            Some(LoadFormat::Text) => Format::Text,
            Some(LoadFormat::Warc) => Format::Warc,
            Some(LoadFormat::Arc) => Format::Arc,
            Some(LoadFormat::Parquet) => Format::Parquet,
            Some(_) => Format::JsonLines,
            None => Format::Auto,
        };
        let fields = Fields { id: Some(records.id_field.clone()), text: records.web.text_field(&records.text_field) };
        let inputs = Inputs::new(self.inputs).format(format).fields(fields);
        let inputs = records.web.set(inputs).max_record_bytes(records.reading.max_record_bytes);
        let inputs = inputs.include(&records.reading.include).map_err(|e| Usage(e.to_string()))?.exclude(self.store);
        let passed_over = inputs.passed_over();
        let no_analyser = || nearstone::Error::NoAnalyser { path: self.store.to_owned() };
        let simhash = Simhash::new(self.analyser.ok_or_else(no_analyser)?.clone());
        let progress = Progress::new(&inputs, self.quiet);
        let (mut bad, mut count) = (0, 0);
        pipeline::run(inputs, &simhash, self.threads, |event| {
            let Event::Document(item) = event else { return Ok(()) };
            match item {
                Err(e) => {
                    bad += progress.bad(&e, records.reading.skip_bad)?;
                }
                Ok(item) => {
                    let id = item.id.as_bytes();
                    count = take(match item.sketch.fingerprint() {
                        Some(fingerprint) => Record::Document { id, fingerprint, file: item.raw.file() },
                        None => Record::NearNothing(item.sketch),
                    })?;
                }
            }
            progress.documents(count);
            Ok(())
        })?;
        progress.finish();
        Ok(LeftOut { bad, passed_over })
    }

    fn read_fingerprints(&self, mut take: impl FnMut(Record<'_>) -> anyhow::Result<u64>) -> anyhow::Result<LeftOut> {
        let records = self.records;
        let mut inputs = FingerprintInputs::new(self.inputs)
            .fingerprint_field(&records.fingerprint_field)
            .encoding(records.encoding.into())
            .compression(records.compression.into())
            .max_record_bytes(records.reading.max_record_bytes);
        if let Some(format) = records.format.and_then(|format| format.of_fingerprints(true)) {
            inputs = inputs.format(format);
        }
        if self.kind == Kind::Ids {
            inputs = inputs.id_field(&records.id_field);
        }
        let inputs = inputs.include(&records.reading.include).map_err(|e| Usage(e.to_string()))?.exclude(self.store);
        let progress = Progress::of_bytes(inputs.total_bytes(), inputs.bytes_read(), self.quiet);
        let (mut bad, mut count) = (0, 0);
        for batch in inputs {
            interrupt::check()?;
            match batch {
                Err(e) => {
                    bad += progress.bad(&e, records.reading.skip_bad)?;
                }
                Ok(batch) if self.kind == Kind::Rows => count = take(Record::Rows(batch.fingerprints()))?,
                Ok(batch) => {
                    for (id, fingerprint) in batch.iter() {
                        let id = id.expect("a column of ids was asked for");
                        count = take(Record::Document { id, fingerprint, file: batch.file() })?;
                    }
                }
            }
            progress.now(count);
        }
        progress.finish();
        Ok(LeftOut { bad, ..LeftOut::default() })
    }
}
