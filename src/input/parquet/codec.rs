//! The codecs of which the crate decodes all that comes, whatever the head of a page says: here a page is no longer
//! than its head says.

use std::io::Read;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use lz4_flex::block::decompress_into;
use lz4_flex::frame::FrameDecoder;
use parquet::basic::Compression;
use parquet::errors::Result;

use super::group::damaged;

/// A codec whose pages are decoded here.
#[derive(Debug, Clone, Copy)]
pub(super) enum Codec {
    Gzip,
    Brotli,
    /// That of Hadoop, in whose place some writers have frames or blocks without a head.
    Lz4,
}

impl Codec {
    /// `None` where the crate decodes no more than the head of a page says.
    pub(super) fn of(compression: Compression) -> Option<Self> {
        match compression {
            Compression::GZIP(_) => Some(Self::Gzip),
            Compression::BROTLI(_) => Some(Self::Brotli),
            Compression::LZ4 => Some(Self::Lz4),
            _ => None,
        }
    }

    /// Decodes what stands behind the first `start` bytes of a page, which becomes `size` long with them.
    pub(super) fn decode(self, page: &mut Bytes, start: usize, size: usize) -> Result<()> {
        if start > size.min(page.len()) {
            return Err(damaged("a page is shorter than its levels"));
        }
        let (levels, body) = page.split_at(start);
        let mut decoded = vec![0; size];
        decoded[..start].copy_from_slice(levels);
        let values = &mut decoded[start..];
        // A page of nulls alone may have no body at all.
        let is_whole = values.is_empty()
            || match self {
                Self::Gzip => fill(MultiGzDecoder::new(body), values),
                Self::Brotli => unbrotli(body, values),
                Self::Lz4 => {
                    hadoop(body, values)
                        || fill(FrameDecoder::new(body), values)
                        || decompress_into(body, values).is_ok_and(|written| written == values.len())
                }
            };
        if !is_whole {
            return Err(damaged("a page cannot be decompressed to the length that its head says"));
        }
        *page = decoded.into();
        Ok(())
    }
}

/// Whether as many bytes come as there is room for, and then the end.
fn fill(mut reader: impl Read, room: &mut [u8]) -> bool {
    reader.read_exact(room).is_ok() && reader.read(&mut [0]).is_ok_and(|more| more == 0)
}

fn unbrotli(body: &[u8], room: &mut [u8]) -> bool {
    let alloc = StandardAlloc::default;
    // Strict: without the windows of up to 1 GiB, which the format has not got.
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut left, mut read, mut free, mut written, mut total) = (body.len(), 0, room.len(), 0, 0);
    let mut decode = |free: &mut usize, written: &mut usize, room: &mut [u8]| {
        BrotliDecompressStream(&mut left, &mut read, body, free, written, room, &mut total, &mut state)
    };
    let mut result = decode(&mut free, &mut written, room);
    if written < room.len() {
        return false;
    }
    if matches!(result, BrotliResult::NeedsMoreOutput) {
        // Nothing but the end may come.
        let (mut free, mut more) = (1, 0);
        result = decode(&mut free, &mut more, &mut [0]);
        written += more;
    }
    matches!(result, BrotliResult::ResultSuccess) && written == room.len()
}

/// Blocks, each behind its two lengths.
fn hadoop(mut body: &[u8], mut room: &mut [u8]) -> bool {
    let length = |bytes: &[u8; 4]| usize::try_from(u32::from_be_bytes(*bytes)).unwrap_or(usize::MAX);
    while let Some((decoded, behind)) = body.split_first_chunk() {
        let Some((block, rest)) =
            behind.split_first_chunk().and_then(|(encoded, behind)| behind.split_at_checked(length(encoded)))
        else {
            return false;
        };
        match decompress_into(block, room) {
            Ok(written) if written == length(decoded) => room = &mut room[written..],
            _ => return false,
        }
        body = rest;
    }
    body.is_empty() && room.is_empty()
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::*;

    const TEXT: &[u8] = b"a page, a page, a page of many pages";
    /// "hello", by the reference encoder, in one stored block.
    const BROTLI: &[u8] = b"\x0b\x02\x80hello\x03";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn frame(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn blocks(parts: &[&[u8]]) -> Vec<u8> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_be_bytes();
        let block = |part: &&[u8]| {
            let block = lz4_flex::block::compress(part);
            [&length(part)[..], &length(&block), &block].concat()
        };
        parts.iter().flat_map(block).collect()
    }

    fn decoded(codec: Codec, levels: &[u8], body: &[u8], size: usize) -> Option<Vec<u8>> {
        let mut page = [levels, body].concat().into();
        codec.decode(&mut page, levels.len(), levels.len() + size).ok().map(|()| page.to_vec())
    }

    #[test]
    fn a_page_is_as_long_as_its_head_says() {
        let (front, back) = TEXT.split_at(9);
        let halves = [gzip(front), gzip(back)].concat();
        for (codec, body, text) in [
            (Codec::Gzip, gzip(TEXT), TEXT),
            (Codec::Gzip, halves, TEXT),
            (Codec::Brotli, BROTLI.to_vec(), b"hello"),
            (Codec::Lz4, blocks(&[TEXT]), TEXT),
            (Codec::Lz4, blocks(&[front, back]), TEXT),
            (Codec::Lz4, frame(TEXT), TEXT),
            (Codec::Lz4, lz4_flex::block::compress(TEXT), TEXT),
        ] {
            for levels in [&b""[..], b"levels"] {
                let whole = [levels, text].concat();
                assert_eq!(decoded(codec, levels, &body, text.len()).as_ref(), Some(&whole), "{codec:?}");
                // Without values the body is not looked at.
                for size in (1..text.len()).chain([text.len() + 1]) {
                    assert_eq!(decoded(codec, levels, &body, size), None, "{codec:?} {size}");
                }
                for cut in 0..body.len() {
                    let found = decoded(codec, levels, &body[..cut], text.len());
                    // A frame of LZ4 may be without the mark of its end.
                    let is_whole = matches!(codec, Codec::Lz4) && found.as_ref() == Some(&whole);
                    assert!(found.is_none() || is_whole, "{codec:?} {cut}");
                }
                assert_eq!(decoded(codec, levels, b"", 0).as_deref(), Some(levels));
            }
            let mut page = body.into();
            assert!(codec.decode(&mut page, 3, 2).is_err() && codec.decode(&mut page, 9999, 99999).is_err());
        }
    }

    #[test]
    fn what_never_ends_is_not_read_to_its_end() {
        assert!(!fill(io::repeat(7), &mut [0; 100]));
        let bomb = vec![0; 16 << 20];
        for (codec, body) in [(Codec::Gzip, gzip(&bomb)), (Codec::Lz4, frame(&bomb)), (Codec::Lz4, blocks(&[&bomb]))] {
            assert_eq!(decoded(codec, b"", &body, 100), None, "{codec:?}");
        }
    }
}
