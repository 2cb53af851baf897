//! Damaged stores: an error, never a panic, and never a wrong match. What was lost with damaged bytes may be
//! missing; docs/durability.md says where that is told.

use std::fs;
use std::path::{Path, PathBuf};

use nearstone::{Fingerprint, SimhashStore, TableDesign};

use crate::common::{BruteForce, Random, Scratch, copy, small};

fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Opens a damaged store and asks it everything: each answer is an error, or what was stored.
fn use_damaged(path: &Path, truth: &BruteForce, what: &str) {
    let Ok(store) = SimhashStore::open(path, &small()) else { return };
    for (id, &sketch) in &truth.documents {
        if let Ok(Some(document)) = store.get(id) {
            assert_eq!(document.sketch, sketch, "{what}");
        }
        if let Ok(matches) = store.query(&sketch, 3) {
            for found in &matches {
                let stored = truth.documents.get(&found.id).unwrap_or_else(|| panic!("{what}: a made-up document"));
                assert_eq!(stored.distance(sketch), found.distance, "{what}");
            }
        }
    }
    if let Ok(documents) = store.iter() {
        for document in documents.flatten() {
            assert_eq!(truth.documents.get(&document.id), Some(&document.sketch), "{what}");
        }
    }
    let _ = store.insert("new", &Fingerprint::new(1));
    let _ = store.check_and_insert("newer", &Fingerprint::new(2), 3);
    let _ = store.stats();
}

fn filled() -> (Scratch, BruteForce) {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let mut truth = BruteForce::default();
    let mut random = Random(3);
    for i in 0..300u32 {
        let sketch = Fingerprint::new(random.next());
        store.insert(i.to_be_bytes(), &sketch).unwrap();
        truth.documents.insert(i.to_be_bytes().to_vec(), sketch);
        if i == 150 {
            store.compact().unwrap();
        }
    }
    (scratch, truth)
}

#[test]
fn flipped_bytes_give_errors_and_no_wrong_answers() {
    let (scratch, truth) = filled();
    let mut random = Random(9);
    for file in files(&scratch.path()) {
        let length = fs::metadata(&file).unwrap().len();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if length == 0 || name.starts_with("LOG") {
            continue;
        }
        for _ in 0..6 {
            let damaged = scratch.dir.path().join("damaged");
            copy(&scratch.path(), &damaged);
            let mut bytes = fs::read(damaged.join(&name)).unwrap();
            let place = usize::try_from(random.below(length)).unwrap();
            bytes[place] ^= 1 << random.below(8);
            fs::write(damaged.join(&name), bytes).unwrap();
            use_damaged(&damaged, &truth, &format!("{name}, byte {place}"));
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
}

#[test]
fn missing_and_cut_files_give_errors_and_no_wrong_answers() {
    let (scratch, truth) = filled();
    for file in files(&scratch.path()) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        for cut in [true, false] {
            let damaged = scratch.dir.path().join("damaged");
            copy(&scratch.path(), &damaged);
            if cut {
                let half = fs::metadata(damaged.join(&name)).unwrap().len() / 2;
                fs::File::options().write(true).open(damaged.join(&name)).unwrap().set_len(half).unwrap();
            } else {
                fs::remove_file(damaged.join(&name)).unwrap();
            }
            use_damaged(&damaged, &truth, &format!("{name}, cut: {cut}"));
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
}
