//! What is written for programs to read.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};

/// Opens a file for writing, or the standard output for `-`.
pub(crate) fn create(path: &Path) -> anyhow::Result<Box<dyn Write>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufWriter::new(io::stdout().lock())));
    }
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Box::new(BufWriter::with_capacity(256 << 10, file)))
}

/// Puts an id into an object: as text, or where it is not UTF-8 as hexadecimal digits under a name
/// that says so.
pub(crate) fn put_id(object: &mut Map<String, Value>, name: &str, id: &[u8]) {
    if let Ok(text) = std::str::from_utf8(id) {
        object.insert(name.to_owned(), text.into());
    } else {
        let hex = id.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        object.insert(format!("{name}_hex"), hex.into());
    }
}

/// Writes an object as a line.
pub(crate) fn line(out: &mut dyn Write, object: Map<String, Value>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Value::Object(object)).map_err(io::Error::from)?;
    out.write_all(b"\n")
}
