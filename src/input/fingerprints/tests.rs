//! All formats through files, compressed and plain.

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

mod properties;

const EDGES: [u64; 5] = [0, 1, 1 << 63, u64::MAX, 0x0123_4567_89ab_cdef];

/// Gives out a few bytes a read, and may fail at the end.
pub(super) struct Trickle {
    bytes: io::Cursor<Vec<u8>>,
    step: usize,
    fails: bool,
}

impl Trickle {
    pub(super) fn new(bytes: Vec<u8>, step: usize) -> Self {
        Self { bytes: io::Cursor::new(bytes), step, fails: false }
    }

    pub(super) fn failing(bytes: Vec<u8>, step: usize) -> Self {
        Self { fails: true, ..Self::new(bytes, step) }
    }
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let step = self.step.min(buffer.len());
        match self.bytes.read(&mut buffer[..step])? {
            0 if self.fails => Err(io::Error::other("a bad sector")),
            count => Ok(count),
        }
    }
}

pub(super) fn wanted(id_field: Option<&str>) -> Wanted {
    Wanted { id_field: id_field.map(str::to_owned), ..FingerprintInputs::new([""; 0]).wanted }
}

type Found = (Vec<(Option<String>, u64)>, Vec<String>);

fn collect(batches: impl Iterator<Item = Result<FingerprintBatch, BadRecord>>) -> Found {
    let mut found = Found::default();
    for batch in batches {
        match batch {
            Ok(batch) => {
                assert!((1..=FingerprintBatch::MAX_LEN).contains(&batch.len()));
                let text = |id: &[u8]| String::from_utf8_lossy(id).into_owned();
                found.0.extend(batch.iter().map(|(id, fingerprint)| (id.map(text), fingerprint.bits())));
            }
            Err(bad) => found.1.push(bad.to_string()),
        }
    }
    assert!(found.1.iter().all(|error| !error.contains('\n')), "{found:?}");
    found
}

/// Reads all of a file named `f`.
pub(super) fn drain(reader: impl Reader + 'static, with_ids: bool) -> Found {
    let mut current = Current { path: Arc::new(PathBuf::from("f")), reader: Box::new(reader), has_records: true };
    let parts = std::iter::from_fn(|| Some(current.next(with_ids)).filter(|part| part.0.is_some() || part.1.is_some()));
    collect(parts.flat_map(|(batch, bad)| batch.map(Ok).into_iter().chain(bad.map(Err))))
}

fn read(bytes: &[u8], format: FingerprintFormat, id_field: Option<&str>) -> Found {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    fs::write(&path, bytes).unwrap();
    let mut inputs = FingerprintInputs::new([&path]).format(format);
    inputs.wanted.id_field = id_field.map(str::to_owned);
    let (found, errors) = collect(inputs);
    let name = path.to_str().unwrap();
    (found, errors.into_iter().map(|error| error.replace(name, "f")).collect())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file of each format with the fingerprints.
fn written(fingerprints: &[u64]) -> [(&'static str, Vec<u8>); 6] {
    let text = |header: &str, line: &dyn Fn(u64) -> String| {
        (header.to_owned() + &fingerprints.iter().map(|&bits| line(bits)).collect::<Vec<_>>().concat()).into_bytes()
    };
    [
        ("a.u64", fingerprints.iter().flat_map(|bits| bits.to_le_bytes()).collect()),
        ("a.u64be", fingerprints.iter().flat_map(|bits| bits.to_be_bytes()).collect()),
        ("a.hex", text("", &|bits| format!("{bits:016x}\n"))),
        ("a.csv", text("id,fingerprint\r\n", &|bits| format!("n{bits},{bits:x}\r\n"))),
        ("a.tsv", text("\u{feff}fingerprint\tid\n", &|bits| format!("{bits:X}\tn{bits}\n"))),
        ("a.jsonl", text("\u{feff}", &|bits| format!("{{\"id\": \"n{bits}\", \"fingerprint\": {bits}}}\n"))),
    ]
}

#[test]
fn every_format_round_trips_plain_and_compressed() {
    let dir = tempfile::tempdir().unwrap();
    // More than two batches.
    let many: Vec<u64> =
        EDGES.into_iter().chain((0..150_000).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    for (name, bytes) in written(&many) {
        let (front, back) = bytes.split_at(bytes.len() / 3);
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
        let files = [
            (name.to_owned(), bytes.clone()),
            (format!("{name}.gz"), gzip(&bytes)),
            (format!("{name}.GZ"), [gzip(front), gzip(back)].concat()),
            (format!("{name}.zst"), [zstd(front), zstd(back)].concat()),
        ];
        for (name, bytes) in files {
            let path = dir.path().join(&name);
            fs::write(&path, &bytes).unwrap();
            let with_ids = FingerprintFormat::Auto.of_file(&path).unwrap().has_ids();
            for ids in [false, with_ids] {
                let mut inputs = FingerprintInputs::new([&path]);
                inputs.wanted.id_field = ids.then(|| "id".to_owned());
                let counter = inputs.bytes_read();
                assert_eq!(inputs.total_bytes(), Some(bytes.len() as u64));
                let (found, errors) = collect(inputs);
                let expected = many.iter().map(|&bits| (ids.then(|| format!("n{bits}")), bits));
                assert!(found.iter().cloned().eq(expected) && errors.is_empty(), "{name} {errors:?}");
                assert_eq!(counter.load(std::sync::atomic::Ordering::Relaxed), bytes.len() as u64);
            }
        }
    }
}

#[test]
fn bad_records_come_where_they_are_and_cost_only_themselves() {
    let mut lines: Vec<String> = (0..70_000).map(|i| format!("{i:x}")).collect();
    lines[65_536] = "first of the second batch".to_owned();
    lines[69_000] = "in its middle".to_owned();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.hex");
    fs::write(&path, lines.join("\n")).unwrap();
    let parts: Vec<_> = FingerprintInputs::new([&path, &path])
        .map(|batch| batch.map_or_else(|bad| bad.to_string(), |batch| batch.len().to_string()))
        .map(|part| part.replace(path.to_str().unwrap(), "f").split(": ").next().unwrap().to_owned())
        .collect();
    let once = ["65536", "f:65537", "3463", "f:69001", "999"];
    assert_eq!(parts, [once, once].concat());
}

#[test]
fn files_that_cannot_be_used_are_named_and_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let whole = gzip(&vec![7; 80_000]);
    let files: [(&str, &[u8]); 9] = [
        ("a.hex", b"1"),
        ("b.json", b"1"),
        ("c.csv", b""),
        ("d.csv", b"fingerprint\n"),
        ("e.u64", b""),
        ("f.hex", b"\xef\xbb\xbf\r\n \n"),
        ("g.u64.gz", &whole[..whole.len() - 4]),
        ("h.tsv", b"id\n1"),
        ("z.hex", b"2"),
    ];
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    let (found, errors) = collect(FingerprintInputs::new([dir.path()]));
    assert_eq!((found[0].1, found.len(), found.last().unwrap().1), (1, 10_002, 2));
    let reasons = [
        ("b.json: the name does not tell the format", "--format"),
        ("c.csv: has no records", "leave it out"),
        ("d.csv: has no records", "leave it out"),
        ("e.u64: has no records", "leave it out"),
        ("f.hex: has no records", "leave it out"),
        ("g.u64.gz: the gzip stream ends too early", "again"),
        ("h.tsv:1: there is no column \"fingerprint\" among \"id\"", "--fingerprint-field"),
    ];
    assert_eq!(errors.len(), reasons.len(), "{errors:?}");
    for (error, (reason, remedy)) in errors.iter().zip(reasons) {
        assert!(error.contains(reason) && error.contains(remedy), "{error}");
    }
    let only = FingerprintInputs::new([dir.path()]).include(["a.*"]).unwrap();
    assert_eq!(collect(only), (vec![(None, 1)], vec![]));
    assert!(FingerprintInputs::new(["x"]).include(["["]).is_err());
    let ids = collect(FingerprintInputs::new([dir.path().join("a.hex")]).id_field("id"));
    assert!(ids.0.is_empty() && ids.1[0].contains("have no ids: leave out --id-field"), "{ids:?}");
    let stdin = collect(FingerprintInputs::new(["-"]));
    assert!(stdin.1[0].starts_with("-: the standard input has no name"), "{stdin:?}");
}

#[test]
fn fingerprints_that_begin_like_a_compressed_file_are_none() {
    for value in [[0x1f, 0x8b, 0, 0, 0, 0, 0, 0], [0x1f, 0x8b, 8, 0x20, 1, 2, 3, 4]] {
        let found = read(&value, FingerprintFormat::U64Le, None);
        assert_eq!(found, (vec![(None, u64::from_le_bytes(value))], vec![]));
    }
}

#[test]
fn a_byte_order_mark_is_passed_over_in_texts_alone() {
    assert_eq!(read(b"\xef\xbb\xbf1\r\n2", FingerprintFormat::Hex, None).0, [(None, 1), (None, 2)]);
    let table = "\u{feff}\"fingerprint\"\n1";
    assert_eq!(read(table.as_bytes(), FingerprintFormat::Csv, None).0, [(None, 1)]);
    assert_eq!(read(b"\xef\xbb\xbf\0\0\0\0\0", FingerprintFormat::U64Le, None).0, [(None, 0x00bf_bbef)]);
    assert_eq!(read(b"\xef", FingerprintFormat::Hex, None).1.len(), 1);
}
