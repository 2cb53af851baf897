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
//!    only, none waits for itself and each is held in the end. A thread that holds a claim makes no other
//!    one; who finds that it needs more gives its claim up and makes a larger one, with a later number.
//! 4. A call reads after it holds its claim, with cursors that are refreshed then, and gives the claim up
//!    after its batch is written. So it sees every write of the earlier claims that conflict with it.
//! 5. Of two documents within the distance of one of their admissions, the claims conflict (2), so one of
//!    them is later (3), and it sees the other (4): they are never both admitted unseen.
//! 6. A query is on the list of watches from before its first look until after its last. A change marks the
//!    watches that it is near before its batch is written; a watch that begins while such a change is under
//!    way is marked from the beginning. So a query whose watch is not marked has seen one state of
//!    everything near it, although it has read the tables one after the other. A record does the same for many
//!    queries: a change adds its sketches to it, and the queries compare themselves with them.
//! 7. Watches are listed by threads, so that queries do not wait for each other. A watch is listed first and then looks
//!    whether a change is under way; a change says that it is under way first and then marks the lists. So one of them
//!    sees the other.
//!
//! The locks of the lists are held while sketches are compared, never while anything is read or written.

use std::sync::Arc;

use smallvec::SmallVec;

use super::sketch::Sketch;
use super::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError, thread_number};
use crate::spread::Spread;

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

    /// Whether what it may change is within a distance of a sketch.
    fn is_near(&self, sketch: &S, distance: u32) -> bool {
        self.sketches.iter().any(|(changed, _)| changed.distance_to(sketch) <= distance)
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

/// The claims that are held or waited for, and the queries that are under way.
#[derive(Debug)]
pub(super) struct Claims<S> {
    list: Mutex<List<S>>,
    /// How many claims are changing something.
    changing: AtomicUsize,
    watches: Spread<Mutex<Watches<S>>>,
}

#[derive(Debug)]
struct List<S> {
    next: u64,
    /// In the order of their numbers.
    entries: Vec<Entry<S>>,
    records: Vec<Recorded<S>>,
    /// What waiters wait on, kept for the next ones.
    idle: Vec<Arc<Condvar>>,
}

#[derive(Debug)]
struct Entry<S> {
    number: u64,
    claim: Claim<S>,
    /// The earlier claims that conflict with it.
    before: SmallVec<[u64; 4]>,
    is_changing: bool,
    granted: Arc<Condvar>,
}

/// The queries of some of the threads.
#[derive(Debug)]
struct Watches<S> {
    next: u64,
    list: Vec<Watched<S>>,
}

#[derive(Debug)]
struct Watched<S> {
    number: u64,
    sketch: S,
    distance: u32,
    is_disturbed: bool,
}

/// A record has at most so many sketches: beyond that, to ask again costs less than to compare.
const MOST_RECORDED: usize = 1 << 14;

/// What has changed for many queries, which find out at the end whether it concerns them.
#[derive(Debug)]
struct Recorded<S> {
    number: u64,
    sketches: Vec<S>,
    has_more: bool,
}

impl<S: Sketch> Recorded<S> {
    fn add(&mut self, claim: &Claim<S>) {
        if self.sketches.len() + claim.sketches.len() > MOST_RECORDED {
            self.has_more = true;
        } else {
            self.sketches.extend(claim.sketches.iter().map(|(sketch, _)| sketch.clone()));
        }
    }
}

impl<S> Default for Claims<S> {
    fn default() -> Self {
        let list = List { next: 0, entries: Vec::new(), records: Vec::new(), idle: Vec::new() };
        let watches = Spread::new(|| Mutex::new(Watches { next: 0, list: Vec::new() }));
        Self { list: Mutex::new(list), changing: AtomicUsize::new(0), watches }
    }
}

impl<S: Sketch> Claims<S> {
    /// Waits until a claim is held; it is given up when the result is dropped.
    pub(super) fn hold(&self, claim: Claim<S>) -> Held<'_, S> {
        let mut list = self.list();
        let number = list.number();
        let earlier = list.entries.iter().filter(|entry| entry.claim.conflicts(&claim));
        let before: SmallVec<_> = earlier.map(|entry| entry.number).collect();
        let granted = list.idle.pop().unwrap_or_default();
        list.entries.push(Entry { number, claim, before, is_changing: false, granted: Arc::clone(&granted) });
        while !list.entries[list.place(number)].before.is_empty() {
            list = granted.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
        Held { claims: self, number }
    }

    /// Notes changes within a distance of a sketch until the result is dropped.
    pub(super) fn watch(&self, sketch: &S, distance: u32) -> Watch<'_, S> {
        let place = self.watches.of(thread_number());
        let mut watches = lock(place);
        watches.next += 1;
        let number = watches.next;
        watches.list.push(Watched { number, sketch: sketch.clone(), distance, is_disturbed: false });
        drop(watches);
        let is_disturbed = self.changing.load(Ordering::SeqCst) > 0 && {
            let list = self.list();
            let mut changing = list.entries.iter().filter(|entry| entry.is_changing);
            changing.any(|entry| entry.claim.is_near(sketch, distance))
        };
        Watch { place, number, is_disturbed }
    }

    /// Records the sketches of all changes until the result is dropped, for calls of many queries: it costs a change
    /// no comparisons.
    pub(super) fn record(&self) -> Record<'_, S> {
        let mut list = self.list();
        let number = list.number();
        let mut record = Recorded { number, sketches: Vec::new(), has_more: false };
        list.entries.iter().filter(|entry| entry.is_changing).for_each(|entry| record.add(&entry.claim));
        list.records.push(record);
        Record { claims: self, number }
    }

    fn list(&self) -> MutexGuard<'_, List<S>> {
        // A thread that panicked while it held a claim has written its batch or not: nothing is half done.
        lock(&self.list)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S> List<S> {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

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
    /// Writes a batch, by the call that does it: queries near the claim's sketches are told.
    pub(super) fn change<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut list = self.claims.list();
        let place = list.place(self.number);
        let List { entries, records, .. } = &mut *list;
        let entry = &mut entries[place];
        if !std::mem::replace(&mut entry.is_changing, true) {
            self.claims.changing.fetch_add(1, Ordering::SeqCst);
        }
        for record in records {
            record.add(&entry.claim);
        }
        for watches in self.claims.watches.iter() {
            for watch in &mut lock(watches).list {
                watch.is_disturbed = watch.is_disturbed || entry.claim.is_near(&watch.sketch, watch.distance);
            }
        }
        drop(list);
        write()
    }
}

impl<S: Sketch> Drop for Held<'_, S> {
    fn drop(&mut self) {
        let mut list = self.claims.list();
        let place = list.place(self.number);
        let ended = list.entries.remove(place);
        if ended.is_changing {
            self.claims.changing.fetch_sub(1, Ordering::SeqCst);
        }
        for waiting in &mut list.entries[place..] {
            if let Some(of) = waiting.before.iter().position(|&number| number == self.number) {
                waiting.before.swap_remove(of);
                if waiting.before.is_empty() {
                    waiting.granted.notify_one();
                }
            }
        }
        list.idle.push(ended.granted);
    }
}

/// A query that is under way.
pub(super) struct Watch<'a, S: Sketch> {
    place: &'a Mutex<Watches<S>>,
    number: u64,
    /// Whether something near was being changed when it began.
    is_disturbed: bool,
}

impl<S: Sketch> Watch<'_, S> {
    /// Whether nothing near has changed until now.
    pub(super) fn is_undisturbed(&self) -> bool {
        let is_undisturbed = |watch: &Watched<S>| watch.number == self.number && !watch.is_disturbed;
        !self.is_disturbed && lock(self.place).list.iter().any(is_undisturbed)
    }
}

impl<S: Sketch> Drop for Watch<'_, S> {
    fn drop(&mut self) {
        lock(self.place).list.retain(|watch| watch.number != self.number);
    }
}

/// All that changes while many queries are under way.
pub(super) struct Record<'a, S: Sketch> {
    claims: &'a Claims<S>,
    number: u64,
}

impl<S: Sketch> Record<'_, S> {
    /// The sketches that were written, removed or replaced until now; `None` where they are too many. Nothing is recorded
    /// after that.
    pub(super) fn changed(self) -> Option<Vec<S>> {
        let mut list = self.claims.list();
        let place = list.records.iter().position(|record| record.number == self.number)?;
        let record = list.records.swap_remove(place);
        (!record.has_more).then_some(record.sketches)
    }
}

impl<S: Sketch> Drop for Record<'_, S> {
    fn drop(&mut self) {
        self.claims.list().records.retain(|record| record.number != self.number);
    }
}
