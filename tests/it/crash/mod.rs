//! Killed processes, lost power and full disks: what was acknowledged stays, and the store opens.
//!
//! A test starts its own binary again as a child. Each thread of the child makes the calls of a plan and
//! says, in one line a call, which has returned. The parent works out the same calls from the same seed. So it
//! knows what the store must hold, up to the one call of each thread that was under way.

mod account;
mod child;
#[cfg(unix)]
mod full;
mod generations;
mod kill;
#[cfg(target_os = "linux")]
mod medium;
mod plan;
#[cfg(target_os = "linux")]
mod power;
mod process;
mod survival;

/// So many threads can write in a child.
const THREADS: usize = 4;
