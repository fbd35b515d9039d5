//! The built program `ferric`.
#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

pub use testkit::program::{File, Outcome, PATIENCE, Program};

/// The program's path.
pub const FERRIC: &str = env!("CARGO_BIN_EXE_ferric");

/// Runs the program until it ends by itself.
pub fn run(arguments: &[&str]) -> Outcome {
    testkit::program::run(FERRIC, arguments)
}

/// Runs the program with `input` as its standard input.
pub fn run_with(arguments: &[&str], input: &[u8]) -> Outcome {
    testkit::program::run_with(FERRIC, arguments, input)
}

/// Starts the program with an input that stays open.
pub fn start_with_input(arguments: &[&str]) -> Program {
    Program::start_with_input(FERRIC, arguments)
}

/// Starts the program.
pub fn start(arguments: &[&str]) -> Program {
    Program::start(FERRIC, arguments)
}
