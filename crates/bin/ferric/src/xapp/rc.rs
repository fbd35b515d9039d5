//! `ferric xapp rc`: sends one E2SM-RC control and prints the nodes' answers.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2sm::common::{
    AmfUeNgapId, Cgi, GnbCuCpUeE1apId, GnbCuUeF1apId, Guami, NrCgi, PlmnIdentity, SNssai, Sd, Sst, UeId, UeIdGnb,
    UeIdGnbCuUp, UeIdGnbDu,
};
use e2sm::rc::{
    Control, ControlAction, ControlOutcome, ControlOutcomeFormats, Detection, DrbQos, Drx, Handover, OID,
    RanParameterElementItem, RanParameterValue, Revision, RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota,
};
use e2sm::{Arena, Wire};
use ferric::e2;
use ferric::e2::Ticket;
use ferric::e2::xapp::{FunctionInfo, NodeInfo};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, XappConfig, XappEvent};
use per::{Bits, Single};
use tracing::info;

use super::connect;

/// The time without a new node after which no more nodes are expected.
const SETTLED: Duration = Duration::from_millis(300);

/// Send a control by E2SM-RC.
///
/// The control goes to every node that offers E2SM-RC, or to --node. Ends when all have answered; fails if no node has
/// executed it.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: ActionArgs,
    /// The RIC's address for xApps.
    #[arg(long, global = true, value_name = "URL", default_value = "tcp://127.0.0.1:36423", value_parser = crate::address::xapp)]
    ric: Address,
    /// Only this node, by the name that the RIC prints.
    #[arg(long, global = true, value_name = "NODE")]
    node: Option<String>,
    /// Revision of RC, overriding what the nodes register: 1.03, 3.00 or 5.00.
    #[arg(long, global = true, value_name = "REVISION")]
    rc: Option<Revision>,
    /// Seconds to wait for nodes and answers.
    #[arg(long, global = true, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
}

#[derive(clap::Subcommand)]
enum ActionArgs {
    SliceQuota(SliceQuota),
    Handover(HandOver),
    Drx(SetDrx),
    Qos(SetQos),
}

/// Set a slice's quota of resource blocks.
#[derive(clap::Args)]
struct SliceQuota {
    /// Slice/service type (SST).
    #[arg(long, value_name = "N")]
    sst: u8,
    /// Slice differentiator (SD): six hex digits.
    #[arg(long, value_name = "HEX")]
    sd: Option<String>,
    /// Minimum share in percent, if the slice has data.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    min: u8,
    /// Maximum share in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(0..=100))]
    max: u8,
    /// Dedicated share in percent, reserved even if the slice has no data.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    dedicated: Option<u8>,
}

/// Hand a UE over to another cell.
#[derive(clap::Args)]
struct HandOver {
    #[command(flatten)]
    ue: UeArgs,
    /// Target cell: its NR cell identity (36 bits, hex) in the node's PLMN.
    #[arg(long, value_name = "HEX", value_parser = cell_identity)]
    cell: u64,
}

/// Set a UE's DRX cycle.
#[derive(clap::Args)]
struct SetDrx {
    #[command(flatten)]
    ue: UeArgs,
    /// Long DRX cycle in ms; rounded down to a value of TS 38.331.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u16).range(10..=10240))]
    cycle_ms: u16,
}

/// Change the QoS of a UE's bearer.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("qos").args(["five_qi", "priority"]).multiple(true).required(true)))]
struct SetQos {
    #[command(flatten)]
    ue: UeArgs,
    /// Data radio bearer (DRB).
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=32))]
    drb: u8,
    /// 5QI.
    #[arg(long, value_name = "5QI")]
    five_qi: Option<u8>,
    /// Priority level; lower values are served first.
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(1..=127))]
    priority: Option<u8>,
}

#[derive(clap::Args)]
struct UeArgs {
    /// UE, by the name that `ferric xapp kpm` prints: amf-N, f1ap-N or e1ap-N.
    #[arg(long, value_name = "UE")]
    ue: UeName,
    /// AMF of a UE amf-N in the node's PLMN: region, set and pointer.
    #[arg(long, value_name = "REGION:SET:POINTER", default_value = "1:1:1")]
    amf: Amf,
}

#[derive(Clone, Copy)]
enum UeName {
    Amf(i64),
    F1ap(u32),
    E1ap(u32),
}

impl FromStr for UeName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const KINDS: &str = "not amf-N, f1ap-N or e1ap-N";
        let (kind, number) = text.split_once('-').ok_or(KINDS)?;
        let number: u64 = number.parse().map_err(|_| KINDS)?;
        let short = || u32::try_from(number).map_err(|_| "the number is above 4294967295");
        match kind {
            "amf" if number < 1 << 40 => Ok(UeName::Amf(number as i64)),
            "amf" => Err("the number is above 1099511627775"),
            "f1ap" => short().map(UeName::F1ap),
            "e1ap" => short().map(UeName::E1ap),
            _ => Err(KINDS),
        }
    }
}

#[derive(Clone, Copy)]
struct Amf {
    region: u8,
    set: u16,
    pointer: u8,
}

impl FromStr for Amf {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "an AMF is a region of 8 bits, a set of 10 and a pointer of 6, such as 1:1:1";
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or(FORM)?.parse::<u16>().map_err(|_| FORM);
        let (region, set, pointer) = (next()?, next()?, next()?);
        if parts.next().is_some() || region > 255 || set > 1023 || pointer > 63 {
            return Err(FORM);
        }
        Ok(Amf { region: region as u8, set, pointer: pointer as u8 })
    }
}

fn cell_identity(text: &str) -> Result<u64, &'static str> {
    let value = u64::from_str_radix(text, 16).map_err(|_| "not hex digits")?;
    if value >> 36 == 0 { Ok(value) } else { Err("an NR cell identity has 36 bits: 9 hex digits") }
}

impl UeArgs {
    fn id(&self, plmn_identity: PlmnIdentity) -> UeId<'static> {
        match self.ue {
            UeName::Amf(number) => UeId::Gnb(Single::from(UeIdGnb {
                amf_ue_ngap_id: AmfUeNgapId(number),
                guami: Guami {
                    plmn_identity,
                    amf_region_id: Bits::new(self.amf.region.into(), 8),
                    amf_set_id: Bits::new(self.amf.set.into(), 10),
                    amf_pointer: Bits::new(self.amf.pointer.into(), 6),
                },
                gnb_cu_ue_f1ap_id_list: None,
                gnb_cu_cp_ue_e1ap_id_list: None,
                ran_ueid: None,
                m_ng_ran_ue_xnap_id: None,
                global_gnb_id: None,
                global_ng_ran_node_id: None,
                cell_rnti: None,
            })),
            UeName::F1ap(number) => {
                UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number), ran_ueid: None, cell_rnti: None })
            }
            UeName::E1ap(number) => {
                UeId::GnbCuUp(UeIdGnbCuUp { gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(number), ran_ueid: None })
            }
        }
    }
}

impl ActionArgs {
    /// The control for a node of that PLMN.
    fn control(&self, plmn_identity: PlmnIdentity) -> anyhow::Result<Control> {
        Ok(match self {
            ActionArgs::SliceQuota(args) => {
                let sd = args.sd.as_deref().map(slice_differentiator).transpose()?;
                let slice = SNssai { sst: Sst([args.sst]), sd };
                if args.min > args.max {
                    bail!("--min {} is above --max {}", args.min, args.max);
                }
                let policy = RrmPolicyRatio {
                    members: vec![RrmPolicyMember { plmn_identity, slice }],
                    min_percent: Some(args.min),
                    max_percent: Some(args.max),
                    dedicated_percent: args.dedicated,
                };
                Control::of_cell(ControlAction::SlicePrbQuota(SlicePrbQuota { policies: vec![policy] }))
            }
            ActionArgs::Handover(args) => {
                let cell = NrCgi { plmn_identity, nr_cell_identity: Bits::new(args.cell, 36) };
                let handover = Handover::to(Cgi::NrCgi(cell));
                Control::of_ue(args.ue.id(plmn_identity), ControlAction::Handover(handover))
            }
            ActionArgs::Qos(args) => {
                let (drb_id, five_qi, priority_level) = (args.drb, args.five_qi, args.priority);
                let qos = DrbQos { drb_id, five_qi, priority_level, ..DrbQos::default() };
                Control::of_ue(args.ue.id(plmn_identity), ControlAction::DrbQos(qos))
            }
            ActionArgs::Drx(args) => {
                Control::of_ue(args.ue.id(plmn_identity), ControlAction::Drx(Drx::long(args.cycle_ms)))
            }
        })
    }
}

fn slice_differentiator(text: &str) -> anyhow::Result<Sd> {
    let value = u32::from_str_radix(text, 16).ok().filter(|_| text.len() == 6);
    let [_, a, b, c] = value.context("a slice differentiator has six hex digits")?.to_be_bytes();
    Ok(Sd([a, b, c]))
}

/// A control without an answer yet.
struct PendingControl {
    node: String,
    detection: Detection,
}

impl Args {
    fn detect(&self, node: &NodeInfo, rc: &FunctionInfo) -> anyhow::Result<Detection> {
        let detection = match self.rc {
            Some(revision) => Detection::configured(revision).in_wire_of(&rc.oid),
            None => Detection::from_ran_function(&rc.oid, rc.revision.0, &rc.definition)?,
        };
        info!(node = %node.global_id, "{detection}");
        Ok(detection)
    }
}

pub fn run(args: &Args, config: XappConfig) -> anyhow::Result<()> {
    // arguments that contradict each other are refused before a RIC is contacted
    args.action.control(PlmnIdentity([0; 3]))?;
    let mut xapp = connect(&args.ric, "ferric-rc", config)?;
    let stop = xapp.stop_handle();
    program::signals::stop_on_signal(stop.clone())?;

    let end = Instant::now() + Duration::from_secs(args.seconds.into());
    let mut last_node = Instant::now();
    let mut pending: HashMap<Ticket, PendingControl> = HashMap::new();
    // a RIC that was lost and is back reports its nodes again: no node gets the control twice
    let mut addressed = HashSet::new();
    let (mut sent, mut done) = (0, 0);
    while !stop.is_stopped() && Instant::now() < end {
        if sent > 0 && pending.is_empty() && last_node.elapsed() >= SETTLED {
            break;
        }
        let mut failed = None;
        let polled = xapp.poll(Some(Duration::from_millis(50)), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let name = node.global_id.to_string();
                if args.node.as_ref().is_some_and(|wanted| *wanted != name) {
                    return;
                }
                let Some(rc) = node.functions.iter().find(|function| Wire::of(&function.oid).1 == OID) else {
                    return info!(node = name, "node does not offer E2SM-RC");
                };
                let plmn = node.global_id.plmn_identity();
                let octets = args.detect(node, rc).and_then(|detection| {
                    let (header, message) = args.action.control(plmn)?.encode_in(detection.revision, detection.wire)?;
                    Ok((detection, header, message))
                });
                if !addressed.insert(name.clone()) {
                    return;
                }
                match octets {
                    Ok((detection, header, message)) => {
                        let ticket = ric.control(node.id, rc.id, &header, &message);
                        pending.insert(ticket, PendingControl { node: name, detection });
                        sent += 1;
                        last_node = Instant::now();
                    }
                    Err(error) => failed = Some(error.context(name)),
                }
            }
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome: result }) => {
                let Some(PendingControl { node, detection }) = pending.remove(&ticket) else { return };
                done += usize::from(matches!(result, e2::ControlOutcome::Acknowledged(_)));
                program::outln!("node={node} {}", describe(&result, detection));
            }
            _ => {}
        });
        polled.context("connection to the RIC lost")?;
        if let Some(error) = failed {
            return Err(error);
        }
    }
    for control in pending.values() {
        program::outln!("node={} no answer", control.node);
    }
    match (sent, done) {
        (0, _) => bail!("no such node offers E2SM-RC; `ferric xapp kpm` lists the nodes"),
        (_, 0) => bail!("no node has executed the control"),
        _ => Ok(()),
    }
}

fn describe(result: &e2::ControlOutcome, detection: Detection) -> String {
    match result {
        e2::ControlOutcome::Acknowledged(outcome) => format!("done{}", describe_outcome(outcome.as_deref(), detection)),
        e2::ControlOutcome::Failed { cause, outcome } => {
            format!("refused: {cause}{}", describe_outcome(outcome.as_deref(), detection))
        }
        e2::ControlOutcome::Sent => "sent".to_owned(),
        e2::ControlOutcome::TimedOut => "no answer".to_owned(),
        e2::ControlOutcome::NodeLost => "node lost".to_owned(),
        e2::ControlOutcome::Misuse(code) => format!("refused by the RIC: {code}"),
        other => other.to_string(),
    }
}

/// The control outcome as text.
fn describe_outcome(outcome: Option<&[u8]>, detection: Detection) -> String {
    let Some(outcome) = outcome.filter(|outcome| !outcome.is_empty()) else { return String::new() };
    let arena = Arena::new();
    let Ok(outcome) = ControlOutcome::decode_in(outcome, detection.revision, detection.wire, &arena) else {
        return ", undecodable outcome".to_owned();
    };
    let item = |item: &RanParameterElementItem<'_>| match &item.value {
        RanParameterValue::ValuePrintableString(text) => format!(", {text}"),
        value => format!(", parameter {} is {value:?}", item.ran_parameter_id.0),
    };
    match &outcome.formats {
        ControlOutcomeFormats::Format1(format) => format.ran_p_list.iter().map(item).collect(),
        other => format!(", {other:?}"),
    }
}
