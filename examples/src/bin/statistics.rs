//! An xApp that reads MAC, RLC and PDCP statistics every few milliseconds, in the encoding of each node, and prints a
//! line for each UE: its traffic, its queue and its channel quality.
//!
//! It uses the raw level of xApps, since the high-level API has no reports of these service models.
//!
//! `cargo run -p ferric-examples --bin statistics -- tcp://127.0.0.1:36423 10`, with `ferric ric` and `ferric ran` running

use std::collections::HashMap;
use std::error::Error;

use e2sm::flexric::EventTriggerDefinition;
use e2sm::{Arena, Model, Wire, detect, mac, pdcp, rlc};
use ferric::e2::{Action, NodeId, SubscriptionSpec};
use ferric::e2ap::{RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

const MODELS: [Model; 3] = [mac::MODEL, rlc::MODEL, pdcp::MODEL];

/// The latest statistics of a UE, by layer.
#[derive(Clone, Copy, Default)]
struct Known {
    mac: mac::UeStats,
    rlc: rlc::BearerStats,
    pdcp: pdcp::BearerStats,
}

/// All statistics, with this period.
fn every(period_ms: u32, wire: Wire) -> Result<SubscriptionSpec, e2sm::Error> {
    let mut event_trigger = Vec::new();
    EventTriggerDefinition { period_ms }.encode(wire, &mut event_trigger)?;
    let (id, kind) = (RicActionId(0), RicActionType::Report);
    Ok(SubscriptionSpec { event_trigger, actions: vec![Action { id, kind, definition: None, subsequent: None }] })
}

/// Passes a line for each UE of a node to `print`, with each of its PDCP reports, until it returns `false`.
pub fn run(ric: &Address, period_ms: u32, mut print: impl FnMut(String) -> bool) -> Result<(), Box<dyn Error>> {
    let mut xapp = Xapp::connect(ric, "statistics", Default::default())?;
    let mut known: HashMap<NodeId, HashMap<u32, Known>> = HashMap::new();
    let mut models = HashMap::new();
    let mut arena = Arena::new();
    let mut wanted = true;
    while wanted {
        xapp.poll(None, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                for function in &node.functions {
                    // the object identifier determines the model and its encoding
                    let Some((model, wire)) = detect(&function.oid) else { continue };
                    if !MODELS.iter().any(|known| known.function_id == model) {
                        continue;
                    }
                    models.insert((node.id, function.id), (model, wire));
                    match every(period_ms, wire) {
                        Ok(spec) => drop(ric.subscribe(node.id, function.id, spec)),
                        Err(error) => eprintln!("{}: {error}", node.global_id),
                    }
                }
            }
            XappEvent::NodeLost(node) => drop(known.remove(&node.id)),
            XappEvent::Indication(indication) => {
                let (node, Some(peeked)) = (indication.node, indication.peek()) else { return };
                let Some((model, wire)) = models.get(&(node, peeked.ran_function_id)).copied() else { return };
                arena.reset();
                let ues = known.entry(node).or_default();
                match read(model, wire, peeked.message, &arena, ues) {
                    Ok(()) if model == pdcp::MODEL.function_id => {
                        for (rnti, known) in ues {
                            wanted &= print(line(node, *rnti, known));
                        }
                    }
                    Ok(()) => {}
                    Err(error) => eprintln!("cannot decode a report: {error}"),
                }
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => {
                eprintln!("subscription failed: {failure}")
            }
            _ => {}
        })?;
    }
    Ok(())
}

/// Adds a report to the statistics.
fn read(
    model: u16,
    wire: Wire,
    message: &[u8],
    arena: &Arena,
    ues: &mut HashMap<u32, Known>,
) -> Result<(), e2sm::Error> {
    if model == mac::MODEL.function_id {
        for ue in &mac::IndicationMessage::decode(message, wire, arena)?.ues {
            ues.entry(ue.rnti).or_default().mac = *ue;
        }
    } else if model == rlc::MODEL.function_id {
        for bearer in &rlc::IndicationMessage::decode(message, wire, arena)?.bearers {
            ues.entry(bearer.rnti).or_default().rlc = *bearer;
        }
    } else {
        for bearer in &pdcp::IndicationMessage::decode(message, wire, arena)?.bearers {
            ues.entry(bearer.rnti).or_default().pdcp = *bearer;
        }
    }
    Ok(())
}

fn line(node: NodeId, rnti: u32, Known { mac, rlc, pdcp }: &Known) -> String {
    format!(
        "node {} ue {rnti:#06x}: cqi {} mcs {} prbs {} | rlc waits {} octets, {} us | pdcp {} octets down, {} up",
        node.0,
        mac.wb_cqi,
        mac.dl_mcs_1,
        mac.dl_sched_prbs,
        rlc.tx_buffer_octets,
        rlc.tx_sdu_wait_us,
        pdcp.tx_sdu_octets,
        pdcp.rx_sdu_octets
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let ric = arguments.next().unwrap_or("tcp://127.0.0.1:36423".into()).parse()?;
    let period_ms = arguments.next().map_or(Ok(10), |period| period.parse())?;
    run(&ric, period_ms, |line| {
        println!("{line}");
        true
    })
}
