//! Thousands of nodes: their reports through one RIC, and their reconnection at the same time.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use e2ap::{RicActionId, RicActionType};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::link::{Class, StreamId};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};

use crate::load::{FUNCTION, Node, Template};
use crate::process::RicProcess;
use crate::{Effort, Many, Storm};

const PERIOD: Duration = Duration::from_millis(100);
const PDU_OCTETS: usize = 1500;
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures nodes that report once each [`PERIOD`], at different times.
pub(crate) fn measure(ferric: &Path, effort: Effort) -> anyhow::Result<Many> {
    let RicProcess { process: ric, e2, xapp, .. } = RicProcess::start(ferric, &[])?;
    let count = effort.many_nodes;
    let mut nodes = Vec::new();
    for number in 0..count {
        let mut node =
            Node::connect(&e2.address).with_context(|| format!("node {number}; is `ulimit -n` high enough?"))?;
        node.set_up(number as u32 + 1, 1)?;
        nodes.push(node);
    }
    let (ready, subscribed) = mpsc::channel();
    let mut xapp = Xapp::connect(&xapp, "bench", XappConfig { reconnect: None, ..XappConfig::default() })?;
    let stop = xapp.stop_handle();
    let reader = thread::spawn({
        let stop = stop.clone();
        move || -> anyhow::Result<(u64, u64)> {
            let (mut received, mut dropped) = (0, 0);
            while !stop.is_stopped() {
                xapp.poll(Some(Duration::from_millis(100)), |event, commands| match event {
                    XappEvent::NodeUp(node) => {
                        let (id, kind) = (RicActionId(1), RicActionType::Report);
                        let action = Action { id, kind, definition: None, subsequent: None };
                        let spec = SubscriptionSpec { event_trigger: vec![], actions: vec![action] };
                        commands.subscribe(node.id, FUNCTION, spec);
                    }
                    XappEvent::Request(RequestEvent::Subscribed { .. }) => drop(ready.send(())),
                    XappEvent::Indication(_) => received += 1,
                    XappEvent::ReportsDropped(reports) => dropped = reports,
                    _ => {}
                })?;
            }
            Ok((received, dropped))
        }
    });
    let mut templates = Vec::new();
    for node in &mut nodes {
        let (request_id, action) = node.admit()?;
        templates.push(Template::new(request_id, action, PDU_OCTETS)?);
    }
    for _ in 0..count {
        subscribed.recv_timeout(PATIENCE).map_err(|_| anyhow!("the xApp is not subscribed to all nodes"))?;
    }

    let before = ric.cpu_ns()?;
    let (start, mut sent) = (Instant::now(), 0_u64);
    let periods = (effort.seconds * effort.repetitions as f64 / PERIOD.as_secs_f64()).ceil().max(1.0) as u32;
    for period in 0..periods {
        for (at, (node, template)) in nodes.iter_mut().zip(&templates).enumerate() {
            let due = start + PERIOD * period + PERIOD * at as u32 / count as u32;
            // several nodes at a time, since a sleep takes longer than microseconds
            if let Some(left) =
                due.checked_duration_since(Instant::now()).filter(|left| *left > Duration::from_millis(1))
            {
                thread::sleep(left);
            }
            node.link.send(StreamId(0), &[&template.pdu], Class::Keep)?;
            node.flush()?;
            sent += 1;
        }
    }
    let took = start.elapsed();
    thread::sleep(Duration::from_millis(300)); // the last reports arrive
    let cpu_ns = ric.cpu_ns()? - before;
    stop.stop();
    let (received, _) = reader.join().map_err(|_| anyhow!("the xApp panicked"))??;
    Ok(Many {
        nodes: count,
        period_ms: PERIOD.as_secs_f64() * 1e3,
        payload_bytes: PDU_OCTETS,
        indications: received,
        lost: sent.saturating_sub(received),
        cpu_share: cpu_ns as f64 / took.as_nanos() as f64,
        late: took.as_secs_f64() / (PERIOD * periods).as_secs_f64(),
        rss_bytes: ric.rss_bytes()?,
    })
}

/// Measures nodes that lose their links and reconnect at the same time.
pub(crate) fn storm(ferric: &Path, effort: Effort) -> anyhow::Result<Storm> {
    let RicProcess { process: _ric, e2, xapp, .. } = RicProcess::start(ferric, &[])?;
    let count = effort.idle_nodes;
    let mut first = Vec::new();
    for number in 0..count {
        let mut node = Node::connect(&e2.address)?;
        node.set_up(number as u32 + 1, 1)?;
        first.push(node);
    }
    let mut xapp = Xapp::connect(&xapp, "bench", XappConfig { reconnect: None, ..XappConfig::default() })?;
    let mut known = 0;
    let deadline = Instant::now() + PATIENCE;
    while known < count && Instant::now() < deadline {
        xapp.poll(Some(Duration::from_millis(100)), |event, _| {
            known += usize::from(matches!(event, XappEvent::NodeUp(_)));
        })?;
    }
    let begun = Instant::now();
    drop(first);
    let mut again = Vec::new();
    for number in 0..count {
        let mut node = Node::connect(&e2.address)?;
        node.begin_setup(number as u32 + 1, 1)?;
        again.push(node);
    }
    for node in &mut again {
        node.await_setup()?;
    }
    let set_up = begun.elapsed();
    // the xApp must be notified that each node is lost, and that it is back
    let (mut lost, mut back) = (0, 0);
    while (lost < count || back < count) && begun.elapsed() < PATIENCE {
        xapp.poll(Some(Duration::from_millis(20)), |event, _| match event {
            XappEvent::NodeLost(_) => lost += 1,
            XappEvent::NodeUp(_) => back += 1,
            _ => {}
        })?;
    }
    Ok(Storm {
        nodes: count,
        set_up_ms: set_up.as_secs_f64() * 1e3,
        notified_ms: begun.elapsed().as_secs_f64() * 1e3,
        missing: 2 * count - lost.min(count) - back.min(count),
    })
}
