//! Structures in Thrift's compact protocol, walked before the crate reads them.
//!
//! The crate takes the last of several values of a field, wherever it stands. So that it takes the size of a page that was
//! looked at, a head that gives a field twice is refused. And it passes over a list of truth values without looking at its
//! bytes, so that a few of them may tell of as many as two thousand million: Parquet has no such lists in its heads and its
//! footer, and they are refused. All other lists end where the bytes do.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use parquet::errors::Result;

use super::group::damaged;

/// Structures and lists within each other.
const DEEPEST: usize = 16;

/// The field with the length of the page uncompressed, the second one.
const UNCOMPRESSED_SIZE: i64 = 2;

/// What stands behind a footer: its length, and the magic of a file that is not encrypted.
const TAIL_BYTES: u64 = 8;

/// Walks through the footer of a file, if it has one. What else is wrong with the file is for the crate to say.
pub(super) fn check_footer(file: &File) -> Result<()> {
    let mut reader = BufReader::new(file);
    let Some(end) = reader.seek(SeekFrom::End(0))?.checked_sub(TAIL_BYTES) else { return Ok(()) };
    reader.seek(SeekFrom::Start(end))?;
    let mut length = [0; 4];
    let mut magic = [0; 4];
    reader.read_exact(&mut length)?;
    reader.read_exact(&mut magic)?;
    let length = u64::from(u32::from_le_bytes(length));
    let (Some(start), b"PAR1") = (end.checked_sub(length), &magic) else { return Ok(()) };
    reader.seek(SeekFrom::Start(start))?;
    Structure { bytes: reader.take(length) }.skip(STRUCT, 0)
}

/// Reads the head of a page, and returns how long the page is uncompressed by it; `None` where that is no size. What of the head stands
/// in a file is read, and no memory is taken for it.
pub(super) fn uncompressed_bytes(head: impl Read) -> Result<Option<usize>> {
    let mut head = Structure { bytes: head };
    let (mut last, mut size) = (0, None);
    while let Some((kind, field)) = head.field(last)? {
        if field <= last {
            return Err(damaged("the head of a page gives a field twice, or in a wrong order"));
        }
        last = field;
        if field == UNCOMPRESSED_SIZE && kind == I32 {
            let zigzag = head.number()?;
            size = (zigzag & 1 == 0).then(|| usize::try_from(zigzag >> 1).ok()).flatten();
        } else {
            head.skip(kind, 0)?;
        }
    }
    Ok(size)
}

// The types of the protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

struct Structure<R> {
    bytes: R,
}

impl<R: Read> Structure<R> {
    fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.bytes.read_exact(&mut byte).map_err(|_| damaged("a head does not end"))?;
        Ok(byte[0])
    }

    fn number(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damaged("a number in a head does not end"))
    }

    /// The type and the number of the next field; `None` at the end of the structure.
    fn field(&mut self, last: i64) -> Result<Option<(u8, i64)>> {
        let byte = self.byte()?;
        let (delta, kind) = (byte >> 4, byte & 0x0f);
        if kind == 0 {
            return Ok(None);
        }
        let field = if delta > 0 {
            last.saturating_add(delta.into())
        } else {
            let zigzag = self.number()?;
            (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed()
        };
        Ok(Some((kind, field)))
    }

    fn skip_bytes(&mut self, count: u64) -> Result<()> {
        let skipped = std::io::copy(&mut self.bytes.by_ref().take(count), &mut std::io::sink());
        if skipped.is_ok_and(|skipped| skipped == count) { Ok(()) } else { Err(damaged("a head does not end")) }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth == DEEPEST {
            return Err(damaged("a head is nested too deep"));
        }
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.skip_bytes(1),
            I16 | I32 | I64 => self.number().map(|_| ()),
            DOUBLE => self.skip_bytes(8),
            BINARY => {
                let length = self.number()?;
                self.skip_bytes(length)
            }
            LIST | SET => {
                let head = self.byte()?;
                let (few, kind) = (head >> 4, head & 0x0f);
                let count = if few == 15 { self.number()? } else { few.into() };
                if matches!(kind, TRUE | FALSE) && count > 0 {
                    return Err(damaged("a head has a list of truth values"));
                }
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            STRUCT => {
                while let Some((kind, _)) = self.field(0)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(damaged("a head has a field of an unknown type")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(head: &[u8]) -> std::result::Result<Option<usize>, String> {
        uncompressed_bytes(head).map_err(|e| e.to_string())
    }

    #[test]
    fn the_size_is_found_behind_and_before_anything() {
        // Type 0, 300 bytes, 7 in the file, and a structure with a number and a list of two.
        let head = [0x15, 0, 0x15, 0xd8, 4, 0x15, 14, 0x2c, 0x15, 2, 0x19, 0x25, 2, 4, 0, 0];
        assert_eq!(size(&head), Ok(Some(300)));
        for cut in 0..head.len() {
            assert!(size(&head[..cut]).unwrap_err().contains("does not end"), "{cut}");
        }
        let strings =
            [0x15, 0, 0x15, 2, 0x18, 3, b'a', b'b', b'c', 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x19, 0x33, 1, 2, 1, 0];
        assert_eq!(size(&strings), Ok(Some(1)));
        // The number of a field in full.
        assert_eq!(size(&[0x05, 4, 8, 0]), Ok(Some(4)));
        assert_eq!(
            (size(&[0x15, 0, 0]), size(&[0x15, 0, 0x15, 3, 0])),
            (Ok(None), Ok(None)),
            "none, and a negative one"
        );
        let endless = [0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert!(size(&endless).unwrap_err().contains("a number in a head"));
        assert!(size(&[0x1d, 0, 0]).unwrap_err().contains("unknown type"));
        assert!(size(&[0x1c; 100]).unwrap_err().contains("too deep"));
    }

    /// Of 2^31 - 1 truth values, in a list and in one within another.
    #[test]
    fn lists_that_take_no_bytes_are_refused() {
        let many = [0xf1, 0xff, 0xff, 0xff, 0xff, 7];
        let in_list = [&[0x15, 0, 0x15, 8, 0x19][..], &many, &[0]].concat();
        let in_lists = [&[0x15, 0, 0x15, 8, 0x19, 0x19][..], &many, &[0]].concat();
        for head in [in_list, in_lists] {
            assert!(size(&head).unwrap_err().contains("a list of truth values"), "{head:?}");
        }
        assert_eq!(size(&[0x15, 0, 0x15, 8, 0x19, 0x01, 0]), Ok(Some(4)), "an empty one");
    }

    #[test]
    fn a_size_that_is_given_twice_is_refused() {
        let once = [0x15, 0, 0x15, 8, 0x15, 14];
        assert_eq!(size(&[&once[..], &[0]].concat()), Ok(Some(4)));
        // The number 2 in full, behind the size and behind the number 3.
        for again in [&[0x05, 4, 200, 1][..], &[0x15, 2, 0x05, 4, 200, 1]] {
            assert!(size(&[&once[..], again, &[0]].concat()).unwrap_err().contains("gives a field twice"), "{again:?}");
        }
        assert!(size(&[0x05, 2, 0, 0x05, 2, 0, 0]).unwrap_err().contains("gives a field twice"));
    }
}
