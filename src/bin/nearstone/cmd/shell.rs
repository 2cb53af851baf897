//! Completion scripts and the manual page, for packagers.

use clap::CommandFactory;

use crate::args::Args;
use crate::failure::Outcome;
use crate::output::Output;

pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "nearstone", &mut script);
    print(&script)
}

pub(crate) fn man() -> anyhow::Result<Outcome> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut page)?;
    print(&page)
}

fn print(text: &[u8]) -> anyhow::Result<Outcome> {
    let mut out = Output::stdout();
    out.bytes(text)?;
    out.finish()?;
    Ok(Outcome::Done)
}
