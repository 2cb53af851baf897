//! Web archives: WARC and ARC.

mod arc;
mod archive;
mod capture;
mod coding;
mod draft;
mod fields;
mod head;
mod http;
mod media;
mod members;
mod skippable;
mod warc;

pub(super) use archive::Archive;
pub use capture::Capture;
pub(super) use capture::{capture, parse};
pub(super) use head::{Dialect, Found};
pub(super) use members::beginning;

/// What the id of a captured page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebId {
    /// The URL. Two captures of one page have the same.
    #[default]
    Uri,
    /// The `WARC-Record-ID`, without brackets; of an ARC record, which has none, `FILE:OFFSET`.
    Record,
}
