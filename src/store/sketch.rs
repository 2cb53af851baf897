//! What a store needs of the sketches that it keeps.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::QueryStats;
use super::tables::Values;
use super::view::Layer;
use super::work::Work;
use crate::engine::{Batch, Engine, Handle};
use crate::format::Decoded;
use crate::format::record::Generations;
use crate::{Fingerprint, Result, TableDesign};

/// A kind of sketch that a [`Store`](crate::Store) can keep: [`Fingerprint`].
///
/// The trait is sealed: the bytes on disk depend on its implementations.
pub trait Sketch: sealed::Sealed {}

impl Sketch for Fingerprint {}

pub(crate) mod sealed {
    use std::sync::Arc;

    use super::{Debug, Fingerprint, Index};
    use crate::store::bulk::Background;
    use crate::store::shared::Shared;
    use crate::store::tables::Tables;

    #[expect(private_interfaces, reason = "nobody outside implements or calls it")]
    pub trait Sealed: Clone + Eq + Ord + Debug + Send + Sync + Sized + 'static {
        /// The name of the kind in the store record.
        const KIND: &'static str;
        /// The length of the encoded sketch.
        const BYTES: usize;
        /// The length of the identity.
        const IDENTITY_BYTES: usize;
        type Encoded: AsRef<[u8]>;
        #[expect(private_bounds, reason = "nobody outside implements or calls it")]
        type Index: Index<Self>;

        /// The bytes of the sketch in a document.
        fn encode(&self) -> Self::Encoded;
        /// The sketch of `BYTES` bytes.
        fn decode(bytes: &[u8]) -> Option<Self>;
        /// In how many places two sketches differ.
        fn distance_to(&self, other: &Self) -> u32;
        /// The bytes by which equal sketches are found: equal for equal sketches only.
        fn identity(&self) -> Self::Encoded;
        /// The sketch with an identity, where that tells it.
        fn of_identity(bytes: &[u8]) -> Option<Self>;
        /// Seals the live documents in another thread, if there are many.
        fn seal_in_background(background: &Background, store: &Arc<Shared<Self>>)
        where
            Self: super::Sketch;
    }

    impl Sealed for Fingerprint {
        const KIND: &'static str = "simhash64";
        const BYTES: usize = 8;
        const IDENTITY_BYTES: usize = 8;
        type Encoded = [u8; 8];
        type Index = Tables;

        fn encode(&self) -> [u8; 8] {
            self.to_be_bytes()
        }

        fn decode(bytes: &[u8]) -> Option<Self> {
            Some(Self::from_be_bytes(bytes.try_into().ok()?))
        }

        fn distance_to(&self, other: &Self) -> u32 {
            self.distance(*other)
        }

        fn identity(&self) -> [u8; 8] {
            self.to_be_bytes()
        }

        fn of_identity(bytes: &[u8]) -> Option<Self> {
            Self::decode(bytes)
        }

        #[expect(private_interfaces, reason = "nobody outside implements or calls it")]
        fn seal_in_background(background: &Background, store: &Arc<Shared<Self>>) {
            background.look(store);
        }
    }
}

/// The families in which a kind of sketch is found by nearness. They hold distinct sketches and are
/// hints: what they yield counts only if a document holds it.
pub(crate) trait Index<S>: Sized + Send + Sync {
    /// Finds the families of generations, of which the live and the frozen one say whether they are used;
    /// `before` is the index that this one takes the place of.
    fn open(
        engine: &Engine,
        design: &TableDesign,
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
    /// Returns the sketch of a value of a table.
    fn sketch(&self, table: usize, value: u64) -> S;
    /// Returns the value of a sketch in a table.
    fn value(&self, table: usize, sketch: &S) -> u64;
    /// Whether a generation with keys may have a sketch; false only where it does not.
    fn may_have(&self, layer: Layer, sketch: &S) -> bool;
    /// Returns the identity of the sketch of an entry of a family.
    fn identity(&self, family: usize, key: &[u8]) -> Decoded<impl AsRef<[u8]>>;
    /// Returns the key of the entry of a sketch in a family; `None` where no sketch has the identity.
    fn key(&self, family: usize, identity: &[u8]) -> Option<impl AsRef<[u8]>>;
    /// The bytes of memory in which it keeps what was read.
    fn cached_bytes(&self) -> u64;
    /// Adds sketches to the live generation in the batch.
    fn put(&self, batch: &mut Batch<'_>, sketches: &[S]);
    /// Removes a sketch from the live generation in the batch.
    fn delete(&self, batch: &mut Batch<'_>, sketch: &S);
    /// Is told which sketches are put by a batch that is about to be written.
    fn announce(&self, sketches: &[S]);
    /// Is told that the batch was written, or has failed, and which sketches it has removed.
    fn settle(&self, engine: &Engine, announced: &[S], removed: &[S]);
    /// Returns the stored sketches within a distance, each once, with their distances, the nearest
    /// first and equally near ones in their order; some of them where the work was cut short.
    fn near(&self, engine: &Engine, ask: &Ask<'_, S>, work: &mut Work, stats: &mut QueryStats)
    -> Result<Vec<(u32, S)>>;
    /// The same for many sketches at once without limits, each with what it has cost; for the first of them where much is
    /// near.
    fn near_all(&self, engine: &Engine, sketches: &[S], max_distance: u32, threads: usize) -> Result<Vec<NearOne<S>>>;
    /// The same for many sketches at once, which is cheaper; `work` has an entry for each.
    fn near_each(
        &self,
        engine: &Engine,
        sketches: &[S],
        max_distance: u32,
        work: &mut [Work],
    ) -> Result<Vec<Vec<(u32, S)>>>;
}

/// What is near a sketch, with the distances, and what it took to find it.
pub(crate) type NearOne<S> = (Vec<(u32, S)>, QueryStats);

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
