//! Commands that are programs of their own: `ferric NAME` runs `ferric-NAME`, as git and cargo do.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use clap::error::ErrorKind;
use program::LogLevel;

/// How the names of the programs start.
const PREFIX: &str = "ferric-";
/// The programs of this project: `cargo build` without `--workspace` does not build them.
const OURS: [&str; 8] = ["bench", "conform", "cpu", "export", "paper", "rnis", "sdrbench", "vbbu"];
/// The least similarity of a name that an error message suggests, from 0 to 1.
const SUGGESTED: f64 = 0.75;

/// Replaces this process by the program `ferric-NAME`, where NAME is the first of `words` and the others are its arguments.
/// A program that does not exist ends this one with an error of usage.
///
/// # Errors
/// If the program cannot be executed.
pub fn run(cli: &clap::Command, words: &[OsString], log: Option<LogLevel>) -> anyhow::Result<()> {
    let (name, arguments) = words.split_first().context("no command")?;
    let name = name.to_string_lossy();
    let Some(path) = is_name(&name).then(|| program::find(&format!("{PREFIX}{name}"))).flatten() else {
        unknown(cli, &name).exit()
    };
    let mut command = Command::new(&path);
    command.args(arguments);
    if let Some(level) = log {
        command.env(LogLevel::VARIABLE, level.name());
    }
    Err(command.exec()).with_context(|| format!("cannot execute {}", path.display()))
}

/// Whether a program may have that name. No other text from the command line becomes part of a path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|octet| matches!(octet, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn unknown(cli: &clap::Command, name: &str) -> clap::Error {
    let own = cli.get_subcommands().map(|command| command.get_name().to_owned());
    let all = own.chain(program::find_with_prefix(PREFIX).into_keys());
    let similar =
        all.map(|known| (strsim::jaro(name, &known), known)).filter(|(similarity, _)| *similarity > SUGGESTED);
    let mut text =
        format!("unrecognized command '{name}': there is neither such a command nor a program '{PREFIX}{name}'");
    // writing to a string does not fail
    if OURS.contains(&name) {
        let _ = write!(
            text,
            "\n\n  tip: '{PREFIX}{name}' is looked for beside this program and on PATH; `cargo build --release --workspace` builds it"
        );
    } else if let Some((_, known)) = similar.max_by(|one, other| one.0.total_cmp(&other.0)) {
        let _ = write!(text, "\n\n  tip: did you mean '{known}'?");
    }
    cli.clone().error(ErrorKind::InvalidSubcommand, text)
}

/// The names of the programs that can be run.
#[cfg(feature = "manual")]
pub fn names() -> Vec<String> {
    program::find_with_prefix(PREFIX).into_keys().filter(|name| is_name(name)).collect()
}

/// The programs that can be run, for `--help`.
pub fn list() -> String {
    let programs = program::find_with_prefix(PREFIX);
    programs.into_iter().filter(|(name, _)| is_name(name)).fold(String::new(), |mut text, (name, path)| {
        let _ = writeln!(text, "  {name:8} {}", path.display());
        text
    })
}
