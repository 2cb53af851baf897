//! Buckets of records sorted one after the other, in bounded memory.
//!
//! A bucket that is too large to be sorted in memory is distributed again by the next byte. When the keys have no further
//! byte they are equal, and records come out in the order in which they were pushed.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use super::distribute::{BUCKETS, Bucket, Coding, Distributed, Distributor, FIRST_SHIFT, KEY_BYTES};
use super::files::failed;
use crate::hash::checksum;
use crate::{Error, Result};

/// Takes the records of buckets in bounded portions.
pub(super) trait Portions {
    /// The length of the first of some records.
    fn length(&self, records: &[u8]) -> usize;
    /// Takes some whole records.
    fn add(&mut self, records: &[u8]);
    /// Sorts what was added and hands it on; what comes after it is not before it.
    fn hand_on(&mut self) -> Result<()>;
}

impl Distributed {
    /// Whether what went to the temporary file is there.
    pub(super) fn is_in_place(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.extents.is_empty()) || self.path.is_file()
    }

    /// Removes the temporary file, and gives the buffers back.
    pub(super) fn remove(&mut self) -> Result<()> {
        self.buffers = Vec::new();
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", &self.path, e)),
            _ => Ok(()),
        }
    }

    /// Visits the records of a bucket in the order in which they were pushed, many at a time.
    fn visit(&self, bucket: usize, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let key_byte = u64::try_from(bucket).expect("a bucket is a byte") << FIRST_SHIFT;
        let (mut latest, mut records) = (0u64, Vec::new());
        self.visit_bytes(bucket, |bytes| {
            records.clear();
            let key = |bytes: &[u8]| {
                let mut key = [0; 8];
                key[..KEY_BYTES].copy_from_slice(&bytes[..KEY_BYTES]);
                (u64::from_le_bytes(key) | key_byte).to_le_bytes()
            };
            match self.coding {
                Coding::Plain => return visit(bytes),
                Coding::Keys => {
                    let keys = bytes.chunks_exact(KEY_BYTES);
                    if !keys.remainder().is_empty() {
                        return Err(bad(&self.path));
                    }
                    keys.for_each(|bytes| records.extend_from_slice(&key(bytes)));
                }
                Coding::Numbered => {
                    let mut rest = bytes;
                    while rest.len() > KEY_BYTES {
                        records.extend_from_slice(&key(rest));
                        rest = &rest[KEY_BYTES..];
                        let (mut distance, mut shift) = (0u64, 0);
                        loop {
                            let (&byte, more) = rest.split_first().ok_or_else(|| bad(&self.path))?;
                            rest = more;
                            distance |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
                            shift += 7;
                            if byte < 0x80 {
                                break;
                            }
                        }
                        latest = latest.wrapping_add(distance);
                        records.extend_from_slice(&latest.to_le_bytes());
                    }
                    if !rest.is_empty() {
                        return Err(bad(&self.path));
                    }
                }
            }
            visit(&records)
        })
    }

    fn visit_bytes(&self, bucket: usize, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let extents = &self.buckets[bucket].extents;
        if !extents.is_empty() {
            let unreadable = |e| failed("read", &self.path, e);
            let mut file = File::open(&self.path).map_err(unreadable)?;
            let mut extent = Vec::new();
            for &(start, length, sum) in extents {
                file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
                extent.resize(length as usize, 0);
                file.read_exact(&mut extent).map_err(unreadable)?;
                if checksum(&extent) != sum {
                    return Err(bad(&self.path));
                }
                visit(&extent)?;
            }
        }
        self.buffers.get(bucket).filter(|buffer| !buffer.is_empty()).map_or(Ok(()), |buffer| visit(buffer))
    }

    /// The bytes of the records of a bucket.
    fn bucket_bytes(&self, bucket: usize) -> u64 {
        let Bucket { records, bytes, .. } = self.buckets[bucket];
        match self.coding {
            Coding::Plain => bytes,
            Coding::Keys => records * 8,
            Coding::Numbered => records * 16,
        }
    }
}

/// A temporary file that is not what was written.
pub(super) fn bad(path: &Path) -> Error {
    Error::Load { reason: format!("the temporary file {} was changed: load again", path.display()) }
}

/// Hands the records of buckets of several distributions on in the order of their keys, in portions of about
/// `memory_bytes`. Temporary files are made beside `scratch`.
pub(super) fn drain(
    parts: &[Distributed],
    buckets: Range<usize>,
    memory_bytes: usize,
    scratch: &Path,
    portions: &mut impl Portions,
) -> Result<()> {
    for bucket in buckets {
        let bytes: u64 = parts.iter().map(|part| part.bucket_bytes(bucket)).sum();
        if bytes == 0 {
            continue;
        }
        if bytes <= memory_bytes as u64 {
            for part in parts {
                part.visit(bucket, |records| {
                    portions.add(records);
                    Ok(())
                })?;
            }
            portions.hand_on()?;
            continue;
        }
        let shift = parts[0].shift;
        if shift == 0 {
            for part in parts {
                part.visit(bucket, |records| {
                    portions.add(records);
                    portions.hand_on()
                })?;
            }
            continue;
        }
        let deeper = scratch.with_extension(format!("{}", shift - 8));
        let mut distributor = Distributor::at(&deeper, Coding::Plain, memory_bytes / 4, shift - 8);
        for part in parts {
            part.visit(bucket, |mut records| {
                while !records.is_empty() {
                    let (record, rest) = records.split_at(portions.length(records));
                    let (key, more) = record.split_first_chunk::<8>().expect("a record begins with its key");
                    distributor.push(u64::from_le_bytes(*key), &[more])?;
                    records = rest;
                }
                Ok(())
            })?;
        }
        let distributed = [distributor.finish(false)?];
        drain(&distributed, 0..BUCKETS, memory_bytes / 4 * 3, &deeper, portions)?;
        let [mut distributed] = distributed;
        distributed.remove()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::bulk::distribute::MIN_BUFFER_BYTES;

    /// Collects 16-byte records.
    #[derive(Default)]
    struct Collected {
        portion: Vec<(u64, u64)>,
        all: Vec<(u64, u64)>,
        largest: usize,
        /// Whether there is nothing after the keys.
        is_bare: bool,
    }

    impl Portions for Collected {
        fn length(&self, _: &[u8]) -> usize {
            if self.is_bare { 8 } else { 16 }
        }

        fn add(&mut self, records: &[u8]) {
            let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
            let rest = |record: &[u8]| if self.is_bare { 0 } else { number(&record[8..]) };
            let records = records.chunks(self.length(&[]));
            self.portion.extend(records.map(|record| (number(&record[..8]), rest(record))));
        }

        fn hand_on(&mut self) -> Result<()> {
            self.largest = self.largest.max(self.portion.len() * self.length(&[]));
            self.portion.sort_unstable();
            self.all.append(&mut self.portion);
            Ok(())
        }
    }

    fn number(n: u64) -> u64 {
        if n < 100 { n } else { (n / 3 * 1_000_000_007) + n % 3 }
    }

    /// Distributes by two threads' worth of distributors and drains in two ranges, as a load does.
    fn check(keys: &[u64], memory: usize, is_kept: bool, coding: Coding) {
        let dir = tempfile::tempdir().unwrap();
        let mut two = ["a", "b"].map(|name| Distributor::new(&dir.path().join(name), coding, memory));
        for (&key, n) in keys.iter().zip(0u64..) {
            let to = &mut two[usize::from(n >= keys.len() as u64 / 2)];
            match coding {
                Coding::Plain => to.push(key, &[&n.to_le_bytes()]).unwrap(),
                Coding::Keys => to.push_key(key).unwrap(),
                // Now near, now far apart.
                Coding::Numbered => to.push_numbered(key, number(n)).unwrap(),
            }
        }
        let parts = two.map(|distributor| distributor.finish(is_kept).unwrap());
        assert_eq!(
            parts.iter().flat_map(|part| &part.buckets).map(|bucket| bucket.records).sum::<u64>(),
            keys.len() as u64
        );
        let mut parts = parts.map(|part| {
            // Another process knows what was written down.
            if is_kept { serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap() } else { part }
        });
        let mut collected = Collected { is_bare: coding == Coding::Keys, ..Collected::default() };
        for buckets in [0..100, 100..BUCKETS] {
            drain(&parts, buckets, memory, &dir.path().join("deeper"), &mut collected).unwrap();
        }
        let numbers = |n| match coding {
            Coding::Plain => n,
            Coding::Keys => 0,
            Coding::Numbered => number(n),
        };
        let mut expected: Vec<_> = keys.iter().zip(0u64..).map(|(&key, n)| (key, numbers(n))).collect();
        expected.sort_unstable();
        assert_eq!(collected.all, expected);
        assert!(collected.largest <= memory.max(MIN_BUFFER_BYTES), "{} of {memory}", collected.largest);
        for part in &mut parts {
            part.remove().unwrap();
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "temporary files are left");
    }

    #[test]
    fn records_come_in_the_order_of_their_keys_whatever_the_keys_and_the_memory() {
        let uniform: Vec<u64> = (0..20_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n >> 3).collect();
        let dead: Vec<u64> = uniform.iter().map(|key| key & 0xffff).collect();
        let equal = vec![0xabcd; 5_000];
        let mixed: Vec<u64> =
            uniform.iter().enumerate().map(|(n, &key)| if n % 3 == 0 { u64::MAX } else { key }).collect();
        let edges = [0, u64::MAX, 1, u64::MAX - 1, 1 << 63, (1 << 63) - 1];
        for memory in [4 << 10, 64 << 10, 8 << 20] {
            for is_kept in [false, true] {
                for keys in [&uniform[..], &dead, &equal, &mixed, &edges, &[]] {
                    for coding in [Coding::Plain, Coding::Keys, Coding::Numbered] {
                        check(keys, memory, is_kept, coding);
                    }
                }
            }
        }
    }

    #[test]
    fn a_temporary_file_that_was_changed_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("records");
        let mut distributor = Distributor::new(&path, Coding::Numbered, 0);
        for n in 0..2_000u64 {
            distributor.push_numbered(n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n).unwrap();
        }
        let parts = [distributor.finish(true).unwrap()];
        let drained = || drain(&parts, 0..BUCKETS, 1 << 20, &dir.path().join("deeper"), &mut Collected::default());
        drained().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for bit in (0..bytes.len() * 8).step_by(997) {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, changed).unwrap();
            assert!(drained().is_err(), "{bit}");
        }
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(drained().is_err());
    }
}
