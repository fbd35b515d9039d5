//! The function in virtual time, on a node with a cell.

use std::borrow::Cow;
use std::time::Duration;

use e2sm::ccc::{
    AdministrativeState, Cause as Why, CellState, ChangeType, ControlMessage, ControlOutcome, ControlOutcomeFormat,
    GnbDuFunction, IndicationMessage, IndicationMessageFormat, IndicationReason, NrCellDu, RanConfigurationStructure,
    RanFunctionDefinition, ResourceType, RrmPolicyMember, RrmPolicyRatio, StructureReported,
};
use e2sm::common::{Cgi, NrCgi, PlmnIdentity, SNssai, Sst};
use ferric::agent::FunctionTransport;
use ferric::e2::{self, AgentMisuse};
use ferric::e2ap::{CauseProtocol, CauseRicRequest, GlobalRicId, RicActionId, RicActionType, RicRequestId};
use per::Bits;
use serde_json::{Value, json};

use super::*;
use crate::testing::ExclusiveSource;

const DU: &str = "O-GNBDUFunction";
const CELL: &str = "O-NRCellDU";
const RATIO: &str = "O-RRMPolicyRatio";

/// A DU with one cell, which two slices may share.
struct Du {
    offers: Vec<SupportedStructure>,
    changes: u64,
    name: String,
    admin: AdministrativeState,
    ratios: Vec<RrmPolicyRatio>,
}

fn cell(number: u64) -> Cgi {
    Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(number, 36) })
}

fn ratio(sst: u8, min: u8) -> RrmPolicyRatio {
    let member = RrmPolicyMember { plmn_id: None, snssai: Some(SNssai { sst: Sst([sst]), sd: None }) };
    RrmPolicyRatio {
        resource_type: Some(ResourceType::PrbDl),
        rrm_policy_member_list: Some(vec![member]),
        rrm_policy_min_ratio: Some(min),
        ..RrmPolicyRatio::default()
    }
}

/// A list that is built at run time.
fn offers() -> Vec<SupportedStructure> {
    let structure = |level, name: &str, attributes, key: &[&str]| SupportedStructure {
        level,
        name: name.to_owned().into(),
        attributes: Cow::Owned(attributes),
        key: key.iter().map(|name| (*name).to_owned().into()).collect(),
        is_listed: true,
    };
    let of_du = vec![SupportedAttribute::read_only("gNBDUId"), SupportedAttribute::writable("gNBDUName")];
    let of_cell = vec![SupportedAttribute::read_only("cellState"), SupportedAttribute::writable("administrativeState")];
    let of_ratio = vec![
        SupportedAttribute::writable("resourceType"),
        SupportedAttribute::writable("rRMPolicyMemberList"),
        SupportedAttribute::writable("rRMPolicyMinRatio"),
    ];
    vec![
        structure(ConfigLevel::Node, DU, of_du, &[]),
        structure(ConfigLevel::Cell, CELL, of_cell, &[]),
        structure(ConfigLevel::Cell, RATIO, of_ratio, &["resourceType", "rRMPolicyMemberList"]),
    ]
}

impl CccSource for Du {
    fn structures(&self) -> &[SupportedStructure] {
        &self.offers
    }

    fn cells(&self) -> Vec<Cgi> {
        vec![cell(1)]
    }

    fn change_count(&self) -> u64 {
        self.changes
    }

    fn read(&self, place: ConfigScope, name: &str) -> Vec<RanConfigurationStructure> {
        match (place, name) {
            (ConfigScope::Node, DU) => vec![RanConfigurationStructure::GnbDuFunction(GnbDuFunction {
                gnb_du_id: Some(7),
                gnb_du_name: Some(self.name.clone()),
                ..GnbDuFunction::default()
            })],
            (ConfigScope::Cell(_), CELL) => vec![RanConfigurationStructure::NrCellDu(NrCellDu {
                administrative_state: Some(self.admin),
                cell_state: Some(if self.admin == AdministrativeState::Locked {
                    CellState::Idle
                } else {
                    CellState::Active
                }),
                ..NrCellDu::default()
            })],
            (ConfigScope::Cell(_), RATIO) => {
                self.ratios.iter().cloned().map(RanConfigurationStructure::RrmPolicyRatio).collect()
            }
            other => panic!("not offered: {other:?}"),
        }
    }

    fn write(
        &mut self,
        _now: Time,
        _origin: ControllerId,
        place: ConfigScope,
        current: Option<&RanConfigurationStructure>,
        wanted: &RanConfigurationStructure,
    ) -> Result<(), Refusal> {
        assert_eq!(place == ConfigScope::Node, wanted.name() == DU);
        match wanted {
            RanConfigurationStructure::GnbDuFunction(du) => self.name = du.gnb_du_name.clone().unwrap(),
            RanConfigurationStructure::NrCellDu(cell) => self.admin = cell.administrative_state.unwrap(),
            RanConfigurationStructure::RrmPolicyRatio(ratio) => {
                let at = current.map(|current| {
                    let same = |r: &RrmPolicyRatio| RanConfigurationStructure::RrmPolicyRatio(r.clone()) == *current;
                    self.ratios.iter().position(same).unwrap()
                });
                let others = self.ratios.iter().enumerate().filter(|(i, _)| Some(*i) != at);
                let taken: u8 = others.map(|(_, ratio)| ratio.rrm_policy_min_ratio.unwrap()).sum();
                let min = ratio.rrm_policy_min_ratio.unwrap();
                if taken + min > 100 {
                    return Err(Refusal {
                        cause: Why::IncompatibleState,
                        attributes: vec!["rRMPolicyMinRatio".to_owned()],
                        reason: format!("{taken} % are taken, {min} % are wanted").into(),
                    });
                }
                match at {
                    Some(at) => self.ratios[at].rrm_policy_min_ratio = Some(min),
                    None => self.ratios.push(ratio.clone()),
                }
            }
            other => panic!("not writable: {other:?}"),
        }
        self.changes += 1;
        Ok(())
    }
}

const CONTROLLER: ControllerId = ControllerId(1);

#[derive(Default)]
struct Recorder(Vec<(u64, IndicationReason, IndicationMessage)>, u64);

impl FunctionTransport for Recorder {
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        assert_eq!((key.controller, action, call_process_id), (CONTROLLER, RicActionId(0), None));
        let header = IndicationHeader::decode(header).unwrap();
        assert_eq!(&header.format.event_time.0[..4], &[0xE8, 0xFE, 0x6F, 0x80]);
        self.0.push((self.1, header.format.indication_reason, IndicationMessage::decode(message).unwrap()));
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }
}

struct Bench {
    source: ExclusiveSource<Du>,
    function: CccFunction<ExclusiveSource<Du>>,
    views: Views,
    sent: Recorder,
}

impl Bench {
    fn new() -> Self {
        let ratios = vec![ratio(1, 30)];
        let du =
            Du { offers: offers(), changes: 0, name: "north".into(), admin: AdministrativeState::Unlocked, ratios };
        let source = ExclusiveSource::new(du);
        let function = CccFunction::new(source.clone(), CccConfig { max_actions: 3, ..CccConfig::default() })
            .with_wall_clock(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        Bench { source, function, views: Views::with_first(CONTROLLER), sent: Recorder::default() }
    }

    fn subscribe(&mut self, trigger: &Value, actions: &[Value]) -> Result<Admission, Cause> {
        let action = |(at, definition): (usize, &Value)| e2::Action {
            id: RicActionId(at as u8),
            kind: RicActionType::Report,
            definition: Some(definition.to_string().into_bytes()),
            subsequent: None,
        };
        let request = SubscriptionRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(4),
            event_trigger: trigger.to_string().into_bytes(),
            actions: actions.iter().enumerate().map(action).collect(),
            times: Default::default(),
        };
        self.function.subscribe(millis(0), CONTROLLER, &request, &self.views)
    }

    fn control(
        &mut self,
        style: i64,
        format: &Value,
    ) -> Result<ControlOutcomeFormat, (Cause, Option<ControlOutcomeFormat>)> {
        let request = ControlRequest {
            request_id: RicRequestId { requestor: 2, instance: 2 },
            ran_function_id: RanFunctionId(4),
            call_process_id: None,
            header: json!({ "controlHeaderFormat": { "ricStyleType": style } }).to_string().into_bytes(),
            message: json!({ "controlMessageFormat": format }).to_string().into_bytes(),
        };
        let mut reports = FunctionContext::new(&mut self.views, &mut self.sent);
        let outcome = |bytes: &[u8]| ControlOutcome::decode(bytes).unwrap().format;
        match self.function.control(millis(0), CONTROLLER, &request, &mut reports) {
            Ok(bytes) => Ok(outcome(&bytes.unwrap())),
            Err(failure) => Err((failure.cause, failure.outcome.map(|bytes| outcome(&bytes)))),
        }
    }

    /// Polls the function until this time, and returns the reports that it sent.
    fn until(&mut self, end_ms: u64) -> Vec<(u64, IndicationReason, IndicationMessage)> {
        while let Some(next) = self.function.next_report().filter(|next| *next <= millis(end_ms)) {
            self.sent.1 = next.as_nanos() / 1_000_000;
            self.function.report(next, &mut FunctionContext::new(&mut self.views, &mut self.sent));
        }
        std::mem::take(&mut self.sent.0)
    }
}

fn millis(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn on_change(name: &str, attributes: &[&str]) -> Value {
    let structure = json!({ "ranConfigurationStructureName": name, "listOfAttributes": attributes });
    if name == DU {
        let list = "listOfNodeLevelConfigurationStructuresForEventTrigger";
        return json!({ "eventTriggerDefinitionFormat": { list: [structure] } });
    }
    json!({ "eventTriggerDefinitionFormat": { "listOfCellLevelConfigurationStructuresForEventTrigger": [
        { "listOfRANConfigurationStructuresForEventTrigger": [structure] }] } })
}

fn periodic_subscription(period_ms: u32) -> Value {
    json!({ "eventTriggerDefinitionFormat": { "period": period_ms } })
}

fn of_node(report_type: &str) -> Value {
    json!({ "ricStyleType": 1, "actionDefinitionFormat": { "listOfNodeLevelRANConfigurationStructuresForADF": [
        { "reportType": report_type, "ranConfigurationStructureName": DU }] } })
}

fn of_cells(report_type: &str, names: &[&str]) -> Value {
    let structure = |name: &&str| json!({ "reportType": report_type, "ranConfigurationStructureName": name });
    let structures: Vec<_> = names.iter().map(structure).collect();
    json!({ "ricStyleType": 2, "actionDefinitionFormat": { "listOfCellConfigurationsToBeReportedForADF": [
        { "listOfCellLevelRANConfigurationStructuresForADF": structures }] } })
}

fn set(name: &str, old: &Value, new: &Value) -> Value {
    json!({
        "ranConfigurationStructureName": name,
        "oldValuesOfAttributes": { "ranConfigurationStructure": old },
        "newValuesOfAttributes": { "ranConfigurationStructure": new },
    })
}

fn on_cell(number: u64, structures: &[Value]) -> Value {
    let id = format!("{number:09X}");
    json!({ "listOfCellsControlled": [{
        "cellGlobalId": { "plmnIdentity": { "mcc": "001", "mnc": "01" }, "nRCellIdentity": id },
        "listOfConfigurationStructures": structures,
    }] })
}

fn structures(message: &IndicationMessage) -> &[StructureReported] {
    match &message.format {
        IndicationMessageFormat::NodeLevel(structures) => structures,
        IndicationMessageFormat::CellLevel(cells) => {
            assert_eq!(cells.len(), 1);
            assert_eq!(cells[0].cell_global_id, cell(1));
            &cells[0].structures
        }
    }
}

fn line(reported: &StructureReported) -> (ChangeType, Value, Option<Value>) {
    let old = reported.old_values.as_ref().map(|old| Value::Object(old.attributes()));
    (reported.change_type, Value::Object(reported.values.attributes()), old)
}

#[test]
fn definition_lists_supported_services() {
    let bench = Bench::new();
    let function = bench.function.definition();
    assert_eq!((function.id, function.oid.as_str()), (RanFunctionId(4), e2sm::ccc::OID));
    let definition = RanFunctionDefinition::decode(&function.definition).unwrap();
    let node = &definition.node_level.unwrap()[0];
    assert_eq!(node.name, DU);
    let can_be_set: Vec<_> = node.attributes.iter().map(|a| a.supported_services.control.is_some()).collect();
    assert_eq!(can_be_set, [false, true]);
    let cells = definition.cells.unwrap();
    assert_eq!(cells[0].cell_global_id, cell(1));
    assert_eq!(cells[0].structures.iter().map(|s| &*s.name).collect::<Vec<_>>(), [CELL, RATIO]);
}

#[test]
fn periodic_reports_start_at_once() {
    let mut bench = Bench::new();
    bench.subscribe(&periodic_subscription(200), &[of_node("all")]).unwrap();
    let whole = json!({ "gNBDUId": 7, "gNBDUName": "north" });
    let sent = bench.until(450);
    let times: Vec<_> = sent.iter().map(|(at, reason, _)| (*at, *reason)).collect();
    use IndicationReason::{Periodic, UponSubscription};
    assert_eq!(times, [(0, UponSubscription), (200, Periodic), (400, Periodic)]);
    for (_, _, message) in &sent {
        assert_eq!(structures(message).iter().map(line).collect::<Vec<_>>(), [(ChangeType::None, whole.clone(), None)]);
    }
    // a late poll sends no burst
    bench.function.report(millis(1050), &mut FunctionContext::new(&mut bench.views, &mut bench.sent));
    assert_eq!(bench.until(1190).len(), 1);
    assert_eq!(bench.function.next_report(), Some(millis(1200)));

    // what has changed only: nothing but the first, until something does
    let mut bench = Bench::new();
    bench.subscribe(&periodic_subscription(200), &[of_node("change")]).unwrap();
    assert_eq!(bench.until(900).len(), 1);
    bench.source.lock().name = "south".into();
    let sent = bench.until(1900);
    assert_eq!(sent.len(), 1);
    let modified = (ChangeType::Modification, json!({ "gNBDUName": "south" }), Some(json!({ "gNBDUName": "north" })));
    assert_eq!(structures(&sent[0].2).iter().map(line).collect::<Vec<_>>(), [modified]);
    let key = RequestKey { controller: CONTROLLER, id: RicRequestId { requestor: 1, instance: 1 } };
    bench.function.unsubscribe(key);
    assert_eq!(bench.function.next_report(), None);
}

#[test]
fn change_of_trigger_structure_is_reported() {
    let mut bench = Bench::new();
    bench.subscribe(&on_change(CELL, &["cellState"]), &[of_cells("change", &[CELL, RATIO])]).unwrap();
    let first = bench.until(0);
    assert_eq!(first.len(), 1);
    assert_eq!(structures(&first[0].2).len(), 2, "the cell, and a policy");
    assert_eq!(bench.function.next_report(), None);

    // something else changes: not worth a report
    let policy = json!({ "resourceType": "PRB_DL", "rRMPolicyMemberList": [{ "snssai": { "sst": 2 } }],
        "rRMPolicyMinRatio": 20 });
    bench.control(2, &on_cell(1, &[set(RATIO, &json!({}), &policy)])).unwrap();
    assert_eq!(bench.function.next_report(), Some(millis(0)), "to be looked at");
    assert_eq!(bench.until(10), []);
    // now the cell, and the policy with it
    bench.control(2, &on_cell(1, &[set(CELL, &json!({}), &json!({ "administrativeState": "LOCKED" }))])).unwrap();
    bench.source.lock().ratios.remove(0);
    let sent = bench.until(20);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1, IndicationReason::UponChange);
    let gone = json!({ "resourceType": "PRB_DL", "rRMPolicyMemberList": [{ "snssai": { "sst": 1 } }],
        "rRMPolicyMinRatio": 30 });
    let expected = [
        (
            ChangeType::Modification,
            json!({ "administrativeState": "LOCKED", "cellState": "IDLE" }),
            Some(json!({ "administrativeState": "UNLOCKED", "cellState": "ACTIVE" })),
        ),
        (ChangeType::Addition, policy, None),
        (ChangeType::Deletion, gone, None),
    ];
    assert_eq!(structures(&sent[0].2).iter().map(line).collect::<Vec<_>>(), expected);

    let mut bench = Bench::new();
    bench.subscribe(&on_change(DU, &["gNBDUName"]), &[of_node("all")]).unwrap();
    bench.until(0);
    let new = json!({ "gNBDUName": "south" });
    bench.control(1, &json!({ "listOfConfigurationStructures": [set(DU, &json!({}), &new)] })).unwrap();
    let sent = bench.until(0);
    let whole = json!({ "gNBDUId": 7, "gNBDUName": "south" });
    let modified = (ChangeType::Modification, whole, Some(json!({ "gNBDUName": "north" })));
    assert_eq!(structures(&sent[0].2).iter().map(line).collect::<Vec<_>>(), [modified]);
}

#[test]
fn control_outcome_lists_accepted_and_failed_structures() {
    let mut bench = Bench::new();
    let key = |sst: u8| json!({ "resourceType": "PRB_DL", "rRMPolicyMemberList": [{ "snssai": { "sst": sst } }] });
    let with = |mut value: Value, name: &str, number: u8| {
        value[name] = number.into();
        value
    };
    let min = |number: u8| json!({ "rRMPolicyMinRatio": number });
    let ControlOutcomeFormat::CellLevel { cells, received_timestamp } = bench
        .control(
            2,
            &on_cell(
                1,
                &[
                    // by the old values; by the key; a further one; too much; not what it was; which one; read-only;
                    // unknown; nothing
                    set(RATIO, &min(30), &min(40)),
                    set(RATIO, &json!({}), &with(key(1), "rRMPolicyMinRatio", 50)),
                    set(RATIO, &json!({}), &with(key(2), "rRMPolicyMinRatio", 50)),
                    set(RATIO, &key(2), &min(60)),
                    set(RATIO, &min(30), &min(10)),
                    set(RATIO, &json!({}), &min(10)),
                    set(CELL, &json!({}), &json!({ "administrativeState": "LOCKED", "cellState": "IDLE" })),
                    set("O-BWP", &json!({}), &json!({ "startRB": 1 })),
                    set(CELL, &json!({}), &json!({})),
                ],
            ),
        )
        .unwrap()
    else {
        panic!("of cells")
    };
    assert!(received_timestamp.is_some());
    let outcome = &cells[0];
    let accepted: Vec<_> = outcome.accepted.iter().flatten().collect();
    let values = |structure: &RanConfigurationStructure| Value::Object(structure.attributes());
    let were_set: Vec<_> = accepted.iter().map(|a| (values(&a.old_values), values(&a.current_values))).collect();
    let second = with(key(1), "rRMPolicyMinRatio", 50);
    let expected = [
        (min(30), min(40)),
        (with(key(1), "rRMPolicyMinRatio", 40), second),
        (json!({}), with(key(2), "rRMPolicyMinRatio", 50)),
    ];
    assert_eq!(were_set, expected);
    let failed: Vec<_> = outcome
        .failed
        .iter()
        .flatten()
        .map(|f| (f.cause, f.requested_values.name().to_owned(), values(&f.requested_values), values(&f.old_values)))
        .collect();
    let of = |cause, name: &str, at_fault: Value, old: Value| (cause, name.to_owned(), at_fault, old);
    let none = || json!({});
    let expected = [
        of(Why::IncompatibleState, RATIO, min(60), min(50)),
        of(Why::IncompatibleState, RATIO, min(10), none()),
        of(Why::SemanticError, RATIO, min(10), none()),
        of(Why::NotSupported, CELL, json!({ "cellState": "IDLE" }), none()),
        of(Why::NotSupported, "O-BWP", json!({ "startRB": 1 }), none()),
        of(Why::SemanticError, CELL, none(), none()),
    ];
    assert_eq!(failed, expected);
    assert_eq!(bench.source.lock().admin, AdministrativeState::Unlocked, "as a whole or not at all");

    // nothing of it: a failure
    let elsewhere = on_cell(2, &[set(CELL, &json!({}), &json!({ "administrativeState": "LOCKED" }))]);
    let (cause, outcome) = bench.control(2, &elsewhere).unwrap_err();
    assert_eq!(cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    let Some(ControlOutcomeFormat::CellLevel { cells, .. }) = outcome else { panic!("an outcome all the same") };
    assert_eq!(cells[0].failed.as_ref().unwrap()[0].cause, Why::NotAvailable);
}

#[test]
fn invalid_requests_are_refused_with_cause() {
    use CauseRicRequest::{
        ActionNotSupported, ControlMessageInvalid, EventTriggerNotSupported, FunctionResourceLimit,
        RequestedInformationUnavailable,
    };
    let request = Cause::RicRequest;
    let syntax = Cause::Protocol(CauseProtocol::TransferSyntaxError);
    let semantic = Cause::Protocol(CauseProtocol::SemanticError);
    let mut bench = Bench::new();
    let good = of_node("all");
    let mut other_style = good.clone();
    other_style["ricStyleType"] = json!(2);
    let mut no_style = good.clone();
    no_style["ricStyleType"] = json!(9);
    let mut attribute = good.clone();
    attribute["actionDefinitionFormat"]["listOfNodeLevelRANConfigurationStructuresForADF"][0]["listOfAttributes"] =
        json!([{ "attributeName": "gNBId" }]);
    let mut elsewhere = of_cells("all", &[CELL]);
    elsewhere["actionDefinitionFormat"]["listOfCellConfigurationsToBeReportedForADF"][0]["cellGlobalId"] =
        json!({ "plmnIdentity": { "mcc": "001", "mnc": "01" }, "nRCellIdentity": "000000002" });
    for (trigger, action, cause) in [
        (json!({}), good.clone(), syntax),
        (periodic_subscription(99), good.clone(), request(EventTriggerNotSupported)),
        (on_change(DU, &["gNBId"]), good.clone(), request(RequestedInformationUnavailable)),
        (on_change("O-BWP", &["startRB"]), good.clone(), request(RequestedInformationUnavailable)),
        (periodic_subscription(100), json!({ "ricStyleType": 1 }), syntax),
        (periodic_subscription(100), other_style, semantic),
        (periodic_subscription(100), no_style, request(ActionNotSupported)),
        (periodic_subscription(100), attribute, request(RequestedInformationUnavailable)),
        (periodic_subscription(100), of_cells("all", &["O-BWP"]), request(RequestedInformationUnavailable)),
        (periodic_subscription(100), of_cells("all", &[CELL; 257]), request(FunctionResourceLimit)),
        (periodic_subscription(100), elsewhere, request(RequestedInformationUnavailable)),
    ] {
        assert_eq!(bench.subscribe(&trigger, std::slice::from_ref(&action)), Err(cause), "{trigger} {action}");
        if let Ok(admission) = bench.subscribe(&periodic_subscription(100), &[good.clone(), action]) {
            assert_eq!(admission.not_admitted.len(), usize::from(trigger == periodic_subscription(100)));
        }
        let key = RequestKey { controller: CONTROLLER, id: RicRequestId { requestor: 1, instance: 1 } };
        bench.function.unsubscribe(key);
    }
    let admission =
        bench.subscribe(&periodic_subscription(100), &[good.clone(), good.clone(), good.clone(), good]).unwrap();
    assert_eq!(admission.not_admitted, [(RicActionId(3), request(FunctionResourceLimit))]);

    let locked = on_cell(1, &[set(CELL, &json!({}), &json!({ "administrativeState": "LOCKED" }))]);
    assert_eq!(bench.control(1, &locked).unwrap_err(), (request(ControlMessageInvalid), None));
    assert_eq!(bench.control(2, &json!({ "listOfCellsControled": [] })).unwrap_err(), (syntax, None));
    let bad = on_cell(1, &[set(CELL, &json!({}), &json!({ "administrativeState": "OPEN" }))]);
    assert!(ControlMessage::decode(json!({ "controlMessageFormat": bad.clone() }).to_string().as_bytes()).is_err());
    assert_eq!(bench.control(2, &bad).unwrap_err(), (syntax, None));
}

#[test]
fn query_returns_current_values() {
    use e2sm::ccc::{QueryOutcome, QueryOutcomeFormat};
    let mut bench = Bench::new();
    let mut ask = |style: i64, format: Value| {
        let request = e2::QueryRequest {
            request_id: RicRequestId { requestor: 3, instance: 3 },
            ran_function_id: RanFunctionId(4),
            header: json!({ "queryHeaderFormat": { "ricStyleType": style } }).to_string().into_bytes(),
            definition: json!({ "queryDefinitionFormat": format }).to_string().into_bytes(),
        };
        bench.function.query(millis(0), CONTROLLER, &request, &bench.views)
    };
    let node = |attribute: &str| {
        json!({ "listOfNodelevelRanConfigurationStructuresForQuery": [
            { "ranConfigurationStructureName": DU, "listOfAttributes": [{ "attributeName": attribute }] }] })
    };
    let QueryOutcomeFormat::NodeLevel(queried) =
        QueryOutcome::decode(&ask(1, node("gNBDUName")).unwrap()).unwrap().format
    else {
        panic!("of the node")
    };
    assert_eq!(Value::Object(queried[0].0.attributes()), json!({ "gNBDUName": "north" }));
    let cells = json!({ "listOfCellsToBeQueriedForQuery": [{ "listOfCelllevelConfigurationStructuresForQuery": [
        { "ranConfigurationStructureName": CELL }, { "ranConfigurationStructureName": RATIO }] }] });
    let QueryOutcomeFormat::CellLevel(queried) = QueryOutcome::decode(&ask(2, cells.clone()).unwrap()).unwrap().format
    else {
        panic!("of cells")
    };
    assert_eq!((queried.len(), queried[0].cell_global_id, queried[0].structures.len()), (1, cell(1), 2));
    let unavailable = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
    assert_eq!(ask(1, node("gNBId")), Err(unavailable));
    assert_eq!(ask(1, cells), Err(Cause::Protocol(CauseProtocol::SemanticError)));
    assert_eq!(ask(1, json!({})), Err(Cause::Protocol(CauseProtocol::TransferSyntaxError)));
}

/// What the definition does not list for its size: a structure, and periodic reports of an attribute.
#[test]
fn unlisted_structure_and_period_are_accepted() {
    let mut bench = Bench::new();
    {
        let mut source = bench.source.lock();
        source.offers[1].is_listed = false;
        let attributes = vec![
            SupportedAttribute::read_only("cellState").shortened(),
            SupportedAttribute::set_only("administrativeState"),
        ];
        source.offers[1].attributes = Cow::Owned(attributes);
    }
    let definition = RanFunctionDefinition::decode(&bench.function.definition().definition).unwrap();
    let cell = &definition.cells.as_ref().unwrap()[0];
    assert!(cell.structures.iter().all(|structure| structure.name != CELL), "{cell:?}");
    bench.subscribe(&periodic_subscription(200), &[of_cells("all", &[CELL])]).unwrap();
    let sent = bench.until(0);
    let reported: Vec<_> = structures(&sent[0].2).iter().map(line).collect();
    assert_eq!(reported, [(ChangeType::None, json!({ "cellState": "ACTIVE" }), None)]);
}

#[test]
fn attributes_without_a_service_are_not_offered_for_it() {
    let mut bench = Bench::new();
    let of_cell = vec![
        SupportedAttribute::read_only("cellState").shortened(),
        SupportedAttribute::set_only("administrativeState"),
    ];
    bench.source.lock().offers[1].attributes = Cow::Owned(of_cell);
    let definition = RanFunctionDefinition::decode(&bench.function.definition().definition).unwrap();
    let cell = &definition.cells.as_ref().unwrap()[0].structures[0];
    let services = |attribute: &e2sm::ccc::SupportedAttribute| {
        let services = &attribute.supported_services;
        (
            services.event_trigger.is_some(),
            services.report.is_some(),
            services.control.is_some(),
            services.query.is_some(),
        )
    };
    let offered: Vec<_> = cell.attributes.iter().map(services).collect();
    assert_eq!(offered, [(true, true, false, false), (false, false, true, false)]);
    // all attributes are those that can be reported
    bench.subscribe(&periodic_subscription(200), &[of_cells("all", &[CELL])]).unwrap();
    let sent = bench.until(0);
    let reported: Vec<_> = structures(&sent[0].2).iter().map(line).collect();
    assert_eq!(reported, [(ChangeType::None, json!({ "cellState": "ACTIVE" }), None)]);
    // one that cannot is refused
    let refused = bench.subscribe(&on_change(CELL, &["administrativeState"]), &[of_cells("all", &[CELL])]);
    assert!(refused.is_err());
}
