//! Archives that are made here.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use nearstone::input::{Inputs, WebId};

/// A record of a WARC file.
pub(crate) fn record(kind: &str, uri: &str, media_type: &str, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Record-ID: <urn:x:{kind}:{uri}>\r\n\
         Content-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    [head.as_bytes(), content, b"\r\n\r\n"].concat()
}

/// A response with a status, a field or more, and a body.
pub(crate) fn response(uri: &str, status: &str, fields: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    record("response", uri, "application/http; msgtype=response", http(status, fields, body))
}

pub(crate) fn http(status: &str, fields: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    [format!("HTTP/1.1 {status}\r\n{fields}\r\n\r\n").as_bytes(), body.as_ref()].concat()
}

/// A page with a text.
pub(crate) fn page(uri: &str, text: &str) -> Vec<u8> {
    response(uri, "200 OK", "Content-Type: text/html; charset=utf-8", format!("<title>x</title><p>{text}"))
}

/// A record of an ARC file, version 1.
pub(crate) fn arc(uri: &str, media_type: &str, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let head = format!("{uri} 192.0.2.7 20261130123456 {media_type} {}\n", content.len());
    [head.as_bytes(), content, b"\n"].concat()
}

/// The record that an ARC file begins with.
pub(crate) fn arc_head() -> Vec<u8> {
    let content = "1 0 Tests\nURL IP-address Archive-date Content-type Archive-length\n";
    format!("filedesc://a.arc 0.0.0.0 20261130123456 text/plain {}\n{content}\n", content.len()).into_bytes()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn lz4(bytes: &[u8]) -> Vec<u8> {
    let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The frames of records, with a dictionary, and the dictionary in a frame to be passed over.
pub(crate) fn zstd_by_dictionary(records: &[Vec<u8>], is_compressed: bool) -> Vec<u8> {
    let samples: Vec<Vec<u8>> =
        (0..200u8).map(|i| [&records[usize::from(i) % records.len()][..], &[b'a' + i % 26]].concat()).collect();
    let dictionary = zstd::dict::from_samples(&samples, 4096).unwrap();
    let frame = if is_compressed { zstd(&dictionary) } else { dictionary.clone() };
    let mut file = vec![0x5d, 0x2a, 0x4d, 0x18];
    file.extend_from_slice(&u32::try_from(frame.len()).unwrap().to_le_bytes());
    file.extend_from_slice(&frame);
    for record in records {
        let mut encoder = zstd::Encoder::with_dictionary(Vec::new(), 3, &dictionary).unwrap();
        encoder.write_all(record).unwrap();
        file.extend_from_slice(&encoder.finish().unwrap());
    }
    file
}

/// Every way to pack records into a file: a name, and the bytes.
pub(crate) fn packings(records: &[Vec<u8>]) -> Vec<(&'static str, Vec<u8>)> {
    let all = records.concat();
    vec![
        ("plain", all.clone()),
        ("gzip-whole", gzip(&all)),
        ("gzip-each", records.iter().flat_map(|record| gzip(record)).collect()),
        // As block compressors do it, and padded.
        ("gzip-blocks", [all.chunks(97).flat_map(gzip).collect(), vec![0; 100]].concat()),
        ("lz4-whole", lz4(&all)),
        ("lz4-each", records.iter().flat_map(|record| lz4(record)).collect()),
        ("lz4-blocks", all.chunks(997).flat_map(lz4).collect()),
        ("zstd-whole", zstd(&all)),
        ("zstd-each", records.iter().flat_map(|record| zstd(record)).collect()),
        ("zstd-blocks", all.chunks(1001).flat_map(zstd).collect()),
        ("zstd-dictionary", zstd_by_dictionary(records, false)),
        ("zstd-compressed-dictionary", zstd_by_dictionary(records, true)),
    ]
}

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    /// Ids and texts.
    pub(crate) documents: Vec<(String, String)>,
    /// Errors, without the folder.
    pub(crate) errors: Vec<String>,
    pub(crate) passed_over: String,
}

impl Read {
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.documents.iter().map(|(id, _)| &id[..]).collect()
    }
}

pub(crate) fn read(inputs: Inputs, folder: &Path) -> Read {
    let passed_over = inputs.passed_over();
    let mut read = Read::default();
    for raw in inputs {
        match raw.and_then(|raw| raw.parse()) {
            Ok(Some(document)) => read.documents.push((document.id, document.text)),
            Ok(None) => {}
            Err(e) => read.errors.push(e.to_string().replace(&format!("{}/", folder.display()), "")),
        }
    }
    read.passed_over = passed_over.to_string();
    read
}

/// Reads a file of these bytes.
pub(crate) fn read_bytes(name: &str, bytes: &[u8], set: impl Fn(Inputs) -> Inputs) -> Read {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read(set(Inputs::new([&path])), folder.path())
}

/// Reads a WARC file of these bytes.
pub(crate) fn read_warc(bytes: &[u8]) -> Read {
    read_bytes("f.warc", bytes, |inputs| inputs)
}

pub(crate) fn by_record_id(inputs: Inputs) -> Inputs {
    inputs.web_id(WebId::Record)
}
