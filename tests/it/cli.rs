//! The command-line program: data on stdout, prose on stderr, exit codes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use flate2::write::GzEncoder;
use nearstone::{Options, TableDesign};

use crate::shell::{CAT, FOX, Shell, line};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn dedup_keeps_the_first_of_each_group_unchanged_and_in_order() {
    let shell = Shell::new();
    let (one, two, three, four) = (line("a", FOX), line("b", CAT), line("c", &FOX.to_uppercase()), line("d", "..."));
    shell.file("in.jsonl", format!("{one}\n{two}{three}{four}"));
    let ran = shell.run(&["dedup", "in.jsonl", "--duplicates", "d.jsonl"]);
    assert_eq!((ran.code, ran.out), (0, format!("{one}{two}{four}")));
    assert_eq!(shell.read("d.jsonl"), "{\"distance\":0,\"duplicate_of\":\"a\",\"id\":\"c\"}\n");
    for figure in ["documents         4", "kept              2", "duplicates        1 (1 with", "without features  1"] {
        assert!(ran.err.contains(figure), "{figure} in {}", ran.err);
    }
    // With a file for what is kept, nothing but prose is printed, and with --quiet not even that.
    let ran = shell.run(&["dedup", "in.jsonl", "--out", "kept.jsonl", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    assert_eq!(shell.read("kept.jsonl"), format!("{one}{two}{four}"));
    // The temporary store is removed, from runs that fail too.
    shell.file("tmp/keep", "");
    assert_eq!(shell.run(&["dedup", "in.jsonl", "--temp-dir", "tmp"]).code, 0);
    assert_eq!(shell.run(&["dedup", "in.jsonl", "missing", "--temp-dir", "tmp"]).code, 3);
    assert_eq!(fs::read_dir(shell.dir.path().join("tmp")).unwrap().count(), 1);
}

#[test]
fn every_way_to_bring_the_same_lines_gives_the_same_bytes() {
    let shell = Shell::new();
    let lines: Vec<String> = (0..2000).map(|i| line(&format!("{i}"), &format!("{FOX} {} {CAT}", i / 3))).collect();
    let text = lines.concat();
    let (head, tail) = text.split_at(lines[..700].concat().len());
    shell.file("plain.jsonl", &text);
    shell.file("no-end.jsonl", text.trim_end());
    shell.file("members.jsonl.gz", [gzip(head.as_bytes()), gzip(tail.as_bytes())].concat());
    shell.file("frames.jsonl.zst", [head, tail].map(|part| zstd::encode_all(part.as_bytes(), 3).unwrap()).concat());
    shell.file("one.ndjson", head);
    shell.file("two.ndjson", tail);
    let expected = shell.run(&["dedup", "plain.jsonl", "--threads", "1"]);
    assert!(expected.out.lines().count() > 100);
    for arguments in [
        &["dedup", "plain.jsonl", "--threads", "2"][..],
        &["dedup", "plain.jsonl", "--threads", "7"],
        &["dedup", "no-end.jsonl"],
        &["dedup", "members.jsonl.gz"],
        &["dedup", "frames.jsonl.zst"],
        &["dedup", "one.ndjson", "two.ndjson"],
    ] {
        let ran = shell.run(arguments);
        assert_eq!((ran.code, &ran.out), (0, &expected.out), "{arguments:?}");
    }
    for input in [text.as_bytes(), &gzip(text.as_bytes())] {
        assert_eq!(shell.run_with(&["dedup", "-"], input).out, expected.out);
    }
}

#[test]
fn a_second_file_is_deduplicated_against_the_first() {
    let shell = Shell::new();
    shell.file("monday.jsonl", line("a", FOX));
    shell.file("tuesday.jsonl", line("b", FOX) + &line("c", CAT));
    assert_eq!(shell.run(&["dedup", "monday.jsonl", "--store", "seen"]).out, line("a", FOX));
    let tuesday = shell.run(&["dedup", "tuesday.jsonl", "--store", "seen", "--duplicates", "d.jsonl"]);
    assert_eq!(tuesday.out, line("c", CAT));
    assert!(shell.read("d.jsonl").contains("\"duplicate_of\":\"a\""));
    // A run that is repeated gives the same output.
    let again = shell.run(&["dedup", "tuesday.jsonl", "--store", "seen"]);
    assert_eq!(again.out, line("c", CAT));
    assert!(again.err.contains("1 stored by an earlier run"), "{}", again.err);
}

#[test]
fn an_id_that_comes_twice_in_a_run() {
    let shell = Shell::new();
    shell.file("same.jsonl", line("a", FOX) + &line("a", FOX));
    // Each time, however short the time between the two.
    for _ in 0..40 {
        let ran = shell.run(&["dedup", "same.jsonl", "--duplicates", "d.jsonl"]);
        assert_eq!((ran.code, ran.out), (0, line("a", FOX)));
    }
    for _ in 0..2 {
        assert_eq!(shell.run(&["dedup", "same.jsonl", "--store", "s"]).out, line("a", FOX), "and when it is repeated");
    }
    assert!(shell.read("d.jsonl").contains("\"duplicate_of\":\"a\",\"id\":\"a\""));
    shell.file("other.jsonl", line("a", FOX) + &line("a", CAT));
    let ran = shell.run(&["dedup", "other.jsonl"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("other.jsonl:2: the id \"a\" has come before"), "{}", ran.err);
    let ran = shell.run(&["dedup", "other.jsonl", "--line-ids"]);
    assert_eq!((ran.code, ran.out), (0, line("a", FOX) + &line("a", CAT)));
}

#[test]
fn folders_are_read_in_the_order_of_their_names() {
    let shell = Shell::new();
    for (name, text) in
        [("d/b.txt", FOX), ("d/a/LICENSE", CAT), ("d/z.txt", CAT), ("d/skip.bin", "\0"), ("d/c.txt.gz", "")]
    {
        shell.file(name, text);
    }
    shell.file("d/c.txt.gz", gzip(FOX.as_bytes()));
    let ran = shell.run(&["dedup", "d", "--include", "*.txt*", "--include", "LICENSE", "--show-groups", "2"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "d/a/LICENSE\nd/b.txt\n"));
    assert!(ran.err.contains("1 near-duplicates of d/b.txt\n    d/c.txt.gz"), "{}", ran.err);
    // What the run writes below the folder is not read, nor what a killed run has left there.
    shell.file("d/.nearstone-left.txt", "left");
    let ran = shell.run(&["dedup", "d", "--include", "*.txt", "--out", "d/kept.txt", "--duplicates", "d/dup.txt"]);
    assert_eq!((ran.code, shell.read("d/kept.txt").as_str()), (0, "d/b.txt\nd/z.txt\n"), "{}", ran.err);
    let ran = shell.run(&["dedup", "d", "--out", "d/all.txt", "--skip-bad"]);
    assert!(shell.read("d/all.txt").lines().all(|line| !line.contains(".nearstone")), "{}", ran.err);
}

/// Each kind of bad input: one line that names the file and the line, and exit code 3; with --skip-bad
/// it is reported, counted and passed over.
#[test]
fn bad_input_is_named_and_passed_over_on_request() {
    let shell = Shell::new();
    let (good, last) = (line("good", FOX), line("last", CAT));
    let around = |bad: &[u8]| [good.as_bytes(), bad, b"\n", last.as_bytes()].concat();
    let long_id = line(&"x".repeat(1025), FOX);
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("json.jsonl", around(b"not json"), "json.jsonl:2: not a JSON object"),
        ("field.jsonl", around(b"{\"id\": 1}"), "field.jsonl:2: there is no field \"text\""),
        ("id.jsonl", around(long_id.trim_end().as_bytes()), "id.jsonl:2: the id has 1025 bytes"),
        ("utf8.jsonl", around(b"{\"id\": \"u\", \"text\": \"\xc3\x28\"}"), "utf8.jsonl:2: the record is not UTF-8"),
        (
            "long.jsonl",
            around(line("l", &"long ".repeat(1000)).trim_end().as_bytes()),
            "long.jsonl:2: the record is longer",
        ),
    ];
    for (name, content, message) in &rows {
        shell.file(name, content);
        let ran = shell.run(&["dedup", name, "--max-record-bytes", "4000"]);
        assert_eq!(ran.code, 3, "{name}");
        assert!(ran.err.starts_with("nearstone: ") && ran.err.contains(message), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        let ran = shell.run(&["dedup", name, "--max-record-bytes", "4000", "--skip-bad"]);
        assert_eq!((ran.code, ran.out), (0, format!("{good}{last}")), "{name}");
        assert!(ran.err.contains(message) && ran.err.contains("bad records       1"), "{}", ran.err);
    }
}

#[test]
fn bad_files_are_named_and_passed_over_on_request() {
    let shell = Shell::new();
    let lines: String = (0..3000).map(|i| line(&i.to_string(), &format!("{FOX} {i}{i} {CAT}"))).collect();
    let whole = gzip(lines.as_bytes());
    shell.file("cut.jsonl.gz", &whole[..whole.len() / 2]);
    shell.file("damaged.jsonl.zst", {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(lines.as_bytes()).unwrap();
        let mut bytes = encoder.finish().unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 8].fill(0xff);
        bytes
    });
    shell.file("empty.jsonl", "");
    shell.file("empty.txt", "");
    shell.file("blank.jsonl", "\n \n");
    shell.file("latin1.txt", b"caf\xe9");
    fs::create_dir(shell.dir.path().join("nothing")).unwrap();
    shell.file("good.jsonl", line("good", FOX));
    for (name, message) in [
        ("cut.jsonl.gz", "the gzip stream ends too early"),
        ("damaged.jsonl.zst", "the zstd stream is damaged"),
        ("empty.jsonl", "empty.jsonl: has no records"),
        ("empty.txt", "empty.txt: has no records"),
        ("blank.jsonl", "blank.jsonl: has no records"),
        ("latin1.txt", "latin1.txt: the record is not UTF-8 (byte 4 of it)"),
        ("missing.jsonl", "missing.jsonl: cannot be read"),
        ("nothing", "nothing: no file in this folder is wanted"),
    ] {
        let ran = shell.run(&["dedup", name, "good.jsonl", "--out", "out.jsonl"]);
        assert_eq!(ran.code, 3, "{name}: {}", ran.err);
        assert!(ran.err.contains(message) && ran.err.lines().count() == 1, "{name}: {}", ran.err);
        let ran = shell.run(&["dedup", name, "good.jsonl", "--out", "out.jsonl", "--skip-bad"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        assert!(ran.err.contains(message) && ran.err.contains("bad records       1"), "{name}: {}", ran.err);
        assert!(shell.read("out.jsonl").ends_with(&line("good", FOX)), "the next file was read");
    }
}

#[test]
fn a_line_of_100_mb_is_refused_in_bounded_memory() {
    let shell = Shell::new();
    shell.file("huge.jsonl", line("huge", &"x".repeat(100 << 20)) + &line("after", FOX));
    let ran = shell.run(&["dedup", "huge.jsonl"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("huge.jsonl:1: the record is longer than 67108864 bytes"), "{}", ran.err);
    assert_eq!(shell.run(&["dedup", "huge.jsonl", "--skip-bad"]).out, line("after", FOX));
    // And read where that is asked for.
    assert_eq!(shell.run(&["dedup", "huge.jsonl", "--max-record-bytes", "200000000"]).out.lines().count(), 2);
}

#[test]
fn output_over_input_is_refused_and_destroys_nothing() {
    let shell = Shell::new();
    let input = shell.file("in.jsonl", line("a", FOX));
    fs::hard_link(input, shell.dir.path().join("linked.jsonl")).unwrap();
    for arguments in [
        &["dedup", "in.jsonl", "--out", "in.jsonl"][..],
        &["dedup", "in.jsonl", "--out", "./in.jsonl"],
        &["dedup", "in.jsonl", "--duplicates", "in.jsonl"],
        &["dedup", "in.jsonl", "--out", "x", "--duplicates", "x"],
        &["dedup", "in.jsonl", "--out", "x", "--duplicates", "./x"],
        &["dedup", "in.jsonl", "--out", "linked.jsonl"],
    ] {
        let ran = shell.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert_eq!(shell.read("in.jsonl"), line("a", FOX));
    }
}

#[test]
fn a_store_from_the_shell() {
    let shell = Shell::new();
    shell.file("in.jsonl", line("a", FOX) + &line("b", CAT));
    let ran = shell.run(&["create", "s", "--blocks", "5"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("10 tables of 25-26 bits for distance 3"), "{}", ran.err);
    let ran = shell.run(&["add", "s", "in.jsonl"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("added 2, replaced 0"), "{}", ran.err);
    assert!(shell.run(&["add", "s", "in.jsonl"]).err.contains("added 0, replaced 2"));
    let ran = shell.run(&["query", "s", "--text", &FOX.to_lowercase()]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"distance\":0,\"id\":\"a\"}\n"));
    shell.file("cat.txt", CAT);
    assert_eq!(shell.run(&["query", "s", "--file", "cat.txt"]).out, "{\"distance\":0,\"id\":\"b\"}\n");
    assert_eq!(shell.run_with(&["query", "s", "--file", "-"], CAT.as_bytes()).out, "{\"distance\":0,\"id\":\"b\"}\n");
    let get = shell.run(&["get", "s", "a"]);
    let document: serde_json::Value = serde_json::from_str(&get.out).unwrap();
    let fingerprint = document["fingerprint"].as_str().unwrap();
    assert_eq!(
        shell.run(&["query", "s", "--fingerprint", fingerprint, "--max-distance", "0"]).out,
        "{\"distance\":0,\"id\":\"a\"}\n"
    );
    for arguments in [
        &["query", "s", "--text", "something else altogether"][..],
        &["query", "s", "--text", "?!"],
        &["get", "s", "c"],
    ] {
        let ran = shell.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
    }
    let stats: serde_json::Value = serde_json::from_str(&shell.run(&["stats", "s", "--json", "--count"]).out).unwrap();
    assert_eq!((stats["documents"].as_u64(), stats["tables"].as_u64()), (Some(2), Some(10)));
    assert!(shell.run(&["stats", "s"]).out.contains("10 tables"));
    assert_eq!(shell.run(&["delete", "s", "a", "c"]).code, 1, "c is not there");
    assert_eq!(shell.run(&["delete", "s", "b"]).code, 0);
    assert!(shell.run(&["stats", "s", "--count"]).out.contains("documents          0"));
}

#[test]
fn plan_lists_the_frontier_and_marks_the_pick() {
    let shell = Shell::new();
    let ran = shell.run(&["plan", "--documents", "100M"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for name in ["2x33", "4x1", "6x1"] {
        assert!(ran.out.contains(name), "{name} in {}", ran.out);
    }
    assert_eq!(ran.out.lines().filter(|line| line.starts_with('*')).count(), 1);
    assert_eq!(ran.err.trim().lines().count(), 1, "a sentence: {}", ran.err);
    let ran = shell.run(&[
        "plan",
        "--documents",
        "100000",
        "--max-distance",
        "2",
        "--also",
        "7:0.1",
        "--aim",
        "disk",
        "--json",
    ]);
    let plans: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let plans = plans["plans"].as_array().unwrap();
    assert_eq!(plans.iter().filter(|plan| plan["picked"] == true).count(), 1);
    assert!(plans.iter().all(|plan| plan["queries"].as_array().unwrap().len() == 2));
    for arguments in [
        &["plan", "--documents", "many"][..],
        &["plan", "--max-distance", "3"],
        &["plan", "--documents", "1M", "--skew", "nan"],
        &["plan", "--documents", "1M", "--skew=-1"],
        &["plan", "--documents", "1M", "--also", "12:0.9", "--also", "5:0.9"],
        &["plan", "--documents", "1M", "--also", "3:0.1"],
        &["create", "s", "--max-distance=17"],
        &["create", "s", "--design", "4", "--documents", "7"],
        &["doctor", "s", "--samples", "0"],
    ] {
        assert_eq!(shell.run(arguments).code, 2, "{arguments:?}");
    }
}

#[test]
fn plan_lists_bands_for_a_similarity() {
    let shell = Shell::new();
    let ran = shell.run(&["plan", "--similarity", "0.8"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.lines().any(|line| line.starts_with("* 13x7 ")), "{}", ran.out);
    assert!(ran.err.contains("13x7 is picked for 95 %") && ran.err.contains("0.035"), "{}", ran.err);
    let planned = |more: &[&str]| -> serde_json::Value {
        let ran = shell.run(&[&["plan", "--similarity", "0.8", "--json"], more].concat());
        serde_json::from_str(&ran.out).unwrap()
    };
    let plans = |more: &[&str]| planned(more)["plans"].as_array().unwrap().clone();
    let picked = |more: &[&str]| plans(more).iter().find(|plan| plan["picked"] == true).unwrap().clone();
    let of = |plan: &serde_json::Value, name: &str| plan[name].as_f64().unwrap();
    let plan = picked(&[]);
    assert_eq!(plans(&[]).iter().filter(|plan| plan["picked"] == true).count(), 1);
    assert!(of(&plan, "recall") >= 0.95 && planned(&[])["documents"] == 1_000_000);
    // More is found by laxer bands, and a thousand times the documents are a thousand times the candidates.
    let more = picked(&["--recall", "0.99"]);
    assert!(of(&more, "recall") >= 0.99 && of(&more, "candidate_rate") > of(&plan, "candidate_rate"));
    let many = picked(&["--documents", "1G"]);
    assert!((of(&many, "candidates") / of(&plan, "candidates") - 1000.0).abs() < 0.001);
    let fewer = picked(&["--max-candidates", "1000"]);
    assert!(of(&fewer, "bands") < of(&plan, "bands") && of(&fewer, "candidates") <= 1000.0);
    let ran = shell.run(&["plan", "--similarity", "0.5", "--max-candidates", "1"]);
    assert!(ran.err.contains("none keep to 1 unrelated"), "{}", ran.err);
    assert!(of(&picked(&["--rows", "256"]), "rows_per_band") > of(&plan, "rows_per_band"));
    assert!(of(&picked(&["--row-bits", "8"]), "candidates") > of(&plan, "candidates"));
    for arguments in [
        &["plan", "--similarity", "1.5"][..],
        &["plan", "--similarity", "nan"],
        &["plan", "--similarity", "0.8", "--max-distance", "3"],
        &["plan", "--similarity", "0.8", "--rows", "8"],
        &["plan", "--similarity", "0.8", "--row-bits", "7"],
        &["plan", "--similarity", "0.01"],
        &["plan", "--documents", "1M", "--recall", "0.9"],
        &["plan"],
    ] {
        assert_eq!(shell.run(arguments).code, 2, "{arguments:?}");
    }
}

#[test]
fn designs_by_name_and_what_queries_cost() {
    let shell = Shell::new();
    for (name, tables) in [
        ("4x1", "4 tables of 16 bits"),
        ("10", "10 tables of 25-26"),
        ("16", "16 tables of 28"),
        ("20", "20 tables of 31-33"),
        ("2x33", "2 tables of 32"),
    ] {
        let ran = shell.run(&["create", name, "--design", name]);
        assert!(ran.code == 0 && ran.err.contains(tables), "{}", ran.err);
    }
    let ran = shell.run(&["create", "auto", "--design", "auto", "--documents", "1M"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for arguments in [&["create", "x", "--design", "auto"][..], &["create", "x", "--design", "7x7"]] {
        assert_eq!(shell.run(arguments).code, 2, "{arguments:?}");
    }
    shell.file("in.jsonl", line("a", FOX) + &line("b", CAT));
    shell.run(&["add", "10", "in.jsonl"]);
    let ran = shell.run(&["query", "10", "--text", FOX, "--explain"]);
    assert_eq!(ran.out, "{\"distance\":0,\"id\":\"a\"}\n");
    assert_eq!(ran.err.lines().count(), 12, "a head, ten tables, and all: {}", ran.err);
    // The same sketch is found through each table; a probe each.
    assert!(ran.err.lines().skip(1).take(10).all(|line| line.split_whitespace().nth(3) == Some("1")), "{}", ran.err);
}

#[test]
fn doctor_says_what_it_found() {
    let shell = Shell::new();
    let lines: String =
        (0..1500).map(|i| line(&i.to_string(), &format!("page {i} about {} and {}", i * 7, i * 13))).collect();
    shell.file("in.jsonl", lines);
    shell.run(&["create", "s"]);
    shell.run(&["add", "s", "in.jsonl"]);
    let ran = shell.run(&["doctor", "s", "--samples", "10"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("0 missed, 0 wrong of 40") && ran.out.contains("dead bits           none"), "{}", ran.out);
    let ran = shell.run(&["doctor", "s", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((found["documents"].as_u64(), found["self_test"]["queries"].as_u64()), (Some(1500), Some(400)));
}

/// A run that fails leaves the output of the one before.
#[test]
fn an_output_is_replaced_only_by_a_finished_one() {
    let shell = Shell::new();
    shell.file("in.jsonl", line("a", FOX));
    shell.file("bad.jsonl", line("b", CAT) + "bad\n");
    assert_eq!(shell.run(&["dedup", "in.jsonl", "--out", "out.jsonl"]).code, 0);
    for arguments in [["dedup", "bad.jsonl", "--out", "out.jsonl"], ["dedup", "missing.jsonl", "--out", "out.jsonl"]] {
        assert_eq!(shell.run(&arguments).code, 3);
        assert_eq!(shell.read("out.jsonl"), line("a", FOX));
    }
    assert_eq!(fs::read_dir(shell.dir.path()).unwrap().count(), 3, "nothing is left beside it");
    assert_eq!(shell.run(&["dedup", "in.jsonl", "--out", "/dev/null"]).code, 0);
}

/// A page that changed takes the place of its earlier version, and the summary says so.
#[test]
fn a_changed_text_under_a_stored_id_is_kept_and_replaces_it() {
    let shell = Shell::new();
    shell.file("monday.jsonl", line("url", FOX));
    shell.file("tuesday.jsonl", line("url", CAT));
    shell.run(&["dedup", "monday.jsonl", "--store", "seen"]);
    let ran = shell.run(&["dedup", "tuesday.jsonl", "--store", "seen"]);
    assert_eq!(ran.out, line("url", CAT));
    assert!(ran.err.contains("1 in place of another text with the same id"), "{}", ran.err);
    let ran = shell.run_with(&["dedup", "-", "--store", "seen", "--line-ids"], b"");
    assert_eq!(ran.code, 2, "the lines of every standard input would have the same ids");
}

#[test]
fn the_store_is_no_input_of_its_own_run() {
    let shell = Shell::new();
    shell.file("d/a.txt", FOX);
    for _ in 0..2 {
        let ran = shell.run(&["dedup", "d", "--store", "d/seen"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "d/a.txt\n"), "{}", ran.err);
    }
}

#[test]
fn padded_and_parallel_compressed_files() {
    let shell = Shell::new();
    let text = line("a", FOX) + &line("b", CAT);
    shell.file("padded.jsonl.gz", [gzip(text.as_bytes()), vec![0; 1000]].concat());
    shell.file("junk.jsonl.gz", [gzip(text.as_bytes()), b"junk".to_vec()].concat());
    let skippable =
        [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4][..], &zstd::encode_all(text.as_bytes(), 3).unwrap()]
            .concat();
    shell.file("skippable.jsonl.zst", skippable);
    for name in ["padded.jsonl.gz", "skippable.jsonl.zst"] {
        let ran = shell.run(&["dedup", name]);
        assert_eq!((ran.code, &ran.out), (0, &text), "{name}: {}", ran.err);
    }
    let ran = shell.run(&["dedup", "junk.jsonl.gz", "--skip-bad"]);
    assert_eq!(ran.out, text);
    assert!(ran.err.contains("junk.jsonl.gz:3: the gzip stream is damaged (something else follows it)"), "{}", ran.err);
}

/// A record that cannot be used ends the run though its input is still open, and so does Ctrl-C.
#[test]
#[cfg(unix)]
fn a_run_ends_without_waiting_for_its_input() {
    let shell = Shell::new();
    let start = || {
        let mut command = shell.command(&["dedup", "-", "--store", "seen"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut child = start();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"bad\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    drop(stdin);
    let mut child = start();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(line("a", FOX).as_bytes()).unwrap();
    // What was kept is seen at once, though the input is still open.
    let mut kept = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut kept).unwrap();
    assert_eq!(kept, line("a", FOX));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8(output.stderr).unwrap().contains("repeat the run to go on"));
    drop(stdin);
    assert_eq!(shell.run(&["get", "seen", "a"]).code, 0, "what was read is stored");
}

/// Prose that nobody can read is no failure.
#[test]
#[cfg(target_os = "linux")]
fn a_full_standard_error_is_no_failure_and_a_full_output_is() {
    let shell = Shell::new();
    shell.file("in.jsonl", line("a", FOX));
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let output = shell.command(&["dedup", "in.jsonl"]).stderr(full()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), line("a", FOX).into_bytes()));
    let output = shell.command(&["dedup", "in.jsonl"]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write the standard output: No space left"));
}

#[test]
fn exit_codes() {
    let shell = Shell::new();
    shell.file("in.jsonl", line("a", FOX));
    shell.file("file", "text");
    assert_eq!(shell.run(&["create", "s"]).code, 0);
    let store =
        nearstone::SimhashStore::create(shell.dir.path().join("held"), &TableDesign::default(), &Options::default());
    for (code, arguments) in [
        (2, &["dedup"][..]),
        (2, &["dedup", "in.jsonl", "--max-distance", "13"]),
        (2, &["dedup", "in.jsonl", "--include", "["]),
        (2, &["dedup", "in.jsonl", "--threads", "100000"]),
        (2, &["dedup", "in.jsonl", "--max-distance", "13", "--store", "new"]),
        (2, &["create", "t", "--blocks", "3"]),
        (2, &["query", "s", "--fingerprint", "xyz"]),
        (2, &["query", "s", "--text", "text", "--max-distance", "17"]),
        (2, &["query", "s"]),
        (3, &["create", "s"]),
        (3, &["add", "missing", "in.jsonl"]),
        (3, &["dedup", "in.jsonl", "--out", "missing/out"]),
        (4, &["stats", "file"]),
        (4, &["dedup", "in.jsonl", "--store", "s", "--analyser", "web+shingle=3"]),
        (5, &["stats", "held"]),
        (5, &["dedup", "in.jsonl", "--store", "held"]),
        (0, &["--help"]),
        (0, &["dedup", "--help"]),
        (0, &["--version"]),
        (0, &["completions", "bash"]),
        (0, &["man"]),
    ] {
        let ran = shell.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.err);
        if code > 2 {
            assert!(ran.err.starts_with("nearstone: ") && ran.err.lines().count() == 1, "{}", ran.err);
        }
    }
    drop(store);
    assert!(!shell.dir.path().join("new").exists(), "nothing is created by a command that is refused");
}

/// `head` takes what it needs and goes: that is no failure.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let shell = Shell::new();
    let lines: String = (0..20_000).map(|i| line(&i.to_string(), &format!("{i} {FOX} {i}{i}"))).collect();
    shell.file("in.jsonl", lines);
    let mut child = shell
        .command(&["dedup", "in.jsonl", "--max-distance", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}
