//! Action definitions: what the node reports, asks or does (RC 9.2.1.2).

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

/// E2SM-RC-ActionDefinition-Format1: what to report.
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
    /// Its conditions, each with its action; the first that holds is the one.
    #[per(size = 1..=65535)]
    pub policy_conditions_list: List<'a, ActionDefinitionFormat2Item<'a>>,
}

/// E2SM-RC-ActionDefinition-Format2-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat2Item<'a> {
    /// What to do.
    pub policy_action: RicPolicyAction<'a>,
    /// When to do it; always where nothing is said.
    pub policy_condition_definition: Option<RanParameterTesting<'a>>,
}

/// RIC-PolicyAction.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicPolicyAction<'a> {
    /// What to do, as the control style of the same number has it.
    pub policy_action_id: RicControlActionId,
    /// Its parameters.
    #[per(size = 1..=65535)]
    pub ran_parameters_list: Option<List<'a, RanParameterItem<'a>>>,
    /// Whether to let the UE have what it wants.
    #[per(addition)]
    pub policy_decision: Option<Decision>,
}

/// Whether the node goes on with what a UE's procedure wants: RIC Control Decision, RIC Policy Decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Decision {
    /// It does.
    Accept,
    /// It does not.
    Reject,
}

/// E2SM-RC-ActionDefinition-Format3: what to ask.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat3<'a> {
    /// The question.
    pub ric_insert_indication_id: RicInsertIndicationId,
    /// What to tell with it.
    #[per(size = 1..=65535)]
    pub insert_indication_list: List<'a, WantedRanParameter<'a>>,
    /// Of which UE; any where nothing is said.
    pub ue_id: Option<UeId<'a>>,
}

/// E2SM-RC-ActionDefinition-Format4: several questions at a time.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat4<'a> {
    /// By style.
    #[per(size = 1..=63)]
    pub insert_style_list: List<'a, ActionDefinitionFormat4StyleItem<'a>>,
    /// Of which UE; any where nothing is said.
    pub ue_id: Option<UeId<'a>>,
}

/// E2SM-RC-ActionDefinition-Format4-Style-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat4StyleItem<'a> {
    /// The insert style.
    pub requested_insert_style_type: RicStyleType,
    /// Its questions.
    #[per(size = 1..=63)]
    pub insert_indication_list: List<'a, ActionDefinitionFormat4IndicationItem<'a>>,
}

/// E2SM-RC-ActionDefinition-Format4-Indication-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat4IndicationItem<'a> {
    /// The question.
    pub ric_insert_indication_id: RicInsertIndicationId,
    /// What to tell with it.
    #[per(size = 1..=65535)]
    pub insert_indication_list: List<'a, WantedRanParameter<'a>>,
}
