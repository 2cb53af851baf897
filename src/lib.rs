//! An embedded, persistent near-duplicate store: every stored document within k bits, found with a
//! handful of prefix seeks, larger than RAM.
//!
//! A document becomes a [`Fingerprint`], 64 bits of which similar documents share most (or a MinHash [`Signature`]). A [`Store`] keeps
//! the fingerprints of very many documents on disk and answers, exactly: which of them differ from this
//! one in at most k bits? Crawlers ask and store in one step, from many threads:
//!
//! ```
//! use nearstone::{Admission, Options, SimhashStore, TableDesign};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("seen");
//! let store = SimhashStore::open_or_create(&path, &TableDesign::default(), &Options::default())?;
//! let pages = [
//!     ("https://example.org/a", "Breaking: the river has risen by two metres since Monday, and the bridge is closed."),
//!     ("https://example.org/b", "breaking: the river has risen by two metres since Monday and the bridge is closed"),
//!     ("https://example.org/c", "The museum of clocks opens its doors again on Sunday, after three years of repairs."),
//!     ("https://example.org/d", "..."),
//! ];
//! let mut admitted = vec![];
//! for (url, text) in pages {
//!     match store.check_and_insert_text(url, text, 3)? {
//!         Some(Admission::Admitted) => admitted.push(url),
//!         Some(Admission::Duplicate(of)) => println!("{url} is {} bits from {}", of.distance, of.id_lossy()),
//!         _ => println!("{url} has no text"),
//!     }
//! }
//! assert_eq!(admitted, ["https://example.org/a", "https://example.org/c"]);
//! assert_eq!(store.query_text(pages[1].1, 3)?.unwrap().nearest().unwrap().id_lossy(), pages[0].0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The types
//!
//! | to | use |
//! |---|---|
//! | keep documents and find near ones | [`SimhashStore`], which is [`Store`]`<`[`Fingerprint`]`>`, with [`Options`] |
//! | keep signatures, and find similar ones | [`MinhashStore`], of a [`MinhashDesign`]; [`SignaturePairs`] |
//! | choose what a call survives, and how much it may do | [`Durability`], [`Limits`] |
//! | store many at once, with payloads | [`NewDocument`] |
//! | load a whole corpus, or what another machine has sorted | [`BulkLoader`] with [`LoadOptions`] and [`LoadReport`] |
//! | find all near pairs of a store, or of two | [`Store::pairs`] and [`Store::pairs_with`] with [`PairOptions`]: [`Pairs`] of [`Pair`] |
//! | choose disk against reads | [`TableDesign`], its [`Table`]s and the [`Probes`] of a distance; [`Planner`] |
//! | read answers | [`Matches`] of [`Match`], [`Admission`], [`Document`] and their iterators [`Documents`] and [`ByFingerprint`], [`Stats`] with [`Reads`], [`QueryStats`], [`Diagnosis`], [`Verification`] |
//! | make fingerprints of texts | [`Simhash`] and its [`Analyser`], by [`Preset`] or of parts with [`Weights`] and [`Language`]; [`TextSketch`] says what became of a text; of your own features: [`simhash`](fn@simhash), [`feature_hash`] |
//! | make signatures of texts, and estimate Jaccard indices | [`Minhash`], whose scheme is [`MINHASH`], and [`Signature`]; [`BandDesign`] with [`BandPlanner`] and [`BandPlan`] |
//! | move an index of datasketch | [`datasketch`] |
//! | weigh features by how rare they are in a corpus | [`Frequencies`] and their [`FrequencyCounter`] |
//! | read files | [`input`], with the feature `input` |
//! | make texts of web pages | [`html`], with the feature `html` |
//! | handle failures | [`Error`] and its [`ErrorKind`] |
//!
//! # What it is not
//!
//! Not a server: one process writes to a store, with any number of threads; others read checkpoints of it.
//! Not semantic: two texts are near if they share most of their words in order. And a distance of 3 bits
//! is strict, the texts are practically the same: `docs/design.md` says what simhash finds at which
//! distance.
//!
//! # Features
//!
//! `cli` (default) builds the program `nearstone`, `input` the readers of files, and `html` finds the texts of web
//! pages; `languages` has stop words and stems; `cli` turns these on. `icu` and `jieba` cut scripts without spaces into the words of dictionaries. A library user turns the default features off and gets neither's dependencies.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod clock;
pub mod datasketch;
mod design;
mod engine;
mod error;
mod fingerprint;
mod format;
mod frequencies;
mod hash;
#[cfg(feature = "html")]
pub mod html;
#[cfg(feature = "input")]
pub mod input;
mod isa;
mod minhash;
mod near;
mod overlap;
mod packed;
mod page;
mod permutation;
mod signature;
mod simhash;
mod spread;
mod store;
mod sums;
mod text;
#[doc(hidden)]
pub mod yardstick;

pub use design::{
    Aim, BandDesign, BandPlan, BandPlanner, MinhashDesign, Plan, PlannedQuery, Planner, Probes, Table, TableDesign,
};
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use format::{MAX_ID_BYTES, MAX_PAYLOAD_BYTES};
pub use frequencies::FrequencyCounter;
pub use hash::{FEATURE_HASH, feature_hash};
pub use minhash::{MINHASH, Minhash};
pub use permutation::Permutation;
pub use signature::Signature;
pub use simhash::{Simhash, TextSketch, simhash};
pub use store::{
    Admission, BitReport, BulkLoader, ByFingerprint, Diagnosis, Document, Documents, Durability, Limits, LoadOptions,
    LoadReport, Match, Matches, MinhashStore, NewDocument, Options, Pair, PairOptions, Pairs, Progress, QueryStats,
    Reads, Repair, SelfTest, SignaturePairs, SimhashStore, Sketch, Stats, Store, TableReport, TableStats, Verification,
};
pub use text::{Analyser, Frequencies, FrequenciesError, Language, ParseAnalyserError, Preset, Weights};
