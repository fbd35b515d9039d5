//! The program `ferric-sdrbench`, which `ferric sdrbench` runs.

#![forbid(unsafe_code)]

mod reports;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use program::LogLevel;

/// Measure a controller of a software-defined RAN: how much load it carries, and how fast it is.
///
/// Thousands of emulated base stations report to the controller; applications receive their reports and measure the delay. The result is
/// a report as JSON, a page with plots, and CSV files. See docs/sdrbench.md.
#[derive(Parser)]
#[command(name = "ferric-sdrbench", bin_name = "ferric sdrbench", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Log level, to standard error. [default: error]
    #[arg(long, global = true, value_enum, value_name = "LEVEL", display_order = 900)]
    log: Option<LogLevel>,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario against a controller.
    Run(Box<run::RunArgs>),
    /// What differs between two reports beyond their confidence intervals.
    Compare(reports::CompareArgs),
    /// Merge the reports of generators that loaded one controller together.
    Merge(reports::MergeArgs),
    /// Estimate a queueing model of the controller, and compare its predictions with what was measured.
    Fit(reports::FitArgs),
    /// List the scenarios of the program, or print one.
    Scenarios(reports::ScenariosArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    program::init_log(cli.log, LogLevel::Error, LogLevel::Warn);
    program::raise_open_files();
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => reports::compare(&args),
        Command::Merge(args) => reports::merge(&args),
        Command::Fit(args) => reports::fit(&args),
        Command::Scenarios(args) => reports::scenarios(&args),
    };
    program::exit_code("ferric sdrbench", result)
}
