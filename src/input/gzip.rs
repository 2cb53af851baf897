//! The head of a gzip member (RFC 1952).

/// No path is as long.
const MAX_NAME_BYTES: usize = 4096;

/// A comment may be any text.
pub(super) const MAX_COMMENT_BYTES: usize = 64 << 10;

/// So long are comments at most where members are looked for behind damage: all that seem to begin there are read up to the
/// end of theirs, and damage may hold very many.
pub(super) const MAX_SOUGHT_COMMENT_BYTES: usize = 4096;

/// Returns the length of the head that the bytes begin with, or `None` where more of them are needed. The comment in it, with
/// the zero that ends it, may have so many bytes.
pub(super) fn head_bytes(bytes: &[u8], max_comment_bytes: usize) -> Result<Option<usize>, &'static str> {
    const IS_NONE: &str = "something that is no gzip member stands here";
    let magic = [0x1f, 0x8b, 8];
    let known = bytes.len().min(magic.len());
    if bytes[..known] != magic[..known] {
        return Err(IS_NONE);
    }
    let Some(&flags) = bytes.get(3) else { return Ok(None) };
    if flags & 0xe0 != 0 {
        return Err(IS_NONE);
    }
    let mut length = 10;
    if flags & 4 != 0 {
        let Some(extra) = bytes.get(length..length + 2) else { return Ok(None) };
        length += 2 + usize::from(u16::from_le_bytes([extra[0], extra[1]]));
    }
    // A name and a comment, which end with a zero.
    for (flag, most) in [(8, MAX_NAME_BYTES), (16, max_comment_bytes)] {
        if flags & flag != 0 {
            let rest = bytes.get(length..).unwrap_or_default();
            match memchr::memchr(0, &rest[..rest.len().min(most)]) {
                Some(end) => length += end + 1,
                None if rest.len() >= most => return Err(IS_NONE),
                None => return Ok(None),
            }
        }
    }
    length += if flags & 2 != 0 { 2 } else { 0 };
    Ok((length <= bytes.len()).then_some(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_bytes(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        super::head_bytes(bytes, MAX_COMMENT_BYTES)
    }

    #[test]
    fn heads_of_every_kind() {
        let base = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
        let with = |flags: u8, more: &[u8]| {
            let mut head = base.to_vec();
            head[3] = flags;
            head.extend_from_slice(more);
            head
        };
        let rows = [
            with(0, b""),
            with(1, b""),
            with(4, b"\x03\0abc"),
            with(8, b"name\0"),
            with(16, b"note\0"),
            with(2, b"cc"),
            with(31, b"\x01\0xname\0note\0cc"),
        ];
        for head in rows {
            for cut in 0..head.len() {
                assert_eq!(head_bytes(&head[..cut]), Ok(None), "{head:x?} {cut}");
            }
            let length = head.len();
            assert_eq!(head_bytes(&[&head[..], b"data"].concat()), Ok(Some(length)), "{head:x?}");
        }
        assert!(head_bytes(&with(8, &[b'x'; MAX_NAME_BYTES])).is_err());
        assert_eq!(head_bytes(&with(8, &[b'x'; MAX_NAME_BYTES - 1])), Ok(None));
        let comment = |length| with(16, &[&vec![b'x'; length - 1][..], b"\0"].concat());
        assert_eq!(head_bytes(&comment(MAX_COMMENT_BYTES)), Ok(Some(10 + MAX_COMMENT_BYTES)));
        assert!(head_bytes(&comment(MAX_COMMENT_BYTES + 1)).is_err());
        let sought = |length| super::head_bytes(&comment(length), MAX_SOUGHT_COMMENT_BYTES);
        assert_eq!(sought(MAX_SOUGHT_COMMENT_BYTES), Ok(Some(10 + MAX_SOUGHT_COMMENT_BYTES)));
        assert!(sought(MAX_SOUGHT_COMMENT_BYTES + 1).is_err());
        for other in [&b"WARC/1.0"[..], &[0x1f, 0x8b, 7], &with(0x20, b"")] {
            assert!(head_bytes(other).is_err(), "{other:x?}");
        }
    }
}
