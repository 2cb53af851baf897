//! Parts of a table, all generations together.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::engine::{Scan, malformed};
use crate::format::Malformed;
use crate::format::keys::TableKeys;
use crate::page::{MAX_VALUES, Page};

/// Reads ranges of values, of the moment at which it was made.
pub(crate) struct Ranges {
    keys: TableKeys,
    rows: Vec<Scan>,
    pages: Option<Scan>,
    path: PathBuf,
    own: Vec<u64>,
}

impl Ranges {
    pub(super) fn new(keys: TableKeys, rows: Vec<Scan>, pages: Option<Scan>, path: &Path) -> Self {
        Self { keys, rows, pages, path: path.to_owned(), own: Vec::new() }
    }

    /// Reads values from `from` to `to`, both included, in order and each once, until there are about `most` of them.
    /// Returns where to go on, unless it was the end.
    ///
    /// The number of the values is at most `most` and those of a page.
    pub(crate) fn read(&mut self, from: u64, to: u64, most: usize, values: &mut Vec<u64>) -> Result<Option<u64>> {
        values.clear();
        let mut last = self.read_pages(from, to, most, values)?;
        self.own.clear();
        for row in 0..self.rows.len() {
            last = self.read_rows(row, from, last, most)?;
        }
        if !self.own.is_empty() {
            self.own.sort_unstable();
            merge(values, &self.own);
            values.dedup();
            let behind = values.partition_point(|&value| value <= last);
            values.truncate(behind);
            if values.len() > most {
                values.truncate(most);
                last = values[most - 1];
            }
        }
        Ok(if last < to { Some(last + 1) } else { None })
    }

    /// Reads the values of pages, and returns up to where all were read.
    fn read_pages(&mut self, from: u64, to: u64, most: usize, values: &mut Vec<u64>) -> Result<u64> {
        let Some(scan) = &mut self.pages else { return Ok(to) };
        let corrupt = |what: &str| malformed(&self.path, Malformed(what.into()));
        let mut entry = scan.seek(&from.to_be_bytes())?;
        let mut before: Option<u64> = None;
        while let Some((key, value)) = entry {
            let begun = values.len();
            let (page, rest) = Page::parse(value).map_err(|e| corrupt(e.0))?;
            page.decode_into(values).map_err(|e| corrupt(e.0))?;
            let (first, last) = (values[begun], values[values.len() - 1]);
            let is_next = before.is_none_or(|before| before < first);
            if !is_next || key != last.to_be_bytes() || !rest.is_empty() {
                return Err(corrupt("a page of a table is not in its place"));
            }
            before = Some(last);
            if first < from {
                let early = values[begun..].partition_point(|&value| value < from);
                values.drain(begun..begun + early);
            }
            if last >= to {
                values.truncate(values.partition_point(|&value| value <= to));
                return Ok(to);
            }
            if values.len() + MAX_VALUES > most {
                return Ok(last);
            }
            entry = scan.next()?;
        }
        Ok(to)
    }

    /// Reads the values of a generation that have keys of their own, and returns up to where all were read.
    fn read_rows(&mut self, row: usize, from: u64, to: u64, most: usize) -> Result<u64> {
        let Self { keys, rows, path, own, .. } = self;
        let begun = own.len();
        let mut entry = rows[row].seek(keys.encode(from).as_ref())?;
        while let Some((key, _)) = entry {
            let value = keys.decode(key).map_err(|e| malformed(path, e))?;
            if value > to {
                break;
            }
            own.push(value);
            if own.len() - begun >= most {
                return Ok(value);
            }
            entry = rows[row].next()?;
        }
        Ok(to)
    }
}

/// Puts the values of a list in order among those of another one, both in order.
fn merge(values: &mut Vec<u64>, own: &[u64]) {
    let (mut left, mut own_left) = (values.len(), own.len());
    values.resize(left + own_left, 0);
    // From the end on, so that each is moved once, and none any more where `own` has come to its end.
    while let Some(last) = own_left.checked_sub(1).map(|last| own[last]) {
        let place = left + own_left - 1;
        if left > 0 && values[left - 1] > last {
            left -= 1;
            values[place] = values[left];
        } else {
            own_left -= 1;
            values[place] = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_merged() {
        let lists: [&[u64]; 5] = [&[], &[5], &[1, 5, 9], &[0, 2, 2, 8, u64::MAX], &[6, 7]];
        for a in lists {
            for b in lists {
                let mut merged = a.to_vec();
                merge(&mut merged, b);
                let mut expected = [a, b].concat();
                expected.sort_unstable();
                assert_eq!(merged, expected);
            }
        }
    }
}
