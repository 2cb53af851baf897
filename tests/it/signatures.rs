//! Stores of signatures.

use std::collections::BTreeMap;
use std::sync::Barrier;

use nearstone::{
    Admission, Analyser, BandDesign, Error, Fingerprint, Limits, MinhashDesign, MinhashStore, NewDocument, Options,
    Signature, SimhashStore, TableDesign,
};

use crate::common::{Random, Scratch, go_on, small};

fn design(bands: u32, rows_per_band: u32, rows: usize) -> MinhashDesign {
    MinhashDesign::new(BandDesign::new(bands, rows_per_band).unwrap()).unwrap().with_rows(rows).unwrap()
}

fn create(scratch: &Scratch, design: &MinhashDesign) -> MinhashStore {
    MinhashStore::create(scratch.path(), design, &small()).unwrap()
}

/// Signatures around centres, each of which differs from its centre in a number of rows.
fn clustered(design: &MinhashDesign, count: u64) -> Vec<Signature> {
    let mut random = Random(7);
    let centres: Vec<Vec<u32>> = (0..=count / 8)
        .map(|_| (0..design.rows()).map(|_| u32::try_from(random.next() >> 32).unwrap()).collect())
        .collect();
    let near = |n: u64, random: &mut Random| {
        let mut rows = centres[usize::try_from(n % centres.len() as u64).unwrap()].clone();
        for _ in 0..random.below(design.rows() as u64) * (n % 3) / 2 {
            let row = usize::try_from(random.below(rows.len() as u64)).unwrap();
            rows[row] = u32::try_from(random.next() >> 32).unwrap();
        }
        Signature::new(rows).unwrap().with_row_bits(design.row_bits()).unwrap()
    };
    (0..count).map(|n| near(n, &mut random)).collect()
}

/// What a store must find: what shares a band and is within the distance.
fn brute_force(
    documents: &BTreeMap<String, Signature>,
    design: &MinhashDesign,
    query: &Signature,
    max_distance: u32,
) -> Vec<(u32, Vec<u8>)> {
    let bands = design.bands();
    let per_band = bands.rows_per_band() as usize;
    let is_met = |stored: &Signature| {
        let pairs = stored.rows().chunks(per_band).zip(query.rows().chunks(per_band));
        pairs.take(bands.bands() as usize).any(|(a, b)| a == b)
    };
    let distance = |stored: &Signature| {
        u32::try_from(stored.rows().iter().zip(query.rows()).filter(|(a, b)| a != b).count()).unwrap()
    };
    let met = documents.iter().filter(|(_, stored)| is_met(stored));
    let mut near: Vec<_> = met.map(|(id, stored)| (distance(stored), id.clone().into_bytes())).collect();
    near.retain(|(distance, _)| *distance <= max_distance);
    near.sort();
    near
}

fn ask(store: &MinhashStore, query: &Signature, max_distance: u32) -> Vec<(u32, Vec<u8>)> {
    store.query(query, max_distance).unwrap().into_iter().map(|found| (found.distance, found.id)).collect()
}

#[test]
fn what_shares_a_band_is_found_at_every_distance() {
    for (bands, per_band, rows, bits) in
        [(16, 8, 128, 32), (4, 4, 16, 32), (20, 6, 130, 8), (1, 16, 16, 16), (64, 1, 64, 32)]
    {
        let design = design(bands, per_band, rows).with_row_bits(bits).unwrap();
        let scratch = Scratch::new();
        let mut store = create(&scratch, &design);
        let mut documents = BTreeMap::new();
        for (n, signature) in clustered(&design, 200).into_iter().enumerate() {
            // Some ids are stored twice, some signatures under several ids.
            let id = format!("{}", n % 180);
            let replaced = store.insert(&id, &signature).unwrap();
            assert_eq!(replaced, documents.insert(id, signature));
        }
        for id in ["3", "5", "179", "none"] {
            assert_eq!(store.delete(id).unwrap(), documents.remove(id));
        }
        let queries: Vec<Signature> = documents.values().step_by(9).cloned().chain(clustered(&design, 24)).collect();
        for state in ["live", "reopened"] {
            if state == "reopened" {
                drop(store);
                store = MinhashStore::open(scratch.path(), &small()).unwrap();
            }
            for distance in [0, 1, 2, bands / 2, bands, u32::try_from(rows / 2).unwrap(), u32::try_from(rows).unwrap()]
            {
                let distance = distance.min(u32::try_from(rows).unwrap());
                let batch = store.query_batch(queries.iter().cloned(), distance).unwrap();
                for (query, together) in queries.iter().zip(batch) {
                    let expected = brute_force(&documents, &design, query, distance);
                    assert_eq!(ask(&store, query, distance), expected, "{state} {design} {distance}");
                    let together = together.unwrap();
                    assert_eq!(together, store.query(query, distance).unwrap());
                    for found in &together {
                        let stored = &documents[std::str::from_utf8(&found.id).unwrap()];
                        assert_eq!(found.similarity(), Some(stored.similarity(query)));
                    }
                }
            }
            for (id, signature) in &documents {
                assert_eq!(store.get(id).unwrap().unwrap().sketch, *signature);
            }
            let all: BTreeMap<_, _> =
                store.iter().unwrap().map(|document| document.map(|d| (d.id_lossy(), d.sketch)).unwrap()).collect();
            assert_eq!(all, documents);
            let found = store.verify(go_on).unwrap();
            assert!(found.is_sound(), "{found:?}");
            let distinct: std::collections::BTreeSet<_> = documents.values().collect();
            assert_eq!((found.documents, found.sketches), (documents.len() as u64, distinct.len() as u64));
        }
    }
}

/// What all queries find, once.
#[test]
fn pairs_are_those_of_brute_force() {
    for (bands, per_band, rows) in [(16, 8, 128), (4, 4, 16), (64, 1, 64)] {
        let design = design(bands, per_band, rows);
        let scratch = Scratch::new();
        let store = create(&scratch, &design);
        let mut documents = BTreeMap::new();
        for (n, signature) in clustered(&design, 300).into_iter().enumerate() {
            let id = format!("{}", n % 280);
            store.insert(&id, &signature).unwrap();
            documents.insert(id, signature);
        }
        for distance in [0, 1, bands, u32::try_from(rows).unwrap()] {
            let mut expected = Vec::new();
            for (id, signature) in &documents {
                let stands = |of: &Signature| documents.iter().find(|(_, other)| *other == of).unwrap().0;
                for (distance, other) in brute_force(&documents, &design, signature, distance) {
                    let other = std::str::from_utf8(&other).unwrap();
                    let is_same = distance == 0 && stands(signature) == id && other != id;
                    let is_near = distance > 0 && id.as_str() < other;
                    if is_same || (is_near && stands(signature) == id && stands(&documents[other]) == other) {
                        expected.push((id.clone(), other.to_owned(), distance));
                    }
                }
            }
            expected.sort();
            let text = |id: Vec<u8>| String::from_utf8(id).unwrap();
            let pairs = store.pairs(distance).unwrap().map(Result::unwrap);
            let mut found: Vec<_> = pairs.map(|pair| (text(pair.a), text(pair.b), pair.distance)).collect();
            found.sort();
            assert_eq!(found, expected, "{design} {distance}");
            assert!(distance == 0 || !found.is_empty());
        }
    }
}

trait IdLossy {
    fn id_lossy(&self) -> String;
}

impl IdLossy for nearstone::Document<Signature> {
    fn id_lossy(&self) -> String {
        String::from_utf8(self.id.clone()).unwrap()
    }
}

#[test]
fn what_differs_in_fewer_rows_than_there_are_bands_is_always_found() {
    let design = MinhashDesign::default();
    let scratch = Scratch::new();
    let store = create(&scratch, &design);
    let mut random = Random(3);
    let rows: Vec<u32> = (0..128).map(|_| u32::try_from(random.next() >> 32).unwrap()).collect();
    store.insert("page", &Signature::new(rows.clone()).unwrap()).unwrap();
    for _ in 0..200 {
        let mut other = rows.clone();
        for _ in 0..15 {
            other[usize::try_from(random.below(128)).unwrap()] ^= 1 << random.below(32);
        }
        assert_eq!(store.query(&Signature::new(other).unwrap(), 15).unwrap().len(), 1);
    }
}

/// Batches answer as single admissions do, also where what is near in the batch shares no band.
#[test]
fn batches_admit_what_single_admissions_do() {
    let design = design(4, 4, 16);
    let [together, alone] = [Scratch::new(), Scratch::new()];
    let (batches, singles) = (create(&together, &design), create(&alone, &design));
    let signatures = clustered(&design, 600);
    for (n, chunk) in signatures.chunks(40).enumerate() {
        let distance = u32::try_from(n % 12).unwrap();
        let ids: Vec<String> = (0..chunk.len()).map(|i| format!("{n}/{i}")).collect();
        let documents: Vec<_> = ids.iter().zip(chunk).map(|(id, s)| NewDocument::new(id, s.clone())).collect();
        let one_by_one: Vec<_> =
            ids.iter().zip(chunk).map(|(id, s)| singles.check_and_insert(id, s, distance).unwrap()).collect();
        assert_eq!(batches.check_and_insert_batch(&documents, distance).unwrap(), one_by_one);
    }
    assert!(batches.verify(go_on).unwrap().is_sound());
}

#[test]
fn of_concurrent_near_duplicates_exactly_one_is_admitted() {
    const THREADS: u32 = 32;
    let scratch = Scratch::new();
    let store = create(&scratch, &MinhashDesign::default());
    for group in 0..30u64 {
        let mut random = Random(group);
        let centre: Vec<u32> = (0..128).map(|_| u32::try_from(random.next() >> 32).unwrap()).collect();
        let barrier = Barrier::new(THREADS as usize);
        let answers: Vec<(u64, Admission)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (store, barrier, mut rows) = (store.clone(), &barrier, centre.clone());
                    scope.spawn(move || {
                        // Each differs from the others in two rows, the last four not at all.
                        rows[thread.min(THREADS - 4) as usize * 4] ^= 1;
                        let id = group << 32 | u64::from(thread);
                        let signature = Signature::new(rows).unwrap();
                        barrier.wait();
                        (id, store.check_and_insert(id.to_be_bytes(), &signature, 2).unwrap())
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let admitted: Vec<u64> = answers.iter().filter(|(_, a)| a.is_admitted()).map(|&(id, _)| id).collect();
        assert_eq!(admitted.len(), 1, "group {group}");
        for (_, answer) in &answers {
            if let Admission::Duplicate(of) = answer {
                assert_eq!(of.id, admitted[0].to_be_bytes());
            }
        }
    }
    assert_eq!(store.iter().unwrap().count(), 30);
    assert!(store.verify(go_on).unwrap().is_sound());
}

/// Threads that store and remove the same signatures under many ids, while others look.
#[test]
fn documents_come_and_go_while_they_are_read() {
    let scratch = Scratch::new();
    let design = MinhashDesign::default();
    let store = create(&scratch, &design);
    let signatures = clustered(&design, 6);
    store.insert("kept", &signatures[0]).unwrap();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u64)
            .map(|thread| {
                let (store, signatures) = (store.clone(), &signatures);
                scope.spawn(move || {
                    let mut random = Random(thread);
                    for _ in 0..1500 {
                        let id = format!("{}", random.below(4));
                        let signature = &signatures[usize::try_from(random.below(6)).unwrap()];
                        if random.below(2) == 0 {
                            store.insert(id, signature).unwrap();
                        } else {
                            store.delete(id).unwrap();
                        }
                    }
                })
            })
            .collect();
        let (store, signatures) = (&store, &signatures);
        scope.spawn(move || {
            while writers.iter().any(|writer| !writer.is_finished()) {
                let found = store.query(&signatures[0], 0).unwrap();
                assert!(found.iter().any(|found| found.id == b"kept"));
                for document in store.iter().unwrap() {
                    assert!(signatures.contains(&document.unwrap().sketch));
                }
                for id in 0..4 {
                    if let Some(document) = store.get(id.to_string()).unwrap() {
                        assert!(signatures.contains(&document.sketch));
                    }
                }
            }
        });
    });
    assert!(store.verify(go_on).unwrap().is_sound());
}

#[test]
fn what_does_not_fit_the_store_is_refused() {
    let scratch = Scratch::new();
    let store = create(&scratch, &MinhashDesign::default());
    let [long, narrow] =
        [(256, 32), (128, 8)].map(|(rows, bits)| Signature::new(vec![1; rows]).unwrap().with_row_bits(bits).unwrap());
    for foreign in [&long, &narrow] {
        assert!(matches!(store.insert("a", foreign), Err(Error::Signature { .. })));
        assert!(matches!(store.check_and_insert("a", foreign, 3), Err(Error::Signature { .. })));
        assert!(matches!(store.query(foreign, 3), Err(Error::Signature { .. })));
        let documents = [NewDocument::new("a", foreign.clone())];
        assert!(matches!(store.check_and_insert_batch(&documents, 3), Err(Error::Signature { .. })));
        // The queries before it are answered.
        let own = Signature::new(vec![1; 128]).unwrap();
        let answers: Vec<_> = store.query_batch([own, foreign.clone()], 3).unwrap().collect();
        assert!(matches!(&answers[..], [Ok(_), Err(Error::Signature { .. })]));
    }
    let own = Signature::new(vec![1; 128]).unwrap();
    assert!(store.query(&own, 128).unwrap().is_empty());
    assert!(matches!(store.query(&own, 129), Err(Error::Distance { maximum: 128, .. })));
    assert_eq!(store.iter().unwrap().count(), 0);
}

#[test]
fn stores_of_another_kind_or_design_are_refused_by_name() {
    let scratch = Scratch::new();
    drop(create(&scratch, &MinhashDesign::default()));
    let told = SimhashStore::open(scratch.path(), &small()).unwrap_err().to_string();
    assert!(told.contains("minhash") && told.contains("simhash64"), "{told}");
    let other = design(8, 16, 128);
    let told = MinhashStore::open_or_create(scratch.path(), &other, &small()).unwrap_err().to_string();
    assert!(told.contains("16x8") && told.contains("8x16"), "{told}");
    let seeded = MinhashDesign::default().with_seed(9);
    assert!(MinhashStore::open_or_create(scratch.path(), &seeded, &small()).is_err());
    assert!(MinhashStore::open_or_create(scratch.path(), &MinhashDesign::default(), &small()).is_ok());

    let scratch = Scratch::new();
    drop(scratch.create(&TableDesign::default()));
    let told = MinhashStore::open(scratch.path(), &small()).unwrap_err().to_string();
    assert!(told.contains("minhash") && told.contains("simhash64"), "{told}");
    let store = scratch.open();
    assert_eq!(store.query(&Fingerprint::new(1), 3).unwrap().len(), 0);
}

#[test]
fn texts_are_found_by_what_they_share() {
    let scratch = Scratch::new();
    let options = small().analyser(Analyser::default());
    let store = MinhashStore::create(scratch.path(), &MinhashDesign::default(), &options).unwrap();
    let words: Vec<String> = (0..120).map(|n| format!("word{}", n * n % 997)).collect();
    let text = words.join(" ");
    assert_eq!(store.check_and_insert_text("first", &text, 25).unwrap(), Some(Admission::Admitted));
    assert_eq!(store.check_and_insert_text("nothing", "?!", 25).unwrap(), None);
    let changed = text.replace("word4 ", "another ");
    let Some(Admission::Duplicate(of)) = store.check_and_insert_text("second", &changed, 25).unwrap() else {
        panic!("two of 119 pairs of words differ");
    };
    assert_eq!(of.id, b"first");
    let error = MinhashDesign::default().standard_error(117.0 / 121.0);
    assert!((of.similarity().unwrap() - 117.0 / 121.0).abs() < 4.0 * error, "{of:?}");
    let far: Vec<&str> = words[60..].iter().map(String::as_str).collect();
    assert_eq!(store.query_text(&far.join(" "), 25).unwrap().map(|matches| matches.len()), Some(0));
    // What makes the signatures is kept with the store.
    drop(store);
    let store = MinhashStore::open(scratch.path(), &small()).unwrap();
    assert_eq!(store.query_text(&text, 0).unwrap().unwrap().nearest().unwrap().id, b"first");
}

#[test]
fn limits_cut_answers_short_and_say_so() {
    let scratch = Scratch::new();
    let design = design(4, 4, 16);
    let store = create(&scratch, &design);
    // All share the first band.
    for n in 0..300u32 {
        let rows: Vec<u32> = (0..16).map(|row| if row < 4 { 7 } else { n * 16 + row }).collect();
        store.insert(n.to_be_bytes(), &Signature::new(rows).unwrap()).unwrap();
    }
    let query = Signature::new(vec![7; 16]).unwrap();
    let whole = store.query(&query, 12).unwrap();
    assert_eq!((whole.len(), whole.is_truncated(), whole.stats().candidates), (300, false, 300));
    let limited = store.with_limits(Limits::new().max_candidates(100)).query(&query, 12).unwrap();
    assert!(limited.is_truncated() && limited.len() <= 100);
    let first = store.with_limits(Limits::new().max_matches(5)).query(&query, 12).unwrap();
    assert!(first.is_truncated());
    assert_eq!(first.as_slice(), &whole.as_slice()[..5]);
}

#[test]
fn checkpoints_are_whole() {
    let scratch = Scratch::new();
    let design = MinhashDesign::default();
    let store = create(&scratch, &design);
    let signatures = clustered(&design, 50);
    for (n, signature) in signatures.iter().enumerate() {
        store.insert(n.to_string(), signature).unwrap();
    }
    let copy = scratch.dir.path().join("copy");
    store.checkpoint(&copy).unwrap();
    store.delete("7").unwrap();
    let copy = MinhashStore::open_read_only(copy, &Options::new()).unwrap();
    assert_eq!(copy.get("7").unwrap().unwrap().sketch, signatures[7]);
    assert_eq!(copy.stats().unwrap().approximate_documents, 50);
    assert!(copy.verify(go_on).unwrap().is_sound());
}
