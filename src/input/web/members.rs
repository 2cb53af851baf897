//! The members of a file: those of gzip, the frames of zstd or LZ4, or all of a file that is not compressed.
//!
//! Tools write a member for each record, so that a damaged one takes no other with it.

use std::io;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, get_error_name};

use super::skippable::{self, Skipped};
use crate::input::gzip;
use crate::input::lz4::{self, Frame};
use crate::input::raw::Raw;
use crate::input::record::Offset;
use crate::input::stream::MAX_WINDOW_LOG;

/// So much is decompressed at once.
const CHUNK_BYTES: usize = 64 << 10;

/// So much of a member is decompressed to see what it is.
const PROBE_BYTES: usize = 4 << 10;

/// Why a member cannot be read any further.
#[derive(Clone, Debug)]
pub(super) struct Damage {
    pub(super) reason: String,
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Self {
        Self { reason: format!("the file cannot be read ({error})") }
    }
}

fn damaged(reason: impl Into<String>) -> Damage {
    Damage { reason: reason.into() }
}

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
    Lz4,
}

enum Codec {
    Plain,
    Gzip {
        inflate: Decompress,
        crc: Crc,
    },
    Zstd {
        context: DCtx<'static>,
    },
    /// The frame that is open.
    Lz4 {
        frame: Option<Frame>,
    },
}

/// A file, member by member.
pub(super) struct Members {
    raw: Raw,
    codec: Codec,
    /// Whether a member is being read.
    is_open: bool,
    /// Where the member begins in the file, and what of it was consumed.
    member: u64,
    inside: i64,
    /// What was decompressed of the member, and where in it the next byte is.
    out: Vec<u8>,
    at: usize,
    is_first: bool,
    /// What is wrong behind what was decompressed.
    damage: Option<Damage>,
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members").field("raw", &self.raw).finish_non_exhaustive()
    }
}

impl Members {
    /// Looks at the first bytes for the compression; if they tell none, it is as assumed.
    pub(super) fn new(raw: Raw, assumed: Compression) -> Self {
        let compression = match raw.buffered() {
            [0x1f, 0x8b, 8, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            bytes if bytes.starts_with(&lz4::MAGIC) => Compression::Lz4,
            _ => assumed,
        };
        let codec = match compression {
            Compression::None => Codec::Plain,
            Compression::Gzip => Codec::Gzip { inflate: Decompress::new(false), crc: Crc::new() },
            Compression::Zstd => Codec::Zstd { context: context() },
            Compression::Lz4 => Codec::Lz4 { frame: None },
        };
        let (out, is_first) = (Vec::new(), true);
        Self { raw, codec, is_open: false, member: 0, inside: 0, out, at: 0, is_first, damage: None }
    }

    /// Returns where the next byte is.
    pub(super) fn offset(&self) -> Offset {
        let inside = u64::try_from(self.inside).unwrap_or(0);
        match self.codec {
            Codec::Plain => Offset { member: inside, inside: 0 },
            _ => Offset { member: self.member, inside },
        }
    }

    pub(super) fn is_compressed(&self) -> bool {
        !matches!(self.codec, Codec::Plain)
    }

    /// Goes to the next member, once all of this one was consumed; `false` at the end of the file.
    pub(super) fn next_member(&mut self) -> Result<bool, Damage> {
        self.check()?;
        self.out.clear();
        self.at = 0;
        self.inside = if self.is_compressed() { 0 } else { self.inside };
        self.open()
    }

    /// Goes on with the next member behind what was not consumed yet; `false` at the end of the file.
    pub(super) fn join(&mut self) -> Result<bool, Damage> {
        self.check()?;
        let left = i64::try_from(self.out.len() - self.at).unwrap_or(i64::MAX);
        let inside = self.inside;
        self.inside = if self.is_compressed() { -left } else { inside };
        let opened = self.open();
        if !matches!(opened, Ok(true)) {
            self.inside = inside;
        }
        opened
    }

    fn open(&mut self) -> Result<bool, Damage> {
        self.is_open = false;
        let (raw, is_first) = (&mut self.raw, self.is_first);
        match &mut self.codec {
            Codec::Plain => {
                self.is_open = is_first;
                self.is_first = false;
                return Ok(is_first);
            }
            Codec::Gzip { inflate, crc } => {
                // Zeros behind a member are padding.
                loop {
                    let bytes = raw.ahead(1)?;
                    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
                    if zeros == 0 {
                        break;
                    }
                    raw.consume(zeros);
                }
                if raw.buffered().is_empty() {
                    return Ok(false);
                }
                self.member = raw.offset();
                let head = gzip_head(raw)?;
                raw.consume(head);
                inflate.reset(false);
                crc.reset();
            }
            Codec::Zstd { context } => {
                while let Some(skipped) = skippable::next(raw, is_first)? {
                    if let Skipped::Dictionary(dictionary) = skipped {
                        context
                            .load_dictionary(&dictionary)
                            .map_err(|code| damaged(format!("its zstd dictionary: {}", get_error_name(code))))?;
                    }
                }
                if raw.ahead(4)?.is_empty() {
                    return Ok(false);
                }
                self.member = raw.offset();
                if !raw.buffered().starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
                    return Err(damaged("something that is no zstd frame stands here"));
                }
                let _ = context.reset(ResetDirective::SessionOnly);
            }
            Codec::Lz4 { frame } => {
                if raw.ahead(1)?.is_empty() {
                    return Ok(false);
                }
                self.member = raw.offset();
                *frame = Some(Frame::open(raw).map_err(|e| of_frame(&e))?);
            }
        }
        self.is_open = true;
        self.is_first = false;
        Ok(true)
    }

    /// Fails if the member is damaged behind what was decompressed of it.
    pub(super) fn check(&self) -> Result<(), Damage> {
        self.damage.clone().map_or(Ok(()), Err)
    }

    /// Returns the next bytes of the member: as many as asked for, or more, or all that are left of it. If it is damaged, it
    /// returns what stands before the damage, and fails where nothing does.
    pub(super) fn ahead(&mut self, count: usize) -> Result<&[u8], Damage> {
        while self.out.len() - self.at < count && self.is_open && self.damage.is_none() {
            if self.at > 0 {
                self.out.drain(..self.at);
                self.at = 0;
            }
            self.damage = self.decompress().err();
        }
        if self.out.len() == self.at && count > 0 {
            self.check()?;
        }
        Ok(&self.out[self.at..])
    }

    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.out.len() - self.at);
        self.at += count;
        self.inside = self.inside.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Puts bytes back that were consumed last.
    pub(super) fn unread(&mut self, bytes: &[u8]) {
        if self.out[..self.at].ends_with(bytes) {
            self.at -= bytes.len();
        } else {
            self.out.splice(..self.at, bytes.iter().copied());
            self.at = 0;
        }
        self.inside = self.inside.saturating_sub_unsigned(bytes.len() as u64);
    }

    /// Adds to what was decompressed, or closes the member.
    fn decompress(&mut self) -> Result<(), Damage> {
        let (raw, filled) = (&mut self.raw, self.out.len());
        let ended = match &mut self.codec {
            Codec::Plain => {
                let bytes = raw.ahead(1)?;
                let count = bytes.len().min(CHUNK_BYTES);
                self.out.extend_from_slice(&bytes[..count]);
                raw.consume(count);
                count == 0
            }
            Codec::Gzip { inflate, crc } => {
                let input = raw.ahead(1)?;
                self.out.resize(filled + CHUNK_BYTES, 0);
                let (read, written) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(input, &mut self.out[filled..], FlushDecompress::None);
                let is_all = input.is_empty();
                let read = usize::try_from(inflate.total_in() - read).unwrap_or(usize::MAX);
                let written = usize::try_from(inflate.total_out() - written).unwrap_or(0);
                raw.consume(read);
                self.out.truncate(filled + written);
                crc.update(&self.out[filled..]);
                let end = match status {
                    Ok(Status::StreamEnd) => true,
                    Ok(_) if is_all && written == 0 => return Err(damaged("the gzip member ends too early")),
                    Ok(_) => false,
                    Err(e) => return Err(damaged(format!("the gzip member is damaged ({e})"))),
                };
                if end {
                    let Some((trailer, _)) = raw.ahead(8)?.split_first_chunk::<8>() else {
                        return Err(damaged("the gzip member ends too early"));
                    };
                    let right = u64::from(crc.sum()) | u64::from(crc.amount()) << 32;
                    let is_right = u64::from_le_bytes(*trailer) == right;
                    if !is_right {
                        return Err(damaged("the gzip member is damaged (its checksum is wrong)"));
                    }
                    raw.consume(8);
                }
                end
            }
            Codec::Zstd { context } => {
                let input = raw.ahead(1)?;
                let is_all = input.is_empty();
                self.out.resize(filled + CHUNK_BYTES, 0);
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(&mut self.out[filled..]));
                let left = context.decompress_stream(&mut to, &mut from);
                let (read, written) = (from.pos(), to.pos());
                raw.consume(read);
                self.out.truncate(filled + written);
                match left {
                    Ok(0) => true,
                    Ok(_) if is_all && written == 0 => return Err(damaged("the zstd frame ends too early")),
                    Ok(_) => false,
                    Err(code) => return Err(damaged(format!("the zstd frame is damaged ({})", get_error_name(code)))),
                }
            }
            Codec::Lz4 { frame } => match frame {
                Some(frame) => !frame.next_block(raw, &mut self.out).map_err(|e| of_frame(&e))?,
                None => true,
            },
        };
        self.is_open = !ended;
        Ok(())
    }

    /// After damage: goes to the next member that begins as `is_wanted` likes it; `false` if there is none.
    pub(super) fn resync(&mut self, is_wanted: impl Fn(&[u8]) -> bool) -> bool {
        self.out.clear();
        self.at = 0;
        self.is_open = false;
        self.damage = None;
        let magic: &[u8] = match self.codec {
            Codec::Plain => return false,
            Codec::Gzip { .. } => &[0x1f, 0x8b, 8],
            Codec::Zstd { .. } => &[0x28, 0xb5, 0x2f, 0xfd],
            Codec::Lz4 { .. } => &lz4::MAGIC,
        };
        // A damaged member may have been read beyond its end. The first step is needed, or it would be found again.
        let here = self.raw.offset();
        self.raw.back_to(self.member.max(here.saturating_sub(1 << 20)) + 1);
        if self.raw.offset() <= self.member {
            self.raw.consume(1);
        }
        loop {
            // So much is needed to tell what a member begins with.
            let Ok(bytes) = self.raw.ahead(2 * CHUNK_BYTES) else { return false };
            if bytes.is_empty() {
                return false;
            }
            let Some(found) = memchr::memmem::find(bytes, magic) else {
                let gone = bytes.len().saturating_sub(magic.len() - 1).max(1);
                self.raw.consume(gone);
                continue;
            };
            if found > 0 {
                self.raw.consume(found);
                continue;
            }
            self.is_first = false;
            if is_wanted(&self.probe(gzip::MAX_SOUGHT_COMMENT_BYTES)) && self.next_member().is_ok_and(|any| any) {
                return true;
            }
            self.raw.consume(1);
        }
    }

    /// Decompresses the beginning of the member that is next in the buffer.
    fn probe(&mut self, max_comment_bytes: usize) -> Vec<u8> {
        let bytes = self.raw.buffered();
        let mut out = vec![0; PROBE_BYTES];
        let written = match &mut self.codec {
            Codec::Plain => return Vec::new(),
            Codec::Gzip { inflate, .. } => inflate_beginning(inflate, bytes, max_comment_bytes, &mut out),
            Codec::Zstd { context } => {
                let _ = context.reset(ResetDirective::SessionOnly);
                let (mut from, mut to) = (InBuffer::around(bytes), OutBuffer::around(&mut out[..]));
                let _ = context.decompress_stream(&mut to, &mut from);
                to.pos()
            }
            Codec::Lz4 { .. } => {
                // It decodes up to where the next literals do not fit.
                out.resize(CHUNK_BYTES, 0);
                lz4::beginning(bytes, &mut out);
                PROBE_BYTES
            }
        };
        out.truncate(written);
        out
    }
}

/// What is wrong with a frame of LZ4.
fn of_frame(error: &io::Error) -> Damage {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("the LZ4 frame ends too early"),
        io::ErrorKind::InvalidData | io::ErrorKind::Other => damaged(format!("the LZ4 frame is damaged ({error})")),
        _ => damaged(format!("the file cannot be read ({error})")),
    }
}

fn context() -> DCtx<'static> {
    let mut context = DCtx::create();
    let _ = context.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG));
    context
}

fn inflate_beginning(inflate: &mut Decompress, bytes: &[u8], max_comment_bytes: usize, out: &mut [u8]) -> usize {
    let Ok(Some(head)) = gzip::head_bytes(bytes, max_comment_bytes) else { return 0 };
    inflate.reset(false);
    let _ = inflate.decompress(&bytes[head..], out, FlushDecompress::None);
    usize::try_from(inflate.total_out()).map_or(out.len(), |written| written.min(out.len()))
}

/// Returns what a file begins with, decompressed, as far as the first bytes of it tell.
pub(in crate::input) fn beginning(first: &[u8]) -> Vec<u8> {
    let mut raw = Raw::new(first.to_vec(), Box::new(io::empty()));
    if raw.ahead(1).is_err() {
        return Vec::new();
    }
    let mut members = Members::new(raw, Compression::None);
    if !members.is_compressed() {
        return first[..first.len().min(PROBE_BYTES)].to_vec();
    }
    if let Codec::Zstd { context } = &mut members.codec {
        while let Ok(Some(skipped)) = skippable::next(&mut members.raw, true) {
            if let Skipped::Dictionary(dictionary) = skipped {
                let _ = context.load_dictionary(&dictionary);
            }
        }
    }
    members.probe(gzip::MAX_COMMENT_BYTES)
}

fn gzip_head(raw: &mut Raw) -> Result<usize, Damage> {
    let mut wanted = 32;
    loop {
        let bytes = raw.ahead(wanted)?;
        match gzip::head_bytes(bytes, gzip::MAX_COMMENT_BYTES) {
            Ok(Some(length)) => return Ok(length),
            Ok(None) if bytes.len() < wanted => return Err(damaged("the gzip member ends too early")),
            Ok(None) if wanted > 1 << 20 => return Err(damaged("the head of the gzip member does not end")),
            Ok(None) => wanted *= 2,
            Err(reason) => return Err(damaged(reason)),
        }
    }
}
