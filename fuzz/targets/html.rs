#![no_main]

use libfuzzer_sys::fuzz_target;
use nearstone::html::Html;

fuzz_target!(|page: &str| {
    let all = Html::Text.text(page);
    // References are shorter than what they stand for in a few cases only, by less than this.
    assert!(all.len() <= page.len() * 3 + 16);
    let _ = Html::Main.text(page);
});
