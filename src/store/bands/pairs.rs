//! All near pairs of a store of signatures.
//!
//! 1. The store is read as it was at one moment: bands, signatures and holders were begun while no batch was written.
//! 2. Each band is read from end to end; the signatures of one hash are compared with each other. A pair is told in the
//!    first band in which it meets, so once.
//! 3. The document with the smallest id stands for all that have one signature; the others are told first, as its
//!    pairs at distance 0.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{BAND_PREFIX_BITS, Bands, Pinned, number_of};
use crate::store::claims::Claim;
use crate::store::holders::{Holder, Holders};
use crate::store::pairs::{Groups, Step};
use crate::store::shared::{Shared, ViewInUse};
use crate::store::sketch::{Index, SignatureNumber};
use crate::store::tables::Values;
use crate::store::{Pair, Store, checked_distance};
use crate::{Result, Signature};

/// So many signatures are compared with as many others at once.
const BLOCK: usize = 1 << 12;

impl Store<Signature> {
    /// Finds all pairs of documents whose signatures share a band and differ in at most `max_distance` rows, each once, as
    /// they are at one moment.
    ///
    /// Where several documents have one signature, the one with the smallest id stands for all of them: n such documents make n - 1 pairs at
    /// distance 0 among themselves, which come first, and one with a near signature. Each band is read once; memory is bounded but for the numbers of the
    /// signatures that share one hash of a band, 16 bytes each.
    ///
    /// ```
    /// use nearstone::{Minhash, MinhashDesign, MinhashStore, Options};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let store = MinhashStore::create(dir.path().join("store"), &MinhashDesign::default(), &Options::new())?;
    /// let minhash = Minhash::default();
    /// for (id, features) in [("first", 0..100), ("near", 2..101), ("far", 500..600)] {
    ///     store.insert(id, &minhash.of_features(features).unwrap())?;
    /// }
    /// let pairs = store.pairs(store.design().max_distance(0.8))?.collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(pairs.len(), 1);
    /// assert_eq!(pairs[0].ids_lossy(), ("first".into(), "near".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Distance`](crate::Error::Distance), and what the system reports; the iterator itself ends with the first error
    /// that it yields.
    pub fn pairs(&self, max_distance: u32) -> Result<SignaturePairs> {
        checked_distance(max_distance, self.design().rows().try_into().unwrap_or(u32::MAX), "a search for pairs")?;
        Ok(SignaturePairs::new(&self.shared, max_distance))
    }
}

/// The near pairs of a store of signatures, from [`Store::pairs`](crate::MinhashStore::pairs).
pub struct SignaturePairs {
    view: ViewInUse<Signature>,
    max_distance: u32,
    holders: Holders,
    pinned: Pinned,
    /// The bands that are still to be read, the last one first.
    bands: Vec<(usize, Values)>,
    stage: Stage,
    found: VecDeque<Pair>,
}

enum Stage {
    /// The documents that have one signature.
    Groups(Groups),
    /// A value of the band that belongs to the next hash.
    Band(Option<u64>),
    /// All was told, or it has failed.
    Over,
}

impl SignaturePairs {
    fn new(store: &Arc<Shared<Signature>>, max_distance: u32) -> Self {
        let held = store.claims.hold(Claim::standstill());
        let view = store.view();
        let engine = &store.engine;
        let holders = Holders::new(engine, &view, store.lifetime());
        let pinned = view.index.pin(engine);
        let bands =
            (0..view.index.live.bands.len()).rev().map(|band| (band, view.index.values(engine, band))).collect();
        drop(held);
        let (stage, found) = (Stage::Groups(Groups::default()), VecDeque::new());
        Self { view, max_distance, holders, pinned, bands, stage, found }
    }

    fn advance(&mut self) -> Result<Option<Pair>> {
        loop {
            if let Some(pair) = self.found.pop_front() {
                return Ok(Some(pair));
            }
            match &mut self.stage {
                Stage::Over => return Ok(None),
                Stage::Groups(groups) => match groups.step(&mut self.holders)? {
                    Step::Member(first, other) => return Ok(Some(Pair::new(&first.id, &other.id, 0))),
                    Step::Pause => {}
                    Step::End => self.stage = Stage::Band(None),
                },
                Stage::Band(ahead) => {
                    let ahead = ahead.take();
                    let Some((band, values)) = self.bands.last_mut() else {
                        self.stage = Stage::Over;
                        continue;
                    };
                    let band = *band;
                    let Some(first) = ahead.map_or_else(|| values.next(), |value| Ok(Some(value)))? else {
                        self.bands.pop();
                        continue;
                    };
                    let mut numbers = vec![number_of(first)];
                    let next = loop {
                        match values.next()? {
                            Some(value) if value >> (64 - BAND_PREFIX_BITS) == first >> (64 - BAND_PREFIX_BITS) => {
                                numbers.push(number_of(value));
                            }
                            next => break next,
                        }
                    };
                    self.stage = Stage::Band(next);
                    if numbers.len() > 1 {
                        self.compare_all(band, &numbers)?;
                    }
                }
            }
        }
    }

    /// Compares signatures that have one hash of a band, blocks of them with each other.
    fn compare_all(&mut self, band: usize, numbers: &[u64]) -> Result<()> {
        let blocks: Vec<&[u64]> = numbers.chunks(BLOCK).collect();
        for (at, block) in blocks.iter().enumerate() {
            let these = self.read(block)?;
            for (i, a) in these.iter().enumerate() {
                these[i + 1..].iter().try_for_each(|b| self.compare(band, a, b))?;
            }
            for others in &blocks[at + 1..] {
                let others = self.read(others)?;
                for a in &these {
                    others.iter().try_for_each(|b| self.compare(band, a, b))?;
                }
            }
        }
        Ok(())
    }

    /// Reads signatures, those that are there.
    fn read(&mut self, numbers: &[u64]) -> Result<Vec<(u64, Signature)>> {
        let mut signatures = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let signature = <Bands as Index<Signature>>::pinned(&mut self.pinned, SignatureNumber(number))?;
            signatures.extend(signature.map(|signature| (number, signature)));
        }
        Ok(signatures)
    }

    /// Tells a pair of signatures that meet in a band, if they are near and this is the first where they do.
    fn compare(&mut self, band: usize, (a, a_rows): &(u64, Signature), (b, b_rows): &(u64, Signature)) -> Result<()> {
        let distance = a_rows.differing_rows(b_rows);
        let index = &self.view.index;
        // A band may have led to them by chance, and they are met where they truly share one.
        let meets = |band: usize| index.design.bands().is_shared(a_rows, b_rows, band);
        if distance > self.max_distance || !meets(band) || (0..band).any(meets) {
            return Ok(());
        }
        let mut first_of = |number: u64| {
            let (mut first, mut holder) = (None, Holder::default());
            self.holders.visit_ids(number, None, &mut holder, |id| {
                first = Some(id.to_owned());
                false
            })?;
            Ok::<_, crate::Error>(first)
        };
        if let (Some(a), Some(b)) = (first_of(*a)?, first_of(*b)?) {
            self.found.push_back(Pair::new(&a, &b, distance));
        }
        Ok(())
    }
}

impl Iterator for SignaturePairs {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        if matches!(next, Some(Err(_))) {
            self.stage = Stage::Over;
            self.found.clear();
        }
        next
    }
}

impl std::fmt::Debug for SignaturePairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignaturePairs").field("max_distance", &self.max_distance).finish_non_exhaustive()
    }
}
