//! The figures at the end of a run.

use std::time::Instant;

use nearstone::SimhashStore;
use nearstone::input::PassedOver;

use super::run::Counts;
use crate::progress::{bytes, ratio, tell_passed_over, thousands};
use crate::prose::say;

pub(super) fn print(
    counts: &Counts,
    passed_over: &PassedOver,
    store: &SimhashStore,
    is_temporary: bool,
    begun: Instant,
) -> nearstone::Result<()> {
    let stats = store.stats()?;
    let documents = counts.documents();
    let of_them =
        |count: u64, what: &str| if count == 0 { String::new() } else { format!(", {} {what}", thousands(count)) };
    let again = of_them(counts.kept_again, "stored by an earlier run under the same id")
        + &of_them(counts.replaced, "in place of another text with the same id");
    say!("documents         {}", thousands(documents));
    say!("kept              {}{again}", thousands(counts.kept));
    say!(
        "duplicates        {} ({} with the same fingerprint, {} near)",
        thousands(counts.same + counts.near),
        thousands(counts.same),
        thousands(counts.near)
    );
    let written = |count: u64| if count > 0 { " (written too: they are near nothing)" } else { "" };
    let without = counts.nothing.without_features;
    say!("without features  {}{}", thousands(without), written(without));
    let too_short = counts.nothing.too_short;
    if too_short > 0 {
        say!("too short         {}{}", thousands(too_short), written(too_short));
    }
    if counts.bad > 0 {
        say!("bad records       {} (passed over)", thousands(counts.bad));
    }
    tell_passed_over(passed_over);
    let (kept, disk) = (thousands(stats.approximate_documents), bytes(stats.disk_bytes));
    if is_temporary {
        say!("temporary store   {kept} documents, {disk} on disk");
    } else {
        let data = stats.table_bytes + stats.document_bytes + stats.holder_bytes;
        let each = ratio(data, stats.approximate_documents);
        say!("store             {kept} documents, {} of data, {each} bytes each; {disk} on disk", bytes(data));
    }
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = thousands(documents.saturating_mul(1000) / millis);
    say!("time              {} s, {rate} documents/s", ratio(millis, 1000));
    Ok(())
}
