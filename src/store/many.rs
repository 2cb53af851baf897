//! What is near each of many sketches, in a few lists: one of its own for each of them would take more time than to find it.

use super::QueryStats;

/// What it took to find what is near a sketch, which is given with its number.
type Cost<S> = Box<dyn Fn(usize, &S) -> QueryStats + Send + Sync>;

/// What is near each of many sketches, in their order.
pub(crate) struct NearMany<S, K> {
    near: Vec<(u32, K)>,
    /// Where what is near each of them ends.
    ends: Vec<usize>,
    /// For each part of the sketches the number of the first, and what they have cost by their numbers in the part.
    costs: Vec<(usize, Cost<S>)>,
}

impl<S, K> Default for NearMany<S, K> {
    fn default() -> Self {
        Self { near: Vec::new(), ends: Vec::new(), costs: Vec::new() }
    }
}

impl<S: 'static, K> NearMany<S, K> {
    /// What is near each, up to the ends given, with the distances, as [`Index::near`](super::sketch::Index::near) has it.
    pub(crate) fn new(near: Vec<(u32, K)>, ends: Vec<usize>, cost: Cost<S>) -> Self {
        Self { near, ends, costs: vec![(0, cost)] }
    }

    /// Joins what was found for one after the other.
    pub(crate) fn of_each(each: impl IntoIterator<Item = (Vec<(u32, K)>, QueryStats)>) -> Self {
        let (mut near, mut ends, mut costs) = (Vec::new(), Vec::new(), Vec::new());
        for (more, cost) in each {
            near.extend(more);
            ends.push(near.len());
            costs.push(cost);
        }
        Self::new(near, ends, Box::new(move |at, _| costs[at].clone()))
    }

    /// Appends what is near other sketches.
    pub(crate) fn append(&mut self, mut other: Self) {
        let (sketches, before) = (self.ends.len(), self.near.len());
        self.costs.extend(other.costs.into_iter().map(|(first, cost)| (first + sketches, cost)));
        self.ends.extend(other.ends.into_iter().map(|end| end + before));
        self.near.append(&mut other.near);
    }

    /// How many sketches were asked about.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// What is near any of them, those near the first one first.
    pub(crate) fn near(&self) -> &[(u32, K)] {
        &self.near
    }

    /// Where what is near some of them lies in [`near`](Self::near): up to these ends, from this place on.
    pub(crate) fn ends(&self, first: usize, count: usize) -> (usize, &[usize]) {
        let begin = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        (begin, &self.ends[first..(first + count).min(self.ends.len())])
    }

    /// What one of the sketches has cost.
    pub(crate) fn cost(&self, at: usize, sketch: &S) -> QueryStats {
        let part = self.costs.partition_point(|(first, _)| *first <= at);
        part.checked_sub(1).map_or_else(QueryStats::default, |part| {
            let (first, cost) = &self.costs[part];
            cost(at - first, sketch)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(probes: u64) -> QueryStats {
        QueryStats { probes, ..QueryStats::default() }
    }

    #[test]
    fn parts_follow_each_other() {
        let mut many = NearMany::<char, char>::of_each([(vec![(0, 'a'), (1, 'b')], cost(1)), (vec![], cost(2))]);
        many.append(NearMany::default());
        many.append(NearMany::new(vec![(3, 'c')], vec![1, 1], Box::new(|at, _| cost(10 + at as u64))));
        many.append(NearMany::of_each([(vec![(2, 'd')], cost(4))]));
        assert_eq!(many.near(), [(0, 'a'), (1, 'b'), (3, 'c'), (2, 'd')]);
        assert_eq!((many.len(), many.ends(0, 2), many.ends(3, 9)), (5, (0, &[2, 2][..]), (3, &[3, 4][..])));
        assert_eq!([0, 1, 2, 3, 4].map(|at| many.cost(at, &'x').probes), [1, 2, 10, 11, 4]);
    }
}
