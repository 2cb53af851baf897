//! A sweep of a table that is in memory from end to end.

use super::Swept;
use super::answers::Found;
use super::asked::Probe;
use crate::isa::{Isa, prefetch};
use crate::near::{Among, near_each};
use crate::store::tables::probe::bounds;
use crate::store::tables::stretches::Whole;
use crate::{Fingerprint, Table};

/// While the values for so many probes are compared, the processor fetches those for as many others.
const TOGETHER: usize = 32;

/// So many lines of the processor's cache are fetched for a prefix: it goes on by itself.
const MOST_LINES: usize = 8;

/// What is asked of a table.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) table: &'a Table,
    pub(super) sketches: &'a [Fingerprint],
    pub(super) max_distance: u32,
}

/// Compares what some probes ask for, which come in the order of their prefixes.
pub(super) fn sweep_whole(whole: &Whole, of: Of<'_>, probes: &[Probe], swept: &mut Swept) {
    let mut near = Vec::new();
    let mut last = (None, 0..0);
    let mut prepare = |probes: &[Probe], asked: &mut [Among; TOGETHER], candidates: &mut Vec<u64>| {
        for (&(prefix, query), among) in probes.iter().zip(asked) {
            if last.0 != Some(prefix) {
                let range = whole.range(bounds(of.table, prefix));
                fetch(whole.values(), &range);
                last = (Some(prefix), range);
            }
            let [begin, end] = [last.1.start, last.1.end].map(|at| u32::try_from(at).expect("the index has 32 bits"));
            candidates.push(u64::from(end - begin));
            *among = Among { query: of.table.permute(of.sketches[query as usize]), begin, end };
        }
    };
    let (mut now, mut next) = ([Among::default(); TOGETHER], [Among::default(); TOGETHER]);
    let mut chunks = probes.chunks(TOGETHER).peekable();
    if let Some(first) = chunks.peek() {
        prepare(first, &mut now, &mut swept.candidates);
    }
    while let Some(probes) = chunks.next() {
        if let Some(following) = chunks.peek() {
            prepare(following, &mut next, &mut swept.candidates);
        }
        near.clear();
        near_each(Isa::detected(), whole.values(), &now[..probes.len()], of.max_distance, &mut near);
        swept.found.extend(near.iter().map(|&(number, value)| {
            let number = number as usize;
            let distance = (now[number].query ^ value).count_ones();
            Found { query: probes[number].1, distance, sketch: of.table.restore(value) }
        }));
        std::mem::swap(&mut now, &mut next);
    }
}

/// Has the processor fetch values.
fn fetch(values: &[u64], range: &std::ops::Range<usize>) {
    for place in range.clone().step_by(64 / size_of::<u64>()).take(MOST_LINES) {
        prefetch(values, place);
    }
}
