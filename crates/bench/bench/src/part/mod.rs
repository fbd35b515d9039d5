//! Parts of a measurement that are processes of their own, so that the kernel accounts for each of them: agents, a
//! controller, an xApp. The hidden command `part JSON` of a program runs one of them.
//!
//! A part says where it listens, if it does. Then it answers each line that it reads by a line of JSON, what it has counted
//! until now; and it ends with its input, so that none is left when who started it is gone.

mod agents;
mod controller;
mod dummy;
mod stages;
mod store;
mod xapp;

use std::io::BufRead;
use std::thread;

use anyhow::Context;
use e2ap::Codec;
use e2sm::Wire;
use ferric::StopHandle;
use ferric::link::Address;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::process::Process;

pub use agents::{Agents, AgentsCount, Load};
pub use controller::{Controller, ControllerCount};
pub use xapp::{XappCount, XappPart};

/// An encoding, of E2AP or of a service model: those that the FlexRIC paper compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    #[default]
    Per,
    Flat,
}

impl Encoding {
    pub const ALL: [Encoding; 2] = [Encoding::Per, Encoding::Flat];

    pub fn codec(self) -> Codec {
        match self {
            Encoding::Per => Codec::Per,
            Encoding::Flat => Codec::FLAT,
        }
    }

    pub fn wire(self) -> Wire {
        match self {
            Encoding::Per => Wire::Per,
            Encoding::Flat => Wire::Flat,
        }
    }
}

/// Which part, and how it is set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    Agents(Agents),
    Controller(Controller),
    Xapp(XappPart),
}

impl Part {
    /// Starts it.
    pub fn start(&self) -> anyhow::Result<Process> {
        let text = serde_json::to_string(self)?;
        let lines = usize::from(matches!(self, Part::Controller(_)));
        Process::start_self(&["--log", "error", "part", &text], lines)
    }
}

/// Asks a part what it has counted.
pub fn ask<T: DeserializeOwned>(process: &mut Process) -> anyhow::Result<T> {
    let line = process.query().context("a part of the measurement does not answer")?;
    serde_json::from_str(&line).with_context(|| format!("unexpected: {line}"))
}

/// Is the part that `text` tells, until its input ends.
///
/// # Errors
/// Where the text tells no part, or what it needs cannot be had.
pub fn run(text: &str) -> anyhow::Result<()> {
    match serde_json::from_str(text).context("no part of a measurement")? {
        Part::Agents(agents) => agents.run(),
        Part::Controller(controller) => controller.run(),
        Part::Xapp(xapp) => xapp.run(),
    }
}

/// Answers each line of the input, on a thread of its own; stops the part when there is none any more.
fn answer<T: Serialize>(stop: StopHandle, count: impl Fn() -> T + Send + 'static) {
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let (Ok(_), Ok(text)) = (line, serde_json::to_string(&count())) else { break };
            println!("{text}");
        }
        stop.stop();
    });
}

pub fn any_port() -> Address {
    Address::Tcp { host: "127.0.0.1".into(), port: 0 }
}
