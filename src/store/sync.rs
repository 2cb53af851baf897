//! What [`claims`](super::claims) share with other threads, so that its tests can put others in their place.

pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) use crate::spread::thread_number;
