//! Page files that were written elsewhere: made without a store, verified, and taken by one.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::build::HoldersStep;
use super::commit::commit;
use super::documents::DocumentsStep;
use super::files::{ExchangeReader, Form, PageFile, PageFileWriter, Part, failed, hex, table_layout};
use super::folder::Folder;
use super::manifest::Manifest;
use super::meter::Meter;
use super::{BulkLoader, Changing, LoadOptions, LoadReport, Target};
use crate::engine::PageLayout;
use crate::format::pages::{DocumentPage, HolderPage};
use crate::format::record::Generations;
use crate::hash::checksum;
use crate::page::Page;
use crate::store::shared::Shared;
use crate::store::threads::{available, in_threads};
use crate::store::{Progress, Store};
use crate::{Error, Fingerprint, Result, TableDesign};

const REMEDY: &str = "load the pages again";

impl BulkLoader {
    /// Begins a load that writes page files and a manifest into a new or empty folder, instead of into a store;
    /// [`Store::load_pages`] takes them. Any number of processes and machines may make such folders.
    ///
    /// `has_retention` says whether the store has one.
    ///
    /// # Errors
    /// [`Error::Pages`] where the folder holds something, and what the system reports.
    pub fn to_pages(
        folder: impl AsRef<Path>,
        design: &TableDesign,
        has_retention: bool,
        options: &LoadOptions,
    ) -> Result<Self> {
        let path = folder.as_ref();
        fs::create_dir_all(path).map_err(|e| failed("create", path, e))?;
        if path.join(super::folder::NAME).is_dir() && !path.join(super::manifest::NAME).exists() {
            // One that was killed: nobody reads what has no manifest.
            super::clean(path)?;
            for part in Part::all(design.tables().len()).map(|part| path.join(part.name())).filter(|part| part.is_dir())
            {
                fs::remove_dir_all(&part).map_err(|e| failed("remove", &part, e))?;
            }
        }
        if fs::read_dir(path).map_err(|e| failed("read", path, e))?.next().is_some() {
            let what = "the folder is not empty: name a new one".to_owned();
            return Err(Error::Pages { path: path.to_owned(), what });
        }
        let mut options = options.clone();
        options.name = None;
        let (temp_dir, now) = (options.temp_dir.as_deref(), crate::clock::Clock::default().now_millis());
        let state = Folder::create(path, None, temp_dir, Generations::default(), now)?;
        let target = Target::Pages { design: design.clone(), has_times: has_retention, folder: path.to_owned() };
        Ok(Self::with(Arc::new(target), state, None, &options, Generations::default()))
    }
}

impl Store<Fingerprint> {
    /// Loads a folder of page files with its manifest, which [`BulkLoader::to_pages`] or another program wrote.
    ///
    /// Everything is verified before anything is taken: that the manifest fits the store, that the files have the
    /// checksums, counts and ranges that it says, that every page is what the format says, and that documents,
    /// holders and tables agree with one another. Into a store that has sealed documents the documents are loaded
    /// as by [`Store::bulk_loader`](crate::Store::bulk_loader).
    ///
    /// # Errors
    /// [`Error::Pages`] with the file and what is wrong with it; those of
    /// [`BulkLoader::commit`]. Then nothing was loaded.
    pub fn load_pages(
        &self,
        folder: impl AsRef<Path>,
        options: &LoadOptions,
        progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<LoadReport> {
        let (folder, store) = (folder.as_ref(), &self.shared);
        store.engine.writable()?;
        let design = &store.record.design;
        let manifest = Manifest::read(folder, design, store.settings.retention_millis.is_some())?;
        let changing = Changing::begin(store)?;
        if store.view().live.is_used() || !store.view().generations.is_empty_below() {
            drop(changing);
            return self.load_documents(folder, &manifest, options, progress);
        }
        let mut report = LoadReport::new(Instant::now(), manifest.documents);
        let meter = Meter::new(REMEDY);
        let tables = design.tables().len();
        meter.set_total(manifest.entries(tables));
        let temp_dir = options.temp_dir.as_deref();
        // Declared after `changing`, so that it is removed before others may begin.
        let mut to = Folder::create(store.engine.path(), None, temp_dir, store.view().generations, store.now())?;
        meter.watch(progress, || {
            meter.phase("verifying", 0)?;
            let files = verify(store, folder, &manifest, Some(to.path()), &meter)?;
            let [documents, holders, tables @ ..] = &files[..] else { unreachable!("there are two parts and tables") };
            to.state.documents = Some(DocumentsStep::taken(documents.clone()));
            to.state.holders = Some(HoldersStep::taken(holders.clone(), manifest.sketches));
            to.state.tables = tables.to_vec();
            report.phase("verifying");
            meter.phase("making it visible", 0)?;
            commit(store, &mut to, |old, sealed| Generations { sealed, ..old })?;
            to.remove();
            report.phase("commit");
            (report.documents, report.sketches) = (manifest.documents, manifest.sketches);
            Ok(report)
        })
    }

    /// Loads the documents of page files one by one.
    fn load_documents(
        &self,
        folder: &Path,
        manifest: &Manifest,
        options: &LoadOptions,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<LoadReport> {
        let meter = Meter::new(REMEDY);
        meter.set_total(manifest.entries(self.shared.record.design.tables().len()));
        meter.watch(&mut progress, || {
            meter.phase("verifying", 0)?;
            verify(&self.shared, folder, manifest, None, &meter)
        })?;
        let mut options = options.clone();
        options.first_row = None;
        let mut loader = self.bulk_loader(&options)?;
        for file in manifest.files(Part::Documents) {
            let path = folder.join(Part::Documents.name()).join(&file.name);
            let mut pages = ExchangeReader::open(&path)?;
            while let Some((_, page)) = pages.next()? {
                let page = DocumentPage::parse(page, 8).map_err(|e| bad(&path, &e.0))?;
                let mut taken = Ok(());
                page.visit(|id, value| {
                    let sketch = Fingerprint::from_be_bytes(value.sketch.try_into().expect("eight bytes"));
                    if taken.is_ok() {
                        taken = loader.take(id, sketch, value.stored_at_millis, value.payload);
                    }
                });
                taken?;
            }
        }
        loader.commit(progress)
    }
}

/// Sums of what a part says, which do not depend on the order in which it says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    holders: u64,
    sketches: u64,
}

/// Verifies all files, and copies them into another folder in the form of the engine.
fn verify(
    store: &Shared<Fingerprint>,
    from: &Path,
    manifest: &Manifest,
    to: Option<&Path>,
    meter: &Meter,
) -> Result<Vec<Vec<PageFile>>> {
    let design = &store.record.design;
    let parts: Vec<Part> = Part::all(design.tables().len()).collect();
    let verified = in_threads(available(), parts.len(), |part| {
        let form = to.map(|to| (to, Form::Engine(&store.engine)));
        check(parts[part], design, from, manifest, form, meter)
    })?;
    let (documents, holders) = (verified[0].0, verified[1].0);
    let wrong = |part: Part, with: &str| {
        let path = from.join(part.name());
        Err(Error::Pages { path, what: format!("it does not say the same as {with}") })
    };
    if documents.holders != holders.holders {
        return wrong(Part::Holders, "the documents");
    }
    if let Some(table) = verified[2..].iter().position(|(sums, _)| sums.sketches != holders.sketches) {
        return wrong(Part::Table(table), "the holders");
    }
    Ok(verified.into_iter().map(|(_, files)| files).collect())
}

/// Verifies the files of a part, and copies them.
fn check(
    part: Part,
    design: &TableDesign,
    from: &Path,
    manifest: &Manifest,
    to: Option<(&Path, Form<'_>)>,
    meter: &Meter,
) -> Result<(Sums, Vec<PageFile>)> {
    let (mut sums, mut files) = (Sums::default(), Vec::new());
    let mut last: Option<Vec<u8>> = None;
    let mut latest = None;
    for (number, file) in manifest.files(part).iter().enumerate() {
        let path = from.join(part.name()).join(&file.name);
        let mut pages = ExchangeReader::open(&path)?;
        let layout = match part {
            Part::Table(table) => table_layout(&design.tables()[table], manifest.sketches),
            // Whether ids are alike is not known here: where compression saves little, the engine leaves it out.
            _ => PageLayout::of_documents(true),
        };
        let out = to.map(|(to, form)| PageFileWriter::create(to, part, number, form, layout));
        let mut out = out.transpose()?;
        let (mut count, mut entries, mut first) = (0, 0, None);
        while let Some((key, page)) = pages.next()? {
            let (added, begin) = add(part, design, manifest.holder_times, key, page, &mut sums, &mut latest)
                .ok_or_else(|| bad(&path, &format!("page {count} is not what the format says")))?;
            // Its first entry comes after the last one of the page before, or look-ups would pass over it.
            if last.as_ref().is_some_and(|last| *last >= begin) {
                return Err(bad(&path, &format!("page {count} is not in its order")));
            }
            if let Some(out) = &mut out {
                out.put(key, page, added)?;
            }
            first.get_or_insert_with(|| hex(key));
            last = Some(key.to_owned());
            count += 1;
            entries += added;
            meter.done(added)?;
        }
        let found = (count, entries, first.unwrap_or_default(), last.as_deref().map_or_else(String::new, hex));
        if found != (file.pages, file.entries, file.first.clone(), file.last.clone()) {
            return Err(bad(&path, "its counts or its range are not those of the manifest"));
        }
        let sum = format!("{:016x}", pages.checksum());
        if file.checksum.as_ref() != Some(&sum) {
            return Err(bad(&path, &format!("its checksum is {sum}, not that of the manifest")));
        }
        files.extend(out.map(PageFileWriter::finish).transpose()?.flatten());
    }
    Ok((sums, files))
}

/// Adds what a page says, and returns its number of entries and the key that its first entry would have; `None` where
/// it is not as the format says.
fn add(
    part: Part,
    design: &TableDesign,
    holder_times: bool,
    key: &[u8],
    page: &[u8],
    sums: &mut Sums,
    latest: &mut Option<u64>,
) -> Option<(u64, Vec<u8>)> {
    let holder = |sketch: u64, id: &[u8], time: Option<u64>| {
        let time = time.filter(|_| holder_times).map(u64::to_be_bytes);
        checksum(&[&sketch.to_be_bytes()[..], id, time.as_ref().map_or(&[], |time| &time[..])].concat())
    };
    let (mut entries, mut begin) = (0, None);
    match part {
        Part::Documents => {
            if !DocumentPage::is_canonical(key, page, 8) {
                return None;
            }
            DocumentPage::parse(page, 8).ok()?.visit(|id, value| {
                let sketch = u64::from_be_bytes(value.sketch.try_into().expect("eight bytes"));
                begin.get_or_insert_with(|| id.to_owned());
                sums.holders = sums.holders.wrapping_add(holder(sketch, id, Some(value.stored_at_millis)));
                entries += 1;
            });
        }
        Part::Holders => {
            if !HolderPage::is_canonical(key, page, holder_times) {
                return None;
            }
            HolderPage::parse(page).ok()?.visit_all(|sketch, id, time| {
                begin.get_or_insert_with(|| [&sketch.to_be_bytes()[..], id].concat());
                sums.holders = sums.holders.wrapping_add(holder(sketch, id, time));
                if latest.replace(sketch) != Some(sketch) {
                    sums.sketches = sums.sketches.wrapping_add(checksum(&sketch.to_be_bytes()));
                }
                entries += 1;
            });
        }
        Part::Table(index) => {
            let (parsed, rest) = Page::parse(page).ok()?;
            let mut values = Vec::new();
            parsed.decode_into(&mut values).ok()?;
            let is_distinct = values.windows(2).all(|pair| pair[0] < pair[1]);
            if !rest.is_empty() || !is_distinct || values.last()?.to_be_bytes() != key {
                return None;
            }
            begin = values.first().map(|first| first.to_be_bytes().to_vec());
            for &value in &values {
                let sketch = design.tables()[index].restore(value);
                sums.sketches = sums.sketches.wrapping_add(checksum(&sketch.to_be_bytes()));
            }
            entries = values.len() as u64;
        }
    }
    Some((entries, begin?))
}

fn bad(path: &Path, what: &str) -> Error {
    Error::Pages { path: path.to_owned(), what: what.to_owned() }
}
