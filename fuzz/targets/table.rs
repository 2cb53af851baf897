#![no_main]

use libfuzzer_sys::fuzz_target;
use nearstone::input::{Fields, Format};
use nearstone_fuzz::{file, read};

fuzz_target!(|bytes: &[u8]| {
    for format in [Format::Csv, Format::Tsv] {
        for id in [Some("id".to_owned()), None] {
            let (documents, errors) = read(&file(bytes), format, Fields { id, text: "text".to_owned() });
            assert!(documents + errors > 0);
        }
    }
});
