//! The first phase: documents in the order of their ids become pages, and what their holders are made of is
//! distributed.

use std::path::Path;
use std::thread;

use crossbeam::channel::bounded;
use serde::{Deserialize, Serialize};

use super::build::{Build, SORTED};
use super::distribute::{Coding, Distributed, Distributor};
use super::files::{Form, PageFile, PageFileWriter, Part};
use crate::Result;
use crate::engine::PageLayout;
use crate::format::keys::DocumentValue;
use crate::format::pages::DocumentPageBuilder;
use crate::store::walk::Walk;

/// A file of documents ends with the page that brings it to so many bytes.
const FILE_BYTES: u64 = 128 << 20;
/// Pages go to the thread that writes them when they are so many bytes together, and so many times at once.
const TOGETHER_BYTES: usize = 256 << 10;
const UNDER_WAY: usize = 2;

/// Makes the distributor of sketches with their documents. `is_numbered` says that a document is its number.
pub(super) fn pairs(temp: &Path, is_numbered: bool, memory_bytes: usize) -> Distributor {
    let coding = if is_numbered { Coding::Numbered } else { Coding::Plain };
    Distributor::new(&temp.join("pairs"), coding, memory_bytes - memory_bytes / SORTED)
}

/// The documents, written, and their sketches and ids, distributed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DocumentsStep {
    pub(super) files: Vec<PageFile>,
    pub(super) pairs: Distributed,
    /// Whether all ids are numbers of eight bytes.
    pub(super) is_numbered: bool,
}

impl DocumentsStep {
    /// Files that were made elsewhere.
    pub(super) fn taken(files: Vec<PageFile>) -> Self {
        Self { files, pairs: Distributed::default(), is_numbered: false }
    }
}

/// A page of documents: its key, its bytes and its number of documents.
type WrittenPage = (Vec<u8>, Vec<u8>, u64);

/// Writes pages of documents, file after file.
pub(super) struct DocumentFiles<'a> {
    folder: &'a Path,
    form: Form<'a>,
    layout: PageLayout,
    current: Option<(PageFileWriter, u64)>,
    files: Vec<PageFile>,
    begun: usize,
}

impl<'a> DocumentFiles<'a> {
    pub(super) fn new(folder: &'a Path, form: Form<'a>, is_compressible: bool) -> Self {
        let layout = PageLayout::of_documents(is_compressible);
        Self { folder, form, layout, current: None, files: Vec::new(), begun: 0 }
    }

    pub(super) fn put(&mut self, key: &[u8], page: &[u8], documents: u64) -> Result<()> {
        if self.current.as_ref().is_some_and(|(_, bytes)| *bytes >= FILE_BYTES) {
            self.end()?;
        }
        if self.current.is_none() {
            let writer = PageFileWriter::create(self.folder, Part::Documents, self.begun, self.form, self.layout)?;
            self.current = Some((writer, 0));
            self.begun += 1;
        }
        let (writer, bytes) = self.current.as_mut().expect("it was just begun");
        *bytes += page.len() as u64;
        writer.put(key, page, documents)
    }

    fn end(&mut self) -> Result<()> {
        if let Some((writer, _)) = self.current.take() {
            self.files.extend(writer.finish()?);
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Vec<PageFile>> {
        self.end()?;
        Ok(self.files)
    }
}

impl Build<'_> {
    fn pairs(&self, is_numbered: bool) -> Distributor {
        pairs(&self.temp, is_numbered && !self.has_times, self.memory_bytes)
    }

    /// Writes the documents of a walk, about so many.
    pub(super) fn documents(&self, mut walk: Walk, is_numbered: bool, documents: u64) -> Result<DocumentsStep> {
        self.meter.phase("documents", documents)?;
        let mut pairs = self.pairs(is_numbered);
        let (pages, written) = bounded::<Vec<WrittenPage>>(UNDER_WAY);
        let files = thread::scope(|scope| {
            let writer = scope.spawn(move || {
                let mut files = DocumentFiles::new(&self.folder, self.form, !is_numbered);
                for (key, page, documents) in written.into_iter().flatten() {
                    files.put(&key, &page, documents)?;
                }
                files.finish()
            });
            let mut distribute = || -> Result<()> {
                let mut page = DocumentPageBuilder::default();
                let (mut together, mut bytes_together): (Vec<WrittenPage>, _) = (Vec::new(), 0);
                let mut documents = 0;
                loop {
                    let is_end = match walk.next()? {
                        None => true,
                        Some(entry) => {
                            page.push(&entry.id, &entry.value());
                            documents += 1;
                            self.distribute(&mut pairs, &entry.id, &entry.value(), is_numbered)?;
                            false
                        }
                    };
                    if page.is_full() || is_end && !page.is_empty() {
                        let (key, mut bytes) = (page.key().to_owned(), Vec::new());
                        page.finish(&mut bytes);
                        self.meter.done(documents)?;
                        bytes_together += bytes.len();
                        together.push((key, bytes, std::mem::take(&mut documents)));
                    }
                    if bytes_together >= TOGETHER_BYTES || is_end {
                        bytes_together = 0;
                        // It fails where the writer has failed, which says why.
                        if pages.send(std::mem::take(&mut together)).is_err() || is_end {
                            return Ok(());
                        }
                    }
                }
            };
            let distributed = distribute();
            drop(pages);
            let files = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            distributed.and(files)
        })?;
        Ok(DocumentsStep { files, pairs: pairs.finish(self.is_resumable)?, is_numbered })
    }

    /// Distributes what the holder of a document is made of.
    pub(super) fn distribute(
        &self,
        pairs: &mut Distributor,
        id: &[u8],
        value: &DocumentValue<'_>,
        is_numbered: bool,
    ) -> Result<()> {
        let sketch = u64::from_be_bytes(value.sketch.try_into().expect("a fingerprint has 8 bytes"));
        let time = value.stored_at_millis.to_le_bytes();
        let time = if self.has_times { &time[..] } else { &[] };
        if is_numbered {
            let number = u64::from_be_bytes(id.try_into().expect("it was said that ids are numbers"));
            if self.has_times {
                return pairs.push(sketch, &[&number.to_le_bytes(), time]);
            }
            pairs.push_numbered(sketch, number)
        } else {
            let length = u16::try_from(id.len()).expect("an id has at most 1024 bytes");
            pairs.push(sketch, &[&length.to_le_bytes(), id, time])
        }
    }
}
