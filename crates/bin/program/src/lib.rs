//! What all programs share: logging, printed lines, errors with remedies, signals, and finding other programs.

#![forbid(unsafe_code)]

mod find;
mod limits;
mod log;
mod remedy;
pub mod signals;

use std::error::Error;
use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

pub use find::{find, find_with_prefix};
pub use limits::raise_open_files;
pub use log::{LogLevel, init_log};
pub use remedy::{link_remedy, remedy};

/// Prints a line to standard output, as [`println!`] does. A closed pipe (`ferric … | head`) ends the program with success.
#[macro_export]
macro_rules! outln {
    ($($argument:tt)*) => { $crate::print_line(format_args!($($argument)*)) };
}

/// Prints a line to standard output; see [`outln!`].
pub fn print_line(line: fmt::Arguments<'_>) {
    if let Err(error) = writeln!(std::io::stdout().lock(), "{line}") {
        std::process::exit(i32::from(error.kind() != ErrorKind::BrokenPipe));
    }
}

/// The exit status of the program `name` that ended with `result`; prints an error and its remedy to standard error.
#[must_use]
pub fn exit_code(name: &str, result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    eprintln!("{name}: {}", chain(&error));
    if let Some(remedy) = remedy(&error) {
        eprintln!("  do: {remedy}");
    }
    ExitCode::FAILURE
}

/// An error and its causes, separated by colons. A cause that the error before it already contains is not repeated.
#[must_use]
pub fn chain(error: &anyhow::Error) -> String {
    let causes = error.chain().map(<dyn Error>::to_string);
    causes.fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        text if text.ends_with(&cause) => text.to_owned(),
        text => format!("{text}: {cause}"),
    })
}

/// Parses a number of seconds from 0.1 to 60: the length of a measurement.
///
/// # Errors
/// If the text is no such number.
pub fn parse_seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=60.0).contains(seconds));
    seconds.ok_or("not a number from 0.1 to 60")
}
