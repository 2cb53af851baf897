//! The figures at the end of a run.

use std::time::Instant;

use nearstone::SimhashStore;

use super::run::Counts;
use crate::progress::{bytes, ratio, thousands};

pub(super) fn print(counts: &Counts, store: &SimhashStore, begun: Instant) -> nearstone::Result<()> {
    let stats = store.stats()?;
    let documents = counts.documents();
    let again = match counts.kept_again {
        0 => String::new(),
        again => format!(", {} of them stored by an earlier run", thousands(again)),
    };
    eprintln!("documents         {}", thousands(documents));
    eprintln!("kept              {}{again}", thousands(counts.kept));
    eprintln!(
        "duplicates        {} ({} with the same fingerprint, {} near)",
        thousands(counts.same + counts.near),
        thousands(counts.same),
        thousands(counts.near)
    );
    let written = if counts.without_features > 0 { " (written too: they are near nothing)" } else { "" };
    eprintln!("without features  {}{written}", thousands(counts.without_features));
    if counts.bad > 0 {
        eprintln!("bad records       {} (passed over)", thousands(counts.bad));
    }
    eprintln!(
        "store             {} on disk for {} documents, {} bytes each",
        bytes(stats.disk_bytes),
        thousands(stats.approximate_documents),
        ratio(stats.disk_bytes, stats.approximate_documents)
    );
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = thousands(documents.saturating_mul(1000) / millis);
    eprintln!("time              {} s, {rate} documents/s", ratio(millis, 1000));
    Ok(())
}
