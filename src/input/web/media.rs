//! Which media types hold texts.

/// What a content is, by its media type or by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Xml,
    /// A text as it is.
    Text,
    /// No text for people to read.
    Other,
    /// There is no type, or one that says nothing.
    Unknown,
}

/// Types under `text/` that are no texts but code, or that hold something else.
const CODE: [&str; 8] =
    ["css", "javascript", "x-javascript", "ecmascript", "jscript", "x-component", "vbscript", "dns"];

/// Returns a media type without its parameters, in lower case.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the charset that a media type names.
pub(super) fn charset(media_type: &str) -> Option<&str> {
    media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

impl Kind {
    pub(super) fn of_media_type(media_type: Option<&str>) -> Self {
        let name = essence(media_type.unwrap_or_default());
        if ["", "unknown/unknown", "application/unknown", "content/unknown", "*/*"].contains(&&name[..]) {
            return Self::Unknown;
        }
        match name.split_once('/') {
            Some(("text", "html") | ("application", "xhtml+xml" | "vnd.wap.xhtml+xml")) => Self::Html,
            // As careless servers, and the ARC files of their time, have it.
            None if name == "html" => Self::Html,
            Some(("text" | "application", "xml") | ("text", "vnd.wap.wml")) => Self::Xml,
            // News feeds and the like.
            Some(("text" | "application", name)) if name.ends_with("+xml") => Self::Xml,
            Some(("text", name)) if !CODE.contains(&name) => Self::Text,
            _ => Self::Other,
        }
    }

    /// Looks at the content where the type says nothing.
    pub(super) fn of_content(content: &[u8]) -> Self {
        let first = &content[..content.len().min(1024)];
        let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
        let begins = |with: &str| text.get(..with.len()).is_some_and(|b| b.eq_ignore_ascii_case(with.as_bytes()));
        if begins("<?xml") && memchr::memmem::find(text, b"<html").is_none() {
            return Self::Xml;
        }
        let tags = ["<!doctype html", "<html", "<head", "<body", "<title", "<?xml", "<!--", "<p", "<div", "<table"];
        if tags.into_iter().any(begins) {
            return Self::Html;
        }
        let is_binary = |&byte: &u8| byte < 0x20 && !b"\t\n\x0c\r\x1b".contains(&byte);
        if first.iter().any(is_binary) { Self::Other } else { Self::Text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_tell_texts() {
        let rows = [
            (Kind::Html, &["text/html", "TEXT/HTML; charset=x", "application/xhtml+xml", "html"][..]),
            (Kind::Xml, &["text/xml", "application/rss+xml", "application/atom+xml;q=1", "application/xml"]),
            (Kind::Text, &["text/plain", "text/markdown", "text/x-rst", "text/csv"]),
            (
                Kind::Other,
                &["text/css", "text/javascript", "application/json", "image/svg+xml", "image/png", "x", "text/dns"],
            ),
            (Kind::Unknown, &["", " ", "*/*", "; charset=utf-8"]),
        ];
        for (kind, names) in rows {
            for name in names {
                assert_eq!(Kind::of_media_type(Some(name)), kind, "{name}");
            }
        }
        assert_eq!(Kind::of_media_type(None), Kind::Unknown);
    }

    #[test]
    fn charsets_are_parameters() {
        for (value, found) in [
            ("text/html; charset=UTF-8", Some("UTF-8")),
            ("text/html;CharSet = \"latin1\" ; x=y", Some("latin1")),
            ("text/html; charset=", None),
            ("charset=utf-8", None),
        ] {
            assert_eq!(charset(value), found, "{value}");
        }
    }

    #[test]
    fn contents_tell_where_types_do_not() {
        assert_eq!(Kind::of_content(b"\n <!DOCTYPE HTML>"), Kind::Html);
        assert_eq!(Kind::of_content("\u{feff}<Html>".as_bytes()), Kind::Html);
        assert_eq!(Kind::of_content(b"caf\xe9 au lait\r\n"), Kind::Text);
        assert_eq!(Kind::of_content(b"GIF89a\x01\0"), Kind::Other);
        assert_eq!(Kind::of_content(b""), Kind::Text);
    }
}
