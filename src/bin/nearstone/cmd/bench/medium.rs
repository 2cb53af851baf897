//! How long the medium takes for single reads.

use std::io;
use std::path::Path;

use super::Times;

/// A block of a file.
const READ_BYTES: usize = 4 << 10;

/// Reads blocks at random places of the files of a store, past the cache of the system and one after the other; fails
/// where the file system has no such reads.
#[cfg(target_os = "linux")]
pub(super) fn random_reads(store: &Path, count: u64) -> io::Result<Times> {
    use std::fs::{self, File, OpenOptions};
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    use std::time::Instant;

    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).map_err(io::Error::other)?;
    let mut files: Vec<(File, u64)> = Vec::new();
    for entry in fs::read_dir(store)?.flatten() {
        let blocks = entry.metadata()?.len() / READ_BYTES as u64;
        if blocks > 0 && entry.path().extension().is_some_and(|extension| extension == "sst") {
            files.push((OpenOptions::new().read(true).custom_flags(direct).open(entry.path())?, blocks));
        }
    }
    let nothing = || io::Error::other("the store has no file of a block");
    let all: u64 = files.iter().map(|(_, blocks)| blocks).sum();
    // Reads of this kind go to memory that begins at a block.
    let room = vec![0u8; 2 * READ_BYTES];
    let aligned = room.as_ptr().align_offset(READ_BYTES);
    let mut room = room;
    let block = room.get_mut(aligned..aligned + READ_BYTES).ok_or_else(nothing)?;
    let mut micros = Vec::new();
    for n in 0..count {
        let mut place = super::value(n ^ 1 << 55).checked_rem(all).ok_or_else(nothing)?;
        let (file, _) = files
            .iter()
            .find(|(_, blocks)| match place.checked_sub(*blocks) {
                Some(rest) => {
                    place = rest;
                    false
                }
                None => true,
            })
            .ok_or_else(nothing)?;
        let begun = Instant::now();
        file.read_exact_at(block, place * READ_BYTES as u64)?;
        micros.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(Times::new(micros))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn random_reads(_: &Path, _: u64) -> io::Result<Times> {
    Err(io::Error::other("not on this system"))
}
