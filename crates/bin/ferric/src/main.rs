//! The program `ferric`. Each command has a file of its own, and adds nothing to the library that it shows.

#![forbid(unsafe_code)]

mod address;
#[cfg(feature = "decode")]
mod decode;
#[cfg(feature = "demo")]
mod demo;
#[cfg(feature = "doctor")]
mod doctor;
mod external;
#[cfg(any(feature = "decode", feature = "ric"))]
mod model;
#[cfg(any(feature = "doctor", feature = "play"))]
mod peer;
#[cfg(feature = "play")]
mod play;
#[cfg(feature = "ran")]
mod ran;
#[cfg(any(feature = "ran", feature = "ric", feature = "xapp"))]
mod record;
#[cfg(any(feature = "ric", feature = "xapp"))]
mod redis;
#[cfg(feature = "ric")]
mod ric;
#[cfg(any(feature = "doctor", feature = "ran", feature = "ric", feature = "xapp"))]
mod tls;
#[cfg(any(feature = "demo", feature = "xapp"))]
mod xapp;

use std::ffi::OsString;
use std::fmt::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use program::LogLevel;

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
    #[cfg(feature = "ran")]
    Ran(ran::Args),
    #[cfg(feature = "xapp")]
    Xapp(xapp::Args),
    #[cfg(feature = "decode")]
    Decode(decode::Args),
    #[cfg(feature = "play")]
    Play(play::Args),
    #[cfg(feature = "doctor")]
    Doctor(doctor::Args),
    /// Print the help of a command
    Help {
        /// The command, such as `xapp kpm`.
        command: Vec<OsString>,
    },
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

/// The groups of commands in `--help`. A command in none of them is among the last.
const GROUPS: [(&str, &[&str]); 2] =
    [("Networks", &["demo", "ric", "ran", "xapp"]), ("Messages", &["decode", "play", "doctor"])];

fn main() -> ExitCode {
    let mut cli = parse(std::env::args_os().collect());
    if let Command::Help { command } = cli.command {
        let name = OsString::from("ferric");
        cli = parse([name].into_iter().chain(command).chain(["--help".into()]).collect());
    }
    if !matches!(cli.command, Command::External(_)) {
        #[cfg(feature = "demo")]
        let default = if matches!(cli.command, Command::Demo(_)) { LogLevel::Warn } else { LogLevel::Info };
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
        #[cfg(feature = "ran")]
        Command::Ran(args) => ran::run(&args),
        #[cfg(feature = "xapp")]
        Command::Xapp(args) => xapp::run(&args),
        #[cfg(feature = "decode")]
        Command::Decode(args) => decode::run(&args),
        #[cfg(feature = "play")]
        Command::Play(args) => play::run(&args),
        #[cfg(feature = "doctor")]
        Command::Doctor(args) => doctor::run(&args),
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
    let matches = command.get_matches_from(arguments);
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The template of `ferric --help`: clap has no headings for groups of commands.
fn help_template(cli: &clap::Command) -> String {
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let mut group = |heading: &str, contains: &dyn Fn(&str) -> bool| {
        let commands = cli.get_subcommands().filter(|command| contains(command.get_name()));
        let lines: Vec<_> = commands
            .map(|command| {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                format!("  {:8} {about}", command.get_name())
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
