//! The records of a web archive, one after the other, whatever is damaged between them.
//!
//! A record says how long it is, and it may be wrong. So what follows it is looked at: line ends, and then another
//! record or the end. Where something else follows, a record that begins inside the content shows that the length is
//! too large: the content ends there. Else what follows belongs to no record, is passed over up to where one begins, and
//! reported.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use super::fields::end_of_head;
use super::head::{Dialect, Found, Head, HeadError};
use super::members::{Compression, Damage, Members};
use super::{arc, capture, warc};
use crate::input::opened::Opened;
use crate::input::raw::Raw;
use crate::input::record::{BadRecord, Offset, Origin, Parsing, RawRecord};

/// The longest head.
const MAX_HEAD_BYTES: usize = 1 << 20;

/// So much is looked through at once for the beginning of a record.
const SEARCH_BYTES: usize = 2 * arc::LONGEST_LINE;

const FETCH: &str = "fetch or write the file again, or go on with --skip-bad";

/// How the content of a record ended.
enum End {
    /// With as many bytes as the head says.
    Whole,
    /// It goes on beyond what may be kept.
    TooLong,
    /// The file ended, or another member with a record came.
    Short,
    /// Another record began.
    Cut,
}

/// An archive being read.
#[derive(Debug)]
pub(in crate::input) struct Archive {
    members: Members,
    dialect: Dialect,
    path: Arc<PathBuf>,
    parsing: Arc<Parsing>,
    pending: VecDeque<Result<RawRecord, BadRecord>>,
    has_records: bool,
    done: bool,
    /// How many bytes were read again because a length was too large. It bounds the work on files in which all are: once
    /// it is spent, contents are searched while they are read.
    reread: u64,
}

impl Archive {
    pub(in crate::input) fn new(opened: Opened, dialect: Dialect, parsing: &Arc<Parsing>) -> Self {
        let Opened { path, first, rest } = opened;
        // The name counts where the first bytes are damaged.
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
        let assumed = match &extension[..] {
            _ if dialect.begins(&first) != Some(false) => Compression::None,
            "gz" => Compression::Gzip,
            "zst" | "zstd" => Compression::Zstd,
            "lz4" => Compression::Lz4,
            _ => Compression::None,
        };
        Self {
            path: Arc::new(path),
            members: Members::new(Raw::new(first, rest), assumed),
            dialect,
            parsing: Arc::clone(parsing),
            pending: VecDeque::new(),
            has_records: false,
            done: false,
            reread: 0,
        }
    }

    pub(in crate::input) fn next(&mut self) -> Option<Result<RawRecord, BadRecord>> {
        loop {
            if let Some(next) = self.pending.pop_front() {
                return Some(next);
            }
            if self.done {
                return None;
            }
            if let Err(damage) = self.step() {
                self.resync(self.members.offset(), &damage);
            }
        }
    }

    /// Reads the next record, or passes over what is none.
    fn step(&mut self) -> Result<(), Damage> {
        while self.skip_line_ends()? {
            if !self.members.next_member()? {
                self.done = true;
                if !self.has_records {
                    self.pending.push_back(Err(BadRecord::without_records(&self.path)));
                }
                return Ok(());
            }
        }
        self.has_records = true;
        let at = self.members.offset();
        let read = if self.begins()? { self.record(at) } else { self.pass_over(Some(at)) };
        // Of the record, not of the line ends before it; what else was wrong with it comes of the damage.
        read.or_else(|damage| {
            self.pending.clear();
            self.resync(at, &damage);
            Ok(())
        })
    }

    /// Passes over line ends; whether the member ends behind them.
    fn skip_line_ends(&mut self) -> Result<bool, Damage> {
        loop {
            let bytes = self.members.ahead(1)?;
            let count = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if count < bytes.len() || bytes.is_empty() {
                let is_end = bytes.is_empty();
                self.members.consume(count);
                return Ok(is_end);
            }
            self.members.consume(count);
        }
    }

    /// Whether a record begins here.
    fn begins(&mut self) -> Result<bool, Damage> {
        let mut wanted = 1024;
        loop {
            let bytes = self.members.ahead(wanted)?;
            if let Some(begins) = self.dialect.begins(bytes) {
                return Ok(begins);
            }
            if bytes.len() < wanted && !self.join()? {
                return Ok(false);
            }
            wanted *= 2;
        }
    }

    /// Goes on with the next member within a record; `false` if there is none, or one that begins a record.
    fn join(&mut self) -> Result<bool, Damage> {
        let left = self.members.ahead(0)?.len();
        self.members.check()?;
        // What is wrong with the next member is told when it is its turn.
        if !self.members.join().unwrap_or(false) {
            return Ok(false);
        }
        let mut wanted = 1024;
        loop {
            let bytes = self.members.ahead(left + wanted)?;
            match self.dialect.begins(&bytes[left..]) {
                Some(begins) => return Ok(!begins),
                None if bytes.len() < left + wanted => return Ok(true),
                None => wanted *= 2,
            }
        }
    }

    /// Reads a record that begins here.
    fn record(&mut self, at: Offset) -> Result<(), Damage> {
        let head = match self.head()? {
            Ok(head) => head,
            Err((reason, remedy)) => {
                self.bad(at, reason, remedy);
                return self.pass_over(None);
            }
        };
        let mut content = Vec::new();
        let end = self.content(&head, &mut content)?;
        let said = head.length;
        let wrong =
            |place: usize| format!("its length is given as {said}, but a record begins {place} bytes behind its head");
        let remedy = "mend what writes the file; the records were read as they are";
        match end {
            End::Cut => self.bad(at, wrong(content.len()), remedy),
            End::Whole if self.is_followed()? => {}
            End::Whole | End::Short | End::TooLong => {
                if let Some(place) = self.find_inside(&mut content) {
                    self.members.unread(&content[place..]);
                    self.reread += (content.len() - place) as u64;
                    content.truncate(place);
                    self.bad(at, wrong(place), remedy);
                } else if matches!(end, End::Short) {
                    let reason = format!("the record ends too early: {} of {said} bytes are there", content.len());
                    self.bad(at, reason, FETCH);
                    return Ok(());
                } else if matches!(end, End::TooLong) {
                    return self.too_long(at, &head, content);
                }
                // Otherwise what follows is no record, and it will be told as such.
            }
        }
        if head.counts_line_ends && content.ends_with(b"\r\n\r\n") {
            content.truncate(content.len() - 4);
        }
        if let Some(reason) = capture::reason_against(&head, self.dialect, &content) {
            self.parsing.passed_over.count(reason);
            return Ok(());
        }
        let found = Found {
            kind: head.kind,
            uri: head.uri,
            id: head.id,
            media_type: head.media_type,
            dialect: self.dialect,
            offset: at,
        };
        self.pending.push_front(Ok(RawRecord {
            bytes: content,
            file: Arc::clone(&self.path),
            origin: Origin::Web(Box::new(found)),
            parsing: Arc::clone(&self.parsing),
        }));
        Ok(())
    }

    /// Reads the head of a record, or says what is wrong with it, and the remedy.
    fn head(&mut self) -> Result<Result<Head, (String, &'static str)>, Damage> {
        let limit = MAX_HEAD_BYTES.min(self.parsing.max_record_bytes);
        let dialect = self.dialect;
        let mut wanted = 4096;
        let length = loop {
            let bytes = self.members.ahead(wanted)?;
            let end = match dialect {
                // A head without an empty line ends where another one begins.
                Dialect::Warc => match warc::find(bytes) {
                    Some(next) => end_of_head(&bytes[..next]).or(Some(next)),
                    None => end_of_head(bytes),
                },
                Dialect::Arc => memchr::memchr(b'\n', bytes).map(|end| end + 1),
            };
            if let Some(end) = end.filter(|&end| end <= limit) {
                break end;
            }
            let available = bytes.len();
            if available > limit {
                self.members.consume(1);
                let reason = format!("the head of the record is longer than {limit} bytes");
                return Ok(Err((reason, "mend what writes the file")));
            }
            if available < wanted && !self.join()? {
                break available;
            }
            wanted = (wanted * 2).min(limit + 1);
        };
        let bytes = &self.members.ahead(length)?[..length];
        let head = match dialect {
            Dialect::Warc => warc::parse(bytes),
            Dialect::Arc => arc::parse(bytes),
        };
        self.members.consume(length);
        Ok(head.map_err(|e| match e {
            HeadError::NoLength => ("the record does not say its length".to_owned(), "mend what writes the file"),
            HeadError::BadLength(length) => {
                (format!("the length {length:?} is no number"), "mend what writes the file")
            }
            HeadError::ShorterThanHead(length) => (
                format!("the length is given as {length}, which is less than that of its head"),
                "mend what writes the file",
            ),
        }))
    }

    /// Reads what the head announces, as much as may be kept.
    fn content(&mut self, head: &Head, content: &mut Vec<u8>) -> Result<End, Damage> {
        let most = self.parsing.max_record_bytes;
        let is_searching = self.reread > most as u64 + self.members.offset().inside;
        let mut searched = 0;
        while (content.len() as u64) < head.length {
            if content.len() >= most {
                return Ok(End::TooLong);
            }
            let bytes = self.members.ahead(1)?;
            if bytes.is_empty() {
                if self.join()? {
                    continue;
                }
                return Ok(End::Short);
            }
            let left = usize::try_from(head.length).unwrap_or(usize::MAX).min(most) - content.len();
            let count = bytes.len().min(left).min(if is_searching { SEARCH_BYTES } else { left });
            content.extend_from_slice(&bytes[..count]);
            self.members.consume(count);
            if is_searching {
                // The second line of a record may not be there yet.
                if let Some(place) = self.dialect.find(&content[searched..]).map(|place| place + searched) {
                    self.members.unread(&content[place..]);
                    content.truncate(place);
                    return Ok(End::Cut);
                }
                searched = content.len().saturating_sub(arc::LONGEST_LINE).max(searched);
            }
        }
        Ok(End::Whole)
    }

    /// Finds a record that begins inside a content, even if only with its first byte.
    fn find_inside(&mut self, content: &mut Vec<u8>) -> Option<usize> {
        let length = content.len();
        let behind = self.members.ahead(arc::LONGEST_LINE).unwrap_or_default();
        content.extend_from_slice(&behind[..behind.len().min(arc::LONGEST_LINE)]);
        let found = self.dialect.find(content).filter(|&place| place < length);
        content.truncate(length);
        found
    }

    /// Whether line ends, at most, and then a record or the end follow a content.
    fn is_followed(&mut self) -> Result<bool, Damage> {
        const MOST: usize = 4096;
        let mut line_ends = Vec::new();
        loop {
            let bytes = self.members.ahead(1)?;
            if bytes.is_empty() {
                return Ok(true);
            }
            let count = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let is_all = count == bytes.len();
            line_ends.extend_from_slice(&bytes[..count.min(MOST)]);
            self.members.consume(count);
            if is_all && line_ends.len() < MOST {
                continue;
            }
            let begins = self.begins()?;
            if !begins {
                self.members.unread(&line_ends);
            }
            return Ok(begins);
        }
    }

    /// Deals with a record of which not all could be kept.
    fn too_long(&mut self, at: Offset, head: &Head, content: Vec<u8>) -> Result<(), Damage> {
        let reason_against = capture::reason_against(head, self.dialect, &content);
        let (mut left, most) = (head.length - content.len() as u64, self.parsing.max_record_bytes);
        drop(content);
        if let Some(reason) = reason_against {
            self.parsing.passed_over.count(reason);
        } else {
            self.bad(at, format!("the record is longer than {most} bytes"), "raise --max-record-bytes");
        }
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(self.members.ahead(1)?.len());
            if count == 0 && !self.join()? {
                self.bad(at, format!("the record ends too early: {left} of {} bytes are missing", head.length), FETCH);
                break;
            }
            self.members.consume(count);
            left -= count as u64;
        }
        Ok(())
    }

    /// Goes to where a record begins, and reports what stands before it, from the given place on.
    fn pass_over(&mut self, from: Option<Offset>) -> Result<(), Damage> {
        let mut count = 0u64;
        let ended = self.search(&mut count);
        if let Some(from) = from {
            let remedy = "the record before it may be longer than it says; go on with --skip-bad";
            self.bad(from, format!("{count} bytes belong to no record"), remedy);
        }
        ended
    }

    fn search(&mut self, passed: &mut u64) -> Result<(), Damage> {
        if self.begins()? {
            return Ok(());
        }
        loop {
            let bytes = self.members.ahead(SEARCH_BYTES)?;
            let (found, is_last) = (self.dialect.find(bytes), bytes.len() < SEARCH_BYTES);
            // What may be the beginning of a record stays.
            let end = if is_last { bytes.len() } else { bytes.len() - arc::LONGEST_LINE };
            let gone = found.unwrap_or_else(|| {
                if is_last { end } else { memchr::memrchr(b'\n', &bytes[..end]).filter(|&at| at > 0).unwrap_or(end) }
            });
            self.members.consume(gone);
            *passed += gone as u64;
            if found.is_some() {
                return Ok(());
            }
            // The end of the file is found by the next step.
            if is_last && (!self.members.next_member()? || self.begins()?) {
                return Ok(());
            }
        }
    }

    /// Reports damage, and goes to the next member that can be read.
    fn resync(&mut self, at: Offset, damage: &Damage) {
        self.has_records = true;
        let dialect = self.dialect;
        let is_wanted = |bytes: &[u8]| !bytes.is_empty() && dialect.begins(bytes) != Some(false);
        let reason = if self.members.resync(is_wanted) {
            format!("{}; the next record that can be read is at {}", damage.reason, self.members.offset())
        } else {
            self.done = true;
            format!("{}; nothing behind it can be read", damage.reason)
        };
        self.bad(at, reason, FETCH);
    }

    fn bad(&mut self, at: Offset, reason: impl Into<String>, remedy: &str) {
        self.pending.push_back(Err(BadRecord::at(&self.path, at, reason, remedy)));
    }
}
