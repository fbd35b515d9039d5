//! The program `ferric`. Each command has a file of its own, and adds nothing to the library that it shows.

#![forbid(unsafe_code)]

mod address;
#[cfg(feature = "ric")]
mod audit;
#[cfg(feature = "ric")]
mod config;
#[cfg(feature = "decode")]
mod decode;
#[cfg(feature = "demo")]
mod demo;
#[cfg(feature = "doctor")]
mod doctor;
mod external;
#[cfg(feature = "inventory")]
mod inventory;
#[cfg(feature = "manual")]
mod manual;
#[cfg(any(feature = "decode", feature = "ric"))]
mod model;
#[cfg(feature = "new")]
mod new;
#[cfg(any(feature = "doctor", feature = "play"))]
mod peer;
#[cfg(feature = "play")]
mod play;
#[cfg(all(feature = "rest", any(feature = "demo", feature = "ran")))]
mod positions;
#[cfg(feature = "ran")]
mod ran;
#[cfg(any(feature = "ran", feature = "ric", feature = "xapp"))]
mod record;
#[cfg(any(feature = "ric", feature = "xapp"))]
mod redis;
#[cfg(feature = "ric")]
mod ric;
#[cfg(feature = "top")]
mod top;
#[cfg(any(feature = "demo", feature = "top", feature = "xapp"))]
mod xapp;
#[cfg(feature = "inventory")]
mod xapps;

use std::ffi::OsString;
use std::fmt::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
#[cfg(feature = "inventory")]
use inventory::Resource;
use program::LogLevel;
#[cfg(any(feature = "doctor", feature = "ran", feature = "ric", feature = "top", feature = "xapp"))]
use program::tls;

/// Software-defined radio access networks: a near-RT RIC, an emulated RAN, xApps, and tools.
///
/// Try `ferric demo` first.
#[derive(Parser)]
#[command(name = "ferric", version, max_term_width = 100, disable_help_subcommand = true)]
struct Cli {
    /// Log level, to standard error. [default: info; demo: warn; bench and paper: error]
    #[arg(long, global = true, value_enum, value_name = "LEVEL", display_order = 900)]
    log: Option<LogLevel>,
    #[command(subcommand)]
    command: Command,
}

// A comment on a variant would hide the one on its arguments from `--help`.
#[derive(Subcommand)]
enum Command {
    #[cfg(feature = "demo")]
    Demo(demo::Args),
    #[cfg(feature = "ric")]
    Ric(Box<ric::Args>),
    #[cfg(feature = "ric")]
    Config(config::Args),
    #[cfg(feature = "ric")]
    Audit(audit::Args),
    #[cfg(feature = "ran")]
    Ran(ran::Args),
    #[cfg(feature = "xapp")]
    Xapp(xapp::Args),
    #[cfg(feature = "top")]
    Top(top::Args),
    /// List the nodes of a RIC
    ///
    /// Reads /v1/nodes of the REST interface; with --json it prints that document: `id`, `e2ap`, `ues`, `has_slices`.
    #[cfg(feature = "inventory")]
    Nodes(inventory::Args),
    /// List the cells of a RIC's nodes
    ///
    /// Reads /v1/cells of the REST interface; with --json it prints that document: `id`, `plmn`, `base_station`, `node`,
    /// `administrative_state`, `cell_state`, `is_energy_saving`.
    #[cfg(feature = "inventory")]
    Cells(inventory::Args),
    /// List the UEs of a RIC's nodes, with their names
    ///
    /// Reads /v1/ues of the REST interface; with --json it prints that document: `ue`, `references`, `rnti`, `cell`, `s_nssais`,
    /// `slices`, `ip`, `nodes` and the others. SLICE is that of the downlink, or both as DOWNLINK/UPLINK.
    #[cfg(feature = "inventory")]
    Ues(inventory::Args),
    /// List the slices of a RIC's nodes
    ///
    /// Reads /v1/nodes/{node}/slices of the REST interface for each node; with --json it prints `nodes`, each with its `id`, and
    /// `dl` and `ul` as REST has them.
    #[cfg(feature = "inventory")]
    Slices(inventory::Args),
    /// List the subscriptions of a RIC at its nodes
    ///
    /// Reads /v1/subscriptions of the REST interface; with --json it prints that document: `id`, `node`, `function`, `state`,
    /// `actions`, `apps`, `indications`, `indication_octets`, `dropped_reports`, `newest_age_ms`.
    #[cfg(feature = "inventory")]
    Subscriptions(inventory::Args),
    /// List the xApps of a RIC; start and stop those of the O-RAN reference platform
    ///
    /// Reads /v1/xapps of the REST interface; with --json it prints that document: `name`, `number`, `subscriptions`, `requests`,
    /// `outbox_octets`, `dropped_reports`. With a command it manages xApps of the O-RAN reference platform: see docs/oran-xapps.md.
    #[cfg(feature = "inventory")]
    Xapps(xapps::XappsArgs),
    #[cfg(feature = "decode")]
    Decode(decode::Args),
    #[cfg(feature = "play")]
    Play(play::Args),
    #[cfg(feature = "doctor")]
    Doctor(doctor::Args),
    #[cfg(feature = "new")]
    New(new::Args),
    #[cfg(feature = "manual")]
    Completion(manual::CompletionArgs),
    #[cfg(feature = "manual")]
    Man(manual::ManArgs),
    /// Print the help of a command
    Help {
        /// The command, such as `xapp kpm`.
        command: Vec<OsString>,
    },
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

/// The groups of commands in `--help`. A command in none of them is among the last.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Networks", &["demo", "ric", "config", "audit", "ran", "top", "xapp"]),
    ("Lists", &["nodes", "cells", "ues", "slices", "subscriptions", "xapps"]),
    ("Messages", &["decode", "play", "doctor"]),
];

fn main() -> ExitCode {
    let mut cli = parse(std::env::args_os().collect());
    if let Command::Help { command } = cli.command {
        let name = OsString::from("ferric");
        cli = parse([name].into_iter().chain(command).chain(["--help".into()]).collect());
    }
    if !matches!(cli.command, Command::External(_)) {
        #[cfg(feature = "demo")]
        let default = match &cli.command {
            Command::Demo(args) => args.log_level(),
            _ => LogLevel::Info,
        };
        #[cfg(not(feature = "demo"))]
        let default = LogLevel::Info;
        program::init_log(cli.log, default, default);
        program::raise_open_files();
    }
    let result = match cli.command {
        #[cfg(feature = "demo")]
        Command::Demo(args) => demo::run(&args),
        #[cfg(feature = "ric")]
        Command::Ric(args) => ric::run(&args),
        #[cfg(feature = "ric")]
        Command::Config(args) => config::run(&args),
        #[cfg(feature = "ric")]
        Command::Audit(args) => audit::run(&args),
        #[cfg(feature = "ran")]
        Command::Ran(args) => ran::run(&args),
        #[cfg(feature = "xapp")]
        Command::Xapp(args) => xapp::run(&args),
        #[cfg(feature = "top")]
        Command::Top(args) => top::run(&args),
        #[cfg(feature = "inventory")]
        Command::Nodes(args) => inventory::run(Resource::Nodes, &args),
        #[cfg(feature = "inventory")]
        Command::Cells(args) => inventory::run(Resource::Cells, &args),
        #[cfg(feature = "inventory")]
        Command::Ues(args) => inventory::run(Resource::Ues, &args),
        #[cfg(feature = "inventory")]
        Command::Slices(args) => inventory::run(Resource::Slices, &args),
        #[cfg(feature = "inventory")]
        Command::Subscriptions(args) => inventory::run(Resource::Subscriptions, &args),
        #[cfg(feature = "inventory")]
        Command::Xapps(args) => xapps::run(&args),
        #[cfg(feature = "decode")]
        Command::Decode(args) => decode::run(&args),
        #[cfg(feature = "play")]
        Command::Play(args) => play::run(&args),
        #[cfg(feature = "doctor")]
        Command::Doctor(args) => doctor::run(&args),
        #[cfg(feature = "new")]
        Command::New(args) => new::run(&args),
        #[cfg(feature = "manual")]
        Command::Completion(args) => manual::print_completion(Cli::command(), &args),
        #[cfg(feature = "manual")]
        Command::Man(args) => manual::write_pages(Cli::command(), &args),
        // its help has been printed
        Command::Help { .. } => Ok(()),
        Command::External(words) => external::run(&Cli::command(), &words, cli.log),
    };
    program::exit_code("ferric", result)
}

/// Parses the command line. Errors and requests for help end the program.
fn parse(arguments: Vec<OsString>) -> Cli {
    let mut command = Cli::command();
    if arguments.len() < 2 || arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        command = command.help_template(help_template(&Cli::command()));
    }
    let parsed = command.try_get_matches_from_mut(&arguments);
    let matches = parsed.unwrap_or_else(|error| suggest_subcommand(&command, &arguments, error).exit());
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Adds the sub-command that was perhaps meant to an error without a suggestion: clap knows similar names only if they share
/// most letters in the same order, which `kmp` and `kpm` do not.
fn suggest_subcommand(command: &clap::Command, arguments: &[OsString], mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let mut parent = command;
    for word in arguments.iter().skip(1) {
        match word.to_str().and_then(|word| parent.find_subcommand(word)) {
            Some(child) => parent = child,
            None => continue,
        }
    }
    let nearest = parent.get_subcommands().map(clap::Command::get_name).min_by_key(|known| distance(name, known));
    if let Some(nearest) = nearest.filter(|known| distance(name, known) <= MAX_DISTANCE) {
        let suggestion = ContextValue::Strings(vec![nearest.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, suggestion);
    }
    error
}

/// The most letters by which a name that is suggested may differ.
const MAX_DISTANCE: usize = 2;

/// The letters by which two names differ; two that are exchanged count once.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    strsim::osa_distance(one, other)
}

/// The template of `ferric --help`: clap has no headings for groups of commands.
fn help_template(cli: &clap::Command) -> String {
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let width = cli.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let mut group = |heading: &str, contains: &dyn Fn(&str) -> bool| {
        let commands = cli.get_subcommands().filter(|command| contains(command.get_name()));
        let lines: Vec<_> = commands
            .map(|command| {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                format!("  {:width$} {about}", command.get_name())
            })
            .collect();
        if !lines.is_empty() {
            // writing to a string does not fail
            let _ = write!(text, "\n{heading}:\n{}\n", lines.join("\n"));
        }
    };
    for (heading, names) in GROUPS {
        group(heading, &|name| names.contains(&name));
    }
    group("Other", &|name| !grouped(name));
    let programs = external::list();
    if !programs.is_empty() {
        let _ = write!(text, "\nPrograms (`ferric NAME` runs ferric-NAME):\n{programs}");
    }
    text + "\nOptions:\n{options}{after-help}"
}
