//! States the positions of an emulated RAN to a RIC, for its page.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ::ran::{Positions, Ran};
use anyhow::Context;
use rest::client::{Client, ClientConfig};
use serde_json::{Value, json};
use tracing::{info, warn};

/// The time between two statements.
const PERIOD: Duration = Duration::from_millis(500);
/// The time for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a RAN until it is stopped, and states its positions to the REST interface of a RIC, on a thread of its own: a RIC that does
/// not answer delays nothing.
pub fn run(ran: &mut Ran, ric: &ClientConfig) -> anyhow::Result<()> {
    let client = Client::new(&ClientConfig { timeout: TIMEOUT, ..ric.clone() }).context("positions")?;
    let (sender, receiver) = sync_channel(1);
    thread::Builder::new().name("positions".into()).spawn(move || state(&client, &receiver))?;
    poll(ran, &sender)
}

fn poll(ran: &mut Ran, sender: &SyncSender<Positions>) -> anyhow::Result<()> {
    let stop = ran.stop_handle();
    let mut due = Instant::now() + PERIOD;
    while !stop.is_stopped() {
        ran.poll(Some(due.saturating_duration_since(Instant::now())))?;
        if Instant::now() >= due {
            due = Instant::now() + PERIOD;
            // if the RIC is slow, these are left out
            let _ = sender.try_send(ran.positions());
        }
    }
    Ok(())
}

/// Sends what is received, until the sender is gone. A failure is logged once.
fn state(client: &Client, positions: &Receiver<Positions>) {
    let mut has_failed = false;
    for positions in positions {
        let failure = match client.request("PUT", "/v1/positions", Some(&document(&positions))) {
            Ok(answer) if answer.is_success() => None,
            Ok(answer) => Some(answer.detail().map_or_else(|| format!("status {}", answer.status), str::to_owned)),
            Err(error) => Some(error.to_string()),
        };
        match &failure {
            Some(why) if !has_failed => warn!("cannot state positions to {}: {why}; trying again", client.url()),
            None if has_failed => info!("positions are stated to {} again", client.url()),
            _ => {}
        }
        has_failed = failure.is_some();
    }
}

fn document(positions: &Positions) -> Value {
    // centimetres are precise enough
    let metres = |value: f64| (value * 100.0).round() / 100.0;
    let cells =
        positions.cells.iter().map(|(cell, at)| json!({ "cell": cell, "x_m": metres(at.x_m), "y_m": metres(at.y_m) }));
    let ues = positions
        .ues
        .iter()
        .map(|(ip, at)| json!({ "ue": format!("ip:{ip}"), "x_m": metres(at.x_m), "y_m": metres(at.y_m) }));
    json!({ "cells": cells.collect::<Vec<_>>(), "ues": ues.collect::<Vec<_>>() })
}
