#![no_main]

use libfuzzer_sys::fuzz_target;
use nearstone::input::{Compression, FingerprintEncoding, FingerprintFormat, FingerprintInputs};
use nearstone_fuzz::{MAX_RECORD_BYTES, check, file};

// The first byte says how the rest is read.
fuzz_target!(|bytes: &[u8]| {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let formats = [
        FingerprintFormat::U64Le,
        FingerprintFormat::U64Be,
        FingerprintFormat::Hex,
        FingerprintFormat::Csv,
        FingerprintFormat::Tsv,
        FingerprintFormat::JsonLines,
    ];
    let encodings = [FingerprintEncoding::Hex, FingerprintEncoding::Decimal, FingerprintEncoding::SignedDecimal];
    let format = formats[usize::from(how) % 6];
    let has_ids = (how / 6) % 2 == 1 && !matches!(how % 6, 0..=2);
    let inputs = FingerprintInputs::new([file(bytes)])
        .format(format)
        .encoding(encodings[usize::from(how / 12) % 3])
        .max_record_bytes(MAX_RECORD_BYTES);
    let inputs = if has_ids { inputs.id_field("id") } else { inputs };
    let is_plain = how >= 128;
    let inputs = if is_plain { inputs.compression(Compression::None) } else { inputs };
    let (mut count, mut errors) = (0, 0);
    for batch in inputs {
        match batch {
            Ok(batch) => {
                assert!(!batch.is_empty());
                count += batch.len();
                assert!(batch.iter().all(|(id, _)| id.map_or(!has_ids, |id| (1..=1024).contains(&id.len()))));
            }
            Err(bad) => {
                errors += 1;
                check(&bad);
            }
        }
    }
    assert!(count + errors > 0);
    if is_plain && how % 6 < 2 {
        assert_eq!(count, bytes.len() / 8);
    }
});
