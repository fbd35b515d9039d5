//! `ferric ran --stepped`: commands on standard input advance the model.

use std::io::{BufRead, Read};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ::ran::{Ran, RanConfig};
use ferric::agent::AgentWaker;
use serde_json::{Value, json};

/// The longest line that is read.
const MAX_LINE_OCTETS: u64 = 256;
/// Commands that wait.
const MAX_COMMANDS: usize = 64;
/// The longest step: an hour of the model.
const MAX_STEP_MS: f64 = 3.6e6;
/// How long the loop waits for a RIC or a command before it looks for a signal.
const WAIT: Duration = Duration::from_millis(100);

/// A command of the input.
#[derive(Debug, PartialEq)]
enum Command {
    /// Advance the model.
    Step(Duration),
    /// Start again with a seed.
    Reset(u64),
    /// State the time and the associations.
    Status,
    /// End.
    Quit,
}

impl std::str::FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let (name, argument, more) = (words.next().unwrap_or_default(), words.next(), words.next());
        match (name, argument, more) {
            ("step", Some(ms), None) => {
                let ms = ms.parse::<f64>().ok().filter(|ms| *ms > 0.0 && *ms <= MAX_STEP_MS);
                let length = ms.map(|ms| Duration::from_nanos((ms * 1e6).round() as u64));
                let length = length.filter(|length| !length.is_zero());
                length
                    .map(Command::Step)
                    .ok_or_else(|| format!("`{line}`: a step is above 0 and at most {MAX_STEP_MS} ms"))
            }
            ("reset", Some(seed), None) => {
                let seed = seed.parse::<u64>().ok().filter(|seed| i64::try_from(*seed).is_ok());
                seed.map(Command::Reset).ok_or_else(|| format!("`{line}`: a seed is a number from 0 to 2^63 - 1"))
            }
            ("status", None, _) => Ok(Command::Status),
            ("quit", None, _) => Ok(Command::Quit),
            _ => Err(format!("`{line}`: use `step MS`, `reset SEED`, `status` or `quit`")),
        }
    }
}

/// Reads lines until the end of the input. A line that is too long is passed on in parts, which are no commands.
fn read_commands(commands: &SyncSender<String>, waker: &Mutex<AgentWaker>) {
    let mut input = std::io::stdin().lock();
    let wake = || waker.lock().unwrap_or_else(PoisonError::into_inner).wake();
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(MAX_LINE_OCTETS).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if !line.is_empty() && commands.send(line).is_err() {
            break;
        }
        wake();
    }
}

/// Runs the RAN until `quit`, the end of the input, or a signal.
pub fn run(mut config: RanConfig) -> anyhow::Result<()> {
    let is_stopped = program::signals::flag_on_signal()?;
    let mut ran = Ran::new(config.clone())?;
    let waker = Arc::new(Mutex::new(ran.waker()?));
    let (sender, commands) = mpsc::sync_channel(MAX_COMMANDS);
    let of_reader = Arc::clone(&waker);
    thread::Builder::new().name("commands".into()).spawn(move || read_commands(&sender, &of_reader))?;
    print(&status(&ran));
    while !is_stopped.load(Ordering::Acquire) {
        let line = match commands.try_recv() {
            Ok(line) => line,
            Err(TryRecvError::Empty) => {
                ran.poll(Some(WAIT))?;
                continue;
            }
            Err(TryRecvError::Disconnected) => break,
        };
        match line.parse() {
            Ok(Command::Step(length)) => {
                ran.step(length)?;
                print(&status(&ran));
            }
            Ok(Command::Reset(seed)) => {
                config.scenario.seed = seed;
                // its nodes leave the RIC before those of the next one set up
                drop(ran);
                ran = Ran::new(config.clone())?;
                *waker.lock().unwrap_or_else(PoisonError::into_inner) = ran.waker()?;
                print(&status(&ran));
            }
            Ok(Command::Status) => print(&status(&ran)),
            Ok(Command::Quit) => break,
            Err(why) => print(&json!({ "error": why })),
        }
    }
    Ok(())
}

fn status(ran: &Ran) -> Value {
    let network = ran.network();
    let ues: usize = (0..network.cells()).map(|cell| network.cell(cell).ues().count()).sum();
    json!({
        "time_ms": ran.model_time().map_or(0.0, |time| time.as_nanos() as f64 / 1e6),
        "associations": ran.up(),
        "cells": network.cells(),
        "ues": ues,
    })
}

fn print(object: &Value) {
    program::outln!("{object}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_checked() {
        let ms = Duration::from_millis;
        for (line, command) in [
            ("step 10", Command::Step(ms(10))),
            ("  step   0.5 ", Command::Step(Duration::from_micros(500))),
            ("step 3600000", Command::Step(ms(3_600_000))),
            ("reset 7", Command::Reset(7)),
            ("status", Command::Status),
            ("quit", Command::Quit),
        ] {
            assert_eq!(line.parse(), Ok(command), "{line}");
        }
        for (line, why) in [
            ("step", "use `step MS`"),
            ("step 0", "a step is above 0"),
            ("step -5", "a step is above 0"),
            ("step 1e-9", "a step is above 0"),
            ("step nan", "a step is above 0"),
            ("step 3600001", "at most 3600000 ms"),
            ("step 1 2", "use `step MS`"),
            ("reset -1", "a seed is a number from 0"),
            ("reset 9223372036854775808", "a seed is a number from 0"),
            ("walk 5", "use `step MS`"),
        ] {
            let error = line.parse::<Command>().unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
