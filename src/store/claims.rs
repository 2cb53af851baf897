//! Who may change what at the same time.
//!
//! Near-duplicates must be admitted one after the other, and everything else side by side. So a call says
//! beforehand what its outcome depends on, and waits only for earlier calls that could change it.
//!
//! 1. A *claim* names the ids that a call may change and the sketches that it writes, removes or looks near,
//!    each with the distance within which it looks.
//! 2. Two claims conflict if they share an id, or if a sketch of the one lies within the larger of both
//!    distances of a sketch of the other. Claims of readers do not conflict with each other.
//! 3. Claims are numbered as they come. A claim is held as soon as no earlier one that conflicts with it is
//!    left. So no two claims that conflict are held at once, and since a claim waits for smaller numbers
//!    only, none waits for itself and each gets its turn. A thread that holds a claim makes no other one.
//! 4. A call reads after it holds its claim, with cursors that are refreshed then, and gives the claim up
//!    after its batch is written. So it sees every write of the earlier claims that conflict with it.
//! 5. Of two documents within the distance of one of their admissions, the claims conflict (2), so one of
//!    them is later (3), and it sees the other (4): it is no moment possible at which both were admitted
//!    unseen.
//! 6. A change is numbered before its batch is written and settled after. A query that began after change n
//!    was settled, and at whose end no change beyond n was near it, has seen one state of everything
//!    near it, although it has read the tables one after the other.
//!
//! The lock of the list is held for some comparisons of 64 bits, never while anything is read or written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use super::sketch::Sketch;
use super::sync::{Condvar, Mutex, MutexGuard};

/// How many changes are remembered; a query during which there are more asks again.
const REMEMBERED: usize = 256;

/// Sketches, each with the distance within which it is looked for. Two in place: that of a document and the one
/// that it replaces.
type Sketches<S> = SmallVec<[(S, u32); 2]>;

/// What the outcome of a call depends on, and what it may change.
#[derive(Clone, Debug)]
pub(super) struct Claim<S> {
    /// The hashes of the ids; two ids with one hash wait for each other without need.
    ids: SmallVec<[u64; 1]>,
    sketches: Sketches<S>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Writer,
    Reader,
    /// Conflicts with every writer.
    Standstill,
}

impl<S: Sketch> Claim<S> {
    /// Claims the change of documents, by the hashes of their ids.
    pub(super) fn on(ids: impl IntoIterator<Item = u64>) -> Self {
        Self { ids: ids.into_iter().collect(), sketches: SmallVec::new(), kind: Kind::Writer }
    }

    /// Claims a sketch too, and all within a distance.
    pub(super) fn and(mut self, sketch: &S, distance: u32) -> Self {
        self.sketches.push((sketch.clone(), distance));
        self
    }

    /// Keeps writers away from everything within a distance.
    pub(super) fn reading(sketch: &S, distance: u32) -> Self {
        Self { ids: SmallVec::new(), sketches: SmallVec::from_iter([(sketch.clone(), distance)]), kind: Kind::Reader }
    }

    /// Keeps all writers away.
    pub(super) fn standstill() -> Self {
        Self { ids: SmallVec::new(), sketches: SmallVec::new(), kind: Kind::Standstill }
    }

    fn conflicts(&self, other: &Self) -> bool {
        match (self.kind, other.kind) {
            (Kind::Standstill, kind) | (kind, Kind::Standstill) => kind == Kind::Writer,
            (Kind::Reader, Kind::Reader) => false,
            _ => {
                self.ids.iter().any(|id| other.ids.contains(id))
                    || self.sketches.iter().any(|(a, within)| {
                        other.sketches.iter().any(|(b, distance)| a.distance_to(b) <= *within.max(distance))
                    })
            }
        }
    }
}

/// The claims that are held or waited for.
#[derive(Debug)]
pub(super) struct Claims<S> {
    list: Mutex<List<S>>,
    /// The number of the latest change.
    changes: AtomicU64,
    /// All changes up to this number are written.
    settled: AtomicU64,
}

#[derive(Debug)]
struct List<S> {
    next: u64,
    /// In the order of their numbers.
    entries: Vec<Entry<S>>,
    /// The numbers and sketches of the latest changes, in the order of the numbers.
    latest: VecDeque<(u64, Sketches<S>)>,
    /// What waiters wait on, kept for the next ones.
    idle: Vec<Arc<Condvar>>,
}

#[derive(Debug)]
struct Entry<S> {
    number: u64,
    claim: Claim<S>,
    /// How many earlier claims conflict with it.
    before: usize,
    change: Option<u64>,
    granted: Arc<Condvar>,
}

/// A moment: all changes up to this number were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment(u64);

impl<S> Default for Claims<S> {
    fn default() -> Self {
        let list =
            List { next: 0, entries: Vec::new(), latest: VecDeque::with_capacity(REMEMBERED + 1), idle: Vec::new() };
        Self { list: Mutex::new(list), changes: AtomicU64::new(0), settled: AtomicU64::new(0) }
    }
}

impl<S: Sketch> Claims<S> {
    /// Waits until a claim is held; it is given up when the result is dropped.
    pub(super) fn hold(&self, claim: Claim<S>) -> Held<'_, S> {
        let mut list = self.list();
        let number = list.next;
        list.next += 1;
        let before = list.entries.iter().filter(|entry| entry.claim.conflicts(&claim)).count();
        let granted = list.idle.pop().unwrap_or_default();
        list.entries.push(Entry { number, claim, before, change: None, granted: Arc::clone(&granted) });
        while list.entries[list.place(number)].before > 0 {
            list = granted.wait(list).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        Held { claims: self, number }
    }

    pub(super) fn now(&self) -> Moment {
        Moment(self.settled.load(Ordering::SeqCst))
    }

    /// Whether something that matters may have changed since a moment.
    pub(super) fn changed(&self, since: Moment, matters: impl Fn(&S) -> bool) -> bool {
        if self.changes.load(Ordering::SeqCst) == since.0 {
            return false;
        }
        let list = self.list();
        let later = self.changes.load(Ordering::SeqCst) - since.0;
        let remembered = list.latest.iter().rev().take_while(|(number, _)| *number > since.0);
        later > list.latest.len() as u64
            || remembered.into_iter().any(|(_, sketches)| sketches.iter().any(|(sketch, _)| matters(sketch)))
    }

    fn list(&self) -> MutexGuard<'_, List<S>> {
        // A thread that panicked while it held a claim has written its batch or not: nothing is half done.
        self.list.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl<S> List<S> {
    fn place(&self, number: u64) -> usize {
        self.entries
            .binary_search_by_key(&number, |entry| entry.number)
            .expect("a claim is listed until it is given up")
    }
}

/// A claim that is held.
pub(super) struct Held<'a, S: Sketch> {
    claims: &'a Claims<S>,
    number: u64,
}

impl<S: Sketch> Held<'_, S> {
    /// Says that a batch is about to be written.
    pub(super) fn changing(&self) {
        let mut list = self.claims.list();
        let place = list.place(self.number);
        let change = self.claims.changes.load(Ordering::SeqCst) + 1;
        list.entries[place].change = Some(change);
        let sketches = list.entries[place].claim.sketches.clone();
        list.latest.push_back((change, sketches));
        if list.latest.len() > REMEMBERED {
            list.latest.pop_front();
        }
        self.claims.changes.store(change, Ordering::SeqCst);
    }
}

impl<S: Sketch> Drop for Held<'_, S> {
    fn drop(&mut self) {
        let mut list = self.claims.list();
        let place = list.place(self.number);
        let ended = list.entries.remove(place);
        for waiting in &mut list.entries[place..] {
            if waiting.claim.conflicts(&ended.claim) {
                waiting.before -= 1;
                if waiting.before == 0 {
                    waiting.granted.notify_one();
                }
            }
        }
        if ended.change.is_some() {
            let under_way = list.entries.iter().filter_map(|entry| entry.change).min();
            let settled = under_way.map_or_else(|| self.claims.changes.load(Ordering::SeqCst), |first| first - 1);
            self.claims.settled.store(settled, Ordering::SeqCst);
        }
        list.idle.push(ended.granted);
    }
}
