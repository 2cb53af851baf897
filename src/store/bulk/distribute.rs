//! Records distributed by the first byte of a number, in bounded memory, so that [`drain`](super::drain) can sort them bucket
//! by bucket.
//!
//! 1. A record begins with its key, 8 bytes little-endian. It goes to the bucket of the byte of its key at the
//!    level of the distribution; buckets in their order hold ascending ranges of keys.
//!    What is moved most, bare keys and keys with a number, is kept without the byte that the bucket tells, and
//!    numbers as their distances to the ones before.
//! 2. Each bucket has a buffer of fixed size, which goes to the one temporary file when it is full. So memory is
//!    bounded whatever the keys, and what fits into the buffers needs no file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::failed;
use crate::Result;
use crate::hash::checksum;

pub(super) const BUCKETS: usize = 256;

/// The number of bits that the first distribution is by, counted from the end of the key.
pub(super) const FIRST_SHIFT: u32 = 56;

/// A buffer of fewer bytes would be a file of crumbs.
pub(super) const MIN_BUFFER_BYTES: usize = 4 << 10;

/// How records are kept in buckets of the first level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Coding {
    /// As they are.
    #[default]
    Plain,
    /// Keys alone.
    Keys,
    /// Keys, each with a number of 8 bytes, which had better ascend.
    Numbered,
}

/// The bytes of a key that its bucket does not tell.
pub(super) const KEY_BYTES: usize = 7;

/// A larger buffer would save nothing, and a budget that no machine has must not be asked of it.
const MAX_BUFFER_BYTES: usize = 64 << 20;

/// Takes records in any order.
pub(super) struct Distributor {
    coding: Coding,
    /// The latest number of each bucket.
    latest: Vec<u64>,
    shift: u32,
    buffers: Vec<Vec<u8>>,
    buffer_bytes: usize,
    path: PathBuf,
    file: Option<File>,
    written: u64,
    buckets: Vec<Bucket>,
}

/// What a bucket holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bucket {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// Where its parts lie in the file, with their lengths and checksums.
    pub(super) extents: Vec<(u64, u32, u64)>,
}

/// Records in buckets.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Distributed {
    pub(super) coding: Coding,
    pub(super) shift: u32,
    pub(super) path: PathBuf,
    pub(super) buckets: Vec<Bucket>,
    /// What did not have to go to the file, for each bucket.
    #[serde(skip)]
    pub(super) buffers: Vec<Vec<u8>>,
}

impl Distributor {
    /// Spills to the file at a path, which does not exist yet, when buffers of `memory_bytes` are full.
    pub(super) fn new(path: &Path, coding: Coding, memory_bytes: usize) -> Self {
        Self::at(path, coding, memory_bytes, FIRST_SHIFT)
    }

    pub(super) fn at(path: &Path, coding: Coding, memory_bytes: usize, shift: u32) -> Self {
        Self {
            coding,
            latest: vec![0; BUCKETS],
            shift,
            buffers: vec![Vec::new(); BUCKETS],
            buffer_bytes: (memory_bytes / BUCKETS).clamp(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
            path: path.to_owned(),
            file: None,
            written: 0,
            buckets: vec![Bucket::default(); BUCKETS],
        }
    }

    /// Takes a record: a key and what follows it.
    pub(super) fn push(&mut self, key: u64, rest: &[&[u8]]) -> Result<()> {
        debug_assert_eq!(self.coding, Coding::Plain);
        let bucket = (key >> self.shift & 0xff) as usize;
        let length = 8 + rest.iter().map(|part| part.len()).sum::<usize>();
        let buffer = self.room(bucket, length)?;
        buffer.extend_from_slice(&key.to_le_bytes());
        for part in rest {
            buffer.extend_from_slice(part);
        }
        Ok(())
    }

    /// Takes a bare key.
    #[inline]
    pub(super) fn push_key(&mut self, key: u64) -> Result<()> {
        debug_assert_eq!(self.coding, Coding::Keys);
        let bucket = (key >> FIRST_SHIFT) as usize;
        self.room(bucket, KEY_BYTES)?.extend_from_slice(&key.to_le_bytes()[..KEY_BYTES]);
        Ok(())
    }

    /// Takes a key and a number.
    #[inline]
    pub(super) fn push_numbered(&mut self, key: u64, number: u64) -> Result<()> {
        debug_assert_eq!(self.coding, Coding::Numbered);
        let bucket = (key >> FIRST_SHIFT) as usize;
        let mut distance = number.wrapping_sub(std::mem::replace(&mut self.latest[bucket], number));
        // A key, and seven bits of the distance in each further byte, the lowest first.
        let mut record = [0; KEY_BYTES + 10];
        record[..8].copy_from_slice(&key.to_le_bytes());
        let mut length = KEY_BYTES;
        while distance >= 0x80 {
            record[length] = distance.to_le_bytes()[0] | 0x80;
            distance >>= 7;
            length += 1;
        }
        record[length] = distance.to_le_bytes()[0];
        self.room(bucket, length + 1)?.extend_from_slice(&record[..=length]);
        Ok(())
    }

    /// The buffer of a bucket, which has room for one more record of a length, and counts it.
    #[inline]
    fn room(&mut self, bucket: usize, length: usize) -> Result<&mut Vec<u8>> {
        let held = self.buffers[bucket].len();
        if held + length > self.buffer_bytes && held > 0 {
            self.spill(bucket)?;
        }
        self.buckets[bucket].records += 1;
        let buffer = &mut self.buffers[bucket];
        if buffer.capacity() == 0 {
            // In one piece; the system gives the memory when it is used.
            buffer.reserve_exact(self.buffer_bytes.max(length));
        }
        Ok(buffer)
    }

    fn spill(&mut self, bucket: usize) -> Result<()> {
        let buffer = &mut self.buffers[bucket];
        if self.file.is_none() {
            self.file = Some(File::create(&self.path).map_err(|e| failed("create", &self.path, e))?);
        }
        let file = self.file.as_mut().expect("it was just made");
        file.write_all(buffer).map_err(|e| failed("write", &self.path, e))?;
        let length = u32::try_from(buffer.len()).expect("a buffer has less than 4 GiB");
        self.buckets[bucket].extents.push((self.written, length, checksum(buffer)));
        self.buckets[bucket].bytes += u64::from(length);
        self.written += u64::from(length);
        buffer.clear();
        Ok(())
    }

    /// The buckets. With `is_kept` all of them are in the file and on the medium, so that another process can
    /// go on with them.
    pub(super) fn finish(mut self, is_kept: bool) -> Result<Distributed> {
        if is_kept {
            for bucket in 0..BUCKETS {
                if !self.buffers[bucket].is_empty() {
                    self.spill(bucket)?;
                }
            }
            if let Some(file) = &self.file {
                file.sync_data().map_err(|e| failed("sync", &self.path, e))?;
            }
            self.buffers = Vec::new();
        }
        for (bucket, buffer) in self.buckets.iter_mut().zip(&self.buffers) {
            bucket.bytes += buffer.len() as u64;
        }
        let Self { coding, shift, path, buckets, buffers, .. } = self;
        Ok(Distributed { coding, shift, path, buckets, buffers })
    }
}
