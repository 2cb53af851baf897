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
