//! The program `ferric-rnis`, which `ferric rnis` runs: a Radio Network Information Service (ETSI MEC 012).

#![forbid(unsafe_code)]

mod access;
mod api;
mod broker;
mod collect;
mod collectors;
mod delivery;
mod demo;
mod input;
mod instances;
mod load;
mod platform;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use program::LogLevel;

/// Serves radio network information by ETSI MEC 012.
#[derive(Debug, Parser)]
#[command(name = "ferric rnis", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::ServeArgs,
    /// Log lines of this severity and above [default: info; of the demo warn]
    #[arg(long, global = true)]
    log: Option<LogLevel>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the radio network information of a RIC's nodes; the same as no command
    Serve(Box<serve::ServeArgs>),
    /// Run a RIC, an emulated RAN, the service, and a video service that adapts to each UE's channel
    Demo(demo::DemoArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    program::raise_open_files();
    let level = if matches!(cli.command, Some(Command::Demo(_))) { LogLevel::Warn } else { LogLevel::Info };
    program::init_log(cli.log, level, LogLevel::Info);
    let result = match &cli.command {
        None => serve::run(&cli.serve),
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Demo(args)) => demo::run(args),
    };
    program::exit_code("ferric rnis", result)
}
