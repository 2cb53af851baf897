//! `nearstone plan`

mod bands;

use std::fmt::Write;

use anyhow::Context;
use nearstone::{Plan, Planner};
use serde_json::{Value, json};

use crate::args;
use crate::failure::{Outcome, Usage};
use crate::output::Output;
use crate::prose::say;

pub(crate) fn run(args: &args::Plan) -> anyhow::Result<Outcome> {
    if let Some(similarity) = args.similarity {
        return bands::run(args, similarity);
    }
    let documents = args.documents.context("--documents says for how many")?;
    let shares: f64 = args.also.iter().map(|&(_, share)| share).sum();
    let mut distances: Vec<u32> = args.also.iter().map(|&(distance, _)| distance).chain([args.max_distance]).collect();
    distances.sort_unstable();
    if shares > 1.0 || distances.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Usage("--also takes each distance once, and shares of together at most 1".to_owned()).into());
    }
    let mut planner = Planner::new(documents, args.max_distance).skew(args.skew);
    for &(distance, share) in &args.also {
        planner = planner.also(distance, share);
    }
    let plans = planner.frontier()?;
    let aim = nearstone::Aim::from(args.aim);
    let pick = aim.pick(&plans).context("no design answers this distance")?;
    let mut out = Output::stdout();
    if args.json {
        let rows: Vec<Value> = plans.iter().map(|plan| row(plan, plan.name == pick.name)).collect();
        out.bytes(format!("{}\n", json!({ "documents": documents, "plans": rows })).as_bytes())?;
    } else {
        out.bytes(table(&plans, pick).as_bytes())?;
    }
    out.finish()?;
    say!("\n{} is picked: {}.", pick.name, aim.why());
    Ok(Outcome::Done)
}

fn row(plan: &Plan, is_picked: bool) -> Value {
    let queries = plan.queries.iter().map(|query| {
        json!({
            "distance": query.distance,
            "share": query.share,
            "probes": query.probes,
            "candidates": query.candidates,
            "skewed_candidates": query.skewed_candidates,
            "blocks": query.blocks,
            "cached_micros": query.cached_micros,
            "disk_micros": query.disk_micros,
            "scan": query.is_scan,
        })
    });
    json!({
        "design": plan.name,
        "picked": is_picked,
        "tables": plan.design.tables().len(),
        "prefix_bits": plan.design.tables().iter().map(nearstone::Table::prefix_bits).collect::<Vec<_>>(),
        "bytes_per_document": plan.bytes_per_document,
        "keys_per_document": plan.keys_per_document,
        "fill_minutes": plan.fill_minutes,
        "queries": queries.collect::<Vec<_>>(),
    })
}

fn table(plans: &[Plan], pick: &Plan) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:2}{:<10} {:>6} {:>8} {:>9} {:>5} {:>8} | {:>8} {:>8} {:>11} {:>9} {:>11} {:>11}",
        "",
        "design",
        "tables",
        "bits",
        "bytes/doc",
        "keys",
        "fill min",
        "distance",
        "probes",
        "candidates",
        "blocks",
        "cached us",
        "disk us"
    );
    for plan in plans {
        let bits = || plan.design.tables().iter().map(nearstone::Table::prefix_bits);
        let (least, most) = (bits().min().unwrap_or(0), bits().max().unwrap_or(0));
        let bits = if least == most { least.to_string() } else { format!("{least}-{most}") };
        for (i, query) in plan.queries.iter().enumerate() {
            let head = if i == 0 {
                format!(
                    "{:2}{:<10} {:>6} {:>8} {:>9.1} {:>5} {:>8.0}",
                    if plan.name == pick.name { "*" } else { "" },
                    plan.name,
                    plan.design.tables().len(),
                    bits,
                    plan.bytes_per_document,
                    plan.keys_per_document,
                    plan.fill_minutes
                )
            } else {
                " ".repeat(54)
            };
            let probes = if query.is_scan { "scan".to_owned() } else { query.probes.to_string() };
            let _ = writeln!(
                text,
                "{head} | {:>8} {probes:>8} {:>11.1} {:>9.1} {:>11.1} {:>11.0}",
                query.distance, query.skewed_candidates, query.blocks, query.cached_micros, query.disk_micros
            );
        }
    }
    text
}
