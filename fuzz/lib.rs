//! What the targets share: bytes as a file, and what holds for any input.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use nearstone::input::{BadRecord, Fields, Format, Inputs};

/// Small, so that the bounds are met.
pub const MAX_RECORD_BYTES: usize = 1 << 14;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));

/// Makes a file of the bytes, the same for each input.
pub fn file(bytes: &[u8]) -> PathBuf {
    let path = FOLDER.path().join("input");
    fs::write(&path, bytes).expect("the temporary folder can be written to");
    path
}

/// Reads all documents of a file; returns how many there are, and how many errors.
pub fn read(path: &Path, format: Format, fields: Fields) -> (usize, usize) {
    let (mut documents, mut errors) = (0, 0);
    for raw in Inputs::new([path]).format(format).fields(fields).max_record_bytes(MAX_RECORD_BYTES) {
        match raw.and_then(|raw| raw.parse()) {
            Ok(document) => {
                documents += 1;
                if let Some(document) = document {
                    assert!((1..=1024).contains(&document.id.len()));
                }
            }
            Err(bad) => {
                errors += 1;
                check(&bad);
            }
        }
    }
    (documents, errors)
}

/// An error is one line that begins with the file and ends with a remedy.
pub fn check(bad: &BadRecord) {
    let text = bad.to_string();
    assert!(!text.contains(|c: char| c.is_control()), "{text}");
    assert!(text.contains("input") && text.matches(": ").count() >= 2, "{text}");
}

/// Whether a file that begins like this is taken as compressed.
pub fn is_compressed(bytes: &[u8]) -> bool {
    matches!(bytes, [0x1f, 0x8b, 8, 0..=0x1f, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x04, 0x22, 0x4d, 0x18, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}
