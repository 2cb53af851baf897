//! One file for each subcommand.

pub(crate) mod add;
pub(crate) mod bench;
pub(crate) mod checkpoint;
pub(crate) mod create;
pub(crate) mod dedup;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod evaluate;
pub(crate) mod expire;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fingerprint;
pub(crate) mod get;
pub(crate) mod idf;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod pairs;
pub(crate) mod plan;
pub(crate) mod query;
mod query_batch;
mod records;
pub(crate) mod repair;
pub(crate) mod seal;
pub(crate) mod shell;
pub(crate) mod stats;
pub(crate) mod verify;

/// The text of a file, or of the standard input, without the byte order mark that the readers of other inputs take off, too.
fn text_of(file: &std::path::Path) -> std::io::Result<String> {
    let text = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    }?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
