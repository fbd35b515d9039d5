//! The interface to the base station.

use std::borrow::Cow;

use e2sm::common::{Cgi, InterfaceIdentifier, InterfaceMessageId, RrcMessageId, UeId};
use e2sm::rc::dictionary::Breakpoint;
use e2sm::rc::{
    ActionId, ControlAction, E2NodeInfoChangeId, NeighborRelationInfo, RanParameterElementItem, RanParameterId,
    RanParameterValue, RrcState,
};
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;
use ferric::e2ap::Cause;

/// What a base station implements to support E2SM-RC. What it does not implement is not part of the RAN function
/// definition.
///
/// The base station reports events through [`RcSource::next_event`]. A procedure that reaches a supported breakpoint
/// ([`RcSource::breakpoints`]) is suspended until [`RcSource::resume`], which follows at once if no controller has
/// subscribed to the breakpoint.
pub trait RcSource {
    /// Brings the state up to date with `now`, before any other call. A real base station does nothing; an emulated one
    /// computes.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }

    /// The cells of the node.
    fn cells(&self) -> Vec<Cgi>;

    /// Appends the connected UEs.
    fn ues(&self, out: &mut Vec<Ue>);

    /// The UE ID of a connected UE.
    fn ue_id(&self, ue: Ue) -> UeId<'static>;

    /// The supported control actions (RC 7.6).
    fn control_actions(&self) -> &[ActionId];

    /// The top-level parameters of an action that the base station refuses: the RAN function definition omits them.
    fn refused_parameters(&self, action: ActionId) -> &[RanParameterId] {
        let _ = action;
        &[]
    }

    /// Executes a supported control action. `ue` is a connected UE, or `None` if the action [does not apply to
    /// UEs](ControlAction::is_about_ue) or the controller selected none. Returns the parameters of the control outcome.
    ///
    /// # Errors
    /// The reason, if nothing was changed.
    fn control(
        &mut self,
        now: Time,
        origin: Origin,
        ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal>;

    /// The control actions that policies may use (RC 7.7).
    fn policy_actions(&self) -> &[ActionId] {
        &[]
    }

    /// The breakpoints at which procedures can be suspended.
    fn breakpoints(&self) -> &[SupportedBreakpoint] {
        &[]
    }

    /// Resumes or cancels a suspended procedure; ignored if the procedure has ended meanwhile.
    fn resume(&mut self, now: Time, procedure: ProcedureId, verdict: Verdict<'_>) {
        let _ = (now, procedure, verdict);
    }

    /// The kinds of events, besides breakpoints, that [`RcSource::next_event`] returns.
    fn event_kinds(&self) -> &[EventKind] {
        &[]
    }

    /// The next event that occurred by `now`; each event is returned once.
    fn next_event(&mut self, now: Time) -> Option<Event> {
        let _ = now;
        None
    }

    /// Called with `true` at the first subscription and with `false` after the last one. While events are disabled, only
    /// [`Event::Breakpoint`] is required.
    fn set_events_enabled(&mut self, is_enabled: bool) {
        let _ = is_enabled;
    }

    /// The time at which [`RcSource::next_event`] is due: a past time if there are events now. It is also called earlier.
    fn next_event_time(&self) -> Option<Time> {
        None
    }

    /// The parameters of UEs that conditions may test and queries may request.
    fn ue_parameters(&self) -> &[SupportedParameter] {
        &[]
    }

    /// The value of such a parameter for a UE, if known.
    fn ue_parameter(&self, ue: Ue, id: RanParameterId) -> Option<RanParameterValue<'static>> {
        let _ = (ue, id);
        None
    }

    /// The RRC state of a UE, if known.
    fn rrc_state(&self, ue: Ue) -> Option<RrcState> {
        let _ = ue;
        None
    }

    /// The neighbor relation table of a cell.
    fn neighbor_relations(&self, cell: &Cgi) -> Option<NeighborRelationInfo<'static>> {
        let _ = cell;
        None
    }
}

/// The request that causes a control action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A control of this controller.
    Control(ControllerId),
    /// A policy of this controller.
    Policy(ControllerId),
}

/// The identifier of a suspended procedure, which the base station chooses. It is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcedureId(pub u64);

/// The decision on a suspended procedure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict<'a> {
    /// The procedure continues unchanged.
    Continue,
    /// The procedure continues with this action, which is of the same kind as the requested one.
    Replace(&'a ControlAction),
    /// The procedure ends.
    Cancel,
}

/// A breakpoint at which procedures can be suspended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedBreakpoint {
    /// The call process type and the breakpoint.
    pub breakpoint: Breakpoint,
    /// The name of the call process type.
    pub call_process: Cow<'static, str>,
    /// The name of the breakpoint.
    pub name: Cow<'static, str>,
    /// The insert indication that is sent there.
    pub insert: SupportedInsert,
}

/// An insert indication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedInsert {
    /// The insert style.
    pub style: i64,
    /// The insert indication ID within the style.
    pub indication: u16,
    /// The name of the insert indication.
    pub name: Cow<'static, str>,
    /// The control action that the procedure requests, and with which the controller answers.
    pub action: ActionId,
}

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Messages of network interfaces (NG, Xn, F1, ...): report style 1.
    NiMessages,
    /// RRC messages: report style 1.
    RrcMessages,
    /// Changes of the node and its cells: report style 3.
    NodeChanges,
    /// Changes of RRC states: report style 4.
    RrcStates,
}

/// An event of the base station.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The RRC state of a UE has changed.
    RrcState {
        /// The UE.
        ue: Ue,
        /// The new state.
        state: RrcState,
    },
    /// An RRC message was sent or received.
    RrcMessage {
        /// The UE.
        ue: Ue,
        /// The message type.
        id: RrcMessageId,
        /// Whether the UE sent it.
        from_ue: bool,
        /// The encoded message.
        octets: Vec<u8>,
    },
    /// A message of a network interface was sent or received.
    NiMessage {
        /// The UE that it concerns.
        ue: Ue,
        /// The interface.
        interface: InterfaceIdentifier,
        /// The message type.
        id: InterfaceMessageId,
        /// Whether the node received it.
        is_incoming: bool,
        /// The encoded message.
        octets: Vec<u8>,
    },
    /// A cell or its neighbor relations have changed.
    CellChanged {
        /// The cell.
        cell: Cgi,
        /// The kind of change, such as [`CELL_CONFIGURATION`](e2sm::rc::dictionary::node_change::CELL_CONFIGURATION).
        change: E2NodeInfoChangeId,
    },
    /// A procedure was suspended at a breakpoint.
    Breakpoint {
        /// The procedure.
        procedure: ProcedureId,
        /// The breakpoint.
        breakpoint: Breakpoint,
        /// The UE.
        ue: Ue,
        /// The action that it requests.
        wants: ControlAction,
    },
}

/// A parameter of UEs that a base station supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedParameter {
    /// The RAN parameter ID.
    pub id: RanParameterId,
    /// The RAN parameter name: 1 to 150 ASCII characters.
    pub name: Cow<'static, str>,
    /// Whether it is a layer 2 variable, for triggers on L2 state; otherwise it belongs to the UE context.
    pub is_layer_2: bool,
}

/// Why an action is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The E2AP cause.
    pub cause: Cause,
    /// The parameter at fault, if any.
    pub parameter: Option<RanParameterId>,
    /// The reason as text, for the log and the control outcome.
    pub reason: Cow<'static, str>,
}

impl Refusal {
    /// Creates a refusal that is not caused by a single parameter.
    pub fn new(cause: Cause, reason: impl Into<Cow<'static, str>>) -> Self {
        Refusal { cause, parameter: None, reason: reason.into() }
    }
}
