//! Loads and seals that are killed: all of it is there or nothing, nothing is left over, and a load that is gone on
//! with ends as one that was not killed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nearstone::{Fingerprint, SimhashStore, TableDesign};

use crate::common::{Random, Scratch, small};

const STORES: u64 = 6;
const KILLS_PER_STORE: u64 = 20;
const DOCUMENTS: u64 = 20_000;

/// Keys and pages.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;
type Documents = BTreeMap<Vec<u8>, Fingerprint>;

#[test]
fn killed_loads_and_seals_leave_the_old_state_or_the_new_one() {
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut kills = Kills { random: Random(seed), counts: BTreeMap::new() };
    for _ in 0..STORES {
        kills.on_a_store();
    }
    println!("{} kills: {:?}", STORES * KILLS_PER_STORE, kills.counts);
    // Some of each kind came while work was under way.
    for what in ["load, old", "seal, killed", "resumed"] {
        assert!(kills.counts.get(what).is_some_and(|&count| count > 0), "{what}: {:?}", kills.counts);
    }
}

/// Numbered rows go straight into pages, so what is left of them is something else.
#[test]
fn killed_loads_of_rows_end_in_the_same_pages() {
    let mut random = Random(u64::from(std::process::id()));
    let files = tempfile::tempdir().unwrap();
    let input = files.path().join("rows.u64");
    let values: Vec<u8> = (0..400_000).flat_map(|_| random.next().to_le_bytes()).collect();
    fs::write(&input, values).unwrap();
    let load = |scratch: &Scratch, is_resumed: bool| {
        let mut load = program("load", &scratch.path());
        load.arg(&input).args(["--memory", "8M"]).args(is_resumed.then_some("--resume"));
        load
    };
    let whole = Scratch::new();
    drop(whole.create(&TableDesign::default()));
    let begun = Instant::now();
    assert!(load(&whole, false).status().unwrap().success());
    let time = u64::try_from(begun.elapsed().as_micros()).unwrap();
    let expected = pages(&whole.path());
    let mut resumed = 0;
    for _ in 0..12 {
        let scratch = Scratch::new();
        drop(scratch.create(&TableDesign::default()));
        let mut is_resumed = false;
        let has_ended = || {
            let store = SimhashStore::open_read_only(scratch.path(), &small()).unwrap();
            let count = store.stats().unwrap().approximate_documents;
            assert!([0, 400_000].contains(&count));
            count > 0 && !scratch.path().join("nearstone-load/state").exists()
        };
        for _ in 0..2 {
            if has_ended() {
                break;
            }
            let child = Running(load(&scratch, is_resumed).spawn().unwrap());
            std::thread::sleep(Duration::from_micros(random.below(time)));
            child.kill();
            is_resumed = true;
        }
        if !has_ended() {
            let ended = load(&scratch, true).stderr(Stdio::piped()).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(ended.status.success(), "{said}");
            resumed += u64::from(said.contains("going on"));
        }
        assert!(pages(&scratch.path()) == expected, "the pages differ");
        assert_eq!(sound(&scratch.path()).len(), 400_000);
    }
    assert!(resumed > 0);
}

struct Kills {
    random: Random,
    counts: BTreeMap<&'static str, u64>,
}

impl Kills {
    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn on_a_store(&mut self) {
        let scratch = Scratch::new();
        let temp = scratch.dir.path().join("temp");
        fs::create_dir(&temp).unwrap();
        drop(scratch.create(&TableDesign::default()));
        let mut documents = Documents::new();
        // How long each takes when it is left alone.
        let begun = Instant::now();
        self.load(&scratch, &mut documents, None);
        let time = begun.elapsed();
        for kill in 0..KILLS_PER_STORE {
            let moment = self.random.below(u64::try_from(time.as_micros()).unwrap() * 5 / 4);
            let moment = Duration::from_micros(moment);
            if kill % 3 == 2 {
                self.seal(&scratch, &mut documents, moment);
            } else {
                self.load(&scratch, &mut documents, Some(moment));
            }
            // Whoever opens it next for writing clears away what is left.
            drop(scratch.open());
            assert_nothing_is_left(&scratch.path(), &temp);
            assert_eq!(sound(&scratch.path()), documents);
        }
    }

    /// Loads documents, and kills the load at a moment.
    fn load(&mut self, scratch: &Scratch, documents: &mut Documents, moment: Option<Duration>) {
        let input = scratch.dir.path().join("input.csv");
        let mut after = documents.clone();
        let mut file = BufWriter::new(fs::File::create(&input).unwrap());
        writeln!(file, "id,fingerprint").unwrap();
        let numbers = self.random.below(2) == 0;
        for _ in 0..DOCUMENTS {
            let n = self.random.below(DOCUMENTS * 3);
            let id = if numbers { format!("{n:08}") } else { format!("https://a.example/{n}") };
            let print = Fingerprint::new(self.random.next());
            writeln!(file, "{id},{print}").unwrap();
            after.insert(id.into_bytes(), print);
        }
        file.flush().unwrap();
        drop(file);
        let temp = (self.random.below(2) == 0).then(|| scratch.dir.path().join("temp"));
        let command = |is_resumed| {
            let mut command = program("load", &scratch.path());
            command.arg(&input).args(["--memory", "8M"]);
            if let Some(temp) = &temp {
                command.arg("--temp-dir").arg(temp);
            }
            if is_resumed {
                command.arg("--resume");
            }
            command
        };
        let Some(moment) = moment else {
            assert!(command(false).status().unwrap().success());
            *documents = after;
            return;
        };
        let child = Running(command(false).spawn().unwrap());
        std::thread::sleep(moment);
        child.kill();
        let mut found = sound(&scratch.path());
        if found == *documents {
            self.count("load, old");
        } else {
            assert_eq!(found, after, "neither the old state nor the new one");
            self.count("load, new");
        }
        if found == *documents && self.random.below(3) > 0 {
            // Killed once more on its way, sometimes.
            if self.random.below(2) == 0 {
                let child = Running(command(true).spawn().unwrap());
                std::thread::sleep(moment / 2);
                child.kill();
                found = sound(&scratch.path());
                assert!(found == *documents || found == after);
            }
            if found == *documents {
                let resumed = command(true).stderr(Stdio::piped()).output().unwrap();
                let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
                assert!(resumed.status.success(), "{said}");
                found = sound(&scratch.path());
                assert_eq!(found, after);
                self.count(if said.contains("going on") { "resumed" } else { "begun anew" });
                self.assert_as_in_one_go(scratch, &after);
            }
        }
        *documents = found;
    }

    /// The pages of the store are those of a store into which all was loaded at once, byte for byte.
    fn assert_as_in_one_go(&mut self, scratch: &Scratch, documents: &Documents) {
        if self.random.below(4) > 0 {
            return;
        }
        let at_once = Scratch::new();
        let store = at_once.create(&TableDesign::default());
        let mut loader = store.bulk_loader(&nearstone::LoadOptions::new()).unwrap();
        for (id, print) in documents {
            loader.push(id, print).unwrap();
        }
        loader.commit(|_| ControlFlow::Continue(())).unwrap();
        drop(store);
        let (found, expected) = (pages(&scratch.path()), pages(&at_once.path()));
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        assert!(found == expected, "the pages differ");
        self.count("same bytes");
    }

    /// Stores some documents, and kills the seal that follows at a moment.
    fn seal(&mut self, scratch: &Scratch, documents: &mut Documents, moment: Duration) {
        let store = scratch.open();
        for _ in 0..500 {
            let id = format!("https://a.example/{}", self.random.below(DOCUMENTS * 3));
            let print = Fingerprint::new(self.random.next());
            if self.random.below(3) == 0 {
                store.delete(&id).unwrap();
                documents.remove(id.as_bytes());
            } else {
                store.insert(&id, &print).unwrap();
                documents.insert(id.into_bytes(), print);
            }
        }
        drop(store);
        let mut seal = program("seal", &scratch.path());
        let child = Running(seal.args(["--memory", "8M"]).spawn().unwrap());
        std::thread::sleep(moment);
        let has_ended = child.kill();
        assert_eq!(sound(&scratch.path()), *documents);
        self.count(if has_ended { "seal, ended" } else { "seal, killed" });
    }
}

/// A child that is killed when it is dropped.
struct Running(Child);

impl Running {
    /// Kills it, and tells whether it had ended well by itself.
    fn kill(mut self) -> bool {
        let _ = self.0.kill();
        self.0.wait().unwrap().success()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program(command: &str, store: &Path) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_nearstone"));
    program.arg(command).arg(store).stdin(Stdio::null()).stderr(Stdio::null());
    program
}

/// All documents, read without changing anything, after a look at whether the families agree.
fn sound(path: &Path) -> Documents {
    let store = SimhashStore::open_read_only(path, &small()).unwrap();
    let found = store.verify(|_| ControlFlow::Continue(())).unwrap();
    assert!(found.is_sound(), "{found:?}");
    let documents: Documents =
        store.iter().unwrap().map(|document| document.map(|d| (d.id, d.sketch)).unwrap()).collect();
    assert_eq!(found.documents, documents.len() as u64);
    documents
}

/// The store has its own files alone, and of families those of its generations.
fn assert_nothing_is_left(store: &Path, temp: &Path) {
    let names = |path: &Path| -> Vec<String> {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(temp), Vec::<String>::new());
    let own = |name: &String| {
        let is_numbered = name.split('.').next().is_some_and(|stem| stem.bytes().all(|b| b.is_ascii_digit()));
        is_numbered
            || ["CURRENT", "IDENTITY", "LOCK", "LOG", "MANIFEST", "OPTIONS", "NEARSTONE-LOCK"]
                .iter()
                .any(|known| name.starts_with(known))
    };
    let strays: Vec<String> = names(store).into_iter().filter(|name| !own(name)).collect();
    assert_eq!(strays, Vec::<String>::new());
    let families = rocksdb::DB::list_cf(&rocksdb::Options::default(), store).unwrap();
    // A live, a frozen and a sealed generation at most, beside the default family.
    assert!(families.len() <= 1 + 3 * 6, "{families:?}");
}

/// The keys and pages of the holders and tables of the sealed generation, by family.
fn pages(path: &Path) -> BTreeMap<String, Entries> {
    let names = rocksdb::DB::list_cf(&rocksdb::Options::default(), path).unwrap();
    let database = rocksdb::DB::open_cf_for_read_only(&rocksdb::Options::default(), path, &names, false).unwrap();
    let sealed = names.iter().filter(|name| name.starts_with("pages") || name.starts_with("holder-pages"));
    let read = |name: &String| {
        let family = database.cf_handle(name).unwrap();
        let entries = database.iterator_cf(&family, rocksdb::IteratorMode::Start).map(Result::unwrap);
        let kind = name.split('.').next().unwrap().to_owned();
        (kind, entries.map(|(key, value)| (key.into_vec(), value.into_vec())).collect())
    };
    sealed.map(read).collect()
}
