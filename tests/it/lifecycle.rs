//! Create, open, close, read-only: what a store is, and what it refuses to be.

use std::fs;

use nearstone::{
    Analyser, Error, ErrorKind, Fingerprint, Options, Preset, Simhash, SimhashStore, TableDesign, Weights,
};

use crate::common::{Scratch, small};

#[test]
fn everything_is_there_after_reopening() {
    let scratch = Scratch::new();
    let design = TableDesign::choose(5, 3).unwrap();
    let store = scratch.create(&design);
    for i in 0..500u64 {
        store.insert(i.to_be_bytes(), &Fingerprint::new(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).unwrap();
    }
    let before: Vec<_> = store.iter().unwrap().map(Result::unwrap).collect();
    drop(store);
    let store = scratch.open();
    assert_eq!(store.design(), &design);
    assert_eq!(store.analyser(), Some(&Analyser::default()));
    assert_eq!(store.iter().unwrap().map(Result::unwrap).collect::<Vec<_>>(), before);
    let stats = store.stats().unwrap();
    assert_eq!((stats.approximate_documents, stats.approximate_sketches, stats.tables), (500, 500, 10));
}

#[test]
fn a_clone_keeps_the_store_open_and_the_last_one_closes_it() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let clone = store.clone();
    drop(store);
    clone.insert("id", &Fingerprint::new(1)).unwrap();
    assert!(matches!(SimhashStore::open(scratch.path(), &small()), Err(Error::Locked { .. })));
    drop(clone);
    scratch.open();
}

/// An iterator keeps what it reads, and the store open, though the handle is gone.
#[test]
fn an_iterator_outlives_its_store() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    store.insert("a", &Fingerprint::new(1)).unwrap();
    let mut documents = store.iter().unwrap();
    store.insert("b", &Fingerprint::new(2)).unwrap();
    drop(store);
    assert_eq!(documents.next().unwrap().unwrap().id, b"a");
    assert!(documents.next().is_none(), "it shows the store as it was when it was made");
    assert!(matches!(SimhashStore::open(scratch.path(), &small()), Err(Error::Locked { .. })));
    drop(documents);
    scratch.open();
}

#[test]
fn a_second_writer_is_refused_by_the_path() {
    let scratch = Scratch::new();
    let _store = scratch.create(&TableDesign::default());
    for attempt in [
        SimhashStore::open(scratch.path(), &small()),
        SimhashStore::open_read_only(scratch.path(), &small()),
        SimhashStore::open_or_create(scratch.path(), &TableDesign::default(), &small()),
    ] {
        let error = attempt.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked);
        assert!(error.to_string().contains(scratch.path().to_str().unwrap()), "{error}");
    }
}

#[test]
fn read_only_reads_and_refuses_to_write() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let value = Fingerprint::new(42);
    store.insert("id", &value).unwrap();
    drop(store);
    let readers = [(); 2].map(|()| SimhashStore::open_read_only(scratch.path(), &small()).unwrap());
    for reader in &readers {
        assert!(reader.is_read_only());
        for _ in 0..3 {
            assert_eq!(reader.query(&value, 3).unwrap().len(), 1);
        }
        assert_eq!(reader.get("id").unwrap().unwrap().sketch, value);
        assert_eq!(reader.iter().unwrap().count(), 1);
        reader.stats().unwrap();
        for error in [
            reader.insert("x", &value).unwrap_err(),
            reader.check_and_insert("x", &value, 3).unwrap_err(),
            reader.delete("id").unwrap_err(),
            reader.flush().unwrap_err(),
            reader.compact().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::ReadOnly);
        }
    }
    assert!(
        matches!(SimhashStore::open(scratch.path(), &small()), Err(Error::Locked { .. })),
        "readers keep writers out"
    );
    drop(readers);
    scratch.open().insert("y", &value).unwrap();
}

#[test]
fn what_is_missing_is_not_created_by_opening() {
    let scratch = Scratch::new();
    for attempt in
        [SimhashStore::open(scratch.path(), &small()), SimhashStore::open_read_only(scratch.path(), &small())]
    {
        assert!(matches!(attempt, Err(Error::NotFound { .. })));
        assert!(!scratch.path().exists());
    }
}

#[test]
fn what_is_something_else_is_left_alone() {
    let scratch = Scratch::new();
    let design = TableDesign::default();
    let attempts = |path: &std::path::Path| {
        [
            SimhashStore::create(path, &design, &small()).unwrap_err(),
            SimhashStore::open(path, &small()).unwrap_err(),
            SimhashStore::open_read_only(path, &small()).unwrap_err(),
            SimhashStore::open_or_create(path, &design, &small()).unwrap_err(),
        ]
    };
    let file = scratch.dir.path().join("file");
    fs::write(&file, "text").unwrap();
    let folder = scratch.dir.path().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("notes.txt"), "text").unwrap();
    for path in [&file, &folder] {
        for error in attempts(path) {
            assert!(matches!(error, Error::NotAStore { .. }), "{error}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn creating_twice_is_refused_and_harms_nothing() {
    let scratch = Scratch::new();
    let design = TableDesign::default();
    let store = scratch.create(&design);
    store.insert("id", &Fingerprint::new(1)).unwrap();
    drop(store);
    let error = SimhashStore::create(scratch.path(), &TableDesign::choose(5, 3).unwrap(), &small()).unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    let store = scratch.open();
    assert_eq!((store.design(), store.iter().unwrap().count()), (&design, 1));
}

#[test]
fn an_empty_directory_becomes_a_store() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path()).unwrap();
    assert!(matches!(SimhashStore::open(scratch.path(), &small()), Err(Error::NotFound { .. })));
    scratch.create(&TableDesign::default());
    let deep = scratch.dir.path().join("a/b/c");
    SimhashStore::create(&deep, &TableDesign::default(), &small()).unwrap();
}

/// A creation that was killed when it had just begun; the crash tests kill it at later moments.
#[test]
fn an_interrupted_creation_is_begun_anew() {
    let scratch = Scratch::new();
    let design = TableDesign::choose(5, 3).unwrap();
    // Just begun: the lock file alone.
    fs::create_dir(scratch.path()).unwrap();
    fs::write(scratch.path().join("NEARSTONE-LOCK"), "").unwrap();
    assert!(matches!(SimhashStore::open(scratch.path(), &small()), Err(Error::NotFound { .. })));
    drop(SimhashStore::open_or_create(scratch.path(), &design, &small()).unwrap());
    let store = scratch.open();
    assert_eq!(store.design(), &design);
}

/// A creation that was killed after the database was made, and before the first family.
#[test]
fn a_creation_that_got_as_far_as_a_database_is_begun_anew() {
    for how in ["create", "open_or_create"] {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path()).unwrap();
        fs::write(scratch.path().join("NEARSTONE-LOCK"), "").unwrap();
        drop(rocksdb::DB::open_default(scratch.path()).unwrap());
        assert!(matches!(SimhashStore::open(scratch.path(), &small()), Err(Error::NotFound { .. })));
        let design = TableDesign::default();
        let store = match how {
            "create" => SimhashStore::create(scratch.path(), &design, &small()),
            _ => SimhashStore::open_or_create(scratch.path(), &design, &small()),
        };
        store.unwrap().insert("id", &Fingerprint::new(1)).unwrap();
    }
}

/// Changes the database of a closed store by hand.
fn with_database(path: &std::path::Path, change: impl FnOnce(&mut rocksdb::DB)) {
    let options = rocksdb::Options::default();
    let names = rocksdb::DB::list_cf(&options, path).unwrap();
    let families = names.iter().map(|name| rocksdb::ColumnFamilyDescriptor::new(name, rocksdb::Options::default()));
    let mut database = rocksdb::DB::open_cf_descriptors(&options, path, families).unwrap();
    change(&mut database);
    // All of it in files, so that no log is replayed with other options than the store's.
    database.flush().unwrap();
}

fn record_with(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let hex: String = include_str!("../data/store-record-v1.hex").split_whitespace().collect();
    let mut bytes: Vec<u8> =
        (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
    bytes.truncate(bytes.len() - 8);
    change(&mut bytes);
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes).to_be_bytes();
    bytes.extend(sum);
    bytes
}

/// Even one that has our lock file and a family of ours: it holds data, and no store record.
#[test]
fn a_database_with_data_and_our_lock_file_is_left_alone() {
    for family in ["default", "documents"] {
        let scratch = Scratch::new();
        drop(rocksdb::DB::open_default(scratch.path()).unwrap());
        with_database(&scratch.path(), |database| {
            database.create_cf("documents", &rocksdb::Options::default()).unwrap();
            database.put_cf(database.cf_handle(family).unwrap(), b"key", b"value").unwrap();
        });
        fs::write(scratch.path().join("NEARSTONE-LOCK"), "").unwrap();
        let error = SimhashStore::create(scratch.path(), &TableDesign::default(), &small()).unwrap_err();
        assert!(matches!(error, Error::NotAStore { .. }), "{error}");
        with_database(&scratch.path(), |database| {
            let family = database.cf_handle(family).unwrap();
            assert_eq!(database.get_cf(family, b"key").unwrap().as_deref(), Some(&b"value"[..]));
        });
    }
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let scratch = Scratch::new();
    drop(rocksdb::DB::open_default(scratch.path()).unwrap());
    with_database(&scratch.path(), |database| {
        database.create_cf("documents", &rocksdb::Options::default()).unwrap();
        database.create_cf("holders", &rocksdb::Options::default()).unwrap();
    });
    let before = fs::read_dir(scratch.path()).unwrap().count();
    for error in [
        SimhashStore::open(scratch.path(), &small()).unwrap_err(),
        SimhashStore::create(scratch.path(), &TableDesign::default(), &small()).unwrap_err(),
        SimhashStore::open_or_create(scratch.path(), &TableDesign::default(), &small()).unwrap_err(),
    ] {
        assert!(matches!(error, Error::NotAStore { .. }), "{error}");
        assert!(error.to_string().contains("another program"), "{error}");
    }
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), before);
}

/// A later format is named, whatever it has changed: the record, or the families.
#[test]
fn a_store_of_a_later_format_is_refused_by_its_version() {
    for new_family in [false, true] {
        let scratch = Scratch::new();
        scratch.create(&TableDesign::default());
        with_database(&scratch.path(), |database| {
            database.put(b"store", record_with(|bytes| bytes[9] = 3)).unwrap();
            if new_family {
                database.create_cf("bands00.2.1", &rocksdb::Options::default()).unwrap();
            }
        });
        for error in [
            SimhashStore::open(scratch.path(), &small()).unwrap_err(),
            SimhashStore::open_read_only(scratch.path(), &small()).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Format { found: 3, supported: 2, .. }), "{error}");
        }
    }
}

#[test]
fn what_this_build_cannot_serve_is_named() {
    let rows: [(&str, Vec<u8>); 2] = [
        ("the setting retention-seconds=86400", record_with(|_| {})),
        // The first letter of the kind of sketch.
        ("sketches of the kind \u{79}imhash64", record_with(|bytes| bytes[22] = b'y')),
    ];
    for (message, record) in rows {
        let scratch = Scratch::new();
        scratch.create(&TableDesign::choose(5, 3).unwrap());
        with_database(&scratch.path(), |database| database.put(b"store", &record).unwrap());
        let error = SimhashStore::open(scratch.path(), &small()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// A store that lost the file that names all others is no creation to be begun anew.
#[test]
fn a_missing_current_file_is_damage() {
    let scratch = Scratch::new();
    scratch.create(&TableDesign::default()).insert("id", &Fingerprint::new(1)).unwrap();
    fs::remove_file(scratch.path().join("CURRENT")).unwrap();
    for error in [
        SimhashStore::open(scratch.path(), &small()).unwrap_err(),
        SimhashStore::create(scratch.path(), &TableDesign::default(), &small()).unwrap_err(),
        SimhashStore::open_or_create(scratch.path(), &TableDesign::default(), &small()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

#[test]
fn a_missing_family_is_damage() {
    for family in ["documents", "holders.8", "table02.2.0"] {
        let scratch = Scratch::new();
        scratch.create(&TableDesign::default());
        with_database(&scratch.path(), |database| database.drop_cf(family).unwrap());
        let error = SimhashStore::open(scratch.path(), &small()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(family), "{error}");
    }
}

/// RocksDB ends the process at some of these.
#[test]
fn any_resources_will_do() {
    for bytes in [0, 1, usize::MAX] {
        let scratch = Scratch::new();
        let options = Options::new().cache_bytes(bytes).write_buffer_bytes(bytes);
        let store = SimhashStore::create(scratch.path(), &TableDesign::default(), &options).unwrap();
        store.insert("id", &Fingerprint::new(1)).unwrap();
        assert_eq!(store.query(&Fingerprint::new(1), 3).unwrap().len(), 1);
    }
}

#[test]
fn open_or_create_creates_once_and_then_checks() {
    let scratch = Scratch::new();
    let design = TableDesign::default();
    let store = SimhashStore::open_or_create(scratch.path(), &design, &small()).unwrap();
    store.insert("id", &Fingerprint::new(1)).unwrap();
    drop(store);
    assert_eq!(SimhashStore::open_or_create(scratch.path(), &design, &small()).unwrap().iter().unwrap().count(), 1);
    let other = TableDesign::choose(5, 3).unwrap();
    let error = SimhashStore::open_or_create(scratch.path(), &other, &small()).unwrap_err().to_string();
    assert!(
        error.contains("4 tables of 16 bits for distance 3") && error.contains("10 tables of 25-26 bits"),
        "{error}"
    );
}

#[test]
fn another_analyser_is_refused_with_both_names() {
    let scratch = Scratch::new();
    SimhashStore::create(scratch.path(), &TableDesign::default(), &small().analyser(Analyser::new(3))).unwrap();
    let open = |options: Options| SimhashStore::open(scratch.path(), &options);
    assert_eq!(open(small()).unwrap().analyser(), Some(&Analyser::new(3)));
    assert_eq!(open(small().analyser(Analyser::new(3))).unwrap().analyser(), Some(&Analyser::new(3)));
    let error = open(small().analyser(Analyser::new(2))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let text = error.to_string();
    assert!(
        text.contains("shingle-tokens=3") && text.contains("shingle-tokens=2") && text.contains("unicode-"),
        "{text}"
    );
    let open_or_create =
        |options: Options| SimhashStore::open_or_create(scratch.path(), &TableDesign::default(), &options);
    assert_eq!(open_or_create(small()).unwrap().analyser(), Some(&Analyser::new(3)), "a store keeps its own");
    assert_eq!(open_or_create(small().analyser(Analyser::default())).unwrap_err().kind(), ErrorKind::Mismatch);
}

/// A store says which analyser it was created with, down to each part, and gets that one back.
#[test]
fn a_store_keeps_any_analyser() {
    let text = "The river has risen by two metres since Monday: 河水上漲了兩米。";
    let presets = Preset::ALL.map(Analyser::preset);
    let custom = [Analyser::characters(3).without_diacritics(), Analyser::default().weights(Weights::Log)];
    for analyser in presets.into_iter().chain(custom) {
        let scratch = Scratch::new();
        let options = small().analyser(analyser.clone());
        let store = SimhashStore::create(scratch.path(), &TableDesign::default(), &options).unwrap();
        assert_eq!(store.stored_analyser(), Some(analyser.to_string()));
        drop(store);
        let store = scratch.open();
        assert_eq!(store.analyser(), Some(&analyser));
        assert_eq!(store.fingerprint(text).unwrap(), Simhash::new(analyser).fingerprint(text));
    }
}

#[test]
fn a_store_of_sketches_takes_no_texts() {
    let scratch = Scratch::new();
    let sketches = SimhashStore::create(scratch.path(), &TableDesign::default(), &small().sketches_only()).unwrap();
    assert_eq!(sketches.analyser(), None);
    sketches.insert("id", &Fingerprint::new(1)).unwrap();
    for error in [
        sketches.check_and_insert_text("id", "text", 3).map(|_| ()).unwrap_err(),
        sketches.query_text("text", 3).map(|_| ()).unwrap_err(),
        sketches.fingerprint("text").map(|_| ()).unwrap_err(),
    ] {
        assert!(matches!(error, Error::NoAnalyser { .. }), "{error}");
    }
    drop(sketches);
    assert!(SimhashStore::open_or_create(scratch.path(), &TableDesign::default(), &small()).is_err());
    assert_eq!(SimhashStore::open(scratch.path(), &small()).unwrap().analyser(), None);
    assert!(SimhashStore::open(scratch.path(), &small().analyser(Analyser::default())).is_err());
}

#[test]
fn times_do_not_go_back() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let begun = std::time::SystemTime::now() - std::time::Duration::from_millis(1);
    let mut last = begun;
    for i in 0..100u64 {
        store.insert(i.to_be_bytes(), &Fingerprint::new(i)).unwrap();
        let stored_at = store.get(i.to_be_bytes()).unwrap().unwrap().stored_at;
        assert!(stored_at >= last);
        last = stored_at;
    }
}

/// A MANIFEST that is cut before it names the families is damage, and no invitation to create a store.
#[test]
fn a_cut_manifest_is_damage() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    store.insert("id", &Fingerprint::new(1)).unwrap();
    store.flush().unwrap();
    drop(store);
    let current = fs::read_to_string(scratch.path().join("CURRENT")).unwrap();
    let manifest = fs::File::options().write(true).open(scratch.path().join(current.trim())).unwrap();
    manifest.set_len(130).unwrap();
    for refused in [
        SimhashStore::open(scratch.path(), &small()),
        SimhashStore::open_or_create(scratch.path(), &TableDesign::default(), &small()),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
