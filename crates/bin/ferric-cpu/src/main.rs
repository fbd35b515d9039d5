//! The program `ferric-cpu`, which `ferric cpu` runs: CPU management for virtual base-band units.

#![forbid(unsafe_code)]

mod agent;
mod blame;
mod latency;
mod policy;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use program::LogLevel;

/// Keeps what else runs on a host from delaying a software base station.
#[derive(Debug, Parser)]
#[command(name = "ferric cpu", bin_name = "ferric cpu", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// The folder of the journal: what is changed, and what was before
    #[arg(long, global = true, value_name = "FOLDER", env = "FERRIC_CPU_STATE", default_value = "/run/ferric-cpu")]
    state: PathBuf,
    /// Log lines of this severity and above [default: info]
    #[arg(long, global = true)]
    log: Option<LogLevel>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print what a policy would change, as commands, and change nothing
    Plan(policy::PolicyArgs),
    /// Apply a policy, which stays until `ferric cpu undo`
    Apply(policy::PolicyArgs),
    /// Apply a policy, follow new threads and forks, and restore everything at the end
    Run(policy::RunArgs),
    /// Print the applied policy, and whether each of its changes is still in force
    Status(policy::StatusArgs),
    /// Restore what the applied policy has changed
    Undo,
    /// Measure how long threads wait for a CPU
    Latency(latency::LatencyArgs),
    /// Tell who ran while threads waited for a CPU, and what removes it
    Blame(blame::BlameArgs),
    /// Report CPUs and threads to a near-RT RIC as an E2 node, and obey its controls; restore everything at the end
    #[command(after_help = agent::EXAMPLES)]
    Agent(agent::AgentArgs),
    /// Measure and manage a base station for the process at the other end of standard input and output, which is an E2 node by itself
    #[command(hide = true)]
    Manage(agent::manage::ManageArgs),
    /// Restore what the process at the other end of standard input has changed, if it is killed
    #[command(hide = true)]
    Watchdog {
        /// The id of its session
        session: String,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    program::init_log(cli.log, LogLevel::Info, LogLevel::Info);
    let state = &cli.state;
    let result = match &cli.command {
        Command::Plan(args) => policy::plan(args),
        Command::Apply(args) => policy::apply(state, args),
        Command::Run(args) => policy::run(state, args),
        Command::Status(args) => policy::status(state, args),
        Command::Undo => policy::undo(state),
        Command::Latency(args) => latency::run(args),
        Command::Blame(args) => blame::run(args),
        Command::Agent(args) => agent::run(state, args),
        Command::Manage(args) => agent::manage::run(state, args),
        Command::Watchdog { session } => policy::watchdog(state, session),
    };
    program::exit_code("ferric cpu", result)
}
