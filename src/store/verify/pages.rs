//! A sealed generation.

use std::ops::ControlFlow;

use super::{Sum, Verification, shown};
use crate::Result;
use crate::engine::{Engine, Scan};
use crate::format::IDENTITY_BYTES;
use crate::format::pages::{DocumentPage, HolderPage};
use crate::page::Page;
use crate::store::Shared;
use crate::store::progress::{Progress, Reporter};
use crate::store::sketch::{Index, Key, Sketch};
use crate::store::view::{Sealed, View};

/// All families of the generation. They do not change; what is pinned is that they are not dropped.
pub(super) struct PinnedPages {
    documents: Scan,
    holders: Scan,
    tables: Vec<Scan>,
}

type Report<'a, F> = &'a mut Reporter<F>;

impl PinnedPages {
    pub(super) fn new<S: Sketch>(engine: &Engine, view: &View<S>, sealed: &Sealed) -> Self {
        Self {
            documents: engine.scan(&sealed.documents),
            holders: engine.scan(&sealed.holders),
            tables: view.index.page_families().iter().map(|family| engine.scan(family)).collect(),
        }
    }

    pub(super) fn verify<S: Sketch, F: FnMut(Progress) -> ControlFlow<()>>(
        mut self,
        store: &Shared<S>,
        view: &View<S>,
        now: u64,
        found: &mut Verification,
        reporter: Report<'_, F>,
    ) -> Result<()> {
        let has_times = store.settings.retention_millis.is_some();
        reporter.phase("sealed documents")?;
        let mut by_documents = Sum::default();
        let mut before: Vec<u8> = Vec::new();
        while let Some((key, page)) = self.documents.next()? {
            let is_sound = DocumentPage::is_canonical(key, page, IDENTITY_BYTES);
            let Some(parsed) = DocumentPage::parse(page, IDENTITY_BYTES).ok().filter(|_| is_sound) else {
                found.malformed_page("documents", key);
                continue;
            };
            let mut first: Option<Vec<u8>> = None;
            parsed.visit(|id, value| {
                first.get_or_insert_with(|| id.to_owned());
                let time = has_times.then_some(value.stored_at_millis);
                by_documents.add(&holder(value.sketch, id, time));
                found.expired += u64::from(store.is_expired(value.stored_at_millis, now));
            });
            if first.is_none_or(|first| first <= before) {
                found.malformed_page("documents", key);
            }
            key.clone_into(&mut before);
            reporter.done(parsed.len() as u64)?;
        }
        reporter.phase("sealed holders")?;
        let (mut by_holders, mut sketches) = (Sum::default(), Sum::default());
        let (mut before, mut latest): (Vec<u8>, Option<u64>) = (Vec::new(), None);
        while let Some((key, page)) = self.holders.next()? {
            let is_sound = HolderPage::is_canonical(key, page, has_times);
            let Some(parsed) = HolderPage::parse(page).ok().filter(|_| is_sound) else {
                found.malformed_page("holders", key);
                continue;
            };
            let (mut first, mut count) = (None, 0);
            parsed.visit_all(|identity, id, time| {
                let identity_bytes = identity.to_be_bytes();
                first.get_or_insert_with(|| [&identity_bytes[..], id].concat());
                by_holders.add(&holder(&identity_bytes, id, time));
                if latest.replace(identity) != Some(identity) {
                    sketches.add(&identity_bytes);
                }
                count += 1;
            });
            if first.is_none_or(|first| first <= before) {
                found.malformed_page("holders", key);
            }
            key.clone_into(&mut before);
            reporter.done(count)?;
        }
        if by_documents != by_holders {
            self.compare_documents(has_times, [&by_documents, &by_holders], found, reporter)?;
        }
        for table in 0..self.tables.len() {
            reporter.phase("sealed tables")?;
            let mut by_table = Sum::default();
            let (mut values, mut before) = (Vec::new(), None);
            while let Some((key, page)) = self.tables[table].next()? {
                values.clear();
                let is_sound = match Page::parse(page) {
                    Ok((page, [])) => page.decode_into(&mut values).is_ok(),
                    _ => false,
                };
                let is_next = values.first().is_some_and(|&first| before.is_none_or(|before| before < first));
                let is_last = values.last().is_some_and(|last| key == last.to_be_bytes());
                if !(is_sound && is_next && is_last && values.windows(2).all(|pair| pair[0] < pair[1])) {
                    found.malformed_page(&format!("table {table}"), key);
                    continue;
                }
                before = values.last().copied();
                for &value in &values {
                    by_table.add(&view.index.key_of(table, value).number().to_be_bytes());
                }
                reporter.done(values.len() as u64)?;
            }
            if by_table != sketches {
                self.compare_table(store, view, table, [&by_table, &sketches], found, reporter)?;
            }
        }
        if let Some(sealed) = view.generations.sealed
            && (sealed.documents, sealed.sketches) != (by_documents.count, sketches.count)
        {
            found.malformed += 1;
            let (documents, sketches) = (by_documents.count, sketches.count);
            found.example(|| {
                format!("the store record counts other than {documents} documents and {sketches} sketches")
            });
        }
        Ok(())
    }

    /// Looks for the holder of each document, and for the document of each holder.
    fn compare_documents<F: FnMut(Progress) -> ControlFlow<()>>(
        &mut self,
        has_times: bool,
        [by_documents, by_holders]: [&Sum; 2],
        found: &mut Verification,
        reporter: Report<'_, F>,
    ) -> Result<()> {
        let Self { documents, holders, .. } = self;
        reporter.phase("sealed documents one by one")?;
        documents.restart();
        while let Some((_, page)) = documents.next()? {
            let Ok(page) = DocumentPage::parse(page, 8) else { continue };
            let mut wanted = Vec::new();
            page.visit(|id, value| wanted.push((value.sketch.to_vec(), id.to_owned(), value.stored_at_millis)));
            for (sketch, id, time) in wanted {
                reporter.done(1)?;
                let time = has_times.then_some(time);
                let is_suspect = by_documents.differs_near(by_holders, &holder(&sketch, &id, time));
                if is_suspect && !has_holder(holders, &sketch, &id, time)? {
                    found.missing_holders += 1;
                    found.example(|| format!("document {} has no holder", shown(&id)));
                }
            }
        }
        reporter.phase("sealed holders one by one")?;
        holders.restart();
        while let Some((_, page)) = holders.next()? {
            let Ok(page) = HolderPage::parse(page) else { continue };
            let mut wanted = Vec::new();
            page.visit_all(|identity, id, time| wanted.push((identity, id.to_owned(), time)));
            for (identity, id, time) in wanted {
                reporter.done(1)?;
                if !by_documents.differs_near(by_holders, &holder(&identity.to_be_bytes(), &id, time)) {
                    continue;
                }
                let document = documents.seek(&id)?.and_then(|(_, page)| DocumentPage::parse(page, 8).ok()?.find(&id));
                let is_found = document.is_some_and(|document| {
                    document.sketch == identity.to_be_bytes()
                        && time.is_none_or(|time| time == document.stored_at_millis)
                });
                if !is_found {
                    found.orphan_holders += 1;
                    found.example(|| format!("holder of {} has no document", shown(&id)));
                }
            }
        }
        Ok(())
    }

    /// Looks for the value of each sketch in a table, and for a holder of each value.
    fn compare_table<S: Sketch, F: FnMut(Progress) -> ControlFlow<()>>(
        &mut self,
        store: &Shared<S>,
        view: &View<S>,
        table: usize,
        [by_table, sketches]: [&Sum; 2],
        found: &mut Verification,
        reporter: Report<'_, F>,
    ) -> Result<()> {
        let Self { holders, tables, .. } = self;
        let pages = &mut tables[table];
        reporter.phase("sealed tables one by one")?;
        holders.restart();
        let mut latest = None;
        while let Some((_, page)) = holders.next()? {
            let Ok(page) = HolderPage::parse(page) else { continue };
            let mut wanted = Vec::new();
            page.visit_all(|identity, _, _| {
                if latest.replace(identity) != Some(identity) {
                    wanted.push(identity);
                }
            });
            for identity in wanted {
                reporter.done(1)?;
                if !by_table.differs_near(sketches, &identity.to_be_bytes()) {
                    continue;
                }
                let key = S::Key::of_number(identity);
                let Some(sketch) = view.index.sketch(&store.engine, key)? else { continue };
                let value = view.index.value(table, &sketch, key);
                let mut is_found = false;
                if let Some((_, page)) = pages.seek(&value.to_be_bytes())?
                    && let Ok((page, _)) = Page::parse(page)
                {
                    page.visit(value, value, |_, _| is_found = true);
                }
                if !is_found {
                    found.missing_entries += 1;
                    found.example(|| format!("table {table} lacks {identity:016x}"));
                }
            }
        }
        pages.restart();
        while let Some((_, page)) = pages.next()? {
            let Ok((page, _)) = Page::parse(page) else { continue };
            let mut wanted = Vec::new();
            page.visit(0, u64::MAX, |_, value| wanted.push(value));
            for value in wanted {
                reporter.done(1)?;
                let number = view.index.key_of(table, value).number();
                let identity = number.to_be_bytes();
                if !by_table.differs_near(sketches, &identity) {
                    continue;
                }
                let mut is_held = false;
                if let Some((_, page)) = holders.seek(&identity)?
                    && let Ok(page) = HolderPage::parse(page)
                {
                    page.visit(number, |_, _| {
                        is_held = true;
                        Ok::<_, crate::Error>(false)
                    })?;
                }
                if !is_held {
                    found.orphan_entries += 1;
                    found.example(|| format!("table {table} has {}, which no document has", shown(identity.as_ref())));
                }
            }
        }
        Ok(())
    }
}

fn has_holder(holders: &mut Scan, sketch: &[u8], id: &[u8], time: Option<u64>) -> Result<bool> {
    let Some((_, page)) = holders.seek(&[sketch, id].concat())? else { return Ok(false) };
    let Ok(page) = HolderPage::parse(page) else { return Ok(false) };
    let identity = u64::from_be_bytes(sketch.try_into().expect("eight bytes"));
    let mut is_found = false;
    page.visit(identity, |found, stored| {
        is_found = found == id && stored == time;
        Ok::<_, crate::Error>(found != id)
    })?;
    Ok(is_found)
}

/// What a holder says, as bytes.
fn holder(sketch: &[u8], id: &[u8], time: Option<u64>) -> Vec<u8> {
    let time = time.map(u64::to_be_bytes);
    [sketch, id, time.as_ref().map_or(&[], |time| &time[..])].concat()
}
