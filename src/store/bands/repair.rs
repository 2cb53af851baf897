//! Bands and holders anew, from the documents and the signatures.
//!
//! 1. Documents and signatures are read from end to end before anything is changed.
//! 2. The mark of [`repair`](crate::store::repair) says that it is under way. Bands and holders are dropped and made
//!    again, empty; a repair that was interrupted begins anew.
//! 3. A document whose signature is lost or damaged cannot be found by it any more: it is removed, and counted.

use std::ops::ControlFlow;
use std::path::Path;

use super::{keys, number, values_of};
use crate::engine::{Engine, Handle, malformed};
use crate::format::families::Family;
use crate::format::{IDENTITY_BYTES, keys as format_keys, signatures};
use crate::store::open::{number as number_of_document, read_record};
use crate::store::progress::{Progress, Reporter};
use crate::store::repair::{Repair, open_engine};
use crate::store::{Options, Store};
use crate::{Result, Signature};

/// So many entries are written together.
const TOGETHER: usize = 4096;

impl Store<Signature> {
    /// Builds the bands and holders of a store anew from its documents and signatures. The store must not be open.
    ///
    /// It is for stores that [`Store::verify`] finds fault with, or that cannot be opened because a band was damaged or lost.
    /// A document whose signature is lost is removed and counted. A repair that was interrupted must be repeated before the store
    /// can be opened.
    ///
    /// # Errors
    /// Those of [`Store::open`], [`Error::Corrupt`](crate::Error::Corrupt) where the documents or the store record are damaged,
    /// [`Error::Stopped`](crate::Error::Stopped), and what the system reports.
    pub fn repair(
        path: impl AsRef<Path>,
        options: &Options,
        progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Repair> {
        repair(path.as_ref(), options, progress)
    }
}

fn repair(path: &Path, options: &Options, progress: impl FnMut(Progress) -> ControlFlow<()>) -> Result<Repair> {
    let engine = open_engine(path, options)?;
    let (record, settings) = read_record::<Signature>(&engine, path)?;
    let generations = [Some(record.generations.live), record.generations.frozen];
    let generations: Vec<u64> = generations.into_iter().flatten().collect();
    let mut total = 0;
    for &generation in &generations {
        let documents = engine.family(Family::Documents { generation })?;
        total += 2 * engine.approximate_keys(&documents)?;
        total += engine.approximate_keys(&engine.family(Family::Signatures { generation })?)?;
    }
    let remedy = "repair again; once bands are being written, the store is not opened before its repair has ended";
    let mut reporter = Reporter::new(progress, total, remedy);
    reporter.phase("reading the documents")?;
    for &generation in &generations {
        let mut documents = engine.scan(&engine.family(Family::Documents { generation })?);
        while let Some((_, value)) = documents.next()? {
            reporter.done(1)?;
            if !format_keys::is_tombstone(value) {
                format_keys::decode_document(value, IDENTITY_BYTES).map_err(|e| malformed(path, e))?;
            }
        }
        let mut stored = engine.scan(&engine.family(Family::Signatures { generation })?);
        while stored.next()?.is_some() {}
    }
    engine.mark_repair(true)?;
    engine.drop_families(|family| matches!(family, Family::Holders { .. } | Family::Band { .. }))?;
    let mut repaired = Repair::default();
    for generation in generations {
        let mut needed = Family::live(&record.design, IDENTITY_BYTES, settings.retention_millis, generation);
        needed.retain(|family| engine.family(*family).is_err());
        engine.create_families(&needed, settings.retention_millis, 0)?;
        let holders =
            Family::Holders { identity_bytes: IDENTITY_BYTES, retention_millis: settings.retention_millis, generation };
        let generation = Generation {
            documents: engine.family(Family::Documents { generation })?,
            signatures: engine.family(Family::Signatures { generation })?,
            holders: engine.family(holders)?,
            bands: needed
                .into_iter()
                .filter(|family| matches!(family, Family::Band { .. }))
                .map(|family| engine.family(family))
                .collect::<Result<_>>()?,
        };
        let has_times = settings.retention_millis.is_some();
        generation.hold(&engine, &record.design, has_times, &mut repaired, &mut reporter)?;
        generation.lead(&engine, &record.design, &mut reporter)?;
    }
    engine.flush()?;
    engine.mark_repair(false)?;
    Ok(repaired)
}

struct Generation {
    documents: Handle,
    signatures: Handle,
    holders: Handle,
    bands: Vec<Handle>,
}

impl Generation {
    /// Writes the holders of the documents whose signatures are there, and removes the other documents.
    fn hold(
        &self,
        engine: &Engine,
        design: &crate::MinhashDesign,
        has_times: bool,
        repaired: &mut Repair,
        reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>,
    ) -> Result<()> {
        reporter.phase("holders")?;
        let (mut documents, mut stored) = (engine.scan(&self.documents), engine.scan(&self.signatures));
        let (mut batch, mut count) = (engine.batch(), 0);
        while let Some((id, value)) = documents.next()? {
            reporter.done(1)?;
            if format_keys::is_tombstone(value) {
                continue;
            }
            let document =
                format_keys::decode_document(value, IDENTITY_BYTES).map_err(|e| malformed(engine.path(), e))?;
            let number = number_of_document(&document).to_be_bytes();
            let signature = stored.seek(&number)?.filter(|(key, _)| *key == number);
            if signature.is_some_and(|(_, bytes)| signatures::decode(bytes, design).is_ok()) {
                repaired.documents += 1;
                let time = format_keys::encode_holder_value(has_times.then_some(document.stored_at_millis));
                batch.put(&self.holders, &format_keys::encode_holder(&number, id), time.as_ref());
            } else {
                repaired.lost += 1;
                batch.delete(&self.documents, id);
            }
            count += 1;
            if count % TOGETHER == 0 {
                std::mem::replace(&mut batch, engine.batch()).write()?;
            }
        }
        batch.write()
    }

    /// Writes the bands of the signatures that a document has, and removes the others.
    fn lead(
        &self,
        engine: &Engine,
        design: &crate::MinhashDesign,
        reporter: &mut Reporter<impl FnMut(Progress) -> ControlFlow<()>>,
    ) -> Result<()> {
        reporter.phase("bands")?;
        let (mut stored, mut holders) = (engine.scan(&self.signatures), engine.scan(&self.holders));
        let (mut batch, mut count) = (engine.batch(), 0);
        while let Some((key, bytes)) = stored.next()? {
            reporter.done(1)?;
            let signature = number(key).and_then(|number| Ok((number, signatures::decode(bytes, design)?))).ok();
            let is_held = holders.seek(key)?.is_some_and(|(holder, _)| holder.starts_with(key));
            if let Some((number, signature)) = signature.filter(|_| is_held) {
                for (family, value) in self.bands.iter().zip(values_of(design, &signature, number)) {
                    batch.put(family, keys().encode(value).as_ref(), &[]);
                }
            } else {
                batch.delete(&self.signatures, key);
            }
            count += 1;
            if count % (TOGETHER / 16) == 0 {
                std::mem::replace(&mut batch, engine.batch()).write()?;
            }
        }
        batch.write()
    }
}
