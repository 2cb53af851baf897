//! `nearstone pairs`

use std::path::Path;
use std::time::Instant;

use nearstone::{MinhashStore, Options, Pair, SimhashStore};
use serde_json::Map;

use crate::any_store::AnyStore;
use crate::args::{PairFormat, Pairs};
use crate::failure::{Outcome, Usage};
use crate::growing::Growing;
use crate::interrupt;
use crate::output::{self, Output};
use crate::progress::{Steps, thousands};
use crate::prose::say;

pub(crate) fn run(args: &Pairs) -> anyhow::Result<Outcome> {
    let open = |path: &Path| SimhashStore::open_read_only(path, &Options::new().sketches_only());
    if args.with.as_ref().is_some_and(|with| same_file::is_same_file(&args.store, with).unwrap_or(false)) {
        return Err(Usage("--with names the store itself: leave it out".to_owned()).into());
    }
    let store = match AnyStore::open_read_only(&args.store, &Options::new().sketches_only())? {
        AnyStore::Fingerprints(store) => store,
        AnyStore::Signatures(store) => return of_signatures(args, &store),
    };
    let other = args.with.as_deref().map(open).transpose()?;
    let max_distance = args.max_distance.unwrap_or(store.design().max_distance());
    let mut options = args.options();
    let mut rows = Rows { format: args.format, sink: sink(args)?, line: Vec::new() };
    if let Sink::Growing(_, Some(point)) = &mut rows.sink {
        options = options.resume(std::mem::take(point));
    }
    let began = Instant::now();
    let pairs = match &other {
        None => store.pairs(max_distance, &options)?,
        Some(other) => store.pairs_with(other, max_distance, &options)?,
    };
    let steps = Steps::new(args.quiet);
    let mut pairs = pairs.on_progress({
        let steps = steps.clone();
        move |progress| steps.show(progress)
    });
    let (mut count, mut ended) = (0u64, Ok(()));
    loop {
        if interrupt::check().is_err() {
            ended = Err(stopped(args));
            break;
        }
        // Before the next pair: it may begin a step.
        rows.save(&pairs)?;
        match pairs.next() {
            None => break,
            Some(Ok(pair)) => rows.row(&pair)?,
            Some(Err(nearstone::Error::Stopped { .. })) => {
                ended = Err(stopped(args));
                break;
            }
            Some(Err(error)) => {
                ended = Err(error);
                break;
            }
        }
        count += 1;
    }
    steps.finish();
    ended?;
    rows.finish()?;
    if !args.quiet {
        say!("{} pairs in {:.1} s", thousands(count), began.elapsed().as_secs_f64());
    }
    Ok(Outcome::Done)
}

/// The pairs of a store of signatures, which are found one after the other and cannot be gone on with.
fn of_signatures(args: &Pairs, store: &MinhashStore) -> anyhow::Result<Outcome> {
    if args.with.is_some() || args.resume || args.expand {
        let why = "--with, --resume and --expand are for stores of fingerprints: leave them out";
        return Err(Usage(why.to_owned()).into());
    }
    let max_distance = args.max_distance.unwrap_or(super::query::distance_of(store.design()));
    let mut rows = Rows { format: args.format, sink: Sink::Plain(Output::create(&args.out)?), line: Vec::new() };
    let (began, mut count) = (Instant::now(), 0u64);
    for pair in store.pairs(max_distance)? {
        interrupt::check()?;
        rows.row(&pair?)?;
        count += 1;
    }
    rows.finish()?;
    if !args.quiet {
        say!("{} pairs in {:.1} s", thousands(count), began.elapsed().as_secs_f64());
    }
    Ok(Outcome::Done)
}

fn stopped(args: &Pairs) -> nearstone::Error {
    let is_kept = args.out.as_os_str() != "-";
    let remedy = if is_kept { "--resume goes on where it was" } else { "repeat the run, or give it -o FILE to go on" };
    nearstone::Error::Stopped { remedy }
}

enum Sink {
    Plain(Output),
    /// With the point that an earlier run has come to.
    Growing(Growing, Option<String>),
}

fn sink(args: &Pairs) -> anyhow::Result<Sink> {
    let is_file = std::fs::metadata(&args.out).map_or(true, |metadata| metadata.is_file());
    if args.out.as_os_str() == "-" || !is_file {
        if args.resume {
            return Err(Usage("--resume goes on with a file: name it with -o".to_owned()).into());
        }
        return Ok(Sink::Plain(Output::create(&args.out)?));
    }
    let path = |path: &Path| std::fs::canonicalize(path).unwrap_or(path.to_owned()).display().to_string();
    let asked = vec![
        ("the store".to_owned(), path(&args.store)),
        ("--with".to_owned(), args.with.as_deref().map_or("none".to_owned(), path)),
        ("--format".to_owned(), format!("{:?}", args.format)),
    ];
    let (growing, point) = Growing::open(&args.out, asked, args.resume)?;
    Ok(Sink::Growing(growing, point))
}

struct Rows {
    format: PairFormat,
    sink: Sink,
    line: Vec<u8>,
}

impl Rows {
    fn row(&mut self, pair: &Pair) -> anyhow::Result<()> {
        self.line.clear();
        match self.format {
            PairFormat::Tsv => {
                for id in [&pair.a, &pair.b] {
                    put_field(&mut self.line, &output::shown_id(id))?;
                    self.line.push(b'\t');
                }
                self.line.extend_from_slice(pair.distance.to_string().as_bytes());
            }
            PairFormat::JsonLines => {
                let mut object = Map::new();
                output::put_id(&mut object, "a", &pair.a);
                output::put_id(&mut object, "b", &pair.b);
                object.insert("distance".to_owned(), pair.distance.into());
                serde_json::to_writer(&mut self.line, &object)?;
            }
        }
        self.line.push(b'\n');
        match &mut self.sink {
            Sink::Plain(out) => out.bytes(&self.line),
            Sink::Growing(out, _) => out.bytes(&self.line),
        }
    }

    fn save(&mut self, pairs: &nearstone::Pairs) -> anyhow::Result<()> {
        match &mut self.sink {
            Sink::Growing(out, _) if out.is_due() => pairs.resume_point().map_or(Ok(()), |point| out.save(point)),
            _ => Ok(()),
        }
    }

    fn finish(self) -> anyhow::Result<()> {
        match self.sink {
            Sink::Plain(out) => out.finish(),
            Sink::Growing(out, _) => out.finish(),
        }
    }
}

/// Appends a field, in quotes where it needs them, as `export` writes it.
fn put_field(line: &mut Vec<u8>, field: &[u8]) -> anyhow::Result<()> {
    if !field.is_empty() && !field.iter().any(|byte| matches!(byte, b'\t' | b'"' | b'\r' | b'\n')) {
        line.extend_from_slice(field);
        return Ok(());
    }
    let mut writer = csv::WriterBuilder::new().delimiter(b'\t').from_writer(&mut *line);
    writer.write_record([field])?;
    writer.flush()?;
    drop(writer);
    // The end of the line is yet to come.
    line.pop();
    Ok(())
}
