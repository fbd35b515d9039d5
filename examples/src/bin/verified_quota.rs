//! An xApp that limits a slice with E2SM-RC and verifies the effect with E2SM-KPM: an acknowledgement is not yet an effect.
//!
//! `cargo run -p ferric-examples --bin verified_quota -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran` running

use std::error::Error;
use std::time::Duration;

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::kpm::{self, IndicationMessage, LabelInfoItem, MeasurementLabel, MeasurementRequest, ReportRequest, Scope};
use e2sm::rc::{self, Control, ControlAction, SlicePrbQuota};
use ferric::e2::xapp::{FunctionInfo, NodeInfo};
use ferric::e2::{Action, ControlOutcome, NodeId, SubscriptionId, SubscriptionSpec};
use ferric::e2ap::{RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{Indication, RequestEvent, Verdict, Verification, Xapp, XappEvent};

/// The PLMN of the emulated base stations.
const NETWORK: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
const SLICE: SNssai = SNssai { sst: Sst([1]), sd: None };
/// The time for the effect to show.
const WITHIN: Duration = Duration::from_secs(10);

/// A subscription to the share of the cell's downlink PRBs that the slice uses.
fn shares(period_ms: u32, kpm: &FunctionInfo) -> Result<SubscriptionSpec, Box<dyn Error>> {
    let revision = kpm::Detection::from_ran_function(&kpm.oid, kpm.revision.0, &kpm.definition)?.revision;
    let offered = kpm::RanFunctionDefinition::decode_owned(&kpm.definition, revision)?;
    let label = MeasurementLabel { slice_id: Some(SLICE), ..MeasurementLabel::default() };
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

/// The share in a report, in percent.
fn share_in(indication: &Indication<'_>) -> Option<f64> {
    // the format of cell reports is the same in all revisions
    let message = IndicationMessage::decode_owned(indication.peek()?.message, kpm::Revision::V3_00).ok()?;
    message.rows(None).find_map(|row| row.value.number())
}

/// The function of a node with that object identifier.
fn function<'n>(node: &'n NodeInfo, oids: &[&str]) -> Option<&'n FunctionInfo> {
    node.functions.iter().find(|function| oids.contains(&&*function.oid))
}

/// The quota, as the node describes it: an error names what does not fit.
fn quota(max_percent: u8, rc: &FunctionInfo) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let found = rc::Detection::from_ran_function(&rc.oid, rc.revision.0, &rc.definition)?;
    let offered = rc::RanFunctionDefinition::decode_owned(&rc.definition, found.revision)?;
    let quota = SlicePrbQuota::of_slice(NETWORK, SLICE, 0, max_percent);
    let control = Control::of_cell(ControlAction::SlicePrbQuota(quota));
    let control = control.encode_for(&offered, found.revision, found.wire)?;
    Ok((control.header, control.message))
}

/// Limits the slice after its first reports. Passes a line for each step to `print`, and returns the verdict.
pub fn run(
    ric: &Address,
    period_ms: u32,
    max_percent: u8,
    mut print: impl FnMut(String),
) -> Result<Verdict, Box<dyn Error>> {
    let mut xapp = Xapp::connect(ric, "verified-quota", Default::default())?;
    let mut ready: Option<(NodeId, SubscriptionId)> = None;
    let (mut is_sent, mut verdict, mut failure) = (false, None, None);
    while verdict.is_none() {
        xapp.poll(None, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let Some(kpm) = function(node, &kpm::OIDS) else { return };
                match shares(period_ms, kpm) {
                    Ok(spec) => drop(ric.subscribe(node.id, kpm.id, spec)),
                    Err(error) => failure = Some(error.to_string()),
                }
            }
            XappEvent::Indication(indication) if ready.is_none() => {
                let Some(share) = share_in(&indication) else { return };
                print(format!("the slice uses {share:.0} %"));
                ready = Some((indication.node, indication.subscription));
            }
            XappEvent::Request(RequestEvent::Controlled { outcome: ControlOutcome::Acknowledged(_), .. }) => {
                print("acknowledged".to_owned());
            }
            XappEvent::Request(RequestEvent::Controlled { outcome, .. }) => failure = Some(outcome.to_string()),
            XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => failure = Some(error.to_string()),
            XappEvent::Verified { verdict: reported, .. } => verdict = Some(reported),
            _ => {}
        })?;
        if let Some(failure) = failure.take() {
            return Err(failure.into());
        }
        let Some((id, subscription)) = ready.filter(|_| !is_sent) else { continue };
        let node = xapp.nodes().find(|node| node.id == id).ok_or("the node is lost")?;
        let rc = function(node, &[rc::OID]).ok_or("the node has no E2SM-RC")?;
        let (function, (header, message)) = (rc.id, quota(max_percent, rc)?);
        let verify = Verification::by_reports(subscription, WITHIN, move |indication| {
            share_in(indication).is_some_and(|share| share <= f64::from(max_percent))
        });
        xapp.commands().control_verified(id, function, &header, &message, verify)?;
        is_sent = true;
        print(format!("sent: at most {max_percent} %"));
    }
    let verdict = verdict.ok_or("no verdict")?;
    print(match verdict {
        Verdict::Confirmed { after } => format!("confirmed after {} ms", after.as_millis()),
        Verdict::Unchanged { reports } => format!("unchanged in {reports} reports"),
        _ => "unknown: no reports".to_owned(),
    });
    Ok(verdict)
}

fn main() -> Result<(), Box<dyn Error>> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into()).parse()?;
    run(&ric, 500, 20, |line| println!("{line}")).map(drop)
}
