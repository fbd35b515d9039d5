//! CCC of a tenant: what a base station reports of itself and its cells, and RRM policies of the tenant's own network slices.
//!
//! | structure | what a tenant has |
//! |---|---|
//! | O-GNBCUCPFunction, O-GNBCUUPFunction, O-GNBDUFunction, O-NRCellCU, O-NRCellDU, O-BWP | reports, with its own PLMN and network slices in lists of these |
//! | O-RRMPolicyRatio | reports and controls of policies of its own network slices, with ratios of its virtual cell as in [`policies`](crate::policies) |
//!
//! Cells have the PLMN of the tenant, as in `cells`.
//!
//! Other structures and queries are not offered: locking, waking or moving the border of a cell concerns the UEs of all tenants. A
//! control takes effect as a whole or not at all, as far as the base station does not refuse one of its structures.

use e2sm::ccc::{
    ActionDefinition, ActionDefinitionFormat, Cause as Why, CellControlled, CellOutcome, ControlHeader, ControlMessage,
    ControlMessageFormat, ControlOutcome, ControlOutcomeFormat, EventTriggerDefinition, EventTriggerDefinitionFormat,
    IndicationMessage, IndicationMessageFormat, JsonError, PlmnInfo, RanConfigurationStructure as Structure,
    RanFunctionDefinition, RrmPolicyRatio, StructureControlled, StructureFailed, StructureReported, SupportedStructure,
};
use e2sm::common::Cgi;
use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlRequest, SubscriptionSpec};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest};

use crate::cells::CellPlmn;
use crate::node::{Effect, NodeState, TenantControl};
use crate::policies::{CellPolicies, PolicyRefusal};
use crate::reports::Content;
use crate::sla::Sla;

/// The structures that tenants read.
const READABLE: [&str; 7] = [
    "O-GNBCUCPFunction",
    "O-GNBCUUPFunction",
    "O-GNBDUFunction",
    "O-NRCellCU",
    "O-NRCellDU",
    "O-BWP",
    "O-RRMPolicyRatio",
];
/// The structure that tenants write.
const WRITABLE: &str = "O-RRMPolicyRatio";
/// The attributes that identify a policy.
const KEY: [&str; 2] = ["resourceType", "rRMPolicyMemberList"];

const SYNTAX: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);

/// Returns the definition of the function that a tenant has.
///
/// # Errors
/// If the definition cannot be decoded.
pub(crate) fn offered_definition(definition: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut offered = RanFunctionDefinition::decode(definition)?;
    let keep = |mut structures: Vec<SupportedStructure>| {
        structures.retain(|structure| READABLE.contains(&structure.name.as_str()));
        for structure in &mut *structures {
            let is_writable = structure.name == WRITABLE;
            for attribute in &mut structure.attributes {
                let services = &mut attribute.supported_services;
                (services.insert, services.policy, services.query) = (None, None, None);
                if !is_writable {
                    services.control = None;
                }
            }
        }
        structures
    };
    // lists have at least one item
    offered.node_level = offered.node_level.map(keep).filter(|structures| !structures.is_empty());
    let cells = offered.cells.into_iter().flatten().map(|mut cell| {
        cell.structures = keep(cell.structures);
        cell
    });
    let cells: Vec<_> = cells.filter(|cell| !cell.structures.is_empty()).collect();
    offered.cells = Some(cells).filter(|cells| !cells.is_empty());
    let mut out = Vec::new();
    offered.encode(&mut out)?;
    Ok(out)
}

/// Returns an offered definition with the cells of a tenant's network.
///
/// # Errors
/// If the definition cannot be decoded.
pub(crate) fn definition_for(plmn: CellPlmn, offered: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut definition = RanFunctionDefinition::decode(offered)?;
    definition.cells.iter_mut().flatten().for_each(|cell| {
        plmn.cell(&mut cell.cell_global_id);
    });
    let mut out = Vec::new();
    definition.encode(&mut out)?;
    Ok(out)
}

/// An event trigger of a tenant with the cells of the base station; `None` if it is the same. One that cannot be decoded is the same:
/// the base station answers.
fn translated_trigger(plmn: CellPlmn, octets: &[u8]) -> Option<Vec<u8>> {
    let mut trigger = EventTriggerDefinition::decode(octets).ok()?;
    let EventTriggerDefinitionFormat::CellLevelChange(cells) = &mut trigger.format else { return None };
    let is_changed = cells.iter_mut().fold(false, |any, cell| plmn.optional(&mut cell.cell_global_id) | any);
    let mut out = Vec::new();
    (is_changed && trigger.encode(&mut out).is_ok()).then_some(out)
}

/// Checks, translates and completes the actions of a subscription: policies are reported with what identifies them. `plmn` is that of
/// cells towards the base station.
///
/// # Errors
/// The cause with which the tenant's subscription is refused.
pub(crate) fn complete(spec: &mut SubscriptionSpec, plmn: CellPlmn) -> Result<(), Cause> {
    const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    if let Some(translated) = translated_trigger(plmn, &spec.event_trigger) {
        spec.event_trigger = translated;
    }
    for action in &mut spec.actions {
        let octets = action.definition.as_deref().ok_or(NOT_SUPPORTED)?;
        let mut definition = ActionDefinition::decode(octets).map_err(|_| SYNTAX)?;
        let structures: Vec<_> = match &mut definition.format {
            ActionDefinitionFormat::NodeLevel(structures) => structures.iter_mut().collect(),
            ActionDefinitionFormat::CellLevel(cells) => {
                cells.iter_mut().for_each(|cell| {
                    plmn.optional(&mut cell.cell_global_id);
                });
                cells.iter_mut().flat_map(|cell| &mut cell.structures).collect()
            }
        };
        for structure in structures {
            if !READABLE.contains(&structure.name.as_str()) {
                return Err(NOT_SUPPORTED);
            }
            let Some(attributes) = structure.attributes.as_mut().filter(|_| structure.name == WRITABLE) else {
                continue;
            };
            for name in KEY {
                if !attributes.iter().any(|attribute| attribute.name == name) {
                    attributes.push(e2sm::ccc::AttributeName { name: name.to_owned() });
                }
            }
        }
        let mut out = Vec::new();
        definition.encode(&mut out).map_err(|_| SYNTAX)?;
        action.definition = Some(out);
    }
    Ok(())
}

/// Writes what a tenant receives of a report.
///
/// # Errors
/// If the message cannot be decoded.
pub(crate) fn partition(
    node: &NodeState,
    tenant: usize,
    report: &IndicationMessage,
    out: &mut Vec<u8>,
) -> Result<Content, JsonError> {
    let mut report = report.clone();
    let own = |cell: Option<Cgi>, structures: &mut Vec<StructureReported>| {
        structures.retain_mut(|structure| {
            structure.old_values = None;
            match own_values(node, tenant, cell, &structure.values) {
                Some(values) => structure.values = values,
                None => return false,
            }
            true
        });
    };
    let is_empty = match &mut report.format {
        IndicationMessageFormat::NodeLevel(structures) => {
            own(None, structures);
            structures.is_empty()
        }
        IndicationMessageFormat::CellLevel(cells) => {
            let plmn = CellPlmn::to_tenant(node, tenant);
            for cell in &mut *cells {
                own(Some(cell.cell_global_id), &mut cell.structures);
                plmn.cell(&mut cell.cell_global_id);
            }
            cells.retain(|cell| !cell.structures.is_empty());
            cells.is_empty()
        }
    };
    if is_empty {
        return Ok(Content::Nothing);
    }
    report.encode(out)?;
    Ok(Content::Written)
}

/// A structure as a tenant has it; `None` if it has not.
fn own_values(node: &NodeState, tenant: usize, cell: Option<Cgi>, values: &Structure) -> Option<Structure> {
    let own_networks = |list: &Option<Vec<PlmnInfo>>| {
        let own = |info: &&PlmnInfo| is_own_network(info, &node.sla, tenant);
        // a list has at least one item
        let list: Vec<_> = list.iter().flatten().filter(own).cloned().collect();
        Some(list).filter(|list| !list.is_empty())
    };
    Some(match values {
        Structure::RrmPolicyRatio(policy) => {
            let state = &node.tenants[tenant];
            let of_cell = state.cell_policies.of_tenant(cell?, policy);
            Structure::RrmPolicyRatio(of_cell.or_else(|| state.policies.of_tenant(policy))?)
        }
        Structure::GnbCuUpFunction(function) => {
            let mut function = function.clone();
            function.plmn_info_list = own_networks(&function.plmn_info_list);
            Structure::GnbCuUpFunction(function)
        }
        Structure::NrCellCu(of_cell) => {
            let mut of_cell = of_cell.clone();
            of_cell.plmn_info_list = own_networks(&of_cell.plmn_info_list);
            Structure::NrCellCu(of_cell)
        }
        Structure::NrCellDu(of_cell) => {
            let mut of_cell = of_cell.clone();
            of_cell.plmn_info_list = own_networks(&of_cell.plmn_info_list);
            // partitions of the carrier name network slices of all tenants
            of_cell.partition_list = None;
            Structure::NrCellDu(of_cell)
        }
        Structure::GnbCuCpFunction(function) => {
            let mut function = function.clone();
            function.plmn_id = function.plmn_id.map(|_| node.sla.tenants[tenant].plmn);
            Structure::GnbCuCpFunction(function)
        }
        Structure::GnbDuFunction(_) | Structure::Bwp(_) => values.clone(),
        _ => return None,
    })
}

fn is_own_network(info: &PlmnInfo, sla: &Sla, tenant: usize) -> bool {
    let own = &sla.tenants[tenant];
    let plmn = info.plmn_id.unwrap_or(own.plmn);
    // of a PLMN, a tenant may have what the slices of others leave
    plmn == own.plmn && info.snssai.is_none_or(|slice| sla.tenant_of(plmn, &[slice]) == Some(tenant))
}

/// Why a structure of a control is refused.
struct Refused {
    why: Why,
    cause: CauseRicRequest,
}

impl Refused {
    fn new(why: Why) -> Self {
        Refused { why, cause: CauseRicRequest::ControlFailedToExecute }
    }
}

impl From<PolicyRefusal> for Refused {
    fn from(refusal: PolicyRefusal) -> Self {
        let why = match refusal {
            PolicyRefusal::Foreign(..) => Why::NotAvailable,
            PolicyRefusal::NoMembers => Why::SemanticError,
            PolicyRefusal::OverCapacity(_) | PolicyRefusal::TooMany => Why::IncompatibleState,
        };
        Refused { why, cause: refusal.cause() }
    }
}

/// Checks and translates a control of a tenant.
///
/// # Errors
/// The cause with which it is refused, and the outcome with the cause of each structure; then it has no effect.
pub(crate) fn control(
    tenant: usize,
    node: &NodeState,
    controller: ControllerId,
    request: &ControlRequest,
) -> Result<TenantControl, ControlFailure> {
    let header = ControlHeader::decode(&request.header).map_err(|_| ControlFailure::from(SYNTAX))?;
    let message = ControlMessage::decode(&request.message).map_err(|_| ControlFailure::from(SYNTAX))?;
    let cells = match message.format {
        ControlMessageFormat::CellLevel(cells) if header.format.ric_style_type == e2sm::ccc::CELL_STYLE => cells,
        ControlMessageFormat::CellLevel(_) => {
            return Err(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid).into());
        }
        ControlMessageFormat::NodeLevel(structures) => {
            let failed = structures.into_iter().map(|structure| failed(structure, Why::NotSupported)).collect();
            let format =
                ControlOutcomeFormat::NodeLevel { received_timestamp: None, accepted: None, failed: Some(failed) };
            return Err(failure(CauseRicRequest::ControlFailedToExecute, format));
        }
    };
    let plmn = CellPlmn::to_station(node, tenant);
    let physical_cell = |mut cell: Cgi| {
        plmn.cell(&mut cell);
        cell
    };
    let state = &node.tenants[tenant];
    if state.has_pending_policies {
        return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit).into());
    }
    let mut next = state.cell_policies.clone();
    let mut results = Vec::new();
    for cell in &cells {
        let id = physical_cell(cell.cell_global_id);
        let translate = |structure: &StructureControlled| translate(id, structure, &mut next, node, tenant);
        results.push(cell.structures.iter().map(translate).collect::<Vec<_>>());
    }
    if let Some(refused) = results.iter().flatten().find_map(|result| result.as_ref().err()) {
        let cause = refused.cause;
        let outcomes = cells.into_iter().zip(&results).map(|(cell, results)| {
            let why =
                |result: &Result<_, Refused>| result.as_ref().map_or_else(|refused| refused.why, |_| Why::Unspecified);
            let all =
                cell.structures.into_iter().zip(results).map(|(structure, result)| failed(structure, why(result)));
            CellOutcome { cell_global_id: cell.cell_global_id, accepted: None, failed: Some(all.collect()) }
        });
        let format = ControlOutcomeFormat::CellLevel { received_timestamp: None, cells: outcomes.collect() };
        return Err(failure(cause, format));
    }
    let physical = cells.iter().zip(results).map(|(cell, results)| {
        let structure = |(new, old)| StructureControlled {
            old_values: Structure::RrmPolicyRatio(old),
            new_values: Structure::RrmPolicyRatio(new),
        };
        let structures = results.into_iter().flatten().map(structure).collect();
        CellControlled { cell_global_id: physical_cell(cell.cell_global_id), structures }
    });
    let message = encoded(physical.collect()).map_err(|_| ControlFailure::from(SYNTAX))?;
    Ok(TenantControl {
        controller,
        id: request.request_id,
        call_process_id: None,
        header: request.header.clone(),
        message,
        effect: Effect::CellPolicies(next),
    })
}

/// The policy, and the old values that identify it, for the base station. Records the policy in `next`.
fn translate(
    cell: Cgi,
    structure: &StructureControlled,
    next: &mut CellPolicies,
    node: &NodeState,
    tenant: usize,
) -> Result<(RrmPolicyRatio, RrmPolicyRatio), Refused> {
    let (Structure::RrmPolicyRatio(new), Structure::RrmPolicyRatio(old)) =
        (&structure.new_values, &structure.old_values)
    else {
        return Err(Refused::new(Why::NotSupported));
    };
    let semantic = || Refused::new(Why::SemanticError);
    let resource_type = new.resource_type.or(old.resource_type).ok_or_else(semantic)?;
    let members = new.rrm_policy_member_list.as_ref().or(old.rrm_policy_member_list.as_ref()).ok_or_else(semantic)?;
    let members = crate::policies::own_members(members, &node.sla, tenant)?;
    if node.has_slices {
        return Err(Refused::new(Why::IncompatibleState));
    }
    let known = next.find(cell, resource_type, &members).cloned();
    let differs = |old: Option<u8>, known: Option<u8>| old.is_some() && old != known;
    let current = known.clone().unwrap_or_default();
    if differs(old.rrm_policy_min_ratio, current.rrm_policy_min_ratio)
        || differs(old.rrm_policy_max_ratio, current.rrm_policy_max_ratio)
        || differs(old.rrm_policy_dedicated_ratio, current.rrm_policy_dedicated_ratio)
    {
        return Err(Refused::new(Why::IncompatibleState));
    }
    let policy = RrmPolicyRatio {
        resource_type: Some(resource_type),
        rrm_policy_member_list: Some(members.clone()),
        rrm_policy_max_ratio: new.rrm_policy_max_ratio.or(current.rrm_policy_max_ratio).or(Some(100)),
        rrm_policy_min_ratio: new.rrm_policy_min_ratio.or(current.rrm_policy_min_ratio).or(Some(0)),
        rrm_policy_dedicated_ratio: new.rrm_policy_dedicated_ratio.or(current.rrm_policy_dedicated_ratio).or(Some(0)),
    };
    // TS 28.541 4.3.36: the dedicated ratio is part of the minimum, which is part of the maximum
    if policy.rrm_policy_min_ratio > policy.rrm_policy_max_ratio
        || policy.rrm_policy_dedicated_ratio > policy.rrm_policy_min_ratio
    {
        return Err(semantic());
    }
    let state = &node.tenants[tenant];
    next.set(cell, policy.clone(), &state.policies)?;
    let key = RrmPolicyRatio {
        resource_type: Some(resource_type),
        rrm_policy_member_list: Some(members),
        ..RrmPolicyRatio::default()
    };
    let old = if known.is_some() { key } else { RrmPolicyRatio::default() };
    Ok((crate::policies::scaled_ratio(&policy, state.part.share), old))
}

fn failed(structure: StructureControlled, cause: Why) -> StructureFailed {
    let StructureControlled { old_values, new_values: requested_values } = structure;
    StructureFailed { old_values, requested_values, cause }
}

fn failure(cause: CauseRicRequest, format: ControlOutcomeFormat) -> ControlFailure {
    let mut out = Vec::new();
    let encoded = ControlOutcome { format }.encode(&mut out);
    ControlFailure { cause: Cause::RicRequest(cause), outcome: encoded.is_ok().then_some(out) }
}

fn encoded(cells: Vec<CellControlled>) -> Result<Vec<u8>, JsonError> {
    let mut out = Vec::new();
    ControlMessage { format: ControlMessageFormat::CellLevel(cells) }.encode(&mut out)?;
    Ok(out)
}

/// Translates the outcome of a control that the base station has executed, at least in part. `plmn` is that of cells towards the tenant.
/// Returns it, and the policies that the tenant has now.
pub(crate) fn outcome(
    octets: &[u8],
    before: &CellPolicies,
    next: &CellPolicies,
    plmn: CellPlmn,
) -> (Option<Vec<u8>>, CellPolicies) {
    let Ok(mut outcome) = ControlOutcome::decode(octets) else { return (None, next.clone()) };
    let ControlOutcomeFormat::CellLevel { cells, .. } = &mut outcome.format else { return (None, next.clone()) };
    let mut now = before.clone();
    for CellOutcome { cell_global_id: cell, accepted, failed } in cells {
        let of_tenant = |policies: &CellPolicies, values: &mut Structure| {
            let Structure::RrmPolicyRatio(policy) = values else { return };
            if let Some(own) = policies.of_tenant(*cell, policy) {
                *policy = own;
            }
        };
        for structure in accepted.iter_mut().flatten() {
            if let Structure::RrmPolicyRatio(policy) = &structure.current_values {
                now.adopt(*cell, policy, next);
            }
            of_tenant(before, &mut structure.old_values);
            of_tenant(next, &mut structure.current_values);
        }
        for structure in failed.iter_mut().flatten() {
            of_tenant(before, &mut structure.old_values);
            of_tenant(next, &mut structure.requested_values);
        }
        plmn.cell(cell);
    }
    let mut out = Vec::new();
    let encoded = outcome.encode(&mut out);
    (encoded.is_ok().then_some(out), now)
}

/// Header and message of the control that sets policies of cells of the base station.
///
/// # Errors
/// A value outside its bounds.
pub(crate) fn policies_control(policies: Vec<(Cgi, RrmPolicyRatio)>) -> Result<(Vec<u8>, Vec<u8>), JsonError> {
    let cells = policies.into_iter().map(|(cell_global_id, policy)| {
        let old_values = RrmPolicyRatio {
            resource_type: policy.resource_type,
            rrm_policy_member_list: policy.rrm_policy_member_list.clone(),
            ..RrmPolicyRatio::default()
        };
        let (old_values, new_values) = (Structure::RrmPolicyRatio(old_values), Structure::RrmPolicyRatio(policy));
        CellControlled { cell_global_id, structures: vec![StructureControlled { old_values, new_values }] }
    });
    let mut header = Vec::new();
    let format = e2sm::ccc::ControlHeaderFormat1 { ric_style_type: e2sm::ccc::CELL_STYLE };
    ControlHeader { format }.encode(&mut header)?;
    Ok((header, encoded(cells.collect())?))
}

#[cfg(test)]
mod tests;
