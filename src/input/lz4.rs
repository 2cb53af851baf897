//! Frames of LZ4 (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>).
//!
//! The crate decodes them, and takes the end of a file between two blocks for the end of a frame. So the frame is walked here
//! and given to it block by block: one without the mark of its end has lost what came then.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use lz4_flex::block::decompress_into;
use lz4_flex::frame::FrameDecoder;

use super::raw::Raw;

/// What a frame begins with.
pub(super) const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// The magic, two bytes of what the frame has, and a checksum of them.
const LEAST_HEAD_BYTES: usize = 7;

/// The longest block that there is.
const MOST_BLOCK_BYTES: usize = 4 << 20;

// The bits of the first byte behind the magic.
const HAS_DICTIONARY: u8 = 1;
const HAS_CONTENT_CHECKSUM: u8 = 1 << 2;
const HAS_CONTENT_BYTES: u8 = 1 << 3;
const HAS_BLOCK_CHECKSUMS: u8 = 1 << 4;

/// A frame, block by block.
pub(super) struct Frame {
    decoder: FrameDecoder<VecDeque<u8>>,
    flags: u8,
}

fn damaged(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// How long the head of a frame is by its flags.
fn head_bytes(flags: u8) -> usize {
    let size = |flag: u8, bytes: usize| if flags & flag == 0 { 0 } else { bytes };
    LEAST_HEAD_BYTES + size(HAS_CONTENT_BYTES, 8) + size(HAS_DICTIONARY, 4)
}

impl Frame {
    /// Reads the head of a frame, which is next.
    pub(super) fn open(raw: &mut Raw) -> io::Result<Self> {
        let bytes = raw.ahead(LEAST_HEAD_BYTES)?;
        if bytes.len() < LEAST_HEAD_BYTES && MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !bytes.starts_with(&MAGIC) {
            return Err(damaged("something that is no LZ4 frame stands here"));
        }
        let flags = bytes.get(MAGIC.len()).copied().unwrap_or(0);
        let mut frame = Self { decoder: FrameDecoder::new(VecDeque::new()), flags };
        frame.give(raw, head_bytes(flags))?;
        // Nothing comes yet, but the head is checked.
        frame.decoder.fill_buf()?;
        Ok(frame)
    }

    /// Appends the next block to what was decoded; `false` where the frame ends instead.
    pub(super) fn next_block(&mut self, raw: &mut Raw, decoded: &mut Vec<u8>) -> io::Result<bool> {
        let head = raw.ahead(4)?.first_chunk().map(|head| u32::from_le_bytes(*head));
        let head = head.ok_or(io::ErrorKind::UnexpectedEof)?;
        let checksum = |flag: u8| if self.flags & flag == 0 { 0 } else { 4 };
        if head == 0 {
            self.give(raw, 4 + checksum(HAS_CONTENT_CHECKSUM))?;
            self.decoder.fill_buf()?;
            return Ok(false);
        }
        // The highest bit tells a block that is not compressed.
        let length = usize::try_from(head & (u32::MAX >> 1)).unwrap_or(usize::MAX);
        if length > MOST_BLOCK_BYTES {
            return Err(damaged("a block is too long"));
        }
        self.give(raw, 4 + length + checksum(HAS_BLOCK_CHECKSUMS))?;
        loop {
            let bytes = self.decoder.fill_buf()?;
            if bytes.is_empty() {
                return Ok(true);
            }
            decoded.extend_from_slice(bytes);
            let count = bytes.len();
            self.decoder.consume(count);
        }
    }

    /// Hands the next bytes of the file to the decoder.
    fn give(&mut self, raw: &mut Raw, count: usize) -> io::Result<()> {
        let bytes = raw.ahead(count)?.get(..count).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.decoder.get_mut().extend(bytes);
        raw.consume(count);
        Ok(())
    }
}

/// Decodes what a frame begins with, as far as the bytes tell, into the room, whose rest stays as it is.
pub(super) fn beginning(bytes: &[u8], room: &mut [u8]) {
    let Some(behind) = bytes.strip_prefix(&MAGIC).and_then(|rest| Some(head_bytes(*rest.first()?))) else { return };
    let Some((head, rest)) = bytes.get(behind..).and_then(<[u8]>::split_first_chunk) else { return };
    let head = u32::from_le_bytes(*head);
    let block = &rest[..rest.len().min((head & (u32::MAX >> 1)) as usize)];
    if head >> 31 == 0 {
        // It fails where either side ends before the block does; what came until then is there.
        let _ = decompress_into(block, room);
    } else {
        let count = block.len().min(room.len());
        room[..count].copy_from_slice(&block[..count]);
    }
}

/// The contents of all frames of a file, one behind the other.
pub(super) struct Frames {
    raw: Raw,
    frame: Option<Frame>,
    decoded: Vec<u8>,
    at: usize,
}

impl Frames {
    pub(super) fn new(raw: Raw) -> Self {
        Self { raw, frame: None, decoded: Vec::new(), at: 0 }
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Frames {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.decoded.len() {
            self.decoded.clear();
            self.at = 0;
            let goes_on = match &mut self.frame {
                Some(frame) => frame.next_block(&mut self.raw, &mut self.decoded)?,
                None if self.raw.ahead(1)?.is_empty() => break,
                None => {
                    self.frame = Some(Frame::open(&mut self.raw)?);
                    true
                }
            };
            if !goes_on {
                self.frame = None;
            }
        }
        Ok(&self.decoded[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

    use super::*;

    fn frame(text: &[u8], info: FrameInfo) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Every kind of frame.
    fn kinds(content: u64) -> Vec<FrameInfo> {
        let mut kinds = Vec::new();
        for (mode, checks) in
            [BlockMode::Linked, BlockMode::Independent].into_iter().flat_map(|m| [(m, false), (m, true)])
        {
            for size in [BlockSize::Max64KB, BlockSize::Max4MB] {
                let info = FrameInfo::new().block_mode(mode).block_size(size);
                let info = info.block_checksums(checks).content_checksum(checks);
                kinds.push(info.content_size(checks.then_some(content)));
            }
        }
        kinds
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        Frames::new(Raw::new(Vec::new(), Box::new(io::Cursor::new(bytes.to_vec()))))
            .read_to_end(&mut text)
            .map(|_| text)
    }

    #[test]
    fn frames_come_back_and_cut_ones_are_named() {
        let text: Vec<u8> =
            (0..200_000_u32).map(|n| if n % 100 < 60 { b'x' } else { (n * n / 7).to_le_bytes()[0] }).collect();
        for part in [&b""[..], b"abc", &text] {
            for info in kinds(part.len() as u64) {
                let one = frame(part, info);
                assert_eq!(read(&one).unwrap(), part);
                let two = [one.clone(), frame(b"second", FrameInfo::new())].concat();
                assert_eq!(read(&two).unwrap(), [part, b"second"].concat());
                for cut in (1..one.len()).step_by(1 + one.len() / 300) {
                    assert_eq!(read(&one[..cut]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{cut}");
                }
                let error = read(&[&one[..], b"something else"].concat()).unwrap_err();
                assert!(error.to_string().contains("no LZ4 frame"), "{error}");
                // Also where the block goes on beyond the room.
                let (mut room, count) = (vec![0; 1 << 16], part.len().min(4096));
                beginning(&one, &mut room);
                assert!(room[..count] == part[..count]);
            }
        }
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn damage_is_an_error() {
        let text = b"a text, a text, a text of many texts";
        let whole = frame(text, FrameInfo::new().block_checksums(true).content_checksum(true));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            assert!(read(&bytes).is_err(), "{at}");
            beginning(&bytes, &mut [0; 9]);
        }
        let mut long = whole[..LEAST_HEAD_BYTES].to_vec();
        long.extend((1 + (4_u32 << 20)).to_le_bytes());
        assert!(read(&long).unwrap_err().to_string().contains("too long"));
    }
}
