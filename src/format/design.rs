//! The designs of the kinds of sketches, as a store record keeps them.

use bincode::{Decode, Encode};

use crate::{BandDesign, MinhashDesign, Signature, Table, TableDesign};

/// The layout on disk, apart from the types of the crate, so that these can change and it does not.
#[derive(Encode, Decode)]
pub(crate) enum Parts {
    Tables { max_distance: u32, tables: Vec<TableParts> },
    Bands { rows: u16, row_bits: u8, seed: u64, bands: u16, rows_per_band: u16 },
}

#[derive(Encode, Decode)]
pub(crate) struct TableParts {
    prefix_bits: u8,
    /// Start and end of each range of bits in its new order, counted from the most significant bit.
    parts: Vec<(u8, u8)>,
}

/// A design that a store record can keep.
pub(crate) trait StoredDesign: Sized {
    /// Whether the sketches themselves have a family: where the values of the tables do not tell them.
    const KEEPS_SKETCHES: bool;

    /// The prefix bits of each table, in their order.
    fn prefix_bits(&self) -> Vec<u32>;
    /// The largest distance that can be asked for.
    fn most_distance(&self) -> u32;
    fn to_parts(&self) -> Parts;
    fn from_parts(parts: Parts) -> Result<Self, String>;
}

impl StoredDesign for TableDesign {
    const KEEPS_SKETCHES: bool = false;

    fn prefix_bits(&self) -> Vec<u32> {
        self.tables().iter().map(Table::prefix_bits).collect()
    }

    fn most_distance(&self) -> u32 {
        Self::MAX_DISTANCE
    }

    fn to_parts(&self) -> Parts {
        let narrow = |bit: u32| u8::try_from(bit).expect("bits are counted from 0 to 64");
        let tables = self.tables().iter().map(|table| TableParts {
            prefix_bits: narrow(table.prefix_bits()),
            parts: table.permutation().parts().iter().map(|part| (narrow(part.start), narrow(part.end))).collect(),
        });
        Parts::Tables { max_distance: self.max_distance(), tables: tables.collect() }
    }

    fn from_parts(parts: Parts) -> Result<Self, String> {
        let Parts::Tables { max_distance, tables } = parts else {
            return Err("it has bands, which fingerprints do not have".to_owned());
        };
        let tables = tables.into_iter().map(|table| {
            let parts: Vec<_> = table.parts.iter().map(|&(start, end)| u32::from(start)..u32::from(end)).collect();
            Table::from_parts(&parts, u32::from(table.prefix_bits))
                .ok_or_else(|| format!("it has a table of {} prefix bits that permutes {parts:?}", table.prefix_bits))
        });
        Self::from_stored(tables.collect::<Result<_, _>>()?, max_distance).map_err(|e| e.to_string())
    }
}

/// The values of the tables of a store of signatures: so many bits of the hash of a band, then the number of the
/// signature.
pub(crate) const BAND_PREFIX_BITS: u32 = 32;

impl StoredDesign for MinhashDesign {
    const KEEPS_SKETCHES: bool = true;

    fn prefix_bits(&self) -> Vec<u32> {
        (0..self.bands().bands()).map(|_| BAND_PREFIX_BITS).collect()
    }

    fn most_distance(&self) -> u32 {
        u32::try_from(self.rows()).expect("at most 1024 rows")
    }

    fn to_parts(&self) -> Parts {
        let narrow = |number: u32| u16::try_from(number).expect("at most 1024");
        Parts::Bands {
            rows: u16::try_from(self.rows()).expect("at most 1024 rows"),
            row_bits: u8::try_from(self.row_bits()).expect("at most 32 bits"),
            seed: self.seed(),
            bands: narrow(self.bands().bands()),
            rows_per_band: narrow(self.bands().rows_per_band()),
        }
    }

    fn from_parts(parts: Parts) -> Result<Self, String> {
        let Parts::Bands { rows, row_bits, seed, bands, rows_per_band } = parts else {
            return Err("it has tables of permuted values, which signatures do not have".to_owned());
        };
        let bands = BandDesign::new(bands.into(), rows_per_band.into());
        let design = bands.and_then(|bands| Self::new(bands)?.with_rows(rows.into())?.with_row_bits(row_bits.into()));
        design.map(|design| design.with_seed(seed)).map_err(|e| format!("{e} (up to {} rows)", Signature::MAX_ROWS))
    }
}
