//! Event triggers (RC 9.2.1.1).

use per::{List, Per};

use super::{
    E2NodeInfoChangeId, LogicalOr, RanParameterTesting, RicCallProcessBreakpointId, RicCallProcessTypeId,
    RicEventTriggerCellId, RicEventTriggerConditionId, RicEventTriggerUeEventId, RicEventTriggerUeId, UeIdChangeId,
};
use crate::common::{Cgi, InterfaceIdentifier, InterfaceMessageId, InterfaceType, RrcMessageId, True, UeId};

/// E2SM-RC-EventTrigger.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTrigger<'a> {
    /// The trigger in its style's format.
    pub formats: EventTriggerFormats<'a>,
}

crate::message::message!(EventTrigger, lists);

/// The formats of an event trigger.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum EventTriggerFormats<'a> {
    /// A message is received or sent.
    Format1(EventTriggerFormat1<'a>),
    /// A procedure of a UE reaches a breakpoint.
    Format2(EventTriggerFormat2<'a>),
    /// The node or a cell changes.
    Format3(EventTriggerFormat3<'a>),
    /// A UE changes.
    Format4(EventTriggerFormat4<'a>),
    /// Immediately (v01.03).
    #[per(until = 1)]
    Format5(EventTriggerFormat5<'a>),
    /// The placeholder of format 5, which queries replaced (v03.00).
    #[per(since = 2)]
    Unused5,
}

/// E2SM-RC-EventTrigger-Format1: messages.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat1<'a> {
    /// The messages.
    #[per(size = 1..=65535)]
    pub message_list: List<'a, EventTriggerFormat1Item<'a>>,
    /// The UEs of all messages.
    pub global_associated_ue_info: Option<EventTriggerUeInfo<'a>>,
}

/// E2SM-RC-EventTrigger-Format1-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat1Item<'a> {
    /// The number of the condition.
    pub ric_event_trigger_condition_id: RicEventTriggerConditionId,
    /// The message.
    pub message_type: MessageTypeChoice,
    /// The direction; if absent, both.
    pub message_direction: Option<MessageDirection>,
    /// The UEs.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
    /// Additional events of the UE.
    pub associated_ue_event: Option<EventTriggerUeEventInfo<'a>>,
    /// Whether the condition is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}

/// The direction of a message of an [`EventTriggerFormat1Item`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum MessageDirection {
    /// To the node.
    Incoming,
    /// From the node.
    Outgoing,
}

/// MessageType-Choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum MessageTypeChoice {
    /// A message of a network interface.
    Ni(MessageTypeNi),
    /// A message of RRC.
    Rrc(MessageTypeRrc),
}

/// MessageType-Choice-NI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct MessageTypeNi {
    /// The type of interface.
    pub ni_type: InterfaceType,
    /// The interface; if absent, all of that type.
    pub ni_identifier: Option<InterfaceIdentifier>,
    /// The message; if absent, all.
    pub ni_message: Option<InterfaceMessageId>,
}

/// MessageType-Choice-RRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct MessageTypeRrc {
    /// The message.
    pub rrc_message: RrcMessageId,
}

/// E2SM-RC-EventTrigger-Format2: a breakpoint of a procedure.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat2<'a> {
    /// The procedure.
    pub ric_call_process_type_id: RicCallProcessTypeId,
    /// The breakpoint.
    pub ric_call_process_breakpoint_id: RicCallProcessBreakpointId,
    /// Conditions on the node.
    pub associated_e2_node_info: Option<RanParameterTesting<'a>>,
    /// The UEs.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
}

/// E2SM-RC-EventTrigger-Format3: changes of the node.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat3<'a> {
    /// The changes.
    #[per(size = 1..=65535)]
    pub e2_node_info_change_list: List<'a, EventTriggerFormat3Item<'a>>,
}

/// E2SM-RC-EventTrigger-Format3-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat3Item<'a> {
    /// The number of the condition.
    pub ric_event_trigger_condition_id: RicEventTriggerConditionId,
    /// The change.
    pub e2_node_info_change_id: E2NodeInfoChangeId,
    /// The cells.
    pub associated_cell_info: Option<EventTriggerCellInfo<'a>>,
    /// Whether the condition is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}

/// E2SM-RC-EventTrigger-Format4: changes of UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat4<'a> {
    /// The changes.
    #[per(size = 1..=65535)]
    pub ue_info_change_list: List<'a, EventTriggerFormat4Item<'a>>,
}

/// E2SM-RC-EventTrigger-Format4-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat4Item<'a> {
    /// The number of the condition.
    pub ric_event_trigger_condition_id: RicEventTriggerConditionId,
    /// The change.
    pub trigger_type: TriggerTypeChoice<'a>,
    /// The UEs.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
    /// Whether the condition is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}

/// TriggerType-Choice: the change of a UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum TriggerTypeChoice<'a> {
    /// Its RRC state.
    RrcState(TriggerTypeRrcState<'a>),
    /// One of its identifiers.
    UeId(TriggerTypeUeId),
    /// Layer 2 variables.
    L2State(TriggerTypeL2State<'a>),
    /// Its context (v03.00).
    #[per(addition, since = 2)]
    UeContext(TriggerTypeUeContext<'a>),
    /// MAC scheduling (v03.00).
    #[per(addition, since = 2)]
    L2MacSchChg(TriggerTypeL2MacSchChg),
}

/// TriggerType-Choice-RRCstate.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct TriggerTypeRrcState<'a> {
    /// The states that it may enter.
    #[per(size = 1..=8)]
    pub rrc_state_list: List<'a, TriggerTypeRrcStateItem>,
}

/// TriggerType-Choice-RRCstate-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct TriggerTypeRrcStateItem {
    /// The state.
    pub state_changed_to: RrcState,
    /// Whether it is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}

/// RRC-State.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RrcState {
    /// `RRC_CONNECTED`.
    RrcConnected,
    /// `RRC_INACTIVE`.
    RrcInactive,
    /// `RRC_IDLE`.
    RrcIdle,
    /// Any state.
    Any,
}

/// TriggerType-Choice-UEID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct TriggerTypeUeId {
    /// The identifier.
    pub ue_id_change_id: UeIdChangeId,
}

/// TriggerType-Choice-L2state.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct TriggerTypeL2State<'a> {
    /// The conditions on layer 2.
    pub associated_l2_variables: RanParameterTesting<'a>,
}

/// TriggerType-Choice-UEcontext (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct TriggerTypeUeContext<'a> {
    /// The conditions on the context.
    pub associated_ue_ctxt_variables: RanParameterTesting<'a>,
}

/// TriggerType-Choice-L2MACschChg (v03.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct TriggerTypeL2MacSchChg {
    /// The change.
    pub l2_mac_sch_chg_type: L2MacSchChgTypeChoice,
}

/// L2MACschChgType-Choice (v03.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum L2MacSchChgTypeChoice {
    /// MIMO and beamforming.
    MimoAndBfConfig(TriggerTypeMimoAndBfConfig),
}

/// TriggerType-Choice-MIMOandBFconfig (v03.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct TriggerTypeMimoAndBfConfig {
    /// The new state.
    pub mimo_trans_mode_state: MimoTransModeState,
}

/// The use of MIMO (v03.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum MimoTransModeState {
    /// MIMO is used.
    Enabled,
    /// MIMO is not used.
    Disabled,
}

/// E2SM-RC-EventTrigger-Format5: immediately (v01.03).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat5<'a> {
    /// On demand.
    pub on_demand: True,
    /// The UEs.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
    /// The cells.
    pub associated_cell_info: Option<EventTriggerCellInfo<'a>>,
}

/// EventTrigger-Cell-Info: a selection of cells.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerCellInfo<'a> {
    /// The cells.
    #[per(size = 1..=65535)]
    pub cell_info_list: List<'a, EventTriggerCellInfoItem<'a>>,
}

/// EventTrigger-Cell-Info-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerCellInfoItem<'a> {
    /// Its number.
    pub event_trigger_cell_id: RicEventTriggerCellId,
    /// The cell or cells.
    pub cell_type: EventTriggerCellType<'a>,
    /// Whether it is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}

/// The cells of an [`EventTriggerCellInfoItem`].
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum EventTriggerCellType<'a> {
    /// One.
    Individual(EventTriggerCellIndividual),
    /// All that meet conditions.
    Group(EventTriggerGroup<'a>),
}

/// EventTrigger-Cell-Info-Item-Choice-Individual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EventTriggerCellIndividual {
    /// The cell.
    pub cell_global_id: Cgi,
}

/// EventTrigger-Cell-Info-Item-Choice-Group and EventTrigger-UE-Info-Item-Choice-Group.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerGroup<'a> {
    /// The conditions.
    pub ran_parameter_testing: RanParameterTesting<'a>,
}

/// EventTrigger-UE-Info: a selection of UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerUeInfo<'a> {
    /// The UEs.
    #[per(size = 1..=65535)]
    pub ue_info_list: List<'a, EventTriggerUeInfoItem<'a>>,
}

/// EventTrigger-UE-Info-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerUeInfoItem<'a> {
    /// Its number.
    pub event_trigger_ue_id: RicEventTriggerUeId,
    /// The UE or UEs.
    pub ue_type: EventTriggerUeType<'a>,
    /// Whether it is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}

/// The UEs of an [`EventTriggerUeInfoItem`].
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum EventTriggerUeType<'a> {
    /// One.
    Individual(EventTriggerUeIndividual<'a>),
    /// All that meet conditions.
    Group(EventTriggerGroup<'a>),
}

/// EventTrigger-UE-Info-Item-Choice-Individual.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerUeIndividual<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// Conditions on it.
    pub ran_parameter_testing: Option<RanParameterTesting<'a>>,
}

/// EventTrigger-UEevent-Info: events of a UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerUeEventInfo<'a> {
    /// The events.
    #[per(size = 1..=65535)]
    pub ue_event_list: List<'a, EventTriggerUeEventInfoItem>,
}

/// EventTrigger-UEevent-Info-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EventTriggerUeEventInfoItem {
    /// The event.
    pub ue_event_id: RicEventTriggerUeEventId,
    /// Whether it is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}
