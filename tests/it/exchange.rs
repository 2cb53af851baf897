//! Page files: whole and in their order, or refused by name.

use std::fs;
use std::path::Path;

use nearstone::{BulkLoader, Error, Fingerprint, TableDesign};

use crate::common::{Scratch, copy, go_on, little};

fn write_pages(folder: &Path, documents: u64) {
    let mut loader = BulkLoader::to_pages(folder, &TableDesign::default(), false, &little()).unwrap();
    for n in 0..documents {
        let print = Fingerprint::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        loader.push_with(format!("document {n}"), &print, if n % 7 == 0 { b"payload" } else { b"" }).unwrap();
    }
    loader.commit(go_on).unwrap();
}

#[test]
fn page_files_are_taken_into_empty_and_filled_stores() {
    let scratch = Scratch::new();
    let pages = scratch.dir.path().join("pages");
    write_pages(&pages, 5_000);
    let store = scratch.create(&TableDesign::default());
    let report = store.load_pages(&pages, &little(), go_on).unwrap();
    assert_eq!((report.documents, report.sketches), (5_000, 5_000));
    assert_eq!(store.get("document 14").unwrap().unwrap().payload, b"payload");
    store.insert("document 14", &Fingerprint::new(1)).unwrap();
    store.insert("another", &Fingerprint::new(2)).unwrap();
    let report = store.load_pages(&pages, &little(), go_on).unwrap();
    assert_eq!(report.documents, 5_001);
    assert_eq!(store.get("document 14").unwrap().unwrap().payload, b"payload");
    assert!(store.verify(go_on).unwrap().is_sound());
    assert!(matches!(
        BulkLoader::to_pages(&pages, &TableDesign::default(), false, &little()),
        Err(Error::Pages { .. })
    ));
}

/// Something that is done to a folder of page files.
type Change<'a> = Box<dyn Fn(&Path) + 'a>;

/// Whatever is done to the files of an exchange, nothing of it is taken, and the message names the file.
#[test]
fn page_files_that_were_tampered_with_are_refused_by_name() {
    let scratch = Scratch::new();
    let good = scratch.dir.path().join("good");
    write_pages(&good, 2_000);
    let store = scratch.create(&TableDesign::default());
    let manifest = fs::read_to_string(good.join("manifest.json")).unwrap();
    let edited = |from: &str, to: &str| -> Change<'_> {
        assert!(manifest.contains(from), "{from}");
        let text = manifest.replacen(from, to, 1);
        Box::new(move |folder| fs::write(folder.join("manifest.json"), &text).unwrap())
    };
    let flipped = |file: &'static str, at: usize| -> Change<'_> {
        Box::new(move |folder| {
            let mut bytes = fs::read(folder.join(file)).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 0x10;
            fs::write(folder.join(file), bytes).unwrap();
        })
    };
    let mut changes: Vec<(&str, Change<'_>)> = vec![
        ("manifest.json", Box::new(|folder| fs::remove_file(folder.join("manifest.json")).unwrap())),
        ("manifest.json", Box::new(|folder| fs::write(folder.join("manifest.json"), "{").unwrap())),
        ("manifest.json", edited("nearstone-pages/1", "nearstone-pages/9")),
        ("manifest.json", edited("simhash64", "minhash")),
        ("manifest.json", edited("\"prefix_bits\": 16", "\"prefix_bits\": 17")),
        ("manifest.json", edited("\"holder_times\": false", "\"holder_times\": true")),
        ("manifest.json", edited("\"entries\": 2000", "\"entries\": 1999")),
        ("manifest.json", edited("000000.pages", "../documents/000000.pages")),
        ("000000.pages", edited("\"first\": \"", "\"first\": \"00")),
        ("000000.pages", edited("\"checksum\": \"", "\"checksum\": \"0")),
        ("pages02", Box::new(|folder| fs::remove_file(folder.join("pages02/000000.pages")).unwrap())),
        (
            "pages01",
            Box::new(|folder| {
                fs::copy(folder.join("pages02/000000.pages"), folder.join("pages01/000000.pages")).unwrap();
            }),
        ),
        (
            "holders",
            Box::new(|folder| {
                let file = fs::OpenOptions::new().write(true).open(folder.join("holders/000000.pages")).unwrap();
                file.set_len(file.metadata().unwrap().len() - 1).unwrap();
            }),
        ),
    ];
    for at in (0..3_000).step_by(211) {
        for (folder, file) in [
            ("documents", "documents/000000.pages"),
            ("holders", "holders/000000.pages"),
            ("pages03", "pages03/000000.pages"),
        ] {
            changes.push((folder, flipped(file, at)));
        }
    }
    for (n, (name, change)) in changes.iter().enumerate() {
        let folder = scratch.dir.path().join("bad");
        copy(&good, &folder);
        change(&folder);
        let error = store.load_pages(&folder, &little(), go_on).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(name) && !message.contains('\n'), "{n}: {message}");
        assert_eq!(store.iter().unwrap().count(), 0, "{n}");
        assert!(!scratch.path().join("nearstone-load").exists());
        fs::remove_dir_all(folder).unwrap();
    }
    // Files that agree with their own manifest, and not with each other.
    let other = scratch.dir.path().join("other");
    write_pages(&other, 1_999);
    let mixed = scratch.dir.path().join("mixed");
    copy(&good, &mixed);
    let (ours, theirs): (serde_json::Value, serde_json::Value) = (
        serde_json::from_str(&manifest).unwrap(),
        serde_json::from_str(&fs::read_to_string(other.join("manifest.json")).unwrap()).unwrap(),
    );
    for part in ["holders", "pages00"] {
        let mut text = ours.clone();
        text["parts"][part] = theirs["parts"][part].clone();
        text["parts"][part][0]["entries"] = 2_000.into();
        fs::write(mixed.join("manifest.json"), text.to_string()).unwrap();
        fs::copy(other.join(part).join("000000.pages"), mixed.join(part).join("000000.pages")).unwrap();
        let error = store.load_pages(&mixed, &little(), go_on).unwrap_err();
        assert!(matches!(error, Error::Pages { .. }), "{error}");
    }
    // Pages whose ranges overlap, in files that agree with their manifest in everything else.
    for part in ["documents", "holders", "pages00"] {
        let folder = scratch.dir.path().join(format!("overlap-{part}"));
        copy(&good, &folder);
        overlap(&folder, part);
        let error = store.load_pages(&folder, &little(), go_on).unwrap_err().to_string();
        assert!(error.contains("not in its order"), "{part}: {error}");
    }
    store.load_pages(&good, &little(), go_on).unwrap();
    assert!(store.verify(go_on).unwrap().is_sound());
}

/// Puts the last page of a part before the others, under a key that fits there.
fn overlap(folder: &Path, part: &str) {
    let path = folder.join(part).join("000000.pages");
    let bytes = fs::read(&path).unwrap();
    let mut pages: Vec<&[u8]> = vec![];
    let mut at = 8;
    while at < bytes.len() {
        let key = usize::from(u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap()));
        let page = u32::from_be_bytes(bytes[at + 2..at + 6].try_into().unwrap()) as usize;
        pages.push(&bytes[at..at + 6 + key + page]);
        at += 6 + key + page;
    }
    assert!(pages.len() > 2);
    let last = pages.len() - 1;
    pages.swap(last - 1, last);
    let changed = [&bytes[..8], &pages.concat()].concat();
    fs::write(&path, &changed).unwrap();
    let mut manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap();
    manifest["parts"][part][0]["checksum"] = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&changed)).into();
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
}
