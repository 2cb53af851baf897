//! The program: load, seal, compact, export, merge.

use std::fs;
use std::path::PathBuf;

use crate::common::Random;
use crate::shell::{Ran, Shell};

/// The program in a folder with stores.
struct Lab(Shell);

impl Lab {
    fn new() -> Self {
        Self(Shell::new())
    }

    /// Runs the program, and checks its exit code.
    fn run(&self, code: i32, args: &[&str]) -> Ran {
        let ran = self.0.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        if code > 1 {
            assert_eq!(ran.err.trim_end().lines().count(), 1, "{}", ran.err);
            assert!(ran.err.starts_with("nearstone: "), "{}", ran.err);
        }
        ran
    }

    fn out(&self, args: &[&str]) -> String {
        self.run(0, args).out
    }

    /// What the program says of a failure.
    fn refusal(&self, code: i32, args: &[&str]) -> String {
        self.run(code, args).err
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.dir.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }
}

fn values(count: usize) -> Vec<u64> {
    let mut random = Random(3);
    let mut values: Vec<u64> = (4..count).map(|_| random.next()).collect();
    values.extend([0, u64::MAX, 1 << 63, (1 << 63) - 1]);
    values
}

#[test]
fn every_form_of_fingerprints_is_loaded_and_exported_again() {
    let lab = Lab::new();
    let values = values(1_000);
    let little: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let rows = |row: &dyn Fn(usize, u64) -> String| -> String {
        values.iter().enumerate().map(|(n, &value)| row(n, value)).collect()
    };
    lab.write("a.u64", &little);
    lab.write("b.u64be", values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<u8>>());
    lab.write("c.hex", rows(&|_, value| format!("{value:x}\n")));
    lab.write("d.csv", "name,print\n".to_owned() + &rows(&|n, value| format!("id {n},{value}\n")));
    lab.write("e.tsv", "id\tfingerprint\n".to_owned() + &rows(&|n, value| format!("id {n}\t{value:016X}\n")));
    lab.write("f.jsonl", rows(&|n, value| format!("{{\"id\": \"id {n}\", \"fingerprint\": {value}}}\n")));
    #[expect(clippy::cast_possible_wrap, reason = "as databases without unsigned numbers keep them")]
    lab.write("g.csv", "id,fingerprint\n".to_owned() + &rows(&|n, value| format!("id {n},{}\n", value as i64)));
    let loads: [&[&str]; 7] = [
        &["a.u64"],
        &["b.u64be"],
        &["c.hex"],
        &["d.csv", "--encoding", "decimal", "--id-field", "name", "--fingerprint-field", "print"],
        &["e.tsv"],
        &["f.jsonl", "--fingerprints"],
        &["g.csv", "--encoding", "signed-decimal"],
    ];
    for load in loads {
        let store = format!("store-{}", load[0]);
        lab.run(0, &["create", &store]);
        lab.run(0, &[&["load", &store], load].concat());
        lab.run(0, &["verify", &store]);
        // By id: rows in their order, texts by their bytes.
        lab.run(0, &["export", &store, "--format", "u64-le", "-o", "exported"]);
        let mut exported = fs::read(lab.path("exported")).unwrap();
        if load[0] > "d" {
            let mut ids: Vec<usize> = (0..values.len()).collect();
            ids.sort_by_key(|n| format!("id {n}"));
            let mut by_number = vec![0; exported.len()];
            for (bytes, n) in exported.chunks_exact(8).zip(ids) {
                by_number[n * 8..n * 8 + 8].copy_from_slice(bytes);
            }
            exported = by_number;
        }
        assert!(exported == little, "{load:?}");
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let expected = sorted.iter().map(|value| format!("{value:016x}")).collect::<Vec<_>>().join("\n") + "\n";
        assert_eq!(lab.out(&["export", &store, "--format", "hex", "--sorted"]), expected);
        // What is exported can be loaded again.
        for format in ["json-lines", "csv", "tsv"] {
            let file = format!("again-{}.{format}", load[0]);
            lab.run(0, &["export", &store, "--format", format, "-o", &file]);
            let again = format!("{file}-store");
            lab.run(0, &["create", &again]);
            let mut args = vec!["load", &again, &file, "--format", format, "--fingerprints"];
            args.extend((load[0] < "d").then_some("--row-ids"));
            lab.run(0, &args);
            let rows = |store: &str| lab.out(&["export", store, "--format", "csv"]);
            assert_eq!(rows(&again), rows(&store), "{load:?} by {format}");
            assert_eq!(lab.out(&["export", &again, "--format", "hex", "--sorted"]), expected, "{load:?} by {format}");
        }
    }
    // A row is shown and asked for by its number.
    let near =
        lab.out(&["query", "store-a.u64", "--fingerprint", &format!("{:016x}", values[7]), "--max-distance", "0"]);
    assert_eq!(near, "{\"distance\":0,\"id\":7}\n");
    let row: serde_json::Value = serde_json::from_str(&lab.out(&["get", "store-a.u64", "7", "--row"])).unwrap();
    assert_eq!(row["fingerprint"], format!("{:016x}", values[7]));
    lab.run(0, &["delete", "store-a.u64", "7", "--row"]);
    lab.run(1, &["get", "store-a.u64", "7", "--row"]);
    assert!(lab.refusal(2, &["get", "store-a.u64", "seven", "--row"]).contains("seven"));
}

#[test]
fn texts_are_loaded_as_they_are_added() {
    let lab = Lab::new();
    let line = |n: usize| {
        format!(
            "{{\"id\": \"page {n}\", \"text\": \"A page about the number {n} and the numbers near it, of which there are {}\"}}\n",
            n % 7
        )
    };
    let text: String = (0..500).map(line).chain(["{\"id\": \"none\", \"text\": \"...\"}\n".to_owned()]).collect();
    lab.write("pages.jsonl", text);
    for (command, store) in [("add", "added"), ("load", "loaded")] {
        lab.run(0, &["create", store]);
        lab.run(0, &[command, store, "pages.jsonl"]);
    }
    let prints = |store| lab.out(&["export", store, "--format", "csv"]);
    assert_eq!(prints("added"), prints("loaded"));
    lab.run(0, &["compact", "added"]);
    lab.run(0, &["seal", "added"]);
    assert_eq!(prints("added"), prints("loaded"));
    let said = lab.run(0, &["seal", "added"]).err;
    assert!(said.contains("nothing is live"), "{said}");
    lab.run(0, &["verify", "added"]);
    // Page files take a store elsewhere.
    lab.run(0, &["export", "loaded", "--pages", "pages"]);
    lab.run(0, &["create", "taken"]);
    lab.run(0, &["load", "taken", "pages"]);
    assert_eq!(lab.out(&["export", "taken"]), lab.out(&["export", "loaded"]), "with the times");
    lab.run(0, &["create", "other", "--blocks", "5"]);
    let refused = lab.refusal(3, &["load", "other", "pages"]);
    assert!(refused.contains("manifest.json") && refused.contains("another design"), "{refused}");
}

#[test]
fn a_bad_load_is_refused_in_a_line_and_loads_nothing() {
    let lab = Lab::new();
    lab.write("good.u64", [7; 80]);
    lab.write("cut.u64", [7; 81]);
    lab.write("bad.csv", "id,fingerprint\na,1\nb,xyz\nc,3\n");
    lab.write("texts.jsonl", "{\"id\": 1, \"text\": \"some words that make a page\"}\n");
    lab.run(0, &["create", "store"]);
    let count = || lab.out(&["export", "store"]).lines().count();
    let refused = lab.refusal(3, &["load", "store", "cut.u64"]);
    assert!(refused.contains("cut.u64") && refused.contains("80"), "{refused}");
    let refused = lab.refusal(3, &["load", "store", "bad.csv"]);
    assert!(refused.contains("bad.csv:3"), "{refused}");
    assert!(lab.refusal(2, &["load", "store", "bad.csv", "texts.jsonl"]).contains("together"));
    assert!(lab.refusal(3, &["load", "store", "-", "--format", "hex"]).contains('-'));
    assert!(lab.refusal(2, &["load", "store", "-", "--format", "hex", "--resume"]).contains("--resume"));
    assert!(lab.refusal(3, &["load", "store", "bad.csv", "--row-ids", "--skip-bad"]).contains("the number of a row"));
    assert!(lab.refusal(3, &["load", "nowhere", "good.u64"]).contains("create one first"));
    assert_eq!(count(), 0);
    lab.run(0, &["load", "store", "bad.csv", "--skip-bad"]);
    assert_eq!(count(), 2);
    // Numbers from 0 on would take the place of others.
    let refused = lab.refusal(2, &["load", "store", "good.u64"]);
    assert!(refused.contains("--rows"), "{refused}");
    lab.run(0, &["load", "store", "good.u64", "--rows", "100"]);
    assert_eq!(count(), 12);
    lab.run(0, &["load", "store", "good.u64", "--rows", "100"]);
    assert_eq!(count(), 12);
    lab.run(0, &["verify", "store"]);
    assert!(!lab.path("store/nearstone-load").exists());
}

#[test]
fn nothing_is_written_into_the_folder_of_a_store_nor_read_from_it() {
    let lab = Lab::new();
    lab.write("a.csv", "id,fingerprint\nx,1\n");
    lab.write("t.jsonl", "{\"id\": 1, \"text\": \"some words that make a page\"}\n");
    lab.run(0, &["create", "inputs/store"]);
    lab.run(0, &["load", "inputs/store", "a.csv"]);
    let kept = fs::read(lab.path("inputs/store/CURRENT")).unwrap();
    for args in [
        &["export", "inputs/store", "-o", "inputs/store/CURRENT"][..],
        &["export", "inputs/store", "-o", "inputs/store/new"],
        &["export", "inputs/store", "--pages", "inputs/store/pages"],
        &["merge", "inputs/store", "inputs/store", "-o", "inputs/store/merged"],
        &["dedup", "t.jsonl", "--out", "inputs/store/CURRENT"],
        &["dedup", "t.jsonl", "--out", "out", "--duplicates", "inputs/store/d"],
    ] {
        let refused = lab.refusal(2, args);
        assert!(refused.contains("in the folder of the store"), "{args:?}: {refused}");
    }
    assert_eq!(fs::read(lab.path("inputs/store/CURRENT")).unwrap(), kept);
    // A folder that is read may hold the store that it is read into.
    lab.write("inputs/page.txt", "some words that make another page");
    lab.run(0, &["add", "inputs/store", "inputs"]);
    lab.run(0, &["load", "inputs/store", "inputs"]);
    lab.write("inputs/b.hex", "7\n");
    lab.run(0, &["load", "inputs/store", "inputs", "--include", "*.hex", "--format", "hex", "--rows", "9"]);
    assert_eq!(lab.out(&["export", "inputs/store"]).lines().count(), 3);
    // What cannot be a folder for temporary files is in nobody's way later.
    lab.write("file", "");
    lab.run(0, &["add", "inputs/store", "t.jsonl"]);
    let refused = lab.refusal(3, &["seal", "inputs/store", "--temp-dir", "file"]);
    assert!(refused.contains("file"), "{refused}");
    lab.run(0, &["add", "inputs/store", "t.jsonl"]);
    lab.run(0, &["repair", "inputs/store"]);
    lab.run(0, &["verify", "inputs/store"]);
}

#[test]
fn stores_of_one_kind_are_merged_and_others_refused_by_name() {
    let lab = Lab::new();
    lab.write("a.csv", "id,fingerprint\nx,1\ny,2\n");
    lab.write("b.csv", "id,fingerprint\ny,3\nz,4\n");
    for (store, input) in [("a", "a.csv"), ("b", "b.csv")] {
        lab.run(0, &["create", store]);
        lab.run(0, &["load", store, input]);
    }
    lab.run(0, &["merge", "a", "b", "-o", "both"]);
    let rows = lab.out(&["export", "both", "--format", "csv"]);
    assert_eq!(rows, "id,fingerprint\nx,0000000000000001\ny,0000000000000003\nz,0000000000000004\n");
    lab.run(0, &["verify", "both"]);
    let time = |store: &str| {
        let row: serde_json::Value = serde_json::from_str(&lab.out(&["get", store, "x"])).unwrap();
        row["stored_at_millis"].as_u64().unwrap()
    };
    assert_eq!(time("both"), time("a"));
    for (options, what) in [
        (["--blocks", "5"], "the design"),
        (["--analyser", "short"], "the analyser"),
        (["--retention", "1day"], "the retention"),
    ] {
        lab.run(0, &[&["create", "other"][..], &options].concat());
        let refused = lab.refusal(2, &["merge", "a", "other", "-o", "none"]);
        assert!(refused.contains(what) && refused.contains("a and other"), "{refused}");
        assert!(!lab.path("none").exists());
        fs::remove_dir_all(lab.path("other")).unwrap();
    }
    assert!(lab.refusal(3, &["merge", "a", "b", "-o", "both"]).contains("already exists"));
    // What a merge that was killed has left is in no later one's way.
    lab.run(0, &["create", ".again.nearstone-merge"]);
    lab.run(0, &["merge", "b", "a", "-o", "again"]);
    assert_eq!(lab.out(&["export", "again", "--format", "csv"]).lines().nth(2), Some("y,0000000000000002"));
    assert!(!lab.path(".again.nearstone-merge").exists());
}

#[test]
fn a_small_benchmark_of_a_load_finds_everything() {
    let lab = Lab::new();
    for design in ["4x1", "2x33"] {
        let args =
            ["bench", "load", "--fingerprints", "20K", "--design", design, "--queries", "200", "--json", "--dir", "."];
        let found: serde_json::Value = serde_json::from_str(&lab.out(&args)).unwrap();
        assert_eq!((found["missed"].as_u64(), found["queries"].as_u64()), (Some(0), Some(200)));
    }
    assert_eq!(fs::read_dir(lab.0.dir.path()).unwrap().count(), 0, "the folder is removed");
    let text = lab.out(&["bench", "load", "--fingerprints", "1000", "--queries", "10", "--dir", "."]);
    assert!(text.contains("0 missed"), "{text}");
}

#[test]
fn small_benchmarks_of_queries_admissions_and_pairs_find_what_is_found_in_memory() {
    let lab = Lab::new();
    let told = |args: &[&str]| -> serde_json::Value {
        let found: serde_json::Value =
            serde_json::from_str(&lab.out(&[args, &["--json", "--dir", "."]].concat())).unwrap();
        assert_eq!(found["is_exact"], true, "{found}");
        found
    };
    for live in ["0", "0.3", "1"] {
        let query = ["bench", "query", "--fingerprints", "20K", "--queries", "500", "--batch", "--limit", "64M"];
        let found = told(&[&query[..], &["--live", live]].concat());
        assert!(found["runs"][0]["matches"].as_u64().unwrap() >= 250, "{found}");
        let admit = ["bench", "admit", "--fingerprints", "5K", "--new", "600", "--near", "0.5", "--threads", "1,2"];
        let found = told(&[&admit[..], &["--together", "50", "--live", live]].concat());
        let admitted = |row: usize| found["rows"][row]["admitted"].as_u64();
        assert_eq!((admitted(0), admitted(1), admitted(2)), (found["sets"]["admitted"].as_u64(), None, admitted(0)));
        assert!((200..400).contains(&admitted(0).unwrap()), "{found}");
    }
    let found = told(&["bench", "pairs", "--fingerprints", "20K", "--planted", "0.2", "--ask", "5"]);
    assert!(found["rows"][0]["pairs"].as_u64().unwrap() > 3_000, "{found}");
    assert_eq!(fs::read_dir(lab.0.dir.path()).unwrap().count(), 0, "the folders are removed");
    let text = lab.out(&["bench", "admit", "--fingerprints", "100", "--new", "10", "--dir", "."]);
    assert!(text.contains("sets in memory"), "{text}");
    let text = lab.out(&["bench", "pairs", "--fingerprints", "100", "--dir", "."]);
    assert!(text.contains("arrays in memory"), "{text}");
}

#[test]
fn a_batch_of_queries_answers_what_single_ones_answer() {
    let lab = Lab::new();
    let values = values(500);
    let near: Vec<u64> = values.iter().map(|value| value ^ 0b101).chain([42]).collect();
    lab.write("stored.u64", values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    lab.write("asked.u64", near.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    lab.out(&["create", "store"]);
    lab.out(&["load", "store", "stored.u64", "--quiet"]);
    let out = lab.out(&["query", "store", "--batch", "asked.u64", "--quiet"]);
    let mut lines = out.lines();
    for (n, value) in near.iter().enumerate() {
        let single = lab.0.run(&["query", "store", "--fingerprint", &format!("{value:016x}")]).out;
        for line in single.lines() {
            let batch: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
            let mut single: serde_json::Value = serde_json::from_str(line).unwrap();
            single["query"] = n.into();
            assert_eq!(batch, single);
        }
    }
    assert_eq!(lines.next(), None);

    lab.write("asked.jsonl", "{\"id\": \"a\", \"fingerprint\": \"0\"}\n{\"id\": \"b\", \"fingerprint\": \"q\"}\n");
    let asked = ["query", "store", "--batch", "asked.jsonl", "--fingerprints", "--max-distance", "0"];
    assert!(lab.refusal(3, &asked).contains("asked.jsonl:2"));
    let some = lab.out(&[&asked[..], &["--skip-bad", "--quiet"]].concat());
    assert_eq!(some.lines().count(), 1);
    assert!(some.contains("\"query\":\"a\""), "{some}");
    lab.write("nothing.hex", "00ff00ff00ff00ff\n");
    lab.run(1, &["query", "store", "--batch", "nothing.hex", "--quiet"]);
    assert_eq!(lab.0.run(&["query", "store", "--batch", "nothing.hex", "--text", "x"]).code, 2);
    lab.refusal(2, &["query", "store", "--batch", "nothing.hex", "--batch", "asked.jsonl"]);
}
