//! No bytes make a reader panic, and none are lost in silence.

use proptest::prelude::*;

use super::*;

const FORMATS: [FingerprintFormat; 6] = [
    FingerprintFormat::U64Le,
    FingerprintFormat::U64Be,
    FingerprintFormat::Hex,
    FingerprintFormat::Csv,
    FingerprintFormat::Tsv,
    FingerprintFormat::JsonLines,
];

/// How many lines have more than white space.
fn lines_of(bytes: &[u8]) -> usize {
    bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count()
}

fn with_header(rows: &[u8]) -> Vec<u8> {
    [b"id,fingerprint\n", rows].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_are_records_or_errors(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
        for format in FORMATS {
            for bytes in [bytes.clone(), with_header(&bytes)] {
                let (found, errors) = read(&bytes, format, None);
                match format {
                    FingerprintFormat::U64Le | FingerprintFormat::U64Be => {
                        prop_assert_eq!((found.len(), errors.len()), (bytes.len() / 8, usize::from(bytes.len() % 8 != 0)));
                    }
                    FingerprintFormat::Hex | FingerprintFormat::JsonLines => {
                        prop_assert_eq!(found.len() + errors.len(), lines_of(&bytes).max(1));
                    }
                    _ => prop_assert!(found.len() + errors.len() >= 1),
                }
            }
        }
    }

    #[test]
    fn texts_that_are_nearly_right_lose_no_line(rows in "([0-9a-fx,-]{0,6}[\r]?\n){0,30}[0-9a-f,]{0,5}") {
        let lines = lines_of(rows.as_bytes());
        let (found, errors) = read(&with_header(rows.as_bytes()), FingerprintFormat::Csv, Some("id"));
        // Without any there is the error that there are none.
        prop_assert_eq!(found.len() + errors.len(), lines.max(1));
        let (found, errors) = read(rows.as_bytes(), FingerprintFormat::Hex, None);
        prop_assert_eq!(found.len() + errors.len(), lines.max(1));
    }

    #[test]
    fn quotation_marks_lose_nothing_in_silence(ids in prop::collection::vec("[a\",\r\n]{1,5}", 1..20)) {
        let rows: Vec<String> = ids.iter().map(|id| format!("\"{}\",1\r\n", id.replace('"', "\"\""))).collect();
        let rows = rows.concat();
        let (found, errors) = read(&with_header(rows.as_bytes()), FingerprintFormat::Csv, Some("id"));
        prop_assert_eq!(errors, Vec::<String>::new());
        prop_assert_eq!(found, ids.into_iter().map(|id| (Some(id), 1)).collect::<Vec<_>>());
    }
}
