//! Archives without faults.

use nearstone::html::Html;
use nearstone::input::Format;

use super::sample::{
    arc, arc_head, by_record_id, gzip, http, packings, page, read_bytes, read_warc, record, response, zstd,
};

fn crawl() -> Vec<Vec<u8>> {
    let plain = |i: usize, status: &str, kind: &str| {
        response(&format!("http://a/{i}"), status, &format!("Content-Type: {kind}"), format!("text {i}"))
    };
    vec![
        record("warcinfo", "", "application/warc-fields", "software: tests\r\n"),
        record("request", "http://a/1", "application/http; msgtype=request", "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"),
        plain(1, "200 OK", "text/plain"),
        record("metadata", "http://a/1", "application/warc-fields", "via: x"),
        plain(2, "404 Not Found", "text/html"),
        plain(3, "301", "text/html"),
        plain(4, "200 OK", "image/png"),
        plain(5, "200 OK", "text/css"),
        record("revisit", "http://a/1", "application/http", http("200 OK", "X: y", "")),
        record("resource", "http://a/6", "text/plain", "text 6"),
        record("conversion", "http://a/7", "text/plain", "text 7"),
        record("response", "dns:a", "text/dns", "20261130 a. 1 IN A 192.0.2.1"),
        record("continuation", "http://a/1", "", "more"),
        record("monkeys", "http://a/8", "text/plain", "text 8"),
        record("response", "http://a/9", "application/http", "SSH-2.0-OpenSSH\r\n"),
        plain(10, "206 Partial", "TEXT/PLAIN; charset=utf-8"),
        record("response", "http://a/11", "", http("200 OK", "X: y", "text 11")),
        record("resource", "http://a/12", "application/octet-stream", "text 12"),
        record("response", "http://a/13", "", http("200 OK", "X: y", b"GIF89a\0\x01\x02")),
    ]
}

const DOCUMENTS: [usize; 5] = [1, 6, 7, 10, 11];
const PASSED_OVER: &str = "1 requests, 1 metadata, 1 revisits, 1 descriptions of the archive, 1 continuations, \
                           1 of other types, 1 DNS, 1 not HTTP, 2 HTTP status not 2xx, 4 not text";

/// Every packing gives the same documents and counts, whatever the name, as the first bytes tell.
#[test]
fn every_packing_gives_the_same() {
    let records = crawl();
    for (packing, bytes) in packings(&records) {
        for name in ["f.warc", "f.warc.gz", "f", "f.txt", "f.jsonl"] {
            let read = read_bytes(name, &bytes, |inputs| inputs);
            let expected = DOCUMENTS.map(|i| (format!("http://a/{i}"), format!("text {i}")));
            assert_eq!(read.errors, [""; 0], "{packing} {name}");
            assert_eq!(read.documents, expected, "{packing} {name}");
            assert_eq!(read.passed_over, PASSED_OVER, "{packing} {name}");
        }
    }
}

/// A record whose head, and what follows it, has line feeds alone.
fn line_feeds(record: &[u8]) -> Vec<u8> {
    let content = record.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8(record[..content].to_vec()).unwrap().replace("\r\n", "\n");
    [head.as_bytes(), &record[content..record.len() - 4], b"\n\n"].concat()
}

#[test]
fn what_is_left_out_between_records_does_no_harm() {
    let (a, b) = (page("http://a/", "one"), page("http://b/", "two"));
    let bare = |record: &[u8]| record[..record.len() - 4].to_vec();
    let rows = [
        [&bare(&a)[..], &bare(&b)].concat(),
        [&bare(&a)[..], b"\r\n", &bare(&b), b"\n"].concat(),
        [b"\r\n\r\n", &a[..], b"\n\n\n\r\n", &b, b"\r\n\r\n\r\n"].concat(),
        [&gzip(&bare(&a))[..], &gzip(b""), &gzip(b"\r\n\r\n"), &gzip(&b)].concat(),
        [&zstd(b"")[..], &zstd(&bare(&a)), &[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2], &zstd(&b)].concat(),
        [line_feeds(&a), line_feeds(&b)].concat(),
    ];
    for bytes in rows {
        let read = read_warc(&bytes);
        assert_eq!((read.ids(), &read.errors), (vec!["http://a/", "http://b/"], &vec![]), "{}", bytes.escape_ascii());
    }
}

#[test]
fn ids_are_urls_or_those_of_records() {
    let records =
        [page("<http://a/ b>", "one"), record("resource", "", "text/plain", "two"), page(&"x".repeat(2000), "three")];
    let bytes = records.concat();
    let read = read_warc(&bytes);
    assert_eq!(read.ids(), ["http://a/ b"]);
    let offset = records[0].len();
    assert!(
        read.errors[0].starts_with(&format!("f.warc, offset {offset}: the record has no WARC-Target-URI: ")),
        "{read:?}"
    );
    assert!(
        read.errors[1].contains("the id has 2000 bytes instead of 1 to 1024: take the ids of the records"),
        "{read:?}"
    );
    let read = read_bytes("f.warc", &bytes, by_record_id);
    assert_eq!(read.ids(), ["urn:x:response:<http://a/ b>", "urn:x:resource:"]);
}

#[test]
fn arc_files_of_both_versions() {
    let html = "<p>one</p>";
    let two = "http://a/2 192.0.2.7 20261130123456 text/html 200 abc - 99 f.arc ";
    let content = http("200 OK", "Content-Type: text/html", "<p>two");
    let version_two = [format!("{two}{}\n", content.len()).as_bytes(), &content, b"\n"].concat();
    let records = vec![
        arc_head(),
        arc("http://a/1", "text/html", http("200 OK", "Content-Type: text/html", html)),
        version_two,
        arc("dns:a", "text/dns", "20261130 192.0.2.1"),
        arc("http://a/3 4", "text/html", http("404 Not Found", "X: y", "")),
        // Without a head, as HTTP/0.9 has it, and without a type.
        arc("http://a/5", "text/html", "<p>five"),
        arc("http://a/6", "", "six"),
        arc("http://a/7", "image/gif", "GIF89a"),
    ];
    for (packing, bytes) in packings(&records) {
        for (name, format) in [("f.arc", Format::Auto), ("f.gz", Format::Auto), ("f.x", Format::Arc)] {
            let read = read_bytes(name, &bytes, |inputs| inputs.format(format));
            assert_eq!(read.errors, [""; 0], "{packing}");
            let documents = [("1", "one"), ("2", "two"), ("5", "five"), ("6", "six")];
            assert_eq!(
                read.documents,
                documents.map(|(i, text)| (format!("http://a/{i}"), text.to_owned())),
                "{packing}"
            );
            assert_eq!(read.passed_over, "1 descriptions of the archive, 1 DNS, 1 HTTP status not 2xx, 1 not text");
        }
        let read = read_bytes("f.arc", &bytes, by_record_id);
        let places: Vec<_> = read.ids().iter().map(|id| id.rsplit_once(':').unwrap().1.to_owned()).collect();
        let place = |i: usize| records[..i].concat().len();
        match packing {
            "plain" => assert_eq!(places, [1, 2, 5, 6].map(|i| place(i).to_string())),
            "gzip-whole" => assert_eq!(places, [1, 2, 5, 6].map(|i| format!("0+{}", place(i)))),
            "gzip-each" => assert_eq!(places[0], gzip(&records[0]).len().to_string()),
            _ => {}
        }
        assert_eq!(places.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{packing}: {places:?}");
    }
}

#[test]
fn html_is_taken_as_it_is_asked() {
    let article = "A sentence of an article, long enough, with commas, to be one. ".repeat(12);
    let html = format!("<title>T</title><nav><a href=/>Menu</a></nav><article><p>{article}<p>{article}</article>");
    let bytes = response("http://a/", "200 OK", "Content-Type: text/html", &html);
    let text = |html: Html| read_bytes("f.warc", &bytes, |inputs| inputs.html(html)).documents.remove(0).1;
    assert!(text(Html::Main).starts_with("A sentence") && text(Html::Main).len() > 1400, "{}", text(Html::Main));
    assert!(text(Html::Text).starts_with("T\nMenu\nA sentence"), "{}", text(Html::Text));
    assert_eq!(text(Html::Off), html);
    // Texts and feeds are not taken apart.
    let bytes = [
        response("http://a/1", "200", "Content-Type: text/plain", "a <b> c"),
        response(
            "http://a/2",
            "200",
            "Content-Type: application/rss+xml",
            "<rss><title>a</title><link>b</link><d><![CDATA[c < d]]></d>",
        ),
    ];
    let read = read_warc(&bytes.concat());
    assert_eq!((&read.documents[0].1[..], &read.documents[1].1[..]), ("a <b> c", "a\nb\nc < d"));
}

/// The first drafts, as their two writers have them: the length counts the head, and the line ends behind the content or not.
#[test]
fn records_of_the_first_drafts_are_read() {
    let record = |head: &str, fields: &str, content: &[u8], counted: usize| {
        let (version, rest) = head.split_once(" LENGTH ").unwrap();
        // Of as many digits, whatever the length.
        let line = |length: usize| format!("{version} {length:012} {rest}\r\n{fields}\r\n");
        let length = line(0).len() + content.len() + counted;
        [line(length).as_bytes(), content, b"\r\n\r\n"].concat()
    };
    let page = http("200 OK", "Content-Type: text/html", "<p>One page.");
    let large = http("200 OK", "Content-Type: text/plain\r\nContent-Length: 7", "text 2\n");
    let small = "warc/0.9 LENGTH response http://a/1 20060825210905 message/http uuid:1-2-3";
    let capital =
        "WARC/0.9 LENGTH response http://a/2 20060825210905 uuri:4;type=response application/http; msgtype=response";
    let records = [
        record("warc/0.9 LENGTH warcinfo filedesc://a.warc 20060825210905 text/xml uuid:0", "", b"<x/>", 4),
        record(small, "IP-Address: 192.0.2.7\r\n", &page, 4),
        record(capital, "Related-Record-ID: uuri:5\r\n", &large, 0),
        record("WARC/0.10 LENGTH resource http://a/3 20060825210905 uuid:6 text/plain", "", b"text 3", 4),
        record(
            "WARC/0.9 LENGTH request http://a/2 20060825210905 uuri:5 application/http",
            "",
            b"GET / HTTP/1.0\r\n\r\n",
            0,
        ),
    ];
    let expected = [("http://a/1", "One page."), ("http://a/2", "text 2\n"), ("http://a/3", "text 3")];
    for (packing, bytes) in packings(&records) {
        let read = read_bytes("f.warc", &bytes, |inputs| inputs);
        assert_eq!(read.errors, [""; 0], "{packing}");
        assert_eq!(read.documents, expected.map(|(id, text)| (id.to_owned(), text.to_owned())), "{packing}");
        assert_eq!(read.passed_over, "1 requests, 1 descriptions of the archive", "{packing}");
    }
    let read = read_bytes("f", &records.concat(), by_record_id);
    let ids: Vec<&str> = read.documents.iter().map(|(id, _)| &id[..]).collect();
    assert_eq!(ids, ["uuid:1-2-3", "uuri:4;type=response", "uuid:6"]);
    // Between two others is a record that tells of less than its head.
    let short = b"WARC/0.9 10 resource http://a/4 20060825210905 uuid:7 text/plain\r\n\r\ntext 4\r\n\r\n";
    let read = read_bytes("f", &[&records[1][..], short, &records[3]].concat(), |inputs| inputs);
    assert_eq!(read.documents.len(), 2, "{:?}", read.documents);
    let [error] = &read.errors[..] else { panic!("{:?}", read.errors) };
    assert!(error.contains("the length is given as 10, which is less than that of its head"), "{error}");
}
