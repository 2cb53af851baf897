//! The commands that keep a store: copies, faults, expiry; and what an interrupted run leaves.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use nearstone::{Durability, Fingerprint, Options, SimhashStore, TableDesign};

use crate::shell::{CAT, FOX, Shell, line};

#[test]
fn copies_are_stores_and_verified_ones_are_sound() {
    let shell = Shell::new();
    shell.file("in.jsonl", line("a", FOX) + &line("b", CAT));
    assert_eq!(shell.run(&["dedup", "in.jsonl", "--store", "seen", "--out", "kept", "-q"]).code, 0);
    let ran = shell.run(&["checkpoint", "seen", "copy"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    assert_eq!(shell.run(&["query", "copy", "--text", FOX]).code, 0);
    let ran = shell.run(&["checkpoint", "seen", "copy"]);
    assert!(ran.code == 3 && ran.err.contains("a store already exists at copy"), "{}", ran.err);
    for name in ["seen", "copy"] {
        let ran = shell.run(&["verify", name]);
        assert_eq!(ran.code, 0, "{}", ran.out);
        assert!(ran.out.starts_with("documents") && ran.out.ends_with("sound\n") && ran.err.is_empty(), "{}", ran.out);
        let ran = shell.run(&["verify", name, "--json"]);
        let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(
            (&found["sound"], &found["documents"], &found["missing_entries"]),
            (&true.into(), &2.into(), &0.into())
        );
    }
    let ran = shell.run(&["repair", "copy"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, "tables and holders made anew, documents: 2\n"));
    assert_eq!(shell.run(&["query", "copy", "--text", FOX]).code, 0);
}

/// A store that has lost a table's file does not open; the error says what to do, and that does it.
#[test]
fn a_store_that_lost_a_file_is_repaired_as_its_error_says() {
    let shell = Shell::new();
    let documents: String = (0..50).map(|n| line(&n.to_string(), &format!("{FOX} {n} {n} {n}"))).collect();
    shell.file("in.jsonl", documents);
    shell.run(&["create", "seen"]);
    assert_eq!(shell.run(&["add", "seen", "in.jsonl", "-q"]).code, 0);
    let files = fs::read_dir(shell.dir.path().join("seen")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|e| e == "sst")).collect();
    files.sort();
    // Of the last family: a table.
    fs::remove_file(files.last().unwrap()).unwrap();
    let ran = shell.run(&["stats", "seen"]);
    assert!(ran.code == 4 && ran.err.contains("repair it (nearstone repair"), "{}", ran.err);
    assert_eq!(shell.run(&["repair", "seen"]).code, 0);
    assert_eq!(shell.run(&["verify", "seen"]).code, 0);
    assert!(shell.run(&["doctor", "seen"]).out.contains("0 missed, 0 wrong"));
}

#[test]
fn documents_expire() {
    let shell = Shell::new();
    shell.file("in.jsonl", line("a", FOX));
    assert_eq!(shell.run(&["create", "kept"]).code, 0);
    let ran = shell.run(&["expire", "kept"]);
    assert!(ran.code == 2 && ran.err.contains("never expire"), "{}", ran.err);
    assert_eq!(shell.run(&["create", "gone", "--retention", "1ms"]).code, 0);
    let ran = shell.run(&["create", "later", "--retention", "30days"]);
    assert!(ran.code == 0 && ran.err.ends_with("; documents expire after 30days\n"), "{}", ran.err);
    assert!(shell.run(&["stats", "later"]).out.ends_with("documents expire   after 30days\n"));
    assert!(shell.run(&["stats", "later", "--json"]).out.contains("\"retention_millis\":2592000000"));
    assert!(!shell.run(&["stats", "kept"]).out.contains("expire"));
    for store in ["gone", "later"] {
        assert_eq!(shell.run(&["add", store, "in.jsonl", "-q"]).code, 0);
    }
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(shell.run(&["query", "gone", "--text", FOX]).code, 1);
    assert_eq!(shell.run(&["get", "gone", "a"]).code, 1);
    assert_eq!(shell.run(&["query", "later", "--text", FOX]).code, 0);
    assert_eq!(shell.run(&["expire", "gone"]).err, "expired documents removed: 1\n");
    assert_eq!(shell.run(&["expire", "later"]).err, "expired documents removed: 0\n");
    assert_eq!(shell.run(&["create", "other", "--retention", "soon"]).code, 2);
}

#[test]
fn a_payload_is_shown() {
    let shell = Shell::new();
    let options = Options::new().durability(Durability::Power);
    let store = SimhashStore::create(shell.dir.path().join("seen"), &TableDesign::default(), &options).unwrap();
    store.insert_with("text", &Fingerprint::new(1), b"crawl 7").unwrap();
    store.insert_with("bytes", &Fingerprint::new(2), &[0xff, 0]).unwrap();
    drop(store);
    assert!(shell.run(&["get", "seen", "text"]).out.contains("\"payload\":\"crawl 7\""));
    assert!(shell.run(&["get", "seen", "bytes"]).out.contains("\"payload_hex\":\"ff00\""));
}

/// Ctrl-C while the input is a slow pipe: what was read is stored and written, the store is sound, and the
/// exit code says what happened.
#[test]
#[cfg(unix)]
fn ctrl_c_deals_with_what_was_read() {
    let shell = Shell::new();
    let mut child = shell
        .command(&["dedup", "-", "--store", "seen"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut kept = String::new();
    for (id, text) in [("a", FOX), ("b", CAT)] {
        input.write_all(line(id, text).as_bytes()).unwrap();
        kept.clear();
        output.read_line(&mut kept).unwrap();
        assert_eq!(kept, line(id, text));
    }
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stderr));
    drop(input);
    let ran = shell.run(&["verify", "seen"]);
    assert!(ran.code == 0 && ran.out.contains("documents                                 2"), "{}", ran.out);
}
