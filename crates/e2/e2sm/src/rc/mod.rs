//! E2SM-RC: RAN control (v01.03, v03.00 and v05.00).
//!
//! One set of types serves all revisions. [`Revision`] selects the wire format, and [`Detection`] determines the revision
//! of a node.
//!
//! Messages identify RAN parameters by number. [`Control`] and [`ControlAction`] are controls with named fields, [`Plan`]
//! is a subscription to a report, an insert or a policy, and [`dictionary`] contains the names of styles and actions.
//!
//! ```
//! use e2sm::rc::{CallProcessId, Revision};
//!
//! let mut bytes = Vec::new();
//! CallProcessId::new(7).encode(Revision::V3_00, &mut bytes)?;
//! assert_eq!(CallProcessId::decode(&bytes, Revision::V3_00)?.number(), 7);
//! # Ok::<(), per::Error>(())
//! ```

mod action;
mod bearer;
mod check;
mod conditional;
mod control;
mod control_action;
mod control_request;
mod definition;
mod definition_scope;
pub mod dictionary;
mod drx;
mod fit;
mod flows;
mod handover;
mod handover_rule;
mod identifiers;
mod indication;
mod known;
mod measurement;
mod neighbor;
mod parameter;
mod plan;
mod query;
mod quota;
mod revision;
mod testing;
mod trigger;

pub use crate::Reason;
pub use action::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormat2Item,
    ActionDefinitionFormat3, ActionDefinitionFormat4, ActionDefinitionFormat4IndicationItem,
    ActionDefinitionFormat4StyleItem, ActionDefinitionFormats, Decision, RicPolicyAction,
};
pub use bearer::{AllocationAndRetention, DrbQos, FlowRates, GuaranteedRates, PacketErrorRate};
pub use check::{ControlCheck, ControlMismatch, MismatchedParameter, Undescribed, check_action, check_control};
pub use conditional::ConditionalHandover;
pub use control::{
    ControlHeader, ControlHeaderFormat1, ControlHeaderFormat2, ControlHeaderFormat3, ControlHeaderFormat4,
    ControlHeaderFormats, ControlMessage, ControlMessageFormat1, ControlMessageFormat2,
    ControlMessageFormat2ActionItem, ControlMessageFormat2StyleItem, ControlMessageFormat3, ControlMessageFormat4,
    ControlMessageFormats, ControlOutcome, ControlOutcomeFormat1, ControlOutcomeFormat2,
    ControlOutcomeFormat2OutcomeItem, ControlOutcomeFormat2StyleItem, ControlOutcomeFormat3, ControlOutcomeFormats,
    EntityFilter,
};
pub use control_action::{ActionId, ControlAction, OtherAction};
pub use control_request::{Control, ControlActions, ControlTarget, FilteredAction};
pub use definition::{
    AdditionalSupportedFormat, ControlActionItem, ControlActionParameterItem, ControlStyleItem,
    EventTriggerBreakpointItem, EventTriggerCallProcessItem, EventTriggerStyleItem, InsertIndicationItem,
    InsertStyleItem, PolicyActionItem, PolicyStyleItem, QueryStyleItem, RanFunctionDefinition,
    RanFunctionDefinitionControl, RanFunctionDefinitionEventTrigger, RanFunctionDefinitionInsert,
    RanFunctionDefinitionPolicy, RanFunctionDefinitionQuery, RanFunctionDefinitionReport, ReportStyleItem,
};
pub use drx::{Drx, LONG_DRX_CYCLES_MS, SHORT_DRX_CYCLES_MS};
pub use fit::NodeControl;
pub use flows::{FlowDirection, MappedFlow, QosFlowMapping};
pub use handover::Handover;
pub use handover_rule::{
    HandoverOutcome, HandoverRule, RuleCondition, RuleFault, check_rules, comparison, comparison_name, handover_policy,
};
pub use identifiers::{
    E2NodeInfoChangeId, EntityFilterId, RanCallProcessId, RanParameterId, RanParameterName, RicCallProcessBreakpointId,
    RicCallProcessBreakpointName, RicCallProcessTypeId, RicCallProcessTypeName, RicControlActionId,
    RicControlActionName, RicEventTriggerCellId, RicEventTriggerConditionId, RicEventTriggerUeEventId,
    RicEventTriggerUeId, RicInsertIndicationId, RicInsertIndicationName, UeFilterId, UeGroupId, UeIdChangeId,
};
pub use indication::{
    CallProcessId, CallProcessIdFormat1, CallProcessIdFormats, IndicationHeader, IndicationHeaderFormat1,
    IndicationHeaderFormat2, IndicationHeaderFormat3, IndicationHeaderFormats, IndicationMessage,
    IndicationMessageFormat1, IndicationMessageFormat2, IndicationMessageFormat2Item, IndicationMessageFormat3,
    IndicationMessageFormat3Item, IndicationMessageFormat4, IndicationMessageFormat4ItemCell,
    IndicationMessageFormat4ItemUe, IndicationMessageFormat5, IndicationMessageFormat6,
    IndicationMessageFormat6IndicationItem, IndicationMessageFormat6StyleItem, IndicationMessageFormats,
};
pub use known::{KnownParameter, ParameterError, ParameterFault, Shape};
pub use measurement::{
    MEASUREMENT_IDENTITY, MeasurementChange, MeasurementCondition, MeasurementEvent, MeasurementTrigger,
    REPORT_INTERVALS_MS, TIMES_TO_TRIGGER_MS,
};
pub use neighbor::{Flag, NeighborCellEutra, NeighborCellItem, NeighborCellNr, NeighborRelationInfo, NrModeInfo};
pub use parameter::{
    OfferedRanParameter, OptionalRanParameterItem, QueriedRanParameter, RanParameterDefinition,
    RanParameterDefinitionChoice, RanParameterDefinitionItem, RanParameterDefinitionList,
    RanParameterDefinitionStructure, RanParameterElementFalse, RanParameterElementItem, RanParameterElementTrue,
    RanParameterItem, RanParameterList, RanParameterStructure, RanParameterValue, RanParameterValueType,
    RanParameterValueTypeList, RanParameterValueTypeStructure, WantedRanParameter,
};
pub use plan::{HandoverRequest, Plan, Rule, interface_message, rrc_message, rrc_states};
pub use query::{
    AssociatedUeInfo, AssociatedUeInfoItem, AssociatedUeType, QueryDefinition, QueryDefinitionFormat1,
    QueryDefinitionFormats, QueryHeader, QueryHeaderFormat1, QueryHeaderFormats, QueryOutcome, QueryOutcomeFormat1,
    QueryOutcomeFormat1ItemCell, QueryOutcomeFormat2, QueryOutcomeFormat2ItemUe, QueryOutcomeFormats, UeQuery,
};
pub use quota::{RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota};
pub use revision::{Detection, OID, Revision};
pub use testing::{
    Comparison, LogicalOr, Presence, RanParameterTesting, RanParameterTestingCondition,
    RanParameterTestingElementFalse, RanParameterTestingElementTrue, RanParameterTestingItem, RanParameterTestingList,
    RanParameterTestingStructure, RanParameterTestingType, UeGroupDefinition, UeGroupDefinitionIdentifierItem,
};
pub use trigger::{
    EventTrigger, EventTriggerCellIndividual, EventTriggerCellInfo, EventTriggerCellInfoItem, EventTriggerCellType,
    EventTriggerFormat1, EventTriggerFormat1Item, EventTriggerFormat2, EventTriggerFormat3, EventTriggerFormat3Item,
    EventTriggerFormat4, EventTriggerFormat4Item, EventTriggerFormat5, EventTriggerFormats, EventTriggerGroup,
    EventTriggerUeEventInfo, EventTriggerUeEventInfoItem, EventTriggerUeIndividual, EventTriggerUeInfo,
    EventTriggerUeInfoItem, EventTriggerUeType, L2MacSchChgTypeChoice, MessageDirection, MessageTypeChoice,
    MessageTypeNi, MessageTypeRrc, MimoTransModeState, RrcState, TriggerTypeChoice, TriggerTypeL2MacSchChg,
    TriggerTypeL2State, TriggerTypeMimoAndBfConfig, TriggerTypeRrcState, TriggerTypeRrcStateItem, TriggerTypeUeContext,
    TriggerTypeUeId,
};
