//! RC of a tenant: reports, inserts and controls of its own UEs, and quotas of its own network slices.
//!
//! | service | what a tenant has |
//! |---|---|
//! | report styles 1, 2 | messages and outcomes of procedures of its own UEs; a report of no particular UE is for no tenant |
//! | report style 3 | changes of the node and its cells, which have the PLMN of the tenant as in `cells` |
//! | report styles 4, 5 | its own UEs |
//! | insert | procedures of its own UEs; those of UEs that no tenant has subscribed to continue at once |
//! | control | the actions in `ACTIONS` on its own UEs; the slice-level PRB quota as in [`policies`](crate::policies) |
//!
//! Policies, queries and controls of groups of UEs are not offered: they concern the UEs of all tenants.

use std::collections::VecDeque;
use std::sync::Arc;

use e2sm::common::{Cgi, UeId};
use e2sm::rc::{
    ActionDefinition, ActionDefinitionFormats, ActionId, Control, ControlAction, ControlActions, ControlHeader,
    ControlHeaderFormat1, ControlHeaderFormats, ControlOutcome, ControlOutcomeFormat1, ControlOutcomeFormats,
    ControlTarget, Decision, Detection, EventTrigger, IndicationHeader, IndicationHeaderFormats, IndicationMessage,
    IndicationMessageFormats, RanFunctionDefinition, RanFunctionDefinitionControl, RanParameterElementItem,
    RanParameterId, RanParameterItem, RanParameterValue, RanParameterValueType, SlicePrbQuota, WantedRanParameter,
    dictionary,
};
use e2sm::{Arena, Error};
use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlRequest, SubscriptionSpec};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId};
use per::{IntoOwned, List, PrintableString};
use ran_functions::rc::REFUSAL_REASON;

use crate::cells::CellPlmn;
use crate::node::{Effect, NodeState, TenantControl};
use crate::policies::Policies;
use crate::reports::Content;

mod cells;

/// The control actions that tenants have.
const ACTIONS: [ActionId; 9] = [
    ControlAction::DRB_QOS,
    ControlAction::QOS_FLOW_MAPPING,
    ControlAction::DRX,
    ControlAction::SLICE_PRB_QUOTA,
    ControlAction::HANDOVER,
    ControlAction::CONDITIONAL_HANDOVER,
    ControlAction::ADD_MEASUREMENT,
    ControlAction::MODIFY_MEASUREMENT,
    ControlAction::DELETE_MEASUREMENT,
];
/// The maximum number of inserts of a tenant that wait for its answer; the base station continues the oldest ones in time.
const MAX_INSERTS: usize = 1024;

const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const SYNTAX: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);

/// Returns the definition of the function that a tenant has.
///
/// # Errors
/// If the definition cannot be decoded.
pub(crate) fn offered_definition(detection: &Detection, definition: &[u8]) -> Result<Vec<u8>, Error> {
    let arena = Arena::new();
    let Detection { revision, wire, .. } = *detection;
    let mut offered = RanFunctionDefinition::decode_in(definition, revision, wire, &arena)?;
    (offered.policy, offered.query) = (None, None);
    offered.control = offered.control.and_then(|control| offered_control(control, |action| ACTIONS.contains(&action)));
    let mut out = Vec::new();
    offered.encode_in(revision, wire, &mut out)?;
    Ok(out)
}

/// The controls of a definition with some actions only; `None` if there are none.
fn offered_control(
    control: RanFunctionDefinitionControl<'_>,
    is_offered: impl Fn(ActionId) -> bool,
) -> Option<RanFunctionDefinitionControl<'_>> {
    let styles = control.control_style_list.iter().cloned().filter_map(|mut style| {
        let number = style.ric_control_style_type;
        if let Some(actions) = style.control_action_list {
            let is_own = |action| is_offered(ActionId { style: number, action });
            let own: List<'_, _> = actions.iter().filter(|item| is_own(item.ric_control_action_id)).cloned().collect();
            if own.is_empty() {
                return None;
            }
            style.control_action_list = Some(own);
        }
        Some(style)
    });
    let control_style_list: List<'_, _> = styles.collect();
    (!control_style_list.is_empty()).then_some(RanFunctionDefinitionControl { control_style_list })
}

/// Returns the definition of a function whose reports, inserts and controls are of UEs; `None` if it has none.
///
/// # Errors
/// If the definition cannot be decoded.
pub(crate) fn ue_definition(detection: &Detection, definition: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let arena = Arena::new();
    let Detection { revision, wire, .. } = *detection;
    let mut offered = RanFunctionDefinition::decode_in(definition, revision, wire, &arena)?;
    (offered.policy, offered.query) = (None, None);
    let is_offered = |action| ACTIONS.contains(&action) && action != ControlAction::SLICE_PRB_QUOTA;
    offered.control = offered.control.and_then(|control| offered_control(control, is_offered));
    if offered.control.is_none() && offered.report.is_none() && offered.insert.is_none() {
        return Ok(None);
    }
    let mut out = Vec::new();
    offered.encode_in(revision, wire, &mut out)?;
    Ok(Some(out))
}

/// What of a subscription determines what the tenant receives.
#[derive(Debug, Default)]
pub(crate) struct RcView {
    /// Reports of parameters of a UE, with the parameter that identifies it.
    ue_parameters: Vec<(RicActionId, RanParameterId)>,
    /// Inserts, with the UE whose procedures are asked for; otherwise those of any UE.
    inserts: Vec<(RicActionId, Option<UeId<'static>>)>,
}

impl RcView {
    /// Reads the actions of a subscription, and completes them: reports of a UE contain its UE ID.
    ///
    /// # Errors
    /// The cause with which the tenant's subscription is refused.
    pub fn of(
        detection: &Detection,
        spec: &mut SubscriptionSpec,
        tenant: usize,
        node: &NodeState,
    ) -> Result<Arc<RcView>, Cause> {
        let plmn = CellPlmn::to_station(node, tenant);
        if !plmn.is_same()
            && let Some(translated) = translated_trigger(detection, plmn, &spec.event_trigger)
        {
            spec.event_trigger = translated;
        }
        RcView::of_ues(detection, spec, &|asked| node.ues.find(tenant, asked).cloned())
    }

    /// The same of the UEs that `find` returns as the base station names them.
    ///
    /// # Errors
    /// The cause with which the subscription is refused.
    pub fn of_ues(
        detection: &Detection,
        spec: &mut SubscriptionSpec,
        find: &dyn Fn(&UeId<'_>) -> Option<UeId<'static>>,
    ) -> Result<Arc<RcView>, Cause> {
        let Detection { revision, wire, .. } = *detection;
        let mut view = RcView::default();
        for action in &mut spec.actions {
            let octets = action.definition.take().ok_or(NOT_SUPPORTED)?;
            let arena = Arena::new();
            let mut definition = ActionDefinition::decode_in(&octets, revision, wire, &arena).map_err(|_| SYNTAX)?;
            let own_ue = |ue_id: &mut Option<UeId<'_>>| {
                let Some(asked) = ue_id else { return Ok(None) };
                let own = find(asked).ok_or(UNAVAILABLE)?;
                *ue_id = Some(own.clone());
                Ok(Some(own))
            };
            match &mut definition.formats {
                ActionDefinitionFormats::Format1(format) => {
                    let of_ue = match definition.ric_style_type.0 {
                        1 => Some(dictionary::message_copy::UE_ID),
                        2 => Some(dictionary::call_process_outcome::CURRENT_UE_ID),
                        _ => None,
                    };
                    if let Some(id) = of_ue {
                        view.ue_parameters.push((action.id, id));
                        if !format.to_be_reported_list.iter().any(|wanted| wanted.ran_parameter_id == id) {
                            let added = WantedRanParameter { ran_parameter_id: id, ran_parameter_definition: None };
                            let all = format.to_be_reported_list.iter().cloned().chain([added]);
                            format.to_be_reported_list = all.collect();
                        }
                    }
                }
                ActionDefinitionFormats::Format3(format) => {
                    view.inserts.push((action.id, own_ue(&mut format.ue_id)?));
                }
                ActionDefinitionFormats::Format4(format) => {
                    view.inserts.push((action.id, own_ue(&mut format.ue_id)?));
                }
                ActionDefinitionFormats::Format2(_) => return Err(NOT_SUPPORTED),
            }
            let mut out = Vec::new();
            definition.encode_in(revision, wire, &mut out).map_err(|_| SYNTAX)?;
            action.definition = Some(out);
        }
        Ok(Arc::new(view))
    }

    /// The action that asks for procedures of a UE.
    pub fn insert_for(&self, ue_id: &UeId<'_>) -> Option<RicActionId> {
        let is_for = |asked: &Option<UeId<'_>>| asked.as_ref().is_none_or(|asked| asked == ue_id);
        self.inserts.iter().find(|(_, asked)| is_for(asked)).map(|(action, _)| *action)
    }

    /// Writes what a tenant receives of a report of an action.
    ///
    /// # Errors
    /// If the message cannot be encoded.
    pub fn partition(
        &self,
        detection: &Detection,
        node: &NodeState,
        tenant: usize,
        action: RicActionId,
        report: &IndicationMessage<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Content, Error> {
        let plmn = CellPlmn::to_tenant(node, tenant);
        let mut part = |report: &IndicationMessage<'_>| {
            self.part_of(detection, action, report, &|ue_id| node.ues.has(tenant, ue_id), &|_| true, out)
        };
        if plmn.is_same() {
            return part(report);
        }
        let mut report = report.clone();
        let is_changed = cells::indication(plmn, None, &mut report);
        match part(&report)? {
            Content::Unchanged if is_changed => {
                report.encode_in(detection.revision, detection.wire, out)?;
                Ok(Content::Written)
            }
            content => Ok(content),
        }
    }

    /// Writes the part of a report of an action that is about own UEs and cells.
    ///
    /// # Errors
    /// If the message cannot be encoded.
    pub fn part_of(
        &self,
        detection: &Detection,
        action: RicActionId,
        report: &IndicationMessage<'_>,
        has_ue: &dyn Fn(&UeId<'_>) -> bool,
        has_cell: &dyn Fn(&Cgi) -> bool,
        out: &mut Vec<u8>,
    ) -> Result<Content, Error> {
        let Detection { revision, wire, .. } = *detection;
        let mut report = report.clone();
        match &mut report.formats {
            IndicationMessageFormats::Format1(format) => {
                let parameter =
                    self.ue_parameters.iter().find(|(id, _)| *id == action).map(|(_, parameter)| *parameter);
                let octets = parameter.and_then(|id| octets_of(&format.reported_list, id));
                let ue_id = octets.as_deref().and_then(|octets| per::decode::<UeId<'_>>(octets, revision.wire()).ok());
                let is_own = ue_id.is_some_and(|ue_id| has_ue(&ue_id));
                return Ok(if is_own { Content::Unchanged } else { Content::Nothing });
            }
            IndicationMessageFormats::Format2(format) => {
                let all = format.ue_parameter_list.len();
                let own = format.ue_parameter_list.iter().filter(|item| has_ue(&item.ue_id));
                let own: List<'_, _> = own.cloned().collect();
                match own.len() {
                    own if own == all => return Ok(Content::Unchanged),
                    0 => return Ok(Content::Nothing),
                    _ => format.ue_parameter_list = own,
                }
            }
            IndicationMessageFormats::Format3(format) => {
                let all = format.cell_info_list.len();
                let own = format.cell_info_list.iter().filter(|item| has_cell(&item.cell_global_id));
                let own: List<'_, _> = own.cloned().collect();
                match own.len() {
                    0 => return Ok(Content::Nothing),
                    own if own == all => return Ok(Content::Unchanged),
                    _ => format.cell_info_list = own,
                }
            }
            IndicationMessageFormats::Format4(format) => {
                let all = (format.ue_info_list.len(), format.cell_info_list.len());
                let ues = format.ue_info_list.iter().filter(|item| has_ue(&item.ue_id));
                format.ue_info_list = ues.cloned().collect();
                let cells = format.cell_info_list.iter().filter(|item| has_cell(&item.cell_global_id));
                format.cell_info_list = cells.cloned().collect();
                if (format.ue_info_list.len(), format.cell_info_list.len()) == all {
                    return Ok(Content::Unchanged);
                }
            }
            _ => return Ok(Content::Nothing),
        }
        report.encode_in(revision, wire, out)?;
        Ok(Content::Written)
    }
}

/// An event trigger of a tenant with the cells of the base station; `None` if it is the same. That of one which cannot be decoded is the
/// same: the base station answers.
fn translated_trigger(detection: &Detection, plmn: CellPlmn, octets: &[u8]) -> Option<Vec<u8>> {
    let Detection { revision, wire, .. } = *detection;
    let arena = Arena::new();
    let mut trigger = EventTrigger::decode_in(octets, revision, wire, &arena).ok()?;
    let mut out = Vec::new();
    let is_changed = cells::event_trigger(plmn, &mut trigger);
    (is_changed && trigger.encode_in(revision, wire, &mut out).is_ok()).then_some(out)
}

/// The octets of a parameter.
fn octets_of(items: &[RanParameterItem<'_>], id: RanParameterId) -> Option<Vec<u8>> {
    let value = match &items.iter().find(|item| item.ran_parameter_id == id)?.value_type {
        RanParameterValueType::ElementTrue(element) => &element.value,
        RanParameterValueType::ElementFalse(element) => element.value.as_ref()?,
        _ => return None,
    };
    match value {
        RanParameterValue::ValueOctS(octets) => Some(octets.to_cow().into_owned()),
        _ => None,
    }
}

/// An insert: the UE, and the style and number of what is asked.
pub(crate) struct Insert {
    pub ue_id: UeId<'static>,
    question: ActionId,
}

impl Insert {
    /// Reads an insert indication; `None` if it cannot be decoded or names no UE.
    pub fn decode(detection: &Detection, header: &[u8], message: &[u8]) -> Option<Insert> {
        let Detection { revision, wire, .. } = *detection;
        let arena = Arena::new();
        let header = IndicationHeader::decode_in(header, revision, wire, &arena).ok()?;
        match header.formats {
            IndicationHeaderFormats::Format2(header) => Some(Insert {
                ue_id: header.ue_id.into_owned(),
                question: ActionId::new(header.ric_insert_style_type.0, header.ric_insert_indication_id.0),
            }),
            IndicationHeaderFormats::Format3(header) => {
                let message = IndicationMessage::decode_in(message, revision, wire, &arena).ok()?;
                let IndicationMessageFormats::Format6(message) = message.formats else { return None };
                let style = message.insert_style_list.first()?;
                let number = style.insert_indication_list.first()?.ric_insert_indication_id;
                let question = ActionId::new(style.indicated_insert_style_type.0, number.0);
                Some(Insert { ue_id: header.ue_id?.into_owned(), question })
            }
            IndicationHeaderFormats::Format1(_) => None,
        }
    }

    /// The message of the insert with the cells of a tenant's network; `None` if it is the same.
    pub fn message_for(&self, detection: &Detection, plmn: CellPlmn, message: &[u8]) -> Option<Vec<u8>> {
        if plmn.is_same() {
            return None;
        }
        let Detection { revision, wire, .. } = *detection;
        let arena = Arena::new();
        let mut message = IndicationMessage::decode_in(message, revision, wire, &arena).ok()?;
        let mut out = Vec::new();
        let is_changed = cells::indication(plmn, Some(self.question.style), &mut message);
        (is_changed && message.encode_in(revision, wire, &mut out).is_ok()).then_some(out)
    }

    /// Header and message of the control by which the procedure continues. Inserts have the numbers of the control actions that
    /// answer them (RC 7.5, 7.6).
    pub fn accepted(&self, detection: &Detection) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let control = Control::answer(self.ue_id.clone(), self.question, Decision::Accept);
        control.encode_in(detection.revision, detection.wire)
    }
}

/// The inserts that a tenant may answer, by call process id, oldest first.
#[derive(Debug, Default)]
pub(crate) struct PendingInserts(VecDeque<Vec<u8>>);

impl PendingInserts {
    pub fn add(&mut self, call_process_id: &[u8]) {
        if self.0.len() >= MAX_INSERTS {
            self.0.pop_front();
        }
        self.0.push_back(call_process_id.to_vec());
    }

    pub fn has(&self, call_process_id: &[u8]) -> bool {
        self.0.iter().any(|pending| pending == call_process_id)
    }

    /// Removes an insert that is answered, or the id of which the base station uses again.
    pub fn remove(&mut self, call_process_id: &[u8]) {
        self.0.retain(|pending| pending != call_process_id);
    }
}

/// The refusal of a control, with the reason as text.
pub(crate) fn refusal(detection: &Detection, cause: CauseRicRequest, reason: &str) -> ControlFailure {
    let text: String = reason.chars().filter(char::is_ascii).collect();
    let outcome = PrintableString::try_from(text).ok().and_then(|text| {
        let value = RanParameterValue::ValuePrintableString(text);
        let item = RanParameterElementItem { ran_parameter_id: REFUSAL_REASON, value };
        let format = ControlOutcomeFormat1 { ran_p_list: List::from(vec![item]) };
        let mut out = Vec::new();
        let outcome = ControlOutcome { formats: ControlOutcomeFormats::Format1(format) };
        outcome.encode_in(detection.revision, detection.wire, &mut out).ok().map(|()| out)
    });
    ControlFailure { cause: Cause::RicRequest(cause), outcome }
}

/// Checks and translates a control of a tenant.
///
/// # Errors
/// The cause and the reason with which it is refused; then it has no effect.
pub(crate) fn control(
    detection: &Detection,
    tenant: usize,
    node: &mut NodeState,
    controller: ControllerId,
    request: &ControlRequest,
) -> Result<TenantControl, ControlFailure> {
    let Detection { revision, wire, .. } = *detection;
    let refuse = |cause, reason: &str| refusal(detection, cause, reason);
    let invalid = |error: Error| refuse(CauseRicRequest::ControlMessageInvalid, &error.to_string());
    let mut control = Control::decode_in(&request.header, &request.message, revision, wire).map_err(invalid)?;
    if let Some(process) = &request.call_process_id
        && !node.tenants[tenant].inserts.has(process)
    {
        let reason = "no procedure with this call process ID is suspended";
        return Err(refuse(CauseRicRequest::RicCallProcessIdInvalid, reason));
    }
    check_actions(&control, request.call_process_id.is_some())
        .map_err(|reason| refuse(CauseRicRequest::ActionNotSupported, &reason))?;
    let (mut header, mut message) = (request.header.clone(), request.message.clone());
    let needs_ue = needs_ue(&control);
    if needs_ue {
        let own = own_target(&control.target, tenant, node).map_err(|(cause, reason)| refuse(cause, reason))?;
        if let Some(ue_id) = own {
            header = with_ue(&request.header, detection, &ue_id).map_err(invalid)?;
            control.target = ControlTarget::Ue(ue_id);
        }
    }
    if cells::control(CellPlmn::to_station(node, tenant), &mut control) {
        (header, message) = control.encode_in(revision, wire).map_err(invalid)?;
    }
    let mut effect = Effect::None;
    if let Some(quota) = quota_of(&mut control) {
        let has_slices = node.has_slices;
        let state = &mut node.tenants[tenant];
        if state.has_pending_policies {
            let reason = "the previous quota is not answered yet";
            return Err(refuse(CauseRicRequest::FunctionResourceLimit, reason));
        }
        let next = state.policies.after(quota, &state.cell_policies, &node.sla, tenant);
        let next = next.map_err(|refusal| refuse(refusal.cause(), &refusal.to_string()))?;
        if has_slices {
            let reason = "slices of the SLICE model divide the cell among operators: use these";
            return Err(refuse(CauseRicRequest::ControlFailedToExecute, reason));
        }
        let physical = Policies::physical(quota, state.part.share);
        *quota = physical.clone();
        // the target has no effect without an action on a UE
        (header, message) = if needs_ue {
            control.encode_in(revision, wire).map_err(invalid)?
        } else {
            quota_control(detection, physical).map_err(invalid)?
        };
        effect = Effect::Policies(next);
    }
    let (id, call_process_id) = (request.request_id, request.call_process_id.clone());
    Ok(TenantControl { controller, id, call_process_id, header, message, effect })
}

/// Header and message of the control that sets a quota of the base station.
pub(crate) fn quota_control(detection: &Detection, quota: SlicePrbQuota) -> Result<(Vec<u8>, Vec<u8>), Error> {
    Control::of_cell(ControlAction::SlicePrbQuota(quota)).encode_in(detection.revision, detection.wire)
}

/// The quota of a control; several actions have at most one.
fn quota_of(control: &mut Control) -> Option<&mut SlicePrbQuota> {
    fn quota(action: &mut ControlAction) -> Option<&mut SlicePrbQuota> {
        match action {
            ControlAction::SlicePrbQuota(quota) => Some(quota),
            _ => None,
        }
    }
    match &mut control.actions {
        ControlActions::One(action) => quota(action),
        ControlActions::Several(actions) => actions.iter_mut().find_map(quota),
        _ => None,
    }
}

/// Checks that tenants have the actions of a control.
fn check_actions(control: &Control, is_answer: bool) -> Result<(), String> {
    let check = |action: &ControlAction| match action {
        // the answer to an insert may be without parameters
        ControlAction::Other(other) if !(is_answer && other.parameters.is_empty() && ACTIONS.contains(&other.id)) => {
            Err(format!("{} is not offered", other.id))
        }
        _ => Ok(()),
    };
    let check_id = |id: &ActionId| match *id {
        ControlAction::SLICE_PRB_QUOTA => Err(format!("{id} does not apply to UEs")),
        id if !ACTIONS.contains(&id) => Err(format!("{id} is not offered")),
        _ => Ok(()),
    };
    match &control.actions {
        ControlActions::One(action) => check(action),
        ControlActions::Several(actions) => {
            let quotas = actions.iter().filter(|action| !action.is_about_ue()).count();
            if quotas > 1 {
                return Err("a control has at most one quota".to_owned());
            }
            actions.iter().try_for_each(check)
        }
        ControlActions::Filtered(filtered) => check_id(&filtered.id),
        ControlActions::Query(id, _) => check_id(id),
    }
}

/// Checks that a control has actions on UEs only, and that tenants have them. `is_answer` says whether it answers an insert.
pub(crate) fn check_ue_actions(control: &Control, is_answer: bool) -> Result<(), String> {
    check_actions(control, is_answer)?;
    let is_about_ue = match &control.actions {
        ControlActions::One(action) => action.is_about_ue(),
        ControlActions::Several(actions) => actions.iter().all(ControlAction::is_about_ue),
        ControlActions::Filtered(_) | ControlActions::Query(..) => true,
    };
    if is_about_ue { Ok(()) } else { Err("only actions on UEs are offered".to_owned()) }
}

/// Whether the target of a control has an effect.
fn needs_ue(control: &Control) -> bool {
    match &control.actions {
        ControlActions::One(action) => action.is_about_ue(),
        ControlActions::Several(actions) => actions.iter().any(ControlAction::is_about_ue),
        ControlActions::Filtered(_) | ControlActions::Query(..) => true,
    }
}

/// The UE ID, as the base station reports it, of the tenant's UE that a control aims at; `None` if the control has that already.
fn own_target(
    target: &ControlTarget,
    tenant: usize,
    node: &NodeState,
) -> Result<Option<UeId<'static>>, (CauseRicRequest, &'static str)> {
    // the answer of a base station without such a UE: tenants do not learn of others
    const NO_SUCH_UE: (CauseRicRequest, &str) = (CauseRicRequest::ControlFailedToExecute, "there is no such UE");
    match target {
        ControlTarget::Ue(ue_id) => {
            let own = node.ues.find(tenant, ue_id).ok_or(NO_SUCH_UE)?;
            Ok((own != ue_id).then(|| own.clone()))
        }
        ControlTarget::Partial(ue_id) => {
            let mut own = node.ues.find_partial(tenant, ue_id);
            match (own.next(), own.next()) {
                (None, _) => Err(NO_SUCH_UE),
                (Some(own), None) => Ok(Some(own.clone())),
                _ => Err((CauseRicRequest::ControlMessageInvalid, "the partial UE ID matches several UEs")),
            }
        }
        ControlTarget::Group(..) => {
            Err((CauseRicRequest::ActionNotSupported, "controls of groups of UEs are not offered in a virtual network"))
        }
        ControlTarget::NoUe => Err((CauseRicRequest::ControlMessageInvalid, "the control requires a UE")),
    }
}

/// The header with another UE ID.
pub(crate) fn with_ue(header: &[u8], detection: &Detection, ue_id: &UeId<'static>) -> Result<Vec<u8>, Error> {
    let Detection { revision, wire, .. } = *detection;
    let arena = Arena::new();
    let mut header = ControlHeader::decode_in(header, revision, wire, &arena)?;
    match &mut header.formats {
        ControlHeaderFormats::Format1(format) => format.ue_id = ue_id.clone(),
        ControlHeaderFormats::Format2(format) => format.ue_id = Some(ue_id.clone()),
        ControlHeaderFormats::Format4(partial) => {
            header.formats = ControlHeaderFormats::Format1(ControlHeaderFormat1 {
                ue_id: ue_id.clone(),
                ric_style_type: partial.ric_style_type,
                ric_control_action_id: partial.ric_control_action_id,
                ric_control_decision: partial.ric_control_decision,
            });
        }
        ControlHeaderFormats::Format3(_) => {}
    }
    let mut out = Vec::new();
    header.encode_in(revision, wire, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests;
