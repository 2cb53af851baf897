//! `nearstone add`

use nearstone::{Options, Simhash, SimhashStore};

use super::seal::seal_if_due;
use crate::args::Add;
use crate::failure::Outcome;
use crate::near_nothing::NearNothing;
use crate::pipeline::{self, Event};
use crate::progress::{Progress, tell_passed_over, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Add) -> anyhow::Result<Outcome> {
    let inputs = args.input.open()?;
    let store = SimhashStore::open(&args.store, &Options::new().auto_seal(None))?;
    let analyser = store.analyser().ok_or_else(|| nearstone::Error::NoAnalyser { path: args.store.clone() })?;
    let simhash = Simhash::new(analyser.clone());
    let inputs = inputs.exclude(store.path());
    let progress = Progress::new(&inputs, args.input.quiet);
    let passed_over = inputs.passed_over();
    let (mut added, mut replaced, mut bad) = (0u64, 0u64, 0u64);
    let mut nothing = NearNothing::default();
    let ended = pipeline::run(inputs, &simhash, args.input.threads(), |event| {
        let Event::Document(item) = event else { return Ok(()) };
        match item {
            Err(e) => {
                progress.bad(e, args.input.reading.skip_bad)?;
                bad += 1;
            }
            Ok(item) => match item.sketch.fingerprint() {
                None => nothing.count(item.sketch),
                Some(fingerprint) => match store.insert(&item.id, &fingerprint)? {
                    None => added += 1,
                    Some(_) => replaced += 1,
                },
            },
        }
        progress.documents(added + replaced + nothing.total() + bad);
        Ok(())
    });
    store.flush()?;
    ended?;
    progress.finish();
    if !args.input.quiet {
        say!(
            "added {}, replaced {}, {}, bad records {}",
            thousands(added),
            thousands(replaced),
            nothing.shown(),
            thousands(bad)
        );
        tell_passed_over(&passed_over);
    }
    seal_if_due(&store, args.input.quiet)?;
    Ok(Outcome::Done)
}
