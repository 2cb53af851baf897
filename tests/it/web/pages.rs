//! What HTTP and servers do to pages.

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use std::io::Write;

use nearstone::input::Inputs;

use super::sample::{gzip, read_warc, response, zstd};

const TEXT: &str = "Ein Text über Käse.";

fn chunked(bytes: &[u8]) -> Vec<u8> {
    let chunk = |chunk: &[u8]| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
    [bytes.chunks(7).flat_map(chunk).collect(), b"0\r\n\r\n".to_vec()].concat()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn codings_are_taken_off_in_any_combination() {
    let text = TEXT.as_bytes();
    let rows: Vec<(&str, Vec<u8>)> = vec![
        ("X: y", text.to_vec()),
        ("Transfer-Encoding: chunked", chunked(text)),
        ("Content-Encoding: gzip", gzip(text)),
        ("Content-Encoding: x-gzip\r\nTransfer-Encoding: Chunked", chunked(&gzip(text))),
        ("Transfer-Encoding: gzip, chunked", chunked(&gzip(text))),
        ("content-encoding: deflate", zlib(text)),
        ("Content-Encoding: deflate", deflate(text)),
        ("Content-Encoding: zstd", zstd(text)),
        ("Content-Encoding: gzip, zstd", zstd(&gzip(text))),
        ("Content-Encoding: gzip\r\nContent-Encoding: zstd", zstd(&gzip(text))),
        // Without what the head says.
        ("Transfer-Encoding: chunked", text.to_vec()),
        ("Content-Encoding: gzip", text.to_vec()),
        ("Content-Encoding: deflate", text.to_vec()),
        ("Content-Encoding: br", text.to_vec()),
        ("Content-Encoding: UTF-8", text.to_vec()),
    ];
    for (fields, body) in rows {
        let fields = format!("Content-Type: text/plain; charset=utf-8\r\n{fields}");
        let read = read_warc(&response("http://a/", "200 OK", &fields, body));
        assert_eq!((&read.errors, &read.documents), (&vec![], &vec![("http://a/".into(), TEXT.into())]), "{fields}");
    }
}

#[test]
fn codings_that_are_damaged_or_not_known_are_reported() {
    let long: String = (0..3000).flat_map(|i| [(i * i).to_string(), " ".to_owned()]).collect();
    let mut damaged = gzip(long.as_bytes());
    let middle = damaged.len() / 2;
    damaged[middle..middle + 20].fill(0xff);
    for (coding, body) in [("gzip", damaged), ("compress", b"\x1f\x9d\x90".to_vec()), ("br", vec![0xff, 0, 1, 0xfe, 2])]
    {
        let fields = format!("Content-Type: text/plain\r\nContent-Encoding: {coding}");
        let read = read_warc(&response("http://a/", "200 OK", &fields, body));
        assert!(read.documents.is_empty() && read.errors.len() == 1, "{read:?}");
        let words = format!("coding {coding:?} is");
        assert!(read.errors[0].starts_with("f.warc, offset 0: ") && read.errors[0].contains(&words), "{read:?}");
    }
    // A connection that was cut: what came is there.
    let body = gzip(long.as_bytes());
    let cut = chunked(&body[..body.len() / 2]);
    let fields = "Content-Type: text/plain\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked";
    let read = read_warc(&response("http://a/", "200 OK", fields, &cut[..cut.len() - 3]));
    assert_eq!(read.errors, [""; 0]);
    assert!(read.documents[0].1.len() > 1000 && long.starts_with(&read.documents[0].1));
}

#[test]
fn charsets_come_from_the_first_place_that_names_one() {
    let rows: [(&str, &[u8], &str); 7] = [
        ("text/plain; charset=iso-8859-1", b"K\xe4se", "Käse"),
        ("text/plain; charset=\"Shift_JIS\"", b"\x93\xfa\x96\x7b", "日本"),
        ("text/plain; charset=latin1", b"\xef\xbb\xbfK\xc3\xa4se", "Käse"),
        ("text/html; charset=none", b"<meta charset=windows-1251>\xcc\xe8\xf0", "Мир"),
        ("text/html", b"<meta http-equiv=Content-Type content=\"text/html; charset=euc-jp\">\xc6\xfc\xcb\xdc", "日本"),
        ("text/plain", "naïve Käse".as_bytes(), "naïve Käse"),
        ("text/plain", b"\xff\xfeK\0\xe4\0", "Kä"),
    ];
    for (media_type, body, text) in rows {
        let read = read_warc(&response("http://a/", "200 OK", &format!("Content-Type: {media_type}"), body));
        assert_eq!(read.documents, [("http://a/".to_owned(), text.to_owned())], "{media_type}");
    }
}

#[test]
fn captures_are_decoded_without_being_made_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.warc.gz");
    let fields = "Content-Type: text/html; charset=x\r\nContent-Encoding: gzip";
    std::fs::write(&path, gzip(&response("http://a/", "200 OK", fields, gzip(b"<p>\xe4")))).unwrap();
    let capture = Inputs::new([&path]).next().unwrap().unwrap().capture().unwrap().unwrap();
    assert_eq!(capture.content, b"<p>\xe4");
    assert_eq!(capture.media_type.as_deref(), Some("text/html; charset=x"));
    assert_eq!(
        (capture.uri.as_deref(), capture.record_id.as_deref()),
        (Some("http://a/"), Some("urn:x:response:http://a/"))
    );
    std::fs::write(folder.path().join("a.txt"), "text").unwrap();
    let record = Inputs::new([folder.path().join("a.txt")]).next().unwrap().unwrap();
    assert!(record.is_file() && record.capture().unwrap().is_none());
}
