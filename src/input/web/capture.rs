//! What a record has captured, and the document that it is.

use super::WebId;
use super::coding::Failure;
use super::head::{Dialect, Found, Head};
use super::http::Response;
use super::media::{self, Kind};
use super::warc::Type;
use crate::input::passed_over::Reason;
use crate::input::record::{BadRecord, Offset, Parsing, RawRecord, TextDocument};

/// What a web archive has captured, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Where it was captured from; `None` where the record does not say.
    pub uri: Option<String>,
    /// The `WARC-Record-ID`, without brackets; `None` in ARC files.
    pub record_id: Option<String>,
    /// The media type as the server, or the archive, has named it, with its parameters.
    pub media_type: Option<String>,
    /// The content, without the codings that HTTP has put it into.
    pub content: Vec<u8>,
}

impl Found {
    pub(in crate::input) fn offset(&self) -> Offset {
        self.offset
    }
}

/// Says why a record is no document, as far as its head and the head of its content tell. The content may be cut.
pub(super) fn reason_against(head: &Head, dialect: Dialect, content: &[u8]) -> Option<Reason> {
    match head.kind {
        Type::Request => return Some(Reason::Request),
        Type::Metadata => return Some(Reason::Metadata),
        Type::Revisit => return Some(Reason::Revisit),
        Type::Warcinfo => return Some(Reason::Description),
        Type::Continuation => return Some(Reason::Continuation),
        Type::Other => return Some(Reason::OtherType),
        Type::Response | Type::Resource | Type::Conversion => {}
    }
    if head.uri.as_deref().is_some_and(|uri| uri.starts_with("dns:")) {
        return Some(Reason::Dns);
    }
    if is_http(head.kind, head.media_type.as_deref(), dialect, content) {
        let Some(response) = Response::parse(content) else { return Some(Reason::NotHttp) };
        if !response.is_success() {
            return Some(Reason::Status);
        }
        let kind = Kind::of_media_type(response.media_type());
        return (kind == Kind::Other).then_some(Reason::MediaType);
    }
    (Kind::of_media_type(head.media_type.as_deref()) == Kind::Other).then_some(Reason::MediaType)
}

/// Whether a content begins with the head of a response.
fn is_http(kind: Type, media_type: Option<&str>, dialect: Dialect, content: &[u8]) -> bool {
    match (dialect, kind, media_type) {
        (_, Type::Conversion, _) => false,
        // The type is that of the response. What came without a head is taken as it is.
        (Dialect::Arc, ..) | (Dialect::Warc, Type::Response, None) => Response::parse(content).is_some(),
        (Dialect::Warc, _, media_type) => media_type.is_some_and(|name| {
            ["application/http", "message/http", "message/https"].contains(&media::essence(name).as_str())
        }),
    }
}

/// Takes HTTP off.
pub(in crate::input) fn capture(raw: &RawRecord, found: &Found, parsing: &Parsing) -> Result<Capture, BadRecord> {
    let (uri, record_id) = (found.uri.clone(), found.id.clone());
    let response = is_http(found.kind, found.media_type.as_deref(), found.dialect, &raw.bytes)
        .then(|| Response::parse(&raw.bytes))
        .flatten();
    let Some(response) = response else {
        return Ok(Capture { uri, record_id, media_type: found.media_type.clone(), content: raw.bytes.clone() });
    };
    let content = response.content(parsing.max_record_bytes).map_err(|failure| match failure {
        Failure::TooLong => {
            let reason = format!("the record is longer than {} bytes once decoded", parsing.max_record_bytes);
            raw.bad(reason, "raise --max-record-bytes")
        }
        Failure::Other(reason) => raw.bad(reason, "go on with --skip-bad"),
    })?;
    Ok(Capture { uri, record_id, media_type: response.media_type().map(str::to_owned), content })
}

/// Makes a document; `None` where only the content tells that it is no text, which is then counted.
pub(in crate::input) fn parse(
    raw: &RawRecord,
    found: &Found,
    parsing: &Parsing,
) -> Result<Option<TextDocument>, BadRecord> {
    let capture = capture(raw, found, parsing)?;
    let media_type = capture.media_type.as_deref();
    let kind = match Kind::of_media_type(media_type) {
        Kind::Unknown => Kind::of_content(&capture.content),
        kind => kind,
    };
    if kind == Kind::Other {
        parsing.passed_over.count(Reason::MediaType);
        return Ok(None);
    }
    let id = match (parsing.web_id, capture.uri, capture.record_id) {
        (WebId::Uri, Some(uri), _) => uri,
        (WebId::Record, _, Some(id)) => id,
        (WebId::Record, _, None) if found.dialect == Dialect::Arc => {
            format!("{}:{}", raw.file().display(), found.offset)
        }
        (WebId::Uri, None, _) => return Err(raw.bad("the record has no WARC-Target-URI", raw.other_ids())),
        (WebId::Record, ..) => return Err(raw.bad("the record has no WARC-Record-ID", "take URLs with --id uri")),
    };
    let charset = media_type.and_then(media::charset);
    Ok(Some(TextDocument { text: text(raw, parsing, kind, &capture.content, charset)?, id }))
}

#[cfg(feature = "html")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature it can fail")]
fn text(
    _: &RawRecord,
    parsing: &Parsing,
    kind: Kind,
    content: &[u8],
    charset: Option<&str>,
) -> Result<String, BadRecord> {
    use crate::html::{self, Html};

    let decoded = html::decode(content, charset);
    Ok(match (kind, parsing.html) {
        (Kind::Html, html) => html.text(&decoded),
        (Kind::Xml, Html::Main | Html::Text) => Html::Text.text(&decoded),
        _ => decoded.into_owned(),
    })
}

/// Without the tables of charsets only UTF-8 is known.
#[cfg(not(feature = "html"))]
fn text(raw: &RawRecord, _: &Parsing, _: Kind, content: &[u8], _: Option<&str>) -> Result<String, BadRecord> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let text = std::str::from_utf8(content);
    text.map(str::to_owned).map_err(|_| raw.bad("the record is not UTF-8", "build with the feature html"))
}
