//! Random sequences of every operation, against a map in memory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use super::super::walk::{Lifetime, Walk};
use super::{flipped, value};
use crate::store::sketch::sealed::Sealed;
use crate::{
    Admission, BandDesign, BulkLoader, Fingerprint, Limits, LoadOptions, Match, MinhashDesign, NewDocument, Options,
    Signature, SimhashStore, Sketch, Store, TableDesign,
};

/// Sequences in each of the tests of fingerprints.
const SEQUENCES: u64 = 5_000;
/// The same of signatures, which have fewer operations.
const SIGNATURE_SEQUENCES: u64 = 3_000;
const OPERATIONS: u64 = 20;
const RETENTION: Duration = Duration::from_secs(60 * 60);

/// A kind of sketch, each made of 64 bits.
trait Kind: Sized {
    type Sketch: Sketch;

    fn design() -> <Self::Sketch as Sealed>::Design;
    fn sketch(bits: u64) -> Self::Sketch;
    fn bits(sketch: &Self::Sketch) -> u64;
    /// The distance, if the one is found by the other.
    fn distance(a: u64, b: u64) -> Option<u32>;
    fn change_generations(_model: &mut Model<Self>, _sequence: u64, _choice: u64) {}
    fn repair(_model: &mut Model<Self>) {}
}

/// Fingerprints of the bits.
struct Prints;

impl Kind for Prints {
    type Sketch = Fingerprint;

    fn design() -> TableDesign {
        TableDesign::default()
    }

    fn sketch(bits: u64) -> Fingerprint {
        Fingerprint::new(bits)
    }

    fn bits(sketch: &Fingerprint) -> u64 {
        sketch.bits()
    }

    fn distance(a: u64, b: u64) -> Option<u32> {
        Some((a ^ b).count_ones())
    }

    fn change_generations(model: &mut Model<Self>, sequence: u64, choice: u64) {
        model.change_generations(sequence, choice);
    }

    fn repair(model: &mut Model<Self>) {
        model.repair();
    }
}

/// Signatures of 16 rows of 4 of the bits, in 4 bands.
struct Signatures;

impl Kind for Signatures {
    type Sketch = Signature;

    fn design() -> MinhashDesign {
        MinhashDesign::new(BandDesign::new(4, 4).unwrap()).unwrap().with_rows(16).unwrap()
    }

    fn sketch(bits: u64) -> Signature {
        Signature::new((0..16).map(|row| u32::try_from(bits >> (60 - 4 * row) & 15).unwrap()).collect::<Vec<_>>())
            .unwrap()
    }

    fn bits(sketch: &Signature) -> u64 {
        sketch.rows().iter().fold(0, |bits, &row| bits << 4 | u64::from(row))
    }

    fn distance(a: u64, b: u64) -> Option<u32> {
        let rows = (0..16).filter(|row| (a ^ b) >> (4 * row) & 15 != 0).count();
        let is_met = (0..4).any(|band| (a ^ b) >> (16 * band) << 48 == 0);
        is_met.then_some(u32::try_from(rows).unwrap())
    }
}

/// A document as the model knows it.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    sketch: u64,
    time: u64,
    payload: Vec<u8>,
}

struct Model<K: Kind> {
    dir: tempfile::TempDir,
    store: Option<Store<K::Sketch>>,
    documents: BTreeMap<Vec<u8>, Known>,
    retention: Option<u64>,
    now: u64,
    random: u64,
    checkpoints: u32,
    /// What each sequence has done, for the message of a failure.
    log: Vec<String>,
}

impl<K: Kind> Model<K> {
    fn new(retention: Option<Duration>) -> Self {
        // Hundreds of generations are made and dropped, which is mostly waiting for a medium.
        let memory = std::path::Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let mut model = Self {
            dir,
            store: None,
            documents: BTreeMap::new(),
            retention: retention.map(|r| u64::try_from(r.as_millis()).unwrap()),
            // Later than any clock: what compactions drop before a test has set the time has not expired by it.
            now: 4_000_000_000_000,
            random: 1,
            checkpoints: 0,
            log: vec![],
        };
        let created = Store::<K::Sketch>::create(model.path(), &K::design(), &model.options()).unwrap();
        drop(created);
        model.open();
        model
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    fn options(&self) -> Options {
        let options = Options::new().cache_bytes(4 << 20).write_buffer_bytes(4 << 20);
        self.retention.map_or(options.clone(), |millis| options.retention(Duration::from_millis(millis)))
    }

    fn open(&mut self) {
        self.store = None;
        self.store = Some(Store::open(self.path(), &self.options()).unwrap());
        self.set_time();
    }

    fn set_time(&self) {
        self.store().shared.clock.set(self.now);
    }

    fn store(&self) -> &Store<K::Sketch> {
        self.store.as_ref().expect("it is open")
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random += 1;
        value(self.random) % bound
    }

    fn live(&self, id: &[u8]) -> Option<&Known> {
        let is_live = |known: &&Known| self.retention.is_none_or(|retention| known.time + retention > self.now);
        self.documents.get(id).filter(is_live)
    }

    /// The live documents of the sequence within a distance, by distance and id. Those of other sequences
    /// lie far away.
    fn near(&self, sequence: u64, sketch: u64, max_distance: u32) -> Vec<(u32, Vec<u8>)> {
        let ids = (0..IDS).map(|n| id(sequence, n));
        let distance = |id: &Vec<u8>| self.live(id).and_then(|known| K::distance(known.sketch, sketch));
        let near = ids.filter_map(|id| distance(&id).filter(|&d| d <= max_distance).map(|d| (d, id)));
        let mut near: Vec<_> = near.collect();
        near.sort();
        near
    }

    /// What an admission must answer; stores the document where it is admitted.
    fn admit(&mut self, sequence: u64, id: &[u8], sketch: u64, payload: &[u8], max_distance: u32) -> Admission {
        if let Some((distance, id)) = self.near(sequence, sketch, max_distance).into_iter().next() {
            let similarity = self.store().shared.similarity(distance);
            return Admission::Duplicate(Match { distance, id, similarity });
        }
        self.put(id, sketch, payload);
        Admission::Admitted
    }

    fn put(&mut self, id: &[u8], sketch: u64, payload: &[u8]) {
        self.documents.insert(id.to_owned(), Known { sketch, time: self.now, payload: payload.to_owned() });
    }

    fn sketch(&mut self, sequence: u64) -> u64 {
        let (centre, flips, seed) = (self.below(2), self.below(7), self.below(4));
        flipped(value(sequence * 2 + centre + 1_000_000), u32::try_from(flips).unwrap(), seed)
    }

    fn payload(&mut self) -> Vec<u8> {
        let length = self.below(4);
        vec![7; usize::try_from(length.saturating_sub(1)).unwrap()]
    }

    fn step(&mut self, sequence: u64) {
        let n = self.below(IDS);
        let id = id(sequence, n);
        let sketch = self.sketch(sequence);
        let print = K::sketch(sketch);
        let payload = self.payload();
        let distance = u32::try_from(self.below(8)).unwrap();
        let choice = self.below(10_000);
        self.log.push(format!("{choice} {n} {sketch:016x} {distance} {payload:?} {}", self.now));
        match choice {
            0..2000 => {
                let old = self.live(&id).cloned();
                let answer = self.store().insert_with(&id, &print, &payload).unwrap();
                assert_eq!(answer, old.as_ref().map(|old| K::sketch(old.sketch)));
                if old.is_none_or(|old| old.sketch != sketch || old.payload != payload) {
                    self.put(&id, sketch, &payload);
                }
            }
            2000..4000 => {
                let answer = self.store().check_and_insert_with(&id, &print, &payload, distance).unwrap();
                assert_eq!(answer, self.admit(sequence, &id, sketch, &payload, distance));
            }
            4000..5000 => {
                let count = self.below(10) + 1;
                let batch: Vec<_> = (0..count)
                    .map(|_| (self::id(sequence, self.below(IDS)), self.sketch(sequence), self.payload()))
                    .collect();
                let documents: Vec<_> = batch
                    .iter()
                    .map(|(id, sketch, payload)| NewDocument::new(id, K::sketch(*sketch)).payload(payload))
                    .collect();
                let answers = self.store().check_and_insert_batch(&documents, distance).unwrap();
                let one_by_one: Vec<_> = batch
                    .iter()
                    .map(|(id, sketch, payload)| self.admit(sequence, id, *sketch, payload, distance))
                    .collect();
                assert_eq!(answers, one_by_one);
            }
            5000..6000 => {
                let old = self.live(&id).map(|old| K::sketch(old.sketch));
                assert_eq!(self.store().delete(&id).unwrap(), old);
                self.documents.remove(&id);
            }
            6000..8000 => {
                let answer = self.store().query(&print, distance).unwrap();
                let near = self.near(sequence, sketch, distance);
                let found: Vec<_> = answer.iter().map(|m| (m.distance, m.id.clone())).collect();
                assert_eq!(found, near);
                let most = usize::try_from(self.below(4)).unwrap();
                let first = self.store().with_limits(Limits::new().max_matches(most)).query(&print, distance).unwrap();
                assert_eq!(first.is_truncated(), near.len() > most);
                assert_eq!(first.as_slice(), &answer.as_slice()[..most.min(near.len())]);
            }
            8000..9000 => self.assert_stored(&id),
            9000..9600 => {
                let ids: Vec<Vec<u8>> = (0..IDS).map(|n| self::id(sequence, n)).collect();
                for id in &ids {
                    self.assert_stored(id);
                }
            }
            9600..9621 => K::change_generations(self, sequence, choice),
            9621..9880 => {
                self.now += self.below(40 * 60 * 1000);
                self.set_time();
            }
            9880..9920 => {
                self.store().expire(|_| ControlFlow::Continue(())).unwrap();
            }
            9920..9950 => self.store().flush().unwrap(),
            9950..9960 => self.store().compact().unwrap(),
            9960..9980 => self.open(),
            9980..9985 => {
                self.checkpoints += 1;
                let path = self.dir.path().join(format!("copy{}", self.checkpoints));
                self.store().checkpoint(&path).unwrap();
                let copy = Store::open_read_only(&path, &self.options()).unwrap();
                copy.shared.clock.set(self.now);
                self.assert_all(&copy);
                drop(copy);
                std::fs::remove_dir_all(path).unwrap();
            }
            9985..9990 => K::repair(self),
            _ => self.assert_all(self.store()),
        }
    }

    /// How many documents are on disk, expired ones too.
    fn on_disk(&self) -> u64 {
        let shared = &self.store().shared;
        let lifetime = Lifetime { retention_millis: None, now: 0 };
        let mut walk = Walk::of(&shared.engine, &*shared.view(), lifetime);
        let mut count = 0;
        while walk.next().unwrap().is_some() {
            count += 1;
        }
        count
    }

    fn assert_stored(&self, id: &[u8]) {
        let stored = self.store().get(id).unwrap();
        let stored = stored.map(|document| Known {
            sketch: K::bits(&document.sketch),
            time: u64::try_from(document.stored_at.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap(),
            payload: document.payload,
        });
        assert_eq!(stored.as_ref(), self.live(id));
    }

    /// Every document is there, nothing else is, and the families agree.
    fn assert_all(&self, store: &Store<K::Sketch>) {
        let stored = store.iter().unwrap().map(|document| document.unwrap());
        let stored: Vec<_> =
            stored.map(|document| (document.id, K::bits(&document.sketch), document.payload)).collect();
        let live = self.documents.iter().filter(|(id, _)| self.live(id).is_some());
        let live: Vec<_> = live.map(|(id, known)| (id.clone(), known.sketch, known.payload.clone())).collect();
        assert_eq!(stored, live);
        let found = store.verify(|_| ControlFlow::Continue(())).unwrap();
        assert!(found.is_sound(), "{found:?}");
        assert_eq!(found.documents, live.len() as u64);
    }
}

impl Model<Prints> {
    fn change_generations(&mut self, sequence: u64, choice: u64) {
        match choice {
            9600..9612 => self.load(sequence),
            9612..9618 => {
                self.store().seal(&load_options(), |_| ControlFlow::Continue(())).unwrap();
            }
            9618..9620 => {
                // Only the live ones are set aside, as when a seal was stopped.
                let stopped = self.store().seal(&load_options(), |_| ControlFlow::Break(()));
                let was_unused = stopped.is_ok_and(|report| report.documents == 0);
                assert!(was_unused || self.store().shared.view().frozen.is_some());
            }
            _ => self.export_and_import(),
        }
    }

    /// Loads some documents, ids that come twice and stored ones among them.
    fn load(&mut self, sequence: u64) {
        let mut loader = self.store().bulk_loader(&load_options()).unwrap();
        let count = self.below(8);
        let mut taken = vec![];
        let mut later: Vec<(Vec<u8>, Option<Known>)> = vec![];
        for _ in 0..count {
            let id = id(sequence, self.below(IDS));
            let (sketch, payload) = (self.sketch(sequence), self.payload());
            loader.push_with(&id, &Fingerprint::new(sketch), &payload).unwrap();
            taken.push((id, sketch, payload));
        }
        for _ in 0..self.below(3) {
            // What is stored or removed while a load is under way is newer.
            let (id, sketch) = (id(sequence, self.below(IDS)), self.sketch(sequence));
            let old = self.live(&id).cloned();
            if self.below(2) == 0 {
                let known = later
                    .iter()
                    .rev()
                    .find(|(other, _)| *other == id)
                    .map(|(_, known): &(_, Option<Known>)| known.clone());
                let expected = known.unwrap_or(old).map(|known| Fingerprint::new(known.sketch));
                assert_eq!(self.store().delete(&id).unwrap(), expected);
                later.push((id, None));
            } else {
                // Often what is there already.
                let (sketch, payload) = match old.filter(|_| self.below(2) == 0) {
                    Some(old) => (old.sketch, old.payload),
                    None => (sketch, vec![]),
                };
                self.store().insert_with(&id, &Fingerprint::new(sketch), &payload).unwrap();
                let stored = self.store().get(&id).unwrap().unwrap();
                let time = u64::try_from(stored.stored_at.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis());
                later.push((id, Some(Known { sketch, time: time.unwrap(), payload })));
            }
        }
        if self.below(10) == 0 {
            drop(loader);
            taken.clear();
        } else {
            loader.commit(|_| ControlFlow::Continue(())).unwrap();
        }
        for (id, sketch, payload) in taken {
            self.put(&id, sketch, &payload);
        }
        for (id, known) in later {
            match known {
                Some(known) => drop(self.documents.insert(id, known)),
                None => drop(self.documents.remove(&id)),
            }
        }
    }

    /// Takes all documents to a new store, by a load or by page files, and goes on with that.
    fn export_and_import(&mut self) {
        let to = self.dir.path().join("imported");
        let pages = self.dir.path().join("pages");
        drop(SimhashStore::create(&to, &TableDesign::default(), &self.options()).unwrap());
        let imported = SimhashStore::open(&to, &self.options()).unwrap();
        imported.shared.clock.set(self.now);
        let by_pages = self.below(2) == 0;
        let mut loader = if by_pages {
            BulkLoader::to_pages(&pages, &TableDesign::default(), self.retention.is_some(), &load_options()).unwrap()
        } else {
            imported.bulk_loader(&load_options()).unwrap()
        };
        for document in self.store().iter().unwrap() {
            loader.push_document(&document.unwrap()).unwrap();
        }
        loader.commit(|_| ControlFlow::Continue(())).unwrap();
        if by_pages {
            imported.load_pages(&pages, &load_options(), |_| ControlFlow::Continue(())).unwrap();
            std::fs::remove_dir_all(pages).unwrap();
        }
        self.assert_all(&imported);
        drop(imported);
        self.store = None;
        std::fs::remove_dir_all(self.path()).unwrap();
        std::fs::rename(to, self.path()).unwrap();
        self.open();
    }

    fn repair(&mut self) {
        let kept = self.on_disk();
        self.store = None;
        let repaired = SimhashStore::repair(self.path(), &self.options(), |_| ControlFlow::Continue(())).unwrap();
        // A compaction may have dropped some that have expired since they were counted.
        let live = self.documents.keys().filter(|id| self.live(id).is_some()).count() as u64;
        assert!((live..=kept).contains(&repaired.documents), "{repaired:?} of {live} to {kept}");
        self.open();
    }
}

const IDS: u64 = 6;

fn load_options() -> LoadOptions {
    LoadOptions::new().memory_bytes(8 << 20)
}

fn id(sequence: u64, n: u64) -> Vec<u8> {
    format!("{sequence}/{n}").into_bytes()
}

fn run<K: Kind>(retention: Option<Duration>, sequences: u64) {
    let mut model = Model::<K>::new(retention);
    for sequence in 0..sequences {
        model.log.clear();
        for _ in 0..OPERATIONS {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.step(sequence)));
            if let Err(panic) = outcome {
                eprintln!("sequence {sequence}:\n{}", model.log.join("\n"));
                std::panic::resume_unwind(panic);
            }
        }
    }
    model.assert_all(model.store());
    model.open();
    model.assert_all(model.store());
}

#[test]
fn sequences_of_all_operations_do_what_a_map_does() {
    run::<Prints>(None, SEQUENCES);
}

#[test]
fn sequences_with_a_retention_do_what_a_map_does() {
    run::<Prints>(Some(RETENTION), SEQUENCES);
}

#[test]
fn sequences_on_signatures_do_what_a_map_does() {
    run::<Signatures>(None, SIGNATURE_SEQUENCES);
}

#[test]
fn sequences_on_signatures_with_a_retention_do_what_a_map_does() {
    run::<Signatures>(Some(RETENTION), SIGNATURE_SEQUENCES);
}
