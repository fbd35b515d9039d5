//! `ferric xapp ping`: the time from a control to each node's hw function to the indication that answers it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::{Arena, Wire, hw};
use ferric::e2::{Action, NodeId, SubscriptionSpec, Ticket};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, XappConfig, XappEvent};
use tracing::{info, warn};

use super::{connect, latency_histogram, p50_p99};

/// Measure round trips to every node that offers the ping.
///
/// A round trip lasts from a control to the indication that answers it. Ends with a line `pings=… lost=… p50_us=… p99_us=…`.
#[derive(clap::Args)]
pub struct Args {
    /// The RIC's address for xApps.
    #[arg(long, value_name = "URL", env = "FERRIC_RIC", default_value = "tcp://127.0.0.1:36423", value_parser = crate::address::xapp)]
    ric: Address,
    /// Period of the pings in ms.
    #[arg(long, value_name = "P", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    period_ms: u32,
    /// Payload of a ping in octets.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    octets: u32,
    /// End after N seconds. [default: run until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Print one JSON object per ping.
    #[arg(long)]
    json: bool,
}

/// A node that is pinged.
struct Target {
    name: String,
    function: RanFunctionId,
    wire: Wire,
    /// The subscription request without an answer yet; pings start after it.
    subscribing: Option<Ticket>,
    /// The number and the time of the ping without an answer yet.
    waiting: Option<(u32, Instant)>,
}

pub fn run(args: &Args, config: XappConfig) -> anyhow::Result<()> {
    let mut xapp = connect(&args.ric, "ferric-ping", config, args.seconds)?;
    let stop = xapp.stop_handle();
    program::signals::stop_on_signal(stop.clone())?;

    let period = Duration::from_millis(args.period_ms.into());
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    let mut targets: HashMap<NodeId, Target> = HashMap::new();
    let (mut sent, mut lost, mut count) = (0u64, 0u64, 0u64);
    let mut rtt_us = latency_histogram()?;
    let (payload, mut message, mut arena) = (vec![0; args.octets as usize], Vec::new(), Arena::new());
    let mut next = Instant::now();
    while !stop.is_stopped() && end.is_none_or(|end| Instant::now() < end) {
        if Instant::now() >= next {
            next += period;
            let mut commands = xapp.commands();
            for (node, target) in targets.iter_mut().filter(|(_, t)| t.subscribing.is_none()) {
                sent += 1;
                lost += u64::from(target.waiting.is_some());
                let ping = hw::Ping { number: sent as u32, payload: payload.as_slice().into() };
                message.clear();
                ping.encode(target.wire, &mut message)?;
                commands.control(*node, target.function, &[], &message);
                target.waiting = Some((sent as u32, Instant::now()));
            }
        }
        let patience = next.saturating_duration_since(Instant::now()).min(Duration::from_millis(200));
        let polled = xapp.poll(Some(patience), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let name = node.global_id.to_string();
                let mut functions = node.functions.iter().filter_map(|f| Some((f, hw::wire_of(&f.oid)?)));
                let Some((function, wire)) = functions.next() else {
                    return info!(node = name, "node does not offer the service model of pings (HW)");
                };
                let action =
                    Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
                let spec = SubscriptionSpec { event_trigger: hw::EVENT_TRIGGER.to_vec(), actions: vec![action] };
                let subscribing = Some(ric.subscribe(node.id, function.id, spec));
                targets.insert(node.id, Target { name, function: function.id, wire, subscribing, waiting: None });
            }
            XappEvent::NodeLost(node) => drop(targets.remove(&node.id)),
            XappEvent::Request(RequestEvent::Subscribed { ticket, .. }) => {
                targets.values_mut().filter(|t| t.subscribing == Some(ticket)).for_each(|t| t.subscribing = None);
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => {
                let target = targets.values().find(|target| target.subscribing == Some(ticket));
                warn!(node = target.map(|target| &*target.name), %error, "subscription failed");
            }
            XappEvent::Indication(indication) => {
                let Some(target) = targets.get_mut(&indication.node) else { return };
                arena.reset();
                let read = indication.peek().and_then(|p| hw::Ping::decode(p.message, target.wire, &arena).ok());
                let number = read.map(|ping| ping.number);
                if let Some((expected, since)) = target.waiting
                    && number == Some(expected)
                {
                    target.waiting = None;
                    count += 1;
                    let us = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
                    rtt_us += us;
                    if args.json {
                        program::outln!(
                            "{}",
                            serde_json::json!({ "node": target.name, "ping": expected, "rtt_us": us })
                        );
                    } else {
                        program::outln!("node={} ping={expected} rtt_us={us}", target.name);
                    }
                }
            }
            _ => {}
        });
        polled.context("connection to the RIC lost")?;
    }
    let [p50, p99] = p50_p99(&rtt_us);
    program::outln!("pings={count} lost={lost} p50_us={p50} p99_us={p99}");
    Ok(())
}
