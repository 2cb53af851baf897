//! The commands about texts and analysers, from the outside.

use serde_json::Value;

use crate::common::data;
use crate::shell::{CAT, FOX, Shell, line};

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn fingerprints_are_those_that_a_store_would_keep() {
    let shell = Shell::new();
    shell.file("in.jsonl", [line("fox", FOX), line("nothing", "?!"), line("two", "just two")].concat());
    let ran = shell.run(&["fingerprint", "in.jsonl", "--analyser", "web+min-features=3"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows: Vec<Value> = ran.out.lines().map(json).collect();
    assert_eq!((rows[0]["status"].as_str(), rows[0]["features"].as_u64()), (Some("sketched"), Some(15)));
    assert_eq!(rows[1], json(r#"{"id": "nothing", "features": 0, "status": "no-features"}"#));
    assert_eq!(rows[2], json(r#"{"id": "two", "features": 1, "status": "too-short"}"#));
    assert_eq!(ran.err, "fingerprints 1, without features 1, too short 1, bad records 0\n");
    // The same fingerprint as in a store, whose analyser `stats` tells.
    assert_eq!(shell.run(&["dedup", "in.jsonl", "--store", "s", "--out", "kept"]).code, 0);
    let stored = json(&shell.run(&["get", "s", "fox"]).out);
    assert_eq!(stored["fingerprint"], rows[0]["fingerprint"]);
    assert!(shell.run(&["stats", "s"]).out.contains("analyser           web/1 (feature-hash=xxh3-64/1, "));
    // What is printed can be loaded.
    shell.file("f.jsonl", &ran.out);
    assert_eq!(shell.run(&["create", "loaded"]).code, 0);
    assert_eq!(shell.run(&["load", "loaded", "f.jsonl", "--fingerprints", "--skip-bad"]).code, 0);
    assert_eq!(json(&shell.run(&["get", "loaded", "fox"]).out)["fingerprint"], rows[0]["fingerprint"]);
}

#[test]
fn texts_that_are_too_short_are_near_nothing_and_counted() {
    let shell = Shell::new();
    shell.file("in.jsonl", [line("a", "very short"), line("b", "very short"), line("c", FOX), line("d", FOX)].concat());
    let ran = shell.run(&["dedup", "in.jsonl", "--analyser", "web+min-features=5", "--store", "s"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 3), "{}", ran.err);
    assert!(ran.err.contains("too short         2 (written too: they are near nothing)"), "{}", ran.err);
    let ran = shell.run(&["query", "s", "--text", "very short"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("fewer features than the analyser asks for"), "{}", ran.err);
    let ran = shell.run(&["add", "s", "in.jsonl"]);
    assert!(ran.err.contains("without features 0, too short 2, bad records 0"), "{}", ran.err);
    let ran = shell.run(&["query", "s", "--batch", "in.jsonl"]);
    assert!(ran.err.contains("too short         2 (near nothing)"), "{}", ran.err);
    let ran = shell.run(&["load", "s", "in.jsonl"]);
    assert!(ran.err.contains("2 records with too few features"), "{}", ran.err);
}

#[test]
fn two_texts_are_explained() {
    let shell = Shell::new();
    shell.file("a.txt", "one two three four");
    shell.file("b.txt", "One two three five\u{1b}!");
    let ran = shell.run(&["explain", "a.txt", "b.txt"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("jaccard      0.500, 2 shared of 4 shingles\ncosine       0.667\n"), "{}", ran.out);
    assert!(
        ran.out.contains("only in A: 1 shingles\n   in A    in B  shingle\n      1       0  three four\n"),
        "{}",
        ran.out
    );
    let found = json(&shell.run(&["explain", "a.txt", "b.txt", "--json", "--analyser", "classic"]).out);
    assert_eq!((found["shared"].as_u64(), found["a"]["shingles"].as_u64()), (Some(2), Some(4)));
    assert_eq!(found["in_both"][0]["shingle"], "three");
    // By ids, with the analyser of a store.
    shell.file("in.jsonl", [line("x", FOX), line("y", CAT)].concat());
    assert_eq!(shell.run(&["create", "s", "--analyser", "short"]).code, 0);
    let ran = shell.run(&["explain", "x", "y", "--input", "in.jsonl", "--store", "s"]);
    assert!(ran.out.starts_with("analyser     short\n"), "{}{}", ran.out, ran.err);
    let ran = shell.run(&["explain", "x", "z", "--input", "in.jsonl"]);
    assert_eq!((ran.code, ran.err.as_str()), (2, "nearstone: the input has no record with the id \"z\"\n"));
    assert_eq!(shell.run(&["explain", "x", "y"]).code, 3);
}

/// Inputs are read as all other commands read them.
#[test]
fn texts_of_any_input_are_explained() {
    let shell = Shell::new();
    let html = |text: &str| format!("<nav>Home News Sport Weather</nav><p>{text}<p>{text}");
    shell.file("in.csv", format!("url,page\nx,\"{}\"\ny,\"{}\"\nz\n", html(FOX), html(CAT)));
    let by_url = ["explain", "x", "y", "--input", "in.csv", "--id-field", "url"];
    let with = |more: &[&str]| shell.run(&[&by_url[..], more].concat());
    let ran = with(&["--html-field", "page", "--html", "text"]);
    assert!(
        ran.code == 0 && ran.out.contains("sport weather") && !ran.out.contains("nav home"),
        "{}{}",
        ran.out,
        ran.err
    );
    let ran = with(&["--html-field", "page", "--html", "off"]);
    assert!(ran.out.contains("nav home"), "{}{}", ran.out, ran.err);
    assert_eq!(with(&["--html-field", "page", "--text-field", "page"]).code, 2);
    let ran =
        shell.run(&["explain", "in.csv:2", "in.csv:3", "--input", "in.csv", "--line-ids", "--text-field", "page"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Behind the bad row there may be the text that is asked for.
    let asked = ["explain", "x", "none", "--input", "in.csv", "--id-field", "url", "--text-field", "page"];
    let ran = shell.run(&asked);
    assert!(ran.code == 3 && ran.err.contains("in.csv:4: the row has 1 fields"), "{}", ran.err);
    let ran = shell.run(&[&asked[..], &["--skip-bad"]].concat());
    assert!(ran.code == 2 && ran.err.contains("in.csv:4: the row has 1 fields"), "{}", ran.err);
    assert!(ran.err.contains("the input has no record with the id \"none\""), "{}", ran.err);
    // Without inputs there is nothing that these options could mean.
    shell.file("a.txt", FOX);
    for option in
        [&["--html-field", "x"][..], &["--line-ids"], &["--skip-bad"], &["--format", "csv"], &["--html", "off"]]
    {
        let ran = shell.run(&[&["explain", "a.txt", "a.txt"], option].concat());
        assert!(ran.code == 2 && ran.err.contains("--input"), "{option:?}: {}", ran.err);
    }
}

/// A byte order mark is no part of a text, which `classic` would take it for.
#[test]
fn a_text_has_one_fingerprint_whatever_the_format() {
    let shell = Shell::new();
    let marked = format!("\u{feff}{FOX}");
    let page = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{marked}");
    let head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Type: application/http\r\n";
    shell.file("a.warc", format!("{head}Content-Length: {}\r\n\r\n{page}\r\n\r\n", page.len()));
    shell.file("a.txt", &marked);
    shell.file("a.jsonl", line("a", &marked));
    shell.file("escaped.jsonl", format!("{{\"id\": 1, \"text\": \"\\ufeff{FOX}\"}}"));
    shell.file("marked.jsonl", format!("\u{feff}{}", line("a", FOX)));
    shell.file("a.csv", format!("id,text\na,\"{marked}\"\n"));
    shell.file("marked.tsv", format!("\u{feff}text\tid\n{FOX}\ta\n"));
    shell.file("plain.txt", FOX);
    let of = |input: &str, analyser: &str| {
        let ran = shell.run(&["fingerprint", input, "--analyser", analyser]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        json(&ran.out)["fingerprint"].as_str().unwrap().to_owned()
    };
    for analyser in ["classic", "web"] {
        let expected = of("plain.txt", analyser);
        for input in ["a.txt", "a.jsonl", "escaped.jsonl", "marked.jsonl", "a.csv", "marked.tsv", "a.warc"] {
            assert_eq!(of(input, analyser), expected, "{analyser} {input}");
        }
    }
    let ran = shell.run(&["explain", "a.txt", "plain.txt", "--analyser", "classic"]);
    assert!(ran.out.contains("distance     0 of 64 bits"), "{}", ran.out);
    assert_eq!(shell.run(&["create", "s", "--analyser", "classic"]).code, 0);
    assert_eq!(shell.run(&["add", "s", "plain.txt"]).code, 0);
    let ran = shell.run(&["query", "s", "--file", "a.txt", "--max-distance", "0"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn an_evaluation_counts_what_is_found_and_what_is_true() {
    let shell = Shell::new();
    let same = FOX.to_uppercase();
    shell.file("in.jsonl", [line("a", FOX), line("b", &same), line("c", CAT), line("d", FOX), line("e", "?")].concat());
    shell.file("truth.tsv", "first\tsecond\tshare\na\tb\t1.0\nd\ta\t0.9\nc\te\t0.8\nc\tz\t0.9\na\tc\t0.1\n");
    let arguments = ["evaluate", "--truth", "truth.tsv", "in.jsonl", "--min-jaccard", "0.5", "--examples", "2"];
    let ran = shell.run(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("web: 5 documents (without features 1), 3 true pairs\n"), "{}", ran.out);
    // 3 pairs are found, 2 of them true, and there are 3.
    assert!(ran.out.contains("\n*        0            3            2      0.667   0.667  0.667\n"), "{}", ran.out);
    assert!(ran.out.contains("near, but not true:\n         0  b  d\n"), "{}", ran.out);
    assert!(ran.out.contains("true, but more than 0 apart:\n      none  c  e\n"), "{}", ran.out);
    assert_eq!(ran.err, "nearstone: 1 pairs of the truth have ids that the input lacks\n");
    let more = ["--compare", "web,chars:3", "--svg", "curves.svg"];
    let ran = shell.run(&[&arguments[..], &more].concat());
    assert!(ran.out.lines().last().unwrap().starts_with("chars:3 "), "{}", ran.out);
    assert!(shell.read("curves.svg").starts_with("<svg ") && shell.read("curves.svg").ends_with("</svg>\n"));
    let found = json(&shell.run(&[&arguments[..], &["--json"]].concat()).out);
    assert_eq!((found["analyser"].as_str(), found["best_distance"].as_u64()), (Some("web"), Some(0)));
    assert_eq!(found["missed"], json(r#"[["c", "e", null]]"#));
}

#[test]
fn what_cannot_be_evaluated_is_refused() {
    let shell = Shell::new();
    shell.file("in.jsonl", [line("a", FOX), line("b", CAT)].concat());
    shell.file("twice.jsonl", [line("a", FOX), line("a", CAT)].concat());
    shell.file("truth.tsv", "a\tb\n");
    shell.file("other.tsv", "x\ty\nv\tw\n");
    for (code, arguments) in [
        (2, &["evaluate", "--truth", "other.tsv", "in.jsonl"][..]),
        (2, &["evaluate", "--truth", "truth.tsv", "twice.jsonl"]),
        (2, &["evaluate", "--truth", "truth.tsv", "in.jsonl", "--compare", "web,none"]),
        (2, &["evaluate", "--truth", "truth.tsv", "in.jsonl", "--analyser", "web", "--compare", "web"]),
        (2, &["evaluate", "--truth", "truth.tsv", "-", "--compare", "web,short"]),
        (2, &["evaluate", "--truth", "truth.tsv", "in.jsonl", "--svg", "in.jsonl"]),
        (3, &["evaluate", "--truth", "truth.tsv", "in.jsonl", "--min-jaccard", "0.5"]),
        (3, &["evaluate", "--truth", "missing.tsv", "in.jsonl"]),
        (2, &["dedup", "in.jsonl", "--analyser", "web+shingle=0"]),
        (2, &["dedup", "in.jsonl", "--max-distance", "loose"]),
        (0, &["dedup", "in.jsonl", "--max-distance", "balanced"]),
    ] {
        assert_eq!(shell.run(arguments).code, code, "{arguments:?}");
    }
}

/// The best F1 of `web`, at the distance at which it is best, is at least that of docs/quality.md without its last digits.
#[test]
fn the_default_analyser_finds_the_pairs_of_real_texts() {
    let rows = [
        ("debian_descriptions", "near_pairs_w3_j08.tsv.gz", "0.8", "descriptions_en.jsonl.gz", 0.72),
        ("spdx_licenses", "near_pairs_w5_j03.tsv", "0.8", "licenses.jsonl.gz", 0.79),
        ("zh_poetry", "near_pairs_c3_j04.tsv.gz", "0.6", "poems.jsonl.gz", 0.93),
        ("zh_debian", "descriptions_near_pairs_c4_j04.tsv", "0.6", "descriptions_zh.jsonl.gz", 0.98),
    ];
    let shell = Shell::new();
    for (set, truth, min_jaccard, texts, goal) in rows {
        let Some(folder) = data(set) else { continue };
        let [truth, texts] = [truth, texts].map(|file| folder.join(file).to_str().unwrap().to_owned());
        let ran = shell.run(&["evaluate", "--truth", &truth, "--min-jaccard", min_jaccard, &texts, "--json"]);
        let found = json(&ran.out);
        let best = usize::try_from(found["best_distance"].as_u64().unwrap()).unwrap();
        let f1 = found["within"][best]["f1"].as_f64().unwrap();
        assert!(f1 >= goal, "{set}: {f1}");
    }
}

#[test]
fn fields_of_html_give_their_texts() {
    let shell = Shell::new();
    let page =
        |id: &str, menu: &str| format!("{{\"id\": \"{id}\", \"page\": \"<ul><li>{menu}</ul><p>{FOX}<p>{CAT}\"}}\n");
    shell.file("in.jsonl", [page("a", "Home"), page("b", "Home")].concat());
    shell.file("in.csv", format!("id,page\na,\"<p>{FOX}<br>{CAT}\"\n"));
    shell.file("plain.jsonl", line("a", &format!("{FOX} {CAT}")));
    let fingerprint = |arguments: &[&str]| {
        let ran = shell.run(&[&["fingerprint", "-q"], arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        json(ran.out.lines().next().unwrap())["fingerprint"].clone()
    };
    let plain = fingerprint(&["plain.jsonl"]);
    assert_eq!(fingerprint(&["in.csv", "--html-field", "page", "--html", "text"]), plain);
    assert_ne!(fingerprint(&["in.csv", "--text-field", "page"]), plain);
    let text = fingerprint(&["in.jsonl", "--html-field", "page", "--html", "text"]);
    assert_ne!(fingerprint(&["in.jsonl", "--html-field", "page", "--html", "off"]), text);
    // Lines are written as they were.
    let ran = shell.run(&["dedup", "in.jsonl", "--html-field", "page", "--store", "s"]);
    assert_eq!((ran.code, ran.out), (0, page("a", "Home")));
    assert_eq!(shell.run(&["load", "s", "in.jsonl", "--html-field", "page"]).code, 0);
    let ran = shell.run(&["query", "s", "--batch", "in.jsonl", "--html-field", "page"]);
    assert_eq!(ran.out.lines().count(), 4, "{}", ran.err);
    let ran = shell.run(&["fingerprint", "in.jsonl", "--html-field", "page", "--text-field", "page"]);
    assert_eq!(ran.code, 2);
}

#[test]
fn edits_need_no_truth() {
    let shell = Shell::new();
    let words: Vec<String> = (0..250).map(|i| format!("w{}", i * i % 127)).collect();
    shell.file("in.jsonl", [line("long", &words.join(" ")), line("short", FOX)].concat());
    let ran = shell.run(&["evaluate", "--edits", "in.jsonl", "--compare", "web,short"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("web: 1 texts of 200 words or more\n"), "{}", ran.out);
    assert_eq!(ran.out.lines().filter(|line| line.ends_with('%')).count(), 2 * 13, "{}", ran.out);
    let ran = shell.run(&["evaluate", "--edits", "in.jsonl", "--json"]);
    let object = json(&ran.out);
    assert_eq!((object["texts"].as_u64(), object["replaced"].as_array().unwrap().len()), (Some(1), 7));
    shell.file("short.jsonl", line("short", FOX));
    let ran = shell.run(&["evaluate", "--edits", "short.jsonl"]);
    assert!(ran.code == 2 && ran.err.contains("200 words"), "{}", ran.err);
    assert_eq!(shell.run(&["evaluate", "in.jsonl"]).code, 2, "neither truth nor edits");
}
