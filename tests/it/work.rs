//! Bounded work: crowds, and answers that say that they were cut short.

use nearstone::{Admission, Fingerprint, Limits, NewDocument, TableDesign};

use crate::common::{Random, Scratch};

/// A page that is stored a million times.
#[test]
fn a_page_held_a_million_times_is_one_candidate() {
    const COPIES: u64 = 1_000_000;
    const DELETED: u64 = 200_000;
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let page = Fingerprint::new(0x0123_4567_89ab_cdef);
    for n in 0..COPIES {
        store.insert(n.to_be_bytes(), &page).unwrap();
    }
    let answer = store.check_and_insert("new", &Fingerprint::new(page.bits() ^ 7), 3).unwrap();
    let Admission::Duplicate(of) = answer else { panic!("{answer:?}") };
    assert_eq!((of.distance, of.id), (3, 0u64.to_be_bytes().to_vec()));
    let first = store.with_limits(Limits::new().max_matches(3)).query(&page, 3).unwrap();
    assert!(first.is_truncated());
    assert_eq!(first.stats().candidates, 4, "one in each table");
    let ids: Vec<u64> = first.iter().map(|m| u64::from_be_bytes(m.id.as_slice().try_into().unwrap())).collect();
    assert_eq!(ids, [0, 1, 2]);
    // Many are deleted: what lies in the way is work, and where it is bounded the answer says so.
    for n in 0..DELETED {
        store.delete(n.to_be_bytes()).unwrap();
    }
    let bounded = store.with_limits(Limits::new().max_candidates(10_000).max_matches(1));
    let cut = bounded.query(&page, 3).unwrap();
    assert!(cut.is_truncated() && cut.is_empty(), "{cut:?}");
    assert_eq!(bounded.check_and_insert("new", &page, 3).unwrap(), Admission::Undecided);
    store.compact().unwrap();
    assert_eq!(bounded.query(&page, 3).unwrap().as_slice()[0].id, DELETED.to_be_bytes());
}

/// A million values under one prefix of each table, and under prefixes that a probe reaches by flips.
#[test]
fn values_under_one_prefix_take_bounded_work() {
    const VALUES: u64 = 1_000_000;
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let mut random = Random(5);
    // All in the bucket of the first table's prefix 0, or of one that is a bit away from it.
    let values: Vec<u64> = (0..VALUES).map(|n| random.next() >> 16 | u64::from(n % 2 == 0) << 50).collect();
    for (n, &value) in values.iter().enumerate() {
        store.insert((n as u64).to_be_bytes(), &Fingerprint::new(value)).unwrap();
    }
    let bounded = store.with_limits(Limits::new().max_candidates(1000));
    let far = Fingerprint::new(0x0000_ffff_ffff_ffff);
    for distance in [3, 7] {
        let cut = bounded.query(&far, distance).unwrap();
        assert!(cut.is_truncated() && cut.stats().candidates == 1000, "{distance}: {:?}", cut.stats());
        let whole = store.query(&far, distance).unwrap();
        assert!(!whole.is_truncated() && whole.stats().candidates >= VALUES / 2);
        assert!(cut.iter().all(|m| whole.as_slice().contains(m)));
    }
    // Nothing was found, but not everything was looked at: the answer says so, and nothing is stored.
    assert_eq!(bounded.check_and_insert("new", &far, 3).unwrap(), Admission::Undecided);
    let batch = [NewDocument::new("new", far), NewDocument::new("lonely", Fingerprint::new(u64::MAX))];
    let answers = bounded.check_and_insert_batch(&batch, 3).unwrap();
    assert_eq!(answers, [Admission::Undecided, Admission::Admitted]);
    assert!(store.get("new").unwrap().is_none());
    // A batch without limits finds what lies in a crowd, and admits what is near none of it.
    let member = Fingerprint::new(values[500_001] ^ 5);
    // In the crowd by its own prefix, near a document that only other tables lead to.
    let neighbour = Fingerprint::new(values[500_000] ^ 1 << 50);
    let batch = [("near", member), ("beside", neighbour), ("new", far), ("same", far)]
        .map(|(id, sketch)| NewDocument::new(id, sketch));
    let answers = store.check_and_insert_batch(&batch, 3).unwrap();
    let told = |answer: &Admission| match answer {
        Admission::Duplicate(of) => (of.distance, of.id.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(&answers[0]), (2, 500_001u64.to_be_bytes().to_vec()));
    assert_eq!(told(&answers[1]), (1, 500_000u64.to_be_bytes().to_vec()));
    assert!(answers[2].is_admitted());
    assert_eq!(told(&answers[3]), (0, b"new".to_vec()));
    // A match that is met before the end is a match.
    let near = Fingerprint::new(values.iter().copied().min().unwrap());
    assert!(matches!(bounded.check_and_insert("again", &near, 3).unwrap(), Admission::Duplicate(_)));
}

/// Limits that are not reached change nothing; each limit is exact.
#[test]
fn limits_count_what_they_say() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    for n in 0..20u64 {
        store.insert(n.to_be_bytes(), &Fingerprint::new(n)).unwrap();
    }
    let query = Fingerprint::new(0);
    let whole = store.query(&query, 3).unwrap();
    let candidates = whole.stats().candidates;
    let enough = store.with_limits(Limits::new().max_candidates(candidates).max_matches(whole.len()));
    assert_eq!(enough.query(&query, 3).unwrap(), whole);
    let cut = store.with_limits(Limits::new().max_candidates(candidates - 1)).query(&query, 3).unwrap();
    assert!(cut.is_truncated());
    for most in 0..=whole.len() {
        let first = store.with_limits(Limits::new().max_matches(most)).query(&query, 3).unwrap();
        assert_eq!(first.is_truncated(), most < whole.len());
        assert_eq!(first.as_slice(), &whole.as_slice()[..most]);
    }
    let none = store.with_limits(Limits::new().max_candidates(0));
    assert_eq!(none.check_and_insert("x", &query, 3).unwrap(), Admission::Undecided);
}

/// Batches of ids that are stored, and of ids that repeat, do what single calls do.
#[test]
fn batches_that_replace_do_what_single_calls_do() {
    let scratch = Scratch::new();
    let other = Scratch::new();
    let (batches, singles) = (scratch.create(&TableDesign::default()), other.create(&TableDesign::default()));
    let mut random = Random(9);
    for round in 0..4u64 {
        // Half of the ids come again, some of them twice in a batch; some pages are near others.
        let documents: Vec<([u8; 8], Fingerprint)> = (0..1_000)
            .map(|_| {
                let centre = Random(random.below(900)).next();
                let flips = u32::try_from(random.below(3)).unwrap();
                ((random.below(600) + round * 300).to_be_bytes(), Fingerprint::new(random.flipped(centre, flips)))
            })
            .collect();
        let new: Vec<_> = documents.iter().map(|(id, sketch)| NewDocument::new(id, *sketch)).collect();
        let together = batches.check_and_insert_batch(&new, 3).unwrap();
        let one_by_one: Vec<_> =
            documents.iter().map(|(id, sketch)| singles.check_and_insert(id, sketch, 3).unwrap()).collect();
        assert_eq!(together, one_by_one);
    }
    let stored = |store: &nearstone::SimhashStore| -> Vec<_> {
        store.iter().unwrap().map(|document| document.map(|d| (d.id, d.sketch)).unwrap()).collect()
    };
    assert_eq!(stored(&batches), stored(&singles));
    assert!(batches.verify(|_| std::ops::ControlFlow::Continue(())).unwrap().is_sound());
}
