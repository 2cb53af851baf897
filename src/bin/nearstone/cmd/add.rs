//! `nearstone add`

use nearstone::input::{BadRecord, RawRecord};
use nearstone::{Minhash, Options, Signature, Simhash, Sketch, Store, TextSketch};

use super::seal::seal_if_due;
use crate::any_store::AnyStore;
use crate::args::Add;
use crate::failure::Outcome;
use crate::near_nothing::NearNothing;
use crate::pipeline::{self, Event};
use crate::progress::{Progress, tell_passed_over, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Add) -> anyhow::Result<Outcome> {
    match AnyStore::open(&args.store, &Options::new().auto_seal(None))? {
        AnyStore::Fingerprints(store) => {
            let simhash = Simhash::new(analyser_of(args, &store)?);
            let make = move |text: &str| {
                let sketch = simhash.sketch(text);
                sketch.fingerprint().ok_or(sketch)
            };
            add(args, &store, make)?;
            seal_if_due(&store, args.input.quiet)?;
        }
        AnyStore::Signatures(store) => {
            let minhash = store.design().minhash(analyser_of(args, &store)?);
            add(args, &store, move |text: &str| signature(&minhash, text))?;
        }
    }
    Ok(Outcome::Done)
}

fn analyser_of<S: Sketch>(args: &Add, store: &Store<S>) -> anyhow::Result<nearstone::Analyser> {
    let analyser = store.analyser().ok_or_else(|| nearstone::Error::NoAnalyser { path: args.store.clone() })?;
    Ok(analyser.clone())
}

/// The signature of a text, or why it has none.
pub(super) fn signature(minhash: &Minhash, text: &str) -> Result<Signature, TextSketch> {
    minhash.signature(text).ok_or_else(|| Simhash::new(minhash.analyser().clone()).sketch(text))
}

/// A document with its sketch, or why it has none.
type Sketched<S> = (String, Result<S, TextSketch>);

fn add<S: Sketch>(
    args: &Add,
    store: &Store<S>,
    sketch: impl Fn(&str) -> Result<S, TextSketch> + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let inputs = args.input.open()?.exclude(store.path());
    let progress = Progress::new(&inputs, args.input.quiet);
    let passed_over = inputs.passed_over();
    let (mut added, mut replaced, mut bad) = (0u64, 0u64, 0u64);
    let mut nothing = NearNothing::default();
    let make = move |raw: RawRecord| -> Result<Option<Sketched<S>>, BadRecord> {
        Ok(raw.parse()?.map(|document| (document.id, sketch(&document.text))))
    };
    let ended = pipeline::run_with(inputs, args.input.threads(), make, |event| {
        let Event::Document(item) = event else { return Ok(()) };
        match item {
            Err(e) => {
                bad += progress.bad(&e, args.input.skips_bad())?;
            }
            Ok((_, Err(why))) => nothing.count(why),
            Ok((id, Ok(sketch))) => match store.insert(&id, &sketch)? {
                None => added += 1,
                Some(_) => replaced += 1,
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
    Ok(())
}
