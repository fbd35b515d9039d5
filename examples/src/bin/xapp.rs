//! An xApp that prints the throughput and channel quality of every UE of every node.
//!
//! `cargo run -p ferric-examples --bin xapp -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran` running

use std::error::Error;

use e2sm::kpm::{
    Detection, EveryUe, IndicationMessage, MeasurementRequest, MeasurementType, RanFunctionDefinition, ReportRequest,
    Revision, Scope,
};
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{Xapp, XappEvent};

const KPM: RanFunctionId = RanFunctionId(2);

/// Two KPIs of every UE, in a report style that the node offers.
fn kpis_of_every_ue(node: &NodeInfo, period_ms: u32) -> Result<SubscriptionSpec, Box<dyn Error>> {
    let kpm = node.functions.iter().find(|function| function.id == KPM).ok_or("the node has no KPM function")?;
    let revision = Detection::from_ran_function(&kpm.oid, kpm.revision.0, &kpm.definition)?.revision;
    let offered = RanFunctionDefinition::decode_owned(&kpm.definition, revision)?;
    let measurements = &[MeasurementRequest::named("DRB.UEThpDl"), MeasurementRequest::named("CQI")];
    let scope = Scope::EveryUe(EveryUe::AnySignal);
    let request =
        ReportRequest { measurements, granularity_period_ms: period_ms, reporting_period_ms: period_ms, scope };
    let plan = request.plan(&offered, revision)?;
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    plan.trigger.encode(revision, &mut event_trigger)?;
    plan.action.encode(revision, &mut definition)?;
    let (id, kind) = (RicActionId(0), RicActionType::Report);
    Ok(SubscriptionSpec {
        event_trigger,
        actions: vec![Action { id, kind, definition: Some(definition), subsequent: None }],
    })
}

/// Passes a line for each value to `print`, until it returns `false`.
pub fn run(ric: &Address, period_ms: u32, mut print: impl FnMut(String) -> bool) -> Result<(), Box<dyn Error>> {
    let mut xapp = Xapp::connect(ric, "kpis", Default::default())?;
    let mut wanted = true;
    while wanted {
        xapp.poll(None, |event, ric| match event {
            XappEvent::NodeUp(node) => match kpis_of_every_ue(node, period_ms) {
                Ok(spec) => drop(ric.subscribe(node.id, KPM, spec)),
                Err(error) => eprintln!("{}: {error}", node.global_id),
            },
            XappEvent::Indication(indication) => {
                let Some(indication) = indication.peek() else { return };
                // the format of UE reports is the same in all revisions
                let Ok(message) = IndicationMessage::decode_owned(indication.message, Revision::V3_00) else { return };
                for row in message.rows(None) {
                    let (Some(ue), Some(MeasurementType::MeasName(name))) = (row.ue, row.measurement) else { continue };
                    wanted &= print(format!("{ue:?} {}: {:?}", &**name, row.value));
                }
            }
            other => eprintln!("{other:?}"),
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into()).parse()?;
    run(&ric, 1000, |line| {
        println!("{line}");
        true
    })
}
