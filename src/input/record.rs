//! A record as it was read, and what can be wrong with it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::jsonl::Fields;
use super::passed_over::PassedOver;
use super::web::{Capture, Found, WebId};
use super::{jsonl, web};
use crate::MAX_ID_BYTES;

/// An id and a text, which does not begin with a byte order mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextDocument {
    /// The id: a field of a JSON line or of a row, the path of a file, or the URL of a captured page.
    pub id: String,
    /// The text.
    pub text: String,
}

/// How documents are made of records.
#[derive(Clone, Debug)]
pub(super) struct Parsing {
    pub(super) fields: Fields,
    pub(super) web_id: WebId,
    #[cfg(feature = "html")]
    pub(super) html: crate::html::Html,
    /// Whether the texts of JSON lines, tables and Parquet files are HTML.
    #[cfg(feature = "html")]
    pub(super) fields_are_html: bool,
    pub(super) max_record_bytes: usize,
    pub(super) passed_over: Arc<PassedOver>,
}

impl Parsing {
    /// What a field with a text says. A byte order mark is no part of it, in JSON as little as at the beginning of a file.
    #[cfg_attr(not(feature = "html"), expect(clippy::unused_self, reason = "without HTML it is as it stands"))]
    fn field(&self, text: String) -> String {
        let text = without_mark(&text).map(str::to_owned).unwrap_or(text);
        #[cfg(feature = "html")]
        if self.fields_are_html {
            return self.html.text(&text);
        }
        text
    }
}

/// What stands behind a byte order mark, if a text begins with one.
fn without_mark(text: &str) -> Option<&str> {
    text.strip_prefix('\u{feff}')
}

/// A place in a web archive: where a member of the file begins, and what of it, uncompressed, stands before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offset {
    pub(super) member: u64,
    pub(super) inside: u64,
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.member)?;
        if self.inside > 0 { write!(f, "+{}", self.inside) } else { Ok(()) }
    }
}

/// Where in its file a record is.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The file is the record.
    File,
    Line(u64),
    /// A row of a table that begins on this line; its id, where it has one.
    Row(u64, Option<String>),
    /// The row of this number, counted from 1, of a file without lines; its id, where it has one.
    #[cfg(feature = "parquet")]
    Numbered(u64, Option<String>),
    Web(Box<Found>),
}

/// A record as it was read, with the place where it was found and all that is needed to make a document of it.
#[derive(Clone, Debug)]
pub struct RawRecord {
    /// The bytes of the record: a line with its end, a whole file, the text of a row, or what a web archive has
    /// captured, as it came.
    pub bytes: Vec<u8>,
    pub(super) file: Arc<PathBuf>,
    pub(super) origin: Origin,
    pub(super) parsing: Arc<Parsing>,
}

impl RawRecord {
    /// Returns the file that the record is from, `-` for the standard input.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the line, counted from 1, of a JSON line.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        if let Origin::Line(line) = self.origin { Some(line) } else { None }
    }

    /// Whether the record is all of a file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        matches!(self.origin, Origin::File)
    }

    /// Makes a document of the record; `None` where it has no text for people to read, which only the content tells,
    /// and which [`Inputs::passed_over`](super::Inputs::passed_over) then counts.
    ///
    /// It is the expensive half of reading, and may be done in any thread.
    ///
    /// # Errors
    /// [`BadRecord`] where the record is not UTF-8 or not a JSON object, has not got the fields, where its
    /// coding is damaged, it is too long once decoded, or where the id is empty or too long.
    pub fn parse(&self) -> Result<Option<TextDocument>, BadRecord> {
        let document = match &self.origin {
            Origin::Web(found) => match web::parse(self, found, &self.parsing)? {
                Some(document) => document,
                None => return Ok(None),
            },
            Origin::Line(line) => {
                let json = self.text()?;
                let json = without_mark(json).unwrap_or(json);
                let TextDocument { id, text } = jsonl::parse_line(&self.parsing.fields, self, *line, json)?;
                TextDocument { id, text: self.parsing.field(text) }
            }
            Origin::File => {
                let remedy = "rename the file, or leave it out";
                let id = self.file.to_str().ok_or_else(|| self.bad("the path is not UTF-8", remedy))?;
                let text = self.text()?;
                TextDocument { id: id.to_owned(), text: without_mark(text).unwrap_or(text).to_owned() }
            }
            Origin::Row(place, id) => self.row(*place, id.as_deref())?,
            #[cfg(feature = "parquet")]
            Origin::Numbered(place, id) => self.row(*place, id.as_deref())?,
        };
        if document.id.is_empty() || document.id.len() > MAX_ID_BYTES {
            let reason = format!("the id has {} bytes instead of 1 to {MAX_ID_BYTES}", document.id.len());
            return Err(self.bad(reason, self.other_ids()));
        }
        Ok(Some(document))
    }

    /// Decodes what a web archive has captured: without the HTTP head and codings. `None` where the record is from
    /// another kind of file.
    ///
    /// It is for those who make a text of it by themselves.
    ///
    /// # Errors
    /// [`BadRecord`] where a coding is damaged or not known, or the content too long once decoded.
    pub fn capture(&self) -> Result<Option<Capture>, BadRecord> {
        let Origin::Web(found) = &self.origin else { return Ok(None) };
        web::capture(self, found, &self.parsing).map(Some)
    }

    /// Says where else an id can be taken from.
    #[must_use]
    pub fn other_ids(&self) -> &'static str {
        match self.origin {
            Origin::Web(_) if self.parsing.web_id == WebId::Uri => "take the ids of the records with --id record",
            Origin::Web(_) => "take URLs with --id uri",
            _ => "name another field with --id-field, or take --line-ids",
        }
    }

    /// The document of a row.
    fn row(&self, place: u64, id: Option<&str>) -> Result<TextDocument, BadRecord> {
        let id = id.map_or_else(|| format!("{}:{place}", self.file.display()), str::to_owned);
        Ok(TextDocument { id, text: self.parsing.field(self.text()?.to_owned()) })
    }

    /// The bytes as a text.
    fn text(&self) -> Result<&str, BadRecord> {
        std::str::from_utf8(&self.bytes).map_err(|e| {
            let reason = format!("the record is not UTF-8 (byte {} of it)", e.valid_up_to() + 1);
            self.bad(reason, "convert it to UTF-8, or leave it out")
        })
    }

    /// Makes an error that names the place of the record.
    #[must_use]
    pub fn bad(&self, reason: impl Into<String>, remedy: impl Into<String>) -> BadRecord {
        match &self.origin {
            Origin::File => BadRecord::of_file(&self.file, None, reason, remedy),
            Origin::Line(line) | Origin::Row(line, _) => BadRecord::of_file(&self.file, Some(*line), reason, remedy),
            #[cfg(feature = "parquet")]
            Origin::Numbered(row, _) => BadRecord::at_row(&self.file, *row, reason, remedy),
            Origin::Web(found) => BadRecord::at(&self.file, found.offset(), reason, remedy),
        }
    }
}

/// A record, or the rest of a file, that cannot be used: the place, the reason and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    file: PathBuf,
    /// A line, a row or an offset.
    place: Option<String>,
    reason: String,
    pub(super) remedy: String,
    records: u64,
}

impl BadRecord {
    /// Returns how many records cannot be used: one, or where it is known the rows that are lost together.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Says how many records cannot be used, at least one.
    #[cfg(feature = "parquet")]
    pub(super) fn of_records(mut self, records: u64) -> Self {
        self.records = records.max(1);
        self
    }

    pub(super) fn of_file(
        file: &Path,
        line: Option<u64>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let place = line.map(|line| format!(":{line}"));
        Self { file: file.to_owned(), place, reason: reason.into(), remedy: remedy.into(), records: 1 }
    }

    pub(super) fn at(file: &Path, at: Offset, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        let place = Some(format!(", offset {at}"));
        Self { file: file.to_owned(), place, reason: reason.into(), remedy: remedy.into(), records: 1 }
    }

    #[cfg(feature = "parquet")]
    pub(super) fn at_row(file: &Path, row: u64, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        let place = Some(format!(", row {row}"));
        Self { file: file.to_owned(), place, reason: reason.into(), remedy: remedy.into(), records: 1 }
    }

    /// Of a file that cannot be opened, or a folder.
    pub(super) fn unreadable(file: &Path, error: &io::Error) -> Self {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => "check the path, or leave it out",
            io::ErrorKind::PermissionDenied => "give it read permission, or leave it out",
            io::ErrorKind::IsADirectory => "name the files in it",
            _ => "check the path and its permissions, or leave it out",
        };
        Self::of_file(file, None, format!("cannot be read ({error})"), remedy)
    }

    pub(super) fn without_records(file: &Path) -> Self {
        Self::of_file(file, None, "has no records", "leave it out, or check what wrote it")
    }
}

/// `FILE:LINE: reason: remedy`, `FILE, row ROW: reason: remedy`, or `FILE, offset OFFSET: reason: remedy`, in one line.
impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names and reasons may come from the data: no line break or escape of theirs reaches a terminal.
        let place = self.place.as_deref().unwrap_or_default();
        let text = format!("{}{place}: {}: {}", self.file.display(), self.reason, self.remedy);
        text.chars()
            .try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
    }
}

impl std::error::Error for BadRecord {}

/// A pattern that is none, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern {pattern:?} cannot be used: {reason}")]
pub struct BadPattern {
    pub(super) pattern: String,
    pub(super) reason: String,
}
