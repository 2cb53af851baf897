//! The groups of near-duplicates, for people to look at.

use std::collections::HashMap;

use crate::progress::thousands;
use crate::prose::{say, shown};

/// How many duplicates of a group are shown beside the kept document.
const EXAMPLES: usize = 4;

/// The duplicates of each kept document: their number and the first few ids.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: HashMap<Vec<u8>, Group>,
}

#[derive(Debug, Default)]
struct Group {
    duplicates: u64,
    examples: Vec<String>,
}

impl Groups {
    pub(super) fn add(&mut self, kept: &[u8], duplicate: &str) {
        if !self.groups.contains_key(kept) {
            self.groups.insert(kept.to_owned(), Group::default());
        }
        let group = self.groups.get_mut(kept).expect("it was just put there");
        group.duplicates += 1;
        if group.examples.len() < EXAMPLES {
            group.examples.push(duplicate.to_owned());
        }
    }

    /// Prints the largest groups, equally large ones by the id of the kept document.
    pub(super) fn print(self, most: usize) {
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        groups
            .sort_unstable_by(|(a, group_a), (b, group_b)| group_b.duplicates.cmp(&group_a.duplicates).then(a.cmp(b)));
        for (kept, group) in groups.into_iter().take(most) {
            say!("\n{} near-duplicates of {}", thousands(group.duplicates), shown(&String::from_utf8_lossy(&kept)));
            for example in &group.examples {
                say!("    {}", shown(example));
            }
            let more = group.duplicates - group.examples.len() as u64;
            if more > 0 {
                say!("    and {} more", thousands(more));
            }
        }
    }
}
