//! Tests of the division of subscriptions and controls among parts, and of the merging of their reports and outcomes.

use std::collections::BTreeMap;

use e2sm::ccc::{
    ActionDefinition, ActionDefinitionFormat, AdministrativeState, AttributeName, Cause as Why, CellControlled,
    CellForAction, CellOutcome, CellReported, ChangeType, ControlHeader, ControlHeaderFormat1, ControlMessage,
    ControlMessageFormat, ControlOutcome, ControlOutcomeFormat, ControlService, ControlStyle, EventTriggerDefinition,
    EventTriggerDefinitionFormat, GnbCuCpFunction, GnbDuFunction, IndicationMessageFormat, NrCellCu, NrCellDu, OID,
    QueryService, QueryStyle, RanConfigurationStructure as Structure, RanFunctionDefinition, RanFunctionName,
    ReportType, RrmPolicyRatio, StructureAccepted, StructureControlled, StructureFailed, StructureForAction,
    StructureForEventTrigger, StructureReported, SupportedAttribute, SupportedCell, SupportedServices,
    SupportedStructure, TimeStamp,
};
use e2sm::common::{Cgi, NrCgi};
use ferric::agent::ControlFailure;
use ferric::e2::topology::Part;
use ferric::e2::{Action, ControlRequest, NodeId, RanFunction};
use ferric::e2ap::{
    Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType, RicRequestId,
};

use super::super::offers::ranked;
use super::*;
use crate::testing::A;

const CU: NodeId = NodeId(1);
const DUS: [NodeId; 2] = [NodeId(3), NodeId(4)];
const CELLS: [Cgi; 3] = [cell(1), cell(2), cell(9)];
const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const FAILED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

const fn cell(number: u64) -> Cgi {
    Cgi::NrCgi(NrCgi::new(A, number))
}

/// A structure on offer whose attributes can be set and queried.
fn structure(name: &str, attributes: &[&str]) -> SupportedStructure {
    let control = ControlStyle {
        style_type: 1,
        name: "x".to_owned(),
        header_format_type: 1,
        message_format_type: 1,
        call_process_id_format_type: None,
        control_outcome_format_type: 1,
    };
    let query = QueryStyle {
        style_type: 1,
        name: "x".to_owned(),
        header_format_type: 1,
        definition_format_type: 1,
        outcome_format_type: 1,
    };
    let attribute = |name: &&str| SupportedAttribute {
        name: (*name).to_owned(),
        supported_services: SupportedServices {
            control: Some(ControlService { styles: vec![control.clone()] }),
            query: Some(QueryService { styles: vec![query.clone()] }),
            ..SupportedServices::default()
        },
    };
    SupportedStructure { name: name.to_owned(), attributes: attributes.iter().map(attribute).collect() }
}

/// A CCC function with these structures of the node and of each of these cells.
fn function(of_node: &[SupportedStructure], cells: &[Cgi], of_cells: &[SupportedStructure]) -> RanFunction {
    let cell = |cell: &Cgi| SupportedCell { cell_global_id: *cell, structures: of_cells.to_vec() };
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: "x".to_owned(),
            service_model_oid: OID.to_owned(),
            description: "x".to_owned(),
            instance: None,
        },
        node_level: Some(of_node.to_vec()).filter(|list| !list.is_empty()),
        cells: Some(cells.iter().map(cell).collect()),
    };
    let mut octets = Vec::new();
    definition.encode(&mut octets).unwrap();
    RanFunction { id: RanFunctionId(4), revision: RanFunctionRevision(1), oid: OID.into(), definition: octets.into() }
}

/// A CU-CP with both cells, and two DUs with one each. `Both` is of CU-CP and DUs.
fn functions() -> [(Part, NodeId, RanFunction); 3] {
    let cu = function(
        &[structure("O-GNBCUCPFunction", &["gNBCUName"])],
        &CELLS[..2],
        &[structure("O-NRCellCU", &["cellLocalId"]), structure("Both", &["a", "b"])],
    );
    let du = |at: usize| {
        let of_cell = [structure("O-NRCellDU", &["administrativeState", "nRPCI"]), structure("Both", &["b", "c"])];
        function(&[structure("O-GNBDUFunction", &["gNBDUName"])], &CELLS[at..=at], &of_cell)
    };
    [(Part::Control, CU, cu), (Part::Du(1), DUS[0], du(0)), (Part::Du(2), DUS[1], du(1))]
}

fn update(parts: &mut CccParts, functions: &[(Part, NodeId, RanFunction)], shares_cu: bool) {
    parts.update(functions.iter().map(|(part, node, function)| (*part, *node, function)), shares_cu).unwrap();
}

fn parts() -> CccParts {
    let mut parts = CccParts::default();
    update(&mut parts, &functions(), false);
    parts
}

fn names(structures: &[SupportedStructure]) -> Vec<&str> {
    structures.iter().map(|structure| structure.name.as_str()).collect()
}

#[test]
fn definition_has_the_structures_of_all_parts() {
    let mut parts = parts();
    let octets = parts.definition().to_vec();
    let definition = RanFunctionDefinition::decode(&octets).unwrap();
    assert_eq!(names(definition.node_level.as_ref().unwrap()), ["O-GNBCUCPFunction", "O-GNBDUFunction"]);
    let cells = definition.cells.unwrap();
    assert_eq!(cells.iter().map(|cell| cell.cell_global_id).collect::<Vec<_>>(), CELLS[..2]);
    for cell in &cells {
        assert_eq!(names(&cell.structures), ["O-NRCellCU", "Both", "O-NRCellDU"]);
        let both = cell.structures[1].attributes.iter().map(|attribute| attribute.name.as_str());
        assert_eq!(both.collect::<Vec<_>>(), ["a", "b", "c"]);
        let services = &cell.structures[0].attributes[0].supported_services;
        assert!(services.control.is_some() && services.query.is_none(), "parts cannot be queried");
    }
    // a lost part stays in the definition
    update(&mut parts, &functions()[..1], false);
    assert_eq!((parts.definition(), parts.target(ranked(Part::Du(1)))), (&octets[..], None));
    // the CU-CP of several base stations has the cells of all
    let mut shared = CccParts::default();
    update(&mut shared, &functions()[..2], true);
    let definition = RanFunctionDefinition::decode(shared.definition()).unwrap();
    assert_eq!(names(definition.node_level.as_ref().unwrap()), ["O-GNBDUFunction"]);
    assert!(!shared.has(Part::Control, RanFunctionId(4)) && shared.has(Part::Du(1), RanFunctionId(4)));
    let malformed = RanFunction { definition: b"{}".to_vec().into(), ..functions()[0].2.clone() };
    assert!(CccParts::default().update([(Part::Control, CU, &malformed)].into_iter(), false).is_err());
}

fn of_action(name: &str, attributes: Option<&[&str]>) -> StructureForAction {
    let attribute = |name: &&str| AttributeName { name: (*name).to_owned() };
    let attributes = attributes.map(|names| names.iter().map(attribute).collect());
    StructureForAction { report_type: ReportType::All, name: name.to_owned(), attributes }
}

fn of_cells(cell_global_id: Option<Cgi>, structures: &[StructureForAction]) -> ActionDefinitionFormat {
    ActionDefinitionFormat::CellLevel(vec![CellForAction { cell_global_id, structures: structures.to_vec() }])
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>) -> Result<(), e2sm::ccc::JsonError>) -> Vec<u8> {
    let mut octets = Vec::new();
    encode(&mut octets).unwrap();
    octets
}

fn trigger_of(format: EventTriggerDefinitionFormat) -> Vec<u8> {
    encoded(|out| EventTriggerDefinition { format }.encode(out))
}

fn divide(parts: &CccParts, trigger: &[u8], format: ActionDefinitionFormat) -> Result<Split, Cause> {
    let definition = encoded(|out| ActionDefinition { ric_style_type: 2, format }.encode(out));
    let action =
        Action { id: RicActionId(7), kind: RicActionType::Report, definition: Some(definition), subsequent: None };
    plan::split(parts, &plan::trigger(parts, trigger)?, &action)
}

/// What each part is asked for: the cell, the structure, and its attributes.
type Asked = Vec<(Part, Vec<(Option<Cgi>, String, Vec<String>)>)>;

fn asked(split: &Split) -> Asked {
    let of_structure = |cell: Option<Cgi>, of: &StructureForAction| {
        let attributes = of.attributes.iter().flatten().map(|attribute| attribute.name.clone());
        (cell, of.name.clone(), attributes.collect())
    };
    let of_part = |part: &plan::PartAction| {
        let definition = ActionDefinition::decode(&part.definition).unwrap();
        assert_eq!(definition.ric_style_type, 2, "the style of the controller");
        let structures = match &definition.format {
            ActionDefinitionFormat::NodeLevel(structures) => {
                structures.iter().map(|structure| of_structure(None, structure)).collect()
            }
            ActionDefinitionFormat::CellLevel(cells) => {
                let of_cell = |cell: &CellForAction| {
                    let structures = cell.structures.iter();
                    structures.map(|of| of_structure(cell.cell_global_id, of)).collect::<Vec<_>>()
                };
                cells.iter().flat_map(of_cell).collect()
            }
        };
        (part.part.1, structures)
    };
    split.parts.iter().map(of_part).collect()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn action_is_divided_by_structure_and_cell() {
    let parts = parts();
    let period = trigger_of(EventTriggerDefinitionFormat::PeriodMs(100));
    let of = |cell, name: &str, attributes: &[&str]| (cell, name.to_owned(), strings(attributes));
    let of_node = [of_action("O-GNBDUFunction", None), of_action("O-GNBCUCPFunction", Some(&["gNBCUName"]))];
    let split = divide(&parts, &period, ActionDefinitionFormat::NodeLevel(of_node.to_vec())).unwrap();
    let of_du = of(None, "O-GNBDUFunction", &[]);
    assert_eq!(
        asked(&split),
        [
            (Part::Control, vec![of(None, "O-GNBCUCPFunction", &["gNBCUName"])]),
            (Part::Du(1), vec![of_du.clone()]),
            (Part::Du(2), vec![of_du]),
        ]
    );
    assert!(split.is_periodic && split.parts.iter().all(|part| part.event_trigger.is_none()));
    // a cell, of its DU
    let of_cell = of_cells(Some(CELLS[1]), &[of_action("O-NRCellDU", None), of_action("O-NRCellCU", None)]);
    assert_eq!(
        asked(&divide(&parts, &period, of_cell).unwrap()),
        [
            (Part::Control, vec![of(Some(CELLS[1]), "O-NRCellCU", &[])]),
            (Part::Du(2), vec![of(Some(CELLS[1]), "O-NRCellDU", &[])]),
        ]
    );
    // of several parts, each is asked for the attributes that it has
    let every = of_cells(None, &[of_action("Both", Some(&["a", "b"]))]);
    assert_eq!(
        asked(&divide(&parts, &period, every).unwrap()),
        [
            (Part::Control, vec![of(None, "Both", &["a", "b"])]),
            (Part::Du(1), vec![of(None, "Both", &["b"])]),
            (Part::Du(2), vec![of(None, "Both", &["b"])]),
        ]
    );
    let of_cu = of_cells(None, &[of_action("Both", Some(&["a"]))]);
    assert_eq!(asked(&divide(&parts, &period, of_cu).unwrap()).len(), 1);
}

#[test]
fn changes_are_reported_by_the_parts_that_see_them() {
    let parts = parts();
    let on_change = |names: &[&str]| {
        let structure = |name: &&str| StructureForEventTrigger { name: (*name).to_owned(), attributes: None };
        let structures = names.iter().map(structure).collect();
        let every = e2sm::ccc::CellForEventTrigger { cell_global_id: None, structures };
        trigger_of(EventTriggerDefinitionFormat::CellLevelChange(vec![every]))
    };
    let of_du = || of_cells(None, &[of_action("O-NRCellDU", None)]);
    let split = divide(&parts, &on_change(&["O-NRCellCU", "O-NRCellDU"]), of_du()).unwrap();
    let own = on_change(&["O-NRCellDU"]);
    assert!(split.parts.iter().all(|part| part.event_trigger.as_ref() == Some(&own)));
    assert_eq!((split.parts.len(), split.is_periodic), (2, false));
    // the DUs do not see changes of the CU-CP
    let not_supported = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    assert_eq!(divide(&parts, &on_change(&["O-NRCellCU"]), of_du()).unwrap_err(), not_supported);
}

#[test]
fn subscription_that_no_part_can_serve_is_refused() {
    let mut parts = parts();
    let period = trigger_of(EventTriggerDefinitionFormat::PeriodMs(100));
    let refused = |parts: &CccParts, format| divide(parts, &period, format).unwrap_err();
    let of_unknown = ActionDefinitionFormat::NodeLevel(vec![of_action("O-NRCellDU", None)]);
    assert_eq!(refused(&parts, of_unknown), UNAVAILABLE, "it is none of the node");
    let of_du = |at: usize| of_cells(Some(CELLS[at]), &[of_action("O-NRCellDU", None)]);
    assert_eq!(refused(&parts, of_du(2)), UNAVAILABLE, "the cell is unknown");
    assert_eq!(refused(&parts, of_cells(None, &[of_action("Both", Some(&["d"]))])), UNAVAILABLE);
    let syntax = Cause::Protocol(CauseProtocol::TransferSyntaxError);
    assert_eq!(divide(&parts, b"{", of_du(0)).unwrap_err(), syntax);
    update(&mut parts, &functions()[..2], false);
    assert_eq!(refused(&parts, of_du(1)), UNAVAILABLE, "its DU is lost");
    let of_every = divide(&parts, &period, of_cells(None, &[of_action("O-NRCellDU", None)])).unwrap();
    assert_eq!(of_every.parts.len(), 2, "a DU is asked when it is back");
}

fn name_of_cu(name: &str) -> Structure {
    Structure::GnbCuCpFunction(GnbCuCpFunction { gnb_cu_name: Some(name.to_owned()), ..GnbCuCpFunction::default() })
}

fn name_of_du(name: &str) -> Structure {
    Structure::GnbDuFunction(GnbDuFunction { gnb_du_name: Some(name.to_owned()), ..GnbDuFunction::default() })
}

fn cell_of_cu() -> Structure {
    Structure::NrCellCu(NrCellCu { cell_local_id: Some(1), ..NrCellCu::default() })
}

fn state(state: AdministrativeState) -> Structure {
    Structure::NrCellDu(NrCellDu { administrative_state: Some(state), ..NrCellDu::default() })
}

#[test]
fn reports_of_a_period_are_one_report() {
    let reported = |values: Structure| StructureReported { change_type: ChangeType::None, values, old_values: None };
    let of_cell = |at: usize, values: &[Structure]| CellReported {
        cell_global_id: CELLS[at],
        structures: values.iter().cloned().map(reported).collect(),
    };
    let locked = state(AdministrativeState::Locked);
    let of_cu = vec![of_cell(0, &[cell_of_cu()]), of_cell(1, &[cell_of_cu()])];
    let of_du = vec![of_cell(1, std::slice::from_ref(&locked))];
    let [cu, du] = [Part::Control, Part::Du(2)].map(ranked);
    let mut collector = Collector::default();
    let parts = || [cu, du].into_iter();
    assert!(collector.add(parts(), du, b"du", Some(IndicationMessageFormat::CellLevel(of_du))).is_none());
    assert!(collector.take_complete(parts(), |_| true).is_none(), "the CU-CP has not reported");
    assert!(collector.add(parts(), cu, b"cu", Some(IndicationMessageFormat::CellLevel(of_cu))).is_none());
    let (header, message) = merged(collector.take_complete(parts(), |_| true).unwrap()).unwrap();
    assert_eq!(header, b"cu");
    let all = vec![of_cell(0, &[cell_of_cu()]), of_cell(1, &[cell_of_cu(), locked])];
    assert_eq!(message.format, IndicationMessageFormat::CellLevel(all));
    // one that cannot be decoded, and one of another level
    let of_node = |name: &str| Some(IndicationMessageFormat::NodeLevel(vec![reported(name_of_cu(name))]));
    let pending = |reports: [Option<IndicationMessageFormat>; 2]| Pending {
        header: Some((cu, b"cu".to_vec())),
        reports: [cu, du].into_iter().zip(reports).collect::<BTreeMap<_, _>>(),
    };
    let (_, message) = merged(pending([None, of_node("a")])).unwrap();
    assert_eq!(Some(message.format), of_node("a"));
    let other = Some(IndicationMessageFormat::CellLevel(Vec::new()));
    assert_eq!(Some(merged(pending([of_node("a"), other])).unwrap().1.format), of_node("a"));
    assert!(merged(pending([None, None])).is_none());
}

fn controlled(old: Structure, new: Structure) -> StructureControlled {
    StructureControlled { old_values: old, new_values: new }
}

/// The same without old values.
fn set(new: Structure) -> StructureControlled {
    controlled(new.only(|_| false), new)
}

fn request(format: ControlMessageFormat) -> ControlRequest {
    let ric_style_type = if matches!(format, ControlMessageFormat::NodeLevel(_)) { 1 } else { 2 };
    ControlRequest {
        request_id: RicRequestId { requestor: 1, instance: 1 },
        ran_function_id: RanFunctionId(4),
        call_process_id: None,
        header: encoded(|out| ControlHeader { format: ControlHeaderFormat1 { ric_style_type } }.encode(out)),
        message: encoded(|out| ControlMessage { format }.encode(out)),
    }
}

fn of_cell(at: usize, structures: &[StructureControlled]) -> CellControlled {
    CellControlled { cell_global_id: CELLS[at], structures: structures.to_vec() }
}

/// The nodes that are asked, and the messages.
fn sent(divided: &DividedControl) -> Vec<(NodeId, ControlMessageFormat)> {
    let message = |octets: &[u8]| ControlMessage::decode(octets).unwrap().format;
    divided.parts.iter().map(|(node, _, octets)| (*node, message(octets))).collect()
}

fn accepted(structure: &StructureControlled) -> StructureAccepted {
    StructureAccepted {
        old_values: structure.old_values.clone(),
        current_values: structure.new_values.clone(),
        applied_timestamp: None,
    }
}

fn failed(structure: &StructureControlled, cause: Why) -> StructureFailed {
    let StructureControlled { old_values, new_values: requested_values } = structure.clone();
    StructureFailed { old_values, requested_values, cause }
}

fn outcome(format: ControlOutcomeFormat) -> Vec<u8> {
    encoded(|out| ControlOutcome { format }.encode(out))
}

fn of_node(accepted: &[StructureAccepted], failed: &[StructureFailed], received: Option<u8>) -> ControlOutcomeFormat {
    ControlOutcomeFormat::NodeLevel {
        received_timestamp: received.map(|second| TimeStamp([0, 0, 0, second, 0, 0, 0, 0])),
        accepted: Some(accepted.to_vec()).filter(|list| !list.is_empty()),
        failed: Some(failed.to_vec()).filter(|list| !list.is_empty()),
    }
}

fn outcome_of(composition: Composition) -> Result<ControlOutcomeFormat, (Cause, ControlOutcomeFormat)> {
    let format = |octets: Option<Vec<u8>>| ControlOutcome::decode(&octets.unwrap()).unwrap().format;
    composition.outcome().map(format).map_err(|failure| (failure.cause, format(failure.outcome)))
}

#[test]
fn control_is_divided_and_its_outcome_composed() {
    let parts = parts();
    let locked = set(state(AdministrativeState::Locked));
    let of_cu = set(cell_of_cu());
    let asked = [of_cell(0, &[of_cu.clone(), locked.clone()]), of_cell(1, std::slice::from_ref(&locked))];
    let divided = divide_control(&parts, &request(ControlMessageFormat::CellLevel(asked.to_vec()))).unwrap();
    let only = |at: usize, structure: &StructureControlled| {
        ControlMessageFormat::CellLevel(vec![of_cell(at, std::slice::from_ref(structure))])
    };
    assert_eq!(sent(&divided), [(CU, only(0, &of_cu)), (DUS[0], only(0, &locked)), (DUS[1], only(1, &locked))]);
    let mut composition = divided.composition;
    let of_one = |at: usize, accepted: Option<StructureAccepted>, failed: Option<StructureFailed>| CellOutcome {
        cell_global_id: CELLS[at],
        accepted: accepted.map(|one| vec![one]),
        failed: failed.map(|one| vec![one]),
    };
    let cells = |cells: Vec<CellOutcome>| ControlOutcomeFormat::CellLevel { received_timestamp: None, cells };
    let refused = outcome(cells(vec![of_one(0, None, Some(failed(&of_cu, Why::NotSupported)))]));
    composition.add(CU, &Err(ControlFailure { cause: FAILED, outcome: Some(refused) }));
    composition.add(DUS[0], &Ok(Some(outcome(cells(vec![of_one(0, Some(accepted(&locked)), None)])))));
    // the second DU is lost
    composition.add(DUS[1], &Err(FAILED.into()));
    let composed = cells(vec![
        of_one(0, Some(accepted(&locked)), Some(failed(&of_cu, Why::NotSupported))),
        of_one(1, None, Some(failed(&locked, Why::NotAvailable))),
    ]);
    assert_eq!(outcome_of(composition), Ok(composed));
}

#[test]
fn structure_of_several_parts_is_accepted_if_one_accepts_it() {
    let parts = parts();
    let names = [controlled(name_of_du("b"), name_of_du("north")), set(name_of_cu("south"))];
    let divided = divide_control(&parts, &request(ControlMessageFormat::NodeLevel(names.to_vec()))).unwrap();
    let only = |at: usize| ControlMessageFormat::NodeLevel(vec![names[at].clone()]);
    assert_eq!(sent(&divided), [(CU, only(1)), (DUS[0], only(0)), (DUS[1], only(0))]);
    let mut composition = divided.composition;
    let other = failed(&names[0], Why::IncompatibleState);
    composition.add(CU, &Ok(Some(outcome(of_node(&[accepted(&names[1])], &[], Some(3))))));
    let refused = outcome(of_node(&[], std::slice::from_ref(&other), Some(2)));
    composition.add(DUS[0], &Err(ControlFailure { cause: FAILED, outcome: Some(refused) }));
    // an acknowledgement without an outcome
    composition.add(DUS[1], &Ok(None));
    let all = [accepted(&names[0]), accepted(&names[1])];
    assert_eq!(outcome_of(composition), Ok(of_node(&all, &[], Some(2))));
    // none accepts it, and one answers with something else
    let request = request(ControlMessageFormat::NodeLevel(names[..1].to_vec()));
    let mut composition = divide_control(&parts, &request).unwrap().composition;
    let limit = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
    let refused = Some(outcome(of_node(&[], std::slice::from_ref(&other), None)));
    composition.add(DUS[0], &Err(ControlFailure { cause: limit, outcome: refused }));
    composition.add(DUS[1], &Ok(Some(b"{".to_vec())));
    let all = of_node(&[], &[other], None);
    assert_eq!(outcome_of(composition), Err((limit, all)));
}

#[test]
fn structure_without_a_part_fails() {
    let mut parts = parts();
    update(&mut parts, &functions()[..2], false);
    let cause_of = |format: ControlMessageFormat| {
        let divided = divide_control(&parts, &request(format)).unwrap();
        assert_eq!(sent(&divided), [], "nothing is sent");
        let (cause, outcome) = outcome_of(divided.composition).unwrap_err();
        assert_eq!(cause, FAILED);
        match outcome {
            ControlOutcomeFormat::NodeLevel { failed, .. } => failed.unwrap()[0].cause,
            ControlOutcomeFormat::CellLevel { cells, .. } => cells[0].failed.as_ref().unwrap()[0].cause,
        }
    };
    let locked = set(state(AdministrativeState::Locked));
    let in_cell = |at: usize| ControlMessageFormat::CellLevel(vec![of_cell(at, std::slice::from_ref(&locked))]);
    assert_eq!(cause_of(in_cell(1)), Why::NotAvailable, "its DU is lost");
    assert_eq!(cause_of(in_cell(2)), Why::NotAvailable, "the cell is unknown");
    assert_eq!(cause_of(ControlMessageFormat::NodeLevel(vec![locked.clone()])), Why::NotSupported);
    let name = ControlMessageFormat::NodeLevel(vec![set(name_of_du("north"))]);
    assert_eq!(cause_of(name), Why::SemanticError, "of which DU?");
    // what definitions leave out may be of either part with the cell
    let policy = set(Structure::RrmPolicyRatio(RrmPolicyRatio::default()));
    let unlisted = ControlMessageFormat::CellLevel(vec![of_cell(0, &[policy])]);
    let divided = divide_control(&parts, &request(unlisted)).unwrap();
    assert_eq!(sent(&divided).iter().map(|(node, _)| *node).collect::<Vec<_>>(), [CU, DUS[0]]);
}

#[test]
fn malformed_control_is_refused() {
    let parts = parts();
    let cause = |request: &ControlRequest| divide_control(&parts, request).unwrap_err().cause;
    let of_node = request(ControlMessageFormat::NodeLevel(vec![set(name_of_cu("a"))]));
    let of_cells = request(ControlMessageFormat::CellLevel(vec![of_cell(0, &[set(cell_of_cu())])]));
    let syntax = Cause::Protocol(CauseProtocol::TransferSyntaxError);
    assert_eq!(cause(&ControlRequest { message: b"{".to_vec(), ..of_node.clone() }), syntax);
    assert_eq!(cause(&ControlRequest { header: b"[]".to_vec(), ..of_node.clone() }), syntax);
    let other_style = ControlRequest { header: of_cells.header, ..of_node };
    assert_eq!(cause(&other_style), Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
}
