//! What a thread of a child does, call by call. It follows from a seed and from what the thread has stored so
//! far, so whoever knows both works out the same calls.

use std::collections::BTreeMap;
use std::path::Path;

use nearstone::{Admission, Error, Fingerprint, NewDocument, SimhashStore};

use crate::common::Random;

/// Admissions look within this distance.
const MAX_DISTANCE: u32 = 3;

/// A thread has so many ids: few enough that most calls meet a stored document.
const IDS: u64 = 300;

/// What the tests know of a stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) sketch: Fingerprint,
    pub(super) payload: Vec<u8>,
}

pub(super) type Documents = BTreeMap<Vec<u8>, Content>;

/// Which calls a plan is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    All,
    /// Those that change documents one at a time.
    Single,
    /// Batches of documents with new ids, so that each is one write.
    NewBatches,
}

impl Choice {
    pub(super) const KNOWN: [Self; 3] = [Self::All, Self::Single, Self::NewBatches];
}

/// A document that asks for admission, and whether it gets it.
#[derive(Debug)]
pub(super) struct Candidate {
    id: Vec<u8>,
    content: Content,
    is_admitted: bool,
}

#[derive(Debug)]
pub(super) enum Call {
    Insert { id: Vec<u8>, content: Content, replaced: Option<Fingerprint> },
    Delete { id: Vec<u8>, removed: Option<Fingerprint> },
    Admit(Candidate),
    Batch(Vec<Candidate>),
    Flush,
    Checkpoint,
}

/// A document that is stored, or one that is deleted.
pub(super) type Change = (Vec<u8>, Option<Content>);

impl Call {
    /// Every [`Call::name`] that a plan of all calls has.
    pub(super) const NAMES: [&str; 8] =
        ["insert", "insert_with", "replace", "delete", "admission", "batch", "flush", "checkpoint"];

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Insert { replaced: Some(_), .. } => "replace",
            Self::Insert { content, .. } if content.payload.is_empty() => "insert",
            Self::Insert { .. } => "insert_with",
            Self::Delete { .. } => "delete",
            Self::Admit(_) => "admission",
            Self::Batch(_) => "batch",
            Self::Flush => "flush",
            Self::Checkpoint => "checkpoint",
        }
    }

    /// What the call changes, in the order in which it does.
    pub(super) fn changes(&self) -> Vec<Change> {
        let admitted = |candidate: &Candidate| {
            candidate.is_admitted.then(|| (candidate.id.clone(), Some(candidate.content.clone())))
        };
        match self {
            Self::Insert { id, content, .. } => vec![(id.clone(), Some(content.clone()))],
            Self::Delete { id, .. } => vec![(id.clone(), None)],
            Self::Admit(candidate) => admitted(candidate).into_iter().collect(),
            Self::Batch(candidates) => candidates.iter().filter_map(admitted).collect(),
            Self::Flush | Self::Checkpoint => Vec::new(),
        }
    }

    /// Makes the call, and looks whether the answer is the expected one.
    pub(super) fn make(&self, store: &SimhashStore, checkpoint: &Path) -> Result<(), Error> {
        match self {
            Self::Insert { id, content, replaced } => {
                assert_eq!(store.insert_with(id, &content.sketch, &content.payload)?, *replaced);
            }
            Self::Delete { id, removed } => assert_eq!(store.delete(id)?, *removed),
            Self::Admit(Candidate { id, content, is_admitted }) => {
                let answer = store.check_and_insert_with(id, &content.sketch, &content.payload, MAX_DISTANCE)?;
                assert_eq!(answer.is_admitted(), *is_admitted, "{answer:?}");
                assert_ne!(answer, Admission::Undecided);
            }
            Self::Batch(candidates) => {
                let documents = candidates.iter().map(|Candidate { id, content, .. }| {
                    NewDocument::new(id, content.sketch).payload(&content.payload)
                });
                let documents: Vec<_> = documents.collect();
                let answers = store.check_and_insert_batch(&documents, MAX_DISTANCE)?;
                let admitted: Vec<bool> = answers.iter().map(Admission::is_admitted).collect();
                assert_eq!(admitted, candidates.iter().map(|candidate| candidate.is_admitted).collect::<Vec<_>>());
            }
            Self::Flush => store.flush()?,
            Self::Checkpoint => store.checkpoint(checkpoint)?,
        }
        Ok(())
    }
}

/// The calls of a thread, and what they have stored so far.
pub(super) struct Plan {
    random: Random,
    thread: usize,
    choice: Choice,
    pub(super) documents: Documents,
}

impl Plan {
    /// The plan of a thread that begins with what a store holds.
    pub(super) fn new(seed: u64, thread: usize, choice: Choice, stored: &Documents) -> Self {
        let mut random = Random(seed);
        for _ in 0..thread {
            random.next();
        }
        Self { random: Random(random.next()), thread, choice, documents: of_thread(stored, thread) }
    }

    /// Makes up the next call. It counts as made once its changes are applied.
    pub(super) fn next_call(&mut self) -> Call {
        let chance = match self.choice {
            Choice::All => self.random.below(128),
            Choice::Single => self.random.below(100),
            Choice::NewBatches => 110,
        };
        match chance {
            0..50 => self.insert(),
            50..65 => self.delete(),
            65..100 => Call::Admit(self.candidate(&Documents::new())),
            100..126 => self.batch(),
            126 => Call::Flush,
            _ => Call::Checkpoint,
        }
    }

    pub(super) fn apply(&mut self, (id, content): Change) {
        match content {
            Some(content) => drop(self.documents.insert(id, content)),
            None => drop(self.documents.remove(&id)),
        }
    }

    fn insert(&mut self) -> Call {
        let (id, content) =
            (self.id(), Content { sketch: Fingerprint::new(self.random.next()), payload: self.payload() });
        let replaced = self.documents.get(&id).map(|document| document.sketch);
        Call::Insert { id, content, replaced }
    }

    fn delete(&mut self) -> Call {
        let id = self.id();
        let removed = self.documents.get(&id).map(|document| document.sketch);
        Call::Delete { id, removed }
    }

    fn batch(&mut self) -> Call {
        let mut admitted = Documents::new();
        let mut candidates = Vec::new();
        for _ in 0..=self.random.below(24) {
            let candidate = self.candidate(&admitted);
            if candidate.is_admitted {
                // A later one with the same id is near the earlier one no more.
                admitted.insert(candidate.id.clone(), candidate.content.clone());
            }
            candidates.push(candidate);
        }
        Call::Batch(candidates)
    }

    /// A document that is new, or, one time in four, near one that is stored or was admitted just now.
    fn candidate(&mut self, admitted: &Documents) -> Candidate {
        let (id, payload) = (self.id(), self.payload());
        let sketches = || {
            let earlier = self.documents.iter().filter(|(id, _)| !admitted.contains_key(*id));
            earlier.chain(admitted).map(|(_, document)| document.sketch)
        };
        let is_near_one = self.random.below(4) == 0;
        let flips = u32::try_from(self.random.below(u64::from(MAX_DISTANCE) + 1)).unwrap();
        let place = usize::try_from(self.random.below(sketches().count().max(1) as u64)).unwrap();
        let centre = sketches().nth(place).filter(|_| is_near_one);
        let sketch = match centre {
            Some(centre) => self.random.flipped(centre.bits(), flips),
            None => self.random.next(),
        };
        let sketch = Fingerprint::new(sketch);
        let is_admitted = sketches().all(|stored| stored.distance(sketch) > MAX_DISTANCE);
        Candidate { id, content: Content { sketch, payload }, is_admitted }
    }

    fn id(&mut self) -> Vec<u8> {
        let number = match self.choice {
            Choice::NewBatches => self.random.next(),
            Choice::All | Choice::Single => self.random.below(IDS),
        };
        [&[u8::try_from(self.thread).unwrap()], &number.to_be_bytes()[..]].concat()
    }

    /// Nothing half of the time.
    fn payload(&mut self) -> Vec<u8> {
        let length = self.random.below(400).saturating_sub(200);
        (0..length).map(|_| self.random.next().to_be_bytes()[0]).collect()
    }
}

/// The documents that belong to a thread: its number is the first byte of their ids.
pub(super) fn of_thread(documents: &Documents, thread: usize) -> Documents {
    let of_thread = documents.iter().filter(|(id, _)| usize::from(id[0]) == thread);
    of_thread.map(|(id, content)| (id.clone(), content.clone())).collect()
}
