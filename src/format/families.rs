//! The families of a store: one list, in one place.

use std::fmt;
use std::str::FromStr;

use super::keys::TableKeys;
use crate::TableDesign;

/// A family of keys. Its name says all that the engine must know before it can open the family, so
/// that no second description can disagree with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    /// Document ids to sketches: the truth.
    Documents,
    /// Sketches to the documents that have them: `identity_bytes` of the sketch, then the id. With a
    /// retention each entry has the time stored as its value.
    Holders { identity_bytes: usize, retention_millis: Option<u64> },
    /// One table of a generation: heads of `head_bytes`, then the rest of the permuted value.
    Table { index: usize, head_bytes: usize, generation: u64 },
}

impl Family {
    /// All families of a store beside the default one, tables in their order.
    pub(crate) fn all(
        design: &TableDesign,
        identity_bytes: usize,
        retention_millis: Option<u64>,
        generation: u64,
    ) -> Vec<Self> {
        let tables = design.tables().iter().enumerate().map(|(index, table)| {
            let head_bytes = TableKeys::new(table.prefix_bits()).head_bytes();
            Self::Table { index, head_bytes, generation }
        });
        [Self::Documents, Self::Holders { identity_bytes, retention_millis }].into_iter().chain(tables).collect()
    }

    /// How many bytes at the front of a key are one prefix; 0 where keys are looked up as a whole.
    pub(crate) fn prefix_bytes(self) -> usize {
        match self {
            Self::Documents => 0,
            Self::Holders { identity_bytes, .. } => identity_bytes,
            Self::Table { head_bytes, .. } => head_bytes,
        }
    }
}

/// `documents`, `holders.8`, `holders.8.86400000`, `table00.2.0`: the kind and number, the prefix bytes,
/// the retention in milliseconds or the generation.
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Documents => f.write_str("documents"),
            Self::Holders { identity_bytes, retention_millis: None } => write!(f, "holders.{identity_bytes}"),
            Self::Holders { identity_bytes, retention_millis: Some(millis) } => {
                write!(f, "holders.{identity_bytes}.{millis}")
            }
            Self::Table { index, head_bytes, generation } => write!(f, "table{index:02}.{head_bytes}.{generation}"),
        }
    }
}

impl FromStr for Family {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let mut parts = name.split('.');
        let kind = parts.next().ok_or(())?;
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
        let small = |value: Option<u64>, most: u64| {
            value.filter(|v| (1..=most).contains(v)).and_then(|v| usize::try_from(v).ok())
        };
        let family = match kind.strip_prefix("table") {
            _ if kind == "documents" => Some(Self::Documents),
            _ if kind == "holders" => small(number(), 64)
                .map(|identity_bytes| Self::Holders { identity_bytes, retention_millis: number().filter(|&n| n > 0) }),
            Some(index) => match (index.parse(), small(number(), 64), number()) {
                (Ok(index), Some(head_bytes), Some(generation)) => Some(Self::Table { index, head_bytes, generation }),
                _ => None,
            },
            None => None,
        };
        // One name for each family: leading zeros or further parts make it another name.
        family.filter(|family| family.to_string() == name).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_families() {
        let design = TableDesign::choose(6, 3).unwrap();
        let families = Family::all(&design, 8, None, 17);
        assert_eq!(families.len(), 22);
        for family in families.into_iter().chain(Family::all(&design, 8, Some(86_400_000), 0)) {
            assert_eq!(family.to_string().parse(), Ok(family));
        }
        assert_eq!(Family::all(&TableDesign::default(), 8, None, 0)[2].to_string(), "table00.2.0");
        assert_eq!(Family::all(&TableDesign::default(), 8, Some(5), 0)[1].to_string(), "holders.8.5");
    }

    #[test]
    fn other_names_are_no_families() {
        for name in [
            "",
            "default",
            "documents.1",
            "holders",
            "holders.0",
            "holders.08",
            "holders.8.0",
            "holders.8.x",
            "holders.8.5.5",
            "table0.2.0",
            "table00.2",
            "table00.2.0.1",
            "tables",
            "table00.-2.0",
        ] {
            assert_eq!(name.parse::<Family>(), Err(()), "{name}");
        }
    }
}
