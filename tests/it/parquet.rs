//! Parquet, from the outside. What the reader makes of files is tested beside it.

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::shell::{CAT, FOX, Shell};

fn pages(rows: &[(&str, Option<&str>)]) -> Vec<u8> {
    let schema = parse_message_type("message m { required binary url (UTF8); optional binary text (UTF8); }").unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), std::sync::Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let urls: Vec<ByteArray> = rows.iter().map(|&(url, _)| url.into()).collect();
    let texts: Vec<ByteArray> = rows.iter().filter_map(|&(_, text)| text.map(Into::into)).collect();
    let levels: Vec<i16> = rows.iter().map(|(_, text)| i16::from(text.is_some())).collect();
    for (values, levels) in [(urls, None), (texts, Some(&levels[..]))] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, levels, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_file_of_pages_is_deduplicated_loaded_and_looked_up() {
    let shell = Shell::new();
    shell.file("a.parquet", pages(&[("one", Some(FOX)), ("two", Some(CAT)), ("three", Some(FOX)), ("four", None)]));
    let ran = shell.run(&["dedup", "a.parquet", "--id-field", "url", "--store", "s", "--duplicates", "d"]);
    let kept = [("one", FOX), ("two", CAT), ("four", "")]
        .map(|(id, text)| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n"));
    assert_eq!((ran.code, ran.out), (0, kept.concat()), "{}", ran.err);
    assert!(ran.err.contains("without features  1"), "{}", ran.err);
    assert_eq!(shell.read("d"), "{\"distance\":0,\"duplicate_of\":\"one\",\"id\":\"three\"}\n");
    let ran = shell.run(&["query", "s", "--batch", "a.parquet", "--id-field", "url", "--quiet"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 3), "{}", ran.err);
    assert_eq!(shell.run(&["create", "loaded"]).code, 0);
    let ran = shell.run(&["load", "loaded", "a.parquet", "--id-field", "url"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(shell.run(&["get", "loaded", "three"]).out.contains("\"id\":\"three\""));
    let ran = shell.run(&["fingerprint", "a.parquet", "--line-ids", "--quiet"]);
    assert!(ran.out.lines().nth(1).unwrap().contains("\"id\":\"a.parquet:2\""), "{}", ran.out);
}

#[test]
fn what_cannot_be_read_is_refused_in_a_line() {
    let shell = Shell::new();
    let bytes = pages(&[("one", Some(FOX))]);
    shell.file("a.parquet", &bytes);
    shell.file("cut.parquet", &bytes[..bytes.len() - 9]);
    for (arguments, reason) in [
        (
            &["dedup", "a.parquet"][..],
            "there is no column \"id\" among \"url\", \"text\": name the column with --id-field",
        ),
        (&["dedup", "cut.parquet"], "is no sound Parquet file ("),
        (&["dedup", "none.parquet"], "cannot be read (No such file or directory (os error 2)): check the path"),
        (&["dedup", "-", "--format", "parquet"], "Parquet is read from its end, which the standard input has not got"),
    ] {
        let ran = shell.run(arguments);
        assert_eq!((ran.code, ran.err.lines().count()), (3, 1), "{}", ran.err);
        assert!(ran.err.contains(reason), "{}", ran.err);
    }
}

/// A page that cannot be read takes the rest of its rows with it; how many they are is said, and counted.
#[test]
fn rows_that_are_lost_are_counted_and_damage_is_told_in_a_line() {
    let shell = Shell::new();
    let texts: Vec<String> = (0..40).map(|n| format!("{FOX} {n}")).collect();
    let rows: Vec<(&str, Option<&str>)> = texts.iter().map(|text| (&text[..], Some(&text[..]))).collect();
    let bytes = pages(&rows);
    let first = bytes.windows(FOX.len()).position(|window| window == FOX.as_bytes()).unwrap();
    let mut damaged = bytes.clone();
    // The length of the first value.
    damaged[first - 1] = 0x7f;
    shell.file("a.parquet", &damaged);
    shell.file("b.jsonl", crate::shell::line("other", CAT));
    let ran = shell.run(&["fingerprint", "a.parquet", "b.jsonl", "--id-field", "id", "--line-ids"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let ran = shell.run(&["fingerprint", "a.parquet", "b.jsonl", "--line-ids", "--skip-bad", "--text-field", "text"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 41), "{}", ran.err);
    for command in [
        &["fingerprint", "a.parquet", "--id-field", "url", "--skip-bad"][..],
        &["dedup", "a.parquet", "--id-field", "url", "--skip-bad"],
        &["idf", "a.parquet", "--id-field", "url", "--skip-bad", "--out", "table"],
    ] {
        let ran = shell.run(command);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let lines: Vec<&str> = ran.err.lines().collect();
        assert!(
            lines[0].starts_with("nearstone: a.parquet, row 1: from here to row 40 nothing can be read ("),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("bad records 40") || ran.err.contains("bad records       40 "), "{}", ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
}
