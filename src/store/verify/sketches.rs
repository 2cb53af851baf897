//! The sketches of a generation that keeps them apart, and the tables that lead to them.

use std::ops::ControlFlow;

use super::{Sum, Verification, shown};
use crate::Result;
use crate::engine::Scan;
use crate::store::progress::{Progress, Reporter};
use crate::store::sketch::{Index, Key, Sketch};
use crate::store::view::View;

/// Compares the sketches with the holders, of which `held` is the sum, and with the tables: each value of each table
/// must be that of a sketch.
pub(super) fn verify_sketches<S: Sketch>(
    view: &View<S>,
    mut scan: Scan,
    tables: Vec<Scan>,
    mut holders: Scan,
    held: &Sum,
    found: &mut Verification,
    reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>,
) -> Result<()> {
    let index = &view.index;
    reporter.phase("signatures")?;
    let mut stored = Sum::default();
    let mut expected = vec![Sum::default(); tables.len()];
    while let Some((key, sketch)) = scan.next()? {
        reporter.done(1)?;
        match index.values_of(key, sketch) {
            Ok(values) => {
                stored.add(key);
                expected.iter_mut().zip(values).for_each(|(sum, value)| sum.add(&value.to_be_bytes()));
            }
            Err(e) => {
                found.malformed += 1;
                found.example(|| format!("signature {}: {}", shown(key), e.0));
            }
        }
    }
    if stored != *held {
        compare_holders(&mut scan, &mut holders, [&stored, held], found)?;
    }
    for (table, (mut entries, expected)) in tables.into_iter().zip(&expected).enumerate() {
        reporter.phase("bands")?;
        let mut by_table = Sum::default();
        while let Some((key, _)) = entries.next()? {
            reporter.done(1)?;
            match index.decode(table, key) {
                Ok(value) => by_table.add(&value.to_be_bytes()),
                Err(e) => {
                    found.malformed += 1;
                    found.example(|| format!("band {table}: {}", e.0));
                }
            }
        }
        if by_table != *expected {
            compare_table(view, table, &mut entries, &mut scan, [&by_table, expected], found)?;
        }
    }
    Ok(())
}

/// Looks for the sketch of each holder, and for a holder of each sketch.
fn compare_holders(
    scan: &mut Scan,
    holders: &mut Scan,
    [stored, held]: [&Sum; 2],
    found: &mut Verification,
) -> Result<()> {
    let mut latest = [0; 8];
    holders.restart();
    while let Some((key, _)) = holders.next()? {
        let Some(number) = key.first_chunk::<8>().filter(|number| **number != latest) else { continue };
        latest = *number;
        if stored.differs_near(held, number) && scan.seek(number)?.is_none_or(|(key, _)| key != number) {
            found.missing_entries += 1;
            found.example(|| format!("the signature {} of a document is missing", shown(number)));
        }
    }
    scan.restart();
    while let Some((key, _)) = scan.next()? {
        let is_held = |found: Option<(&[u8], &[u8])>| found.is_some_and(|(holder, _)| holder.starts_with(key));
        if stored.differs_near(held, key) && !is_held(holders.seek(key)?) {
            found.orphan_entries += 1;
            if !found.expires {
                found.example(|| format!("no document has the signature {}", shown(key)));
            }
        }
    }
    Ok(())
}

/// Looks for the value of each sketch in a table, and for the sketch of each value.
fn compare_table<S: Sketch>(
    view: &View<S>,
    table: usize,
    entries: &mut Scan,
    scan: &mut Scan,
    [by_table, expected]: [&Sum; 2],
    found: &mut Verification,
) -> Result<()> {
    let index = &view.index;
    let value_of = |key: &[u8], sketch: &[u8]| index.values_of(key, sketch).ok().map(|values| values[table]);
    scan.restart();
    while let Some((key, sketch)) = scan.next()? {
        let Some(value) = value_of(key, sketch) else { continue };
        if !by_table.differs_near(expected, &value.to_be_bytes()) {
            continue;
        }
        let entry = index.encode(table, value);
        if entries.seek(entry.as_ref())?.is_none_or(|(found, _)| found != entry.as_ref()) {
            found.missing_entries += 1;
            found.example(|| format!("band {table} lacks the signature {}", shown(key)));
        }
    }
    entries.restart();
    while let Some((entry, _)) = entries.next()? {
        let Ok(value) = index.decode(table, entry) else { continue };
        if !by_table.differs_near(expected, &value.to_be_bytes()) {
            continue;
        }
        let number = index.key_of(table, value).number().to_be_bytes();
        let sketch = scan.seek(&number)?.filter(|(key, _)| *key == number);
        if sketch.and_then(|(key, sketch)| value_of(key, sketch)) != Some(value) {
            found.orphan_entries += 1;
            if !found.expires {
                found.example(|| format!("band {table} leads to the signature {}, which is not in it", shown(&number)));
            }
        }
    }
    Ok(())
}
