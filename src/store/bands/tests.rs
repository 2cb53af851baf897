//! What only the families themselves show.

use std::ops::ControlFlow;

use super::*;
use crate::store::verify::Verification;
use crate::{BandDesign, Error, MinhashStore, Options};

struct Scratch {
    _dir: tempfile::TempDir,
    store: MinhashStore,
}

fn signature(n: u32) -> Signature {
    Signature::new((0..16).map(|row| n.wrapping_mul(0x9e37_79b9).wrapping_add(row / 4)).collect::<Vec<_>>()).unwrap()
}

impl Scratch {
    /// A store of ten documents, which have the signatures 0 to 9 by these numbers.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let design = MinhashDesign::new(BandDesign::new(4, 4).unwrap()).unwrap().with_rows(16).unwrap();
        let store = MinhashStore::create(dir.path().join("store"), &design, &Options::new()).unwrap();
        for n in 0..10 {
            store.insert(n.to_string(), &signature(n)).unwrap();
        }
        Self { _dir: dir, store }
    }

    fn change(&self, change: impl FnOnce(&Bands, &mut Batch<'_>)) {
        let shared = &self.store.shared;
        let view = shared.view();
        let mut batch = shared.engine.batch();
        change(&view.index, &mut batch);
        batch.write().unwrap();
    }

    fn verify(&self) -> Verification {
        self.store.verify(|_| ControlFlow::Continue(())).unwrap()
    }
}

#[test]
fn what_is_missing_or_left_over_is_found_and_named() {
    let scratch = Scratch::new();
    assert!(scratch.verify().is_sound());
    scratch.change(|bands, batch| batch.delete(&bands.live.signatures, &3u64.to_be_bytes()));
    let found = scratch.verify();
    // The signature, and the four bands that lead to it.
    assert_eq!((found.missing_entries, found.orphan_entries), (1, 4), "{found:?}");
    assert!(matches!(scratch.store.get("3"), Err(Error::Corrupt { .. })));

    let scratch = Scratch::new();
    let value = |bands: &Bands| bands.value_of(&signature(5), 2, 5);
    scratch.change(|bands, batch| batch.delete(&bands.live.bands[2], keys().encode(value(bands)).as_ref()));
    assert_eq!(scratch.verify().missing_entries, 1);
    // It leads to the same signature from elsewhere.
    scratch.change(|bands, batch| batch.put(&bands.live.bands[2], keys().encode(value(bands) ^ 1 << 63).as_ref(), &[]));
    let found = scratch.verify();
    assert_eq!((found.missing_entries, found.orphan_entries), (1, 1), "{found:?}");
    assert!(!found.is_sound());

    let scratch = Scratch::new();
    scratch.change(|bands, batch| {
        batch.put(&bands.live.signatures, &77u64.to_be_bytes(), &signatures::encode(&signature(77)));
    });
    let found = scratch.verify();
    assert_eq!((found.missing_entries, found.orphan_entries), (4, 1), "{found:?}");

    let scratch = Scratch::new();
    scratch.change(|bands, batch| batch.put(&bands.live.signatures, &2u64.to_be_bytes(), b"\x00short"));
    let found = scratch.verify();
    assert!(found.malformed == 1 && !found.is_sound(), "{found:?}");
    assert!(matches!(scratch.store.query(&signature(2), 3), Err(Error::Corrupt { .. })));
    assert_eq!(scratch.store.query(&signature(1), 3).unwrap().len(), 1);
}

/// Hashes of bands that are equal by chance lead to candidates that are compared, and refused.
#[test]
fn what_a_band_leads_to_by_chance_is_no_match() {
    let scratch = Scratch::new();
    scratch.change(|bands, batch| {
        let value = bands.prefix(&signature(1), 0) << 32 | 8;
        batch.put(&bands.live.bands[0], keys().encode(value).as_ref(), &[]);
    });
    let matches = scratch.store.query(&signature(1), 3).unwrap();
    assert_eq!((matches.len(), matches.stats().candidates), (1, 5));
}

#[test]
fn numbers_go_on_where_they_ended() {
    let scratch = Scratch::new();
    scratch.store.delete("4").unwrap();
    scratch.store.insert("again", &signature(6)).unwrap();
    assert_eq!(scratch.store.shared.view().index.next.load(Ordering::SeqCst), 10);
    let Scratch { _dir, store } = scratch;
    let path = store.path().to_owned();
    drop(store);
    let store = MinhashStore::open(path, &Options::new()).unwrap();
    store.insert("new", &signature(99)).unwrap();
    let view = store.shared.view();
    assert_eq!(view.index.find(&store.shared.engine, &signature(99)).unwrap(), Some(SignatureNumber(10)));
    assert_eq!(store.query(&signature(99), 0).unwrap().len(), 1);
}

#[test]
fn repair_leads_to_what_is_there_and_counts_what_is_lost() {
    let scratch = Scratch::new();
    scratch.store.insert("twin", &signature(1)).unwrap();
    scratch.change(|bands, batch| {
        // A lost signature, one that nothing has, a lost entry and one that leads astray.
        batch.delete(&bands.live.signatures, &3u64.to_be_bytes());
        batch.put(&bands.live.signatures, &77u64.to_be_bytes(), &signatures::encode(&signature(77)));
        batch.delete(&bands.live.bands[2], keys().encode(bands.value_of(&signature(5), 2, 5)).as_ref());
        batch.put(&bands.live.bands[0], keys().encode(99).as_ref(), &[]);
    });
    let shared = &scratch.store.shared;
    let mut batch = shared.engine.batch();
    batch.delete(&shared.view().live.holders, &[&6u64.to_be_bytes()[..], b"6"].concat());
    batch.write().unwrap();
    assert!(!scratch.verify().is_sound());
    let Scratch { _dir, store } = scratch;
    let path = store.path().to_owned();
    drop(store);
    let repaired = MinhashStore::repair(&path, &Options::new(), |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((repaired.documents, repaired.lost), (10, 1));
    let store = MinhashStore::open(&path, &Options::new()).unwrap();
    let found = store.verify(|_| ControlFlow::Continue(())).unwrap();
    assert!(found.is_sound() && found.documents == 10 && found.orphan_entries == 0, "{found:?}");
    assert_eq!(store.get("3").unwrap(), None);
    for n in (0..10).filter(|&n| n != 3) {
        assert!(store.query(&signature(n), 0).unwrap().iter().any(|found| found.id == n.to_string().as_bytes()));
    }
}
