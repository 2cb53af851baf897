//! Archives with faults: each is named with its place, and costs no other record.

use super::sample::{Read, arc, arc_head, gzip, packings, page, read_bytes, read_warc, record, zstd};

fn pages(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| page(&format!("http://a/{i}"), &format!("the text of page {i} {}", "x".repeat(i)))).collect()
}

fn ids(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|i| format!("http://a/{i}")).collect()
}

/// The errors begin with these places and hold these words, one for each.
fn assert_errors(read: &Read, errors: &[(&str, &str)], context: &str) {
    assert_eq!(read.errors.len(), errors.len(), "{context}: {:?}", read.errors);
    for (error, (place, words)) in read.errors.iter().zip(errors) {
        let is_right = error.starts_with(&format!("f.warc, offset {place}: ")) && error.contains(words);
        assert!(is_right && !error.contains('\n'), "{context}: {error} is not {place}: {words}");
    }
}

/// A changed byte in each record, wherever it is in it, costs at most that record, and never in silence.
#[test]
fn a_changed_byte_costs_one_member() {
    let records = pages(5);
    for (name, pack) in [("f.warc.gz", gzip as fn(&[u8]) -> Vec<u8>), ("f.warc.zst", zstd)] {
        let members: Vec<_> = records.iter().map(|record| pack(record)).collect();
        for member in 0..members.len() {
            for at in 0..members[member].len() {
                let mut changed = members.clone();
                changed[member][at] ^= 0x41;
                let read = read_bytes(name, &changed.concat(), |inputs| inputs);
                let lost = ids([member]).remove(0);
                let others: Vec<_> = read.ids().into_iter().filter(|id| *id != lost).collect();
                assert_eq!(others, ids((0..5).filter(|&i| i != member)), "{member} {at}");
                let text = read.documents.iter().find(|(id, _)| *id == lost).map(|(_, text)| &text[..]);
                let right = format!("the text of page {member} {}", "x".repeat(member));
                assert!(!read.errors.is_empty() || text == Some(right.trim_end()), "{member} {at}: {text:?}");
                let offset = members[..member].iter().map(Vec::len).sum::<usize>();
                assert!(
                    read.errors.iter().all(|error| error.starts_with(&format!("{name}, offset {offset}"))),
                    "{member} {at}: {:?}",
                    read.errors
                );
            }
        }
    }
}

/// A file that ends too early: what was before the end is read, and the rest named.
#[test]
fn a_cut_file_is_read_up_to_the_cut() {
    let records = pages(4);
    for (packing, bytes) in packings(&records) {
        let mut most = 0;
        for cut in (1..bytes.len()).step_by(7) {
            let read = read_warc(&bytes[..cut]);
            most = most.max(read.documents.len());
            assert_eq!(read.ids(), ids(0..read.documents.len()), "{packing} {cut}");
            // A cut between members, or between records, takes nothing that could be known.
            let is_between = packing.ends_with("-each") || packing == "plain" || packing.contains("dictionary");
            assert!(is_between || packing == "gzip-blocks" || !read.errors.is_empty(), "{packing} {cut}");
            // A record that goes on in a member that is cut is named, and the member too.
            assert!(
                read.errors.len() <= 1 + usize::from(packing.ends_with("-blocks")),
                "{packing} {cut}: {:?}",
                read.errors
            );
            assert!(read.errors.iter().all(|error| error.starts_with("f.warc")), "{:?}", read.errors);
        }
        assert!(most >= 3 || packing.contains("zstd-whole"), "{packing}: {most}");
    }
}

/// The length of the second record is given wrong.
fn with_length(records: &[Vec<u8>], change: impl Fn(usize) -> String) -> Vec<Vec<u8>> {
    let mut records = records.to_vec();
    let text = String::from_utf8(records[1].clone()).unwrap();
    let begin = text.find("Content-Length: ").unwrap() + 16;
    let end = begin + text[begin..].find('\r').unwrap();
    let length = change(text[begin..end].parse().unwrap());
    records[1] = format!("{}{length}{}", &text[..begin], &text[end..]).into_bytes();
    records
}

#[test]
fn a_length_that_is_too_large_takes_no_other_record() {
    let records = pages(6);
    let next = records[2].len();
    // Not as much as takes in whole records: that cannot be told from a record that holds others.
    for more in [1, 4, 5, 20, next - 9, next + 9, next + 50, 2 * next + 9, 100_000, 1_000_000_000_000] {
        let changed = with_length(&records, |length| (length + more).to_string());
        let offset = records[0].len().to_string();
        for (packing, bytes) in packings(&changed) {
            let read = read_warc(&bytes);
            let context = format!("{packing} {more}");
            if more <= 4 {
                // The line ends behind it.
                assert_eq!(
                    (read.ids(), &read.errors),
                    (ids(0..6).iter().map(String::as_str).collect(), &vec![]),
                    "{context}"
                );
                continue;
            }
            let is_each = packing.ends_with("-each") || packing.contains("dictionary");
            let expected = if is_each { ids([0, 2, 3, 4, 5]) } else { ids(0..6) };
            assert_eq!(read.ids(), expected, "{context}: {:?}", read.errors);
            assert_eq!(read.errors.len(), 1, "{context}: {:?}", read.errors);
            let words = if is_each { "the record ends too early" } else { "but a record begins" };
            assert!(read.errors[0].contains(words), "{context}: {:?}", read.errors);
            if packing == "plain" {
                assert_errors(&read, &[(&offset, "bytes behind its head")], &context);
            }
        }
    }
}

#[test]
fn a_length_that_is_too_small_is_reported() {
    let records = pages(5);
    for less in [1, 10, 60] {
        let changed = with_length(&records, |length| (length - less).to_string());
        for (packing, bytes) in packings(&changed) {
            let read = read_warc(&bytes);
            assert_eq!(read.ids(), ids(0..5), "{packing} {less}: {:?}", read.errors);
            assert_eq!(read.errors.len(), 1, "{packing} {less}: {:?}", read.errors);
            assert!(read.errors[0].contains("bytes belong to no record"), "{:?}", read.errors);
        }
    }
}

#[test]
fn a_length_that_is_none_is_reported() {
    let records = pages(5);
    for (length, words) in
        [("-5", "\"-5\" is no number"), ("ten", "no number"), ("", "no number"), ("1 000", "no number")]
    {
        for (packing, bytes) in packings(&with_length(&records, |_| length.to_owned())) {
            let read = read_warc(&bytes);
            assert_eq!(read.ids(), ids([0, 2, 3, 4]), "{packing} {length}: {:?}", read.errors);
            assert!(read.errors.len() == 1 && read.errors[0].contains(words), "{packing}: {:?}", read.errors);
        }
    }
}

#[test]
fn what_belongs_to_no_record_is_reported_once_and_passed_over() {
    let [a, b] = [page("http://a/0", "one"), page("http://a/1", "two")];
    let place = a.len().to_string();
    let text = "WARC/1.0 is a format\r\nWARC/1.0\r\n\r\nnot a record\r\n\r\n".repeat(5000);
    for (rest, words) in [
        (b"The monkeys are coming!\r\n".to_vec(), "25 bytes belong to no record"),
        (text.as_bytes().to_vec(), "270000 bytes belong"),
        (vec![0; 300_000], "300000 bytes belong"),
    ] {
        let rest = [&rest[..], b"\n"].concat();
        let read = read_warc(&[&a[..], &rest, &b].concat());
        assert_eq!(read.ids(), ids(0..2), "{words}");
        assert_errors(&read, &[(&place, "belong to no record")], words);
        let read = read_warc(&[&a[..], &rest].concat());
        assert_eq!(read.ids(), ids(0..1));
        assert_errors(&read, &[(&place, "belong to no record")], words);
    }
    // Between members.
    for pack in [gzip, zstd] {
        let (a, b) = (pack(&a), pack(&b));
        let read = read_warc(&[&a[..], b"The monkeys are coming!", &b].concat());
        assert_eq!(read.ids(), ids(0..2));
        assert_errors(
            &read,
            &[(&a.len().to_string(), "stands here; the next record that can be read is at")],
            "members",
        );
    }
    let read = read_warc(b"hello\n");
    assert_errors(&read, &[("0", "6 bytes belong to no record")], "nothing else");
    for empty in [&b""[..], b"\r\n\r\n", &gzip(b""), &gzip(b"\n")] {
        assert_eq!(read_warc(empty).errors, ["f.warc: has no records: leave it out, or check what wrote it"]);
    }
}

#[test]
fn heads_without_an_end_or_a_length_are_reported() {
    let [a, b] = [page("http://a/0", "one"), page("http://a/1", "two")];
    let lonely = b"WARC/1.0\r\nWARC-Type: response\r\n\r\n\r\n\r\n";
    let endless = b"WARC/1.0\r\nWARC-Type: response\r\n";
    for bad in [&lonely[..], endless] {
        for bytes in [[&a[..], bad, &b].concat(), [gzip(&a), gzip(bad), gzip(&b)].concat()] {
            let read = read_warc(&bytes);
            assert_eq!(read.ids(), ids(0..2), "{:?}", read.errors);
            assert!(read.errors.len() == 1 && read.errors[0].contains("does not say its length"), "{:?}", read.errors);
        }
    }
    let long = format!("WARC/1.0\r\nX: {}\r\nContent-Length: 0\r\n\r\n\r\n\r\n", "x".repeat(1 << 20));
    let read = read_warc(&[&a[..], long.as_bytes(), &b].concat());
    assert_eq!(read.ids(), ids(0..2));
    assert_errors(&read, &[(&a.len().to_string(), "the head of the record is longer than 1048576 bytes")], "long");
}

#[test]
fn records_are_bounded_before_and_after_they_are_decoded() {
    let limit = 5000;
    let bomb = gzip(&vec![b' '; 50 << 20]);
    let coded = |fields: &str, body: &[u8]| super::sample::response("http://a/2", "200 OK", fields, body);
    let long = page("http://a/1", &"long ".repeat(2000));
    let head = record("resource", &"u".repeat(6000), "text/plain", "x");
    let image = coded("Content-Type: image/png", &vec![7; 20_000]);
    let chunks = [&b"c350\r\n"[..], &vec![b' '; 50_000], b"\r\n0\r\n\r\n"].concat();
    let records = vec![
        page("http://a/0", "one"),
        long,
        image,
        coded("Content-Type: text/html\r\nContent-Encoding: gzip", &bomb[..4000.min(bomb.len())]),
        coded("Content-Type: text/html\r\nContent-Encoding: gzip, gzip, gzip", &gzip(&gzip(&bomb))),
        coded("Content-Type: text/html\r\nTransfer-Encoding: chunked", &chunks),
        head,
        page("http://a/3", "two"),
    ];
    for (packing, bytes) in packings(&records) {
        let read = read_bytes("f.warc", &bytes, |inputs| inputs.max_record_bytes(limit));
        assert_eq!(read.ids(), ids([0, 3]), "{packing}: {:?}", read.errors);
        let words = [
            "longer than 5000 bytes: ",
            "bytes once decoded",
            "bytes once decoded",
            "longer than 5000 bytes: ",
            "head of the record is longer",
        ];
        assert_eq!(read.errors.len(), words.len(), "{packing}: {:?}", read.errors);
        assert!(read.errors.iter().zip(words).all(|(error, words)| error.contains(words)), "{:?}", read.errors);
        assert_eq!(read.passed_over, "1 not text", "{packing}");
    }
}

#[test]
fn damage_of_arc_files() {
    let pages: Vec<_> =
        (0..4).map(|i| arc(&format!("http://a/{i}"), "text/plain", format!("page {i}, a text"))).collect();
    let wrong =
        |length: usize| String::from_utf8(pages[1].clone()).unwrap().replacen(" 14\n", &format!(" {length}\n"), 1);
    for (length, errors) in [(14, 0), (10, 1), (20, 1), (90, 1), (5_000_000, 1)] {
        let middle = wrong(length).into_bytes();
        let all = [arc_head(), pages[0].clone(), middle, pages[2].clone(), pages[3].clone()];
        for bytes in [all.concat(), gzip(&all.concat())] {
            let read = read_bytes("f.arc", &bytes, |inputs| inputs);
            assert_eq!(
                (read.ids(), read.errors.len()),
                (ids(0..4).iter().map(String::as_str).collect(), errors),
                "{length}: {:?}",
                read.errors
            );
        }
    }
    let mut members: Vec<_> = [arc_head()].iter().chain(&pages).map(|record| gzip(record)).collect();
    let middle = members[2].len() / 2;
    members[2][middle] ^= 0xff;
    let read = read_bytes("f.arc.gz", &members.concat(), |inputs| inputs);
    assert_eq!(read.ids(), ids([0, 2, 3]));
    assert!(read.errors.len() == 1 && read.errors[0].contains("gzip member is damaged"), "{:?}", read.errors);
}
