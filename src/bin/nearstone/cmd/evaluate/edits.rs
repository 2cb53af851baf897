//! How far edits move the fingerprints of texts, without any pairs that are known.

use std::fmt::Write;

use nearstone::{Analyser, Fingerprint, Simhash};
use serde_json::{Value, json};

use crate::args::Evaluate;
use crate::failure::Usage;
use crate::output::Output;
use crate::pipeline::{self, Event};
use crate::progress::{Progress, thousands};

/// Texts have at least so many words, or they are not edited.
const LEAST_WORDS: usize = 200;

/// Of the first so many words one is replaced.
const LENGTHS: [usize; 7] = [5, 10, 20, 30, 50, 100, LEAST_WORDS];

/// So many percent of the words, the first ones, are compared with all of them.
const SHARES: [usize; 6] = [98, 95, 90, 80, 50, 25];

/// A word that no text has.
const OTHER: &str = "qxzjvkqwz";

/// The distances for which counts are shown.
const SHOWN: [usize; 3] = [3, 7, 12];

pub(super) fn run(args: &Evaluate, analysers: &[Analyser], out: &mut Output) -> anyhow::Result<()> {
    for analyser in analysers {
        let moved = measure(args, analyser)?;
        let name = analyser.specification();
        if args.json {
            out.bytes(format!("{}\n", moved.as_json(&name)).as_bytes())?;
        } else {
            out.bytes(moved.as_text(&name).as_bytes())?;
        }
    }
    Ok(())
}

/// The distances of all texts, for each edit.
struct Moved {
    replaced: [Distances; LENGTHS.len()],
    cut: [Distances; SHARES.len()],
}

/// How often each distance came.
#[derive(Clone, Copy)]
struct Distances([u64; 65]);

type Edited = ([Option<u32>; LENGTHS.len()], [Option<u32>; SHARES.len()]);

fn measure(args: &Evaluate, analyser: &Analyser) -> anyhow::Result<Moved> {
    let inputs = args.input.open()?;
    let progress = Progress::new(&inputs, args.input.quiet);
    let simhash = Simhash::new(analyser.clone());
    let mut moved = Moved { replaced: [Distances([0; 65]); LENGTHS.len()], cut: [Distances([0; 65]); SHARES.len()] };
    let mut documents = 0;
    let edit =
        move |raw: nearstone::input::RawRecord| Ok(raw.parse()?.map(|document| edited(&document.text, &simhash)));
    pipeline::run_with(inputs, args.input.threads(), edit, |event| {
        let Event::Document(item) = event else { return Ok(()) };
        documents += 1;
        progress.documents(documents);
        match item {
            Err(e) => {
                progress.bad(&e, args.input.skips_bad())?;
            }
            Ok(None) => {}
            Ok(Some((replaced, cut))) => {
                moved.replaced.iter_mut().zip(replaced).for_each(|(distances, distance)| distances.count(distance));
                moved.cut.iter_mut().zip(cut).for_each(|(distances, distance)| distances.count(distance));
            }
        }
        Ok(())
    })?;
    progress.finish();
    if moved.replaced[0].texts() == 0 {
        let why = format!("no text of the input has the {LEAST_WORDS} words between white space that --edits needs");
        return Err(Usage(why).into());
    }
    Ok(moved)
}

/// The distances of a text from what edits make of it, if it is long enough.
fn edited(text: &str, simhash: &Simhash) -> Option<Edited> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() < LEAST_WORDS {
        return None;
    }
    let sketch = |words: &[&str]| simhash.fingerprint(&words.join(" "));
    let apart = |a: Option<Fingerprint>, b: Option<Fingerprint>| Some(a?.distance(b?));
    let replaced = LENGTHS.map(|length| {
        let mut other = words[..length].to_vec();
        other[length / 2] = OTHER;
        apart(sketch(&words[..length]), sketch(&other))
    });
    let whole = sketch(&words);
    let cut = SHARES.map(|share| apart(whole, sketch(&words[..words.len() * share / 100])));
    Some((replaced, cut))
}

impl Distances {
    fn count(&mut self, distance: Option<u32>) {
        if let Some(distance) = distance {
            self.0[distance as usize] += 1;
        }
    }

    fn texts(&self) -> u64 {
        self.0.iter().sum()
    }

    #[expect(clippy::cast_precision_loss, reason = "an average for people")]
    fn mean(&self) -> f64 {
        let sum: u64 = (0..).zip(&self.0).map(|(distance, count): (u64, _)| distance * count).sum();
        sum as f64 / self.texts().max(1) as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    fn percent(&self, distance: usize) -> f64 {
        100.0 * self.0[..=distance].iter().sum::<u64>() as f64 / self.texts().max(1) as f64
    }
}

impl Moved {
    fn as_text(&self, name: &str) -> String {
        let mut text =
            format!("{name}: {} texts of {LEAST_WORDS} words or more\n", thousands(self.replaced[0].texts()));
        let mut table = |title: &str, unit: &str, edits: &[usize], rows: &[Distances]| {
            let _ = writeln!(text, "  {title}\n  {unit:>8}  distance  within 3       7      12");
            for (edit, distances) in edits.iter().zip(rows) {
                let [strict, balanced, candidates] = SHOWN.map(|distance| distances.percent(distance));
                let mean = distances.mean();
                let _ =
                    writeln!(text, "  {edit:>8}  {mean:>8.1}  {strict:>6.0} %  {balanced:>4.0} %  {candidates:>4.0} %");
            }
        };
        table("one word replaced, in the middle of the first words of a text", "words", &LENGTHS, &self.replaced);
        table("the beginning of a text, and all of it", "percent", &SHARES, &self.cut);
        text.push('\n');
        text
    }

    fn as_json(&self, name: &str) -> Value {
        let rows = |unit: &str, edits: &[usize], rows: &[Distances]| -> Vec<Value> {
            let row = |(edit, distances): (&usize, &Distances)| json!({ unit: edit, "mean_distance": distances.mean(), "distances": distances.0[..].to_vec() });
            edits.iter().zip(rows).map(row).collect()
        };
        json!({
            "analyser": name,
            "texts": self.replaced[0].texts(),
            "replaced": rows("words", &LENGTHS, &self.replaced),
            "cut": rows("percent", &SHARES, &self.cut),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_texts_move_less_and_shorter_beginnings_more() {
        let words: Vec<String> = (0..400).map(|i| format!("w{}", i * i % 1009)).collect();
        let simhash = Simhash::default();
        assert_eq!(edited(&words[..199].join(" "), &simhash), None);
        let (replaced, cut) = edited(&words.join("\n"), &simhash).unwrap();
        assert!(replaced[0].unwrap() > 8 && replaced[6].unwrap() < 8, "{replaced:?}");
        assert!(cut[0].unwrap() < 8 && cut[5].unwrap() > 12, "{cut:?}");
        let mut distances = Distances([0; 65]);
        for distance in [Some(2), Some(4), None, Some(12)] {
            distances.count(distance);
        }
        let shares = SHOWN.map(|distance| distances.percent(distance).round());
        assert_eq!((distances.texts(), distances.mean(), shares), (3, 6.0, [33.0, 67.0, 100.0]));
    }
}
