//! What a function offers of its specification, and what it requires of controls.

use std::borrow::Cow;

use e2sm::Arena;
use e2sm::common::UeId;
use e2sm::rc::{
    ActionId, ControlHeader, ControlHeaderFormats, ControlMessage, ControlMessageFormats, RanParameterId,
    RanParameterItem, RanParameterStructure, RanParameterValueType,
};
use ferric::agent::{ControllerId, Views};
use ferric::e2ap::{Cause, CauseRicRequest};

use super::subscription::reportable;
use super::{RcConfig, RcSource, Refusal, ues};

/// What a function offers of its specification, where that is less than it can: a request for the rest is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RcOffer {
    /// Several actions in one control (control style 255). Default: yes.
    pub multiple_actions: bool,
    /// Queries (v03.00 and later). Default: yes.
    pub queries: bool,
    /// Reports on demand (v01.03). Default: yes.
    pub on_demand_reports: bool,
    /// The parameters of report styles, besides those of [`RcSource::ue_parameters`]. Default: those of the specification.
    pub report_parameters: Option<Cow<'static, [ReportParameter]>>,
    /// Actions whose parameters the definition lists side by side, nested ones too, and only those with these IDs. Default:
    /// none; the definition shows the nesting.
    pub listed_parameters: Cow<'static, [(ActionId, &'static [u32])]>,
    /// Whether the definition counts formats, and the event trigger style of a report style, from 0, as FlexRIC does. Default: no.
    pub counts_from_zero: bool,
    /// Requirements on controls besides those of the specification. Default: none.
    pub requirements: Cow<'static, [ControlRequirement]>,
}

/// A parameter of a report style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportParameter {
    /// The number of the report style, 1 to 5.
    pub style: i64,
    /// The parameter.
    pub id: RanParameterId,
    /// Its name in the definition: 1 to 150 ASCII characters.
    pub name: &'static str,
}

impl Default for RcOffer {
    fn default() -> Self {
        RcOffer {
            multiple_actions: true,
            queries: true,
            on_demand_reports: true,
            report_parameters: None,
            listed_parameters: Cow::Borrowed(&[]),
            counts_from_zero: false,
            requirements: Cow::Borrowed(&[]),
        }
    }
}

impl RcOffer {
    /// The parameters of a report style that do not depend on the base station.
    pub(super) fn report_parameters(&self, style: i64) -> Vec<(RanParameterId, &'static str)> {
        match &self.report_parameters {
            None => reportable(style).to_vec(),
            Some(listed) => {
                let of_style = listed.iter().filter(|parameter| parameter.style == style);
                of_style.map(|parameter| (parameter.id, parameter.name)).collect()
            }
        }
    }

    /// The number of a format, or of the event trigger style of a report style, in the definition.
    pub(super) fn counted(&self, number: i64) -> i64 {
        if self.counts_from_zero { number - 1 } else { number }
    }

    /// The IDs of the parameters that the definition lists side by side; `None` if it shows their nesting.
    pub(super) fn listed(&self, action: ActionId) -> Option<&'static [u32]> {
        self.listed_parameters.iter().find(|(listed, _)| *listed == action).map(|(_, ids)| *ids)
    }
}

/// What a base station requires of the controls of an action. A control that lacks it is refused, and the outcome names the
/// parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlRequirement {
    /// The action.
    pub action: ActionId,
    /// Parameters that must be present, each with the IDs of those around it, outermost first. In a list every item must have
    /// it, under the ID of the item.
    pub parameters: &'static [&'static [u32]],
    /// The UE ID.
    pub ue_id: RequiredUeId,
}

/// What a base station requires of the UE ID of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredUeId {
    /// It identifies a UE, in the type that the node reports.
    Known,
    /// Also, it contains the gNB-CU UE F1AP ID of that UE.
    F1apId,
}

fn refuse<T>(cause: CauseRicRequest, parameter: Option<u32>, reason: String) -> Result<T, Refusal> {
    let parameter = parameter.map(RanParameterId);
    Err(Refusal { parameter, ..Refusal::new(Cause::RicRequest(cause), reason) })
}

/// Checks a control against the requirements on its action. What cannot be decoded is left to the caller.
pub(super) fn check<S: RcSource>(
    source: &S,
    config: &RcConfig,
    views: &Views,
    controller: ControllerId,
    header: &[u8],
    message: &[u8],
) -> Result<(), Refusal> {
    if config.offer.requirements.is_empty() {
        return Ok(());
    }
    let arena = Arena::new();
    let RcConfig { revision, wire, .. } = *config;
    let (Ok(header), Ok(message)) = (
        ControlHeader::decode_in(header, revision, wire, &arena),
        ControlMessage::decode_in(message, revision, wire, &arena),
    ) else {
        return Ok(());
    };
    let (ControlHeaderFormats::Format1(header), ControlMessageFormats::Format1(message)) =
        (&header.formats, &message.formats)
    else {
        return Ok(());
    };
    let action = ActionId { style: header.ric_style_type, action: header.ric_control_action_id };
    let Some(required) = config.offer.requirements.iter().find(|required| required.action == action) else {
        return Ok(());
    };
    for path in required.parameters {
        if let Some(missing) = first_missing(&message.ran_p_list, path) {
            let path: Vec<String> = path.iter().map(u32::to_string).collect();
            let reason = format!("RAN parameter {missing} is missing: {action} requires {}", path.join(" > "));
            return refuse(CauseRicRequest::ControlMessageInvalid, Some(missing), reason);
        }
    }
    let visible = ues::visible(source, views, controller);
    let Some(ue) = ues::find(source, &visible, &header.ue_id) else {
        return refuse(
            CauseRicRequest::ControlFailedToExecute,
            None,
            format!("{action} requires the UE ID of a UE here"),
        );
    };
    if required.ue_id == RequiredUeId::F1apId
        && f1ap_id(&header.ue_id).is_none_or(|id| f1ap_id(&source.ue_id(ue)) != Some(id))
    {
        let reason = format!("{action} requires the gNB-CU UE F1AP ID in the UE ID");
        return refuse(CauseRicRequest::ControlMessageInvalid, None, reason);
    }
    Ok(())
}

/// The first gNB-CU UE F1AP ID of a UE ID.
fn f1ap_id(ue_id: &UeId<'_>) -> Option<u32> {
    match ue_id {
        UeId::Gnb(ue) => ue.gnb_cu_ue_f1ap_id_list.iter().flatten().next().map(|item| item.gnb_cu_ue_f1ap_id.0),
        UeId::GnbDu(ue) => Some(ue.gnb_cu_ue_f1ap_id.0),
        _ => None,
    }
}

fn items_of<'s, 'a>(structure: &'s RanParameterStructure<'a>) -> &'s [RanParameterItem<'a>] {
    structure.parameters.as_deref().unwrap_or_default()
}

/// The outermost ID on a path at which there is no parameter, in any item of the lists on it.
fn first_missing(items: &[RanParameterItem<'_>], path: &[u32]) -> Option<u32> {
    let (id, within) = path.split_first()?;
    let Some(item) = items.iter().find(|item| item.ran_parameter_id.0 == *id) else { return Some(*id) };
    match &item.value_type {
        _ if within.is_empty() => None,
        RanParameterValueType::Structure(value) => first_missing(items_of(&value.structure), within),
        RanParameterValueType::List(value) if !value.list.list.is_empty() => {
            value.list.list.iter().find_map(|structure| first_missing(items_of(structure), within))
        }
        _ => within.first().copied(),
    }
}
