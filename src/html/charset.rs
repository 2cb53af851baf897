//! Which charset the bytes of a page are in.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// A declaration stands in the first 1024 bytes by the standard, and not much later in practice.
const DECLARED_BYTES: usize = 4096;

/// So much is looked at to guess.
const GUESSED_BYTES: usize = 256 << 10;

/// Decodes a page or another text from the web, by the first of these that there is: a byte order mark, the charset that
/// HTTP has named, a declaration in the page (`<meta charset>`, `<meta http-equiv>`, `<?xml encoding>`), and what
/// the bytes look like. Bytes that have no meaning in the charset become U+FFFD.
///
/// ```
/// use nearstone::html::decode;
///
/// assert_eq!(decode(b"<meta charset=shift_jis>\x93\xfa\x96\x7b", None), "<meta charset=shift_jis>日本");
/// assert_eq!(decode("naïve".as_bytes(), None), "naïve");
/// assert_eq!(decode(b"na\xefve", Some("ISO-8859-1")), "naïve");
/// ```
#[must_use]
pub fn decode<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[length..]).0;
    }
    let named = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = named.or_else(|| declared(bytes)).unwrap_or_else(|| guessed(bytes));
    encoding.decode_without_bom_handling(bytes).0
}

fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(DECLARED_BYTES)].to_ascii_lowercase();
    if head.trim_ascii_start().starts_with(b"<?xml") {
        let end = memchr::memmem::find(&head, b"?>").unwrap_or(head.len());
        if let Some(encoding) = label_behind(&head[..end], b"encoding") {
            return Some(encoding);
        }
    }
    memchr::memmem::find_iter(&head, b"<meta").find_map(|at| {
        let tag = &head[at..];
        let end = memchr::memchr(b'>', tag).unwrap_or(tag.len());
        label_behind(&tag[..end], b"charset")
    })
}

/// Finds `name = "label"`, quoted or not.
fn label_behind(tag: &[u8], name: &[u8]) -> Option<&'static Encoding> {
    memchr::memmem::find_iter(tag, name).find_map(|at| {
        let value = tag[at + name.len()..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
        let length = value.iter().take_while(|byte| !b"\"'; \t\r\n\x0c/>?".contains(byte)).count();
        let encoding = Encoding::for_label(&value[..length])?;
        // What could be read as ASCII is in no charset of two bytes.
        Some(match encoding {
            _ if encoding == UTF_16BE || encoding == UTF_16LE => UTF_8,
            _ if encoding == X_USER_DEFINED => WINDOWS_1252,
            _ => encoding,
        })
    })
}

fn guessed(bytes: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let first = &bytes[..bytes.len().min(GUESSED_BYTES)];
    detector.feed(first, first.len() == bytes.len());
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of the places where a charset is named.
    #[test]
    fn the_first_place_decides() {
        let rows: [(&[u8], Option<&str>, &str); 13] = [
            (b"\xef\xbb\xbf\xc3\xa9", Some("latin1"), "é"),
            (b"\xff\xfea\0", Some("utf-8"), "a"),
            (b"\xfe\xff\0a", None, "a"),
            (b"\xe9 <meta charset=utf-8>", Some("ISO-8859-1"), "é <meta charset=utf-8>"),
            (b"<meta charset=koi8-r>\xc4", Some("no charset"), "<meta charset=koi8-r>д"),
            (
                b"<META http-equiv=x content='text/html; Charset = koi8-r'>\xc4",
                None,
                "<META http-equiv=x content='text/html; Charset = koi8-r'>д",
            ),
            (
                b"<meta name=charset><meta charset=\"big5\">\xa4\xa4",
                None,
                "<meta name=charset><meta charset=\"big5\">中",
            ),
            (
                b"<?xml version='1.0' encoding='windows-1251'?>\xe4",
                None,
                "<?xml version='1.0' encoding='windows-1251'?>д",
            ),
            (b"<meta charset=utf-16>\xc3\xa9", None, "<meta charset=utf-16>é"),
            (b"<meta charset=nothing>\xc3\xa9", None, "<meta charset=nothing>é"),
            (b"<meta charset", None, "<meta charset"),
            ("日本語のテキスト".as_bytes(), None, "日本語のテキスト"),
            (b"", None, ""),
        ];
        for (bytes, charset, text) in rows {
            assert_eq!(decode(bytes, charset), text);
        }
    }

    #[test]
    fn charsets_that_nobody_names_are_guessed() {
        let rows = [
            ("windows-1251", "Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства"),
            ("shift_jis", "日本語の文章は、文字コードを推定するために十分な長さが必要です。"),
            ("gbk", "我能吞下玻璃而不伤身体，这是一个用来测试编码的句子。"),
            ("euc-kr", "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다"),
            ("windows-1252", "Le cœur déçu mais l'âme plutôt naïve, Louÿs rêva de crapaüter en canoë"),
        ];
        for (label, text) in rows {
            let bytes = Encoding::for_label(label.as_bytes()).unwrap().encode(text).0;
            assert_eq!(decode(&bytes, None), text, "{label}");
        }
    }
}
