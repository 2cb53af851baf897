//! The program on web archives.

use crate::shell::{CAT, FOX, Shell};

use super::sample::{arc, arc_head, gzip, http, page, record, response};

fn crawl() -> Vec<Vec<u8>> {
    vec![
        record("warcinfo", "", "application/warc-fields", "a: b"),
        record("request", "http://a/1", "application/http", "GET / HTTP/1.1\r\n\r\n"),
        page("http://a/1", FOX),
        page("http://a/2", CAT),
        page("http://a/3", &FOX.to_uppercase()),
        response("http://a/4", "404 Not Found", "Content-Type: text/html", "gone"),
        response("http://a/5", "200 OK", "Content-Type: image/png", "x"),
    ]
}

const PASSED_OVER: &str =
    "passed over       4 (1 requests, 1 descriptions of the archive, 1 HTTP status not 2xx, 1 not text)\n";

fn row(id: &str, text: &str) -> String {
    format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n")
}

#[test]
fn dedup_writes_the_texts_of_pages() {
    let shell = Shell::new();
    let bytes: Vec<u8> = crawl().iter().flat_map(|record| gzip(record)).collect();
    shell.file("crawl.warc.gz", &bytes);
    shell.file("folder/deep/crawl.warc", crawl().concat());
    let kept = row("http://a/1", FOX) + &row("http://a/2", CAT);
    for threads in ["1", "3"] {
        let ran = shell.run(&["dedup", "crawl.warc.gz", "--duplicates", "d.jsonl", "--threads", threads]);
        assert_eq!((ran.code, &ran.out), (0, &kept), "{}", ran.err);
        assert!(ran.err.contains("documents         3\n") && ran.err.contains(PASSED_OVER), "{}", ran.err);
        assert_eq!(shell.read("d.jsonl"), "{\"distance\":0,\"duplicate_of\":\"http://a/1\",\"id\":\"http://a/3\"}\n");
    }
    assert_eq!(shell.run_with(&["dedup", "-"], &bytes).out, kept);
    assert_eq!(shell.run_with(&["dedup", "-", "--format", "warc"], &bytes).out, kept);
    assert_eq!(shell.run(&["dedup", "folder", "--include", "*.warc*"]).out, kept);
    // What was written is JSON lines, with the fields of the default.
    shell.file("kept.jsonl", &kept);
    assert_eq!(shell.run(&["dedup", "kept.jsonl"]).out, kept);
    let ran = shell.run(&["dedup", "crawl.warc.gz", "--id", "record", "--html", "off"]);
    assert!(
        ran.out.starts_with("{\"id\":\"urn:x:response:http://a/1\",\"text\":\"<title>x</title><p>The"),
        "{}",
        ran.out
    );
    assert_eq!(shell.run(&["dedup", "crawl.warc.gz", "--quiet", "--out", "o"]).err, "");
}

#[test]
fn stores_take_web_archives_and_are_asked_by_them() {
    let shell = Shell::new();
    shell.file("crawl.warc", crawl().concat());
    let page =
        arc("http://a/9", "text/html", http("200 OK", "Content-Type: text/html", format!("<title>x</title><p>{FOX}")));
    shell.file("old.arc.gz", [gzip(&arc_head()), gzip(&page)].concat());
    for (store, command) in [("added", "add"), ("loaded", "load")] {
        assert_eq!(shell.run(&["create", store]).code, 0);
        let ran = shell.run(&[command, store, "crawl.warc"]);
        assert!(ran.code == 0 && ran.err.contains(PASSED_OVER), "{command}: {}", ran.err);
        let ran = shell.run(&["query", store, "--batch", "old.arc.gz"]);
        let expected =
            ["1", "3"].map(|i| format!("{{\"distance\":0,\"id\":\"http://a/{i}\",\"query\":\"http://a/9\"}}\n"));
        assert_eq!((ran.code, ran.out), (0, expected.concat()), "{}", ran.err);
        assert!(ran.err.contains("passed over       1 (1 descriptions of the archive)"), "{}", ran.err);
    }
    let ran = shell.run(&["query", "loaded", "--batch", "old.arc.gz", "--format", "arc", "--id", "record"]);
    assert!(ran.out.contains(&format!("\"query\":\"old.arc.gz:{}\"", gzip(&arc_head()).len())), "{}", ran.out);
}

#[test]
fn damage_stops_a_run_or_is_passed_over() {
    let shell = Shell::new();
    let mut members: Vec<_> = crawl().iter().map(|record| gzip(record)).collect();
    let middle = members[2].len() / 2;
    members[2][middle] ^= 0xff;
    let offset = members[0].len() + members[1].len();
    shell.file("bad.warc.gz", members.concat());
    let message = format!("bad.warc.gz, offset {offset}: the gzip member is damaged");
    let ran = shell.run(&["dedup", "bad.warc.gz"]);
    assert!(ran.code == 3 && ran.err.starts_with(&format!("nearstone: {message}")), "{}", ran.err);
    let ran = shell.run(&["dedup", "bad.warc.gz", "--skip-bad"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 2));
    assert!(ran.err.contains(&message) && ran.err.contains("bad records       1 (passed over)"), "{}", ran.err);
    // A page that was captured twice, and has changed.
    shell.file("twice.warc", [page("http://a/1", FOX), page("http://a/1", CAT)].concat());
    let ran = shell.run(&["dedup", "twice.warc"]);
    assert!(
        ran.code == 3 && ran.err.contains("has come before in this run, with another text: take the ids"),
        "{}",
        ran.err
    );
}

/// Tables are no web archives, but go the same way: they are written as JSON lines.
#[test]
fn tables_are_read_by_their_columns() {
    let shell = Shell::new();
    let table = format!("url,n,body\na,1,{FOX}\nb,2,\"{CAT}\"\nc,3,\"{FOX}\"\nd,4\n");
    shell.file("t.csv", &table);
    shell.file("t.tsv.gz", gzip(table.replace(',', "\t").as_bytes()));
    let kept = format!("{{\"id\":\"a\",\"text\":\"{FOX}\"}}\n{{\"id\":\"b\",\"text\":\"{CAT}\"}}\n");
    let fields = ["--id-field", "url", "--text-field", "body", "--skip-bad"];
    for file in ["t.csv", "t.tsv.gz"] {
        let ran = shell.run(&[&["dedup", file], &fields[..]].concat());
        assert_eq!((ran.code, &ran.out), (0, &kept), "{}", ran.err);
        assert!(ran.err.contains(&format!("{file}:5: the row has 2 fields instead of the header's 3")), "{}", ran.err);
    }
    let ran = shell.run_with(&[&["dedup", "-", "--format", "csv"], &fields[..]].concat(), table.as_bytes());
    assert_eq!(ran.out, kept);
    let ran = shell.run(&["dedup", "t.csv"]);
    assert!(ran.code == 3 && ran.err.contains("t.csv:1: there is no column \"id\" among"), "{}", ran.err);
}
