//! What the program's benchmarks compare with in the same run. Not part of the interface: it may change at any time.

mod arrays;
mod sets;

pub use arrays::{Arrays, scan};
pub use sets::Sets;

use std::path::Path;

use crate::engine::write_keys;
use crate::format::keys::TableKeys;
use crate::{Error, Result, TableDesign};

/// Writes sorted values of a table as one key each, as live tables have them, and returns the bytes of the file.
///
/// # Errors
/// [`Error::Design`] where there is no such table, and what the system reports.
pub fn one_key_per_fingerprint(path: &Path, design: &TableDesign, table: usize, sorted: &[u64]) -> Result<u64> {
    let of = design.tables().get(table);
    let keys = of.map(|table| TableKeys::new(table.prefix_bits()));
    let keys = keys.ok_or_else(|| Error::Design { reason: format!("it has no table {table}") })?;
    write_keys(path, keys.head_bytes(), sorted.iter().map(|&value| keys.encode(value)))
}
