//! What files of fingerprints hold.

use std::path::Path;

use crate::input::BadRecord;
use crate::input::stream::{STDIN, ending};

/// What files of fingerprints hold. Each of them may be compressed with gzip or zstd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FingerprintFormat {
    /// By the name of the file without `.gz` or `.zst`: `.u64`, `.u64le` and `.bin`; `.u64be`; `.hex` and
    /// `.txt`; `.csv`; `.tsv`; `.jsonl` and `.ndjson`. Other names, and the standard input, are errors.
    #[default]
    Auto,
    /// Eight bytes a fingerprint, least significant first, as arrays lie in memory nearly everywhere.
    U64Le,
    /// Eight bytes a fingerprint, most significant first.
    U64Be,
    /// A line a fingerprint, of 1 to 16 hexadecimal digits, with or without `0x`. Blank lines are passed over.
    Hex,
    /// Rows with commas, quoted as in RFC 4180; the first one names the columns.
    Csv,
    /// As CSV, with tabulators instead of commas.
    Tsv,
    /// One JSON object a line. A number is the fingerprint itself, exactly, from 0 to 2^64-1; a negative
    /// one, down to -2^63, is its two's complement. Strings are read as
    /// [`FingerprintInputs::encoding`](super::FingerprintInputs::encoding) says.
    JsonLines,
}

impl FingerprintFormat {
    /// Whether records of the format may have ids.
    pub(super) fn has_ids(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::JsonLines)
    }

    /// Replaces [`Self::Auto`] by what the name tells.
    pub(super) fn of_file(self, path: &Path) -> Result<Self, BadRecord> {
        if self != Self::Auto {
            return Ok(self);
        }
        match ending(path).as_deref() {
            Some("u64" | "u64le" | "bin") => Ok(Self::U64Le),
            Some("u64be") => Ok(Self::U64Be),
            Some("hex" | "txt") => Ok(Self::Hex),
            Some("csv") => Ok(Self::Csv),
            Some("tsv") => Ok(Self::Tsv),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            _ => {
                let reason = if path.as_os_str() == STDIN {
                    "the standard input has no name that tells its format"
                } else {
                    "the name does not tell the format"
                };
                let remedy = "give it with --format: u64-le, u64-be, hex, csv, tsv or json-lines";
                Err(BadRecord::of_file(path, None, reason, remedy))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_format() {
        use FingerprintFormat::{Auto, Csv, Hex, JsonLines, Tsv, U64Be, U64Le};
        let rows = [
            ("a.u64", U64Le),
            ("a.u64le.zst", U64Le),
            ("a.BIN.GZ", U64Le),
            ("a.u64be", U64Be),
            ("a.hex.gz", Hex),
            ("a.csv.txt", Hex),
            ("a.CSV", Csv),
            ("a.tsv.zstd", Tsv),
            ("a.jsonl", JsonLines),
            ("a.b.ndjson.gz", JsonLines),
        ];
        for (name, format) in rows {
            assert_eq!(Auto.of_file(Path::new(name)), Ok(format), "{name}");
            assert_eq!(Hex.of_file(Path::new(name)), Ok(Hex), "{name}");
        }
        for name in ["-", "a", "csv", "a.gz", "a.json", "a.u64.bak"] {
            let error = Auto.of_file(Path::new(name)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}: the ")) && error.contains("--format"), "{error}");
        }
        assert_eq!(U64Le.of_file(Path::new("-")), Ok(U64Le));
    }
}
