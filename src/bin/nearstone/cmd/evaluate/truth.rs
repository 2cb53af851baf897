//! The pairs that are known to be near.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use flate2::read::MultiGzDecoder;

use crate::failure::Usage;

/// Pairs of documents, by their numbers in the input, the smaller one first.
#[derive(Debug, Default)]
pub(super) struct Truth {
    pub(super) pairs: HashSet<(u32, u32)>,
    /// Pairs of which the input lacks a document.
    pub(super) unknown: u64,
    /// Pairs that share too little to count.
    pub(super) below: u64,
}

impl Truth {
    pub(super) fn read(path: &Path, min_jaccard: Option<f64>, numbers: &HashMap<String, u32>) -> anyhow::Result<Self> {
        let cannot = || format!("cannot read {}", path.display());
        let mut head = [0; 2];
        let is_gzip = File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == [0x1f, 0x8b];
        let file = File::open(path).with_context(cannot)?;
        let reader: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        let mut truth = Self::default();
        for (line, number) in BufReader::new(reader).lines().zip(1u64..) {
            let line = line.with_context(cannot)?;
            let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { &line };
            truth
                .row(line, number, min_jaccard, numbers)
                .map_err(|why| anyhow::anyhow!("{}, line {number}: {why}", path.display()))?;
        }
        if truth.pairs.is_empty() {
            let why = format!(
                "{} has no pair that counts: {} pairs have ids that the input lacks, {} share less than --min-jaccard",
                path.display(),
                truth.unknown,
                truth.below
            );
            return Err(Usage(why).into());
        }
        Ok(truth)
    }

    fn row(
        &mut self,
        line: &str,
        number: u64,
        min_jaccard: Option<f64>,
        numbers: &HashMap<String, u32>,
    ) -> Result<(), String> {
        let mut columns = line.split('\t');
        let (Some(first), Some(second)) = (columns.next(), columns.next()) else {
            if line.trim().is_empty() {
                return Ok(());
            }
            return Err("it has one column where two ids are expected, with a tab between them".to_owned());
        };
        let (first, second) = (numbers.get(first), numbers.get(second));
        if number == 1 && first.is_none() && second.is_none() {
            return Ok(());
        }
        if let Some(least) = min_jaccard {
            let share = columns.next().and_then(|share| share.trim().parse::<f64>().ok());
            let share = share.ok_or("its third column is no number, which --min-jaccard needs")?;
            if share < least {
                self.below += 1;
                return Ok(());
            }
        }
        match (first, second) {
            (Some(&first), Some(&second)) if first == second => Err("it pairs a document with itself".to_owned()),
            (Some(&first), Some(&second)) => {
                self.pairs.insert((first.min(second), first.max(second)));
                Ok(())
            }
            _ => {
                self.unknown += 1;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &[u8], min_jaccard: Option<f64>) -> anyhow::Result<Truth> {
        let numbers = [("a", 0), ("b", 1), ("c", 2)].map(|(id, number)| (id.to_owned(), number)).into();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), table).unwrap();
        Truth::read(file.path(), min_jaccard, &numbers)
    }

    #[test]
    fn pairs_are_read_once_whatever_their_order() {
        let truth = read(b"id_a\tid_b\tjaccard\nb\ta\t0.9\na\tb\t0.9\na\tc\t0.5\nc\tx\t1\n\n", Some(0.8)).unwrap();
        assert_eq!((truth.pairs, truth.unknown, truth.below), ([(0, 1)].into(), 1, 1));
        let truth = read(b"a\tb\nb\tc", None).unwrap();
        assert_eq!(truth.pairs, [(0, 1), (1, 2)].into());
    }

    #[test]
    fn gzip_is_read_too() {
        use std::io::Write;
        let mut bytes = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        bytes.write_all(b"a\tb\n").unwrap();
        assert_eq!(read(&bytes.finish().unwrap(), None).unwrap().pairs, [(0, 1)].into());
    }

    #[test]
    fn what_is_no_truth_is_refused() {
        for (table, min_jaccard, why) in [
            (&b"a"[..], None, "one column"),
            (b"a\tb\tx\n", Some(0.5), "no number"),
            (b"a\tb\n", Some(0.5), "no number"),
            (b"a\ta\n", None, "itself"),
            (b"x\ty\nx\ty\n", None, "no pair that counts"),
            (b"", None, "no pair that counts"),
        ] {
            let error = read(table, min_jaccard).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
