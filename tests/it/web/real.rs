//! Archives of other tools, against what warcio reads of them; skips where they are absent.

use std::collections::BTreeMap;
use std::path::Path;

use nearstone::html::Html;
use nearstone::input::{Capture, Format, Inputs};

use crate::common::data;
use crate::real_data::gunzip;

/// A record as the table has it.
struct Row {
    kind: String,
    uri: String,
    status: String,
    media_type: String,
    /// Of the decoded content; `None` where warcio lacked the decoder.
    content: Option<(usize, String)>,
}

impl Row {
    /// Whether it holds a document, by the rules of docs/cli.md; `None` where only its content tells.
    fn is_document(&self) -> Option<bool> {
        if !["response", "resource", "conversion"].contains(&&self.kind[..]) || self.uri.starts_with("dns:") {
            return Some(false);
        }
        if self.kind == "response" && !self.status.starts_with('2') {
            // What came without HTTP has no status.
            return if self.status.parse::<u16>().is_ok() { Some(false) } else { None };
        }
        match self.media_type.split_once('/')? {
            ("text", name) => Some(!["css", "javascript", "dns"].contains(&name)),
            ("application", name) => Some(name == "xml" || name.ends_with("+xml")),
            _ => Some(false),
        }
    }
}

struct Archive {
    name: String,
    class: String,
    rows: Vec<Row>,
}

fn archives(folder: &Path) -> Vec<Archive> {
    let table = String::from_utf8(gunzip(&folder.join("records.tsv.gz"))).unwrap();
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        // One line of the table is broken by what a record has for a type.
        let [file, _, _, _, kind, uri, status, media_type, length, sha1] = columns[..] else { continue };
        rows.entry(file.to_owned()).or_default().push(Row {
            kind: kind.trim().to_owned(),
            uri: uri.to_owned(),
            status: status.to_owned(),
            media_type: media_type.split(';').next().unwrap().trim().to_ascii_lowercase(),
            content: length.parse().ok().map(|length| (length, sha1.to_owned())),
        });
    }
    let manifest = std::fs::read_to_string(folder.join("manifest.tsv")).unwrap();
    let archive = |line: &str| {
        let mut columns = line.split('\t');
        let name = columns.next().unwrap().to_owned();
        let rows = rows.remove(&name).unwrap_or_default();
        Archive { name, class: columns.next().unwrap().to_owned(), rows }
    };
    manifest.lines().skip(1).map(archive).collect()
}

/// What was read of a file.
struct Read {
    captures: Vec<Capture>,
    errors: Vec<String>,
    passed_over: u64,
}

fn read(folder: &Path, name: &str) -> Read {
    let is_arc = name.contains(".arc") || !name.contains(".warc");
    let format = if is_arc { Format::Arc } else { Format::Warc };
    let inputs = Inputs::new([folder.join("files").join(name)]).format(format).html(Html::Text);
    let passed_over = inputs.passed_over();
    let (mut captures, mut errors) = (vec![], vec![]);
    for raw in inputs {
        match raw.and_then(|raw| Ok((raw.parse()?, raw.capture()?))) {
            Ok((Some(document), Some(capture))) => {
                assert_eq!(Some(document.id), capture.uri, "{name}");
                captures.push(capture);
            }
            Ok(_) => {}
            Err(e) => errors.push(e.to_string()),
        }
    }
    Read { captures, errors, passed_over: passed_over.total() }
}

#[test]
fn archives_are_read_as_warcio_reads_them() {
    let Some(folder) = data("warc") else { return };
    let mut figures: BTreeMap<String, [usize; 5]> = BTreeMap::new();
    for archive in archives(&folder) {
        let name = &archive.name;
        let read = read(&folder, name);
        let figures = figures.entry(archive.class.clone()).or_default();
        let passed_over = usize::try_from(read.passed_over).unwrap();
        let all = read.captures.len() + passed_over;
        for (figure, count) in
            figures.iter_mut().zip([archive.rows.len(), all, read.captures.len(), read.errors.len(), 1])
        {
            *figure += count;
        }
        assert!(
            all + read.errors.len() >= archive.rows.len(),
            "{name}: {all} of {}: {:?}",
            archive.rows.len(),
            read.errors
        );
        if archive.class != "ok" {
            continue;
        }
        assert_eq!((read.errors, all), (vec![], archive.rows.len()), "{name}");
        let mut captures = read.captures.iter().peekable();
        for row in &archive.rows {
            let is_next = captures.peek().is_some_and(|next| {
                next.uri.as_deref().map(str::trim) == Some(row.uri.trim_matches(['<', '>']))
                    && row.content.as_ref().is_none_or(|content| *content == (next.content.len(), sha1(&next.content)))
            });
            match row.is_document() {
                Some(true) => assert!(is_next, "{name}: {} {} is not {:?}", row.kind, row.uri, captures.peek()),
                Some(false) => continue,
                None if !is_next => continue,
                None => {}
            }
            let media_type = captures.next().unwrap().media_type.clone().unwrap_or_default();
            let essence = media_type.split(';').next().unwrap().trim().to_ascii_lowercase();
            // The table has only the types that HTTP names.
            assert!(row.media_type.is_empty() || essence == row.media_type, "{name} {}: {essence}", row.uri);
        }
        assert_eq!(captures.next(), None, "{name}");
    }
    for (class, [rows, all, documents, errors, files]) in figures {
        println!(
            "{class}: {files} files, {rows} records by warcio; {all} read, {documents} of them documents; {errors} errors"
        );
    }
}

/// SHA-1, in base-16 digits.
fn sha1(bytes: &[u8]) -> String {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut message = bytes.to_vec();
    message.push(0x80);
    message.resize(message.len().next_multiple_of(64), 0);
    if message.len() - bytes.len() < 9 {
        message.resize(message.len() + 64, 0);
    }
    let end = message.len() - 8;
    message[end..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    for block in message.chunks_exact(64) {
        let mut words = [0u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes(bytes.try_into().unwrap());
        }
        for i in 16..80 {
            words[i] = (words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1);
        }
        let mut now = state;
        for (i, word) in words.into_iter().enumerate() {
            let [first, x, y, z, last] = now;
            let (mixed, constant) = match i / 20 {
                0 => ((x & y) | (!x & z), 0x5a82_7999),
                1 => (x ^ y ^ z, 0x6ed9_eba1),
                2 => ((x & y) | (x & z) | (y & z), 0x8f1b_bcdc),
                _ => (x ^ y ^ z, 0xca62_c1d6),
            };
            let sum =
                [mixed, last, constant, word].iter().fold(first.rotate_left(5), |sum, term| sum.wrapping_add(*term));
            now = [sum, first, x.rotate_left(30), y, z];
        }
        for (value, more) in state.iter_mut().zip(now) {
            *value = value.wrapping_add(more);
        }
    }
    state.map(|word| format!("{word:08x}")).concat()
}
