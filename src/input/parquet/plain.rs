//! What a page holds, counted before the crate reads it: it takes for granted that each value is there, and that numbers end.

use parquet::errors::Result;

use super::group::damaged;

/// Refuses plain strings that are fewer than `count`, or of which one does not end.
pub(super) fn check_strings(page: &[u8], count: u64) -> Result<()> {
    let mut rest = page;
    for _ in 0..count {
        let value = rest.split_first_chunk().and_then(|(length, rest)| {
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            rest.split_at_checked(length)
        });
        (_, rest) = value.ok_or_else(|| damaged("a page ends before its last value"))?;
    }
    Ok(())
}

/// Counts the values of a page that are not null, of `count` levels of one bit: runs of one level, and groups of eight
/// levels, each with its length in front.
pub(super) fn present(levels: &[u8], count: u32) -> Result<u64> {
    let mut bytes = levels.iter().copied();
    let mut next = || bytes.next().ok_or_else(|| damaged("a page has fewer levels than values"));
    let (mut left, mut present) = (u64::from(count), 0);
    while left > 0 {
        let head = run_head(&mut next)?;
        let length = head >> 1;
        if head & 1 == 0 {
            let run = length.min(left);
            present += run * u64::from(next()? & 1);
            left -= run;
        } else {
            for _ in 0..length {
                if left == 0 {
                    break;
                }
                let group = left.min(8);
                present += u64::from((next()? & (0xff_u8 >> (8 - group))).count_ones());
                left -= group;
            }
        }
    }
    Ok(present)
}

/// The head of a run: its length, and in the lowest bit whether it is packed.
fn run_head(mut next: impl FnMut() -> Result<u8>) -> Result<u64> {
    let mut head = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = next()?;
        head |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(head);
        }
    }
    Err(damaged("the length of a run does not end"))
}

/// Refuses numbers of values of a dictionary, `count` of them, whose runs have heads that do not end. The first byte is the
/// width of the numbers in bits.
pub(super) fn check_numbers(page: &[u8], count: u64) -> Result<()> {
    let Some((&width, mut rest)) = page.split_first() else { return Ok(()) };
    // The crate looks at the first run of a page without values, too.
    let (width, mut left) = (usize::from(width), count.max(1));
    while left > 0 && !rest.is_empty() {
        let mut bytes = rest.iter();
        let head = run_head(|| bytes.next().copied().ok_or_else(|| damaged("a page ends within the length of a run")))?;
        let behind = bytes.as_slice();
        let length = usize::try_from(head >> 1).unwrap_or(usize::MAX);
        let (values, taken) = if head & 1 == 0 {
            (length, width.div_ceil(8))
        } else {
            (length.saturating_mul(8), length.saturating_mul(width))
        };
        left = left.saturating_sub(values as u64);
        // Where values are missing the crate says so.
        rest = behind.get(taken..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: the crate reads a number of any length, and shifts it out of its 64 bits.
    #[test]
    fn lengths_of_runs_end() {
        let endless = [0xff; 12];
        // A run of 300 values of 12 bits, and two packed groups of eight.
        let numbers = [&[12, 0xd8, 4, 1, 2, 5][..], &[7; 24]].concat();
        for count in [0, 1, 300, 316] {
            check_numbers(&numbers, count).unwrap();
            let more = [&numbers[..], &endless].concat();
            check_numbers(&more, count).unwrap();
            assert!(check_numbers(&more, 317).unwrap_err().to_string().contains("does not end"));
            assert!(check_numbers(&[&[12][..], &endless].concat(), count).is_err());
        }
        assert!(check_numbers(&numbers[..2], 1).unwrap_err().to_string().contains("ends within"));
        check_numbers(&[], 5).unwrap();
        assert!(present(&endless, 1).unwrap_err().to_string().contains("does not end"));
    }

    #[test]
    fn strings_are_counted() {
        let page = b"\x01\0\0\0a\0\0\0\0\x02\0\0\0bc";
        for count in 0..=3 {
            assert!(check_strings(page, count).is_ok());
        }
        assert!(check_strings(page, 4).is_err());
        assert!((1..page.len()).all(|cut| check_strings(&page[..cut], 3).is_err()));
        assert!(check_strings(b"\xff\xff\xff\xff", 1).is_err());
    }

    #[test]
    fn levels_are_counted() {
        // A run of 300 ones, one of 5 zeros, and two groups.
        let levels = [0xd8, 0x04, 1, 10, 0, 5, 0b1010_1010, 0b1111_1111];
        for (count, expected) in
            [(0, 0), (7, 7), (300, 300), (305, 300), (307, 301), (313, 304), (315, 306), (321, 312)]
        {
            assert_eq!(present(&levels, count).unwrap(), expected, "{count}");
        }
        assert!(present(&levels, 322).is_err() && present(&[], 1).is_err() && present(&[0x80; 9], 1).is_err());
    }
}
