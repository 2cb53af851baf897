//! JSON lines as documents.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use serde_json::value::RawValue;

use super::record::{BadRecord, RawRecord, TextDocument};

/// Where a JSON line, or a row of a table, has its id and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The name of the field with the id, in JSON a string or a whole number. `None` takes `FILE:LINE`.
    pub id: Option<String>,
    /// The name of the field with the text, a string.
    pub text: String,
}

/// `id` and `text`.
impl Default for Fields {
    fn default() -> Self {
        Self { id: Some("id".to_owned()), text: "text".to_owned() }
    }
}

/// Takes the fields out of a JSON object.
pub(super) fn parse_line(fields: &Fields, record: &RawRecord, at: u64, line: &str) -> Result<TextDocument, BadRecord> {
    let mut json = serde_json::Deserializer::from_str(line);
    let found = Picker(fields).deserialize(&mut json).and_then(|found| json.end().map(|()| found)).map_err(|e| {
        // The position within the line is told by the column; its line is always 1.
        let reason = e.to_string().replace(" at line 1 column", " at column");
        record.bad(
            format!("not a JSON object with a usable id and text ({reason})"),
            "mend the line, leave it out, or read the file as a text with --format text",
        )
    })?;
    let missing = |field: &str, flag: &str| {
        record.bad(format!("there is no field {field:?}"), format!("name the field with {flag}"))
    };
    let id = match (&fields.id, found.id) {
        (None, _) => format!("{}:{at}", record.file().display()),
        (Some(_), Some(id)) => id,
        (Some(field), None) => return Err(missing(field, "--id-field, or take --line-ids")),
    };
    let text = found.text.ok_or_else(|| missing(&fields.text, "--text-field or --html-field"))?;
    Ok(TextDocument { id, text })
}

#[derive(Default)]
struct Found {
    id: Option<String>,
    text: Option<String>,
}

/// Takes the two fields out of an object and passes over the others, without keeping them.
struct Picker<'a>(&'a Fields);

impl Picker<'_> {
    fn is_wanted(&self, name: &str) -> bool {
        self.0.text == name || self.0.id.as_deref() == Some(name)
    }
}

/// The name that a key is, which in JSON may be half of a surrogate pair; that is no text.
pub(super) fn name_of(key: &RawValue) -> Option<Cow<'_, str>> {
    let quoted = key.get();
    let plain = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))?;
    if plain.contains('\\') { serde_json::from_str(quoted).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(plain)) }
}

impl<'de> DeserializeSeed<'de> for Picker<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Picker<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found::default();
        while let Some(key) = map.next_key::<&RawValue>()? {
            // A name that is no text in Unicode is that of another field.
            let Some(field) = name_of(key).filter(|name| self.is_wanted(name)) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // One field may serve as both.
            let (is_id, is_text) = (self.0.id.as_deref() == Some(&*field), self.0.text == *field);
            // Programs take the first or the last of them, and ours would have to be the same.
            if (is_id && found.id.is_some()) || (is_text && found.text.is_some()) {
                return Err(A::Error::custom(format!("the field {field:?} comes twice")));
            }
            let value = map.next_value::<&RawValue>()?.get();
            let text = if value.starts_with('"') {
                serde_json::from_str(value)
                    .map_err(|_| A::Error::custom(format!("the field {field:?} is no text in Unicode")))?
            } else if is_id && is_whole_number(value) {
                value.to_owned()
            } else {
                let kind = if is_id { "a string or a whole number" } else { "a string" };
                return Err(A::Error::custom(format!("the field {field:?} is {} instead of {kind}", name(value))));
            };
            if is_text {
                found.text = Some(text.clone());
            }
            if is_id {
                found.id = Some(text);
            }
        }
        Ok(found)
    }
}

pub(super) fn is_whole_number(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a JSON value is, by its first character.
pub(super) fn name(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a truth value",
        Some(b'"') => "a string",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::MAX_ID_BYTES;
    use crate::input::Inputs;
    use crate::input::record::Origin;

    fn parse(line: &[u8]) -> Result<TextDocument, String> {
        let parsing = Inputs::new([""; 0]).parsing;
        let file = Arc::new("f.jsonl".into());
        let record = RawRecord { bytes: line.to_vec(), file, origin: Origin::Line(7), parsing };
        record.parse().map(Option::unwrap).map_err(|e| e.to_string())
    }

    #[test]
    fn ids_are_strings_or_whole_numbers() {
        let rows: [(&str, &str); 9] = [
            (r#"{"id": 123456789012345678901234567890, "text": "t"}"#, "123456789012345678901234567890"),
            (r#"{"id": "a", "text": "t"}"#, "a"),
            (r#"{"id": 18446744073709551615, "text": "t"}"#, "18446744073709551615"),
            (r#"{"id": -1, "text": "t", "more": {"id": "x"}}"#, "-1"),
            ("\u{feff}{\"text\": \"t\", \"id\": \"after\"}\r\n", "after"),
            (r#"{"id": "a", "more": 1, "more": 2, "text": "t"}"#, "a"),
            (r#"{"\u0069d": "escaped", "text": "t"}"#, "escaped"),
            (r#"{"\ud800": 1, "id": "a", "\udc00\ud800": {"\ud800": 2}, "text": "t"}"#, "a"),
            (r#"{"more": "\ud800", "id": "a", "text": "t"}"#, "a"),
        ];
        for (line, id) in rows {
            let document = parse(line.as_bytes()).unwrap();
            assert_eq!((document.id.as_str(), document.text.as_str()), (id, "t"), "{line}");
        }
    }

    #[test]
    fn bad_lines_name_the_place_the_reason_and_the_remedy() {
        let long = format!(r#"{{"id": "{}", "text": "t"}}"#, "x".repeat(MAX_ID_BYTES + 1));
        let rows: [(&[u8], &str); 14] = [
            (b"not json", "not a JSON object"),
            (b"{\"id\": 1, \"text\": \"t\"", "not a JSON object"),
            (b"[1]", "not a JSON object"),
            (b"{} {}", "not a JSON object"),
            (b"{\"id\": 1}", "no field \"text\""),
            (b"{\"text\": \"t\"}", "no field \"id\""),
            (b"{\"id\": 1, \"text\": \"t\", \"id\": 1}", "the field \"id\" comes twice at column"),
            (b"{\"text\": \"t\", \"id\": 1, \"text\": \"u\"}", "the field \"text\" comes twice"),
            (b"{\"id\": 1.5, \"text\": \"t\"}", "\"id\" is a number instead of a string or a whole number"),
            (b"{\"id\": 1, \"text\": null}", "\"text\" is null instead of a string"),
            (b"{\"id\": 1, \"text\": \"\xff\"}", "not UTF-8"),
            (b"{\"id\": 1, \"text\": \"\\ud800\"}", "no text in Unicode"),
            (b"{\"id\": \"\", \"text\": \"t\"}", "0 bytes instead of 1 to 1024"),
            (long.as_bytes(), "1025 bytes instead of 1 to 1024"),
        ];
        for (line, reason) in rows {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with("f.jsonl:7: ") && error.contains(reason) && !error.contains('\n'), "{error}");
        }
    }
}
