//! Event triggers: when the node reports, asks or acts (RC 9.2.1.1).

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
    /// A message comes or goes.
    Format1(EventTriggerFormat1<'a>),
    /// A procedure of a UE comes to a point.
    Format2(EventTriggerFormat2<'a>),
    /// Something of the node or a cell changes.
    Format3(EventTriggerFormat3<'a>),
    /// Something of a UE changes.
    Format4(EventTriggerFormat4<'a>),
    /// At once (v01.03).
    #[per(until = 1)]
    Format5(EventTriggerFormat5<'a>),
    /// What became of format 5 when queries took its place (v03.00).
    #[per(since = 2)]
    Unused5,
}

/// E2SM-RC-EventTrigger-Format1: messages.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat1<'a> {
    /// Which messages.
    #[per(size = 1..=65535)]
    pub message_list: List<'a, EventTriggerFormat1Item<'a>>,
    /// Of which UEs, for all of the messages.
    pub global_associated_ue_info: Option<EventTriggerUeInfo<'a>>,
}

/// E2SM-RC-EventTrigger-Format1-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat1Item<'a> {
    /// The condition's number.
    pub ric_event_trigger_condition_id: RicEventTriggerConditionId,
    /// Which message.
    pub message_type: MessageTypeChoice,
    /// Whether it comes or goes; both where nothing is said.
    pub message_direction: Option<MessageDirection>,
    /// Of which UEs.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
    /// Together with what else of the UE.
    pub associated_ue_event: Option<EventTriggerUeEventInfo<'a>>,
    /// Whether the condition is an alternative to the next one.
    pub logical_or: Option<LogicalOr>,
}

/// Where a message of an [`EventTriggerFormat1Item`] goes.
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
    /// Of an interface between nodes.
    Ni(MessageTypeNi),
    /// Of RRC.
    Rrc(MessageTypeRrc),
}

/// MessageType-Choice-NI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct MessageTypeNi {
    /// The kind of interface.
    pub ni_type: InterfaceType,
    /// Which of that kind; all where nothing is said.
    pub ni_identifier: Option<InterfaceIdentifier>,
    /// Which message; all where nothing is said.
    pub ni_message: Option<InterfaceMessageId>,
}

/// MessageType-Choice-RRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct MessageTypeRrc {
    /// Which message.
    pub rrc_message: RrcMessageId,
}

/// E2SM-RC-EventTrigger-Format2: a point in a procedure.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat2<'a> {
    /// Which procedure.
    pub ric_call_process_type_id: RicCallProcessTypeId,
    /// Which point in it.
    pub ric_call_process_breakpoint_id: RicCallProcessBreakpointId,
    /// Conditions on the node.
    pub associated_e2_node_info: Option<RanParameterTesting<'a>>,
    /// Of which UEs.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
}

/// E2SM-RC-EventTrigger-Format3: changes of the node.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat3<'a> {
    /// Which changes.
    #[per(size = 1..=65535)]
    pub e2_node_info_change_list: List<'a, EventTriggerFormat3Item<'a>>,
}

/// E2SM-RC-EventTrigger-Format3-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat3Item<'a> {
    /// The condition's number.
    pub ric_event_trigger_condition_id: RicEventTriggerConditionId,
    /// What changes.
    pub e2_node_info_change_id: E2NodeInfoChangeId,
    /// Of which cells.
    pub associated_cell_info: Option<EventTriggerCellInfo<'a>>,
    /// Whether the condition is an alternative to the next one.
    pub logical_or: Option<LogicalOr>,
}

/// E2SM-RC-EventTrigger-Format4: changes of UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat4<'a> {
    /// Which changes.
    #[per(size = 1..=65535)]
    pub ue_info_change_list: List<'a, EventTriggerFormat4Item<'a>>,
}

/// E2SM-RC-EventTrigger-Format4-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat4Item<'a> {
    /// The condition's number.
    pub ric_event_trigger_condition_id: RicEventTriggerConditionId,
    /// What changes.
    pub trigger_type: TriggerTypeChoice<'a>,
    /// Of which UEs.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
    /// Whether the condition is an alternative to the next one.
    pub logical_or: Option<LogicalOr>,
}

/// TriggerType-Choice: what changes of a UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum TriggerTypeChoice<'a> {
    /// Its RRC state.
    RrcState(TriggerTypeRrcState<'a>),
    /// One of its names.
    UeId(TriggerTypeUeId),
    /// Variables of layer 2.
    L2State(TriggerTypeL2State<'a>),
    /// Its context (v03.00).
    #[per(addition, since = 2)]
    UeContext(TriggerTypeUeContext<'a>),
    /// How the MAC layer schedules it (v03.00).
    #[per(addition, since = 2)]
    L2MacSchChg(TriggerTypeL2MacSchChg),
}

/// TriggerType-Choice-RRCstate.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct TriggerTypeRrcState<'a> {
    /// The states that it may come to.
    #[per(size = 1..=8)]
    pub rrc_state_list: List<'a, TriggerTypeRrcStateItem>,
}

/// TriggerType-Choice-RRCstate-Item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct TriggerTypeRrcStateItem {
    /// The state.
    pub state_changed_to: RrcState,
    /// Whether it is an alternative to the next one.
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
    /// Any of them.
    Any,
}

/// TriggerType-Choice-UEID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct TriggerTypeUeId {
    /// Which of its names.
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
    /// What changes.
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
    /// What it comes to be.
    pub mimo_trans_mode_state: MimoTransModeState,
}

/// Whether MIMO is used (v03.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum MimoTransModeState {
    /// It is.
    Enabled,
    /// It is not.
    Disabled,
}

/// E2SM-RC-EventTrigger-Format5: at once (v01.03).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerFormat5<'a> {
    /// Now.
    pub on_demand: True,
    /// Of which UEs.
    pub associated_ue_info: Option<EventTriggerUeInfo<'a>>,
    /// Of which cells.
    pub associated_cell_info: Option<EventTriggerCellInfo<'a>>,
}

/// EventTrigger-Cell-Info: which cells.
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
    /// Whether it is an alternative to the next one.
    pub logical_or: Option<LogicalOr>,
}

/// The cells of an [`EventTriggerCellInfoItem`].
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum EventTriggerCellType<'a> {
    /// One.
    Individual(EventTriggerCellIndividual),
    /// Those that meet conditions.
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

/// EventTrigger-UE-Info: which UEs.
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
    /// Whether it is an alternative to the next one.
    pub logical_or: Option<LogicalOr>,
}

/// The UEs of an [`EventTriggerUeInfoItem`].
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum EventTriggerUeType<'a> {
    /// One.
    Individual(EventTriggerUeIndividual<'a>),
    /// Those that meet conditions.
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

/// EventTrigger-UEevent-Info: what happens to a UE.
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
    /// Whether it is an alternative to the next one.
    pub logical_or: Option<LogicalOr>,
}
