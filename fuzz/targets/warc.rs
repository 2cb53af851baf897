#![no_main]

use libfuzzer_sys::fuzz_target;
use nearstone::input::{Fields, Format};
use nearstone_fuzz::{file, read};

fuzz_target!(|bytes: &[u8]| {
    read(&file(bytes), Format::Warc, Fields::default());
});
