//! Where a search for pairs can be gone on with.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::moment::{Mark, refused};
use crate::Result;

/// What was looked for in which state of which stores, and how many steps were done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Point {
    version: u32,
    max_distance: u32,
    expand: bool,
    /// About how many sketches there were: ranges and groups depend on it.
    pub(super) sketches: u64,
    pub(super) marks: (Mark, Option<Mark>),
    pub(super) step: u64,
}

/// It grows when the steps become others.
const VERSION: u32 = 1;

impl Point {
    pub(super) fn new(max_distance: u32, expand: bool, sketches: u64, marks: (Mark, Option<Mark>)) -> Self {
        Self { version: VERSION, max_distance, expand, sketches, marks, step: 0 }
    }

    /// The same after so many steps.
    pub(super) fn after(&self, step: u64) -> Self {
        Self { step, ..self.clone() }
    }

    /// Reads what [`fmt::Display`] has written, for the same search.
    pub(super) fn parse(text: &str, max_distance: u32, expand: bool, is_with: bool) -> Result<Self> {
        let point: Self = serde_json::from_str(text)
            .ok()
            .filter(|point: &Self| point.version == VERSION)
            .ok_or_else(|| refused("the resume point is not one of this release: begin again".to_owned()))?;
        let differs = |what: &str, there: String, here: String| {
            Err(refused(format!(
                "the resume point is of {what} {there}, asked for {here}: ask for the same, or begin again"
            )))
        };
        let told = |is: bool| if is { "yes" } else { "no" }.to_owned();
        if point.max_distance != max_distance {
            return differs("max distance", point.max_distance.to_string(), max_distance.to_string());
        }
        if point.expand != expand {
            return differs("expanded pairs:", told(point.expand), told(expand));
        }
        if point.marks.1.is_some() != is_with {
            return differs("pairs with another store:", told(point.marks.1.is_some()), told(is_with));
        }
        Ok(point)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}
