//! Analysers that look into tables, and take parts of texts: what they compute, and how stores keep them.

use std::sync::Arc;

use nearstone::{Analyser, ErrorKind, Frequencies, FrequencyCounter, Simhash, SimhashStore, TableDesign};

use crate::common::{Scratch, small};
use crate::shell::{CAT, FOX, Shell, line};

/// The corpus of the tables behind the golden fingerprints.
const CORPUS: [&str; 4] = [
    "All rights reserved\nThe river has risen by two metres since Monday. Read on.",
    "All rights reserved\nThe museum of clocks opens its doors again on Sunday: 博物館開放.",
    "All  rights reserved \nThe river has fallen again. Read on.",
    "Imprint\nWarranty is void where the river has risen: 博物館沒有開放.",
];

fn features(analyser: &Analyser) -> Arc<Frequencies> {
    let mut counter = FrequencyCounter::of_features(analyser);
    for text in CORPUS {
        counter.add(analyser.distinct_features(text)).unwrap();
    }
    Arc::new(counter.finish().unwrap())
}

fn lines() -> Arc<Frequencies> {
    let mut counter = FrequencyCounter::of_lines();
    for text in CORPUS {
        counter.add(Frequencies::lines_of(text)).unwrap();
    }
    Arc::new(counter.finish().unwrap())
}

/// The analyser of a specification, with tables of the corpus; none where this build lacks a feature for it.
fn find(specification: &str) -> Option<Analyser> {
    let unweighted: Vec<&str> = specification.split('+').filter(|part| !part.ends_with("idf")).collect();
    let unweighted = match Analyser::with_tables(&unweighted.join("+"), &[lines()]) {
        Err(e) if e.to_string().contains("needs a build with the feature") => return None,
        found => found.unwrap(),
    };
    Some(Analyser::with_tables(specification, &[lines(), features(&unweighted)]).unwrap())
}

fn analyser(specification: &str) -> Analyser {
    find(specification).unwrap()
}

#[test]
fn fingerprints_of_parts_stay_as_they_are() {
    let table = include_str!("../data/fingerprints-parts-1.tsv");
    let (mut rows, mut wrong) = (0, vec![]);
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = row.split('\t');
        let (specification, text) = (columns.next().unwrap(), columns.next_back().unwrap());
        let text_of: String = serde_json::from_str(text).unwrap();
        let Some(analyser) = find(specification) else { continue };
        let found = Simhash::new(analyser).fingerprint(&text_of);
        let found = format!("{specification}\t{}\t{text}", found.map_or("none".to_owned(), |f| f.to_string()));
        if found != row {
            wrong.push(found);
        }
        rows += 1;
    }
    assert!(wrong.is_empty() && rows >= 12, "{rows} rows, of which these differ:\n{}", wrong.join("\n"));
}

#[test]
fn a_store_keeps_the_tables_of_its_analyser() {
    let text = "The river has risen again.\nAll rights reserved\nRead on, dear reader.";
    let specifications = [
        "web+weights=idf",
        "web+common-lines=1",
        "short+weights=log-idf+common-lines=2+sentences=2",
        "web+stop=auto+stem=en+weights=idf",
    ];
    for specification in specifications {
        let (scratch, analyser) = (Scratch::new(), analyser(specification));
        let options = small().analyser(analyser.clone());
        let store = SimhashStore::create(scratch.path(), &TableDesign::default(), &options).unwrap();
        let fingerprint = store.fingerprint(text).unwrap().unwrap();
        assert_eq!(Simhash::new(analyser.clone()).fingerprint(text), Some(fingerprint));
        let plain = Simhash::new(specification.split('+').next().unwrap().parse().unwrap());
        assert_ne!(plain.fingerprint(text), Some(fingerprint), "{specification}");
        let copy = scratch.dir.path().join("copy");
        store.checkpoint(&copy).unwrap();
        drop(store);
        // Without the table at hand, writing and reading.
        assert_eq!(scratch.open().analyser(), Some(&analyser));
        for path in [&scratch.path(), &copy] {
            let store = SimhashStore::open_read_only(path, &small()).unwrap();
            assert_eq!(store.analyser(), Some(&analyser));
            assert_eq!(store.fingerprint(text).unwrap(), Some(fingerprint));
        }
        assert!(SimhashStore::open(scratch.path(), &options).is_ok());
        let identity = format!("{:016x}", analyser.frequencies().next().unwrap().identity());
        assert!(analyser.to_string().contains(&identity));
        let error = SimhashStore::open(scratch.path(), &small().analyser(Analyser::default())).unwrap_err();
        assert!(error.kind() == ErrorKind::Mismatch && error.to_string().contains(&identity), "{error}");
        SimhashStore::repair(scratch.path(), &small(), crate::common::go_on).unwrap();
        assert_eq!(scratch.open().analyser(), Some(&analyser), "after a repair");
    }
}

/// What has become of a table is said, verification finds it, and the store goes on with the file of the table or without
/// its analyser.
#[test]
fn tables_that_rot_in_a_store_are_named() {
    type Change = fn(Vec<u8>) -> Option<Vec<u8>>;
    let rows: [(Change, ErrorKind, &str); 4] = [
        (|_| None, ErrorKind::Corrupt, "it is missing"),
        (|table| Some(table[..40].to_vec()), ErrorKind::Corrupt, "its checksum is wrong"),
        (|_| Some(lines().to_bytes()), ErrorKind::Corrupt, "it is another one"),
        (
            |mut table| {
                table[9] = 7;
                Some(table)
            },
            ErrorKind::Mismatch,
            "a table of frequencies of the version 7, asked for 1",
        ),
    ];
    for (change, kind, why) in rows {
        let (scratch, analyser) = (Scratch::new(), analyser("web+weights=idf"));
        let options = small().analyser(analyser.clone());
        let store = SimhashStore::create(scratch.path(), &TableDesign::default(), &options).unwrap();
        store.insert("fox", &store.fingerprint(FOX).unwrap().unwrap()).unwrap();
        assert!(store.verify(crate::common::go_on).unwrap().is_sound());
        drop(store);
        let names = rocksdb::DB::list_cf(&rocksdb::Options::default(), scratch.path()).unwrap();
        let database = rocksdb::DB::open_cf(&rocksdb::Options::default(), scratch.path(), &names).unwrap();
        let from = rocksdb::IteratorMode::From(b"frequencies.", rocksdb::Direction::Forward);
        let (key, table) = database.iterator(from).next().unwrap().unwrap();
        assert!(key.starts_with(b"frequencies."));
        match change(table.into_vec()) {
            Some(table) => database.put(key, table).unwrap(),
            None => database.delete(key).unwrap(),
        }
        drop(database);

        let error = SimhashStore::open(scratch.path(), &small()).unwrap_err();
        let text = error.to_string();
        assert!(error.kind() == kind && text.contains(why) && text.contains("sketches_only"), "{text}");
        assert!(!text.contains("nearstone repair"), "{text}");
        let store = SimhashStore::open(scratch.path(), &small().sketches_only()).unwrap();
        let found = store.verify(crate::common::go_on).unwrap();
        assert!(!found.is_sound() && found.unusable_tables == 1 && found.malformed == 0, "{found:?}");
        assert!(found.examples[0].contains(why), "{:?}", found.examples);
        drop(store);
        let store = SimhashStore::open(scratch.path(), &options).unwrap();
        let fingerprint = store.fingerprint(FOX).unwrap().unwrap();
        assert_eq!(store.query(&fingerprint, 0).unwrap().len(), 1);
    }
}

/// A table of two parts of the database.
#[test]
fn a_large_table_comes_back_from_a_store() {
    let scratch = Scratch::new();
    let analyser = Analyser::default();
    let mut counter = FrequencyCounter::of_features(&analyser).least_documents(1);
    counter.add((0..600_000u64).map(|i| nearstone::feature_hash(&i.to_string())).collect()).unwrap();
    let analyser = analyser.idf(Arc::new(counter.finish().unwrap()));
    let options = small().analyser(analyser.clone());
    drop(SimhashStore::create(scratch.path(), &TableDesign::default(), &options).unwrap());
    assert_eq!(scratch.open().analyser(), Some(&analyser));
}

#[test]
fn the_program_makes_tables_and_stores_keep_them() {
    let shell = Shell::new();
    shell.file("in.jsonl", [line("fox", FOX), line("cat", CAT), line("again", FOX), line("none", "?")].concat());
    let ran = shell.run(&["idf", "in.jsonl", "-o", "t.idf"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert_eq!(ran.err, "15 features that 2 or more of 3 documents have, bad records 0\n");
    let rare = "t.idf";
    assert_eq!(shell.run(&["dedup", "in.jsonl", "--store", "s", "--idf", rare, "--out", "kept"]).code, 0);
    std::fs::rename(shell.dir.path().join("t.idf"), shell.dir.path().join("moved.idf")).unwrap();
    let ran = shell.run(&["dedup", "in.jsonl", "--store", "s", "--out", "kept"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // What is read is not written to.
    let table = shell.dir.path().join("moved.idf");
    let bytes = std::fs::read(&table).unwrap();
    for run in [
        &["fingerprint", "in.jsonl", "--idf", "moved.idf", "--out", "moved.idf"][..],
        &["dedup", "in.jsonl", "--idf", "moved.idf", "--out", "kept", "--duplicates", "moved.idf"],
        &["evaluate", "in.jsonl", "--truth", "in.jsonl", "--svg", "in.jsonl"],
        &["evaluate", "in.jsonl", "--truth", "kept", "--idf", "moved.idf", "--svg", "./moved.idf"],
    ] {
        let ran = shell.run(run);
        assert!(ran.code == 2 && ran.err.contains("is both input and output"), "{run:?}: {}", ran.err);
    }
    assert_eq!(std::fs::read(&table).unwrap(), bytes);
    let stats = shell.run(&["stats", "s"]);
    assert!(stats.out.contains("idf="), "{}", stats.out);
    let ran = shell.run(&["explain", "--input", "in.jsonl", "fox", "again", "--store", "s"]);
    // In two of three documents: 8 log2 3 is 12, 8 log2 2 is 8.
    assert!(ran.out.contains("      5       5  brown fox"), "{}", ran.out);
    // Another table is refused by name, and merged stores keep theirs.
    shell.file("other.jsonl", [line("cat", CAT), line("cat2", CAT)].concat());
    assert_eq!(shell.run(&["idf", "other.jsonl", "-o", "other.idf", "-q"]).code, 0);
    let ran = shell.run(&["dedup", "in.jsonl", "--store", "s", "--idf", "other.idf", "--out", "kept"]);
    assert!(ran.code == 4 && ran.err.contains("the analyser") && ran.err.matches("idf=").count() == 2, "{}", ran.err);
    assert_eq!(shell.run(&["merge", "s", "s", "-o", "m"]).code, 0);
    assert_eq!(shell.run(&["query", "m", "--text", FOX]).code, 0);
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let shell = Shell::new();
    shell.file("in.jsonl", [line("fox", FOX), line("again", FOX)].concat());
    for arguments in [&["-o", "t.idf"][..], &["-o", "t.lines", "--lines"], &["--analyser", "short", "-o", "short.idf"]]
    {
        assert_eq!(shell.run(&[&["idf", "in.jsonl", "-q"], arguments].concat()).code, 0);
    }
    let rows: [(i32, &[&str], &str); 9] = [
        (0, &["--idf", "t.idf"], ""),
        (0, &["--analyser", "web+common-lines=1", "--common-lines", "t.lines"], ""),
        (2, &["--idf", "t.lines"], "t.lines is a table of lines"),
        (2, &["--analyser", "web+common-lines=1", "--common-lines", "t.idf"], "t.idf is a table of features"),
        (2, &["--analyser", "web", "--idf", "t.idf"], "no analyser looks into t.idf"),
        (2, &["--idf", "short.idf"], "of another analyser"),
        (2, &["--analyser", "web+weights=idf"], "nearstone idf --analyser web"),
        (2, &["--common-lines", "t.lines"], "web+common-lines=N"),
        (3, &["--idf", "in.jsonl"], "no such table"),
    ];
    for (code, arguments, why) in rows {
        let ran = shell.run(&[&["fingerprint", "in.jsonl", "-q"], arguments].concat());
        assert!(ran.code == code && ran.err.contains(why), "{arguments:?}: {} {}", ran.code, ran.err);
    }
    // Lines that both have are gone, so nothing is left.
    let ran = shell.run(&["fingerprint", "in.jsonl", "--analyser", "web+common-lines=1", "--common-lines", "t.lines"]);
    assert!(ran.err.starts_with("fingerprints 0, without features 2"), "{}", ran.err);
    let ran = shell.run(&["idf", "in.jsonl", "-o", "in.jsonl"]);
    assert!(ran.code == 2 && ran.err.contains("both input and output"), "{}", ran.err);
}

/// The language of a text does not depend on which kind of white space is between its words.
#[test]
fn white_space_is_white_space_to_the_detection_of_languages() {
    let text =
        "The quick brown fox jumped over the running dogs, and they were walking together to the river. ".repeat(3);
    for name in ["web+stem=auto", "web+stop=auto", "short+stop=auto+stem=auto"] {
        let simhash = Simhash::new(name.parse().unwrap());
        let expected = simhash.fingerprint(&text);
        assert_ne!(
            expected,
            Simhash::new(name.split('+').next().unwrap().parse().unwrap()).fingerprint(&text),
            "{name}"
        );
        for space in ["\n", "\u{a0}", "\u{2009}", "\u{3000}", "\u{85}", " \t "] {
            assert_eq!(simhash.fingerprint(&text.replace(' ', space)), expected, "{name}, {space:?}");
        }
    }
}
