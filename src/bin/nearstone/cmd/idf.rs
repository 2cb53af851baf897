//! `nearstone idf`

use nearstone::{Frequencies, FrequencyCounter};

use crate::args::Idf;
use crate::failure::{Outcome, Usage};
use crate::output::{self, Output};
use crate::pipeline::{self, Event};
use crate::progress::{Progress, tell_passed_over, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Idf) -> anyhow::Result<Outcome> {
    if !args.analysis.tables.idf.is_empty() {
        let why = "a table is made whatever the weights: leave out --idf";
        return Err(Usage(why.to_owned()).into());
    }
    output::check_distinct(args.input.inputs.iter().chain(args.analysis.tables.paths()), &[&args.out])?;
    let inputs = args.input.open()?.exclude(&args.out);
    let mut out = Output::create(&args.out)?;
    let analyser = (!args.lines).then(|| args.analysis.analyser()).transpose()?;
    let counter = analyser.as_ref().map_or_else(FrequencyCounter::of_lines, FrequencyCounter::of_features);
    let mut counter = counter.least_documents(args.min_documents).memory_bytes(args.memory);
    if let Some(folder) = &args.temp_dir {
        counter = counter.temp_dir(folder);
    }
    let progress = Progress::new(&inputs, args.input.quiet);
    let passed_over = inputs.passed_over();
    let (mut documents, mut bad) = (0, 0);
    let hashes = move |raw: nearstone::input::RawRecord| {
        let Some(document) = raw.parse()? else { return Ok(None) };
        Ok(Some(match &analyser {
            Some(analyser) => analyser.distinct_features(&document.text),
            None => Frequencies::lines_of(&document.text),
        }))
    };
    pipeline::run_with(inputs, args.input.threads(), hashes, |event| {
        let Event::Document(item) = event else { return Ok(()) };
        match item {
            Err(e) => {
                bad += progress.bad(&e, args.input.skips_bad())?;
            }
            Ok(hashes) => counter.add(hashes)?,
        }
        documents += 1;
        progress.documents(documents);
        Ok(())
    })?;
    let table = counter.finish()?;
    out.bytes(&table.to_bytes())?;
    out.finish()?;
    progress.finish();
    if !args.input.quiet {
        let what = if args.lines { "lines" } else { "features" };
        say!(
            "{} {what} that {} or more of {} documents have, bad records {}",
            thousands(table.len() as u64),
            args.min_documents,
            thousands(table.documents()),
            thousands(bad)
        );
        tell_passed_over(&passed_over);
    }
    Ok(Outcome::Done)
}
