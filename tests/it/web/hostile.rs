//! Archives and pages that are made to cost: everything ends, and within bounds.

use nearstone::html::Html;

use super::sample::{arc, arc_head, gzip, http, packings, page, read_bytes, read_warc, record, response, zstd};
use crate::common::Random;

const LIMIT: usize = 1 << 20;

/// Thousands of archives with changed, removed, repeated and inserted pieces.
#[test]
fn changed_archives_never_panic_and_never_grow() {
    let mut random = Random(2026);
    let chunked = "Content-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip";
    let body = gzip("<p>a <b>text</b> &amp; more".repeat(20).as_bytes());
    let body = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    let warc = vec![
        record("warcinfo", "", "application/warc-fields", "a: b"),
        page("http://a/1", &"one ".repeat(30)),
        response("http://a/2", "200 OK", chunked, body),
        record("conversion", "http://a/3", "text/plain", "three"),
        response("http://a/4", "200 OK", "Content-Type: text/xml\r\nContent-Encoding: zstd", zstd(b"<a>four")),
    ];
    let html = http("200 OK", "Content-Type: text/html", "<p>two");
    let arc = vec![arc_head(), arc("http://a/1", "text/plain", "one"), arc("http://a/2", "text/html", html)];
    for (name, records) in [("f.warc", warc), ("f.arc", arc)] {
        for (packing, bytes) in packings(&records) {
            for _ in 0..250 {
                let mut bytes = bytes.clone();
                for _ in 0..=random.below(3) {
                    mutate(&mut bytes, &mut random);
                }
                let read = read_bytes(name, &bytes, |inputs| inputs.max_record_bytes(LIMIT));
                let output: usize = read.documents.iter().map(|(id, text)| id.len() + text.len()).sum();
                assert!(output < 40 * LIMIT && read.documents.len() + read.errors.len() < 1000, "{packing}");
            }
        }
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let place = |random: &mut Random, length: usize| usize::try_from(random.below(length as u64 + 1)).unwrap();
    let at = place(random, bytes.len().saturating_sub(1));
    let end = (at + place(random, 40)).min(bytes.len());
    match random.below(6) {
        0 if at < bytes.len() => bytes[at] = random.next().to_le_bytes()[0],
        1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        4 => {
            let words: [&[u8]; 8] = [
                b"\r\n\r\n",
                b"WARC/1.0\r\nA: b",
                b"Content-Length: 99999999999",
                b"\x1f\x8b\x08\0",
                b"\0\0",
                b"9",
                b"\n",
                b"<a ",
            ];
            bytes.splice(at..at, words[place(random, 7)].iter().copied());
        }
        _ => bytes.truncate(at.max(1)),
    }
}

/// Every length is wrong and takes the rest of the file: the work must not be the square of it.
#[test]
fn lengths_that_are_all_wrong() {
    let head = |length: &str| {
        format!("WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\nx\r\n")
    };
    for length in ["99999999999", "3000000", "1000", "", "0"] {
        let bytes = head(length).repeat(40_000).into_bytes();
        for bytes in [bytes.clone(), gzip(&bytes)] {
            let read = read_bytes("f.warc", &bytes, |inputs| inputs.max_record_bytes(LIMIT));
            assert!(read.errors.len() >= 39_000, "{length}: {}", read.errors.len());
        }
    }
    let lines = "http://a/ 192.0.2.7 20261130123456 text/plain 99999999\nx\n".repeat(60_000);
    let read = read_bytes("f.arc", lines.as_bytes(), |inputs| inputs.max_record_bytes(LIMIT));
    assert!(read.ids().len() > 59_000);
}

#[test]
fn members_without_number_or_end() {
    // A member for each byte, and members of nothing.
    let one = page("http://a/", "one");
    let bytes: Vec<u8> = one.iter().flat_map(|&byte| [gzip(&[byte]), gzip(b"")].concat()).collect();
    assert_eq!(read_warc(&bytes).ids(), ["http://a/"]);
    for piece in [&b"W"[..], b"WARC/1.0", b"\n", b"WARC/1.0\r\nA: b\r\n"] {
        let bytes: Vec<u8> = gzip(piece).repeat(100_000);
        let read = read_warc(&bytes);
        assert!(read.documents.is_empty() && !read.errors.is_empty());
    }
    // What looks like members everywhere.
    let bytes = [&gzip(&one)[..], &b"\x1f\x8b\x08\0\0\0\0\0\0\x03".repeat(200_000)].concat();
    let read = read_warc(&bytes);
    assert_eq!((read.ids(), read.errors.len()), (vec!["http://a/"], 1));
    let frames = [&zstd(&one)[..], &b"\x28\xb5\x2f\xfd".repeat(200_000)].concat();
    assert_eq!(read_warc(&frames).ids(), ["http://a/"]);
}

/// A member that holds 200 MB is read in pieces, and a dictionary or window is not taken at its word.
#[test]
fn a_little_that_becomes_much() {
    let head = "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\nContent-Length: 200000000\r\n\r\n";
    let mut bomb = head.as_bytes().to_vec();
    bomb.resize(head.len() + 200_000_000, b'x');
    let tail = page("http://a/", "one");
    bomb.extend_from_slice(b"\r\n\r\n");
    bomb.extend_from_slice(&tail);
    for bytes in [gzip(&bomb), zstd(&bomb)] {
        let read = read_bytes("f.warc", &bytes, |inputs| inputs.max_record_bytes(LIMIT));
        assert_eq!((read.ids(), read.errors.len()), (vec!["http://a/"], 1), "{:?}", read.errors);
        assert!(read.errors[0].contains("longer than 1048576 bytes"));
    }
    let huge = [&[0x5d, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff][..], &zstd(&tail)].concat();
    let read = read_warc(&huge);
    assert!(read.errors[0].contains("its zstd dictionary is longer"), "{:?}", read.errors);
}

fn numbered(count: u32, before: &str, behind: &str) -> String {
    (0..count).flat_map(|i| [before.to_owned(), i.to_string(), behind.to_owned()]).collect()
}

/// Pages that recursion, or a tree, would not bear. A worker has a stack of 2 MiB, as here.
#[test]
fn pages_without_measure_give_their_text() {
    let rows: Vec<(&str, String, &str)> = vec![
        ("nested", format!("{}deep{}", "<div>".repeat(100_000), "</div>".repeat(100_000)), "deep"),
        ("nested formatting", format!("{}deep", "<b><i><font color=a>".repeat(50_000)), "deep"),
        ("nested tables", format!("{}deep", "<table><tr><td>".repeat(50_000)), "deep"),
        ("nested as deep as allowed", format!("{}deep text{}", "<div>".repeat(512), "</div>".repeat(512)), "deep text"),
        ("nested lists as deep as allowed", format!("{}deep text", "<ul><li><p>".repeat(510)), "deep text"),
        ("nested svg", format!("{}deep", "<svg><g>".repeat(250)), "deep"),
        ("brackets", format!("text {}", "<".repeat(10 << 20)), "text <"),
        ("open tags", format!("text {}", "<a".repeat(5 << 20)), "text"),
        ("open tags with blanks", format!("text {}", "<a ".repeat(3 << 20)), "text"),
        ("open quotes", format!("text {}", "<a b=\"".repeat(2 << 20)), "text"),
        ("open quotes that close each other", format!("text {}>more", "<a b=\"c'>".repeat(1 << 20)), "text"),
        ("open comment", format!("text <!-- {}", "x<p>y".repeat(1 << 20)), "text"),
        ("open comments", format!("text {}", "<!--".repeat(2 << 20)), "text"),
        ("dashes", format!("text <!--{}", "-".repeat(10 << 20)), "text"),
        ("open script", format!("text <script>{}", "</scrip".repeat(1 << 20)), "text"),
        ("open data", format!("text {}", "<![CDATA[".repeat(1 << 20)), "text"),
        ("attributes", format!("<p {}>text", numbered(1_000_000, "a", " ")), "text"),
        ("references", format!("text {}", "&#".repeat(5 << 20)), "text"),
        ("ampersands", format!("text {}", "&".repeat(10 << 20)), "text"),
        ("names", format!("{}text", numbered(200_000, "<x", ">")), "text"),
        ("blanks", format!("text {} end", " ".repeat(10 << 20)), "text end"),
        ("breaks", format!("text {}", "<br>".repeat(99_000)), "text"),
        ("paragraphs", format!("text {}", "<p>a, b".repeat(90_000)), "text"),
        ("links", format!("text {}", "<a href=x>a</a> ".repeat(45_000)), "text"),
        ("cells", format!("<table><tr><td>text{}", "<td>a".repeat(90_000)), "text"),
        ("ends", format!("text {}", "</p></div>".repeat(49_000)), "text"),
        ("end of a name", "text <a".to_owned(), "text"),
    ];
    let work = move || {
        for (name, html, text) in rows {
            for how in [Html::Main, Html::Text] {
                let found = how.text(&html);
                assert!(found.contains(text) && found.len() <= 2 * html.len(), "{name} {how:?}: {found:.60}");
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}
