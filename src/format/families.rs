//! The families of a store: one list, in one place.

use std::fmt;
use std::str::FromStr;

use super::design::StoredDesign;
use super::keys::TableKeys;

/// A family of keys. Its name says all that the engine must know before it can open the family, so
/// that no second description can disagree with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    /// The documents of a live generation, by their ids.
    Documents { generation: u64 },
    /// Sketches to the documents of a live generation that have them: `identity_bytes` of the sketch, then
    /// the id. With a retention each entry has the time stored as its value.
    Holders { identity_bytes: usize, retention_millis: Option<u64>, generation: u64 },
    /// The signatures of a live generation, by their numbers.
    Signatures { generation: u64 },
    /// One table of a live generation: heads of `head_bytes`, then the rest of the permuted value.
    Table { index: usize, head_bytes: usize, generation: u64 },
    /// One band of a live generation of signatures: heads of `head_bytes`, then the number of the signature.
    Band { index: usize, head_bytes: usize, generation: u64 },
    /// The documents of a sealed generation, in pages.
    DocumentPages { generation: u64 },
    /// The holders of a sealed generation, in pages.
    HolderPages { generation: u64 },
    /// One table of a sealed generation, in pages.
    Pages { index: usize, generation: u64 },
}

impl Family {
    /// The families of a live generation, tables in their order.
    pub(crate) fn live<D: StoredDesign>(
        design: &D,
        identity_bytes: usize,
        retention_millis: Option<u64>,
        generation: u64,
    ) -> Vec<Self> {
        let tables = design.prefix_bits().into_iter().enumerate().map(|(index, prefix_bits)| {
            let head_bytes = TableKeys::new(prefix_bits).head_bytes();
            if D::KEEPS_SKETCHES {
                Self::Band { index, head_bytes, generation }
            } else {
                Self::Table { index, head_bytes, generation }
            }
        });
        let sketches = D::KEEPS_SKETCHES.then_some(Self::Signatures { generation });
        let holders = Self::Holders { identity_bytes, retention_millis, generation };
        [Self::Documents { generation }, holders].into_iter().chain(sketches).chain(tables).collect()
    }

    /// The families of a sealed generation, tables in their order.
    pub(crate) fn sealed<D: StoredDesign>(design: &D, generation: u64) -> Vec<Self> {
        let pages = (0..design.prefix_bits().len()).map(|index| Self::Pages { index, generation });
        [Self::DocumentPages { generation }, Self::HolderPages { generation }].into_iter().chain(pages).collect()
    }

    /// How many bytes at the front of a key are one prefix; 0 where keys are looked up as a whole.
    pub(crate) fn prefix_bytes(self) -> usize {
        match self {
            Self::Holders { identity_bytes, .. } => identity_bytes,
            Self::Table { head_bytes, .. } | Self::Band { head_bytes, .. } => head_bytes,
            _ => 0,
        }
    }

    /// After so many milliseconds documents expire, where it says so.
    pub(crate) fn retention_millis(self) -> Option<u64> {
        if let Self::Holders { retention_millis, .. } = self { retention_millis } else { None }
    }

    /// Which generation it is of. Live and sealed generations are numbered together.
    pub(crate) fn generation(self) -> u64 {
        match self {
            Self::Documents { generation }
            | Self::Holders { generation, .. }
            | Self::Signatures { generation }
            | Self::Table { generation, .. }
            | Self::Band { generation, .. }
            | Self::DocumentPages { generation }
            | Self::HolderPages { generation }
            | Self::Pages { generation, .. } => generation,
        }
    }

    /// Whether it is written once, in pages, and never changed.
    pub(crate) fn is_sealed(self) -> bool {
        matches!(self, Self::DocumentPages { .. } | Self::HolderPages { .. } | Self::Pages { .. })
    }
}

/// `documents.1`, `holders.8.0.1`, `table00.2.1`, `document-pages.2`, `holder-pages.2`, `pages00.2`: the kind and
/// number, the prefix bytes, the retention in milliseconds, the generation. Those of generation 0 have the names
/// of format 1: `documents`, `holders.8`, `holders.8.86400000`.
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Documents { generation: 0 } => f.write_str("documents"),
            Self::Documents { generation } => write!(f, "documents.{generation}"),
            Self::Holders { identity_bytes, retention_millis, generation } => {
                write!(f, "holders.{identity_bytes}")?;
                match (retention_millis, generation) {
                    (None, 0) => Ok(()),
                    (Some(millis), 0) => write!(f, ".{millis}"),
                    (millis, generation) => write!(f, ".{}.{generation}", millis.unwrap_or(0)),
                }
            }
            Self::Signatures { generation } => write!(f, "signatures.{generation}"),
            Self::Table { index, head_bytes, generation } => write!(f, "table{index:02}.{head_bytes}.{generation}"),
            Self::Band { index, head_bytes, generation } => write!(f, "band{index:02}.{head_bytes}.{generation}"),
            Self::DocumentPages { generation } => write!(f, "document-pages.{generation}"),
            Self::HolderPages { generation } => write!(f, "holder-pages.{generation}"),
            Self::Pages { index, generation } => write!(f, "pages{index:02}.{generation}"),
        }
    }
}

impl FromStr for Family {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let mut parts = name.split('.');
        let kind = parts.next().ok_or(())?;
        let mut number = || parts.next().map(|part| part.parse::<u64>().map_err(|_| ())).transpose();
        let needed = |value: Option<u64>| value.ok_or(());
        let small = |value: Option<u64>| match value {
            Some(v @ 1..=64) => usize::try_from(v).map_err(|_| ()),
            _ => Err(()),
        };
        let family = match kind {
            "documents" => Self::Documents { generation: number()?.unwrap_or(0) },
            "holders" => {
                let identity_bytes = small(number()?)?;
                let retention_millis = number()?.filter(|&millis| millis > 0);
                Self::Holders { identity_bytes, retention_millis, generation: number()?.unwrap_or(0) }
            }
            "signatures" => Self::Signatures { generation: needed(number()?)? },
            "document-pages" => Self::DocumentPages { generation: needed(number()?)? },
            "holder-pages" => Self::HolderPages { generation: needed(number()?)? },
            _ => match (kind.strip_prefix("table"), kind.strip_prefix("pages")) {
                (Some(index), _) => Self::Table {
                    index: index.parse().map_err(|_| ())?,
                    head_bytes: small(number()?)?,
                    generation: needed(number()?)?,
                },
                (_, Some(index)) => {
                    Self::Pages { index: index.parse().map_err(|_| ())?, generation: needed(number()?)? }
                }
                _ => Self::Band {
                    index: kind.strip_prefix("band").ok_or(())?.parse().map_err(|_| ())?,
                    head_bytes: small(number()?)?,
                    generation: needed(number()?)?,
                },
            },
        };
        // One name for each family: leading zeros or further parts make it another name.
        if family.to_string() == name { Ok(family) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MinhashDesign, TableDesign};

    #[test]
    fn names_lead_back_to_their_families() {
        let design = TableDesign::choose(6, 3).unwrap();
        assert_eq!((Family::live(&design, 8, None, 17).len(), Family::sealed(&design, 17).len()), (22, 22));
        let mut families = vec![];
        for generation in [0, 1, 17, u64::MAX] {
            families.extend(Family::live(&design, 8, None, generation));
            families.extend(Family::live(&design, 8, Some(86_400_000), generation));
            families.extend(Family::sealed(&design, generation));
            families.extend(Family::live(&MinhashDesign::default(), 8, None, generation));
        }
        for family in families {
            assert_eq!(family.to_string().parse(), Ok(family));
        }
    }

    #[test]
    fn the_names_of_the_specification() {
        let names = |families: Vec<Family>| families[..3].iter().map(Family::to_string).collect::<Vec<_>>();
        let design = TableDesign::default();
        assert_eq!(names(Family::live(&design, 8, None, 0)), ["documents", "holders.8", "table00.2.0"]);
        assert_eq!(names(Family::live(&design, 8, Some(5), 0)), ["documents", "holders.8.5", "table00.2.0"]);
        assert_eq!(names(Family::live(&design, 8, None, 3)), ["documents.3", "holders.8.0.3", "table00.2.3"]);
        assert_eq!(names(Family::live(&design, 8, Some(5), 3)), ["documents.3", "holders.8.5.3", "table00.2.3"]);
        let bands = Family::live(&MinhashDesign::default(), 8, None, 3);
        assert_eq!(bands.len(), 3 + 16);
        assert_eq!([&bands[2], &bands[18]].map(Family::to_string), ["signatures.3", "band15.4.3"]);
        assert_eq!(names(Family::sealed(&design, 4)), ["document-pages.4", "holder-pages.4", "pages00.4"]);
    }

    #[test]
    fn other_names_are_no_families() {
        for name in [
            "",
            "default",
            "documents.0",
            "documents.1.1",
            "holders",
            "holders.0",
            "holders.08",
            "holders.8.0",
            "holders.8.x",
            "holders.8.5.0",
            "holders.8.5.5.5",
            "table0.2.0",
            "table00.2",
            "table00.2.0.1",
            "tables",
            "table00.-2.0",
            "pages",
            "pages0.1",
            "pages00",
            "pages00.1.1",
            "document-pages",
            "signatures",
            "signatures.1.1",
            "band0.4.1",
            "band00.4",
            "band00.4.1.1",
            "holder-pages.x",
        ] {
            assert_eq!(name.parse::<Family>(), Err(()), "{name}");
        }
    }
}
