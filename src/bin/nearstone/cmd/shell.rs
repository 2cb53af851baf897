//! Completion scripts and the manual page, for packagers.

use clap::CommandFactory;

use crate::args::Args;
use crate::failure::Outcome;

#[expect(clippy::unnecessary_wraps, reason = "every command returns the same")]
pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<Outcome> {
    clap_complete::generate(shell, &mut Args::command(), "nearstone", &mut std::io::stdout());
    Ok(Outcome::Done)
}

pub(crate) fn man() -> anyhow::Result<Outcome> {
    clap_mangen::Man::new(Args::command()).render(&mut std::io::stdout())?;
    Ok(Outcome::Done)
}
