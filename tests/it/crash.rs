//! Killed processes and full disks: what was acknowledged stays, and the store opens.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nearstone::{Fingerprint, SimhashStore, TableDesign};

use crate::common::{Random, Scratch, small};

const CHILD: &str = "NEARSTONE_TEST_CHILD_STORE";

/// The sketch of the n-th document: every fourth is replaced later, every fifth deleted.
fn sketch(n: u64) -> Fingerprint {
    Fingerprint::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// What the child does when it is started as such: writes, and says what was acknowledged.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = SimhashStore::open_or_create(path, &TableDesign::default(), &small()).unwrap();
    let begin = store.iter().unwrap().count() as u64 * 2;
    let flushes = std::env::var_os("NEARSTONE_TEST_CHILD_FLUSHES").is_none();
    let mut out = std::io::stdout().lock();
    for n in begin.. {
        let id = n.to_be_bytes();
        match n % 3 {
            0 => drop(store.insert(id, &sketch(n)).unwrap()),
            1 => assert!(store.check_and_insert(id, &sketch(n), 3).unwrap().is_admitted()),
            _ => {
                store.insert(id, &sketch(n + (1 << 40))).unwrap();
                store.insert(id, &sketch(n)).unwrap();
            }
        }
        if n % 5 == 4 {
            store.delete(id).unwrap();
        }
        if n % 97 == 0 && flushes {
            store.flush().unwrap();
        }
        // Whole lines, each in one write: the parent reads no half of one.
        out.write_all(format!("acknowledged {n}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    }
}

/// Tables, holders and documents agree: every document is found by its sketch, and nothing else is.
fn assert_consistent(path: &Path, acknowledged: &[u64]) {
    let store = SimhashStore::open(path, &small()).unwrap();
    for document in store.iter().unwrap() {
        let document = document.unwrap();
        let found = store.query(&document.sketch, 0).unwrap();
        assert!(found.iter().any(|m| m.id == document.id), "{:?} is not found", document.id);
        for m in &found {
            assert_eq!(store.get(&m.id).unwrap().unwrap().sketch, document.sketch, "a stale holder");
        }
    }
    for &n in acknowledged {
        let stored = store.get(n.to_be_bytes()).unwrap().map(|document| document.sketch);
        assert_eq!(stored, (n % 5 != 4).then(|| sketch(n)), "document {n}");
        assert!(store.query(&sketch(n + (1 << 40)), 0).unwrap().is_empty(), "a replaced sketch of {n}");
    }
}

/// The documents that a child says were acknowledged.
fn acknowledgements(stdout: impl Read) -> impl Iterator<Item = u64> {
    // The harness prints the name of the test before the first line of the child.
    let lines = BufReader::new(stdout).lines().map_while(Result::ok);
    lines.filter_map(|line| line.split_once("acknowledged ").map(|(_, n)| n.parse().unwrap()))
}

#[test]
fn acknowledged_documents_survive_a_killed_process() {
    let scratch = Scratch::new();
    let mut random = Random(std::process::id().into());
    let mut acknowledged = Vec::new();
    for round in 0..36 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::child", "--exact", "--nocapture"])
            .env(CHILD, scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let killer = std::thread::spawn({
            // The first ones are hit while the store is created.
            let wait = Duration::from_millis(if round < 20 { round * 3 } else { 20 + random.below(120) });
            move || {
                std::thread::sleep(wait);
                child.kill().unwrap();
                child.wait().unwrap();
            }
        });
        acknowledged.extend(acknowledgements(stdout));
        killer.join().unwrap();
        if acknowledged.is_empty() {
            drop(SimhashStore::open_or_create(scratch.path(), &TableDesign::default(), &small()).unwrap());
        }
        assert_consistent(&scratch.path(), &acknowledged);
    }
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
}

/// A limit on the size of files stands for a full disk: a write fails with the error for it, and all that
/// was acknowledged before is there when the store is opened again.
#[test]
#[cfg(unix)]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let scratch = Scratch::new();
    // 256 KiB for each file, and no signal when it is reached but an error.
    let script = "trap '' XFSZ; ulimit -f 512; exec \"$0\" crash::child --exact --nocapture";
    let output = Command::new("sh")
        .args(["-c", script, std::env::current_exe().unwrap().to_str().unwrap()])
        .env(CHILD, scratch.path())
        .env("NEARSTONE_TEST_CHILD_FLUSHES", "never")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!((out + &err).contains("DiskFull"), "{err}");
    let acknowledged: Vec<u64> = acknowledgements(output.stdout.as_slice()).collect();
    assert!(acknowledged.len() > 500, "{}", acknowledged.len());
    assert_consistent(&scratch.path(), &acknowledged);
    scratch.open().insert("more", &Fingerprint::new(7)).unwrap();
}
