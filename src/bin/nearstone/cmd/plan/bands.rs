//! `nearstone plan --similarity`: bands of the rows of `MinHash` signatures.

use std::fmt::Write;

use nearstone::{BandPlan, BandPlanner, Signature};
use serde_json::{Value, json};

use crate::args;
use crate::failure::Outcome;
use crate::output::Output;
use crate::prose::say;

/// Documents that are planned for where none are named.
const DOCUMENTS: u64 = 1_000_000;

pub(super) fn run(args: &args::Plan, similarity: f64) -> anyhow::Result<Outcome> {
    let bands = &args.bands;
    let documents = args.documents.unwrap_or(DOCUMENTS);
    let mut planner = BandPlanner::new(documents, similarity).recall(bands.recall).rows(bands.rows, bands.row_bits);
    planner = planner.unrelated(bands.unrelated);
    if let Some(candidates) = bands.max_candidates {
        planner = planner.max_candidates(candidates);
    }
    let (plans, pick) = (planner.frontier()?, planner.pick()?);
    let error = Signature::new(vec![0; bands.rows])?.with_row_bits(bands.row_bits)?.standard_error(similarity);
    let mut out = Output::stdout();
    if args.json {
        let rows: Vec<Value> = plans.iter().map(|plan| row(plan, *plan == pick)).collect();
        let all = json!({ "documents": documents, "similarity": similarity, "standard_error": error, "plans": rows });
        out.bytes(format!("{all}\n").as_bytes())?;
    } else {
        out.bytes(table(&plans, &pick).as_bytes())?;
    }
    out.finish()?;
    let (rows, bits, percent) = (bands.rows, bands.row_bits, 100.0 * bands.recall);
    let why = match bands.max_candidates {
        None => "the strictest bands that find as much".to_owned(),
        Some(most) if pick.candidates <= most => format!("the fewest bands that keep to {most} unrelated candidates"),
        Some(most) => format!("the strictest bands that find as much, since none keep to {most} unrelated candidates"),
    };
    say!(
        "\n{} is picked for {percent} % of the pairs of similarity {similarity} by {rows} rows of {bits} bits: {why}. The estimate there has a standard error of {error:.3}.",
        pick.design
    );
    Ok(Outcome::Done)
}

fn row(plan: &BandPlan, is_picked: bool) -> Value {
    json!({
        "design": plan.design.to_string(),
        "picked": is_picked,
        "bands": plan.design.bands(),
        "rows_per_band": plan.design.rows_per_band(),
        "recall": plan.recall,
        "candidate_rate": plan.candidate_rate,
        "candidates": plan.candidates,
    })
}

fn table(plans: &[BandPlan], pick: &BandPlan) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:2}{:<10} {:>6} {:>6} {:>8} {:>11} {:>12}",
        "", "design", "bands", "rows", "recall", "lesser", "unrelated"
    );
    for plan in plans {
        let _ = writeln!(
            text,
            "{:2}{:<10} {:>6} {:>6} {:>8.4} {:>11.4} {:>12.1}",
            if plan == pick { "*" } else { "" },
            plan.design.to_string(),
            plan.design.bands(),
            plan.design.rows(),
            plan.recall,
            plan.candidate_rate,
            plan.candidates
        );
    }
    text
}
