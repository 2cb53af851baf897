//! How long the medium takes for single reads.

use std::path::Path;

use super::Times;

/// A block of a file.
const READ_BYTES: usize = 4 << 10;

/// Reads blocks at random places of the files of a store, past the cache of the system and one after the other; none where
/// the system cannot.
#[cfg(target_os = "linux")]
pub(super) fn random_reads(store: &Path, count: u64) -> Option<Times> {
    use std::fs::{self, File, OpenOptions};
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    use std::time::Instant;

    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).ok()?;
    let mut files: Vec<(File, u64)> = Vec::new();
    for entry in fs::read_dir(store).ok()?.flatten() {
        let blocks = entry.metadata().ok()?.len() / READ_BYTES as u64;
        if blocks > 0 && entry.path().extension().is_some_and(|extension| extension == "sst") {
            files.push((OpenOptions::new().read(true).custom_flags(direct).open(entry.path()).ok()?, blocks));
        }
    }
    let all: u64 = files.iter().map(|(_, blocks)| blocks).sum();
    // Reads of this kind go to memory that begins at a block.
    let room = vec![0u8; 2 * READ_BYTES];
    let aligned = room.as_ptr().align_offset(READ_BYTES);
    let mut room = room;
    let block = room.get_mut(aligned..aligned + READ_BYTES)?;
    let mut micros = Vec::new();
    for n in 0..count {
        let mut place = super::value(n ^ 1 << 55).checked_rem(all)?;
        let (file, _) = files.iter().find(|(_, blocks)| match place.checked_sub(*blocks) {
            Some(rest) => {
                place = rest;
                false
            }
            None => true,
        })?;
        let begun = Instant::now();
        file.read_exact_at(block, place * READ_BYTES as u64).ok()?;
        micros.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Some(Times::new(micros))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn random_reads(_: &Path, _: u64) -> Option<Times> {
    None
}
