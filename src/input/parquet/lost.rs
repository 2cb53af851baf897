//! Why rows cannot be read, and the panics of the crate that are among the reasons.

use std::cell::Cell;
use std::error::Error;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use parquet::errors::{ParquetError, Result};

/// Why rows cannot be read.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) reason: String,
    pub(super) remedy: &'static str,
}

const WRITE_AGAIN: &str = "fetch or write the file again";

/// A page or its values take more memory than they may.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct OverLimit(String);

/// Makes the error of what takes more memory than it may.
pub(super) fn over_limit(reason: String) -> ParquetError {
    ParquetError::External(Box::new(OverLimit(reason)))
}

impl From<ParquetError> for Lost {
    fn from(error: ParquetError) -> Self {
        let is_over_limit = error.source().is_some_and(<dyn Error>::is::<OverLimit>);
        let remedy =
            if is_over_limit { "raise --max-record-bytes, or fetch or write the file again" } else { WRITE_AGAIN };
        let reason = match error {
            ParquetError::General(reason) | ParquetError::EOF(reason) => reason,
            ParquetError::External(e) => e.to_string(),
            e => e.to_string(),
        };
        Self { reason, remedy }
    }
}

thread_local! {
    /// Whether this thread takes a panic for an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Takes a panic of the crate, which some damage brings about, for the error that it is, and without its message on the
/// standard error.
///
/// The hook for panics is one for all threads of a program. The first call puts one before it that asks whether the
/// thread that panics is within such a call; all other panics go to the one that was there.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T>) -> std::result::Result<T, Lost> {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        #[expect(unexpected_cfgs, reason = "set by cargo-fuzz: a fuzzer is told of every panic")]
        if cfg!(fuzzing) {
            return;
        }
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_GUARDED.try_with(Cell::get).unwrap_or(false) {
                hook(panic);
            }
        }));
    });
    let was_guarded = IS_GUARDED.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(was_guarded);
    match read {
        Ok(read) => read.map_err(Lost::from),
        Err(_) => Err(Lost { reason: "its pages are damaged".to_owned(), remedy: WRITE_AGAIN }),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use super::*;

    /// Set for the child process in which panics happen.
    const CHILD: &str = "NEARSTONE_TEST_PANICS";

    #[test]
    fn a_panic_that_is_caught_says_nothing_and_others_do() {
        if std::env::var_os(CHILD).is_some() {
            let other = || thread::spawn(|| panic!("of another thread")).join().is_err();
            let lost = guarded(|| {
                assert!(other());
                let within = guarded(|| -> Result<()> { panic!("within another") });
                assert_eq!(within.unwrap_err().reason, "its pages are damaged");
                let pages: Vec<u8> = std::hint::black_box(vec![]);
                assert!(pages[1] > 0, "of the crate");
                Ok(())
            });
            assert_eq!(lost.unwrap_err().reason, "its pages are damaged");
            let _ = catch_unwind(|| panic!("of this thread afterwards"));
            return;
        }
        let program = std::env::current_exe().unwrap();
        let name = concat!(module_path!(), "::a_panic_that_is_caught_says_nothing_and_others_do");
        let (_, name) = name.split_once("::").unwrap();
        let output = Command::new(program).args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("of another thread") && said.contains("of this thread afterwards"), "{said}");
        assert!(!said.contains("within another") && !said.contains("index out of bounds"), "{said}");
    }

    #[test]
    fn the_remedy_is_that_of_the_reason() {
        let lost = |error| guarded(|| -> Result<()> { Err(error) }).unwrap_err();
        let long = lost(over_limit("too long".to_owned()));
        assert_eq!(
            (&long.reason[..], long.remedy),
            ("too long", "raise --max-record-bytes, or fetch or write the file again")
        );
        for error in [ParquetError::General("odd".to_owned()), ParquetError::EOF("odd".to_owned())] {
            let other = lost(error);
            assert_eq!((&other.reason[..], other.remedy), ("odd", WRITE_AGAIN));
        }
    }
}
