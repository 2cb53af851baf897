//! Checkpoints, verification and repair.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nearstone::{Error, ErrorKind, Fingerprint, Options, Progress, SimhashStore, TableDesign};

use crate::common::{Random, Scratch, go_on, small};

fn filled(scratch: &Scratch, count: u64) -> SimhashStore {
    let store = scratch.create(&TableDesign::default());
    for n in 0..count {
        // Every third sketch has several documents.
        store.insert_with(n.to_be_bytes(), &Fingerprint::new(Random(n - n % 3).next()), &[7]).unwrap();
    }
    store
}

/// The data files of a store, the largest first.
fn data_files(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "sst")).collect();
    files.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).unwrap().len()));
    files
}

/// Copies that are made while writers run are stores of one moment: what was acknowledged before is in them,
/// in the order in which it came.
#[test]
fn checkpoints_under_writers_are_whole() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let (stored, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                store.insert(u64::to_be_bytes(n), &Fingerprint::new(Random(n).next())).unwrap();
                stored.store(n + 1, Ordering::SeqCst);
                if done.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        for copy in 0..5 {
            let path = scratch.dir.path().join(format!("copy{copy}"));
            let before = stored.load(Ordering::SeqCst);
            store.checkpoint(&path).unwrap();
            let after = stored.load(Ordering::SeqCst) + 1;
            let copy = SimhashStore::open_read_only(&path, &small()).unwrap();
            let second = SimhashStore::open_read_only(&path, &small()).unwrap();
            let count = copy.iter().unwrap().count() as u64;
            assert!((before..=after).contains(&count), "{count} of {before} to {after}");
            assert!(copy.iter().unwrap().zip(0u64..).all(|(document, n)| document.unwrap().id == n.to_be_bytes()));
            assert!(second.verify(go_on).unwrap().is_sound());
        }
        done.store(true, Ordering::SeqCst);
    });
    // A copy is a store of its own.
    drop(store);
    let copy = SimhashStore::open(scratch.dir.path().join("copy0"), &small()).unwrap();
    copy.insert("new", &Fingerprint::new(1)).unwrap();
    assert!(scratch.open().get("new").unwrap().is_none());
}

#[test]
fn a_checkpoint_is_refused_where_something_is() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 10);
    fs::write(scratch.dir.path().join("file"), "x").unwrap();
    for there in [scratch.path(), scratch.dir.path().to_owned(), scratch.dir.path().join("file")] {
        assert!(matches!(store.checkpoint(&there), Err(Error::AlreadyExists { path }) if path == there));
    }
    let error = store.checkpoint(scratch.dir.path().join("no/such/parent")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    drop(store);
    let reader = SimhashStore::open_read_only(scratch.path(), &small()).unwrap();
    assert!(matches!(reader.checkpoint(scratch.dir.path().join("copy")), Err(Error::ReadOnly { .. })));
}

/// Of many threads that copy to one place one does, and its copy is whole; directories of the caller with
/// names like those that a copy is made under are left alone.
#[test]
fn one_of_many_copies_to_one_place_is_made() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 2_000);
    let target = scratch.dir.path().join("copy");
    for name in ["copy.tmp", ".copy"] {
        fs::create_dir(scratch.dir.path().join(name)).unwrap();
        fs::write(scratch.dir.path().join(name).join("mine"), "x").unwrap();
    }
    // What a copy that was killed has left.
    fs::create_dir(scratch.dir.path().join(".copy.nearstone-copy.tmp")).unwrap();
    let made: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (store, target) = (store.clone(), &target);
                scope.spawn(move || match store.checkpoint(target) {
                    Ok(()) => true,
                    Err(Error::AlreadyExists { .. }) => false,
                    Err(e) => panic!("{e}"),
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|&&made| made).count(), 1);
    let copy = SimhashStore::open_read_only(&target, &small()).unwrap();
    assert_eq!(copy.verify(go_on).unwrap().documents, 2_000);
    for name in ["copy.tmp", ".copy"] {
        assert_eq!(fs::read(scratch.dir.path().join(name).join("mine")).unwrap(), b"x");
    }
    assert!(!scratch.dir.path().join(".copy.nearstone-copy.tmp").exists());
}

/// A repair with options that do not fit the store changes nothing that matters.
#[test]
fn repair_takes_the_retention_of_the_store() {
    let scratch = Scratch::new();
    drop(filled(&scratch, 100));
    let options = small().retention(std::time::Duration::from_secs(1));
    assert_eq!(SimhashStore::repair(scratch.path(), &options, go_on).unwrap().documents, 100);
    assert_eq!(scratch.open().retention(), None);
    assert!(scratch.open().verify(go_on).unwrap().is_sound());
}

#[test]
fn a_second_writer_is_told_which_store_is_in_use() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 1);
    for second in [
        SimhashStore::open(scratch.path(), &small()).map(drop),
        SimhashStore::repair(scratch.path(), &small(), go_on).map(drop),
    ] {
        let error = second.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked);
        assert!(error.to_string().contains(scratch.path().to_str().unwrap()), "{error}");
    }
    drop(store);
}

#[test]
fn verify_counts_and_can_be_stopped() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 20_000);
    let mut reports = vec![];
    let found = store
        .verify(|progress| {
            reports.push(progress);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(found.is_sound(), "{found:?}");
    assert_eq!((found.documents, found.sketches), (20_000, 6_667));
    assert!(reports.is_sorted_by_key(|progress| progress.done));
    assert!(reports.iter().any(|progress| progress.phase == "holders") && reports.len() > 5);
    let error = store.verify(|_| ControlFlow::Break(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped);
}

/// A repair makes the same store of one whose tables have lost a file: it answers as before.
#[test]
fn repair_brings_lost_and_damaged_tables_back() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 3_000);
    store.compact().unwrap();
    let queries: Vec<Fingerprint> =
        (0..200).map(|n| Fingerprint::new(Random(n * 15 - n * 15 % 3).next() ^ 5)).collect();
    let answers: Vec<_> = queries.iter().map(|query| store.query(query, 3).unwrap().as_slice().to_vec()).collect();
    assert!(answers.iter().all(|answer| !answer.is_empty()));
    drop(store);
    // All but the documents' file, one after the other: first lost, then overwritten.
    let mut mended = 0;
    for damage in 0..2 {
        for file in data_files(&scratch.path()) {
            let kept = fs::read(&file).unwrap();
            if damage == 0 {
                fs::remove_file(&file).unwrap();
            } else {
                let mut bytes = kept.clone();
                let middle = bytes.len() / 3;
                bytes[..middle].fill(0xa5);
                fs::write(&file, bytes).unwrap();
            }
            match SimhashStore::repair(scratch.path(), &small(), go_on) {
                Ok(repaired) => {
                    mended += 1;
                    assert_eq!(repaired.documents, 3_000);
                }
                Err(error) => {
                    // The documents' own: nothing is changed, and putting the file back is a remedy.
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                    fs::write(&file, kept).unwrap();
                    continue;
                }
            }
            let store = scratch.open();
            assert!(store.verify(go_on).unwrap().is_sound());
            for (query, answer) in queries.iter().zip(&answers) {
                assert_eq!(store.query(query, 3).unwrap().as_slice(), answer);
            }
            assert_eq!(store.get(7u64.to_be_bytes()).unwrap().unwrap().payload, [7]);
            drop(store);
            // The files have other names now.
            break;
        }
    }
    assert!(mended > 0);
}

/// A repair that was stopped leaves a store that says what to do, and is not opened before that is done.
#[test]
fn an_interrupted_repair_is_repeated() {
    let scratch = Scratch::new();
    drop(filled(&scratch, 30_000));
    let stop = |progress: Progress| {
        if progress.phase == "reading the documents" { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    assert_eq!(SimhashStore::repair(scratch.path(), &small(), stop).unwrap_err().kind(), ErrorKind::Stopped);
    for refused in
        [SimhashStore::open(scratch.path(), &small()), SimhashStore::open_read_only(scratch.path(), &small())]
    {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("a repair of it was interrupted") && message.contains("repair"), "{message}");
    }
    assert_eq!(SimhashStore::repair(scratch.path(), &small(), go_on).unwrap().documents, 30_000);
    assert!(scratch.open().verify(go_on).unwrap().is_sound());
}

#[test]
fn repair_refuses_what_is_no_store() {
    let scratch = Scratch::new();
    let missing = SimhashStore::repair(scratch.path(), &Options::new(), go_on).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    fs::create_dir(scratch.path()).unwrap();
    fs::write(scratch.path().join("file"), "x").unwrap();
    let other = SimhashStore::repair(scratch.path(), &Options::new(), go_on).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Exists);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
}
