//! Ctrl-C and termination: the batch at hand is finished and the store flushed. A second one ends the
//! program at once, which the store survives as well.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The run was asked to end.
#[derive(Debug)]
pub(crate) struct Interrupted {
    /// What becomes of the work until then.
    remedy: &'static str,
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "interrupted: {}", self.remedy)
    }
}

impl std::error::Error for Interrupted {}

/// Takes over the signals.
#[cfg(unix)]
pub(crate) fn install() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::flag;

    let requested = REQUESTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset, and sets it; the second one exits. Where
        // the system refuses, the signal ends the program as it always does.
        let code = i32::from(crate::failure::INTERRUPTED);
        if flag::register_conditional_shutdown(signal, code, Arc::clone(requested)).is_ok() {
            let _ = flag::register(signal, Arc::clone(requested));
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn install() {}

/// Fails once the run was asked to end.
pub(crate) fn check() -> Result<(), Interrupted> {
    match REQUESTED.get() {
        Some(requested) if requested.load(Ordering::Relaxed) => {
            Err(Interrupted { remedy: "what was stored is kept; repeat the run to go on" })
        }
        _ => Ok(()),
    }
}

/// The error of a run that keeps nothing.
pub(crate) fn keeps_nothing(error: anyhow::Error) -> anyhow::Error {
    let is_stopped = matches!(error.downcast_ref(), Some(nearstone::Error::Stopped { .. }));
    if is_stopped || error.is::<Interrupted>() {
        return Interrupted { remedy: "nothing of it is kept: repeat the run" }.into();
    }
    error
}
