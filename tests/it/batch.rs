//! Many queries at once answer what single ones answer.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use nearstone::{Fingerprint, Limits, Matches, Options, SimhashStore, TableDesign};

use crate::common::{BruteForce, Random, Scratch, go_on, little};

/// Uniform values, crowds around some of them, and crowds under one prefix.
fn values(random: &mut Random, count: u64) -> Vec<u64> {
    let mut values: Vec<u64> = vec![0, u64::MAX, 1, 1 << 63];
    for n in 0..count {
        let value = match n % 4 {
            0 | 1 => random.next(),
            2 => {
                let of = pick(random, &values);
                flipped(random, of, 9)
            }
            _ => random.next() >> 16 | 0xabcd << 48,
        };
        values.push(value);
    }
    values
}

fn pick(random: &mut Random, values: &[u64]) -> u64 {
    values[usize::try_from(random.below(values.len() as u64)).unwrap()]
}

/// A value with fewer than so many bits flipped.
fn flipped(random: &mut Random, value: u64, flips: u64) -> u64 {
    let flips = u32::try_from(random.below(flips)).unwrap();
    random.flipped(value, flips)
}

/// Stores values: some sealed, some live, some in both, some replaced and removed.
fn fill(store: &SimhashStore, truth: &mut BruteForce, values: &[u64], sealed: usize) {
    let mut loader = store.bulk_loader(&little()).unwrap();
    for (n, &value) in values[..sealed].iter().enumerate() {
        loader.push(format!("doc-{n}"), &Fingerprint::new(value)).unwrap();
        truth.documents.insert(format!("doc-{n}").into(), Fingerprint::new(value));
    }
    loader.commit(go_on).unwrap();
    for (n, &value) in values.iter().enumerate().skip(sealed) {
        // Some take the place of sealed ones, and some have a sketch that is sealed.
        let id = if n % 5 == 0 { format!("doc-{}", n / 2) } else { format!("doc-{n}") };
        let value = Fingerprint::new(if n % 7 == 0 { values[n / 3] } else { value });
        store.insert(&id, &value).unwrap();
        truth.documents.insert(id.into(), value);
    }
    for n in (0..values.len()).step_by(11) {
        store.delete(format!("doc-{n}")).unwrap();
        truth.documents.remove(format!("doc-{n}").as_bytes());
    }
}

fn queries(random: &mut Random, values: &[u64], count: usize) -> Vec<Fingerprint> {
    let near = |random: &mut Random| {
        let of = pick(random, values);
        flipped(random, of, 10)
    };
    (0..count).map(|n| Fingerprint::new(if n % 3 == 0 { random.next() } else { near(random) })).collect()
}

fn asked(store: &SimhashStore, queries: &[Fingerprint], distance: u32) -> Vec<Matches> {
    store.query_batch(queries.iter().copied(), distance).unwrap().collect::<Result<_, _>>().unwrap()
}

fn with_threads(store: &SimhashStore, threads: usize) -> SimhashStore {
    store.with_threads(NonZeroUsize::new(threads).unwrap())
}

#[test]
fn many_queries_answer_what_single_ones_and_brute_force_answer() {
    let mut random = Random(5);
    let all = values(&mut random, 3_000);
    for design in ["4x1", "5", "2x33"] {
        for sealed in [0, 2_000, all.len()] {
            let scratch = Scratch::new();
            let store = scratch.create(&TableDesign::named(design, 3).unwrap());
            let mut truth = BruteForce::default();
            fill(&store, &mut truth, &all, sealed);
            let queries = queries(&mut random, &all, 200);
            for distance in [0, 1, 2, 3, 5, 7, 12, 16] {
                let single: Vec<Matches> = queries.iter().map(|query| store.query(query, distance).unwrap()).collect();
                for threads in [1, 3] {
                    let many = asked(&with_threads(&store, threads), &queries, distance);
                    for ((query, many), single) in queries.iter().zip(&many).zip(&single) {
                        let what = format!("{design}, {sealed} sealed, {query} within {distance}, {threads} threads");
                        assert_eq!(many.as_slice(), single.as_slice(), "{what}");
                        let near: Vec<_> = many.iter().map(|found| (found.distance, found.id.clone())).collect();
                        assert_eq!(near, truth.near(*query, distance), "{what}");
                        if single.stats().scans == 0 && many.stats().scans == 0 {
                            assert_eq!(many.stats(), single.stats(), "{what}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn equal_queries_few_queries_and_limits() {
    let mut random = Random(6);
    let all = values(&mut random, 1_000);
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    fill(&store, &mut BruteForce::default(), &all, 600);
    let query = Fingerprint::new(all[40]);
    let alone = store.query(&query, 3).unwrap();
    assert!(!alone.is_empty());
    for count in [0, 1, 2, 270_000] {
        let answers = store.query_batch(std::iter::repeat_n(query, count), 3).unwrap();
        let answers: Vec<Matches> = answers.collect::<Result<_, _>>().unwrap();
        assert_eq!(answers.len(), count);
        assert!(answers.iter().all(|answer| *answer == alone));
    }
    let limited = store.with_limits(Limits::new().max_matches(1));
    let found = asked(&limited, &[query, query], 8);
    assert_eq!(found[1], limited.query(&query, 8).unwrap());
    assert!(found[0].is_truncated() && found[0].len() == 1);
    let limited = store.with_limits(Limits::new().max_candidates(3));
    assert_eq!(asked(&limited, &[query], 3)[0], limited.query(&query, 3).unwrap());
    assert!(store.query_batch([query], 17).is_err());
}

#[test]
fn a_batch_sees_each_change_as_a_whole_while_writers_go_on() {
    let mut random = Random(7);
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    fill(&store, &mut BruteForce::default(), &values(&mut random, 4_000), 3_000);
    // Of these two exactly one is stored at any time, by one id.
    let places = [0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef ^ 0x8000_0001].map(Fingerprint::new);
    store.insert("moving", &places[0]).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                store.insert("moving", &places[n % 2]).unwrap();
            }
        });
        let ask = |_| {
            let mut asked_for: Vec<Fingerprint> = (0..500).map(|_| Fingerprint::new(random.next())).collect();
            asked_for.insert(250, places[0]);
            let answers = asked(&store, &asked_for, 3);
            answers[250].iter().filter(|found| found.id == b"moving").count()
        };
        let moving: Vec<usize> = (0..30).map(ask).collect();
        // Before a failure, which would wait for the writer.
        stop.store(true, Ordering::Relaxed);
        assert_eq!(moving, [1; 30]);
    });
}

/// Almost nothing is cached, so probes are done by other threads.
#[test]
fn what_is_read_by_several_threads_is_the_same() {
    let mut random = Random(8);
    let all = values(&mut random, 20_000);
    let scratch = Scratch::new();
    let mut truth = BruteForce::default();
    let store = scratch.create(&TableDesign::default());
    fill(&store, &mut truth, &all, 15_000);
    store.flush().unwrap();
    drop(store);
    let asked_for = queries(&mut random, &all, 60);
    for (threads, is_direct) in [(1, false), (2, true), (8, true), (8, false)] {
        let options = Options::new().cache_bytes(64 << 10).read_threads(threads).direct_reads(is_direct);
        let store = SimhashStore::open(scratch.path(), &options).unwrap();
        for distance in [1, 3, 7, 9] {
            for query in &asked_for {
                let found = store.query(query, distance).unwrap();
                let near: Vec<_> = found.iter().map(|found| (found.distance, found.id.clone())).collect();
                assert_eq!(near, truth.near(*query, distance), "{threads} threads, {query} within {distance}");
            }
        }
    }
}

/// What is near many queries at once is more than a chunk may hold, so it is cut short and gone on with.
#[test]
fn queries_with_many_matches_are_answered_in_pieces() {
    let mut random = Random(9);
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let template = 0x0123_4567_89ab_cdef;
    let near: Vec<u64> = (0..64).map(|bit| template ^ 1 << bit).collect();
    let mut loader = store.bulk_loader(&little()).unwrap();
    for a in 0..64 {
        for b in 0..a {
            loader.push([a, b], &Fingerprint::new(near[usize::from(a)] ^ 1 << b)).unwrap();
        }
    }
    loader.commit(go_on).unwrap();
    let others: Vec<u64> = (0..50).map(|_| random.next()).collect();
    // 2,016 are near each of 1,500: three million.
    let queries = (0..1_550).map(|n| if n % 31 == 7 { others[n / 31] } else { template }).map(Fingerprint::new);
    let expected = store.query(&Fingerprint::new(template), 3).unwrap();
    assert_eq!(expected.len(), 2_016);
    let mut count = 0;
    for (query, answer) in queries.clone().zip(store.query_batch(queries, 3).unwrap()) {
        let answer = answer.unwrap();
        let is_other = query != Fingerprint::new(template);
        assert!(if is_other { answer.is_empty() } else { answer == expected });
        count += 1;
    }
    assert_eq!(count, 1_550);
}

/// Sketches of many documents: what lists them goes on over many pages, next to sketches of one, sealed and live,
/// replaced and removed.
#[test]
fn sketches_with_many_documents_are_told_apart_from_their_neighbours() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let mut truth = BruteForce::default();
    let crowd = 0x0123_4567_89ab_cdef;
    // Each sketch, and how many documents have it.
    let held = [(crowd - 1, 1), (crowd, 1_700), (crowd + 1, 1), (crowd + 2, 600), (u64::MAX, 1_100), (0, 600), (1, 1)];
    let mut loader = store.bulk_loader(&little()).unwrap();
    for (value, count) in held {
        for n in 0..count {
            let id = format!("a document with an id that is long enough to fill pages soon, {value:x}, {n}");
            loader.push(&id, &Fingerprint::new(value)).unwrap();
            truth.documents.insert(id.into(), Fingerprint::new(value));
        }
    }
    loader.commit(go_on).unwrap();
    let ids: Vec<Vec<u8>> = truth.documents.keys().cloned().collect();
    for (n, id) in ids.iter().enumerate().step_by(3) {
        if n % 2 == 0 {
            store.delete(id).unwrap();
            truth.documents.remove(id.as_slice());
        } else {
            store.insert(id, &Fingerprint::new(crowd + 2)).unwrap();
            truth.documents.insert(id.as_slice().into(), Fingerprint::new(crowd + 2));
        }
    }
    let asked_for: Vec<Fingerprint> =
        [crowd, u64::MAX, 0, crowd ^ 1 << 40, 7, crowd + 2, crowd].map(Fingerprint::new).into();
    // The second time, tables are in memory from end to end; so they are when live values take some of it.
    for round in 0..4 {
        for threads in [1, 3] {
            for distance in [0, 3] {
                let many = asked(&with_threads(&store, threads), &asked_for, distance);
                for (query, many) in asked_for.iter().zip(&many) {
                    let near: Vec<_> = many.iter().map(|found| (found.distance, found.id.clone())).collect();
                    assert_eq!(near, truth.near(*query, distance), "{query} within {distance}, round {round}");
                    assert_eq!(
                        *many,
                        store.query(query, distance).unwrap(),
                        "{query} within {distance}, round {round}"
                    );
                }
            }
        }
    }
}
