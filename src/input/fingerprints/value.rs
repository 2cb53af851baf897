//! Fingerprints and ids as texts write them.

use crate::{Fingerprint, MAX_ID_BYTES};

/// How texts write fingerprints. It is stated and never guessed, since `1000000000000000` is both sixteen
/// hexadecimal digits and a decimal number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FingerprintEncoding {
    /// 1 to 16 hexadecimal digits of either case, with or without `0x`.
    #[default]
    Hex,
    /// A decimal number from 0 to 2^64-1.
    Decimal,
    /// A decimal number from -2^63 to 2^63-1 in two's complement, as databases write it that have no
    /// unsigned numbers.
    SignedDecimal,
}

/// Why a value cannot be used, and the remedy.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) remedy: &'static str,
}

impl Refusal {
    pub(super) fn new(reason: impl Into<String>, remedy: &'static str) -> Self {
        Self { reason: reason.into(), remedy }
    }
}

impl FingerprintEncoding {
    /// Reads a fingerprint; white space around it is passed over.
    pub(super) fn parse(self, text: &[u8]) -> Result<Fingerprint, Refusal> {
        let text = text.trim_ascii();
        let (bits, expected, remedy) = match self {
            Self::Hex => (hex(text), "1 to 16 hexadecimal digits", "mend it, or name what it is with --encoding"),
            Self::Decimal => (
                decimal(text),
                "a decimal number from 0 to 18446744073709551615",
                "mend it, or name what it is with --encoding: signed-decimal if numbers are negative",
            ),
            Self::SignedDecimal => (
                signed(text),
                "a decimal number from -9223372036854775808 to 9223372036854775807",
                "mend it, or name what it is with --encoding: decimal if numbers are larger",
            ),
        };
        bits.map(Fingerprint::new)
            .ok_or_else(|| Refusal::new(format!("the fingerprint {} is not {expected}", shown(text)), remedy))
    }
}

/// Reads a number of JSON.
pub(super) fn number(json: &str) -> Result<Fingerprint, Refusal> {
    let bits = if json.starts_with('-') { signed(json.as_bytes()) } else { decimal(json.as_bytes()) };
    bits.map(Fingerprint::new).ok_or_else(|| {
        let found = shown(json.as_bytes());
        if json.contains(['.', 'e', 'E']) {
            Refusal::new(
                format!("the fingerprint {found} is not written as a whole number"),
                "write it as a string or as all its digits, since floating-point numbers lose bits",
            )
        } else {
            let range = "-9223372036854775808 to 18446744073709551615";
            Refusal::new(format!("the fingerprint {found} is not from {range}"), "mend it: it has more than 64 bits")
        }
    })
}

/// Checks the length of an id.
pub(super) fn check_id(id: &[u8]) -> Result<(), Refusal> {
    if id.is_empty() || id.len() > MAX_ID_BYTES {
        let reason = format!("the id has {} bytes instead of 1 to {MAX_ID_BYTES}", id.len());
        return Err(Refusal::new(reason, "mend it, or name another field with --id-field"));
    }
    Ok(())
}

/// The beginning of a text, in quotation marks.
pub(in crate::input) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    // Four bytes a character at most: the rest is not looked at, however long it is.
    let start = String::from_utf8_lossy(&text[..text.len().min(4 * LONGEST)]);
    format!("{:?}", start.chars().take(LONGEST).collect::<String>())
}

/// The values of the hexadecimal digits; 0xff for what is none.
const DIGITS: [u8; 256] = {
    let mut digits = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        digits[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};

fn hex(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    // One look at the end instead of one at every digit: this loop is most of what reading costs.
    let (bits, all) = match digits.len() {
        1..=16 => digits.iter().fold((0, 0), |(bits, all), &byte| {
            let digit = DIGITS[usize::from(byte)];
            (bits << 4 | u64::from(digit), all | digit)
        }),
        _ => return None,
    };
    (all < 16).then_some(bits)
}

/// Leading zeros do no harm; a sign does.
fn decimal(text: &[u8]) -> Option<u64> {
    let mut bits = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        bits = bits.checked_mul(10).filter(|_| digit < 10)?.checked_add(u64::from(digit))?;
    }
    (!text.is_empty()).then_some(bits)
}

fn signed(text: &[u8]) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    match text.strip_prefix(b"-") {
        Some(digits) => decimal(digits).filter(|&magnitude| magnitude <= SIGN).map(u64::wrapping_neg),
        None => decimal(text).filter(|&bits| bits < SIGN),
    }
}

#[cfg(test)]
mod tests {
    use super::FingerprintEncoding::{Decimal, Hex, SignedDecimal};
    use super::*;

    const EDGES: [u64; 6] = [0, 1, u64::MAX >> 1, 1 << 63, u64::MAX - 1, u64::MAX];

    #[test]
    fn what_is_written_is_read() {
        for bits in EDGES {
            let wide = i128::from(bits);
            let signed = if bits >> 63 == 1 { wide - (1 << 64) } else { wide };
            let texts = [
                (Hex, format!("{bits:016x}")),
                (Hex, format!("{bits:X}")),
                (Hex, format!(" 0x{bits:x}\r")),
                (Hex, format!("0X{bits:016X}")),
                (Decimal, bits.to_string()),
                (Decimal, format!("\t000{bits} ")),
                (SignedDecimal, signed.to_string()),
            ];
            for (encoding, text) in texts {
                assert_eq!(encoding.parse(text.as_bytes()).unwrap().bits(), bits, "{text}");
            }
            assert_eq!(number(&bits.to_string()).unwrap().bits(), bits);
            assert_eq!(number(&signed.to_string()).unwrap().bits(), bits);
        }
    }

    #[test]
    fn what_is_no_fingerprint_is_refused() {
        let rows: [(FingerprintEncoding, &[&str]); 3] = [
            (Hex, &["", "0x", "-1", "+1", "g", "00000000000000000", "0x00000000000000001", "1 2", "0x0x1", "é", "x1"]),
            (
                Decimal,
                &["", "-1", "-0", "+1", "18446744073709551616", "99999999999999999999", "ff", "1.0", "1e3", "1 2"],
            ),
            (SignedDecimal, &["", "-", "--1", "-9223372036854775809", "9223372036854775808", "+1", "0x1"]),
        ];
        for (encoding, texts) in rows {
            for text in texts {
                let refusal = encoding.parse(text.as_bytes()).unwrap_err();
                assert!(refusal.reason.contains(&format!("{text:?} is not ")), "{text}: {}", refusal.reason);
            }
        }
        for (text, reason) in [
            ("1.0", "not written as a whole number"),
            ("1e3", "not written as a whole number"),
            ("-1E3", "not written as a whole number"),
            ("18446744073709551616", "is not from"),
            ("-9223372036854775809", "is not from"),
        ] {
            assert!(number(text).unwrap_err().reason.contains(reason), "{text}");
        }
    }

    #[test]
    fn messages_stay_short() {
        assert!(Hex.parse(&vec![b'f'; 1 << 20]).unwrap_err().reason.len() < 150);
        assert!(Hex.parse(&vec![0xff; 1 << 20]).unwrap_err().reason.len() < 250);
    }
}
