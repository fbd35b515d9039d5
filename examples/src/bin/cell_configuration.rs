//! An xApp that limits the share of a slice in each cell, and prints the policies of the cells whenever they change.
//!
//! `cargo run -p ferric-examples --bin cell_configuration -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran`
//! running

use std::error::Error;

use e2sm::ccc::{
    ActionDefinition, ActionDefinitionFormat, CellControlled, CellForAction, CellForEventTrigger, ControlHeader,
    ControlHeaderFormat1, ControlMessage, ControlMessageFormat, ControlOutcome, EventTriggerDefinition,
    EventTriggerDefinitionFormat, IndicationMessage, OID, RanConfigurationStructure, RanFunctionDefinition, ReportType,
    ResourceType, RrmPolicyMember, RrmPolicyRatio, StructureControlled, StructureForAction, StructureForEventTrigger,
};
use e2sm::common::{SNssai, Sst};
use ferric::e2;
use ferric::e2::xapp::FunctionInfo;
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

const POLICY: &str = "O-RRMPolicyRatio";
/// The report and control style for cells.
const CELLS: i64 = 2;

/// The policies of every cell, now and after each change.
fn policies() -> Result<SubscriptionSpec, Box<dyn Error>> {
    let structures = vec![StructureForEventTrigger { name: POLICY.into(), attributes: None }];
    let cells = vec![CellForEventTrigger { cell_global_id: None, structures }];
    let trigger = EventTriggerDefinition { format: EventTriggerDefinitionFormat::CellLevelChange(cells) };
    let structure = StructureForAction { report_type: ReportType::All, name: POLICY.into(), attributes: None };
    let cells = vec![CellForAction { cell_global_id: None, structures: vec![structure] }];
    let action = ActionDefinition { ric_style_type: CELLS, format: ActionDefinitionFormat::CellLevel(cells) };
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    trigger.encode(&mut event_trigger)?;
    action.encode(&mut definition)?;
    let (id, kind) = (RicActionId(0), RicActionType::Report);
    Ok(SubscriptionSpec {
        event_trigger,
        actions: vec![Action { id, kind, definition: Some(definition), subsequent: None }],
    })
}

/// Returns header and message of a control that limits a slice to this share of the downlink PRBs in each cell.
fn bound(ccc: &FunctionInfo, sst: u8, max_percent: u8) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let member = RrmPolicyMember { plmn_id: None, snssai: Some(SNssai { sst: Sst([sst]), sd: None }) };
    let policy = RanConfigurationStructure::RrmPolicyRatio(RrmPolicyRatio {
        resource_type: Some(ResourceType::PrbDl),
        rrm_policy_member_list: Some(vec![member]),
        rrm_policy_max_ratio: Some(max_percent),
        ..RrmPolicyRatio::default()
    });
    // without old values, the control applies to these members' policy, or adds one
    let structure = StructureControlled { old_values: policy.only(|_| false), new_values: policy };
    let definition = RanFunctionDefinition::decode(&ccc.definition)?;
    let cells = definition
        .cells
        .ok_or("the node has no cells")?
        .into_iter()
        .map(|cell| CellControlled { cell_global_id: cell.cell_global_id, structures: vec![structure.clone()] });
    let message = ControlMessage { format: ControlMessageFormat::CellLevel(cells.collect()) };
    let (mut header, mut body) = (Vec::new(), Vec::new());
    ControlHeader { format: ControlHeaderFormat1 { ric_style_type: CELLS } }.encode(&mut header)?;
    message.encode(&mut body)?;
    Ok((header, body))
}

/// Passes a line for each outcome and report to `print`, until it returns `false`.
pub fn run(
    ric: &Address,
    sst: u8,
    max_percent: u8,
    mut print: impl FnMut(String) -> bool,
) -> Result<(), Box<dyn Error>> {
    let mut xapp = Xapp::connect(ric, "slice-bound", Default::default())?;
    let mut wanted = true;
    while wanted {
        xapp.poll(None, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let Some(ccc) = node.functions.iter().find(|function| function.oid == OID) else { return };
                match policies().and_then(|spec| Ok((spec, bound(ccc, sst, max_percent)?))) {
                    Ok((spec, (header, message))) => {
                        ric.subscribe(node.id, ccc.id, spec);
                        ric.control(node.id, ccc.id, &header, &message);
                    }
                    Err(error) => eprintln!("{}: {error}", node.global_id),
                }
            }
            XappEvent::Request(RequestEvent::Controlled {
                outcome: e2::ControlOutcome::Acknowledged(Some(outcome)),
                ..
            }) => {
                wanted &= match ControlOutcome::decode(&outcome) {
                    Ok(outcome) => print(format!("set: {:?}", outcome.format)),
                    Err(error) => print(format!("cannot decode an outcome: {error}")),
                };
            }
            XappEvent::Indication(indication) => {
                let Some(indication) = indication.peek() else { return };
                wanted &= match IndicationMessage::decode(indication.message) {
                    Ok(message) => print(format!("now: {:?}", message.format)),
                    Err(error) => print(format!("cannot decode a report: {error}")),
                };
            }
            other => eprintln!("{other:?}"),
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into()).parse()?;
    run(&ric, 1, 30, |line| {
        println!("{line}");
        true
    })
}
