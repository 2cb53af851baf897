//! Texts of web pages: which charset their bytes are in, and what of their HTML is for people to read.
//!
//! ```
//! use nearstone::html::{Html, decode};
//!
//! let page = decode(b"<title>Caf\xe9</title><p>Open&nbsp;until <b>nine</b>.<script>x()</script>", Some("latin1"));
//! assert_eq!(Html::Text.text(&page), "Caf\u{e9}\nOpen until nine.");
//! ```
//!
//! Any bytes give a text, in time and memory that grow with their number.

mod charset;
mod main_content;
mod scan;
mod shape;
mod visible;

pub use charset::decode;

/// What is taken of HTML.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Html {
    /// The main content: the article without menus, headers and footers. Where a page has none, such as a list of links,
    /// and where it is too large or too deeply nested to look for it, all visible text.
    #[default]
    Main,
    /// All visible text, and the title.
    Text,
    /// The HTML as it is, tags and all.
    Off,
}

impl Html {
    /// Takes the text out of a page. Blocks, such as paragraphs, are lines of it.
    ///
    /// ```
    /// use nearstone::html::Html;
    ///
    /// let page = "<ul><li>Tea<li>Milk &amp; honey</ul>";
    /// assert_eq!(Html::Main.text(page), "Tea\nMilk & honey");
    /// assert_eq!(Html::Off.text(page), page);
    /// ```
    #[must_use]
    pub fn text(self, html: &str) -> String {
        match self {
            Self::Main => main_content::main_content(html).unwrap_or_else(|| visible::visible(html)),
            Self::Text => visible::visible(html),
            Self::Off => html.to_owned(),
        }
    }
}
