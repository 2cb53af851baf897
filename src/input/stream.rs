//! One file, opened and decompressed.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use flate2::bufread::GzDecoder;

use super::BadRecord;
use super::lz4::{self, Frames};
use super::opened::Opened;
use super::raw::Raw;

/// The name of the standard input.
pub(super) const STDIN: &str = "-";

const BUFFER_BYTES: usize = 256 << 10;

/// The longest look back of a zstd frame: 2^31 bytes, as much as the format allows.
pub(super) const MAX_WINDOW_LOG: u32 = 31;

const BYTE_ORDER_MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// Returns the ending of a name, in lower case and without that of a compression.
pub(super) fn ending(path: &Path) -> Option<String> {
    if is_compressed(path) { last_ending(&path.with_extension("")) } else { last_ending(path) }
}

fn last_ending(path: &Path) -> Option<String> {
    path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}

/// Whether the name tells of a compression.
fn is_compressed(path: &Path) -> bool {
    matches!(last_ending(path).as_deref(), Some("gz" | "zst" | "zstd" | "lz4"))
}

/// Whether files of fingerprints are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// By their first four bytes: gzip, zstd, LZ4 or none.
    #[default]
    Auto,
    /// None of them is, also where the first fingerprints of an array are bytes that a compressed file begins with.
    None,
}

/// The bytes of a file, uncompressed.
pub(super) struct Stream {
    pub(super) path: Arc<PathBuf>,
    pub(super) reader: Box<dyn BufRead + Send>,
    compression: &'static str,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Stream {
    pub(super) fn open(path: &Path, compression: Compression, bytes_read: &Arc<AtomicU64>) -> Result<Self, BadRecord> {
        let opened = Opened::open(path, bytes_read)?;
        if compression == Compression::None { Ok(Self::plain(opened)) } else { Self::new(opened) }
    }

    /// Takes the bytes of a file that was opened as they are.
    fn plain(opened: Opened) -> Self {
        let Opened { path, first, rest } = opened;
        let file = io::Cursor::new(first).chain(BufReader::with_capacity(BUFFER_BYTES, rest));
        Self { path: Arc::new(path), reader: Box::new(file), compression: "" }
    }

    /// Takes a file that was opened.
    pub(super) fn new(opened: Opened) -> Result<Self, BadRecord> {
        // All four bytes are looked at, since two of fingerprints may be any.
        let mut magic = [0; 4];
        let count = opened.first.len().min(magic.len());
        magic[..count].copy_from_slice(&opened.first[..count]);
        if magic == lz4::MAGIC {
            let Opened { path, first, rest } = opened;
            let reader = Box::new(Frames::new(Raw::new(first, rest)));
            return Ok(Self { path: Arc::new(path), reader, compression: "LZ4" });
        }
        let Self { path, reader: file, .. } = Self::plain(opened);
        let (reader, compression): (Box<dyn BufRead + Send>, _) = match magic {
            [0x1f, 0x8b, 8, 0..=0x1f] => {
                (Box::new(BufReader::with_capacity(BUFFER_BYTES, GzipMembers::new(file))), "gzip")
            }
            // A frame, or one to be passed over, with which files that can be read in parallel begin.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let unreadable = |e| {
                    BadRecord::of_file(&path, None, format!("cannot be read ({e})"), "check the file, or leave it out")
                };
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file).map_err(unreadable)?;
                // Files of `zstd --long` need more than the default.
                decoder.window_log_max(MAX_WINDOW_LOG).map_err(unreadable)?;
                (Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)), "zstd")
            }
            _ => (file, ""),
        };
        Ok(Self { path, reader, compression })
    }

    /// Passes over a byte order mark. It is for texts, and before anything was read.
    pub(super) fn skip_byte_order_mark(&mut self) -> Result<(), BadRecord> {
        let mut first = [0; BYTE_ORDER_MARK.len()];
        let count = read_up_to(&mut self.reader, &mut first).map_err(|e| self.broken(&e, Some(1)))?;
        if first != BYTE_ORDER_MARK {
            let rest = mem::replace(&mut self.reader, Box::new(io::empty()));
            self.reader = Box::new(io::Cursor::new(first).take(count as u64).chain(rest));
        }
        Ok(())
    }

    pub(super) fn bad(&self, line: Option<u64>, reason: impl Into<String>, remedy: impl Into<String>) -> BadRecord {
        BadRecord::of_file(&self.path, line, reason, remedy)
    }

    pub(super) fn empty(&self) -> BadRecord {
        BadRecord::without_records(&self.path)
    }

    pub(super) fn too_long(&self, line: Option<u64>, max_record_bytes: usize) -> BadRecord {
        let reason = format!("the record is longer than {max_record_bytes} bytes");
        self.bad(line, reason, "raise --max-record-bytes, or check that lines end")
    }

    /// Makes the error of an array whose rest is lost. One that is not compressed may begin as if it were.
    pub(super) fn broken_array(&self, error: &io::Error) -> BadRecord {
        let mut bad = self.broken(error, None);
        if !self.compression.is_empty() && !is_compressed(&self.path) {
            bad.remedy = format!("{}, or take --compression none if it is not compressed", bad.remedy);
        }
        bad
    }

    /// Makes the error of a file whose rest is lost.
    pub(super) fn broken(&self, error: &io::Error, line: Option<u64>) -> BadRecord {
        let (reason, remedy) = match (self.compression, error.kind()) {
            ("", _) => (format!("cannot be read ({error})"), "check the medium, or leave it out"),
            (name, io::ErrorKind::UnexpectedEof) => {
                (format!("the {name} stream ends too early"), "fetch or write the file again")
            }
            (name, _) => (format!("the {name} stream is damaged ({error})"), "fetch or write the file again"),
        };
        self.bad(line, reason, remedy)
    }
}

/// The members of a gzip file, one after the other; zeros behind the last are padding.
struct GzipMembers<R: BufRead> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(file: R) -> Self {
        Self { member: Some(GzDecoder::new(file)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let mut file = self.member.take().expect("it was just read").into_inner();
            let padding = loop {
                let available = file.fill_buf()?;
                match available.iter().position(|&byte| byte != 0) {
                    Some(zeros) => break Some(zeros),
                    None if available.is_empty() => break None,
                    None => {
                        let zeros = available.len();
                        file.consume(zeros);
                    }
                }
            };
            let Some(zeros) = padding else { return Ok(0) };
            file.consume(zeros);
            if file.fill_buf()?.first() != Some(&0x1f) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "something else follows it"));
            }
            self.member = Some(GzDecoder::new(file));
        }
        Ok(0)
    }
}

/// Fills the buffer as far as the reader has bytes.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
impl Stream {
    /// Takes the bytes of a reader as they are.
    pub(super) fn of(reader: impl Read + Send + 'static, capacity: usize) -> Self {
        let reader = Box::new(BufReader::with_capacity(capacity, reader));
        Self { path: Arc::new("f".into()), reader, compression: "" }
    }
}
