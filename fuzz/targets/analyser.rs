#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use nearstone::{Analyser, Simhash, TextSketch, simhash};

/// The last two decide ties in a way of their own.
static ANALYSERS: LazyLock<Vec<Simhash>> = LazyLock::new(|| {
    let names = [
        "web",
        "short",
        "code",
        "chars:4",
        "words",
        "web+shingle=5+weights=log+diacritics=remove",
        "chars:2+min-features=3+han=simplify",
        "1e0ng",
        "classic",
    ];
    names.map(|name| Simhash::new(name.parse::<Analyser>().expect("its name is known"))).into()
});

fuzz_target!(|text: &str| {
    for (at, analyser) in ANALYSERS.iter().enumerate() {
        let found = analyser.sketch(text);
        assert_eq!(found, analyser.sketch(text));
        // One feature after the other gives the same bits.
        let features = analyser.analyser().weighted_features(text);
        assert_eq!(found.features(), features.len());
        if let TextSketch::Sketched { fingerprint, .. } = found
            && at + 2 < ANALYSERS.len()
        {
            assert_eq!(Some(fingerprint), simhash(features));
        }
    }
});
