//! Fingerprints in JSON lines.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::lines::Lines;
use super::value::{Refusal, check_id, number};
use super::{FingerprintBatch, Reader, Wanted};
use crate::Fingerprint;
use crate::input::BadRecord;
use crate::input::jsonl::{is_whole_number, name, name_of};

/// The lines of a file.
#[derive(Debug)]
pub(super) struct JsonLines {
    pub(super) lines: Lines,
    pub(super) wanted: Wanted,
}

impl Reader for JsonLines {
    fn fill(&mut self, batch: &mut FingerprintBatch) -> Result<(), BadRecord> {
        while !batch.is_full() {
            let Some((line, text)) = self.lines.next()? else { break };
            add(batch, &self.wanted, text).map_err(|refusal| batch.bad(line, refusal))?;
        }
        Ok(())
    }
}

fn add(batch: &mut FingerprintBatch, wanted: &Wanted, line: &[u8]) -> Result<(), Refusal> {
    let text = str::from_utf8(line).map_err(|e| {
        let reason = format!("the record is not UTF-8 (byte {} of it)", e.valid_up_to() + 1);
        Refusal::new(reason, "convert it to UTF-8, or leave it out")
    })?;
    let mut json = serde_json::Deserializer::from_str(text);
    let found = Picker(wanted).deserialize(&mut json).and_then(|found| json.end().map(|()| found)).map_err(|e| {
        // The position within the line is told by the column; its line is always 1.
        let reason = e.to_string().replace(" at line 1 column", " at column");
        Refusal::new(format!("not a JSON object ({reason})"), "mend the line, or leave it out")
    })?;
    let missing = |field: &str, remedy| Refusal::new(format!("there is no field {field:?}"), remedy);
    let fingerprint = found
        .fingerprint
        .ok_or_else(|| missing(&wanted.fingerprint_field, "name the field with --fingerprint-field"))?;
    let fingerprint = fingerprint_of(fingerprint.get(), wanted)?;
    let Some(field) = &wanted.id_field else {
        batch.push(None, fingerprint);
        return Ok(());
    };
    let id = found.id.ok_or_else(|| missing(field, "name the field with --id-field"))?.get();
    let id = if id.starts_with('"') {
        string(id, field)?
    } else if is_whole_number(id) {
        Cow::Borrowed(id)
    } else {
        let reason = format!("the field {field:?} is {} instead of a string or a whole number", name(id));
        return Err(Refusal::new(reason, "mend it, or name another field with --id-field"));
    };
    check_id(id.as_bytes())?;
    batch.push(Some(id.as_bytes()), fingerprint);
    Ok(())
}

fn fingerprint_of(json: &str, wanted: &Wanted) -> Result<Fingerprint, Refusal> {
    let field = &wanted.fingerprint_field;
    match json.as_bytes().first() {
        Some(b'"') => wanted.encoding.parse(string(json, field)?.as_bytes()),
        Some(b'-' | b'0'..=b'9') => number(json),
        _ => {
            let reason = format!("the field {field:?} is {} instead of a string or a number", name(json));
            Err(Refusal::new(reason, "mend it, or name another field with --fingerprint-field"))
        }
    }
}

/// The text of a string, without a copy where nothing in it is escaped.
fn string<'a>(json: &'a str, field: &str) -> Result<Cow<'a, str>, Refusal> {
    match json.strip_prefix('"').and_then(|json| json.strip_suffix('"')) {
        Some(text) if !text.contains('\\') => Ok(Cow::Borrowed(text)),
        _ => serde_json::from_str(json).map(Cow::Owned).map_err(|_| {
            let reason = format!("the field {field:?} is no text in Unicode");
            Refusal::new(reason, "mend the line, or leave it out")
        }),
    }
}

/// The values of the fields as they are written.
#[derive(Default)]
struct Found<'a> {
    id: Option<&'a RawValue>,
    fingerprint: Option<&'a RawValue>,
}

/// Takes the fields out of an object and passes over the others.
struct Picker<'a>(&'a Wanted);

impl<'de> DeserializeSeed<'de> for Picker<'_> {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Picker<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        let mut found = Found::default();
        while let Some(key) = map.next_key::<&RawValue>()? {
            let name = name_of(key);
            let is_id = name.is_some() && self.0.id_field.as_deref() == name.as_deref();
            let is_fingerprint = name.as_deref() == Some(&*self.0.fingerprint_field);
            if !is_id && !is_fingerprint {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if (is_id && found.id.is_some()) || (is_fingerprint && found.fingerprint.is_some()) {
                let name =
                    if is_id { self.0.id_field.as_deref().unwrap_or_default() } else { &self.0.fingerprint_field };
                return Err(A::Error::custom(format!("the field {name:?} comes twice")));
            }
            // One field may serve as both.
            let value = map.next_value::<&RawValue>()?;
            if is_id {
                found.id = Some(value);
            }
            if is_fingerprint {
                found.fingerprint = Some(value);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_ID_BYTES;
    use crate::input::fingerprints::FingerprintEncoding;
    use crate::input::fingerprints::tests::{drain, wanted};
    use crate::input::stream::Stream;

    fn read(text: &[u8], wanted: Wanted) -> (Vec<(Option<String>, u64)>, Vec<String>) {
        let with_ids = wanted.id_field.is_some();
        let lines = Lines::new(Stream::of(std::io::Cursor::new(text.to_vec()), 5), 11, 1 << 20);
        drain(JsonLines { lines, wanted }, with_ids)
    }

    #[test]
    fn strings_and_numbers_are_fingerprints_and_ids() {
        let rows: [(&str, &str, u64); 11] = [
            (r#"{"id": "a", "fingerprint": "8000000000000000"}"#, "a", 1 << 63),
            (r#"{"fingerprint": 18446744073709551615, "x": [{"id": 3}], "id": 7}"#, "7", u64::MAX),
            (r#"{"id": -1, "fingerprint": -1}"#, "-1", u64::MAX),
            (r#"{"id": "a", "fingerprint": -9223372036854775808}"#, "a", 1 << 63),
            (r#"{"id": "a", "fingerprint": 9007199254740993}"#, "a", 9_007_199_254_740_993),
            (r#"{"id": "\u00e9\n", "fingerprint": "\u0030x1"}"#, "é\n", 1),
            (r#"{"\u0069d": "escaped", "fingerprint": 0}"#, "escaped", 0),
            (r#"{"id": "a", "x": 1, "x": 2, "fingerprint": 2}"#, "a", 2),
            (r#"{"id": 123456789012345678901234567890, "fingerprint": 1}"#, "123456789012345678901234567890", 1),
            (r#"{"\udfff": "\udfff", "id": "a", "fingerprint": 3}"#, "a", 3),
            (r#" { "id" : "a" , "fingerprint" : "F" } "#, "a", 15),
        ];
        for (line, id, bits) in rows {
            let (found, errors) = read(line.as_bytes(), wanted(Some("id")));
            assert_eq!((found, errors), (vec![(Some(id.to_owned()), bits)], vec![]), "{line}");
        }
    }

    #[test]
    fn a_string_is_read_as_the_encoding_says() {
        let line = br#"{"fingerprint": "-9223372036854775808"}"#;
        let with = |encoding| read(line, Wanted { encoding, ..wanted(None) });
        assert_eq!(with(FingerprintEncoding::SignedDecimal).0, [(None, 1 << 63)]);
        assert!(with(FingerprintEncoding::Decimal).1[0].contains("signed-decimal"));
        let both = Wanted {
            encoding: FingerprintEncoding::Decimal,
            id_field: Some("h".into()),
            fingerprint_field: "h".into(),
            ..wanted(None)
        };
        assert_eq!(read(br#"{"h": "10"}"#, both).0, [(Some("10".to_owned()), 10)]);
    }

    #[test]
    fn bad_lines_name_the_place_the_reason_and_the_remedy() {
        let long = format!(r#"{{"id": "{}", "fingerprint": 1}}"#, "x".repeat(MAX_ID_BYTES + 1));
        let rows: [(&[u8], &str); 22] = [
            (b"not json", "not a JSON object"),
            (b"[1]", "not a JSON object"),
            (b"{} {}", "not a JSON object"),
            (b"{\"id\": 1, \"fingerprint\": 1", "not a JSON object"),
            (b"{\"id\": 1}", "there is no field \"fingerprint\""),
            (b"{\"fingerprint\": 1}", "there is no field \"id\""),
            (b"{\"id\": 1, \"fingerprint\": 1, \"id\": 1}", "the field \"id\" comes twice"),
            (b"{\"fingerprint\": 1, \"id\": 1, \"fingerprint\": 1}", "the field \"fingerprint\" comes twice"),
            (b"{\"id\": 1, \"fingerprint\": 1.0}", "\"1.0\" is not written as a whole number"),
            (b"{\"id\": 1, \"fingerprint\": 1e3}", "\"1e3\" is not written as a whole number"),
            (b"{\"id\": 1, \"fingerprint\": 18446744073709551616}", "\"18446744073709551616\" is not from"),
            (b"{\"id\": 1, \"fingerprint\": -9223372036854775809}", "\"-9223372036854775809\" is not from"),
            (b"{\"id\": 1, \"fingerprint\": true}", "\"fingerprint\" is a truth value instead of"),
            (b"{\"id\": 1, \"fingerprint\": null}", "\"fingerprint\" is null instead of"),
            (b"{\"id\": 1, \"fingerprint\": [1]}", "\"fingerprint\" is a list instead of"),
            (b"{\"id\": 1, \"fingerprint\": \"xyz\"}", "\"xyz\" is not 1 to 16 hexadecimal digits"),
            (b"{\"id\": 1.5, \"fingerprint\": 1}", "\"id\" is a number instead of a string or a whole number"),
            (b"{\"id\": null, \"fingerprint\": 1}", "\"id\" is null instead of"),
            (b"{\"id\": \"\\ud800\", \"fingerprint\": 1}", "no text in Unicode"),
            (b"{\"id\": 1, \"fingerprint\": \"\xff\"}", "not UTF-8"),
            (b"{\"id\": \"\", \"fingerprint\": 1}", "0 bytes instead of 1 to 1024"),
            (long.as_bytes(), "1025 bytes instead of 1 to 1024"),
        ];
        for (bad, reason) in rows {
            let good = b"{\"id\": \"g\", \"fingerprint\": 1}";
            let (found, errors) = read(&[&good[..], b"\r\n", bad, b"\n\n", good].concat(), wanted(Some("id")));
            let [error] = &errors[..] else { panic!("{errors:?}") };
            assert_eq!(found.len(), 2, "{error}");
            assert!(error.starts_with("f:2: ") && error.contains(reason) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn an_id_of_the_longest_length_is_taken() {
        let id = "x".repeat(MAX_ID_BYTES);
        let line = format!(r#"{{"id": "{id}", "fingerprint": 1}}"#);
        assert_eq!(read(line.as_bytes(), wanted(Some("id"))).0, [(Some(id), 1)]);
    }
}
