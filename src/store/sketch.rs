//! What a store needs of the sketches that it keeps.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::QueryStats;
use super::many::NearMany;
use super::tables::Values;
use super::view::Layer;
use super::work::Work;
use crate::engine::{Batch, Engine, Handle};
use crate::format::Decoded;
use crate::format::record::Generations;
use crate::{Fingerprint, Result, Signature, TableDesign};

/// A kind of sketch that a [`Store`](crate::Store) can keep: [`Fingerprint`] or [`Signature`].
///
/// The trait is sealed: the bytes on disk depend on its implementations.
///
/// Its `Design` is what a store of such sketches is made for, and is fixed when the store is created: a [`TableDesign`] or a
/// [`MinhashDesign`](crate::MinhashDesign).
pub trait Sketch: sealed::Sealed {}

impl Sketch for Fingerprint {}

impl Sketch for Signature {}

/// The number by which documents and holders name a sketch, and tables lead to it.
pub(crate) trait Key: Copy + Eq + Ord + Debug + Send + Sync + 'static {
    fn number(self) -> u64;
    fn of_number(number: u64) -> Self;
}

/// A fingerprint is its own number.
impl Key for Fingerprint {
    fn number(self) -> u64 {
        self.bits()
    }

    fn of_number(number: u64) -> Self {
        Self::new(number)
    }
}

/// The number that a signature got when it was first stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureNumber(pub(crate) u64);

impl Key for SignatureNumber {
    fn number(self) -> u64 {
        self.0
    }

    fn of_number(number: u64) -> Self {
        Self(number)
    }
}

pub(crate) mod sealed {
    use std::fmt::Display;
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use super::{Debug, Fingerprint, Index, Key, Result, Signature, SignatureNumber, TableDesign};
    use crate::format::design::StoredDesign;
    use crate::store::bands::Bands;
    use crate::store::bulk::{self, Background};
    use crate::store::shared::Shared;
    use crate::store::tables::Tables;
    use crate::store::{LoadOptions, Progress};
    use crate::{Analyser, Minhash, MinhashDesign, Simhash};

    /// What writing the sealed documents anew may sort in memory.
    const RESEAL_MEMORY_BYTES: usize = 256 << 20;

    #[expect(private_interfaces, reason = "nobody outside implements or calls it")]
    pub trait Sealed: Clone + Eq + Ord + Debug + Send + Sync + Sized + 'static {
        /// The name of the kind in the store record.
        const KIND: &'static str;
        #[expect(private_bounds, reason = "nobody outside implements or calls it")]
        type Design: StoredDesign + Clone + PartialEq + Debug + Display + Send + Sync + 'static;
        #[expect(private_bounds, reason = "nobody outside implements or calls it")]
        type Key: Key;
        #[expect(private_bounds, reason = "nobody outside implements or calls it")]
        type Index: Index<Self>;
        /// What makes sketches out of texts.
        type Sketcher: Send + Sync;

        fn sketcher(design: &Self::Design, analyser: Analyser) -> Self::Sketcher;
        fn analyser(sketcher: &Self::Sketcher) -> &Analyser;
        /// The sketch of a text, if it has one.
        fn of_text(sketcher: &Self::Sketcher, text: &str) -> Option<Self>;
        /// The largest distance by which a new store admits documents.
        fn admission_distance(design: &Self::Design) -> u32;
        /// Fails on a sketch that a store of a design cannot keep.
        fn check(&self, design: &Self::Design) -> Result<()>;
        /// The similarity that a distance tells of, where it tells of one.
        fn similarity(design: &Self::Design, distance: u32) -> Option<f64>;
        /// Whether the one is found by the other, if it is within the distance.
        fn meets(&self, other: &Self, design: &Self::Design) -> bool;
        /// In how many places two sketches differ.
        fn distance_to(&self, other: &Self) -> u32;
        /// Writes the sealed documents anew, without what has expired.
        fn reseal(store: &Arc<Shared<Self>>, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<()>
        where
            Self: super::Sketch;
        /// Seals the live documents in another thread, if there are many.
        fn seal_in_background(background: &Background, store: &Arc<Shared<Self>>)
        where
            Self: super::Sketch;
    }

    impl Sealed for Fingerprint {
        const KIND: &'static str = "simhash64";
        type Design = TableDesign;
        type Key = Self;
        type Index = Tables;
        type Sketcher = Simhash;

        fn sketcher(_design: &TableDesign, analyser: Analyser) -> Simhash {
            Simhash::new(analyser)
        }

        fn analyser(sketcher: &Simhash) -> &Analyser {
            sketcher.analyser()
        }

        fn of_text(sketcher: &Simhash, text: &str) -> Option<Self> {
            sketcher.fingerprint(text)
        }

        fn admission_distance(design: &TableDesign) -> u32 {
            crate::SimhashStore::ADMISSION_DISTANCE.max(design.max_distance())
        }

        fn check(&self, _design: &TableDesign) -> Result<()> {
            Ok(())
        }

        fn similarity(_design: &TableDesign, _distance: u32) -> Option<f64> {
            None
        }

        fn meets(&self, _other: &Self, _design: &TableDesign) -> bool {
            true
        }

        fn distance_to(&self, other: &Self) -> u32 {
            self.distance(*other)
        }

        #[expect(private_interfaces, reason = "nobody outside implements or calls it")]
        fn reseal(store: &Arc<Shared<Self>>, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<()> {
            bulk::reseal(store, &LoadOptions::new().memory_bytes(RESEAL_MEMORY_BYTES), progress).map(|_| ())
        }

        #[expect(private_interfaces, reason = "nobody outside implements or calls it")]
        fn seal_in_background(background: &Background, store: &Arc<Shared<Self>>) {
            background.look(store);
        }
    }

    impl Sealed for Signature {
        const KIND: &'static str = "minhash";
        type Design = MinhashDesign;
        type Key = SignatureNumber;
        type Index = Bands;
        type Sketcher = Minhash;

        fn sketcher(design: &MinhashDesign, analyser: Analyser) -> Minhash {
            design.minhash(analyser)
        }

        fn analyser(sketcher: &Minhash) -> &Analyser {
            sketcher.analyser()
        }

        fn of_text(sketcher: &Minhash, text: &str) -> Option<Self> {
            sketcher.signature(text)
        }

        fn admission_distance(design: &MinhashDesign) -> u32 {
            design.most_distance()
        }

        fn check(&self, design: &MinhashDesign) -> Result<()> {
            design.check(self)
        }

        fn similarity(design: &MinhashDesign, distance: u32) -> Option<f64> {
            Some(design.similarity(distance))
        }

        fn meets(&self, other: &Self, design: &MinhashDesign) -> bool {
            let bands = design.bands();
            (0..bands.bands() as usize).any(|band| bands.is_shared(self, other, band))
        }

        fn distance_to(&self, other: &Self) -> u32 {
            self.differing_rows(other)
        }

        #[expect(private_interfaces, reason = "nobody outside implements or calls it")]
        fn reseal(_store: &Arc<Shared<Self>>, _progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<()> {
            Ok(())
        }

        /// Signatures are not sealed yet.
        #[expect(private_interfaces, reason = "nobody outside implements or calls it")]
        fn seal_in_background(_background: &Background, _store: &Arc<Shared<Self>>) {}
    }
}

/// The families in which a kind of sketch is found by nearness. They hold distinct sketches and are
/// hints: what they yield counts only if a document holds it.
pub(crate) trait Index<S: sealed::Sealed>: Sized + Send + Sync {
    /// Whether sketches are kept apart from the documents.
    const IS_PINNED: bool;
    /// Sketches as they were at one moment.
    type Pinned: Send;

    /// Finds the families of generations, of which the live and the frozen one say whether they are used;
    /// `before` is the index that this one takes the place of.
    fn open(
        engine: &Engine,
        design: &S::Design,
        generations: Generations,
        is_used: [Option<Arc<AtomicBool>>; 2],
        before: Option<&Self>,
    ) -> Result<Self>;
    /// Returns the families of a generation with keys, in the order of their numbers.
    fn row_families(&self, layer: Layer) -> &[Handle];
    /// Returns the families of the sealed generation, in the order of their numbers.
    fn page_families(&self) -> &[Handle];
    /// Reads a table from end to end, all generations together.
    fn values(&self, engine: &Engine, table: usize) -> Values;
    /// Returns the number of the sketch of a value of a table.
    fn key_of(&self, table: usize, value: u64) -> S::Key;
    /// Returns the value of a sketch in a table.
    fn value(&self, table: usize, sketch: &S, key: S::Key) -> u64;
    /// Returns the value in a table of the key of an entry.
    fn decode(&self, table: usize, entry: &[u8]) -> Decoded<u64>;
    /// Returns the key of the entry of a value in a table.
    fn encode(&self, table: usize, value: u64) -> impl AsRef<[u8]>;
    /// Whether a generation with keys may have a sketch; false only where it does not.
    fn may_have(&self, layer: Layer, key: S::Key) -> bool;
    /// Returns the number of a sketch, if it may be stored. The caller keeps its writers away.
    fn find(&self, engine: &Engine, sketch: &S) -> Result<Option<S::Key>>;
    /// Returns a number for a sketch that is not stored.
    fn new_key(&self, sketch: &S) -> Result<S::Key>;
    /// Returns the sketch of a number that a document has; `None` where it was removed meanwhile, with its last document.
    fn sketch(&self, engine: &Engine, key: S::Key) -> Result<Option<S>>;
    /// Returns the family of the sketches of a generation with keys, where they have one of their own.
    fn sketch_family(&self, layer: Layer) -> Option<&Handle>;
    /// Returns the values in all tables of an entry of that family, unless it is malformed.
    fn values_of(&self, key: &[u8], sketch: &[u8]) -> Decoded<Vec<u64>>;
    /// Begins to read sketches as they are now. The caller keeps writers away until all that belongs together was begun, if
    /// [`Index::IS_PINNED`].
    fn pin(&self, engine: &Engine) -> Self::Pinned;
    /// Returns the sketch of a number as it was.
    fn pinned(pinned: &mut Self::Pinned, key: S::Key) -> Result<Option<S>>;
    /// The bytes of memory in which it keeps what was read.
    fn cached_bytes(&self) -> u64;
    /// Adds sketches, with their numbers, to the live generation in the batch.
    fn put(&self, batch: &mut Batch<'_>, sketches: &[S], keys: &[S::Key]);
    /// Removes a sketch from the live generation in the batch.
    fn delete(&self, batch: &mut Batch<'_>, sketch: &S, key: S::Key);
    /// Is told which sketches are put by a batch that is about to be written.
    fn announce(&self, keys: &[S::Key]);
    /// Is told that the batch was written, or has failed, and which sketches it has removed.
    fn settle(&self, engine: &Engine, announced: &[S::Key], removed: &[S::Key]);
    /// Returns the numbers of the stored sketches within a distance, each once, with their distances, the nearest
    /// first and equally near ones in their order; some of them where the work was cut short.
    fn near(&self, engine: &Engine, ask: &Ask<'_, S>, work: &mut Work, stats: &mut QueryStats) -> Result<NearKeys<S>>;
    /// The same for many sketches at once without limits, each with what it has cost; for the first of them where much is
    /// near.
    fn near_all(
        &self,
        engine: &Engine,
        sketches: &[S],
        max_distance: u32,
        threads: usize,
    ) -> Result<NearMany<S, S::Key>>;
    /// The same for many sketches at once, which is cheaper; `work` has an entry for each.
    fn near_each(
        &self,
        engine: &Engine,
        sketches: &[S],
        max_distance: u32,
        work: &mut [Work],
    ) -> Result<Vec<NearKeys<S>>>;
}

/// The numbers of what is near a sketch, with the distances.
pub(crate) type NearKeys<S> = Vec<(u32, <S as sealed::Sealed>::Key)>;

/// What is near a sketch, and what it took to find it.
pub(crate) type NearOne<S> = (NearKeys<S>, QueryStats);

/// What is looked for, and how.
#[derive(Debug)]
pub(crate) struct Ask<'a, S> {
    pub(crate) sketch: &'a S,
    pub(crate) max_distance: u32,
    pub(crate) way: Way,
}

impl<'a, S> Ask<'a, S> {
    pub(crate) fn new(sketch: &'a S, max_distance: u32) -> Self {
        Self { sketch, max_distance, way: Way::Cheapest }
    }
}

/// How near sketches are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As is cheapest.
    Cheapest,
    /// By probes wherever they are possible, to test them.
    Probes,
    /// The same of the tables themselves, although they are in memory.
    Tables,
}
