//! A part of a table in memory, and the pairs of two of them.

use std::sync::atomic::{AtomicBool, Ordering};

use super::join::{Ended, Found, Join};
use super::plan::Part;

/// The most values of a piece; a range that holds more is joined piece by piece.
pub(super) const PIECE_VALUES: usize = if cfg!(test) { 1 << 7 } else { 1 << 20 };

/// Values of a range, by their groups.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) values: Vec<u64>,
    /// Where each group begins, and where the last one ends.
    starts: Vec<u32>,
}

impl Piece {
    /// Finds the groups of the values, which are in order.
    pub(super) fn index(&mut self, part: &Part) {
        let groups = 1 << part.groups_bits();
        self.starts.clear();
        self.starts.resize(groups + 1, 0);
        for &value in &self.values {
            self.starts[part.group(value) + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
    }

    fn group(&mut self, group: usize) -> &mut [u64] {
        &mut self.values[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    fn is_empty(&self, group: usize) -> bool {
        self.starts[group] == self.starts[group + 1]
    }

    /// Two different groups.
    fn groups(&mut self, a: usize, b: usize) -> (&mut [u64], &mut [u64]) {
        let (a_start, a_end, b_start) = (self.starts[a] as usize, self.starts[a + 1] as usize, self.starts[b] as usize);
        let b_end = self.starts[b + 1] as usize;
        let (front, back) = self.values.split_at_mut(b_start);
        (&mut front[a_start..a_end], &mut back[..b_end - b_start])
    }

    /// Finds the near pairs within the piece, in groups that differ by one of the flips.
    pub(super) fn within(
        &mut self,
        flips: &[u64],
        join: &mut Join,
        is_stopped: &AtomicBool,
        found: &mut impl Found,
    ) -> Result<(), Ended> {
        for group in 0..self.starts.len() - 1 {
            if self.is_empty(group) {
                continue;
            }
            look(is_stopped)?;
            for flip in flips {
                let other = group ^ index(*flip);
                if other == group {
                    join.within(self.group(group), found)?;
                } else if other > group && !self.is_empty(other) {
                    let (a, b) = self.groups(group, other);
                    join.between(a, b, found)?;
                }
            }
        }
        Ok(())
    }

    /// Finds the near pairs of values of this piece and of another one, in groups that differ by one of the flips.
    pub(super) fn between(
        &mut self,
        other: &mut Self,
        flips: &[u64],
        join: &mut Join,
        is_stopped: &AtomicBool,
        found: &mut impl Found,
    ) -> Result<(), Ended> {
        for group in 0..self.starts.len() - 1 {
            if self.is_empty(group) {
                continue;
            }
            look(is_stopped)?;
            for flip in flips {
                let beside = group ^ index(*flip);
                if !other.is_empty(beside) {
                    join.between(self.group(group), other.group(beside), found)?;
                }
            }
        }
        Ok(())
    }
}

fn look(is_stopped: &AtomicBool) -> Result<(), Ended> {
    if is_stopped.load(Ordering::Relaxed) { Err(Ended) } else { Ok(()) }
}

fn index(flip: u64) -> usize {
    usize::try_from(flip).expect("there are less than 2^20 groups")
}
