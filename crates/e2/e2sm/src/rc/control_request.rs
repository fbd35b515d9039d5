//! Controls: target, actions and the decision on a suspended procedure.

use per::IntoOwned;

use super::dictionary::MULTIPLE_ACTIONS;
use super::known::ParameterFault;
use super::{
    ActionId, ControlAction, ControlHeader, ControlHeaderFormat1, ControlHeaderFormat2, ControlHeaderFormat3,
    ControlHeaderFormat4, ControlHeaderFormats, ControlMessage, ControlMessageFormat1, ControlMessageFormat2,
    ControlMessageFormat2ActionItem, ControlMessageFormat2StyleItem, ControlMessageFormat3, ControlMessageFormat4,
    ControlMessageFormats, Decision, EntityFilter, OtherAction, ParameterError, QueriedRanParameter, RanParameterId,
    RanParameterItem, RanParameterTesting, Revision, UeGroupDefinition, UeGroupId,
};
use crate::common::{GnbCuUeF1apId, PartialUeId, RicStyleType, UeId, UeIdGnbDu};
use crate::{Arena, Error, Wire};

/// A control: header and message with named fields.
///
/// ```
/// use e2sm::common::{PlmnIdentity, SNssai, Sst};
/// use e2sm::rc::{Control, ControlAction, Revision, SlicePrbQuota};
///
/// let slice = SNssai { sst: Sst([1]), sd: None };
/// let quota = SlicePrbQuota::of_slice(PlmnIdentity::from_codes(1, 1, 2), slice, 30, 50);
/// let control = Control::of_cell(ControlAction::SlicePrbQuota(quota));
///
/// let (header, message) = control.encode(Revision::V1_03)?;
/// assert_eq!(Control::decode(&header, &message, Revision::V1_03)?, control);
/// # Ok::<(), e2sm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// The target.
    pub target: ControlTarget,
    /// The decision on the suspended procedure whose call process ID accompanies the control.
    pub decision: Option<Decision>,
    /// The actions.
    pub actions: ControlActions,
}

/// The target of a control.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlTarget {
    /// A UE.
    Ue(UeId<'static>),
    /// No particular UE; with [`ControlActions::Several`] only.
    NoUe,
    /// A group of UEs (v03.00).
    Group(UeGroupId, UeGroupDefinition<'static>),
    /// A UE by part of its identifiers (v05.00).
    Partial(PartialUeId),
}

/// The actions of a control.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlActions {
    /// One action.
    One(ControlAction),
    /// Several actions in this order, at least one (control style 255), on a UE or on no particular UE.
    Several(Vec<ControlAction>),
    /// One action with different parameters for the UEs or cells that match a filter (v03.00).
    Filtered(FilteredAction),
    /// No action: a query of the current values of an action's parameters (v05.00).
    Query(ActionId, Vec<RanParameterId>),
}

/// An action whose parameters depend on the entity that it applies to.
#[derive(Clone, Debug, PartialEq)]
pub struct FilteredAction {
    /// The action.
    pub id: ActionId,
    /// Parameters for the entities that match a filter; each filter has a number.
    pub filters: Vec<EntityFilter<'static>>,
    /// Parameters for all.
    pub for_all: Vec<RanParameterItem<'static>>,
}

impl FilteredAction {
    /// Returns the action on an entity for which `holds` evaluates conditions. Parameters of a filter replace those for all;
    /// the first filter that matches applies.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing, has the wrong type, is out of range or unknown.
    pub fn action(&self, holds: impl Fn(&RanParameterTesting<'_>) -> bool) -> Result<ControlAction, Error> {
        let passed = self.filters.iter().find(|filter| holds(&filter.entity_filter_definition));
        let own = passed.map_or(&[][..], |filter| &filter.entity_specific_control_ran_p_list);
        let is_own = |item: &&RanParameterItem<'_>| own.iter().any(|own| own.ran_parameter_id == item.ran_parameter_id);
        let common = self.for_all.iter().filter(|item| !is_own(item));
        let parameters: Vec<_> = own.iter().chain(common).cloned().collect();
        ControlAction::from_parameters(self.id, &parameters)
    }
}

impl Control {
    /// Returns a control of one action on a UE.
    #[must_use]
    pub const fn of_ue(ue: UeId<'static>, action: ControlAction) -> Self {
        Control { target: ControlTarget::Ue(ue), decision: None, actions: ControlActions::One(action) }
    }

    /// Returns a control of one action that does not concern a UE. Every header of E2SM-RC contains one: this one contains
    /// UE 0, which nodes ignore.
    #[must_use]
    pub const fn of_cell(action: ControlAction) -> Self {
        let no_ue = UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(0), ran_ueid: None, cell_rnti: None };
        Control::of_ue(UeId::GnbDu(no_ue), action)
    }

    /// Returns the decision on the suspended procedure of a UE.
    #[must_use]
    pub fn answer(ue: UeId<'static>, id: ActionId, decision: Decision) -> Self {
        let mut control = Control::of_ue(ue, bare(id));
        control.decision = Some(decision);
        control
    }

    /// Returns the same actions as the decision on a suspended procedure.
    #[must_use]
    pub fn deciding(mut self, decision: Decision) -> Self {
        self.decision = Some(decision);
        self
    }

    /// Encodes header and message.
    ///
    /// # Errors
    /// [`Error::Codec`] if the revision has no such control; [`Error::FormatsDoNotFit`] for a target that these actions
    /// cannot have.
    pub fn encode(&self, revision: Revision) -> Result<(Vec<u8>, Vec<u8>), Error> {
        self.encode_in(revision, Wire::Per)
    }

    /// As [`Control::encode`], in any encoding.
    ///
    /// # Errors
    /// As [`Control::encode`]; [`Error::NotInWire`].
    pub fn encode_in(&self, revision: Revision, wire: Wire) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (header, message) = self.formats()?;
        let (mut header_octets, mut message_octets) = (Vec::new(), Vec::new());
        ControlHeader { formats: header }.encode_in(revision, wire, &mut header_octets)?;
        ControlMessage { formats: message }.encode_in(revision, wire, &mut message_octets)?;
        Ok((header_octets, message_octets))
    }

    /// Returns header and message.
    pub(super) fn formats(&self) -> Result<(ControlHeaderFormats<'static>, ControlMessageFormats<'static>), Error> {
        Ok(match &self.actions {
            ControlActions::One(action) => (self.header(action.id())?, one(action)),
            ControlActions::Several(actions) => {
                let ue_id = match &self.target {
                    ControlTarget::Ue(ue) => Some(ue.clone()),
                    ControlTarget::NoUe => None,
                    ControlTarget::Group(..) | ControlTarget::Partial(_) => return Err(Error::FormatsDoNotFit),
                };
                let format = ControlHeaderFormat2 { ue_id, ric_control_decision: self.decision };
                (ControlHeaderFormats::Format2(format), several(actions))
            }
            ControlActions::Filtered(action) => (self.header(action.id)?, filtered(action)),
            ControlActions::Query(id, parameters) => (self.header(*id)?, encode_query(parameters)),
        })
    }

    fn header(&self, id: ActionId) -> Result<ControlHeaderFormats<'static>, Error> {
        let (ric_style_type, ric_control_action_id, ric_control_decision) = (id.style, id.action, self.decision);
        Ok(match self.target.clone() {
            ControlTarget::Ue(ue_id) => ControlHeaderFormats::Format1(ControlHeaderFormat1 {
                ue_id,
                ric_style_type,
                ric_control_action_id,
                ric_control_decision,
            }),
            ControlTarget::Group(ue_group_id, ue_group_definition) if self.decision.is_none() => {
                ControlHeaderFormats::Format3(ControlHeaderFormat3 {
                    ue_group_id,
                    ue_group_definition,
                    ric_style_type,
                    ric_control_action_id,
                })
            }
            ControlTarget::Partial(partial_ueid) => ControlHeaderFormats::Format4(ControlHeaderFormat4 {
                partial_ueid,
                ric_style_type,
                ric_control_action_id,
                ric_control_decision,
            }),
            ControlTarget::Group(..) | ControlTarget::NoUe => return Err(Error::FormatsDoNotFit),
        })
    }

    /// Decodes header and message.
    ///
    /// # Errors
    /// [`Error::Codec`], [`Error::Parameter`]; [`Error::FormatsDoNotFit`] if header and message do not belong to the same
    /// control.
    pub fn decode(header: &[u8], message: &[u8], revision: Revision) -> Result<Self, Error> {
        Control::decode_in(header, message, revision, Wire::Per)
    }

    /// As [`Control::decode`], in any encoding.
    ///
    /// # Errors
    /// As [`Control::decode`]; [`Error::NotInWire`].
    pub fn decode_in(header: &[u8], message: &[u8], revision: Revision, wire: Wire) -> Result<Self, Error> {
        let arena = Arena::new();
        let header = ControlHeader::decode_in(header, revision, wire, &arena)?;
        let message = ControlMessage::decode_in(message, revision, wire, &arena)?;
        let (target, decision, id) = match header.formats.into_owned() {
            ControlHeaderFormats::Format1(h) => {
                let id = ActionId { style: h.ric_style_type, action: h.ric_control_action_id };
                (ControlTarget::Ue(h.ue_id), h.ric_control_decision, Some(id))
            }
            ControlHeaderFormats::Format2(h) => {
                (h.ue_id.map_or(ControlTarget::NoUe, ControlTarget::Ue), h.ric_control_decision, None)
            }
            ControlHeaderFormats::Format3(h) => {
                let id = ActionId { style: h.ric_style_type, action: h.ric_control_action_id };
                (ControlTarget::Group(h.ue_group_id, h.ue_group_definition), None, Some(id))
            }
            ControlHeaderFormats::Format4(h) => {
                let id = ActionId { style: h.ric_style_type, action: h.ric_control_action_id };
                (ControlTarget::Partial(h.partial_ueid), h.ric_control_decision, Some(id))
            }
        };
        let actions = match (id, &message.formats) {
            // a decision on a suspended procedure may omit the parameters that the procedure contains
            (Some(id), ControlMessageFormats::Format1(format))
                if decision.is_some() && format.ran_p_list.is_empty() =>
            {
                ControlActions::One(bare(id))
            }
            (Some(id), ControlMessageFormats::Format5) if decision.is_some() => ControlActions::One(bare(id)),
            (Some(id), ControlMessageFormats::Format5) => ControlActions::One(ControlAction::from_parameters(id, &[])?),
            (Some(id), ControlMessageFormats::Format3(format)) => ControlActions::Filtered(FilteredAction {
                id,
                filters: format.list_of_entity_filters.iter().flatten().map(|f| f.clone().into_owned()).collect(),
                for_all: format
                    .entity_agnostic_control_ran_p_list
                    .iter()
                    .flatten()
                    .map(|item| item.clone().into_owned())
                    .collect(),
            }),
            (Some(id), ControlMessageFormats::Format4(format)) => ControlActions::Query(id, decode_query(format)?),
            (Some(id), ControlMessageFormats::Format1(format)) => {
                ControlActions::One(ControlAction::from_parameters(id, &format.ran_p_list)?)
            }
            // some senders put the style of several actions into a header that could omit it
            (None, ControlMessageFormats::Format2(format)) => ControlActions::Several(read_several(format, decision)?),
            (Some(id), ControlMessageFormats::Format2(format)) if id.style == RicStyleType(MULTIPLE_ACTIONS) => {
                ControlActions::Several(read_several(format, decision)?)
            }
            _ => return Err(Error::FormatsDoNotFit),
        };
        Ok(Control { target, decision, actions })
    }
}

fn one(action: &ControlAction) -> ControlMessageFormats<'static> {
    let ran_p_list = action.to_parameters().into();
    ControlMessageFormats::Format1(ControlMessageFormat1 { ran_p_list })
}

/// An action without parameters.
fn bare(id: ActionId) -> ControlAction {
    ControlAction::Other(OtherAction { id, parameters: Vec::new() })
}

fn filtered(action: &FilteredAction) -> ControlMessageFormats<'static> {
    // an empty list is absent
    ControlMessageFormats::Format3(ControlMessageFormat3 {
        list_of_entity_filters: (!action.filters.is_empty()).then(|| action.filters.clone().into()),
        entity_agnostic_control_ran_p_list: (!action.for_all.is_empty()).then(|| action.for_all.clone().into()),
    })
}

fn encode_query(parameters: &[RanParameterId]) -> ControlMessageFormats<'static> {
    let asked = |id: &RanParameterId| QueriedRanParameter { ran_parameter_id: *id, ran_parameter_definition: None };
    ControlMessageFormats::Format4(ControlMessageFormat4 { ran_p_list: parameters.iter().map(asked).collect() })
}

/// The queried parameters; a part of a structured parameter counts as the whole.
fn decode_query(format: &ControlMessageFormat4<'_>) -> Result<Vec<RanParameterId>, Error> {
    let asked = |item: &QueriedRanParameter<'_>| match item.ran_parameter_definition {
        None => Ok(item.ran_parameter_id),
        Some(_) => {
            let (id, fault) = (item.ran_parameter_id, ParameterFault::NotA("queried as a whole"));
            Err(Error::Parameter(ParameterError { id, name: None, within: None, fault }))
        }
    };
    format.ran_p_list.iter().map(asked).collect()
}

/// One item for each run of actions of the same style, which keeps their order.
fn several(actions: &[ControlAction]) -> ControlMessageFormats<'static> {
    let runs = actions.chunk_by(|a, b| a.id().style == b.id().style).map(|run| ControlMessageFormat2StyleItem {
        indicated_control_style_type: run[0].id().style,
        control_action_list: run
            .iter()
            .map(|action| ControlMessageFormat2ActionItem {
                ric_control_action_id: action.id().action,
                ran_p_list: ControlMessageFormat1 { ran_p_list: action.to_parameters().into() },
            })
            .collect(),
    });
    ControlMessageFormats::Format2(ControlMessageFormat2 { control_style_list: runs.collect() })
}

fn read_several(format: &ControlMessageFormat2<'_>, decision: Option<Decision>) -> Result<Vec<ControlAction>, Error> {
    let mut actions = Vec::new();
    for style in &format.control_style_list {
        for item in &style.control_action_list {
            let id = ActionId { style: style.indicated_control_style_type, action: item.ric_control_action_id };
            let parameters = &item.ran_p_list.ran_p_list;
            actions.push(if decision.is_some() && parameters.is_empty() {
                bare(id)
            } else {
                ControlAction::from_parameters(id, parameters)?
            });
        }
    }
    Ok(actions)
}
