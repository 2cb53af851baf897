//! Fingerprints whose ids are their numbers: they come in the order of their ids, so they need not be sorted by
//! them. One thread makes pages of the documents, another one distributes their sketches, while the caller reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crossbeam::channel::{Receiver, Sender, bounded};

use super::Target;
use super::distribute::{Distributed, Distributor};
use super::documents::{DocumentFiles, DocumentsStep};
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
    batches: Option<[Sender<Batch>; 2]>,
    threads: Option<Threads>,
    is_given_up: Arc<AtomicBool>,
}

type Threads = (JoinHandle<Result<Vec<PageFile>>>, JoinHandle<Result<Distributed>>);

impl RowWriter {
    pub(super) fn new(target: &Arc<Target>, first: u64, time: u64, pairs: Distributor, is_resumable: bool) -> Self {
        let (to_files, for_files) = bounded::<Batch>(UNDER_WAY);
        let (to_pairs, for_pairs) = bounded::<Batch>(UNDER_WAY);
        let (for_documents, has_times) = (Arc::clone(target), target.has_times());
        let is_given_up = Arc::new(AtomicBool::new(false));
        let for_files = Batches { batches: for_files, is_given_up: Arc::clone(&is_given_up) };
        let for_pairs = Batches { batches: for_pairs, is_given_up: Arc::clone(&is_given_up) };
        let threads = (
            thread::spawn(move || write(&for_documents, &for_files, time)),
            thread::spawn(move || distribute(&for_pairs, pairs, has_times.then_some(time), is_resumable)),
        );
        Self { next: first, first, batches: Some([to_files, to_pairs]), threads: Some(threads), is_given_up }
    }

    /// Takes the next fingerprints. Returns `false` where a thread has failed: the end tells why.
    pub(super) fn push(&mut self, fingerprints: Vec<Fingerprint>) -> bool {
        let batch = Arc::new((self.next, fingerprints));
        // After the largest number there is none that could be asked for.
        self.next = self.next.wrapping_add(batch.1.len() as u64);
        self.batches.iter().flatten().all(|to| to.send(Arc::clone(&batch)).is_ok())
    }

    pub(super) fn documents(&self) -> u64 {
        self.next.wrapping_sub(self.first)
    }

    pub(super) fn finish(mut self) -> Result<DocumentsStep> {
        let (files, pairs) = self.join().expect("they are joined once");
        Ok(DocumentsStep { files: files?, pairs: pairs?, is_numbered: true })
    }

    /// Waits for the end of the threads.
    fn join(&mut self) -> Option<(Result<Vec<PageFile>>, Result<Distributed>)> {
        self.batches = None;
        self.threads.take().map(|(files, pairs)| (join(files), join(pairs)))
    }
}

impl Drop for RowWriter {
    /// Nothing is written any more when this returns: the next load uses files of the same names.
    fn drop(&mut self) {
        self.is_given_up.store(true, Ordering::SeqCst);
        self.join();
    }
}

/// What a thread takes.
struct Batches {
    batches: Receiver<Batch>,
    is_given_up: Arc<AtomicBool>,
}

impl Batches {
    /// The next batch, or `None` at the end, or when nobody wants the rest.
    fn next(&self) -> Option<Batch> {
        self.batches.recv().ok().filter(|_| !self.is_given_up.load(Ordering::SeqCst))
    }
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn write(target: &Target, batches: &Batches, time: u64) -> Result<Vec<PageFile>> {
    let folder = target.folder();
    let mut files = DocumentFiles::new(&folder, target.form(), false);
    let (mut next, mut sketches, mut bytes): (_, Vec<[u8; 8]>, _) = (None, Vec::new(), Vec::new());
    let mut put = |first: &mut u64, sketches: &[[u8; 8]]| {
        bytes.clear();
        let key = encode_numbered(*first, sketches, time, &mut bytes);
        *first = first.wrapping_add(sketches.len() as u64);
        files.put(&key, &bytes, sketches.len() as u64)
    };
    while let Some(batch) = batches.next() {
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

fn distribute(batches: &Batches, mut pairs: Distributor, time: Option<u64>, is_resumable: bool) -> Result<Distributed> {
    let time = time.map(u64::to_le_bytes);
    while let Some(batch) = batches.next() {
        for (fingerprint, n) in batch.1.iter().zip(0..) {
            let id = batch.0.wrapping_add(n);
            match &time {
                None => pairs.push_numbered(fingerprint.bits(), id)?,
                Some(time) => pairs.push(fingerprint.bits(), &[&id.to_le_bytes(), time])?,
            }
        }
    }
    pairs.finish(is_resumable)
}
