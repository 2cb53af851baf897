//! `nearstone export`

use std::time::UNIX_EPOCH;

use nearstone::{BulkLoader, Document, Fingerprint, Options, SimhashStore};
use serde_json::Map;

use super::load;
use crate::args::{Export, ExportFormat};
use crate::failure::Outcome;
use crate::interrupt;
use crate::output::{self, Output};

pub(crate) fn run(args: &Export) -> anyhow::Result<Outcome> {
    let store = SimhashStore::open_read_only(&args.store, &Options::new().sketches_only())?;
    if let Some(folder) = &args.pages {
        output::refuse_in_store(folder)?;
        let options = args.work.options();
        let loader = BulkLoader::to_pages(folder, store.design(), store.retention().is_some(), &options)?;
        let report = load::copy(&[store], loader, args.work.quiet)?;
        load::tell(&report, 0, args.work.quiet);
        return Ok(Outcome::Done);
    }
    let mut rows = Rows { format: args.format, out: Output::create(&args.out)?, line: Vec::new() };
    rows.head()?;
    if args.sorted {
        for holder in store.iter_by_fingerprint()? {
            interrupt::check()?;
            let (fingerprint, id) = holder?;
            rows.row(&id, fingerprint, None)?;
        }
    } else {
        for document in store.iter()? {
            interrupt::check()?;
            let document = document?;
            rows.row(&document.id, document.sketch, Some(&document))?;
        }
    }
    rows.out.finish()?;
    Ok(Outcome::Done)
}

struct Rows {
    format: ExportFormat,
    out: Output,
    line: Vec<u8>,
}

impl Rows {
    fn separator(&self) -> Option<u8> {
        match self.format {
            ExportFormat::Csv => Some(b','),
            ExportFormat::Tsv => Some(b'\t'),
            _ => None,
        }
    }

    fn head(&mut self) -> anyhow::Result<()> {
        let Some(separator) = self.separator() else { return Ok(()) };
        self.out.bytes(&[&b"id"[..], &[separator], b"fingerprint\n"].concat())
    }

    fn row(
        &mut self,
        id: &[u8],
        fingerprint: Fingerprint,
        document: Option<&Document<Fingerprint>>,
    ) -> anyhow::Result<()> {
        match self.format {
            ExportFormat::U64Le => self.out.bytes(&fingerprint.bits().to_le_bytes()),
            ExportFormat::U64Be => self.out.bytes(&fingerprint.to_be_bytes()),
            ExportFormat::Hex => self.out.bytes(format!("{fingerprint}\n").as_bytes()),
            ExportFormat::JsonLines => {
                let mut object = Map::new();
                output::put_id(&mut object, "id", id);
                object.insert("fingerprint".to_owned(), fingerprint.to_string().into());
                if let Some(document) = document {
                    let millis = document.stored_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
                    object.insert("stored_at_millis".to_owned(), u64::try_from(millis).unwrap_or(u64::MAX).into());
                    if !document.payload.is_empty() {
                        output::put_bytes(&mut object, "payload", &document.payload);
                    }
                }
                self.out.object(object)
            }
            ExportFormat::Csv | ExportFormat::Tsv => {
                self.line.clear();
                let mut writer = csv::WriterBuilder::new();
                writer.delimiter(self.separator().unwrap_or(b','));
                let mut writer = writer.from_writer(&mut self.line);
                writer.write_record([&output::shown_id(id)[..], fingerprint.to_string().as_bytes()])?;
                writer.flush()?;
                drop(writer);
                self.out.bytes(&self.line)
            }
        }
    }
}
