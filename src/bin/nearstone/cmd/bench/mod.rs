//! `nearstone bench`

mod admit;
mod data;
mod load;
mod medium;
mod pairs;
mod query;

use std::fs;
use std::path::Path;

use anyhow::Context;
use tempfile::TempDir;

use crate::args::Bench;
use crate::failure::Outcome;

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Outcome> {
    match bench {
        Bench::Load(args) => load::run(args),
        Bench::Query(args) => query::run(args),
        Bench::Admit(args) => admit::run(args),
        Bench::Pairs(args) => pairs::run(args),
    }
}

/// Fingerprints that are handed on together.
const BATCH: u64 = 1 << 16;

/// The n-th of a sequence of uniform, distinct values.
fn value(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A folder for a store, which goes away with the result.
fn folder(parent: Option<&Path>) -> anyhow::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("nearstone-bench-");
    let folder = match parent {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    };
    folder.context("cannot make a folder for the store")
}

/// The bytes of all files below a folder.
fn disk_usage(path: &Path) -> u64 {
    // Files come and go meanwhile.
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_usage(&entry.path()),
        Ok(metadata) => metadata.len() / links(&metadata),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Under how many names a file is met.
fn links(metadata: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    let links = std::os::unix::fs::MetadataExt::nlink(metadata);
    #[cfg(not(unix))]
    let links = u64::from(metadata.is_file());
    links.max(1)
}

fn peak_rss() -> Option<u64> {
    status("VmHWM:")
}

fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn float(number: u64) -> f64 {
    number as f64
}

/// A value with some of its bits flipped, others for each seed.
fn flipped(value: u64, flips: u64, seed: u64) -> u64 {
    let mut mask = 0u64;
    for i in 0.. {
        if u64::from(mask.count_ones()) >= flips {
            break;
        }
        mask |= 1 << (self::value(seed.wrapping_mul(64).wrapping_add(i) ^ 1 << 60) % 64);
    }
    value ^ mask
}

/// The resident set of the process, where the system tells it.
fn rss() -> Option<u64> {
    status("VmRSS:")
}

fn per(total: u64, count: u64) -> f64 {
    float(total) / float(count.max(1))
}

/// Times of calls in microseconds, the shortest first.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn new(mut micros: Vec<f64>) -> Self {
        micros.sort_by(f64::total_cmp);
        Self(micros)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn quantile(&self, of: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let place = (float(self.len() as u64) * of) as usize;
        self.0.get(place.min(self.len().saturating_sub(1))).copied().unwrap_or(0.0)
    }

    fn mean(&self) -> f64 {
        self.0.iter().fold(0.0, |sum, micros| sum + micros) / float((self.len() as u64).max(1))
    }

    /// How many times as long as others these are, at the median; 0 where there are none.
    fn ratio(&self, others: &Self) -> f64 {
        if others.len() == 0 { 0.0 } else { self.quantile(0.5) / others.quantile(0.5) }
    }

    fn text(&self) -> String {
        let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(|of| self.quantile(of));
        format!("p50 {p50:.2}, p90 {p90:.2}, p99 {p99:.2}, max {max:.0} us")
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "p50_micros": self.quantile(0.5), "p90_micros": self.quantile(0.9), "p99_micros": self.quantile(0.99),
            "max_micros": self.quantile(1.0), "mean_micros": self.mean(),
        })
    }
}
