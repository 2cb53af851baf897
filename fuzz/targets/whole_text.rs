#![no_main]

use libfuzzer_sys::fuzz_target;
use nearstone::input::{Fields, Format};
use nearstone_fuzz::{MAX_RECORD_BYTES, file, is_compressed, read};

fuzz_target!(|bytes: &[u8]| {
    let (documents, errors) = read(&file(bytes), Format::Text, Fields::default());
    assert_eq!(documents + errors, 1);
    if !is_compressed(bytes) {
        let is_text = !bytes.is_empty() && bytes.len() <= MAX_RECORD_BYTES && str::from_utf8(bytes).is_ok();
        assert_eq!(documents == 1, is_text);
    }
});
