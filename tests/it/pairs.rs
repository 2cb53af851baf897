//! All near pairs: of many values, of crowds, of real data; the program, its files and what is left of a killed run.
//!
//! That pairs are those of brute force for every design, distance and generation is tested beside the code, where
//! ranges can be made small.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nearstone::{Fingerprint, Options, PairOptions, SimhashStore, TableDesign};

use crate::common::{Random, Scratch, data, go_on, little, small};
use crate::real_data::gunzip;
use crate::shell::Shell;

fn threads(count: usize) -> PairOptions {
    PairOptions::new().threads(NonZeroUsize::new(count).unwrap())
}

fn load(store: &SimhashStore, values: &[u64]) {
    let mut loader = store.bulk_loader(&little().rows(0)).unwrap();
    loader.push_rows(&values.iter().map(|&value| Fingerprint::new(value)).collect::<Vec<_>>()).unwrap();
    loader.commit(go_on).unwrap();
}

/// Rows and distances, in order.
fn told(store: &SimhashStore, max_distance: u32, options: &PairOptions) -> Vec<(u64, u64, u32)> {
    let row = |id: Vec<u8>| u64::from_be_bytes(id.try_into().unwrap());
    let pairs = store.pairs(max_distance, options).unwrap().map(Result::unwrap);
    pairs.map(|pair| (row(pair.a), row(pair.b), pair.distance)).collect()
}

/// The same, in the order of the rows, by a join of another kind: in blocks of the last `bits` bits, in which alone they
/// differ, with everything that was found in memory.
fn reference(values: &[u64], bits: u32, max_distance: u32) -> Vec<(u64, u64, u32)> {
    let mut first: HashMap<u64, u64> = HashMap::new();
    let mut pairs = Vec::new();
    for (row, value) in (0u64..).zip(values) {
        let rep = *first.entry(*value).or_insert(row);
        if rep != row {
            pairs.push((rep, row, 0));
        }
    }
    let blocks = max_distance + 1;
    for block in 0..blocks {
        let [from, to] = [block, block + 1].map(|block| 64 - bits + bits * block / blocks);
        let mut buckets: HashMap<u64, Vec<u64>> = HashMap::new();
        for value in first.keys() {
            buckets.entry(value << from >> (64 - (to - from))).or_default().push(*value);
        }
        for bucket in buckets.values() {
            for (i, x) in bucket.iter().enumerate() {
                for y in &bucket[i + 1..] {
                    let distance = (x ^ y).count_ones();
                    if distance <= max_distance {
                        let (a, b) = (first[x], first[y]);
                        pairs.push((a.min(b), a.max(b), distance));
                    }
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn in_order(mut pairs: Vec<(u64, u64, u32)>) -> Vec<(u64, u64, u32)> {
    pairs.sort_unstable();
    pairs
}

/// Uniform values, of which every fourth is a copy of an earlier one with up to so many bits flipped.
fn planted(count: usize, flips: u32, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut values: Vec<u64> = Vec::new();
    while values.len() < count {
        let of = if values.len() % 4 == 3 { values.get(values.len() * 7 / 8) } else { None };
        let flips = u32::try_from(random.below(u64::from(flips) + 1)).unwrap();
        let value = match of.copied() {
            None => random.next(),
            Some(of) => random.flipped(of, flips),
        };
        values.push(value);
    }
    values
}

#[test]
fn many_values_over_many_ranges() {
    for design in ["4x1", "2x33"] {
        let values = planted(400_000, 6, 3);
        let scratch = Scratch::new();
        let store = scratch.create(&TableDesign::named(design, 3).unwrap());
        load(&store, &values);
        for distance in [1, 3, 5] {
            let found = told(&store, distance, &threads(1));
            assert!(found == told(&store, distance, &threads(3).memory_bytes(1)), "the order depends on nothing else");
            let expected = reference(&values, 64, distance);
            assert!(in_order(found) == expected, "{design} within {distance}");
        }
    }
}

#[test]
fn a_crowd_that_shares_a_prefix_is_joined_piece_by_piece() {
    // More than a piece holds, in one group of two of the tables.
    let mut random = Random(5);
    let values: Vec<u64> = (0..1_300_000).map(|_| random.next() >> 32 | 0xffff_0000 << 32).collect();
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    load(&store, &values);
    let found = told(&store, 1, &threads(2));
    assert!(found == told(&store, 1, &threads(1).memory_bytes(1)));
    let expected = reference(&values, 32, 1);
    assert!(expected.len() > 5_000, "{}", expected.len());
    assert!(in_order(found) == expected);
}

/// Two fingerprints of a hundred thousand documents each: held in parts, and told in a stream.
#[test]
fn crowds_of_one_fingerprint() {
    let values: Vec<u64> = (0..200_000).map(|n| if n % 2 == 0 { 7 } else { 6 }).collect();
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    load(&store, &values);
    let found = told(&store, 3, &PairOptions::new());
    assert_eq!(found.len(), 99_999 * 2 + 1);
    assert!(found[..99_999].iter().zip(1..).all(|(pair, n)| *pair == (1, 2 * n + 1, 0)));
    assert_eq!(found.last(), Some(&(0, 1, 1)));
    let mut pairs = store.pairs(3, &PairOptions::new().expand(true)).unwrap();
    // There are 20 thousand million of them, and they begin at once.
    let first: Vec<_> = pairs.by_ref().take(100_000).map(Result::unwrap).collect();
    assert!(first.iter().all(|pair| pair.distance == 0 && pair.a < pair.b));
    let mut distinct = first.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), first.len());
}

/// The rows of a set with truth: default pairs at a distance are those of the truth, and expanded ones all.
fn agrees_with_truth(values: &[u64], pairs: &[u8], equal: Option<u64>) {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    load(&store, values);
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let mut truth: Vec<(u64, u64, u32)> = std::str::from_utf8(pairs)
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let (a, b) = (hex(columns[0]), hex(columns[1]));
            (a.min(b), a.max(b), columns[2].parse().unwrap())
        })
        .collect();
    truth.sort_unstable();
    let value = |row: u64| values[usize::try_from(row).unwrap()];
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for value in values {
        *counts.entry(*value).or_default() += 1;
    }
    let found = told(&store, 3, &PairOptions::new());
    let (same, near): (Vec<_>, Vec<_>) = found.into_iter().partition(|pair| pair.2 == 0);
    assert!(same.iter().all(|(a, b, _)| value(*a) == value(*b)));
    assert_eq!(same.len(), values.len() - counts.len());
    let near = near.into_iter().map(|(a, b, d)| (value(a).min(value(b)), value(a).max(value(b)), d));
    assert!(in_order(near.collect()) == truth);
    // Each pair of documents: counted, there are millions.
    let mut by_distance = [0u64; 4];
    for pair in store.pairs(3, &PairOptions::new().expand(true)).unwrap().map(Result::unwrap) {
        by_distance[pair.distance as usize] += 1;
    }
    let mut expected = [0; 4];
    expected[0] = counts.values().map(|count| count * (count - 1) / 2).sum();
    for (a, b, distance) in truth {
        expected[distance as usize] += counts[&a] * counts[&b];
    }
    assert_eq!(by_distance, expected);
    assert!(equal.is_none_or(|equal| equal == expected[0]));
}

#[test]
fn real_fingerprints_have_the_pairs_of_the_truth() {
    let Some(folder) = data("fingerprints") else { return };
    for (set, equal) in [("debian", None), ("pypi", Some(25_425_590))] {
        let bytes = gunzip(&folder.join(format!("{set}_simhash64.u64le.gz")));
        let values: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        agrees_with_truth(&values, &gunzip(&folder.join(format!("{set}_pairs_d3.tsv.gz"))), equal);
    }
}

#[test]
fn a_store_that_is_open_read_only_and_one_without_documents() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    assert_eq!(told(&store, 16, &PairOptions::new()), []);
    load(&store, &[1, 3, u64::MAX]);
    drop(store);
    let store = SimhashStore::open_read_only(scratch.path(), &small()).unwrap();
    assert_eq!(told(&store, 16, &PairOptions::new()), [(0, 1, 1)]);
}

/// A store in the shell's directory.
fn store(shell: &Shell, name: &str, documents: &[(&[u8], u64)]) {
    let store = SimhashStore::create(shell.dir.path().join(name), &TableDesign::default(), &Options::new()).unwrap();
    for (id, bits) in documents {
        store.insert(id, &Fingerprint::new(*bits)).unwrap();
    }
}

#[test]
fn the_program_lists_pairs_in_every_format() {
    let shell = Shell::new();
    let row = 9u64.to_be_bytes();
    store(&shell, "s", &[(b"a", 0), (b"b", 0), (b"c", 0), (b"tab\tquote\"", 1), (&row, 1 << 40)]);
    let ran = shell.run(&["pairs", "s", "--quiet"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("a\tb\t0\na\tc\t0\n"), "{}", ran.out);
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2 + 3, "{lines:?}");
    assert!(lines.contains(&"a\t\"tab\tquote\"\"\"\t1") && lines.contains(&"9\ta\t1"), "{lines:?}");
    let ran = shell.run(&["pairs", "s", "--format", "jsonl", "-d", "2"]);
    assert!(ran.out.starts_with("{\"a\":\"a\",\"b\":\"b\",\"distance\":0}\n"), "{}", ran.out);
    assert!(ran.out.contains("{\"a\":9,\"b\":\"a\",\"distance\":1}\n"), "{}", ran.out);
    assert!(ran.err.contains("pairs in"), "{}", ran.err);
    store(&shell, "bytes", &[(b"a", 0), (b"\xff\x00", 3)]);
    let ran = shell.run(&["pairs", "bytes", "--format", "jsonl"]);
    assert_eq!(ran.out, "{\"a\":\"a\",\"b_hex\":\"ff00\",\"distance\":2}\n");
    // Three of one fingerprint with two others, which are as near each other as before.
    let ran = shell.run(&["pairs", "s", "--expand", "-o", "all.tsv"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(shell.read("all.tsv").lines().count(), 3 + 6 + 1);
    assert!(!shell.dir.path().join("all.tsv.part").exists() && !shell.dir.path().join("all.tsv.part.state").exists());

    store(&shell, "t", &[(b"x", 0), (b"y", 0b111), (b"z", 0)]);
    let ran = shell.run(&["pairs", "s", "--with", "t", "-d", "0"]);
    assert_eq!(ran.out, "a\tx\t0\n");
    let ran = shell.run(&["pairs", "s", "--with", "t", "-d", "0", "--expand"]);
    assert_eq!(ran.out, "a\tx\t0\na\tz\t0\nb\tx\t0\nb\tz\t0\nc\tx\t0\nc\tz\t0\n");
}

#[test]
fn what_the_program_cannot_do_is_refused_by_name() {
    let shell = Shell::new();
    store(&shell, "s", &[(b"a", 0), (b"b", 1)]);
    let other = TableDesign::choose(5, 3).unwrap();
    drop(SimhashStore::create(shell.dir.path().join("other"), &other, &Options::new()).unwrap());
    for (arguments, code, why) in [
        (&["pairs", "missing"][..], 3, "no store at missing"),
        (&["pairs", "s", "-d", "17"], 2, "max distance 17 is larger than 16"),
        (&["pairs", "s", "--with", "other"], 2, "s has 4 tables of 16 bits for distance 3, other has 10 tables"),
        (&["pairs", "s", "--with", "s/"], 2, "--with names the store itself"),
        (&["pairs", "s", "--resume"], 2, "--resume goes on with a file: name it with -o"),
        (&["pairs", "s", "-o", "p.tsv", "--resume"], 2, "there is no run to go on with, p.tsv.part.state is missing"),
        (&["pairs", "s", "-o", "s/p.tsv"], 2, "is in the folder of the store"),
        (&["pairs", "s", "-o", "nowhere/p.tsv"], 3, "cannot write nowhere/p.tsv"),
    ] {
        let ran = shell.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(why), "{arguments:?}: {}", ran.err);
    }
}

/// Kills runs at any time, and goes on until one ends: the file is that of a run that was not disturbed.
#[test]
fn a_killed_run_is_gone_on_with() {
    let shell = Shell::new();
    let values = planted(300_000, 3, 11);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    shell.file("values.u64", bytes);
    assert_eq!(shell.run(&["create", "s"]).code, 0);
    assert_eq!(shell.run(&["load", "s", "values.u64", "-q"]).code, 0);
    let command = ["pairs", "s", "-q", "-t", "1", "-o", "p.tsv"];
    assert_eq!(shell.run(&command).code, 0);
    let whole = shell.read("p.tsv");
    assert!(whole.lines().count() > 50_000);
    let exists = |name: &str| shell.dir.path().join(name).exists();
    let mut random = Random(1);
    let (mut killed, mut gone_on) = (0, 0);
    for _ in 0..6 {
        std::fs::remove_file(shell.dir.path().join("p.tsv")).unwrap();
        for attempt in 0.. {
            let mut command = command.to_vec();
            if exists("p.tsv.part.state") {
                command.push("--resume");
                gone_on += 1;
            }
            let mut child = shell.command(&command).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(random.below(80) * (1 + attempt / 10)));
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            if output.status.success() {
                break;
            }
            assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
            killed += 1;
            // What was written beyond the state is cut off, and so is what is not of us.
            if exists("p.tsv.part") {
                let part = std::fs::OpenOptions::new().append(true).open(shell.dir.path().join("p.tsv.part"));
                std::io::Write::write_all(&mut part.unwrap(), b"torn").unwrap();
            }
        }
        assert!(shell.read("p.tsv") == whole);
        assert!(!exists("p.tsv.part") && !exists("p.tsv.part.state"));
    }
    println!("{killed} killed, {gone_on} gone on with");
    assert!(killed > 5 && gone_on > 0, "{killed} killed, {gone_on} gone on with");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_ends_with_130_and_is_gone_on_with_only_as_it_was() {
    let shell = Shell::new();
    // Each is within 12 bits of most others: much more than can be told in the time.
    let mut random = Random(2);
    let values: Vec<u64> = (0..60_000).map(|_| random.next() & 0xffff_ff00).collect();
    shell.file("values.u64", values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    assert_eq!(shell.run(&["create", "s"]).code, 0);
    assert_eq!(shell.run(&["load", "s", "values.u64", "-q"]).code, 0);
    let child = shell.command(&["pairs", "s", "-q", "-d", "12", "-o", "p.tsv"]).stderr(Stdio::piped()).spawn().unwrap();
    while !shell.dir.path().join("p.tsv.part.state").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(child.id());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("--resume goes on where it was"), "{told}");
    assert!(!shell.dir.path().join("p.tsv").exists());
    let refused = |arguments: &[&str], why: &str| {
        let ran = shell.run(&[&["pairs", "s", "-o", "p.tsv", "--resume"], arguments].concat());
        assert!(ran.code == 2 && ran.err.contains(why) && ran.err.lines().count() == 1, "{}", ran.err);
    };
    refused(&["-d", "11"], "max distance 12, asked for 11");
    refused(&["-d", "12", "--expand"], "expanded pairs: no, asked for yes");
    refused(&["-d", "12", "--format", "jsonl"], "--format Tsv, asked for JsonLines");
    assert_eq!(shell.run(&["delete", "s", "--row", "7"]).code, 0);
    refused(&["-d", "12"], "has changed since");
}

#[cfg(unix)]
fn interrupt(process: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    kill_process(Pid::from_raw(i32::try_from(process).unwrap()).unwrap(), Signal::INT).unwrap();
}

/// Nothing of a store that is searched for pairs is written.
#[test]
fn the_store_is_as_it_was() {
    let shell = Shell::new();
    store(&shell, "s", &[(b"a", 0), (b"b", 1)]);
    let files = |path: &Path| {
        let mut files: Vec<_> = std::fs::read_dir(path)
            .unwrap()
            .map(|file| file.unwrap())
            .map(|f| (f.file_name(), f.metadata().unwrap().len()))
            .collect();
        files.sort();
        files
    };
    let before = files(&shell.dir.path().join("s"));
    assert_eq!(shell.run(&["pairs", "s", "-q"]).out, "a\tb\t1\n");
    assert_eq!(files(&shell.dir.path().join("s")), before);
}
