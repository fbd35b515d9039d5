//! `ferric xapp rc`: one control by E2SM-RC, and what the nodes make of it.

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
use per::{Bits, One};
use tracing::info;

use super::connect;

/// How long no other node may have come before the answers are all.
const SETTLED: Duration = Duration::from_millis(300);

/// Have nodes do something, by E2SM-RC.
///
/// Goes to every node that offers E2SM-RC, or to the one that is named, and ends when all have answered. Exits with an
/// error where none has done it.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// The RIC's address for xApps.
    #[arg(long, global = true, value_name = "URL", default_value = "tcp://127.0.0.1:36423", value_parser = crate::address::xapp)]
    ric: Address,
    /// Only the node of that name, as the RIC and the other xApps print it.
    #[arg(long, global = true, value_name = "NODE")]
    node: Option<String>,
    /// The revision of RC that the nodes speak, whatever they say: 1.03, 3.00 or 5.00.
    #[arg(long, global = true, value_name = "REVISION")]
    rc: Option<Revision>,
    /// Wait for nodes and answers that many seconds.
    #[arg(long, global = true, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
}

#[derive(clap::Subcommand)]
enum What {
    SliceQuota(SliceQuota),
    Handover(HandOver),
    Drx(SetDrx),
    Qos(SetQos),
}

/// Give a slice a share of the resource blocks.
#[derive(clap::Args)]
struct SliceQuota {
    /// The slice's type.
    #[arg(long, value_name = "N")]
    sst: u8,
    /// The slice's differentiator: six hex digits.
    #[arg(long, value_name = "HEX")]
    sd: Option<String>,
    /// What it gets at least where it wants it, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    min: u8,
    /// What it gets at most, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(0..=100))]
    max: u8,
    /// What is kept for it though it does not want it, in percent.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    dedicated: Option<u8>,
}

/// Have a UE go to another cell.
#[derive(clap::Args)]
struct HandOver {
    #[command(flatten)]
    ue: WhichUe,
    /// The cell: its NR cell identity of 36 bits, as hex digits, in the node's network.
    #[arg(long, value_name = "HEX", value_parser = cell_identity)]
    cell: u64,
}

/// Have a UE listen once in a while only.
#[derive(clap::Args)]
struct SetDrx {
    #[command(flatten)]
    ue: WhichUe,
    /// The long cycle; the longest that there is and that is not longer is taken.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u16).range(10..=10240))]
    cycle_ms: u16,
}

/// Have a UE's bearer be treated otherwise.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("otherwise").args(["five_qi", "priority"]).multiple(true).required(true)))]
struct SetQos {
    #[command(flatten)]
    ue: WhichUe,
    /// The bearer.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=32))]
    drb: u8,
    /// Its 5QI.
    #[arg(long, value_name = "5QI")]
    five_qi: Option<u8>,
    /// The priority level of its flows: the lower, the earlier they are served.
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(1..=127))]
    priority: Option<u8>,
}

#[derive(clap::Args)]
struct WhichUe {
    /// The UE, as `ferric xapp kpm` calls it: amf-N, f1ap-N or e1ap-N.
    #[arg(long, value_name = "UE")]
    ue: UeName,
    /// The AMF of a UE that is called amf-N, in the node's network: region, set and pointer.
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
        const KINDS: &str = "a UE is called amf-N, f1ap-N or e1ap-N";
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
    let value = u64::from_str_radix(text, 16).map_err(|_| "hex digits are wanted")?;
    if value >> 36 == 0 { Ok(value) } else { Err("an NR cell identity has 36 bits: 9 hex digits") }
}

impl WhichUe {
    fn id(&self, plmn_identity: PlmnIdentity) -> UeId<'static> {
        match self.ue {
            UeName::Amf(number) => UeId::Gnb(One::from(UeIdGnb {
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

impl What {
    /// The control, in a node's network.
    fn control(&self, plmn_identity: PlmnIdentity) -> anyhow::Result<Control> {
        Ok(match self {
            What::SliceQuota(args) => {
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
            What::Handover(args) => {
                let cell = NrCgi { plmn_identity, nr_cell_identity: Bits::new(args.cell, 36) };
                let handover = Handover::to(Cgi::NrCgi(cell));
                Control::of_ue(args.ue.id(plmn_identity), ControlAction::Handover(handover))
            }
            What::Qos(args) => {
                let (drb_id, five_qi, priority_level) = (args.drb, args.five_qi, args.priority);
                let qos = DrbQos { drb_id, five_qi, priority_level, ..DrbQos::default() };
                Control::of_ue(args.ue.id(plmn_identity), ControlAction::DrbQos(qos))
            }
            What::Drx(args) => Control::of_ue(args.ue.id(plmn_identity), ControlAction::Drx(Drx::long(args.cycle_ms))),
        })
    }
}

fn slice_differentiator(text: &str) -> anyhow::Result<Sd> {
    let value = u32::from_str_radix(text, 16).ok().filter(|_| text.len() == 6);
    let [_, a, b, c] = value.context("a slice differentiator is six hex digits")?.to_be_bytes();
    Ok(Sd([a, b, c]))
}

/// A control that waits for its answer.
struct Asked {
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
    // what makes no sense is said before anybody is asked
    args.what.control(PlmnIdentity([0; 3]))?;
    let mut xapp = connect(&args.ric, "ferric-rc", config)?;
    let stop = xapp.stop_handle();
    program::signals::stop_on_signal(stop.clone())?;

    let end = Instant::now() + Duration::from_secs(args.seconds.into());
    let mut last_node = Instant::now();
    let mut asked: HashMap<Ticket, Asked> = HashMap::new();
    // a RIC that was lost and is back tells of its nodes again: what was asked of a node is not asked twice
    let mut told_nodes = HashSet::new();
    let (mut sent, mut done) = (0, 0);
    while !stop.is_stopped() && Instant::now() < end {
        if sent > 0 && asked.is_empty() && last_node.elapsed() >= SETTLED {
            break;
        }
        let mut failed = None;
        let turned = xapp.poll(Some(Duration::from_millis(50)), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let name = node.global_id.to_string();
                if args.node.as_ref().is_some_and(|wanted| *wanted != name) {
                    return;
                }
                let Some(rc) = node.functions.iter().find(|function| Wire::of(&function.oid).1 == OID) else {
                    return info!(node = name, "does not offer E2SM-RC");
                };
                let plmn = node.global_id.plmn_identity();
                let octets = args.detect(node, rc).and_then(|detection| {
                    let (header, message) = args.what.control(plmn)?.encode_in(detection.revision, detection.wire)?;
                    Ok((detection, header, message))
                });
                if !told_nodes.insert(name.clone()) {
                    return;
                }
                match octets {
                    Ok((detection, header, message)) => {
                        let ticket = ric.control(node.id, rc.id, &header, &message);
                        asked.insert(ticket, Asked { node: name, detection });
                        sent += 1;
                        last_node = Instant::now();
                    }
                    Err(error) => failed = Some(error.context(name)),
                }
            }
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome: result }) => {
                let Some(Asked { node, detection }) = asked.remove(&ticket) else { return };
                done += usize::from(matches!(result, e2::ControlOutcome::Acknowledged(_)));
                program::outln!("node={node} {}", told(&result, detection));
            }
            _ => {}
        });
        turned.context("the RIC is gone")?;
        if let Some(error) = failed {
            return Err(error);
        }
    }
    for asked in asked.values() {
        program::outln!("node={} no answer", asked.node);
    }
    match (sent, done) {
        (0, _) => bail!("no such node offers E2SM-RC; `ferric xapp kpm` shows the nodes"),
        (_, 0) => bail!("nothing was done"),
        _ => Ok(()),
    }
}

fn told(result: &e2::ControlOutcome, detection: Detection) -> String {
    match result {
        e2::ControlOutcome::Acknowledged(outcome) => format!("done{}", words(outcome.as_deref(), detection)),
        e2::ControlOutcome::Failed { cause, outcome } => {
            format!("refused: {cause}{}", words(outcome.as_deref(), detection))
        }
        e2::ControlOutcome::Sent => "sent".to_owned(),
        e2::ControlOutcome::TimedOut => "no answer".to_owned(),
        e2::ControlOutcome::NodeLost => "the node is gone".to_owned(),
        e2::ControlOutcome::Misuse(code) => format!("the RIC does not ask for this: {code:?}"),
        other => format!("{other:?}"),
    }
}

/// What an outcome tells.
fn words(outcome: Option<&[u8]>, detection: Detection) -> String {
    let Some(outcome) = outcome.filter(|outcome| !outcome.is_empty()) else { return String::new() };
    let arena = Arena::new();
    let Ok(outcome) = ControlOutcome::decode_in(outcome, detection.revision, detection.wire, &arena) else {
        return ", with an outcome that cannot be read".to_owned();
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
