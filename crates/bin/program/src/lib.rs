//! What all programs share: logging, printed lines, errors with remedies, signals, the service manager, and finding other programs.

#![forbid(unsafe_code)]

mod find;
mod limits;
mod log;
mod remedy;
#[cfg(feature = "rest")]
pub mod rest_access;
pub mod service;
pub mod signals;
#[cfg(feature = "tls")]
pub mod tls;

use std::error::Error;
use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

pub use find::{find, find_with_prefix};
pub use limits::raise_open_files;
pub use log::{
    LogLevel, LogLines, allow_log_lines, capture_log, init_log, observe_log, replace_log_level, set_log_level,
    show_log_again,
};
pub use log_lines::escaped;
pub use remedy::{link_remedy, remedy};
pub use signals::at_exit;

/// Prints a line to standard output, as [`println!`] does. A closed pipe (`ferric … | head`) ends the program with success.
#[macro_export]
macro_rules! outln {
    ($($argument:tt)*) => { $crate::print_line(format_args!($($argument)*)) };
}

/// Prints a line to standard output; see [`outln!`]. Characters that could control a terminal are escaped: names of peers may
/// contain them. Line feeds and tabs are printed, since some texts have several lines; a name that is shown within a line is
/// escaped by its author ([`log_lines::escaped`]).
pub fn print_line(line: fmt::Arguments<'_>) {
    let text = line.to_string();
    let text = if text.contains(is_unsafe_in_text) { escape_text(&text) } else { text };
    if let Err(error) = writeln!(std::io::stdout().lock(), "{text}") {
        end_without_output(&error);
    }
}

/// Ends the program because standard output takes no more: with success if its reader has closed it, else with one message and
/// status 1.
pub fn end_without_output(error: &std::io::Error) -> ! {
    signals::run_at_exit();
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    print_error(format_args!("cannot write to standard output: {error}"));
    std::process::exit(1)
}

/// Prints a line to standard error. If that is not possible either, the exit status remains.
fn print_error(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

fn is_unsafe_in_text(character: char) -> bool {
    log_lines::is_unsafe(character) && !matches!(character, '\n' | '\t')
}

fn escape_text(text: &str) -> String {
    let pieces = text.split_inclusive(['\n', '\t']).map(|piece| match piece.strip_suffix(['\n', '\t']) {
        Some(start) => escaped(start).to_string() + &piece[start.len()..],
        None => escaped(piece).to_string(),
    });
    pieces.collect()
}

/// The exit status of the program `name` that ended with `result`; prints an error and its remedy to standard error.
#[must_use]
pub fn exit_code(name: &str, result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    print_error(format_args!("{name}: {}", escape_text(&chain(&error))));
    if let Some(remedy) = remedy(&error) {
        print_error(format_args!("  do: {remedy}"));
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

/// Parses a number of octets, such as `64K` or `1G`: at least 4 KiB.
///
/// # Errors
/// If the text is no such number.
pub fn parse_octets(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("not a number with an optional K, M or G".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number with an optional K, M or G".to_owned())?;
    number.checked_mul(1 << shift).filter(|octets| *octets >= 4096).ok_or_else(|| "below 4K".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_text_keeps_lines_and_escapes_what_controls_a_terminal() {
        assert_eq!(escape_text("a\tb\n\u{1b}[2Jc\r\n"), "a\tb\n\\u{1b}[2Jc\\r\n");
        assert!(!"a\tb\nGröße".contains(is_unsafe_in_text));
    }

    #[test]
    fn size_is_parsed() {
        assert_eq!(parse_octets("4096"), Ok(4096));
        assert_eq!(parse_octets("64k"), Ok(64 << 10));
        assert_eq!(parse_octets("2G"), Ok(2 << 30));
        for bad in ["", "M", "-1M", "4095", "1T", "99999999999G", "1MM"] {
            assert!(parse_octets(bad).is_err(), "{bad}");
        }
    }
}
