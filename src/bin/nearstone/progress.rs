//! Progress on a terminal, and figures for people.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nearstone::input::{BadRecord, Inputs, PassedOver};

use crate::prose::say;
use crate::{interrupt, prose};

/// A bar of the bytes read, or of the documents done where the size of the input is not known. It is
/// drawn on the standard error if that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    bytes_read: Arc<AtomicU64>,
    sized: bool,
}

impl Progress {
    pub(crate) fn new(inputs: &Inputs, quiet: bool) -> Self {
        Self::of_bytes(inputs.total_bytes(), inputs.bytes_read(), quiet)
    }

    pub(crate) fn of_bytes(total: Option<u64>, bytes_read: Arc<AtomicU64>, quiet: bool) -> Self {
        let target = if quiet || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = if total.is_some() {
            "{bar:30} {bytes}/{total_bytes}  {msg} documents  {elapsed}, {eta} left"
        } else {
            "{spinner} {msg} documents  {elapsed}"
        };
        bar.set_style(ProgressStyle::with_template(style).expect("the template is a constant"));
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, bytes_read, sized: total.is_some() }
    }

    /// Says how many documents are done; called often, so it does little.
    pub(crate) fn documents(&self, count: u64) {
        if count.is_multiple_of(64) {
            self.now(count);
        }
    }

    /// Says how many documents are done.
    pub(crate) fn now(&self, count: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_message(thousands(count));
            if self.sized {
                self.bar.set_position(self.bytes_read.load(Ordering::Relaxed));
            }
        }
    }

    /// Prints a line of prose without tearing the bar.
    pub(crate) fn line(&self, text: &str) {
        self.bar.suspend(|| prose::line(text));
    }

    /// Reports a bad record, or fails with it unless the run is to go on; returns how many records it stands for.
    pub(crate) fn bad(&self, record: &BadRecord, goes_on: bool) -> anyhow::Result<u64> {
        if !goes_on {
            return Err(record.clone().into());
        }
        self.line(&format!("nearstone: {record}"));
        Ok(record.records())
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The phases of a long operation on a store.
#[derive(Clone)]
pub(crate) struct Steps {
    bar: ProgressBar,
}

impl Steps {
    /// Does something long, and shows its phases.
    pub(crate) fn during<T>(
        quiet: bool,
        work: impl FnOnce(&mut dyn FnMut(nearstone::Progress) -> ControlFlow<()>) -> T,
    ) -> T {
        let steps = Self::new(quiet);
        let ended = work(&mut |progress| steps.show(progress));
        steps.finish();
        ended
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    pub(crate) fn new(quiet: bool) -> Self {
        let is_hidden = quiet || !std::io::stderr().is_terminal();
        let target = if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = "{msg:20} {bar:30} {human_pos}/{human_len} entries  {per_sec}  {elapsed}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is a constant"));
        Self { bar }
    }

    /// Shows how far it is, and stops it once the program was asked to end.
    pub(crate) fn show(&self, progress: nearstone::Progress) -> ControlFlow<()> {
        if self.bar.message() != progress.phase {
            self.bar.set_message(progress.phase);
            self.bar.reset_eta();
        }
        // Where a phase does not know its size, all of them together do.
        let (done, total) = match progress.phase_total {
            0 => (progress.done, progress.total),
            total => (progress.phase_done, total),
        };
        self.bar.set_length(total.max(done));
        self.bar.set_position(done);
        if interrupt::check().is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Says what of web archives was no text, if anything, in the form of the figures at the end of a run.
pub(crate) fn tell_passed_over(passed_over: &PassedOver) {
    if passed_over.total() > 0 {
        say!("passed over       {} ({passed_over})", thousands(passed_over.total()));
    }
}

/// A number with its thousands set apart.
pub(crate) fn thousands(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A number of bytes in powers of 1024.
pub(crate) fn bytes(number: u64) -> String {
    indicatif::BinaryBytes(number).to_string()
}

/// A quotient to one place behind the point, of numbers for which a double is exact enough.
#[expect(clippy::cast_precision_loss, reason = "it is shown with one place")]
pub(crate) fn ratio(total: u64, count: u64) -> String {
    if count == 0 { "0".to_owned() } else { format!("{:.1}", total as f64 / count as f64) }
}
