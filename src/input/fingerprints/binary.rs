//! Fingerprints of eight bytes each.

use std::io::{self, Read};

use super::{FingerprintBatch, Reader};
use crate::Fingerprint;
use crate::input::BadRecord;
use crate::input::stream::Stream;

const VALUE_BYTES: usize = 8;

/// The values of a file.
#[derive(Debug)]
pub(super) struct Binary {
    stream: Stream,
    big_endian: bool,
    /// As many values as a batch takes, so that each fill begins with it empty.
    buffer: Vec<u8>,
    /// How many bytes the batches so far have taken.
    offset: u64,
    done: bool,
}

impl Binary {
    pub(super) fn new(stream: Stream, big_endian: bool) -> Self {
        let buffer = vec![0; FingerprintBatch::MAX_LEN * VALUE_BYTES];
        Self { stream, big_endian, buffer, offset: 0, done: false }
    }

    /// Fills the buffer, and returns how many bytes it has then and what has ended it early.
    fn read(&mut self) -> (usize, Option<io::Error>) {
        let mut filled = 0;
        while filled < self.buffer.len() && !self.done {
            match self.stream.reader.read(&mut self.buffer[filled..]) {
                Ok(0) => self.done = true,
                Ok(count) => filled += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.done = true;
                    return (filled, Some(e));
                }
            }
        }
        (filled, None)
    }
}

impl Reader for Binary {
    fn fill(&mut self, batch: &mut FingerprintBatch) -> Result<(), BadRecord> {
        let (filled, error) = self.read();
        let (values, rest) = self.buffer[..filled].as_chunks::<VALUE_BYTES>();
        // The order of the bytes is asked once and not for each value, so that this is a copy by vectors.
        if self.big_endian {
            batch.extend(values.iter().map(|&value| Fingerprint::new(u64::from_be_bytes(value))));
        } else {
            batch.extend(values.iter().map(|&value| Fingerprint::new(u64::from_le_bytes(value))));
        }
        self.offset += (filled - rest.len()) as u64;
        match error {
            Some(e) => Err(self.stream.broken_array(&e)),
            None if rest.is_empty() => Ok(()),
            None => {
                let (count, offset) = (rest.len(), self.offset);
                let reason =
                    format!("the last {count} bytes, at offset {offset}, are not a value of {VALUE_BYTES} bytes");
                Err(self.stream.bad(None, reason, "fetch or write the file again, or name what it is with --format"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::fingerprints::tests::{Trickle, drain};
    use crate::input::{Compression, FingerprintInputs};

    const EDGES: [u64; 5] = [0, 1, 1 << 63, u64::MAX, 0x0123_4567_89ab_cdef];

    #[test]
    fn values_go_in_whatever_the_reads() {
        for step in 1..20 {
            let le = EDGES.iter().flat_map(|bits| bits.to_le_bytes()).collect();
            let be = EDGES.iter().flat_map(|bits| bits.to_be_bytes()).collect();
            for (bytes, big_endian) in [(le, false), (be, true)] {
                let (found, errors) = drain(Binary::new(Stream::of(Trickle::new(bytes, step), 3), big_endian), false);
                assert_eq!(found.iter().map(|(_, bits)| *bits).collect::<Vec<_>>(), EDGES);
                assert!(errors.is_empty(), "{errors:?}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_value_come_after_the_values() {
        for rest in 1..8 {
            let bytes = vec![7; 16 + rest];
            let (found, errors) = drain(Binary::new(Stream::of(io::Cursor::new(bytes), 5), false), false);
            assert_eq!(found.len(), 2);
            let [error] = &errors[..] else { panic!("{errors:?}") };
            assert!(error.starts_with(&format!("f: the last {rest} bytes, at offset 16, are")), "{error}");
        }
    }

    #[test]
    fn a_medium_that_fails_costs_only_the_rest() {
        let (found, errors) = drain(Binary::new(Stream::of(Trickle::failing(vec![1; 29], 5), 3), false), false);
        assert_eq!((found.len(), errors.len()), (3, 1));
        assert!(errors[0].starts_with("f: cannot be read"), "{errors:?}");
    }

    #[test]
    fn arrays_that_begin_like_compressed_files() {
        let dir = tempfile::tempdir().unwrap();
        for magic in [&[0x1f, 0x8b, 8, 0][..], &[0x28, 0xb5, 0x2f, 0xfd], &[0x50, 0x2a, 0x4d, 0x18]] {
            let mut values = EDGES.map(u64::to_le_bytes).to_vec();
            values[0][..4].copy_from_slice(magic);
            let path = dir.path().join("a.u64");
            std::fs::write(&path, values.concat()).unwrap();
            let read = |compression| FingerprintInputs::new([&path]).compression(compression);
            let error = read(Compression::Auto).find_map(Result::err).unwrap().to_string();
            assert!(error.ends_with(", or take --compression none if it is not compressed"), "{error}");
            let found: Vec<u64> = read(Compression::None)
                .flat_map(|batch| batch.unwrap().fingerprints().to_vec())
                .map(Fingerprint::bits)
                .collect();
            assert_eq!((found.len(), &found[1..]), (EDGES.len(), &EDGES[1..]), "{magic:x?}");
            let named = dir.path().join("a.u64.gz");
            std::fs::rename(&path, &named).unwrap();
            let error = FingerprintInputs::new([&named]).find_map(Result::err).unwrap().to_string();
            assert!(!error.contains("--compression"), "{error}");
        }
    }
}
