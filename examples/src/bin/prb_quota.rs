//! An xApp that sets the PRB quota of a slice with E2SM-RC, and observes the effect with E2SM-KPM.
//!
//! `cargo run -p ferric-examples --bin prb_quota -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran` running

use std::error::Error;

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::kpm::{self, IndicationMessage, LabelInfoItem, MeasurementLabel, MeasurementRequest, ReportRequest, Scope};
use e2sm::rc::{self, Control, ControlAction, SlicePrbQuota};
use ferric::e2::ControlOutcome;
use ferric::e2::xapp::FunctionInfo;
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

/// The PLMN of the emulated base stations.
const NETWORK: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);

/// The share of the cell's downlink PRBs that a slice uses.
fn share_of(slice: SNssai, period_ms: u32, kpm: &FunctionInfo) -> Result<SubscriptionSpec, Box<dyn Error>> {
    let revision = kpm::Detection::from_ran_function(&kpm.oid, kpm.revision.0, &kpm.definition)?.revision;
    let offered = kpm::RanFunctionDefinition::decode_owned(&kpm.definition, revision)?;
    let label = MeasurementLabel { slice_id: Some(slice), ..MeasurementLabel::default() };
    let labels = &[LabelInfoItem { meas_label: label }];
    let measurements = &[MeasurementRequest { name: "RRU.PrbTotDl", labels }];
    let (granularity_period_ms, reporting_period_ms) = (period_ms, period_ms);
    let request = ReportRequest { measurements, granularity_period_ms, reporting_period_ms, scope: Scope::Node };
    let plan = request.plan(&offered, revision)?;
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    plan.trigger.encode(revision, &mut event_trigger)?;
    plan.action.encode(revision, &mut definition)?;
    let (id, kind) = (RicActionId(0), RicActionType::Report);
    let actions = vec![Action { id, kind, definition: Some(definition), subsequent: None }];
    Ok(SubscriptionSpec { event_trigger, actions })
}

/// The slice-level PRB quota: minimum and maximum in percent.
fn quota(slice: SNssai, (min, max): (u8, u8), rc: &FunctionInfo) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let rc::Detection { revision, wire, .. } =
        rc::Detection::from_ran_function(&rc.oid, rc.revision.0, &rc.definition)?;
    let offered = rc::RanFunctionDefinition::decode_owned(&rc.definition, revision)?;
    let quota = SlicePrbQuota::of_slice(NETWORK, slice, min, max);
    // fails, naming the parameter, if the node does not offer the control in this form
    let control = Control::of_cell(ControlAction::SlicePrbQuota(quota)).encode_for(&offered, revision, wire)?;
    Ok((control.header, control.message))
}

/// Passes a line for each report and answer to `print`, until it returns `false`. The quota is set after the first
/// reports.
pub fn run(
    ric: &Address,
    period_ms: u32,
    percent: (u8, u8),
    mut print: impl FnMut(String) -> bool,
) -> Result<(), Box<dyn Error>> {
    let slice = SNssai { sst: Sst([1]), sd: None };
    let mut xapp = Xapp::connect(ric, "prb-quota", Default::default())?;
    let (mut wanted, mut reports) = (true, 0);
    while wanted {
        let mut node_to_set = None;
        xapp.poll(None, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let kpm = node.functions.iter().find(|function| kpm::OIDS.contains(&&*function.oid));
                let Some(kpm) = kpm else { return eprintln!("{} has no KPM", node.global_id) };
                match share_of(slice, period_ms, kpm) {
                    Ok(spec) => drop(ric.subscribe(node.id, kpm.id, spec)),
                    Err(error) => eprintln!("{}: {error}", node.global_id),
                }
            }
            XappEvent::Indication(indication) => {
                let node = indication.node;
                let Some(indication) = indication.peek() else { return };
                // the format of cell reports is the same in all revisions
                let message = IndicationMessage::decode_owned(indication.message, kpm::Revision::V3_00);
                for share in message.iter().flat_map(|m| m.rows(None)).filter_map(|row| row.value.number()) {
                    reports += 1;
                    node_to_set = (reports == 5).then_some(node);
                    wanted &= print(format!("the slice uses {share} %"));
                }
            }
            XappEvent::Request(RequestEvent::Controlled { outcome: ControlOutcome::Acknowledged(_), .. }) => {
                wanted &= print(format!("the slice gets {} to {} %", percent.0, percent.1));
            }
            XappEvent::Request(RequestEvent::Controlled { outcome: result, .. }) => {
                eprintln!("quota refused: {result:?}")
            }
            other => eprintln!("{other:?}"),
        })?;
        let node = node_to_set.and_then(|id| xapp.nodes().find(|node| node.id == id));
        let rc = node.and_then(|node| Some((node.id, node.functions.iter().find(|f| f.oid == rc::OID)?)));
        if let Some((node, rc)) = rc {
            let (function, (header, message)) = (rc.id, quota(slice, percent, rc)?);
            xapp.commands().control(node, function, &header, &message);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into()).parse()?;
    run(&ric, 1000, (5, 20), |line| {
        println!("{line}");
        true
    })
}
