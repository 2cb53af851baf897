//! The command-line program: data on the standard output, prose on the standard error.

mod any_store;
mod args;
mod cmd;
mod failure;
mod growing;
mod interrupt;
mod near_nothing;
mod output;
mod pipeline;
mod progress;
mod prose;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::Outcome;

fn main() -> ExitCode {
    let args = Args::parse();
    interrupt::install();
    let outcome = match args.command {
        Command::Dedup(args) => cmd::dedup::run(&args),
        Command::Create(args) => cmd::create::run(&args),
        Command::Add(args) => cmd::add::run(&args),
        Command::Query(args) => cmd::query::run(&args),
        Command::Pairs(args) => cmd::pairs::run(&args),
        Command::Fingerprint(args) => cmd::fingerprint::run(&args),
        Command::Explain(args) => cmd::explain::run(&args),
        Command::Evaluate(args) => cmd::evaluate::run(&args),
        Command::Idf(args) => cmd::idf::run(&args),
        Command::Get(args) => cmd::get::run(&args),
        Command::Delete(args) => cmd::delete::run(&args),
        Command::Stats(args) => cmd::stats::run(&args),
        Command::Plan(args) => cmd::plan::run(&args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Checkpoint(args) => cmd::checkpoint::run(&args),
        Command::Verify(args) => cmd::verify::run(&args),
        Command::Repair(args) => cmd::repair::run(&args),
        Command::Expire(args) => cmd::expire::run(&args),
        Command::Load(args) => cmd::load::run(&args),
        Command::Seal(args) => cmd::seal::run(&args),
        Command::Compact(args) => cmd::seal::compact(&args),
        Command::Export(args) => cmd::export::run(&args),
        Command::Merge(args) => cmd::merge::run(&args),
        Command::Bench(bench) => cmd::bench::run(&bench).map_err(interrupt::keeps_nothing),
        Command::Completions { shell } => cmd::shell::completions(shell),
        Command::Man => cmd::shell::man(),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(failure::NO),
        Err(e) if failure::is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            prose::say!("nearstone: {}", failure::message(&e));
            ExitCode::from(failure::code(&e))
        }
    }
}
