//! `nearstone bench admit`

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use nearstone::yardstick::Sets;
use nearstone::{Fingerprint, NewDocument, Options, SimhashStore};
use serde_json::{Value, json};

use super::data::Data;
use super::{Times, flipped, float, folder, rss, value};
use crate::args::BenchAdmit;
use crate::failure::Outcome;
use crate::interrupt;
use crate::output::Output;
use crate::progress::{bytes, thousands};

pub(crate) fn run(args: &BenchAdmit) -> anyhow::Result<Outcome> {
    let folder = folder(args.made.dir.as_deref())?;
    let base = folder.path().join("store");
    Data { made: &args.made, live: args.live, crowded: 0.0, planted: 0.0, memory: args.memory }.store(&base)?;
    let stored: Vec<u64> = {
        let store = SimhashStore::open_read_only(&base, &Options::new().sketches_only())?;
        let all = store.iter_by_fingerprint()?.map(|document| document.map(|(sketch, _)| sketch.bits()));
        all.collect::<Result<_, _>>()?
    };
    let bench = Bench { args, base: &base, copy: folder.path().join("copy"), new: brought(args, &stored) };
    let mut rows = Vec::new();
    for &threads in &args.threads {
        rows.push(bench.measure(threads.into(), Way::Admit)?);
        rows.push(bench.measure(threads.into(), Way::Insert)?);
        if let Some(together) = args.together {
            rows.push(bench.measure(threads.into(), Way::Together(together.into()))?);
        }
    }
    let report = Report { args, sets: in_memory(args, &stored, &bench.new)?, rows };
    let mut out = Output::stdout();
    let text = if args.json { format!("{}\n", report.json()) } else { report.text() };
    out.bytes(text.as_bytes())?;
    out.finish()?;
    Ok(if report.is_exact() == Some(false) { Outcome::No } else { Outcome::Done })
}

/// The fingerprints that are brought: each uniform, or within the distance of a stored one.
fn brought(args: &BenchAdmit, stored: &[u64]) -> Vec<u64> {
    let near = |n: u64| {
        let place = usize::try_from(value(n ^ 1 << 58) % (stored.len() as u64).max(1)).ok()?;
        Some(flipped(*stored.get(place)?, n % (u64::from(args.made.max_distance) + 1), n))
    };
    let is_near = |n: u64| float(value(n ^ 1 << 57) >> 40) < args.near * float(1 << 24);
    let new = (0..args.new).map(|n| Some(n).filter(|&n| is_near(n)).and_then(near).unwrap_or(value(n ^ 1 << 56)));
    new.collect()
}

/// How fingerprints are brought.
#[derive(Clone, Copy)]
enum Way {
    Admit,
    Insert,
    Together(usize),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Admit => "check_and_insert".to_owned(),
            Self::Insert => "insert".to_owned(),
            Self::Together(most) => format!("{most} at once"),
        }
    }
}

struct Bench<'a> {
    args: &'a BenchAdmit,
    base: &'a Path,
    copy: std::path::PathBuf,
    new: Vec<u64>,
}

/// What one way took.
struct Row {
    way: Way,
    threads: usize,
    /// Of single calls.
    times: Times,
    a_second: f64,
    /// Where it looks for near ones.
    admitted: Option<u64>,
    /// The resident set of the process while the store is open.
    rss: Option<u64>,
}

impl Bench<'_> {
    fn measure(&self, threads: usize, way: Way) -> anyhow::Result<Row> {
        let options = Options::new().sketches_only().auto_seal(None).cache_bytes(self.args.cache);
        SimhashStore::open(self.base, &options)?.checkpoint(&self.copy)?;
        let store = SimhashStore::open(&self.copy, &options.durability(self.args.durability.into()))?;
        let begun = Instant::now();
        let parts: Vec<anyhow::Result<(Vec<f64>, u64)>> = thread::scope(|scope| {
            let store = &store;
            let workers: Vec<_> =
                (0..threads).map(|part| scope.spawn(move || self.bring(store, way, part, threads))).collect();
            workers.into_iter().map(|worker| worker.join().expect("an admission does not panic")).collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        let rss = rss();
        drop(store);
        fs::remove_dir_all(&self.copy)?;
        let (mut micros, mut admitted) = (Vec::new(), 0);
        for part in parts {
            let (times, here) = part?;
            micros.extend(times);
            admitted += here;
        }
        Ok(Row {
            way,
            threads,
            times: Times::new(micros),
            a_second: float(self.new.len() as u64) / seconds,
            admitted: (!matches!(way, Way::Insert)).then_some(admitted),
            rss,
        })
    }

    /// Brings a part of the fingerprints, and returns the times of the calls and how many were stored.
    fn bring(&self, store: &SimhashStore, way: Way, part: usize, parts: usize) -> anyhow::Result<(Vec<f64>, u64)> {
        let each = match way {
            Way::Together(most) => most,
            _ => 1,
        };
        let max_distance = self.args.made.max_distance;
        let (mut micros, mut admitted) = (Vec::new(), 0);
        for (chunk, new) in self.new.chunks(each).enumerate().skip(part).step_by(parts) {
            interrupt::check()?;
            let ids: Vec<[u8; 16]> = (0..new.len() as u64).map(|i| id((chunk * each) as u64 + i)).collect();
            let begun = Instant::now();
            match way {
                Way::Admit => {
                    let admission = store.check_and_insert(ids[0], &Fingerprint::new(new[0]), max_distance)?;
                    admitted += u64::from(admission.is_admitted());
                }
                Way::Insert => {
                    store.insert(ids[0], &Fingerprint::new(new[0]))?;
                }
                Way::Together(_) => {
                    let document = |(id, &bits)| NewDocument::new(id, Fingerprint::new(bits));
                    let documents: Vec<_> = ids.iter().zip(new).map(document).collect();
                    let answers = store.check_and_insert_batch(&documents, max_distance)?;
                    admitted += answers.iter().filter(|answer| answer.is_admitted()).count() as u64;
                }
            }
            micros.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        Ok((micros, admitted))
    }
}

/// The id of the n-th that is brought, which no stored one has.
fn id(n: u64) -> [u8; 16] {
    let mut id = *b"new.....00000000";
    id[8..].copy_from_slice(&n.to_be_bytes());
    id
}

/// What the same takes in memory: the times, and how many are admitted.
fn in_memory(args: &BenchAdmit, stored: &[u64], new: &[u64]) -> anyhow::Result<Option<(Times, u64)>> {
    let design = args.made.design()?;
    let Some(mut sets) = Sets::new(&design, args.made.max_distance) else { return Ok(None) };
    for &value in stored {
        sets.insert(value);
    }
    let (mut micros, mut admitted) = (Vec::new(), 0);
    for &value in new {
        interrupt::check()?;
        let begun = Instant::now();
        admitted += u64::from(sets.admit(value));
        micros.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(Some((Times::new(micros), admitted)))
}

struct Report<'a> {
    args: &'a BenchAdmit,
    rows: Vec<Row>,
    sets: Option<(Times, u64)>,
}

impl Report<'_> {
    /// The rows of one thread: several bring near ones in any order.
    fn alone(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.threads == 1)
    }

    /// Whether one thread has admitted what is admitted in memory, where both did.
    fn is_exact(&self) -> Option<bool> {
        let (_, expected) = self.sets.as_ref()?;
        let admitted: Vec<u64> = self.alone().filter_map(|row| row.admitted).collect();
        (!admitted.is_empty()).then(|| admitted.iter().all(|count| count == expected))
    }

    fn text(&self) -> String {
        let args = self.args;
        let mut lines = vec![format!(
            "store             {} fingerprints, {:.0} % of them live; {} new ones",
            thousands(args.made.fingerprints),
            100.0 * args.live,
            thousands(args.new)
        )];
        for row in &self.rows {
            let admitted = row.admitted.map_or(String::new(), |count| format!(", {} admitted", thousands(count)));
            let line = format!(
                "by {:<3}{:>17}: {:.0} a second{admitted}; {}",
                row.threads,
                row.way.name(),
                row.a_second,
                row.times.text()
            );
            lines.push(line);
        }
        if let Some((times, admitted)) = &self.sets {
            let ratio = self.alone().next().map_or_else(String::new, |row| {
                format!("; the store takes {:.1} times as long", row.times.ratio(times))
            });
            lines.push(format!("sets in memory    {} admitted; {}{ratio}", thousands(*admitted), times.text()));
        }
        if let Some(rss) = self.rows.iter().filter_map(|row| row.rss).max() {
            lines.push(format!("memory            {}, with a cache of {}", bytes(rss), bytes(args.cache as u64)));
        }
        if self.is_exact() == Some(false) {
            lines.push("WRONG             the store has not admitted what is admitted in memory".to_owned());
        }
        lines.join("\n") + "\n"
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            json!({
                "call": row.way.name(), "threads": row.threads, "documents_a_second": row.a_second,
                "admitted": row.admitted, "rss_bytes": row.rss, "call_micros": row.times.json(),
            })
        });
        json!({
            "fingerprints": self.args.made.fingerprints,
            "live": self.args.live,
            "new": self.args.new,
            "rows": rows.collect::<Vec<_>>(),
            "sets": self.sets.as_ref().map(|(times, admitted)| json!({"admitted": admitted, "call_micros": times.json()})),
            "cache_bytes": self.args.cache,
            "is_exact": self.is_exact(),
        })
    }
}
