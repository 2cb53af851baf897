//! Prose for people, on the standard error.

use std::fmt::Display;
use std::io::Write;

/// Prints a line with a format, by [`line`].
macro_rules! say {
    ($($arguments:tt)*) => { $crate::prose::line(format_args!($($arguments)*)) };
}
pub(crate) use say;

/// Prints a line. That nobody can read it, on a full disk or behind a closed pipe, is no failure.
pub(crate) fn line(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// A text from the data as it may be shown on a terminal: without control characters.
pub(crate) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}
