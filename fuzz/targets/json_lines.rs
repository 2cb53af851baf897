#![no_main]

use libfuzzer_sys::fuzz_target;
use nearstone::input::{Fields, Format};
use nearstone_fuzz::{file, is_compressed, read};

fuzz_target!(|bytes: &[u8]| {
    let (documents, errors) = read(&file(bytes), Format::JsonLines, Fields::default());
    if !is_compressed(bytes) {
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace)).count();
        // A file without lines is an error.
        assert_eq!(documents + errors, lines.max(1));
    }
});
