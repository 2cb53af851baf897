//! MinHash: the statistics of signatures, bands against their predictions, and bytes that must never change.

use nearstone::{Analyser, BandDesign, BandPlanner, Minhash, Signature, Weights};

use super::common::Random;

/// So many features, from a seed.
type Features = fn(&mut Random, u64) -> Vec<u64>;

/// Hashes, as of shingles.
fn hashes(random: &mut Random, all: u64) -> Vec<u64> {
    (0..all).map(|_| random.next()).collect()
}

/// Numbers one after another, as a caller may have them.
fn numbers(random: &mut Random, all: u64) -> Vec<u64> {
    let first = random.below(1 << 40);
    let mut numbers: Vec<u64> = (first..first + all).collect();
    // Which of them are shared is not to be those at one end.
    for place in (1..numbers.len()).rev() {
        numbers.swap(place, usize::try_from(random.below(place as u64 + 1)).unwrap());
    }
    numbers
}

/// The signatures of two sets that share so many of all their features.
fn pair(minhash: &Minhash, features: &[u64], shared: usize) -> [Signature; 2] {
    let middle = shared + (features.len() - shared) / 2;
    let a = minhash.of_features(features[..middle].iter().copied()).unwrap();
    let rest = features[..shared].iter().chain(&features[middle..]);
    [a, minhash.of_features(rest.copied()).unwrap()]
}

/// How far estimates are from the truth: the mean, over its standard error, and the variance, over that of independent rows.
struct Errors {
    sum: f64,
    squares: f64,
    number: f64,
}

impl Errors {
    fn new() -> Self {
        Self { sum: 0.0, squares: 0.0, number: 0.0 }
    }

    fn add(&mut self, error: f64) {
        (self.sum, self.squares, self.number) = (self.sum + error, self.squares + error * error, self.number + 1.0);
    }

    fn check(&self, standard_error: f64, what: &str) {
        let mean = self.sum / self.number / (standard_error / self.number.sqrt());
        let variance = self.squares / self.number / (standard_error * standard_error);
        assert!(mean.abs() < 3.0, "{what}: the mean error is {mean:.2} standard errors");
        assert!((variance - 1.0).abs() < 0.1, "{what}: the variance is {variance:.3} of what it should be");
    }
}

#[test]
fn estimates_are_unbiased_and_rows_are_independent() {
    let kinds: [(&str, Features); 2] = [("hashes", hashes), ("numbers", numbers)];
    let minhashes = [(128, 32), (64, 32), (128, 16), (128, 8)]
        .map(|(rows, bits)| Minhash::new(rows).unwrap().with_row_bits(bits).unwrap());
    let cases: [(u32, &[u32], u32); 5] = [
        (5, &[1, 2, 4], 10_000),
        (20, &[2, 10, 19], 10_000),
        (100, &[10, 50, 80, 95], 10_000),
        (2_000, &[200, 1_600], 10_000),
        (100_000, &[10_000, 80_000], 2_500),
    ];
    for (kind, features) in kinds {
        for (all, shares, pairs) in cases {
            for &shared in shares {
                let similarity = f64::from(shared) / f64::from(all);
                let mut errors: Vec<Errors> = minhashes.iter().map(|_| Errors::new()).collect();
                let mut random = Random(u64::from(all + shared));
                for _ in 0..pairs {
                    let features = features(&mut random, all.into());
                    let [a, b] = pair(&minhashes[0], &features, shared as usize);
                    for (minhash, errors) in minhashes.iter().zip(&mut errors) {
                        let [a, b] = [&a, &b].map(|of| cut(of, minhash));
                        errors.add(a.similarity(&b) - similarity);
                    }
                }
                for (minhash, errors) in minhashes.iter().zip(&errors) {
                    let what = format!("{kind}, {shared} of {all}, {minhash}");
                    let signature = cut(&minhashes[0].of_features([1]).unwrap(), minhash);
                    errors.check(signature.standard_error(similarity), &what);
                }
            }
        }
    }
}

/// What another minhash of the same seed, with fewer rows or bits, makes of the same features.
fn cut(signature: &Signature, minhash: &Minhash) -> Signature {
    let rows = signature.rows()[..minhash.rows()].to_vec();
    Signature::new(rows).unwrap().with_row_bits(minhash.row_bits()).unwrap()
}

#[test]
fn fewer_rows_and_bits_are_a_part_of_more() {
    let all = Minhash::new(1024).unwrap();
    let features: Vec<u64> = hashes(&mut Random(3), 50);
    let signature = all.of_features(features.iter().copied()).unwrap();
    for (rows, bits) in [(16, 32), (17, 8), (128, 16), (1000, 8), (1024, 8)] {
        let part = Minhash::new(rows).unwrap().with_row_bits(bits).unwrap();
        assert_eq!(part.of_features(features.iter().copied()).unwrap(), cut(&signature, &part), "{part}");
    }
}

#[test]
fn weighted_estimates_are_unbiased() {
    let minhash = Minhash::default();
    // Up to a few units, to all that are of mass 1, and to weights whose units differ in mass.
    for (features, least, most) in
        [(3u64, 1u64, 4u64), (20, 1, 30), (10, 100, 900), (4, 1, 70_000), (6, 1 << 28, 1 << 31)]
    {
        let mut errors = Errors::new();
        let mut random = Random(most);
        let weight = |random: &mut Random| least + random.below(most - least);
        for _ in 0..3_000 {
            let mut sums = [0.0, 0.0];
            let mut pair = [vec![], vec![]];
            for _ in 0..features {
                let feature = random.next();
                // One in three has the same weight in both, and one in five is not in the second.
                let first = weight(&mut random);
                let second = if random.below(3) == 0 { first } else { weight(&mut random) };
                let second = if random.below(5) == 0 { 0 } else { second };
                let [first, second] = [first, second].map(|weight| u32::try_from(weight).unwrap());
                sums[0] += f64::from(first.min(second));
                sums[1] += f64::from(first.max(second));
                pair[0].push((feature, first));
                pair[1].push((feature, second));
            }
            let [Some(a), Some(b)] = pair.map(|features| minhash.of_weighted(features)) else { continue };
            let similarity = sums[0] / sums[1];
            let standard_error = a.standard_error(similarity);
            if standard_error > 0.0 {
                errors.add((a.similarity(&b) - similarity) / standard_error);
            }
        }
        // The rounding of weights is within the mean.
        errors.check(1.0, &format!("{features} features of weights {least} to {most}"));
    }
}

#[test]
fn weights_of_one_are_a_set_and_order_does_not_matter() {
    let minhash = Minhash::default();
    let mut features = hashes(&mut Random(9), 700);
    let set = minhash.of_features(features.iter().copied()).unwrap();
    assert_eq!(minhash.of_weighted(features.iter().map(|&feature| (feature, 1))).unwrap(), set);
    let doubled = features.iter().chain(&features).copied();
    assert_eq!(minhash.of_features(doubled).unwrap(), set);
    let weight = |feature: u64| u32::try_from(feature % 1_000).unwrap();
    let weighted = minhash.of_weighted(features.iter().map(|&feature| (feature, weight(feature)))).unwrap();
    features.reverse();
    assert_eq!(minhash.of_features(features.iter().copied()).unwrap(), set);
    assert_eq!(minhash.of_weighted(features.iter().map(|&feature| (feature, weight(feature)))).unwrap(), weighted);
    assert_ne!(weighted, set);
    // The sum of what comes in parts.
    let parts = features.iter().flat_map(|&feature| {
        let weight = weight(feature);
        [(feature, weight / 2), (feature, weight - weight / 2)]
    });
    assert_eq!(minhash.of_weighted(parts).unwrap(), weighted);
    let [none, weightless] = [minhash.of_features([]), minhash.of_weighted([(1, 0), (2, 0)])];
    assert_eq!((none, weightless, minhash.of_weighted([])), (None, None, None));
    assert!(minhash.of_weighted([(1, u32::MAX), (1, u32::MAX)]).is_some());
}

#[test]
fn texts_have_the_signatures_of_their_features() {
    let texts = ["to be or not to be, that is the question", "ein mal eins", "漢語是一種語言", "?!", ""];
    let analysers =
        [Analyser::default(), Analyser::new(1), Analyser::new(2).weights(Weights::Log), Analyser::characters(4)];
    for analyser in analysers {
        let minhash = Minhash::new(64).unwrap().with_seed(7).with_analyser(analyser.clone());
        for text in texts {
            let expected = minhash.of_weighted(analyser.weighted_features(text));
            assert_eq!(minhash.signature(text), expected, "{text} {analyser:?}");
            assert_eq!(expected.is_none(), analyser.distinct_features(text).is_empty());
        }
    }
    let short = Minhash::default().with_analyser(Analyser::default().min_features(5));
    assert_eq!(short.signature("one two three four five"), None);
    assert!(short.signature("one two three four five six").is_some());
}

/// What samples loses these: one token more in front of everything, or behind.
#[test]
fn every_shingle_counts_in_texts_of_any_length() {
    let minhash = Minhash::new(256).unwrap();
    for words in [50u64, 1_000, 100_000] {
        let mut random = Random(words);
        let words: Vec<String> = (0..words).map(|_| format!("w{}", random.below(1 << 40))).collect();
        let text = words.join(" ");
        let signature = minhash.signature(&text).unwrap();
        for changed in [format!("new {text}"), format!("{text} new")] {
            assert!(minhash.signature(&changed).unwrap().similarity(&signature) > 0.9, "{}", words.len());
        }
        // One word in fifty is another one: of two-word shingles a 25th, so 24 / 26 are shared.
        let changed: Vec<_> = words.iter().enumerate().map(|(n, w)| if n % 50 == 7 { "other" } else { w }).collect();
        let found = minhash.signature(&changed.join(" ")).unwrap().similarity(&signature);
        assert!((found - 24.0 / 26.0).abs() < 4.0 * signature.standard_error(24.0 / 26.0), "{} {found}", words.len());
    }
}

#[test]
fn every_bit_of_every_row_lives_and_rows_do_not_move_together() {
    const TEXTS: u32 = 4_000;
    let minhash = Minhash::new(1024).unwrap();
    let mut random = Random(11);
    let mut set = vec![[0u32; 32]; 1024];
    let mut beside = vec![[0u32; 31]; 1024];
    let mut low = vec![0u64; 1024 * (TEXTS as usize / 64 + 1)];
    for text in 0..TEXTS {
        let features = hashes(&mut random, 1 + u64::from(text % 50));
        let signature = minhash.of_features(features).unwrap();
        for (row, &bits) in signature.rows().iter().enumerate() {
            (0..32).zip(&mut set[row]).for_each(|(bit, set)| *set += bits >> bit & 1);
            let moves = bits ^ bits >> 1;
            (0..31).zip(&mut beside[row]).for_each(|(bit, moved)| *moved += moves >> bit & 1);
            low[row * (TEXTS as usize / 64 + 1) + text as usize / 64] |= u64::from(bits & 1) << (text % 64);
        }
    }
    let within = |count: u32| (f64::from(count) / f64::from(TEXTS) - 0.5).abs() < 5.5 * 0.5 / f64::from(TEXTS).sqrt();
    for row in 0..1024 {
        assert!(set[row].into_iter().all(within), "row {row}: {:?}", set[row]);
        assert!(beside[row].into_iter().all(within), "row {row}: {:?}", beside[row]);
    }
    let words: Vec<&[u64]> = low.chunks(TEXTS as usize / 64 + 1).collect();
    for (row, words_of_row) in words.iter().enumerate() {
        for other in &words[..row] {
            let differing = words_of_row.iter().zip(*other).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert!(within(differing), "row {row} and another one differ {differing} times");
        }
    }
}

#[test]
fn bands_find_as_many_pairs_as_they_predict() {
    const PAIRS: u32 = 6_000;
    for (bands, rows_per_band) in [(32, 4), (16, 8), (20, 6), (13, 7), (9, 13), (64, 2)] {
        let design = BandDesign::new(bands, rows_per_band).unwrap();
        for row_bits in [32, 8] {
            let minhash = Minhash::new(design.rows()).unwrap().with_row_bits(row_bits).unwrap();
            for shared in [20u32, 50, 80, 90] {
                let mut random = Random(u64::from(bands + shared));
                let is_candidate = |_: &u32| {
                    let [a, b] = pair(&minhash, &hashes(&mut random, 100), shared as usize);
                    (0..bands).any(|band| design.band_hash(&a, band) == design.band_hash(&b, band))
                };
                let found =
                    f64::from(u32::try_from((0..PAIRS).filter(is_candidate).count()).unwrap()) / f64::from(PAIRS);
                let predicted = design.recall(f64::from(shared) / 100.0, row_bits);
                assert!((found - predicted).abs() < 0.02, "{design} {row_bits} {shared}: {found} {predicted}");
            }
        }
    }
}

#[test]
fn stricter_bands_find_less() {
    let recall = |bands, rows| BandDesign::new(bands, rows).unwrap().recall(0.7, 32);
    assert!(recall(16, 8) > recall(15, 8) && recall(16, 8) > recall(16, 9));
    for similarity in [0.5, 0.7, 0.8, 0.9] {
        let planner = BandPlanner::new(1_000_000, similarity);
        let plans = planner.frontier().unwrap();
        assert!(plans.len() > 2 && plans.iter().all(|plan| plan.recall >= 0.95 && plan.design.rows() <= 128));
        for two in plans.windows(2) {
            let [laxer, stricter] = two else { unreachable!() };
            assert!(laxer.design.rows_per_band() < stricter.design.rows_per_band());
            assert!(laxer.candidate_rate > stricter.candidate_rate && laxer.candidates > stricter.candidates);
        }
        let picked = planner.pick().unwrap();
        assert_eq!(picked, *plans.last().unwrap());
        // A bound of candidates that more designs keep to takes one with fewer bands.
        let cheap = planner.max_candidates(plans[plans.len() - 2].candidates).pick().unwrap();
        assert!(cheap.design.bands() < picked.design.bands() && cheap.candidates > picked.candidates);
        assert_eq!(planner.max_candidates(0.0).pick().unwrap(), picked);
        // Rows that look equal by chance make more candidates, near and far.
        let narrow = planner.rows(128, 8).predict(&picked.design);
        assert!(narrow.recall > picked.recall && narrow.candidate_rate > picked.candidate_rate);
    }
    assert!(BandPlanner::new(10, 0.01).pick().unwrap_err().to_string().contains("take more rows"));
    for planner in [BandPlanner::new(1, 1.1), BandPlanner::new(1, f64::NAN), BandPlanner::new(1, 0.5).recall(-0.1)] {
        assert!(planner.pick().is_err());
    }
    assert!(
        BandPlanner::new(1, 0.5).rows(8, 32).pick().is_err() && BandPlanner::new(1, 0.5).rows(64, 9).pick().is_err()
    );
}

#[test]
fn band_designs_are_read_as_they_are_written() {
    for (bands, rows) in [(1, 1), (16, 8), (1024, 1), (1, 1024), (128, 8)] {
        let design = BandDesign::new(bands, rows).unwrap();
        assert_eq!(design.to_string().parse::<BandDesign>().unwrap(), design);
    }
    for (bands, rows) in [(0, 1), (1, 0), (1025, 1), (33, 32), (u32::MAX, u32::MAX), (65_536, 65_536)] {
        assert!(BandDesign::new(bands, rows).is_err(), "{bands} {rows}");
    }
    for text in ["", "16", "x", "16x", "x8", "+16x8", "16x8x2", "16X8", " 16x8", "0x8", "99999999999x1"] {
        assert!(text.parse::<BandDesign>().is_err(), "{text}");
    }
    let design = BandDesign::default();
    let signature = Minhash::new(127).unwrap().of_features([1]).unwrap();
    assert!(design.band_hash(&signature, 14).is_some());
    assert_eq!((design.band_hash(&signature, 15), design.band_hash(&signature, 16)), (None, None));
}
