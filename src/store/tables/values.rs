//! A table from end to end, all generations together.

use std::path::{Path, PathBuf};

use smallvec::SmallVec;

use crate::Result;
use crate::engine::{Scan, malformed};
use crate::format::Malformed;
use crate::format::keys::TableKeys;
use crate::page::Page;

/// The values of a table in ascending order, each once.
pub(crate) struct Values {
    keys: TableKeys,
    rows: Vec<(Scan, Ahead)>,
    pages: Option<(PageValues, Ahead)>,
    path: PathBuf,
    latest: Option<u64>,
}

/// The next value of a source.
#[derive(Clone, Copy)]
enum Ahead {
    Unread,
    Value(u64),
    End,
}

impl Values {
    pub(in crate::store) fn new(keys: TableKeys, rows: Vec<Scan>, pages: Option<PageValues>, path: &Path) -> Self {
        let rows = rows.into_iter().map(|scan| (scan, Ahead::Unread)).collect();
        Self { keys, rows, pages: pages.map(|pages| (pages, Ahead::Unread)), path: path.to_owned(), latest: None }
    }

    pub(crate) fn next(&mut self) -> Result<Option<u64>> {
        let Self { keys, rows, pages, path, latest } = self;
        if let ([], Some((pages, _))) = (&rows[..], &mut *pages) {
            return pages.next();
        }
        loop {
            let mut least: Option<u64> = None;
            for (scan, ahead) in rows.iter_mut() {
                if let Ahead::Unread = ahead {
                    *ahead = match scan.next()? {
                        None => Ahead::End,
                        Some((key, _)) => Ahead::Value(keys.decode(key).map_err(|e| malformed(path, e))?),
                    };
                }
            }
            if let Some((values, ahead @ Ahead::Unread)) = pages {
                *ahead = values.next()?.map_or(Ahead::End, Ahead::Value);
            }
            let mut aheads: SmallVec<[&mut Ahead; 3]> =
                rows.iter_mut().map(|row| &mut row.1).chain(pages.iter_mut().map(|pages| &mut pages.1)).collect();
            for ahead in &aheads {
                if let Ahead::Value(value) = **ahead {
                    least = Some(least.map_or(value, |least| least.min(value)));
                }
            }
            let Some(value) = least else { return Ok(None) };
            for ahead in &mut aheads {
                if matches!(**ahead, Ahead::Value(other) if other == value) {
                    **ahead = Ahead::Unread;
                }
            }
            if latest.replace(value) != Some(value) {
                return Ok(Some(value));
            }
        }
    }
}

/// The values of the pages of a table.
pub(crate) struct PageValues {
    scan: Scan,
    values: Vec<u64>,
    at: usize,
    path: PathBuf,
}

impl PageValues {
    pub(crate) fn new(scan: Scan, path: &Path) -> Self {
        Self { scan, values: Vec::new(), at: 0, path: path.to_owned() }
    }

    pub(crate) fn next(&mut self) -> Result<Option<u64>> {
        while self.at == self.values.len() {
            if !self.next_page()? {
                return Ok(None);
            }
        }
        self.at += 1;
        Ok(Some(self.values[self.at - 1]))
    }

    /// Reads a page, and checks everything about it.
    fn next_page(&mut self) -> Result<bool> {
        let before = self.values.last().copied();
        self.values.clear();
        self.at = 0;
        let corrupt = |what: &str| malformed(&self.path, Malformed(what.into()));
        let Some((key, value)) = self.scan.next()? else { return Ok(false) };
        let (page, rest) = Page::parse(value).map_err(|e| corrupt(e.0))?;
        page.decode_into(&mut self.values).map_err(|e| corrupt(e.0))?;
        let is_next = before.is_none_or(|before| self.values.first().is_some_and(|&first| before < first));
        let is_last = self.values.last().map(|last| last.to_be_bytes()).is_some_and(|last| key == last);
        if is_next && is_last && rest.is_empty() {
            Ok(true)
        } else {
            Err(corrupt("a page of a table is not in its place"))
        }
    }
}
