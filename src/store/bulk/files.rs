//! The files that a load writes: sorted pages, in the engine's form or in that of an exchange.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::design::cost;
use crate::engine::{Engine, PageLayout, PageWriter};
use crate::format::families::Family;
use crate::hash::Checksum;
use crate::{Error, Result, Table};

/// The parts of a sealed generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Part {
    Documents,
    Holders,
    Table(usize),
}

impl Part {
    pub(super) fn all(tables: usize) -> impl Iterator<Item = Self> {
        [Self::Documents, Self::Holders].into_iter().chain((0..tables).map(Self::Table))
    }

    /// The name of its folder.
    pub(super) fn name(self) -> String {
        match self {
            Self::Documents => "documents".to_owned(),
            Self::Holders => "holders".to_owned(),
            Self::Table(index) => format!("pages{index:02}"),
        }
    }

    pub(super) fn family(self, generation: u64) -> Family {
        match self {
            Self::Documents => Family::DocumentPages { generation },
            Self::Holders => Family::HolderPages { generation },
            Self::Table(index) => Family::Pages { index, generation },
        }
    }
}

/// A finished file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PageFile {
    /// The name within the folder of its part.
    pub(super) name: String,
    pub(super) pages: u64,
    /// Documents, holders or values.
    pub(super) entries: u64,
    pub(super) bytes: u64,
    /// The keys of the first and the last page, in hexadecimal digits.
    pub(super) first: String,
    pub(super) last: String,
    /// XXH3-64 of the whole file in hexadecimal digits, for files of an exchange.
    pub(super) checksum: Option<String>,
}

/// Where files go, and in which form.
#[derive(Clone, Copy)]
pub(super) enum Form<'a> {
    /// Those that the engine ingests.
    Engine(&'a Engine),
    /// Those of an exchange, which anybody can write.
    Exchange,
}

/// The layout of a table of so many sketches.
pub(super) fn table_layout(table: &Table, sketches: u64) -> PageLayout {
    PageLayout::of_table(cost::block_bytes(table.prefix_bits(), sketches))
}

/// A file being written.
pub(super) struct PageFileWriter {
    sink: Sink,
    name: String,
    pages: u64,
    entries: u64,
    first: Option<Vec<u8>>,
    last: Vec<u8>,
}

enum Sink {
    Engine(PageWriter),
    Exchange(Box<ExchangeWriter>),
}

impl PageFileWriter {
    /// Begins the file with a number in the folder of a part.
    pub(super) fn create(folder: &Path, part: Part, number: usize, form: Form<'_>, layout: PageLayout) -> Result<Self> {
        let folder = folder.join(part.name());
        fs::create_dir_all(&folder).map_err(|e| failed("create", &folder, e))?;
        let (name, sink) = match form {
            Form::Engine(engine) => {
                let name = format!("{number:06}.sst");
                // The options of a family do not depend on its generation.
                let writer = engine.page_writer(part.family(0), layout, &folder.join(&name))?;
                (name, Sink::Engine(writer))
            }
            Form::Exchange => {
                let name = format!("{number:06}.pages");
                let writer = ExchangeWriter::create(&folder.join(&name))?;
                (name, Sink::Exchange(Box::new(writer)))
            }
        };
        Ok(Self { sink, name, pages: 0, entries: 0, first: None, last: Vec::new() })
    }

    /// Adds a page of so many entries.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8], entries: u64) -> Result<()> {
        match &mut self.sink {
            Sink::Engine(writer) => writer.put(key, value)?,
            Sink::Exchange(writer) => writer.put(key, value)?,
        }
        self.pages += 1;
        self.entries += entries;
        self.first.get_or_insert_with(|| key.to_owned());
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// Ends the file and forces it to the medium. A file without pages is none.
    pub(super) fn finish(self) -> Result<Option<PageFile>> {
        let Some(first) = &self.first else { return Ok(None) };
        let (bytes, checksum) = match self.sink {
            Sink::Engine(writer) => (writer.finish()?, None),
            Sink::Exchange(writer) => writer.finish().map(|(bytes, sum)| (bytes, Some(format!("{sum:016x}"))))?,
        };
        let (pages, entries) = (self.pages, self.entries);
        Ok(Some(PageFile {
            name: self.name,
            pages,
            entries,
            bytes,
            first: hex(first),
            last: hex(&self.last),
            checksum,
        }))
    }
}

/// What an exchange file begins with.
const MAGIC: &[u8; 8] = b"NEARPAG1";
const HEAD_BYTES: usize = 2 + 4;
/// A damaged length must not become a huge allocation: a page holds one document of 16 MiB at most, and little
/// beside.
const MAX_PAGE_BYTES: usize = (16 << 20) + (64 << 10);

/// Writes pages, each behind the lengths of its key and its bytes.
pub(super) struct ExchangeWriter {
    file: BufWriter<File>,
    path: PathBuf,
    checksum: Checksum,
    bytes: u64,
}

impl ExchangeWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|e| failed("create", path, e))?;
        let file = BufWriter::with_capacity(1 << 20, file);
        let mut this = Self { file, path: path.to_owned(), checksum: Checksum::default(), bytes: 0 };
        this.write(MAGIC)?;
        Ok(this)
    }

    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let key_length = u16::try_from(key.len()).expect("a key has at most 1032 bytes");
        let length = u32::try_from(value.len()).expect("a page has less than 4 GiB");
        self.write(&key_length.to_be_bytes())?;
        self.write(&length.to_be_bytes())?;
        self.write(key)?;
        self.write(value)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.checksum.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|e| failed("write", &self.path, e))
    }

    pub(super) fn finish(self) -> Result<(u64, u64)> {
        let failed = |e| failed("write", &self.path, e);
        let file = self.file.into_inner().map_err(|e| failed(e.into_error()))?;
        file.sync_data().map_err(failed)?;
        Ok((self.bytes, self.checksum.finish()))
    }
}

/// Reads the pages of an exchange file.
pub(super) struct ExchangeReader {
    file: BufReader<File>,
    path: PathBuf,
    checksum: Checksum,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl ExchangeReader {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| failed("read", path, e))?;
        let file = BufReader::with_capacity(1 << 20, file);
        let mut this =
            Self { file, path: path.to_owned(), checksum: Checksum::default(), key: Vec::new(), value: Vec::new() };
        let mut magic = Vec::new();
        this.take(MAGIC.len(), &mut magic)?;
        if magic == MAGIC { Ok(this) } else { Err(this.bad("it does not begin like a file of pages")) }
    }

    /// Returns the next key and page.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let mut head = Vec::new();
        self.take(HEAD_BYTES, &mut head)?;
        if head.is_empty() {
            return Ok(None);
        }
        let lengths = head.split_first_chunk::<2>().and_then(|(key, page)| Some((*key, page.try_into().ok()?)));
        let (key_length, length) = lengths.ok_or_else(|| self.bad("it is cut short"))?;
        let (key_length, length) = (u16::from_be_bytes(key_length), u32::from_be_bytes(length) as usize);
        if length > MAX_PAGE_BYTES {
            return Err(self.bad("a page is longer than pages can be"));
        }
        let (mut key, mut value) = (std::mem::take(&mut self.key), std::mem::take(&mut self.value));
        self.take(key_length.into(), &mut key)?;
        self.take(length, &mut value)?;
        (self.key, self.value) = (key, value);
        if self.key.len() != usize::from(key_length) || self.value.len() != length {
            return Err(self.bad("it is cut short"));
        }
        Ok(Some((&self.key, &self.value)))
    }

    /// The checksum of what was read.
    pub(super) fn checksum(&self) -> u64 {
        self.checksum.finish()
    }

    fn take(&mut self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        into.clear();
        let taken = (&mut self.file).take(length as u64).read_to_end(into);
        taken.map_err(|e| failed("read", &self.path, e))?;
        self.checksum.update(into);
        Ok(())
    }

    fn bad(&self, what: &str) -> Error {
        Error::Pages { path: self.path.clone(), what: what.to_owned() }
    }
}

pub(super) fn failed(action: &'static str, path: &Path, source: io::Error) -> Error {
    crate::engine::io_error(action, path, source)
}

/// Makes the names in a folder durable, where there is one.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    // Not every system lets a folder be opened; there its entries are as durable as the system makes them.
    File::open(path).map_or(Ok(()), |folder| folder.sync_all().map_err(|e| failed("sync", path, e)))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
