//! Content codings of HTTP: gzip, deflate, br, zstd.

use std::io::{self, Read};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};

use super::media;

/// The longest look back of zstd that the web allows (RFC 9659).
const MAX_WINDOW_LOG: u32 = 23;

/// Why a content could not be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It is longer than allowed.
    TooLong,
    /// It is damaged, or the coding is not known.
    Other(String),
}

/// Takes a coding off, to at most so many bytes; `None` where there is nothing to take off: crawlers leave the name of
/// a coding behind that they have taken off themselves, and servers name codings that they do not use.
pub(super) fn decode(name: &str, bytes: &[u8], limit: usize) -> Result<Option<Vec<u8>>, Failure> {
    let name = name.to_ascii_lowercase();
    match &name[..] {
        "gzip" | "x-gzip" if bytes.starts_with(&[0x1f, 0x8b]) => gunzip(&name, bytes, limit),
        "zstd" if is_zstd(bytes) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes).and_then(|mut decoder| {
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                Ok(decoder)
            });
            read(&name, decoder.map_err(|e| Failure::Other(e.to_string()))?, limit)
        }
        // With the head of zlib, or without, as some servers send it.
        "deflate" => match read(&name, ZlibDecoder::new(bytes), limit) {
            Err(Failure::Other(_)) => or_text(read(&name, DeflateDecoder::new(bytes), limit), bytes),
            decoded => decoded,
        },
        "br" => or_text(unbrotli(bytes, limit), bytes),
        "compress" | "x-compress" | "exi" | "dcb" | "dcz" => {
            Err(Failure::Other(format!("the content coding {name:?} is not known")))
        }
        _ => Ok(None),
    }
}

fn is_zstd(bytes: &[u8]) -> bool {
    matches!(bytes, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Reads to the end, or to where the connection was cut.
fn read(name: &str, decoder: impl Read, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
    let mut content = Vec::new();
    let most = (limit as u64).saturating_add(1);
    match decoder.take(most).read_to_end(&mut content) {
        _ if content.len() > limit => Err(Failure::TooLong),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof && !content.is_empty() => Ok(Some(content)),
        Err(e) => Err(Failure::Other(format!("its content coding {name:?} is damaged ({e})"))),
        Ok(_) => Ok(Some(content)),
    }
}

/// Takes members off, as many as there are; something else behind them is none of the content.
fn gunzip(name: &str, bytes: &[u8], limit: usize) -> Result<Option<Vec<u8>>, Failure> {
    let (mut content, mut rest) = (Vec::new(), bytes);
    while rest.starts_with(&[0x1f, 0x8b]) {
        let mut decoder = GzDecoder::new(rest);
        let member = read(name, &mut decoder, limit - content.len());
        match member {
            Err(Failure::Other(_)) if !content.is_empty() => break,
            member => content.extend_from_slice(&member?.unwrap_or_default()),
        }
        rest = decoder.into_inner();
    }
    Ok(Some(content))
}

fn unbrotli(bytes: &[u8], limit: usize) -> Result<Option<Vec<u8>>, Failure> {
    const CHUNK_BYTES: usize = 16 << 10;
    let alloc = StandardAlloc::default;
    // Strict: without the windows of up to 1 GiB, which the web does not have.
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut left, mut read, mut total) = (bytes.len(), 0, 0);
    let (mut content, mut chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
    loop {
        let (mut room, mut written) = (chunk.len(), 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            bytes,
            &mut room,
            &mut written,
            &mut chunk,
            &mut total,
            &mut state,
        );
        content.extend_from_slice(&chunk[..written]);
        match result {
            _ if content.len() > limit => return Err(Failure::TooLong),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::ResultSuccess => return Ok(Some(content)),
            BrotliResult::NeedsMoreInput if !content.is_empty() => return Ok(Some(content)),
            BrotliResult::NeedsMoreInput | BrotliResult::ResultFailure => {
                return Err(Failure::Other("its content coding \"br\" is damaged".to_owned()));
            }
        }
    }
}

/// Takes a text that could not be decoded as it is.
fn or_text(decoded: Result<Option<Vec<u8>>, Failure>, bytes: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    match decoded {
        Err(Failure::Other(_)) if media::Kind::of_content(bytes) != media::Kind::Other => Ok(None),
        decoded => decoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"A text that is long enough to be worth a coding, a coding, a coding.";
    /// The same, by the reference encoder.
    const BROTLI: &[u8] =
        b"\x1b\x43\x00\xe8\x8d\xd4\x5e\xb5\x39\x91\x8c\x11\x2a\xbd\x40\x82\xdc\xc6\xe6\x11\xe7\x57\x83\xf0\x14\x4c\
        \xe4\xc0\xb1\xad\xec\x60\xfa\xa2\xe2\x4a\x85\xa5\xad\xd5\x3f\xad\x05\xe9\x31\xaf\x49\x9f\xe4\xa7\xb7\x20\x01";

    fn encoded() -> Vec<(&'static str, Vec<u8>)> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(TEXT).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(TEXT).unwrap();
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        deflate.write_all(TEXT).unwrap();
        vec![
            ("gzip", gzip.finish().unwrap()),
            ("deflate", zlib.finish().unwrap()),
            ("Deflate", deflate.finish().unwrap()),
            ("zstd", zstd::encode_all(TEXT, 3).unwrap()),
            ("BR", BROTLI.to_vec()),
        ]
    }

    #[test]
    fn codings_are_taken_off_within_a_limit() {
        for (name, bytes) in encoded() {
            assert_eq!(decode(name, &bytes, TEXT.len()).unwrap().as_deref(), Some(TEXT), "{name}");
            assert_eq!(decode(name, &bytes, TEXT.len() - 1), Err(Failure::TooLong), "{name}");
        }
    }

    #[test]
    fn what_is_there_of_a_cut_content_is_taken() {
        for (name, bytes) in encoded() {
            match decode(name, &bytes[..bytes.len() - 6], 1000) {
                Ok(Some(content)) => assert!(TEXT.starts_with(&content), "{name}"),
                // A short text may be a single block, of which nothing comes before its end.
                other => assert!(matches!(other, Err(Failure::Other(_))), "{name}: {other:?}"),
            }
        }
    }

    #[test]
    fn names_without_a_coding_behind_them_are_none() {
        for name in ["gzip", "deflate", "br", "zstd", "identity", "utf-8", "none", ""] {
            assert_eq!(decode(name, TEXT, 1000), Ok(None), "{name}");
        }
        assert!(matches!(decode("compress", TEXT, 1000), Err(Failure::Other(_))));
    }

    #[test]
    fn gzip_has_members_and_may_be_followed_by_anything() {
        let gzip = encoded().remove(0).1;
        let twice = [&gzip[..], &gzip, b"\r\n"].concat();
        assert_eq!(decode("x-gzip", &twice, 1000).unwrap().unwrap(), [TEXT, TEXT].concat());
        assert_eq!(decode("gzip", &twice, TEXT.len() + 1), Err(Failure::TooLong));
        let mut damaged = gzip.clone();
        damaged[gzip.len() - 5] ^= 1;
        assert!(matches!(decode("gzip", &damaged, 1000), Err(Failure::Other(_))));
    }
}
