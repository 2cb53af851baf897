#![no_main]

use libfuzzer_sys::fuzz_target;
use nearstone::input::{Fields, Format};
use nearstone_fuzz::{file, read};

// A panic of the crate that reads the pages, which the reader takes for damage, ends the run here all the same.
fuzz_target!(|bytes: &[u8]| {
    let path = file(bytes);
    for id in [Some("id".to_owned()), Some("n".to_owned()), None] {
        let (documents, errors) = read(&path, Format::Parquet, Fields { id, text: "text".to_owned() });
        assert!(documents + errors > 0);
    }
});
