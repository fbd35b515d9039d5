//! What a base station implements.

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

/// What a base station implements, to offer E2SM-RC: the getters and setters of what it has. What it does not
/// implement is not offered.
///
/// A base station tells what happens through [`RcSource::next_event`]. A procedure that comes to a point which it
/// offers ([`RcSource::breakpoints`]) waits there until [`RcSource::resume`]: at once where nobody wants a say.
pub trait RcSource {
    /// It is `now`, before anything is asked or told. A base station that goes on by itself has nothing to do; a model of
    /// one computes.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }

    /// Its cells.
    fn cells(&self) -> Vec<Cgi>;

    /// Appends the UEs that are there.
    fn ues(&self, out: &mut Vec<Ue>);

    /// The name of a UE that is there.
    fn ue_id(&self, ue: Ue) -> UeId<'static>;

    /// The control actions that it carries out.
    fn control_actions(&self) -> &[ActionId];

    /// Carries out an action. The UE is one that is there; there is none where the action [is not about
    /// one](ControlAction::is_about_ue) or the controller named none. What comes back is told as the outcome.
    ///
    /// # Errors
    /// Why nothing was done.
    fn control(
        &mut self,
        now: Time,
        origin: Origin,
        ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal>;

    /// The actions that a policy may have it carry out by itself: some of its control actions.
    fn policy_actions(&self) -> &[ActionId] {
        &[]
    }

    /// The points at which its procedures stop to be asked about.
    fn breakpoints(&self) -> &[SupportedBreakpoint] {
        &[]
    }

    /// A procedure goes on, or not. One that is not there any more is nothing to worry about.
    fn resume(&mut self, now: Time, procedure: ProcedureId, verdict: Verdict<'_>) {
        let _ = (now, procedure, verdict);
    }

    /// The happenings that it tells of besides procedures.
    fn event_kinds(&self) -> &[EventKind] {
        &[]
    }

    /// What happened next, up to now; an event is told once.
    fn next_event(&mut self, now: Time) -> Option<Event> {
        let _ = now;
        None
    }

    /// Whether anybody has subscribed: while nobody has, it need not tell of anything but procedures.
    fn set_events_enabled(&mut self, is_watched: bool) {
        let _ = is_watched;
    }

    /// When [`RcSource::next_event`] is to be called: now where there is more to tell. It is called more often than that.
    fn next_event_time(&self) -> Option<Time> {
        None
    }

    /// The parameters of UEs that it knows, which conditions may test and queries may ask for.
    fn ue_parameters(&self) -> &[SupportedParameter] {
        &[]
    }

    /// One of those of a UE.
    fn ue_parameter(&self, ue: Ue, id: RanParameterId) -> Option<RanParameterValue<'static>> {
        let _ = (ue, id);
        None
    }

    /// The RRC state of a UE, where it is known.
    fn rrc_state(&self, ue: Ue) -> Option<RrcState> {
        let _ = ue;
        None
    }

    /// The neighbours of a cell.
    fn neighbor_relations(&self, cell: &Cgi) -> Option<NeighborRelationInfo<'static>> {
        let _ = cell;
        None
    }
}

/// Who wants something done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A control.
    Control(ControllerId),
    /// A policy, which a controller has set.
    Policy(ControllerId),
}

/// A procedure of a UE, as the base station numbers it. A number is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcedureId(pub u64);

/// How a procedure goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict<'a> {
    /// As it would have.
    Continue,
    /// In this way instead: an action of the kind that the procedure wanted.
    Replace(&'a ControlAction),
    /// Not at all.
    Cancel,
}

/// A point at which procedures stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedBreakpoint {
    /// The procedure and the point in it.
    pub breakpoint: Breakpoint,
    /// What the procedure is called.
    pub call_process: &'static str,
    /// What the point is called.
    pub name: &'static str,
    /// What is asked there.
    pub insert: SupportedInsert,
}

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedInsert {
    /// The insert style.
    pub style: i64,
    /// The question in it.
    pub indication: u16,
    /// What it is called.
    pub name: &'static str,
    /// The action that the procedure wants done, and by which it may be told to do otherwise.
    pub action: ActionId,
}

/// A kind of happenings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Messages of interfaces between nodes: report style 1.
    NiMessages,
    /// Messages of RRC: report style 1.
    RrcMessages,
    /// Changes of the node and its cells: report style 3.
    NodeChanges,
    /// Changes of RRC states: report style 4.
    RrcStates,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A UE has come to another RRC state.
    RrcState {
        /// The UE.
        ue: Ue,
        /// The state.
        state: RrcState,
    },
    /// A message of RRC.
    RrcMessage {
        /// The UE.
        ue: Ue,
        /// Which message.
        id: RrcMessageId,
        /// Whether it came from the UE.
        from_ue: bool,
        /// Its octets.
        octets: Vec<u8>,
    },
    /// A message of an interface between nodes.
    NiMessage {
        /// The UE that it is about.
        ue: Ue,
        /// Of which interface.
        interface: InterfaceIdentifier,
        /// Which message.
        id: InterfaceMessageId,
        /// Whether it came to the node.
        is_incoming: bool,
        /// Its octets.
        octets: Vec<u8>,
    },
    /// A cell or its neighbours have changed.
    CellChanged {
        /// The cell.
        cell: Cgi,
        /// What changed, such as [`CELL_CONFIGURATION`](e2sm::rc::dictionary::node_change::CELL_CONFIGURATION).
        change: E2NodeInfoChangeId,
    },
    /// A procedure has come to a point, and waits there.
    Breakpoint {
        /// The procedure.
        procedure: ProcedureId,
        /// Where it is.
        breakpoint: Breakpoint,
        /// The UE.
        ue: Ue,
        /// What it wants done.
        wants: ControlAction,
    },
}

/// A parameter of UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedParameter {
    /// Its number.
    pub id: RanParameterId,
    /// Its name: 1 to 150 characters of ASCII.
    pub name: &'static str,
    /// Whether it is a variable of layer 2, on which triggers of that kind are; else it is of the UE's context.
    pub is_layer_2: bool,
}

/// Why an action is not carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// What E2AP is told.
    pub cause: Cause,
    /// The parameter at fault, if it is one.
    pub parameter: Option<RanParameterId>,
    /// Why, in words: for the log and the outcome.
    pub reason: Cow<'static, str>,
}

impl Refusal {
    /// A refusal in words.
    pub fn new(cause: Cause, reason: impl Into<Cow<'static, str>>) -> Self {
        Refusal { cause, parameter: None, reason: reason.into() }
    }
}
