//! Fingerprints that must never change: other ones would make every store unreadable for its texts.

use nearstone::{Analyser, Preset, Simhash};

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
