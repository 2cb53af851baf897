//! The main content of a page.

use std::panic::catch_unwind;

use dom_smoothie::{Config, Readability};

use super::shape::is_tame;
use super::visible::visible;

/// Returns the text of the main content; `None` where there is none, and where the page cannot be taken apart.
pub(super) fn main_content(html: &str) -> Option<String> {
    if !is_tame(html) {
        return None;
    }
    // What the extractor has not foreseen must cost no more than the boilerplate of one page.
    let article = catch_unwind(|| {
        let config = Config { disable_json_ld: true, ..Config::default() };
        Readability::new(html, None, Some(config)).and_then(|mut page| page.parse()).map(|article| article.content)
    });
    let text = visible(&article.ok()?.ok()?);
    text.contains(char::is_alphanumeric).then_some(text)
}
