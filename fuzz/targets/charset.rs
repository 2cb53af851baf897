#![no_main]

use libfuzzer_sys::fuzz_target;
use nearstone::html::decode;

// The first byte says which charset is named.
fuzz_target!(|bytes: &[u8]| {
    let Some((&which, bytes)) = bytes.split_first() else { return };
    let names =
        [None, Some("utf-8"), Some("gbk"), Some("shift_jis"), Some("iso-2022-jp"), Some("utf-16le"), Some("no such")];
    let text = decode(bytes, names[usize::from(which) % names.len()]);
    assert!(text.len() <= bytes.len() * 3 + 16);
    if let (Ok(sound), Some("utf-8")) = (str::from_utf8(bytes), names[usize::from(which) % names.len()]) {
        // Without a mark, which may tell of another charset.
        if !bytes.starts_with(b"\xef\xbb\xbf") {
            assert_eq!(text, sound);
        }
    }
});
