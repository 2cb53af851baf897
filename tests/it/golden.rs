//! Fingerprints that must never change: other ones would make every store unreadable for its texts.

use nearstone::datasketch::{ByteOrder, Permutations, Scheme, Stored};
use nearstone::{Analyser, BandDesign, Minhash, Preset, Signature, Simhash};
use serde_json::Value;

use crate::analysers::real_texts;
use crate::common::data;
use crate::real_data::gunzip;

#[test]
fn fingerprints_of_texts_in_many_scripts() {
    let table = include_str!("../data/fingerprints-words-1.tsv");
    let simhash = Simhash::new(Analyser::preset(Preset::Words));
    let mut rows = 0;
    let mut wrong = vec![];
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (expected, text) = line.split_once('\t').expect("a fingerprint and a text as a JSON string");
        let text: String = serde_json::from_str(text).unwrap();
        let found = simhash.fingerprint(&text).map_or_else(|| "none".to_owned(), |f| f.to_string());
        if found != expected {
            wrong.push(format!("{found}\t{}", serde_json::to_string(&text).unwrap()));
        }
        rows += 1;
    }
    assert!(wrong.is_empty() && rows > 20, "{rows} rows, of which these differ:\n{}", wrong.join("\n"));
}

/// Those of `1e0ng` and `classic` were computed by other programs.
#[test]
fn fingerprints_of_presets_in_many_scripts() {
    let table = include_str!("../data/fingerprints-presets-1.tsv");
    let presets = [Preset::Web, Preset::Short, Preset::Code, Preset::OneE0ng, Preset::Classic];
    let simhashes = presets.map(|preset| Simhash::new(Analyser::preset(preset)));
    let (mut rows, mut wrong) = (0, vec![]);
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (_, text) = line.rsplit_once('\t').expect("fingerprints and a text as a JSON string");
        let text: String = serde_json::from_str(text).unwrap();
        let found = simhashes.each_ref().map(|s| s.fingerprint(&text).map_or("none".to_owned(), |f| f.to_string()));
        let found = format!("{}\t{}", found.join("\t"), serde_json::to_string(&text).unwrap());
        if found != line {
            wrong.push(found);
        }
        rows += 1;
    }
    assert!(wrong.is_empty() && rows > 20, "{rows} rows, of which these differ:\n{}", wrong.join("\n"));
}

fn hex(digits: &str) -> Vec<u8> {
    let digits = digits.replace(' ', "");
    (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// What another program, written by the specification in another language, makes of features.
#[test]
fn signatures_of_features() {
    let table = include_str!("../data/signatures-affine32-1.tsv");
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [row_count, bits, seed, features, bytes, identity, bands] = fields[..] else { panic!("{line}") };
        let minhash = Minhash::new(row_count.parse().unwrap()).unwrap().with_seed(seed.parse().unwrap());
        let minhash = minhash.with_row_bits(bits.parse().unwrap()).unwrap();
        let features: Value = serde_json::from_str(features).unwrap();
        let features = features.as_object().unwrap().iter();
        let features: Vec<(u64, u32)> =
            features.map(|(f, weight)| (f.parse().unwrap(), weight.as_u64().unwrap().try_into().unwrap())).collect();
        let signature = minhash.of_weighted(features.iter().copied()).unwrap();
        assert_eq!(signature.to_bytes(), hex(bytes), "{line}");
        assert_eq!(signature.identity().to_vec(), hex(identity), "{line}");
        let design = BandDesign::new(2, 8).unwrap();
        let design = if bands.matches(',').count() == 3 { BandDesign::new(4, 8).unwrap() } else { design };
        let found: Vec<_> = (0..design.bands()).map_while(|band| design.band_hash(&signature, band)).collect();
        assert_eq!(found.iter().map(|hash| format!("{hash:016x}")).collect::<Vec<_>>().join(","), bands, "{line}");
        if features.iter().all(|&(_, weight)| weight == 1) {
            assert_eq!(minhash.of_features(features.iter().map(|&(feature, _)| feature)), Some(signature));
        }
        rows += 1;
    }
    assert!(rows > 10, "{rows} rows");
}

#[test]
fn signatures_of_the_specification() {
    let specification = include_str!("../../docs/format.md");
    let example = |name: &str| {
        let line = specification.lines().find(|line| line.starts_with(&format!("| {name} |")));
        hex(line.unwrap_or_else(|| panic!("no row {name}")).split('`').nth(1).unwrap())
    };
    let minhash = Minhash::new(16).unwrap();
    let signature = minhash.of_features([1, 2, 3]).unwrap();
    assert_eq!(signature.to_bytes(), example("signature, rows of 32 bits"));
    assert_eq!(signature.identity().to_vec(), example("identity, rows of 32 bits"));
    let band = BandDesign::new(4, 4).unwrap().band_hash(&signature, 3).unwrap();
    assert_eq!(band.to_be_bytes().to_vec(), example("hash of band 3 of 4 rows"));
    let weighted = minhash.of_weighted([(1, 300), (2, 2), (3, 0)]).unwrap();
    assert_eq!(weighted.to_bytes(), example("signature of weights 300, 2 and 0"));
    let narrow = minhash.with_row_bits(8).unwrap().of_features([1, 2, 3]).unwrap();
    assert_eq!(narrow.to_bytes(), example("signature, rows of 8 bits"));

    // The steps, by the numbers of the example before them.
    let numbers = |name: &str| -> Vec<u32> {
        example(name).as_chunks().0.iter().map(|bytes| u32::from_be_bytes(*bytes)).collect()
    };
    let [a, b] = numbers("a and b of row 0")[..] else { panic!("two numbers") };
    let hashes: Vec<u32> =
        numbers("x of each feature").into_iter().map(|x| x.wrapping_mul(a).wrapping_add(b)).collect();
    assert_eq!(hashes, numbers("their hashes in row 0"));
    let mut v = *hashes.iter().min().unwrap();
    v = (v ^ v >> 15).wrapping_mul(0x85eb_ca77);
    v = (v ^ v >> 13).wrapping_mul(0xc2b2_ae3d);
    assert_eq!(v ^ v >> 16, signature.rows()[0]);
}

#[test]
fn signatures_of_datasketch() {
    let table = include_str!("../data/datasketch-2.tsv");
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [scheme, row_count, seed, tokens, order, bytes] = fields[..] else { panic!("{line}") };
        let scheme = if scheme == "legacy" { Scheme::Legacy } else { Scheme::Affine32 };
        let order = match order {
            "<" => ByteOrder::Little,
            ">" => ByteOrder::Big,
            _ => ByteOrder::Aligned,
        };
        let (row_count, seed) = (row_count.parse().unwrap(), seed.parse().unwrap());
        let tokens: Vec<String> = serde_json::from_str(tokens).unwrap();
        let signature = Permutations::new(row_count, seed, scheme).unwrap().signature(&tokens).unwrap();
        let stored = Stored { scheme, seed, signature };
        assert_eq!(stored.to_bytes(order), hex(bytes), "{line}");
        assert_eq!(Stored::from_bytes(&hex(bytes), order).unwrap(), stored, "{line}");
        rows += 1;
    }
    assert!(rows > 40, "{rows} rows");
}

/// The words of real texts, as datasketch 1 makes signatures of them.
#[test]
fn signatures_of_real_texts_are_those_of_datasketch() {
    let Some(folder) = data("simhash_vectors") else { return };
    let (texts, mut compared) = (real_texts(), 0);
    let permutations = Permutations::new(16, 1, Scheme::Legacy).unwrap();
    let vectors = String::from_utf8(gunzip(&folder.join("computed_on_real_texts.jsonl.gz"))).unwrap();
    for line in vectors.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let Some(text) = texts.get(row["id"].as_str().unwrap()) else { continue };
        let expected: Vec<u32> = serde_json::from_value(row["minhash16_datasketch_legacy_words"].clone()).unwrap();
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        assert_eq!(permutations.signature(words).unwrap(), Signature::new(expected).unwrap(), "{}", row["id"]);
        compared += 1;
    }
    assert!(compared > 150, "{compared} texts");
}
