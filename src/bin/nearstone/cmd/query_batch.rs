//! `nearstone query --batch`

use std::num::NonZeroUsize;

use nearstone::{Fingerprint, Options, SimhashStore};
use serde_json::Map;

use super::records::{Record, Source};
use crate::args::{Kind, Query};
use crate::failure::Outcome;
use crate::interrupt;
use crate::near_nothing::NearNothing;
use crate::output::{self, Output};
use crate::progress::{tell_passed_over, thousands};
use crate::prose::say;

/// So many queries are answered together.
const CHUNK: usize = 1 << 18;

pub(super) fn run(args: &Query) -> anyhow::Result<Outcome> {
    let kind = args.records.kind(&args.batch)?;
    let options = if kind == Kind::Texts { Options::new() } else { Options::new().sketches_only() };
    let mut store = SimhashStore::open_read_only(&args.store, &options)?;
    if let Some(threads) = args.threads {
        store = store.with_threads(threads);
    }
    let threads = args.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let source = Source {
        inputs: &args.batch,
        records: &args.records,
        kind,
        analyser: store.analyser(),
        store: store.path(),
        threads,
        quiet: args.quiet,
    };
    let mut asked = Asked {
        store: &store,
        max_distance: args.max_distance.unwrap_or(store.design().max_distance()),
        chunk: Vec::new(),
        out: Output::stdout(),
        queries: 0,
        found: 0,
        matches: 0,
        nothing: NearNothing::default(),
    };
    let left_out = source.read(|record| {
        match record {
            Record::Rows(fingerprints) => {
                for &fingerprint in fingerprints {
                    asked.add(Name::Row(asked.queries), fingerprint)?;
                }
            }
            Record::NearNothing(sketch) => asked.nothing.count(sketch),
            Record::Document { id, fingerprint, .. } => asked.add(Name::Id(id.to_owned()), fingerprint)?,
        }
        Ok(asked.queries)
    })?;
    asked.answer()?;
    let Asked { out, queries, found, matches, nothing, .. } = asked;
    out.finish()?;
    if !args.quiet {
        say!("queries           {}", thousands(queries));
        say!("  with matches    {}", thousands(found));
        say!("matches           {}", thousands(matches));
        if nothing.without_features > 0 {
            say!("without features  {} (near nothing)", thousands(nothing.without_features));
        }
        if nothing.too_short > 0 {
            say!("too short         {} (near nothing)", thousands(nothing.too_short));
        }
        if left_out.bad > 0 {
            say!("bad records       {} (passed over)", thousands(left_out.bad));
        }
        tell_passed_over(&left_out.passed_over);
    }
    Ok(if found == 0 { Outcome::No } else { Outcome::Done })
}

/// What a query is called.
enum Name {
    Id(Vec<u8>),
    Row(u64),
}

/// The queries so far, of which some are not answered yet.
struct Asked<'a> {
    store: &'a SimhashStore,
    max_distance: u32,
    chunk: Vec<(Name, Fingerprint)>,
    out: Output,
    queries: u64,
    found: u64,
    matches: u64,
    nothing: NearNothing,
}

impl Asked<'_> {
    fn add(&mut self, name: Name, fingerprint: Fingerprint) -> anyhow::Result<()> {
        self.queries += 1;
        self.chunk.push((name, fingerprint));
        if self.chunk.len() == CHUNK { self.answer() } else { Ok(()) }
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        let fingerprints = self.chunk.iter().map(|(_, fingerprint)| *fingerprint);
        for ((name, _), matches) in self.chunk.iter().zip(self.store.query_batch(fingerprints, self.max_distance)?) {
            interrupt::check()?;
            let matches = matches?;
            self.found += u64::from(!matches.is_empty());
            self.matches += matches.len() as u64;
            for found in &matches {
                let mut object = Map::new();
                match name {
                    Name::Id(id) => output::put_id(&mut object, "query", id),
                    Name::Row(row) => drop(object.insert("query".to_owned(), (*row).into())),
                }
                output::put_id(&mut object, "id", &found.id);
                object.insert("distance".to_owned(), found.distance.into());
                self.out.object(object)?;
            }
        }
        self.chunk.clear();
        Ok(())
    }
}
