//! Action definitions of reports, inserts and policies (RC 9.2.1.2).

use per::{List, Per};

use super::{RanParameterItem, RanParameterTesting, RicControlActionId, RicInsertIndicationId, WantedRanParameter};
use crate::common::{RicStyleType, UeId};

/// E2SM-RC-ActionDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinition<'a> {
    /// The report, insert or policy style, of those that the RAN function definition offers.
    pub ric_style_type: RicStyleType,
    /// The definition in the style's format.
    pub formats: ActionDefinitionFormats<'a>,
}

crate::message::message!(ActionDefinition, lists);

/// The formats of an action definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ActionDefinitionFormats<'a> {
    /// Of a report.
    Format1(ActionDefinitionFormat1<'a>),
    /// Of a policy.
    Format2(ActionDefinitionFormat2<'a>),
    /// Of an insert.
    Format3(ActionDefinitionFormat3<'a>),
    /// Of an insert with several indications (insert style 255).
    #[per(addition)]
    Format4(ActionDefinitionFormat4<'a>),
}

/// E2SM-RC-ActionDefinition-Format1: a report.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat1<'a> {
    /// The parameters.
    #[per(size = 1..=65535)]
    pub to_be_reported_list: List<'a, WantedRanParameter<'a>>,
}

/// E2SM-RC-ActionDefinition-Format2: a policy.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat2<'a> {
    /// Its conditions, each with an action; the first that holds applies.
    #[per(size = 1..=65535)]
    pub policy_conditions_list: List<'a, ActionDefinitionFormat2Item<'a>>,
}

/// E2SM-RC-ActionDefinition-Format2-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat2Item<'a> {
    /// The action.
    pub policy_action: RicPolicyAction<'a>,
    /// The condition; if absent, the action always applies.
    pub policy_condition_definition: Option<RanParameterTesting<'a>>,
}

/// RIC-PolicyAction.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicPolicyAction<'a> {
    /// The action, from the control style of the same number.
    pub policy_action_id: RicControlActionId,
    /// Its parameters.
    #[per(size = 1..=65535)]
    pub ran_parameters_list: Option<List<'a, RanParameterItem<'a>>>,
    /// The decision on the procedure of the UE.
    #[per(addition)]
    pub policy_decision: Option<Decision>,
}

/// The decision on a procedure of a UE: RIC Control Decision, RIC Policy Decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Decision {
    /// The procedure continues.
    Accept,
    /// The procedure is rejected.
    Reject,
}

/// E2SM-RC-ActionDefinition-Format3: an insert.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat3<'a> {
    /// The indication.
    pub ric_insert_indication_id: RicInsertIndicationId,
    /// Its parameters.
    #[per(size = 1..=65535)]
    pub insert_indication_list: List<'a, WantedRanParameter<'a>>,
    /// The UE; if absent, any.
    pub ue_id: Option<UeId<'a>>,
}

/// E2SM-RC-ActionDefinition-Format4: several inserts at a time.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat4<'a> {
    /// By style.
    #[per(size = 1..=63)]
    pub insert_style_list: List<'a, ActionDefinitionFormat4StyleItem<'a>>,
    /// The UE; if absent, any.
    pub ue_id: Option<UeId<'a>>,
}

/// E2SM-RC-ActionDefinition-Format4-Style-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat4StyleItem<'a> {
    /// The insert style.
    pub requested_insert_style_type: RicStyleType,
    /// Its indications.
    #[per(size = 1..=63)]
    pub insert_indication_list: List<'a, ActionDefinitionFormat4IndicationItem<'a>>,
}

/// E2SM-RC-ActionDefinition-Format4-Indication-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat4IndicationItem<'a> {
    /// The indication.
    pub ric_insert_indication_id: RicInsertIndicationId,
    /// Its parameters.
    #[per(size = 1..=65535)]
    pub insert_indication_list: List<'a, WantedRanParameter<'a>>,
}
