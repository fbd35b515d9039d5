//! Parts of a measurement in separate processes, so that the kernel accounts for each: agents, a controller, an xApp. The
//! hidden command `part JSON` of a program runs one of them.
//!
//! A part prints its address, if it has one. It answers each line of input with its counters until now, as a line of JSON. It
//! ends with its input, so that no part outlives the program that has started it.

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

/// An encoding of E2AP or of a service model, as the FlexRIC paper compares them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// ASN.1 PER.
    #[default]
    Per,
    /// FlatBuffers.
    Flat,
    /// FlexRIC's plain layout. Service models alone have it: E2AP is then in PER.
    Plain,
}

impl Encoding {
    /// The encodings that E2AP and service models have.
    pub const ALL: [Encoding; 2] = [Encoding::Per, Encoding::Flat];

    /// The encoding of E2AP.
    #[must_use]
    pub fn codec(self) -> Codec {
        match self {
            Encoding::Per | Encoding::Plain => Codec::Per,
            Encoding::Flat => Codec::FLAT,
        }
    }

    /// The encoding of a service model.
    #[must_use]
    pub fn wire(self) -> Wire {
        match self {
            Encoding::Per => Wire::Per,
            Encoding::Flat => Wire::Flat,
            Encoding::Plain => Wire::Plain,
        }
    }
}

/// A part and its parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Agents.
    Agents(Agents),
    /// A controller.
    Controller(Controller),
    /// An xApp.
    Xapp(XappPart),
}

impl Part {
    /// Starts the part in a process.
    ///
    /// # Errors
    /// If this program cannot be started again.
    pub fn start(&self) -> anyhow::Result<Process> {
        let text = serde_json::to_string(self)?;
        let lines = usize::from(matches!(self, Part::Controller(_)));
        Process::start_self(&["part", &text, "--log", "error"], lines)
    }
}

/// Reads the counters of a part.
///
/// # Errors
/// If the part has ended or answers something else.
pub fn ask<T: DeserializeOwned>(process: &mut Process) -> anyhow::Result<T> {
    let line = process.query().context("no answer from a part of the measurement")?;
    serde_json::from_str(&line).with_context(|| format!("unexpected answer: {line}"))
}

/// Runs the part that `text` describes, until its input ends.
///
/// # Errors
/// If the text describes no part, or the part fails.
pub fn run(text: &str) -> anyhow::Result<()> {
    match serde_json::from_str(text).context("invalid part of a measurement")? {
        Part::Agents(agents) => agents.run(),
        Part::Controller(controller) => controller.run(),
        Part::Xapp(xapp) => xapp.run(),
    }
}

/// Answers each line of the input on a thread; stops the part when the input ends.
fn answer<T: Serialize>(stop: StopHandle, count: impl Fn() -> T + Send + 'static) {
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let (Ok(_), Ok(text)) = (line, serde_json::to_string(&count())) else { break };
            println!("{text}");
        }
        stop.stop();
    });
}

/// A free TCP port of the loopback interface.
#[must_use]
pub fn any_port() -> Address {
    Address::Tcp { host: "127.0.0.1".into(), port: 0 }
}
