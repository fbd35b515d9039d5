//! Control headers, messages (RC 9.2.1.6 and 9.2.1.7) and outcomes (RC 9.2.1.8).

use per::{List, Per};

use super::{
    Decision, EntityFilterId, QueriedRanParameter, RanParameterElementItem, RanParameterItem, RanParameterTesting,
    RicControlActionId, UeGroupDefinition, UeGroupId,
};
use crate::common::{PartialUeId, RicStyleType, UeId};

/// E2SM-RC-ControlHeader.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlHeader<'a> {
    /// The header in its style's format.
    pub formats: ControlHeaderFormats<'a>,
}

crate::message::message!(ControlHeader, lists);

/// The formats of a control header.
// a message contains one value, and an arena does not free boxes
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlHeaderFormats<'a> {
    /// On a UE.
    Format1(ControlHeaderFormat1<'a>),
    /// Of several actions (control style 255).
    #[per(addition)]
    Format2(ControlHeaderFormat2<'a>),
    /// On a group of UEs (v03.00).
    #[per(addition, since = 2)]
    Format3(ControlHeaderFormat3<'a>),
    /// On a UE by part of its identifiers (v05.00).
    #[per(addition, since = 3)]
    Format4(ControlHeaderFormat4),
}

/// E2SM-RC-ControlHeader-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlHeaderFormat1<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// The control style.
    pub ric_style_type: RicStyleType,
    /// The action.
    pub ric_control_action_id: RicControlActionId,
    /// The decision on a suspended procedure.
    pub ric_control_decision: Option<Decision>,
}

/// E2SM-RC-ControlHeader-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlHeaderFormat2<'a> {
    /// The UE.
    pub ue_id: Option<UeId<'a>>,
    /// The decision on a suspended procedure.
    pub ric_control_decision: Option<Decision>,
}

/// E2SM-RC-ControlHeader-Format3 (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlHeaderFormat3<'a> {
    /// The number of the group.
    pub ue_group_id: UeGroupId,
    /// The UEs of the group.
    pub ue_group_definition: UeGroupDefinition<'a>,
    /// The control style.
    pub ric_style_type: RicStyleType,
    /// The action.
    pub ric_control_action_id: RicControlActionId,
}

/// E2SM-RC-ControlHeader-Format4 (v05.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct ControlHeaderFormat4 {
    /// The UE.
    pub partial_ueid: PartialUeId,
    /// The control style.
    pub ric_style_type: RicStyleType,
    /// The action.
    pub ric_control_action_id: RicControlActionId,
    /// The decision on a suspended procedure.
    pub ric_control_decision: Option<Decision>,
}

/// E2SM-RC-ControlMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessage<'a> {
    /// The message in its style's format.
    pub formats: ControlMessageFormats<'a>,
}

crate::message::message!(ControlMessage, lists);

/// The formats of a control message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlMessageFormats<'a> {
    /// Of one action.
    Format1(ControlMessageFormat1<'a>),
    /// Of several actions (control style 255).
    #[per(addition)]
    Format2(ControlMessageFormat2<'a>),
    /// Of one action with filters (v03.00).
    #[per(addition, since = 2)]
    Format3(ControlMessageFormat3<'a>),
    /// A query of parameters (v05.00).
    #[per(addition, since = 3)]
    Format4(ControlMessageFormat4<'a>),
    /// Empty (v05.00).
    #[per(addition, since = 3)]
    Format5,
}

/// E2SM-RC-ControlMessage-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessageFormat1<'a> {
    /// The parameters of the action.
    #[per(size = 0..=65535)]
    pub ran_p_list: List<'a, RanParameterItem<'a>>,
}

/// E2SM-RC-ControlMessage-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessageFormat2<'a> {
    /// By style.
    #[per(size = 1..=63)]
    pub control_style_list: List<'a, ControlMessageFormat2StyleItem<'a>>,
}

/// E2SM-RC-ControlMessage-Format2-Style-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessageFormat2StyleItem<'a> {
    /// The control style.
    pub indicated_control_style_type: RicStyleType,
    /// Its actions.
    #[per(size = 1..=63)]
    pub control_action_list: List<'a, ControlMessageFormat2ActionItem<'a>>,
}

/// E2SM-RC-ControlMessage-Format2-ControlAction-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessageFormat2ActionItem<'a> {
    /// The action.
    pub ric_control_action_id: RicControlActionId,
    /// Its parameters.
    pub ran_p_list: ControlMessageFormat1<'a>,
}

/// E2SM-RC-ControlMessage-Format3 (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessageFormat3<'a> {
    /// Parameters for entities that match a filter.
    #[per(size = 0..=255)]
    pub list_of_entity_filters: Option<List<'a, EntityFilter<'a>>>,
    /// Parameters for all entities.
    #[per(size = 0..=65535)]
    pub entity_agnostic_control_ran_p_list: Option<List<'a, RanParameterItem<'a>>>,
}

/// E2SM-RC-EntityFilter (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EntityFilter<'a> {
    /// The number of the filter.
    pub entity_filter_id: EntityFilterId,
    /// The condition.
    pub entity_filter_definition: RanParameterTesting<'a>,
    /// The parameters for entities that match.
    #[per(size = 1..=65535)]
    pub entity_specific_control_ran_p_list: List<'a, RanParameterItem<'a>>,
}

/// E2SM-RC-ControlMessage-Format4 (v05.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessageFormat4<'a> {
    /// The queried parameters.
    #[per(size = 0..=65535)]
    pub ran_p_list: List<'a, QueriedRanParameter<'a>>,
}

/// E2SM-RC-ControlOutcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcome<'a> {
    /// The outcome in its style's format.
    pub formats: ControlOutcomeFormats<'a>,
}

crate::message::message!(ControlOutcome, lists);

/// The formats of a control outcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlOutcomeFormats<'a> {
    /// Of one action.
    Format1(ControlOutcomeFormat1<'a>),
    /// Of several actions (control style 255).
    #[per(addition)]
    Format2(ControlOutcomeFormat2<'a>),
    /// Of one action, with structures and lists.
    #[per(addition)]
    Format3(ControlOutcomeFormat3<'a>),
}

/// E2SM-RC-ControlOutcome-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcomeFormat1<'a> {
    /// The outcome.
    #[per(size = 0..=255)]
    pub ran_p_list: List<'a, RanParameterElementItem<'a>>,
}

/// E2SM-RC-ControlOutcome-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcomeFormat2<'a> {
    /// By style.
    #[per(size = 1..=63)]
    pub control_style_list: List<'a, ControlOutcomeFormat2StyleItem<'a>>,
}

/// E2SM-RC-ControlOutcome-Format2-Style-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcomeFormat2StyleItem<'a> {
    /// The control style.
    pub indicated_control_style_type: RicStyleType,
    /// By action.
    #[per(size = 1..=63)]
    pub control_outcome_list: List<'a, ControlOutcomeFormat2OutcomeItem<'a>>,
}

/// E2SM-RC-ControlOutcome-Format2-ControlOutcome-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcomeFormat2OutcomeItem<'a> {
    /// The action.
    pub ric_control_action_id: RicControlActionId,
    /// The outcome.
    #[per(size = 1..=65535)]
    pub ran_p_list: List<'a, RanParameterElementItem<'a>>,
}

/// E2SM-RC-ControlOutcome-Format3.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcomeFormat3<'a> {
    /// The outcome.
    #[per(size = 0..=255)]
    pub ran_p_list: List<'a, RanParameterItem<'a>>,
}
