use std::fs;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::pages::FailsAtEnd;
use crate::input::{Fields, Inputs};

const SCHEMA: &str = "message m { optional binary text (UTF8); required int32 n; required binary id (UTF8); }";

/// Texts of many lengths, some alike, some null.
fn texts(count: usize) -> Vec<Option<String>> {
    (0..count).map(|i| (i % 11 != 3).then(|| format!("text {} {}", i % 17, "x".repeat(i * i % 90)))).collect()
}

fn number(row: usize) -> i32 {
    i32::try_from(row).unwrap() * 3 - 5
}

fn write(properties: WriterProperties, groups: &[&[Option<String>]]) -> Vec<u8> {
    let schema = parse_message_type(SCHEMA).unwrap().into();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties.into()).unwrap();
    let mut first = 0;
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<ByteArray> = rows.iter().flatten().map(|text| text.as_str().into()).collect();
        let levels: Vec<i16> = rows.iter().map(|text| i16::from(text.is_some())).collect();
        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
        column.close().unwrap();
        let numbers: Vec<i32> = (0..rows.len()).map(|at| number(first + at)).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&numbers, None, None).unwrap();
        column.close().unwrap();
        let ids: Vec<ByteArray> = (0..rows.len()).map(|at| format!("id{}", first + at).as_str().into()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        first += rows.len();
    }
    writer.into_inner().unwrap()
}

/// Every way in which the columns may be written.
fn every_kind() -> Vec<(String, WriterProperties)> {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    let encodings =
        [None, Some(Encoding::PLAIN), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY), Some(Encoding::DELTA_BYTE_ARRAY)];
    let mut kinds = Vec::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for codec in codecs {
            for encoding in encodings {
                let kind = WriterProperties::builder()
                    .set_writer_version(version)
                    .set_compression(codec)
                    .set_data_page_row_count_limit(20)
                    .set_write_batch_size(10);
                let kind = match encoding {
                    None => kind,
                    Some(encoding) => {
                        let packed = (encoding != Encoding::PLAIN).then_some(Encoding::DELTA_BINARY_PACKED);
                        kind.set_dictionary_enabled(false)
                            .set_column_encoding("text".into(), encoding)
                            .set_column_encoding("id".into(), encoding)
                            .set_column_encoding("n".into(), packed.unwrap_or(encoding))
                    }
                };
                kinds.push((format!("{version:?} {codec:?} {encoding:?}"), kind.build()));
            }
        }
    }
    kinds
}

fn fields(id: Option<&str>, text: &str) -> Fields {
    Fields { id: id.map(str::to_owned), text: text.to_owned() }
}

/// What is read: `id=text`, or the error without the folder.
fn read(file: &Path, fields: Fields, max_record_bytes: usize) -> Vec<String> {
    let inputs = Inputs::new([file]).fields(fields).max_record_bytes(max_record_bytes);
    let (total, counter) = (inputs.total_bytes().unwrap(), inputs.bytes_read());
    let folder = file.parent().unwrap().display().to_string() + "/";
    let found = inputs
        .map(|raw| match raw.and_then(|raw| raw.parse()) {
            Ok(document) => document.map(|d| format!("{}={}", d.id, d.text)).unwrap(),
            Err(e) => e.to_string(),
        })
        .map(|found| found.replace(&folder, ""))
        .collect();
    let read = counter.load(Ordering::Relaxed);
    assert!(read == total || read == 0, "{read} of {total} bytes");
    found
}

fn read_bytes(bytes: &[u8], fields: Fields) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.parquet");
    fs::write(&file, bytes).unwrap();
    read(&file, fields, Inputs::DEFAULT_MAX_RECORD_BYTES)
}

fn expected(texts: &[Option<String>], id: impl Fn(usize) -> String) -> Vec<String> {
    texts.iter().enumerate().map(|(at, text)| format!("{}={}", id(at), text.as_deref().unwrap_or_default())).collect()
}

#[test]
fn rows_come_back_whatever_the_codec_the_encoding_and_the_groups() {
    let texts = texts(200);
    for (kind, properties) in every_kind() {
        let bytes = write(properties, &[&texts[..90], &[], &texts[90..91], &texts[91..]]);
        let strings = expected(&texts, |at| format!("id{at}"));
        assert_eq!(read_bytes(&bytes, fields(Some("id"), "text")), strings, "{kind}");
        let numbers = expected(&texts, |at| number(at).to_string());
        assert_eq!(read_bytes(&bytes, fields(Some("n"), "text")), numbers, "{kind}");
        let by_row = read_bytes(&bytes, fields(None, "text"));
        assert!(by_row[0].ends_with("f.parquet:1=text 0 ") && by_row.len() == 200, "{kind}: {}", by_row[0]);
    }
}

#[test]
fn damage_is_named_and_never_panics_the_reader() {
    let texts = texts(60);
    for (kind, properties) in every_kind() {
        let bytes = write(properties, &[&texts[..30], &texts[30..]]);
        for cut in (0..bytes.len()).step_by(13) {
            let found = read_bytes(&bytes[..cut], fields(Some("id"), "text"));
            let [error] = &found[..] else { panic!("{kind}: {found:?}") };
            assert!(error.starts_with("f.parquet: is no sound Parquet file (") && !error.contains('\n'), "{error}");
        }
        for at in (0..bytes.len()).step_by(5) {
            let mut damaged = bytes.clone();
            damaged[at] ^= [0x01, 0xff, 0x80][at % 3];
            let found = read_bytes(&damaged, fields(Some("id"), "text"));
            let errors = found.iter().filter(|line| line.starts_with("f.parquet"));
            assert!(errors.clone().all(|error| !error.contains('\n')), "{kind} {at}: {found:?}");
            // Rows are lost by name only.
            assert!(found.len() >= texts.len() || errors.count() > 0, "{kind} {at}: {}", found.len());
        }
    }
}

#[test]
fn the_rows_before_and_behind_a_damaged_group_are_read() {
    let texts = texts(90);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_enabled(false);
    let mut bytes = write(properties.build(), &[&texts[..30], &texts[30..60], &texts[60..]]);
    let second = bytes.windows(4).enumerate().filter(|(_, window)| window == b"id30").map(|(at, _)| at).next().unwrap();
    // The codec's own length is in front of the ids.
    bytes[second - 8..second].fill(0xff);
    let found = read_bytes(&bytes, fields(Some("id"), "text"));
    assert_eq!(found.len(), 61, "{found:?}");
    assert!(found[30].starts_with("f.parquet, row 31: from here to row 60 nothing can be read ("), "{}", found[30]);
    assert!(found[30].ends_with("): fetch or write the file again"), "{}", found[30]);
    let whole = expected(&texts, |at| format!("id{at}"));
    assert_eq!((&found[..30], &found[31..]), (&whole[..30], &whole[60..]));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.parquet");
    fs::write(&file, &bytes).unwrap();
    let lost = Inputs::new([&file]).find_map(Result::err).unwrap();
    assert_eq!(lost.records(), 30);
}

/// The crate takes the last size that a head gives, and would take as much memory.
#[test]
fn a_page_whose_head_gives_its_size_twice_is_damage() {
    let texts = [Some("x".repeat(4000)), None];
    let properties = WriterProperties::builder().set_dictionary_enabled(false).set_compression(Compression::SNAPPY);
    let bytes = write(properties.build(), &[&texts]);
    let place = (4000..4032_u64).find_map(|size| bytes.windows(3).position(|window| window == claim(size))).unwrap();
    // Behind the size uncompressed comes that in the file, as the next field: its number in full makes it the size once more.
    let next = place + 3;
    assert_eq!(bytes[next], 0x15);
    let mut twice = bytes.clone();
    twice.splice(next..=next, [0x05, 4]);
    let found = read_bytes(&twice, fields(Some("n"), "text"));
    assert!(found[0].contains("the head of a page gives a field twice"), "{found:?}");
}

/// Found by fuzzing: the crate takes the bytes of each value from as many places as it has bytes, which may lie behind the end.
#[test]
fn a_page_of_split_bytes_is_as_long_as_its_values() {
    let texts = texts(40);
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let properties = properties.set_column_encoding("n".into(), Encoding::BYTE_STREAM_SPLIT).build();
    let bytes = write(properties, &[&texts]);
    let whole = read_bytes(&bytes, fields(Some("n"), "text"));
    assert_eq!(whole, expected(&texts, |at| number(at).to_string()));
    // Of the head of the page the number of values, 40 in zigzag, and the encoding.
    let place = bytes.windows(4).position(|head| head == [0x15, 80, 0x15, 18]).unwrap();
    for count in [39, 41, 50] {
        let mut other = bytes.clone();
        other[place + 1] = 2 * count;
        let found = read_bytes(&other, fields(Some("n"), "text"));
        assert!(found[0].contains(&format!("a page has {count} values of 4 bytes in 160")), "{count}: {found:?}");
    }
}

/// Found by fuzzing: the crate passes over a list of truth values one by one, whose bytes it does not look for.
#[test]
fn a_footer_with_a_list_of_two_thousand_million_is_refused() {
    let bytes = write(WriterProperties::default(), &[&texts(3)]);
    let length = usize::try_from(u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap())).unwrap();
    let (front, footer) = bytes[..bytes.len() - 8].split_at(bytes.len() - 8 - length);
    // A field that nobody knows, of a hundred lists.
    let lists = [[0xf1, 0xff, 0xff, 0xff, 0xff, 7]; 100].concat();
    let footer = [&footer[..length - 1], &[0x09, 0xd0, 0x0f, 0xf9, 100], &lists, &[0]].concat();
    let tail = [&u32::try_from(footer.len()).unwrap().to_le_bytes()[..], b"PAR1"].concat();
    let found = read_bytes(&[front, &footer, &tail].concat(), fields(Some("id"), "text"));
    assert!(found.len() == 1 && found[0].contains("(a head has a list of truth values)"), "{found:?}");
}

/// A column of nulls is a run of a few bytes, however many there are.
#[test]
fn a_small_file_of_rows_without_end_is_refused() {
    let schema = parse_message_type("message m { optional binary text (UTF8); }").unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), WriterProperties::default().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&[], Some(&vec![0; 300]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    let bytes = writer.into_inner().unwrap();
    let whole = read_bytes(&bytes, fields(None, "text"));
    assert_eq!((whole.len(), whole[0].ends_with("f.parquet:1=")), (300, true));
    // The footer has the number of rows in the file, in the group and of values in the column: 300 in zigzag each.
    let rows = |count: u64| -> Vec<u8> { claim(count)[1..].to_vec() };
    let (few, many) = (rows(300), rows(1 << 40));
    let footer =
        bytes.len() - 8 - usize::try_from(u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap())).unwrap();
    let mut file = bytes[..footer].to_vec();
    let mut at = footer;
    while at < bytes.len() - 8 {
        if bytes[at..].starts_with(&few) && bytes[at - 1] & 0x0f == 6 {
            file.extend(&many);
            at += few.len();
        } else {
            file.push(bytes[at]);
            at += 1;
        }
    }
    let length = u32::try_from(file.len() - footer).unwrap();
    file.extend(length.to_le_bytes());
    file.extend(b"PAR1");
    let found = read_bytes(&file, fields(None, "text"));
    let expected = format!(
        "f.parquet: has {} rows in {} bytes, of which nearly all must be the same: fetch or write it again, or cut it into parts",
        1_u64 << 40,
        file.len()
    );
    assert_eq!(found, [expected]);
}

#[test]
fn columns_that_cannot_be_read_are_named() {
    let schema = "message m { required int64 id (TIMESTAMP_MILLIS); required group tags (LIST) { repeated group list {
        required binary element (UTF8); } } required binary body (UTF8); required double score; repeated binary many (UTF8);
        required fixed_len_byte_array(4) word; required boolean ok; required binary raw; required binary price (DECIMAL(5, 2));
        required int64 big (UINT_64); }";
    let schema = parse_message_type(schema).unwrap().into();
    let writer = SerializedFileWriter::new(Vec::new(), schema, WriterProperties::default().into()).unwrap();
    let bytes = writer.into_inner().unwrap();
    let columns = r#""id" (times or decimal numbers), "tags" (nested values), "body" (strings), "score" (numbers), "many" (nested values), "word" (bytes of another kind), "ok" (truth values), "raw" (strings), "price" (bytes of another kind), "big" (whole numbers)"#;
    for (id, text, reason) in [
        (None, "text", r#"there is no column "text" among "id", "tags", "body", "score", "many", "word", "ok", "raw", "price", "big": name the column with --text-field or --html-field"#.to_owned()),
        (None, "tags", format!(r#"the column "tags" has nested values instead of strings; there are {columns}: name the column with --text-field or --html-field"#)),
        (None, "element", r#"there is no column "element" among"#.to_owned()),
        (None, "big", r#"the column "big" has whole numbers instead of strings;"#.to_owned()),
        (None, "many", r#"the column "many" has nested values instead of strings;"#.to_owned()),
        (None, "price", r#"the column "price" has bytes of another kind instead of strings;"#.to_owned()),
        (Some("id"), "body", format!(r#"the column "id" has times or decimal numbers instead of strings or whole numbers; there are {columns}: name the column with --id-field, or take --line-ids"#)),
        (Some("score"), "body", r#"the column "score" has numbers instead of"#.to_owned()),
        (Some("big"), "raw", "has no records".to_owned()),
    ] {
        let found = read_bytes(&bytes, fields(id, text));
        assert!(found.len() == 1 && found[0].starts_with(&format!("f.parquet: {reason}")), "{found:?} {reason}");
    }
}

#[test]
fn ids_may_be_any_whole_number_and_bad_rows_are_named() {
    let schema = "message m { optional int64 id (UINT_64); required binary text; optional binary name (UTF8); }";
    let schema = parse_message_type(schema).unwrap().into();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, WriterProperties::default().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[-1, i64::MIN, 0], Some(&[1, 1, 0, 1]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let texts = [&b"one"[..], b"\xff", b"three", &[b'x'; 200]].map(|text| text.to_vec().into());
    column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let names = [&b"a"[..], b"\xfe", b""].map(|text| text.to_vec().into());
    column.typed::<ByteArrayType>().write_batch(&names, Some(&[1, 1, 0, 1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.parquet");
    fs::write(&file, writer.into_inner().unwrap()).unwrap();
    let found = read(&file, fields(Some("id"), "text"), 100);
    let expected = [
        "18446744073709551615=one",
        "f.parquet, row 2: the record is not UTF-8 (byte 1 of it): convert it to UTF-8, or leave it out",
        "f.parquet, row 3: the id is null: name another column with --id-field, or take --line-ids",
        "f.parquet, row 4: the record is longer than 100 bytes: raise --max-record-bytes, or leave it out",
    ];
    assert_eq!(found, expected);
    let found = read(&file, fields(Some("name"), "text"), 300);
    assert_eq!(found[1], "f.parquet, row 2: the id is not UTF-8: name another column with --id-field");
    assert!(found[3].starts_with("f.parquet, row 4: the id has 0 bytes instead of 1 to 1024"), "{}", found[3]);
    // A page of more than eight times the longest record.
    let found = read(&file, fields(Some("id"), "text"), 20);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("a page is longer than 160 bytes, which is 8 times --max-record-bytes"), "{}", found[0]);
    assert!(found[0].ends_with("): raise --max-record-bytes, or fetch or write the file again"), "{}", found[0]);
}

/// The crate takes it for granted that a page whose values are numbers of a dictionary comes behind one.
#[test]
fn a_page_without_its_dictionary_is_damage() {
    let texts = texts(40);
    let bytes = write(WriterProperties::builder().build(), &[&texts]);
    let mut found = 0;
    // The first page of the texts is the dictionary: its head says so in the first field, a 2 in zigzag.
    for at in (0..bytes.len() - 3).filter(|&at| bytes[at..].starts_with(b"\x15\x04\x15")) {
        let mut damaged = bytes.clone();
        // An index page, which is passed over.
        damaged[at + 1] = 2;
        let rows = read_bytes(&damaged, fields(Some("id"), "text"));
        found += usize::from(rows[0].contains("a page needs a dictionary, and there is none"));
    }
    assert!(found > 0);
}

/// The length of a page uncompressed, as the second field of its head.
fn claim(bytes: u64) -> Vec<u8> {
    let (mut left, mut claim) = (bytes << 1, vec![0x15]);
    while left > 0x7f {
        claim.push(left.to_le_bytes()[0] | 0x80);
        left >>= 7;
    }
    claim.push(left.to_le_bytes()[0]);
    claim
}

#[test]
fn a_page_that_expands_to_more_than_its_head_says_is_damage() {
    const BYTES: u64 = 3 << 20;
    let text = Some("x".repeat(usize::try_from(BYTES).unwrap()));
    let codecs =
        [Compression::GZIP(GzipLevel::default()), Compression::BROTLI(BrotliLevel::default()), Compression::LZ4];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for codec in codecs {
            let properties = WriterProperties::builder().set_writer_version(version).set_compression(codec);
            let bytes = write(properties.set_dictionary_enabled(false).build(), &[std::slice::from_ref(&text)]);
            let kind = format!("{version:?} {codec:?}");
            assert_eq!(read_bytes(&bytes, fields(Some("id"), "text")).len(), 1, "{kind}");
            // The levels, and in plain pages the length, are a few bytes more.
            let places = (BYTES..BYTES + 32).find_map(|size| {
                let place = bytes.windows(5).position(|window| window == claim(size));
                place.map(|place| (place, size))
            });
            let (place, size) = places.unwrap_or_else(|| panic!("{kind}"));
            for wrong in [size / 2, size - 1, size + 1] {
                let mut bomb = bytes.clone();
                bomb[place..place + 5].copy_from_slice(&claim(wrong));
                let found = read_bytes(&bomb, fields(Some("id"), "text"));
                assert!(
                    found[0].contains("cannot be decompressed to the length that its head says"),
                    "{kind} {found:?}"
                );
            }
        }
    }
}

#[test]
fn a_page_is_not_longer_in_the_file_than_it_may_be_without_a_codec() {
    let texts = [Some("x".repeat(4000))];
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let bytes = write(properties, &[&texts]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.parquet");
    // In three bytes, as is the claim.
    let place = (4000..4032_u64).find_map(|size| bytes.windows(3).position(|window| window == claim(size))).unwrap();
    for (claimed, max_record_bytes, expected) in [(100, 450, "a page is longer than 3600 bytes"), (64, 20, "160 bytes")]
    {
        let mut bytes = bytes.clone();
        // A number may have more bytes than it needs.
        let bits = [0x15, u8::try_from((claimed << 1) & 0x7f).unwrap() | 0x80, u8::try_from(claimed >> 6).unwrap()];
        bytes[place..place + 3].copy_from_slice(&bits);
        fs::write(&file, &bytes).unwrap();
        let found = read(&file, fields(Some("id"), "text"), max_record_bytes);
        assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
    }
}

/// A head in which the crate finds a list of strings behind the end of the file, because it looks at the numbers of fields alone.
#[test]
fn what_is_passed_over_ends_where_the_file_does() {
    let found =
        read_bytes(include_bytes!("../../../tests/data/head-behind-its-end.parquet"), fields(Some("id"), "text"));
    assert!(!found.is_empty() && found.iter().all(|row| row.contains("nothing can be read")), "{found:?}");
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"end").unwrap();
    file.rewind().unwrap();
    let mut reader = FailsAtEnd(BufReader::new(file));
    let mut three = [0; 3];
    reader.read_exact(&mut three).unwrap();
    assert_eq!((&three, reader.read(&mut []).unwrap()), (b"end", 0));
    // It would go on for each of as many strings as a head says.
    assert!(io::copy(&mut reader.take(5), &mut io::sink()).is_err());
}
