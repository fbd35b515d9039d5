use e2sm::ccc::{
    AdministrativeState, AttributeName, CellForEventTrigger, CellReported, ChangeType, ControlHeaderFormat1,
    ControlService, ControlStyle, EventTriggerStyleType, GnbCuUpFunction, NrCellDu, QueryService, QueryStyle,
    RanFunctionName, ReportService, ReportStyle, ResourceType, RrmPolicyMember, StructureAccepted,
    StructureForEventTrigger, SupportedAttribute, SupportedCell, SupportedServices,
};
use e2sm::common::{NrCgi, PlmnIdentity, SNssai, Sst};
use ferric::e2ap::{RanFunctionId, RicRequestId};

use super::*;
use crate::testing::{A, B, station};

fn cell(plmn: PlmnIdentity) -> Cgi {
    Cgi::NrCgi(NrCgi::new(plmn, 7))
}

fn policy(plmn: Option<PlmnIdentity>, sst: u8, min: u8, max: u8) -> RrmPolicyRatio {
    let member = RrmPolicyMember { plmn_id: plmn, snssai: Some(SNssai { sst: Sst([sst]), sd: None }) };
    RrmPolicyRatio {
        resource_type: Some(ResourceType::PrbDl),
        rrm_policy_member_list: Some(vec![member]),
        rrm_policy_max_ratio: Some(max),
        rrm_policy_min_ratio: Some(min),
        rrm_policy_dedicated_ratio: Some(0),
    }
}

fn set(old: RrmPolicyRatio, new: RrmPolicyRatio) -> StructureControlled {
    StructureControlled { old_values: Structure::RrmPolicyRatio(old), new_values: Structure::RrmPolicyRatio(new) }
}

fn add(new: RrmPolicyRatio) -> StructureControlled {
    set(RrmPolicyRatio::default(), new)
}

fn request(cell_global_id: Cgi, structures: Vec<StructureControlled>) -> ControlRequest {
    let mut header = Vec::new();
    let format = ControlHeaderFormat1 { ric_style_type: e2sm::ccc::CELL_STYLE };
    ControlHeader { format }.encode(&mut header).unwrap();
    ControlRequest {
        request_id: RicRequestId { requestor: 1, instance: 1 },
        ran_function_id: RanFunctionId(4),
        call_process_id: None,
        header,
        message: encoded(vec![CellControlled { cell_global_id, structures }]).unwrap(),
    }
}

/// The cells and structures that the base station gets.
fn pass(
    node: &NodeState,
    tenant: usize,
    request: &ControlRequest,
) -> Result<(Vec<CellControlled>, CellPolicies), ControlFailure> {
    let passed = control(tenant, node, ControllerId(0), request)?;
    let ControlMessageFormat::CellLevel(cells) = ControlMessage::decode(&passed.message).unwrap().format else {
        panic!()
    };
    let Effect::CellPolicies(policies) = passed.effect else { panic!("{:?}", passed.effect) };
    Ok((cells, policies))
}

/// The causes of the structures in the outcome of a refusal.
fn causes(failure: &ControlFailure) -> Vec<Why> {
    let outcome = ControlOutcome::decode(failure.outcome.as_deref().expect("an outcome")).unwrap();
    match outcome.format {
        ControlOutcomeFormat::NodeLevel { failed, .. } => failed.iter().flatten().map(|failed| failed.cause).collect(),
        ControlOutcomeFormat::CellLevel { cells, .. } => {
            cells.iter().flat_map(|cell| cell.failed.iter().flatten()).map(|failed| failed.cause).collect()
        }
    }
}

#[test]
fn policy_is_a_part_of_the_share_and_names_the_network() {
    let node = station();
    // the cell has the PLMN of the tenant in its network
    let (cells, policies) = pass(&node, 1, &request(cell(B), vec![add(policy(None, 1, 60, 100))])).unwrap();
    let structures = vec![add(policy(Some(B), 1, 30, 100))];
    assert_eq!(cells, [CellControlled { cell_global_id: cell(A), structures }]);
    assert_eq!(policies.physical(0.5), [(cell(A), policy(Some(B), 1, 30, 100))]);
}

#[test]
fn policy_is_changed_by_its_old_values() {
    let mut node = station();
    (_, node.tenants[0].cell_policies) =
        pass(&node, 0, &request(cell(A), vec![add(policy(Some(A), 1, 60, 100))])).unwrap();
    let lower = RrmPolicyRatio { rrm_policy_min_ratio: Some(20), ..RrmPolicyRatio::default() };
    let changed = set(policy(Some(A), 1, 60, 100), lower.clone());
    let (cells, _) = pass(&node, 0, &request(cell(A), vec![changed])).unwrap();
    assert_eq!(cells[0].structures[0].new_values, Structure::RrmPolicyRatio(policy(Some(A), 1, 10, 100)));
    let outdated = set(policy(Some(A), 1, 50, 100), lower);
    let failure = pass(&node, 0, &request(cell(A), vec![outdated])).unwrap_err();
    assert_eq!(causes(&failure), [Why::IncompatibleState]);
}

#[test]
fn controls_beyond_the_virtual_cell_are_refused_with_the_cause_of_each_structure() {
    let locked = NrCellDu { administrative_state: Some(AdministrativeState::Locked), ..NrCellDu::default() };
    let lock = StructureControlled {
        old_values: Structure::NrCellDu(NrCellDu::default()),
        new_values: Structure::NrCellDu(locked),
    };
    let of_nobody = RrmPolicyRatio { rrm_policy_member_list: None, ..policy(None, 1, 1, 2) };
    let failed = CauseRicRequest::ControlFailedToExecute;
    let cases = [
        (vec![add(policy(Some(B), 1, 10, 100))], failed, vec![Why::NotAvailable]),
        (vec![lock], failed, vec![Why::NotSupported]),
        (vec![add(of_nobody)], failed, vec![Why::SemanticError]),
        (vec![add(policy(None, 1, 60, 50))], failed, vec![Why::SemanticError]),
        (
            vec![add(policy(None, 1, 60, 100)), add(policy(None, 2, 41, 100))],
            CauseRicRequest::FunctionResourceLimit,
            vec![Why::Unspecified, Why::IncompatibleState],
        ),
    ];
    for (structures, cause, whys) in cases {
        let failure = pass(&station(), 0, &request(cell(A), structures)).unwrap_err();
        assert_eq!((failure.cause, causes(&failure)), (Cause::RicRequest(cause), whys));
    }
}

/// Otherwise the policies of one tenant would keep the base station from giving the others their slices.
#[test]
fn policies_are_refused_beside_slices() {
    let node = NodeState { has_slices: true, ..station() };
    let failure = pass(&node, 0, &request(cell(A), vec![add(policy(None, 1, 60, 100))])).unwrap_err();
    assert_eq!(causes(&failure), [Why::IncompatibleState]);
}

/// The outcome has the values of the tenant, and only what the base station accepts is in effect.
#[test]
fn outcome_is_that_of_the_virtual_cell() {
    let node = station();
    let asked = [policy(Some(A), 1, 60, 80), policy(Some(A), 2, 40, 100)];
    let structures = asked.iter().cloned().map(add).collect();
    let (cells, next) = pass(&node, 0, &request(cell(A), structures)).unwrap();
    let [accepted, refused] = &cells[0].structures[..] else { panic!("{cells:?}") };
    let nothing = || Structure::RrmPolicyRatio(RrmPolicyRatio::default());
    let accepted = StructureAccepted {
        old_values: nothing(),
        current_values: accepted.new_values.clone(),
        applied_timestamp: None,
    };
    let refused = StructureFailed {
        old_values: nothing(),
        requested_values: refused.new_values.clone(),
        cause: Why::IncompatibleState,
    };
    let of_cell = CellOutcome { cell_global_id: cell(A), accepted: Some(vec![accepted]), failed: Some(vec![refused]) };
    let format = ControlOutcomeFormat::CellLevel { received_timestamp: None, cells: vec![of_cell] };
    let mut octets = Vec::new();
    ControlOutcome { format }.encode(&mut octets).unwrap();

    let to_tenant = |tenant| CellPlmn::to_tenant(&node, tenant);
    let (translated, now) = outcome(&octets, &CellPolicies::default(), &next, to_tenant(0));
    let translated = ControlOutcome::decode(&translated.unwrap()).unwrap();
    let ControlOutcomeFormat::CellLevel { cells, .. } = translated.format else { panic!() };
    let accepted = &cells[0].accepted.as_ref().unwrap()[0].current_values;
    assert_eq!(*accepted, Structure::RrmPolicyRatio(asked[0].clone()));
    let refused = &cells[0].failed.as_ref().unwrap()[0].requested_values;
    assert_eq!(*refused, Structure::RrmPolicyRatio(asked[1].clone()));
    assert_eq!(cells[0].cell_global_id, cell(A));
    assert_eq!(now.physical(1.0), [(cell(A), asked[0].clone())]);
    // a tenant of another PLMN knows the cell by this one
    let (translated, _) = outcome(&octets, &CellPolicies::default(), &next, to_tenant(1));
    let translated = ControlOutcome::decode(&translated.unwrap()).unwrap();
    let ControlOutcomeFormat::CellLevel { cells, .. } = translated.format else { panic!() };
    assert_eq!(cells[0].cell_global_id, cell(B));
}

fn reported(values: Structure) -> StructureReported {
    StructureReported { change_type: ChangeType::None, values, old_values: None }
}

fn report(structures: Vec<Structure>) -> Vec<u8> {
    let structures = structures.into_iter().map(reported).collect();
    let mut out = Vec::new();
    let format = IndicationMessageFormat::CellLevel(vec![CellReported { cell_global_id: cell(A), structures }]);
    IndicationMessage { format }.encode(&mut out).unwrap();
    out
}

fn received(node: &NodeState, tenant: usize, message: &[u8]) -> Vec<Structure> {
    let mut out = Vec::new();
    let report = IndicationMessage::decode(message).unwrap();
    match partition(node, tenant, &report, &mut out).unwrap() {
        Content::Nothing => return Vec::new(),
        content => assert_eq!(content, Content::Written),
    }
    match IndicationMessage::decode(&out).unwrap().format {
        IndicationMessageFormat::CellLevel(cells) => {
            assert!(cells.iter().all(|of| of.cell_global_id == cell([A, B][tenant])), "{cells:?}");
            cells.into_iter().flat_map(|cell| cell.structures).map(|structure| structure.values).collect()
        }
        IndicationMessageFormat::NodeLevel(all) => all.into_iter().map(|structure| structure.values).collect(),
    }
}

#[test]
fn report_has_own_policies_and_networks() {
    let mut node = station();
    for (tenant, plmn) in [A, B].into_iter().enumerate() {
        (_, node.tenants[tenant].cell_policies) =
            pass(&node, tenant, &request(cell(plmn), vec![add(policy(None, 1, 60, 100))])).unwrap();
    }
    let info = |plmn| PlmnInfo { plmn_id: Some(plmn), snssai: None };
    let cell_du = |plmns: &[PlmnIdentity]| {
        let plmn_info_list = Some(plmns.iter().copied().map(info).collect());
        Structure::NrCellDu(NrCellDu { plmn_info_list, nr_pci: Some(3), ..NrCellDu::default() })
    };
    let relation = Structure::NrCellRelation(e2sm::ccc::NrCellRelation::default());
    let policies = [A, B].map(|plmn| Structure::RrmPolicyRatio(policy(Some(plmn), 1, 30, 100)));
    let message = report([&policies[..], &[cell_du(&[A, B]), relation]].concat());
    for (tenant, plmn) in [A, B].into_iter().enumerate() {
        let own = [Structure::RrmPolicyRatio(policy(Some(plmn), 1, 60, 100)), cell_du(&[plmn])];
        assert_eq!(received(&node, tenant, &message), own);
    }
    assert_eq!(received(&node, 0, &report(vec![policies[1].clone()])), []);
    // of the node
    let function = |plmns: &[PlmnIdentity]| {
        let plmn_info_list = Some(plmns.iter().copied().map(info).collect());
        Structure::GnbCuUpFunction(GnbCuUpFunction { plmn_info_list, ..GnbCuUpFunction::default() })
    };
    let mut of_node = Vec::new();
    let format = IndicationMessageFormat::NodeLevel(vec![reported(function(&[A, B]))]);
    IndicationMessage { format }.encode(&mut of_node).unwrap();
    assert_eq!(received(&node, 1, &of_node), [function(&[B])]);
}

#[test]
fn definition_offers_controls_of_policies_only() {
    let services = || SupportedServices {
        report: Some(ReportService {
            styles: vec![ReportStyle {
                style_type: 2,
                name: "cells".to_owned(),
                event_trigger_styles: vec![EventTriggerStyleType { style_type: 3 }],
                action_definition_format_type: 2,
                indication_header_format_type: 1,
                indication_message_format_type: 2,
            }],
        }),
        control: Some(ControlService {
            styles: vec![ControlStyle {
                style_type: 2,
                name: "cells".to_owned(),
                header_format_type: 1,
                message_format_type: 2,
                call_process_id_format_type: None,
                control_outcome_format_type: 2,
            }],
        }),
        query: Some(QueryService {
            styles: vec![QueryStyle {
                style_type: 2,
                name: "cells".to_owned(),
                header_format_type: 1,
                definition_format_type: 2,
                outcome_format_type: 2,
            }],
        }),
        ..SupportedServices::default()
    };
    let structure = |name: &str| SupportedStructure {
        name: name.to_owned(),
        attributes: vec![SupportedAttribute { name: "any".to_owned(), supported_services: services() }],
    };
    let names = ["O-NRCellDU", "O-RRMPolicyRatio", "O-NRCellRelation", "O-CESManagementFunction"];
    let structures = names.map(structure).into();
    let ran_function_name = RanFunctionName {
        short_name: e2sm::ccc::SHORT_NAME.to_owned(),
        service_model_oid: e2sm::ccc::OID.to_owned(),
        description: "cells".to_owned(),
        instance: None,
    };
    let cells = Some(vec![SupportedCell { cell_global_id: cell(A), structures }]);
    let mut definition = Vec::new();
    RanFunctionDefinition { ran_function_name, node_level: None, cells }.encode(&mut definition).unwrap();
    let offered = RanFunctionDefinition::decode(&offered_definition(&definition).unwrap()).unwrap();
    let cells = offered.cells.unwrap();
    assert_eq!(cells[0].cell_global_id, cell(A));
    let node = station();
    let of_b = definition_for(CellPlmn::to_tenant(&node, 1), &offered_definition(&definition).unwrap()).unwrap();
    let of_b = RanFunctionDefinition::decode(&of_b).unwrap().cells.unwrap();
    assert_eq!((of_b[0].cell_global_id, of_b[0].structures.len()), (cell(B), cells[0].structures.len()));
    let all = cells[0].structures.iter().map(|structure| {
        let services = &structure.attributes[0].supported_services;
        assert!(services.query.is_none() && services.report.is_some(), "{structure:?}");
        (&*structure.name, services.control.is_some())
    });
    assert_eq!(all.collect::<Vec<_>>(), [("O-NRCellDU", false), ("O-RRMPolicyRatio", true)]);
}

#[test]
fn subscription_names_what_identifies_policies() {
    let spec = |name: &str, attributes: &[&str]| {
        let attributes = attributes.iter().map(|name| AttributeName { name: (*name).to_owned() }).collect();
        let structure = e2sm::ccc::StructureForAction {
            report_type: e2sm::ccc::ReportType::All,
            name: name.to_owned(),
            attributes: Some(attributes),
        };
        let cell = e2sm::ccc::CellForAction { cell_global_id: None, structures: vec![structure] };
        let mut definition = Vec::new();
        ActionDefinition { ric_style_type: 2, format: ActionDefinitionFormat::CellLevel(vec![cell]) }
            .encode(&mut definition)
            .unwrap();
        let action = ferric::e2::Action {
            id: ferric::e2ap::RicActionId(1),
            kind: ferric::e2ap::RicActionType::Report,
            definition: Some(definition),
            subsequent: None,
        };
        SubscriptionSpec { event_trigger: Vec::new(), actions: vec![action] }
    };
    let mut asked = spec("O-RRMPolicyRatio", &["rRMPolicyMinRatio"]);
    let plmn = CellPlmn::to_station(&station(), 0);
    complete(&mut asked, plmn).unwrap();
    assert_eq!(asked, spec("O-RRMPolicyRatio", &["rRMPolicyMinRatio", "resourceType", "rRMPolicyMemberList"]));
    let refused = complete(&mut spec("O-NRCellRelation", &["nRTCI"]), plmn).unwrap_err();
    assert_eq!(refused, Cause::RicRequest(CauseRicRequest::ActionNotSupported));
}

/// Both the trigger and the action name the cell as the tenant knows it.
#[test]
fn subscription_to_a_cell_is_that_of_the_base_station() {
    let other = PlmnIdentity::from_codes(9, 9, 3);
    let spec = |of: Option<Cgi>| {
        let structure = StructureForEventTrigger { name: "O-NRCellDU".to_owned(), attributes: None };
        let trigger = CellForEventTrigger { cell_global_id: of, structures: vec![structure] };
        let format = EventTriggerDefinitionFormat::CellLevelChange(vec![trigger]);
        let structure = e2sm::ccc::StructureForAction {
            report_type: e2sm::ccc::ReportType::All,
            name: "O-NRCellDU".to_owned(),
            attributes: None,
        };
        let action = e2sm::ccc::CellForAction { cell_global_id: of, structures: vec![structure] };
        let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
        EventTriggerDefinition { format }.encode(&mut event_trigger).unwrap();
        let format = ActionDefinitionFormat::CellLevel(vec![action]);
        ActionDefinition { ric_style_type: 2, format }.encode(&mut definition).unwrap();
        let action = ferric::e2::Action {
            id: ferric::e2ap::RicActionId(1),
            kind: ferric::e2ap::RicActionType::Report,
            definition: Some(definition),
            subsequent: None,
        };
        SubscriptionSpec { event_trigger, actions: vec![action] }
    };
    // named as in the network of the tenant, as in that of the base station, of another network, and all cells
    let cases = [(Some(cell(B)), Some(cell(A))), (Some(cell(A)), Some(cell(A)))];
    for (named, sent) in cases.into_iter().chain([Some(cell(other)), None].map(|same| (same, same))) {
        let mut asked = spec(named);
        complete(&mut asked, CellPlmn::to_station(&station(), 1)).unwrap();
        assert_eq!(asked, spec(sent), "{named:?}");
    }
    // what is no trigger is for the base station to refuse
    let mut asked = SubscriptionSpec { event_trigger: b"{".to_vec(), ..spec(None) };
    complete(&mut asked, CellPlmn::to_station(&station(), 1)).unwrap();
    assert_eq!(asked.event_trigger, b"{");
}

/// Whatever two tenants set: what the base station reserves for each stays within its share, and neither reads a policy of the
/// other.
#[test]
fn policies_of_tenants_stay_apart_and_within_their_shares() {
    let mut state = 1_u32;
    let mut below = |bound: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % bound
    };
    for seed in 0..100 {
        let mut node = station();
        for _ in 0..20 {
            let tenant = below(2) as usize;
            let plmn = [None, Some(A), Some(B)][below(3) as usize];
            let min = below(101) as u8;
            let wanted = policy(plmn, below(4) as u8, min, min + below(101 - u32::from(min)) as u8);
            let passed = pass(&node, tenant, &request(cell(A), vec![add(wanted)]));
            let is_foreign = plmn.is_some_and(|plmn| plmn != [A, B][tenant]);
            assert!(!(is_foreign && passed.is_ok()), "seed {seed}");
            if let Ok((_, next)) = passed {
                node.tenants[tenant].cell_policies = next;
            }
            let physical = [0, 1].map(|tenant: usize| node.tenants[tenant].cell_policies.physical(0.5));
            for (tenant, own) in physical.iter().enumerate() {
                let total: u32 = own.iter().map(|(_, policy)| u32::from(policy.rrm_policy_min_ratio.unwrap())).sum();
                assert!(total <= 50, "seed {seed}: {total} % for tenant {tenant}");
            }
            let all = physical.iter().flatten().map(|(_, policy)| Structure::RrmPolicyRatio(policy.clone()));
            let all: Vec<_> = all.collect();
            if all.is_empty() {
                continue;
            }
            let message = report(all);
            for (tenant, plmn) in [A, B].into_iter().enumerate() {
                for structure in received(&node, tenant, &message) {
                    let Structure::RrmPolicyRatio(policy) = structure else { panic!() };
                    let members = policy.rrm_policy_member_list.unwrap();
                    assert!(members.iter().all(|member| member.plmn_id == Some(plmn)), "seed {seed}: {members:?}");
                }
            }
        }
    }
}
