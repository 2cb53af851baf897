//! Files of sorted keys that are written outside a database, to be ingested.

use std::path::{Path, PathBuf};

use rocksdb::{Cache, Options, SstFileWriter};

use super::{Resources, errors, options};
use crate::Result;
use crate::format::families::Family;

/// A file being written.
pub(crate) struct PageWriter {
    // In this order: the writer reads the options until it is dropped.
    writer: SstFileWriter<'static>,
    _options: Box<Options>,
    path: PathBuf,
}

impl PageWriter {
    #[expect(unsafe_code, reason = "a writer that is kept beside the options that it borrows")]
    pub(super) fn create(options: Options, path: &Path) -> Result<Self> {
        let options = Box::new(options);
        let writer = SstFileWriter::create(&options);
        // SAFETY: the writer borrows the options in the box, which do not move and are kept until the writer is
        // dropped.
        let writer = unsafe { std::mem::transmute::<SstFileWriter<'_>, SstFileWriter<'static>>(writer) };
        let this = Self { writer, _options: options, path: path.to_owned() };
        this.open()?;
        Ok(this)
    }

    #[expect(unsafe_code, reason = "the binding borrows the writer for as long as its options live")]
    fn open(&self) -> Result<()> {
        // SAFETY: the call only passes the path on; nothing keeps the reference.
        let writer = unsafe { &*std::ptr::from_ref(&self.writer) };
        writer.open(&self.path).map_err(|e| errors::storage(&self.path, &e))
    }

    /// Adds an entry; keys come in ascending order.
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.writer.put(key, value).map_err(|e| errors::storage(&self.path, &e))
    }

    /// Ends the file and forces it to the medium, and returns its size.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.writer.finish().map_err(|e| errors::storage(&self.path, &e))?;
        Ok(self.writer.file_size())
    }
}

/// Writes keys without values, as a live table has them, and returns the bytes of the file.
pub(crate) fn write_keys(
    path: &Path,
    head_bytes: usize,
    keys: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Result<u64> {
    let family = Family::Table { index: 0, head_bytes, generation: 0 };
    let resources = Resources { cache_bytes: 1 << 20, write_buffer_bytes: 1 << 20, ..Resources::default() };
    let cache = Cache::new_hyper_clock_cache(resources.cache_bytes, 0);
    let mut writer = PageWriter::create(options::of(Some(family), None, &cache, &resources, None), path)?;
    for key in keys {
        writer.put(key.as_ref(), &[])?;
    }
    writer.finish()
}
