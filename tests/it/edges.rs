//! The edges at which the peers of this field fail.

use nearstone::{Admission, Fingerprint, MAX_ID_BYTES, TableDesign};

use crate::common::{BruteForce, Random, Scratch, assert_same};

fn designs() -> Vec<TableDesign> {
    [(4, 3), (5, 3), (6, 3), (7, 6), (1, 0)].map(|(m, k)| TableDesign::choose(m, k).unwrap()).to_vec()
}

/// Off by one at the maximum distance: a value at exactly the maximum is found, one further is not,
/// wherever the bits that differ are.
#[test]
fn the_maximum_distance_is_inclusive_for_every_place_of_the_errors() {
    let mut random = Random(11);
    for design in designs() {
        let most = design.max_distance();
        let scratch = Scratch::new();
        let store = scratch.create(&design);
        let stored = Fingerprint::new(random.next());
        store.insert("doc", &stored).unwrap();
        // Windows of errors over each end and each border of blocks, and errors anywhere.
        let windows = (0..64).map(|shift| {
            let window = if most == 0 { 0 } else { (u64::MAX >> (64 - most)).rotate_left(shift) };
            stored.bits() ^ window
        });
        for value in windows.chain((0..200).map(|_| random.flipped(stored.bits(), most))).collect::<Vec<_>>() {
            let query = Fingerprint::new(value);
            assert_eq!(query.distance(stored), most);
            assert_eq!(store.query(&query, most).unwrap().len(), 1, "{design} {query}");
            if most > 0 {
                assert!(store.query(&query, most - 1).unwrap().is_empty());
            }
        }
    }
}

/// Values at the edges of the key space: 0, all ones, all-ones prefixes, single bits, halves.
#[test]
fn values_at_the_edges_of_the_key_space() {
    let mut edges = vec![
        0,
        u64::MAX,
        1,
        1 << 63,
        u64::MAX - 1,
        u64::MAX >> 1,
        0xffff_ffff,
        !0xffff_ffff,
        i64::MAX as u64,
        1 << 31,
        1 << 32,
    ];
    edges.extend([16, 25, 26, 28, 31, 32, 33].map(|bits| u64::MAX << (64 - bits)));
    for design in designs() {
        let scratch = Scratch::new();
        let mut store = scratch.create(&design);
        let mut truth = BruteForce::default();
        for (i, &value) in edges.iter().enumerate() {
            let id = format!("edge-{i}").into_bytes();
            store.insert(&id, &Fingerprint::new(value)).unwrap();
            truth.documents.insert(id, Fingerprint::new(value));
        }
        for state in ["in memory", "compacted", "reopened"] {
            match state {
                "compacted" => store.compact().unwrap(),
                "reopened" => {
                    drop(store);
                    store = scratch.open();
                }
                _ => {}
            }
            for &value in &edges {
                for distance in 0..=design.max_distance() {
                    assert_same(&store, &truth, Fingerprint::new(value), distance, state);
                    for bit in [0, 1, 31, 32, 62, 63] {
                        assert_same(&store, &truth, Fingerprint::new(value ^ 1 << bit), distance, state);
                    }
                }
            }
        }
    }
}

/// A store of one, and of none.
#[test]
fn few_values() {
    for design in designs() {
        let scratch = Scratch::new();
        let store = scratch.create(&design);
        let value = Fingerprint::new(0x0123_4567_89ab_cdef);
        assert!(store.query(&value, design.max_distance()).unwrap().is_empty());
        store.insert("only", &value).unwrap();
        assert_eq!(store.query(&value, design.max_distance()).unwrap().nearest().unwrap().id, b"only");
    }
}

/// The same fingerprint under many ids is one candidate a table, and every id is reported once.
#[test]
fn one_value_under_many_ids_costs_one_candidate() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let value = Fingerprint::new(0xdead_beef_dead_beef);
    for i in 0..1000u32 {
        assert_eq!(store.insert(i.to_be_bytes(), &value).unwrap(), None);
    }
    let matches = store.query(&value, 3).unwrap();
    assert_eq!(matches.len(), 1000);
    assert!(matches.iter().zip(0u32..).all(|(found, i)| found.id == i.to_be_bytes() && found.distance == 0));
    assert_eq!(matches.stats().candidates, 4, "one in each of four tables");
    assert_eq!(matches.stats().probes, 4);
    // It goes with its last holder, not before.
    for i in 0..999u32 {
        store.delete(i.to_be_bytes()).unwrap();
    }
    assert_eq!(store.query(&value, 3).unwrap().len(), 1);
    store.delete(999u32.to_be_bytes()).unwrap();
    let gone = store.query(&value, 3).unwrap();
    assert_eq!((gone.len(), gone.stats().candidates), (0, 0));
}

/// Deleting the holders of one sketch, in any order, does not walk over all that were deleted before: with
/// that, this would take minutes.
#[test]
fn a_page_held_by_many_is_given_up_by_all() {
    const HOLDERS: u32 = 60_000;
    for backwards in [false, true] {
        let scratch = Scratch::new();
        let store = scratch.create(&TableDesign::default());
        let value = Fingerprint::new(1);
        for i in 0..HOLDERS {
            store.insert(i.to_be_bytes(), &value).unwrap();
        }
        for i in 0..HOLDERS {
            let i = if backwards { HOLDERS - 1 - i } else { i };
            assert_eq!(store.delete(i.to_be_bytes()).unwrap(), Some(value));
        }
        let gone = store.query(&value, 3).unwrap();
        assert_eq!((gone.len(), gone.stats().candidates), (0, 0), "backwards: {backwards}");
    }
}

/// The search for probes ends for every design and distance, and what it finds covers the distance.
#[test]
fn every_design_answers_every_distance_soon() {
    for (blocks, most) in [(5, 3), (6, 3), (7, 3), (8, 3), (8, 5), (11, 2), (64, 1)] {
        let design = TableDesign::choose(blocks, most).unwrap();
        for distance in 0..=TableDesign::MAX_DISTANCE {
            let begun = std::time::Instant::now();
            if let Some(probes) = design.probes_for(distance) {
                assert!(probes.total() <= TableDesign::MAX_PROBES);
                if distance <= 6 {
                    design.check_radii(probes.radii(), distance).unwrap();
                }
            }
            // A bound on hanging, not on speed: it takes a fraction of a second.
            assert!(begun.elapsed().as_secs() < 60, "{design} at {distance}");
        }
    }
}

#[test]
fn the_same_id_twice() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let (old, new) = (Fingerprint::new(1), Fingerprint::new(u64::MAX));
    assert_eq!(store.insert("id", &old).unwrap(), None);
    assert_eq!(store.insert("id", &old).unwrap(), Some(old));
    assert_eq!(store.insert("id", &new).unwrap(), Some(old));
    assert!(store.query(&old, 3).unwrap().is_empty());
    assert_eq!(store.query(&new, 0).unwrap().len(), 1);
    assert_eq!(store.get("id").unwrap().unwrap().sketch, new);
    // Back again: the entry that was removed is put back.
    assert_eq!(store.insert("id", &old).unwrap(), Some(new));
    assert_eq!(store.query(&old, 0).unwrap().len(), 1);
    assert_eq!(store.iter().unwrap().count(), 1);
}

/// Each match once, with its id and distance, the nearest first.
#[test]
fn every_match_says_which_and_how_far() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::choose(6, 3).unwrap());
    for (id, value) in [("three", 0b111), ("zero", 0), ("one", 0b1), ("other one", 0b10), ("four", 0b1111)] {
        store.insert(id, &Fingerprint::new(value)).unwrap();
    }
    let matches = store.query(&Fingerprint::new(0), 3).unwrap();
    let found: Vec<_> = matches.iter().map(|m| (m.distance, m.id_lossy().into_owned())).collect();
    let expected = [(0, "zero"), (1, "one"), (1, "other one"), (3, "three")].map(|(d, id)| (d, id.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn an_admission_names_the_nearest_document() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    for (id, value) in [("b", 0b111), ("d", 0b1), ("c", 0b1)] {
        store.insert(id, &Fingerprint::new(value)).unwrap();
    }
    let Admission::Duplicate(of) = store.check_and_insert("new", &Fingerprint::new(0), 3).unwrap() else { panic!() };
    assert_eq!((of.id.as_slice(), of.distance), (&b"c"[..], 1));
    assert_eq!(store.get("new").unwrap(), None, "a duplicate is not stored");
    assert_eq!(store.check_and_insert("far", &Fingerprint::new(u64::MAX), 3).unwrap(), Admission::Admitted);
    // At distance 0 only the same sketch is a duplicate.
    assert!(store.check_and_insert("new", &Fingerprint::new(0), 0).unwrap().is_admitted());
}

/// An id that is stored already: unchanged it is a duplicate of itself, changed it replaces itself.
#[test]
fn a_page_that_is_met_again() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    assert!(store.check_and_insert("page", &Fingerprint::new(0), 3).unwrap().is_admitted());
    let Admission::Duplicate(of) = store.check_and_insert("page", &Fingerprint::new(0b11), 3).unwrap() else {
        panic!()
    };
    assert_eq!((of.id.as_slice(), of.distance), (&b"page"[..], 2));
    assert_eq!(store.get("page").unwrap().unwrap().sketch, Fingerprint::new(0));
    assert!(store.check_and_insert("page", &Fingerprint::new(u64::MAX), 3).unwrap().is_admitted());
    assert!(store.query(&Fingerprint::new(0), 3).unwrap().is_empty());
    assert_eq!(store.iter().unwrap().count(), 1);
}

#[test]
fn ids_are_any_bytes_of_the_allowed_lengths() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let long = vec![0xff; MAX_ID_BYTES];
    // One id the beginning of another, zeros, ones, all with one fingerprint.
    let ids: [&[u8]; 7] = [b"\0", b"\0\0", b"a", b"a\0", b"ab", &[0xff], &long];
    for id in ids {
        store.insert(id, &Fingerprint::new(7)).unwrap();
    }
    let found: Vec<Vec<u8>> = store.query(&Fingerprint::new(7), 0).unwrap().into_iter().map(|m| m.id).collect();
    assert_eq!(found, ids);
    assert_eq!(store.iter().unwrap().map(|d| d.unwrap().id).collect::<Vec<_>>(), ids);
    for id in [&b""[..], &[0; MAX_ID_BYTES + 1]] {
        let error = store.insert(id, &Fingerprint::new(7)).unwrap_err();
        assert!(error.to_string().contains(&id.len().to_string()), "{error}");
        assert!(store.get(id).is_err() && store.delete(id).is_err());
        assert!(store.check_and_insert(id, &Fingerprint::new(7), 3).is_err());
    }
}

/// 20,000 values under one prefix of a table, and under its neighbours.
#[test]
fn a_crowded_prefix_is_answered_exactly() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let mut random = Random(5);
    let mut truth = BruteForce::default();
    for i in 0..20_000u32 {
        let value = 0xabcd_0000_0000_0000 | random.next() >> 16;
        let value = Fingerprint::new(if i % 4 == 0 { value ^ 1 << 50 } else { value });
        store.insert(i.to_be_bytes(), &value).unwrap();
        truth.documents.insert(i.to_be_bytes().to_vec(), value);
    }
    for (id, value) in truth.documents.clone().into_iter().step_by(1000) {
        assert_same(&store, &truth, value, 3, "crowded");
        let flipped = Fingerprint::new(random.flipped(value.bits(), 3));
        assert_same(&store, &truth, flipped, 3, "crowded");
        assert_eq!(store.query(&value, 0).unwrap().nearest().unwrap().id, id);
    }
}

#[test]
fn texts_without_features_are_near_nothing() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    for (i, text) in ["", " ", "?!", "\u{feff}", "---", "。、"].iter().enumerate() {
        assert_eq!(store.check_and_insert_text(format!("empty-{i}"), text, 3).unwrap(), None);
        assert_eq!(store.query_text(text, 16).unwrap(), None);
    }
    assert_eq!(store.iter().unwrap().count(), 0);
}

/// Different short texts in many scripts are different documents.
#[test]
fn texts_in_every_script_are_told_apart() {
    let texts = [
        "今天天气很好我们去公园散步",
        "明天会下雨请带上你的雨伞",
        "今日はとても良い天気です",
        "電車が遅れています",
        "วันนี้อากาศดีมาก",
        "พรุ่งนี้ฝนจะตก",
        "الطقس جميل اليوم",
        "القطار متأخر جدا",
        "מזג האוויר יפה היום",
        "הרכבת מאחרת",
        "आज मौसम बहुत अच्छा है",
        "ट्रेन देर से आ रही है",
        "오늘 날씨가 좋아요",
        "기차가 늦었어요",
        "😀🎉🚀",
        "🐢🌧☂",
    ];
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    for text in texts {
        assert_eq!(store.check_and_insert_text(text, text, 3).unwrap(), Some(Admission::Admitted), "{text}");
    }
    for text in texts {
        let matches = store.query_text(text, 3).unwrap().unwrap();
        assert_eq!(matches.nearest().unwrap().id, text.as_bytes());
        assert_eq!(matches.len(), 1);
    }
}
