//! `ferric sdrbench compare`, `merge` and `fit`, and the list of scenarios.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use program::outln;
use sdrbench::model::Fit;
use sdrbench::report::Report;
use sdrbench::report::compare::Comparison;
use sdrbench::scenario::Scenario;

use crate::run::write_report;

#[derive(Args)]
#[command(after_help = "Example:\n  ferric sdrbench compare before/report.json after/report.json")]
pub struct CompareArgs {
    /// The first report.
    first: PathBuf,
    /// The second report.
    second: PathBuf,
    /// Print the comparison as JSON.
    #[arg(long)]
    json: bool,
}

pub fn compare(args: &CompareArgs) -> anyhow::Result<()> {
    let comparison = Comparison::of(&Report::read(&args.first)?, &Report::read(&args.second)?);
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&comparison)?);
    } else {
        outln!("{}", comparison.to_string().trim_end());
    }
    Ok(())
}

#[derive(Args)]
#[command(after_help = "Example:\n  ferric sdrbench merge host-a/report.json host-b/report.json --out both")]
pub struct MergeArgs {
    /// The reports of generators that ran one scenario at the same time.
    #[arg(required = true, num_args = 2..)]
    reports: Vec<PathBuf>,
    /// The folder of the report.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn merge(args: &MergeArgs) -> anyhow::Result<()> {
    if args.out.join("report.json").exists() {
        bail!("{} has a report: use another folder", args.out.display());
    }
    let mut reports = args.reports.iter().map(|path| Report::read(path));
    let mut all = reports.next().context("no report")??;
    for report in reports {
        all.merge(&report?)?;
    }
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    write_report(&args.out, &all)?;
    outln!("{}\n\nThe report is in {}", all.to_string().trim_end(), args.out.display());
    Ok(())
}

#[derive(Args)]
#[command(after_help = "Example:\n  ferric sdrbench fit agents")]
pub struct FitArgs {
    /// The folder of a report with several loads; the model is added to its report.
    folder: PathBuf,
    /// Print the model and its predictions as JSON.
    #[arg(long)]
    json: bool,
}

pub fn fit(args: &FitArgs) -> anyhow::Result<()> {
    let path = args.folder.join("report.json");
    let mut report = Report::read(&path)?;
    let fit = Fit::of(&report).with_context(|| path.display().to_string())?;
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&fit)?);
    } else {
        outln!("{}", fit.to_string().trim_end());
    }
    report.model = Some(fit);
    write_report(&args.folder, &report)
}

#[derive(Args)]
pub struct ScenariosArgs {
    /// Print the file of a scenario.
    name: Option<String>,
}

pub fn scenarios(args: &ScenariosArgs) -> anyhow::Result<()> {
    if let Some(name) = &args.name {
        outln!("{}", Scenario::shipped(name)?.text.trim_end());
        return Ok(());
    }
    for name in Scenario::names() {
        outln!("{name:<14} {}", Scenario::shipped(name)?.description);
    }
    Ok(())
}
