//! What is needed while a text is analysed, kept by each thread for its next one.

use std::cell::Cell;

use super::distinct::Distinct;
use super::runs::Runs;
use super::tokens::Tokens;
use crate::hash::{Batches, FeatureHash, hash_windows};

#[derive(Default)]
pub(super) struct Scratch {
    pub(super) normal: Normal,
    pub(super) tokens: Tokens,
    pub(super) runs: Runs,
    batches: Batches,
    slices: Vec<(usize, usize)>,
    pub(super) features: Vec<u64>,
    pub(super) distinct: Distinct,
    pub(super) weighted: Vec<(u64, u32)>,
}

/// More than this is given back after a text, since the next long one may be far.
const KEPT_BYTES: usize = 8 << 20;

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Hands out the scratch of this thread, or a new one where it is in use already or the thread is ending.
pub(super) fn with<R>(work: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = work(&mut scratch);
    if scratch.bytes() <= KEPT_BYTES {
        let _ = KEPT.try_with(|kept| kept.set(Some(scratch)));
    }
    result
}

impl Scratch {
    /// Hashes the windows of the tokens.
    pub(super) fn hash(&mut self, length: usize, hash: FeatureHash) {
        self.features.clear();
        let joined = self.tokens.joined();
        if hash != FeatureHash::Xxh3 {
            let features = &mut self.features;
            self.tokens.windows(length, |window| features.push(hash.of(window)));
        } else if self.tokens.are_bytes() {
            hash_windows(joined, length, &mut self.features);
        } else if let Some(slices) = self.tokens.windows_of_one_length(length) {
            self.batches.hash(joined, slices, &mut self.features);
        } else {
            self.slices.clear();
            self.tokens.slices(length, |start, end| self.slices.push((start, end)));
            self.batches.hash(joined, self.slices.iter().copied(), &mut self.features);
        }
    }

    fn bytes(&self) -> usize {
        self.normal.text.capacity()
            + self.tokens.bytes()
            + size_of::<(usize, usize)>() * self.slices.capacity()
            + size_of::<u64>() * self.features.capacity()
            + self.distinct.bytes()
            + size_of::<(u64, u32)>() * self.weighted.capacity()
    }
}

/// A normalised text, with room behind it for vectors that begin in it.
#[derive(Default)]
pub(super) struct Normal {
    text: String,
}

/// The room behind a normalised text.
pub(super) const PADDING: usize = 64;

impl Normal {
    /// Lets a text be written.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut String)) {
        self.text.clear();
        write(&mut self.text);
        self.text.extend(std::iter::repeat_n('\0', PADDING));
    }

    /// The text, without the room behind it.
    pub(super) fn text(&self) -> &str {
        &self.text[..self.text.len().saturating_sub(PADDING)]
    }

    /// The bytes of the text, and those of the room.
    pub(super) fn padded(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
