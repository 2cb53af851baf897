//! A sweep prefix by prefix, wherever its values are.

use super::answers::Found;
use super::asked::Probe;
use super::pages::Pages;
use super::whole::Of;
use super::{Piece, Swept};
use crate::engine::{Engine, Tier};
use crate::isa::Isa;
use crate::near::near;
use crate::overlap::common;
use crate::store::tables::Tables;
use crate::store::tables::probe::{Reader, bounds};
use crate::store::tables::stretches::Look;
use crate::store::tables::within::{between, fetch_between};
use crate::store::work::{Limits, Work};
use crate::{Result, Table};

/// The processor is made to fetch what so many prefixes later is compared, and where that lies twice as many before.
const PREFIXES_AHEAD: usize = 6;

/// What reads a table for the probes of a piece, of which those with later prefixes come later.
pub(super) struct OneByOne<'a> {
    of: Of<'a>,
    piece: Piece<'a>,
    reader: Reader<'a>,
    pages: Pages<'a>,
    near: Vec<u64>,
}

impl<'a> OneByOne<'a> {
    pub(super) fn new(tables: &'a Tables, engine: &'a Engine, of: Of<'a>, piece: Piece<'a>) -> Result<Self> {
        let reader = Reader::new(tables, engine, piece.table, Tier::All, None);
        Ok(Self { of, piece, reader, pages: Pages::new(tables, engine, piece)?, near: Vec::new() })
    }

    /// Compares what some of the probes ask for; false where that is to be ended, which is asked with the number of what was
    /// found.
    pub(super) fn sweep(
        &mut self,
        look: Option<&Look<'_>>,
        probes: &[Probe],
        swept: &mut Swept,
        may_go_on: &mut impl FnMut(usize) -> bool,
    ) -> Result<bool> {
        let Self { of: Of { table, sketches, max_distance }, piece, reader, pages, near: near_here } = self;
        let (table, index) = (*table, piece.table);
        // Where most pages are needed, to read them in their order is faster than to ask a cache for each.
        let look = look.filter(|look| look.has_room_for_all() || !piece.needs_most);
        let groups: Vec<&[Probe]> = probes.chunk_by(|a, b| a.0 == b.0).collect();
        for (at, group) in groups.iter().enumerate() {
            if let Some(look) = look.filter(|look| look.has_room_for_all()) {
                fetch_ahead(look, index, table, &groups[at..]);
            }
            let [from, to] = bounds(table, group[0].0);
            reader.read_own(group[0].0, &Work::new(Limits::new()))?;
            let own = reader.own();
            let begun = swept.candidates.len();
            swept.candidates.extend(group.iter().map(|_| own.len() as u64));
            let mut compare = |values: &[u64], found: &mut Vec<Found>| {
                for &(_, query) in *group {
                    if !may_go_on(found.len()) {
                        return false;
                    }
                    let permuted = table.permute(sketches[query as usize]);
                    near_here.clear();
                    near(Isa::detected(), values, permuted, *max_distance, near_here);
                    found.extend(near_here.iter().map(|value| {
                        let distance = (permuted ^ value).count_ones();
                        Found { query, distance, sketch: table.restore(*value) }
                    }));
                }
                true
            };
            if !own.is_empty() && !compare(own, &mut swept.found) {
                return Ok(false);
            }
            let stretch = look.and_then(|look| Some((look.get(index, from)?, look.bounds(index, from))));
            let mut at = from;
            loop {
                let next = match &stretch {
                    Some((stretch, bounds)) => Some((between(stretch, [from, to], *bounds), to)),
                    None => pages.values(at, to)?,
                };
                let Some((values, last)) = next else { break };
                // What has a key of its own was compared already.
                let met = if own.is_empty() { 0 } else { common(Isa::detected(), values, own) };
                for candidates in &mut swept.candidates[begun..] {
                    *candidates += (values.len() - met) as u64;
                }
                let may_go_on = if met == 0 {
                    compare(values, &mut swept.found)
                } else {
                    let others = values.iter().copied().filter(|value| own.binary_search(value).is_err());
                    compare(&others.collect::<Vec<_>>(), &mut swept.found)
                };
                if !may_go_on {
                    return Ok(false);
                }
                if last >= to {
                    break;
                }
                at = last + 1;
            }
        }
        Ok(true)
    }
}

/// Has the processor fetch what is needed for prefixes that come soon.
fn fetch_ahead(look: &Look<'_>, index: usize, table: &Table, groups: &[&[Probe]]) {
    let at = |ahead: usize| groups.get(ahead).map(|group| bounds(table, group[0].0));
    if let Some([from, _]) = at(2 * PREFIXES_AHEAD) {
        look.fetch(index, from);
    }
    if let Some((stretch, bounds)) = at(PREFIXES_AHEAD).and_then(|bounds| Some((look.get(index, bounds[0])?, bounds))) {
        fetch_between(&stretch, bounds, look.bounds(index, bounds[0]));
    }
}
