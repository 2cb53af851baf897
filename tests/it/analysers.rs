//! Analysers: against vectors of other programs, and against the faults that others have had.

use std::collections::BTreeMap;

use nearstone::{Analyser, Fingerprint, Preset, Simhash, TextSketch, simhash};
use serde_json::Value;

use crate::common::{Random, data};
use crate::real_data::gunzip;

/// The texts of the real data sets, by the name of the set and the id.
pub(crate) fn real_texts() -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let files = [
        ("debian_descriptions", "descriptions_en.jsonl.gz"),
        ("spdx_licenses", "licenses.jsonl.gz"),
        ("thucnews_titles", "titles.jsonl.gz"),
    ];
    for (set, file) in files {
        let Some(folder) = data(set) else { continue };
        for line in String::from_utf8(gunzip(&folder.join(file))).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            texts.insert(format!("{set}/{}", row["id"].as_str().unwrap()), row["text"].as_str().unwrap().to_owned());
        }
    }
    texts
}

/// The texts of the real data sets, as the Python package `simhash` 2.1.2 fingerprints them.
#[test]
fn fingerprints_of_real_texts_are_those_of_the_python_package() {
    let Some(folder) = data("simhash_vectors") else { return };
    let simhash = Simhash::new(Analyser::preset(Preset::OneE0ng));
    let texts = real_texts();
    let vectors = String::from_utf8(gunzip(&folder.join("computed_on_real_texts.jsonl.gz"))).unwrap();
    let mut compared = 0;
    for line in vectors.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let Some(text) = texts.get(row["id"].as_str().unwrap()) else { continue };
        let found = simhash.fingerprint(text).unwrap().to_string();
        assert_eq!(found, row["simhash_1e0ng_md5_c4"].as_str().unwrap(), "{}", row["id"]);
        compared += 1;
    }
    assert!(compared > 150, "{compared} texts");
}

/// What the tests of other programs expect, where their features or hashes are ours to compute.
#[test]
fn vectors_of_other_programs_hold() {
    let Some(folder) = data("simhash_vectors") else { return };
    let vectors: Value = serde_json::from_slice(&std::fs::read(folder.join("vectors.json")).unwrap()).unwrap();
    let vectors = vectors.as_array().or_else(|| vectors["vectors"].as_array()).unwrap();
    let ours = Simhash::new(Analyser::preset(Preset::OneE0ng));
    let number = |value: &Value| {
        let text = || value.as_str().map(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok());
        value.as_u64().or_else(|| text().flatten())
    };
    let mut compared = 0;
    for vector in vectors {
        let (peer, kind) = (vector["peer"].as_str().unwrap(), vector["kind"].as_str().unwrap());
        let expected = &vector["expected"];
        match (peer, kind) {
            ("1e0ng/simhash", "distance") => {
                let text = |i: usize| ours.fingerprint(vector["input"][i].as_str().unwrap()).unwrap();
                let distance = u64::from(text(0).distance(text(1)));
                let holds = number(&expected["distance"]).is_none_or(|exact| distance == exact)
                    && number(&expected["distance_lt"]).is_none_or(|bound| distance < bound)
                    && number(&expected["distance_gt"]).is_none_or(|bound| distance > bound);
                assert!(holds, "{distance} {vector}");
            }
            ("1e0ng/simhash", "all_distinct") => {
                let texts = vector["input"].as_array().unwrap();
                let mut found: Vec<_> = texts.iter().map(|text| ours.fingerprint(text.as_str().unwrap())).collect();
                found.sort();
                found.dedup();
                assert_eq!(found.len(), texts.len());
            }
            ("seomoz/simhash-cpp" | "seomoz/simhash-py", "simhash_of_hashes") => {
                let Some(hashes) = vector["input"].as_array() else { continue };
                let Some(hashes) = hashes.iter().map(number).collect::<Option<Vec<u64>>>() else { continue };
                let Some(expected) = number(expected) else { continue };
                let found = simhash(hashes.into_iter().map(|hash| (hash, 1))).map_or(0, Fingerprint::bits);
                assert_eq!(found, expected, "{vector}");
            }
            _ => continue,
        }
        compared += 1;
    }
    assert!(compared >= 8, "{compared} vectors");
}

/// Words from a seed, of a language of 5,000.
fn words(random: &mut Random, count: usize) -> Vec<String> {
    (0..count).map(|_| format!("w{}", random.below(5000))).collect()
}

/// Every token counts, wherever it stands and however long the text is: no fast way reads only some of them.
#[test]
fn one_token_more_or_less_is_a_small_change_in_texts_of_every_length() {
    let mut random = Random(7);
    let simhash = Simhash::default();
    let sketch = |words: &[String]| simhash.fingerprint(&words.join(" ")).unwrap();
    for length in [50, 200, 1000, 10_000, 100_000] {
        let texts = if length > 1000 { 3 } else { 20 };
        let (mut prepended, mut appended, mut replaced) = (0, 0, 0);
        for _ in 0..texts {
            let text = words(&mut random, length);
            let original = sketch(&text);
            let mut windows = 0;
            simhash.analyser().features(&text.join(" "), |_| windows += 1);
            assert_eq!(windows, length - 1, "every window is a feature");
            prepended += original.distance(sketch(&[&["new".to_owned()][..], &text].concat()));
            appended += original.distance(sketch(&[&text[..], &["new".to_owned()]].concat()));
            let mut other = text.clone();
            for _ in 0..length / 50 {
                let at = usize::try_from(random.below(length as u64)).unwrap();
                other[at] = format!("x{}", random.below(1_000_000));
            }
            replaced += original.distance(sketch(&other));
        }
        // 1 feature of 50 is new: some 4 bits. Of 100 features 4 are others on each side: some 6 bits.
        let most = [(50, 5), (200, 3), (1000, 2)].into_iter().find(|row| row.0 == length).map_or(1, |row| row.1);
        assert!(prepended <= most * texts && appended <= most * texts, "{length}: {prepended}, {appended} of {texts}");
        assert!((3 * texts..=9 * texts).contains(&replaced), "{length}: {replaced} of {texts}");
    }
}

/// As before, of single characters, identifiers, scripts without spaces, and of these among words.
#[test]
fn one_token_more_or_less_is_a_small_change_whatever_tokens_are() {
    fn letter(random: &mut Random) -> String {
        char::from(b"abcdefghijklmnopqrstuvwxyz0123456789"[usize::try_from(random.below(36)).unwrap()]).to_string()
    }
    fn han(random: &mut Random) -> String {
        char::from_u32(0x4e00 + u32::try_from(random.below(5000)).unwrap()).unwrap().to_string()
    }
    fn identifier(random: &mut Random) -> String {
        format!("v_{}", random.below(5000))
    }
    fn either(random: &mut Random) -> String {
        if random.below(2) == 0 { han(random) } else { format!("w{}", random.below(5000)) }
    }
    type Row = (&'static str, fn(&mut Random) -> String, &'static str, u32);
    // With what is between tokens, and in how many windows each of them is.
    let rows: [Row; 5] = [
        ("chars:4", letter, "", 4),
        ("chars:4", han, "", 4),
        ("code", identifier, " + ", 3),
        ("web", han, "", 2),
        ("web", either, " ", 2),
    ];
    let mut random = Random(8);
    for (specification, token, between, windows) in rows {
        let simhash = Simhash::new(specification.parse().unwrap());
        let sketch = |tokens: &[String]| simhash.fingerprint(&tokens.join(between)).unwrap();
        for length in [50, 1000, 20_000] {
            let texts = if length > 1000 { 3 } else { 20 };
            let (mut prepended, mut appended, mut replaced) = (0, 0, 0);
            for _ in 0..texts {
                let text: Vec<String> = (0..length).map(|_| token(&mut random)).collect();
                let original = sketch(&text);
                let mut features = 0;
                simhash.analyser().features(&text.join(between), |_| features += 1);
                assert_eq!(features, length + 1 - windows, "{specification}: every window is a feature");
                let new = [token(&mut random)];
                prepended += original.distance(sketch(&[&new[..], &text].concat()));
                appended += original.distance(sketch(&[&text[..], &new].concat()));
                let mut other = text.clone();
                for _ in 0..length / 50 {
                    let at = usize::try_from(random.below(length.into())).unwrap();
                    other[at] = token(&mut random);
                }
                replaced += original.distance(sketch(&other));
            }
            let most = if length == 50 { 5 } else { 2 };
            let name = format!("{specification} {:?} {length}", token(&mut random));
            assert!(
                prepended <= most * texts && appended <= most * texts,
                "{name}: {prepended}, {appended} of {texts}"
            );
            // One token of 50 changes 2 features of 100 for each window that it is in: some 4, 6, 7 or 8 bits.
            assert!((2 * texts..=12 * texts).contains(&replaced), "{name}: {replaced} of {texts}");
        }
    }
}

/// Only presets that cut at white space take marks for words.
#[test]
fn texts_without_features_are_told_from_short_ones_by_every_preset() {
    for preset in [Preset::Web, Preset::Short, Preset::Code, Preset::Words, Preset::OneE0ng] {
        let analyser = Analyser::preset(preset);
        for text in ["", " \n", "?!", "。、", "— «»", "\u{feff}\u{200b}\u{ad}"] {
            let sketch = Simhash::new(analyser.clone()).sketch(text);
            assert_eq!(sketch, TextSketch::NoFeatures, "{preset:?} {text:?}");
            assert_eq!((sketch.fingerprint(), sketch.features()), (None, 0));
        }
        let simhash = Simhash::new(analyser.min_features(40));
        assert_eq!(simhash.sketch("...").fingerprint(), None);
        let short = simhash.sketch("one two three four five");
        assert!(matches!(short, TextSketch::TooShort { features: 1..40 }), "{preset:?} {short:?}");
    }
    // Nothing is left of tatweels where words lose their endings.
    for specification in ["web+stem=ar", "chars:2+stem=ar", "short+stem=ar", "words+stem=ar"] {
        let simhash = Simhash::new(specification.parse().unwrap());
        for text in ["\u{640}", "\u{640}\u{640} \u{640}", "\u{640}\n\u{640}\u{640}\u{640}"] {
            assert_eq!(simhash.sketch(text), TextSketch::NoFeatures, "{specification} {text:?}");
        }
    }
    assert_eq!(Simhash::new(Analyser::preset(Preset::Classic)).sketch(" \n\t"), TextSketch::NoFeatures);
}
