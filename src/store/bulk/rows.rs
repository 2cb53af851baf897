//! Fingerprints whose ids are their numbers: they come in the order of their ids, so they need not be sorted by
//! them. One thread makes pages of the documents, another one distributes their sketches, while the caller reads.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam::channel::{Receiver, Sender, bounded};

use super::Target;
use super::build::{DocumentFiles, DocumentsStep};
use super::distribute::{Distributed, Distributor};
use super::files::PageFile;
use crate::format::pages::{NUMBERED_DOCUMENTS, encode_numbered};
use crate::{Fingerprint, Result};

/// Batches on their way to each thread.
const UNDER_WAY: usize = 8;

type Batch = Arc<(u64, Vec<Fingerprint>)>;

/// Takes fingerprints in the order of their numbers.
pub(super) struct RowWriter {
    next: u64,
    first: u64,
    batches: [Sender<Batch>; 2],
    files: JoinHandle<Result<Vec<PageFile>>>,
    pairs: JoinHandle<Result<Distributed>>,
}

impl RowWriter {
    pub(super) fn new(target: &Arc<Target>, first: u64, time: u64, pairs: Distributor, is_resumable: bool) -> Self {
        let (to_files, for_files) = bounded::<Batch>(UNDER_WAY);
        let (to_pairs, for_pairs) = bounded::<Batch>(UNDER_WAY);
        let (for_documents, has_times) = (Arc::clone(target), target.has_times());
        Self {
            next: first,
            first,
            batches: [to_files, to_pairs],
            files: thread::spawn(move || write(&for_documents, &for_files, time)),
            pairs: thread::spawn(move || distribute(&for_pairs, pairs, has_times.then_some(time), is_resumable)),
        }
    }

    /// Takes the next fingerprints. Returns `false` where a thread has failed: the end tells why.
    pub(super) fn push(&mut self, fingerprints: Vec<Fingerprint>) -> bool {
        let batch = Arc::new((self.next, fingerprints));
        self.next += batch.1.len() as u64;
        self.batches.iter().all(|to| to.send(Arc::clone(&batch)).is_ok())
    }

    pub(super) fn documents(&self) -> u64 {
        self.next - self.first
    }

    pub(super) fn finish(self) -> Result<DocumentsStep> {
        drop(self.batches);
        let (files, pairs) = (join(self.files), join(self.pairs));
        Ok(DocumentsStep { files: files?, pairs: pairs?, is_numbered: true })
    }
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn write(target: &Target, batches: &Receiver<Batch>, time: u64) -> Result<Vec<PageFile>> {
    let folder = target.folder();
    let mut files = DocumentFiles::new(&folder, target.form(), false);
    let (mut next, mut sketches, mut bytes): (_, Vec<[u8; 8]>, _) = (None, Vec::new(), Vec::new());
    let mut put = |first: &mut u64, sketches: &[[u8; 8]]| {
        bytes.clear();
        let key = encode_numbered(*first, sketches, time, &mut bytes);
        *first += sketches.len() as u64;
        files.put(&key, &bytes, sketches.len() as u64)
    };
    for batch in batches {
        let first = next.get_or_insert(batch.0);
        sketches.extend(batch.1.iter().map(|fingerprint| fingerprint.to_be_bytes()));
        let pages = sketches.chunks_exact(NUMBERED_DOCUMENTS);
        let left = pages.remainder().len();
        for page in pages {
            put(first, page)?;
        }
        sketches.drain(..sketches.len() - left);
    }
    if let Some(first) = next.as_mut().filter(|_| !sketches.is_empty()) {
        put(first, &sketches)?;
    }
    files.finish()
}

fn distribute(
    batches: &Receiver<Batch>,
    mut pairs: Distributor,
    time: Option<u64>,
    is_resumable: bool,
) -> Result<Distributed> {
    let time = time.map(u64::to_le_bytes);
    for batch in batches {
        for (id, fingerprint) in (batch.0..).zip(&batch.1) {
            match &time {
                None => pairs.push_numbered(fingerprint.bits(), id)?,
                Some(time) => pairs.push(fingerprint.bits(), &[&id.to_le_bytes(), time])?,
            }
        }
    }
    pairs.finish(is_resumable)
}
