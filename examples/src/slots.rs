//! What xApps that schedule a cell slot by slot have in common (E2SM-LLC): the UEs as the reports of a cell show them, and decisions as
//! controls.
//!
//! Each millisecond a cell reports its buffers, its HARQ feedback and the slot that begins, and at its arrival the channel state of UEs.
//! The xApp then decides about the slots of the next millisecond, or about later ones: [`SlotConfig::delay_slots`]. A [`SlotXapp`]
//! decides within the call that reads the report; [`SlotBatches`] collects the slots of all reports that were read, for one answer.

mod batch;
mod cell;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use e2sm::Arena;
use e2sm::llc::{ActionDefinition, EventTrigger, IndicationMessage, LowerLayersInfoType, LowerLayersMeasType, OID};
use ferric::Error;
use ferric::e2::{Action, ControlOutcome, NodeId, SubscriptionSpec, Ticket};
use ferric::e2ap::{RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{Commands, Indication, RequestEvent, Xapp, XappConfig, XappEvent};
use per::Gather;

pub use batch::{BatchMisuse, BatchSlot, SlotBatch, SlotBatches};
use cell::SlotCell;

/// How an xApp schedules.
#[derive(Clone, Debug)]
pub struct SlotConfig {
    /// The resource blocks of the cells. Default: 106.
    pub blocks: u16,
    /// Slots from the one that a report names to the one that is decided. Without any, a decision is in time only where the model
    /// waits for it. Default: 2.
    pub delay_slots: u64,
    /// The session, where it is opened here.
    pub session: XappConfig,
}

impl Default for SlotConfig {
    fn default() -> Self {
        SlotConfig { blocks: 106, delay_slots: 2, session: XappConfig::default() }
    }
}

/// A UE of a cell, at the beginning of a slot that is to be decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotUe {
    /// Its number: the same for as long as the cell reports the UE, and of no other UE of the cell.
    pub number: u64,
    /// Octets in its buffers that no decision has.
    pub backlog_octets: i64,
    /// Octets that a resource block carries; 0 out of coverage.
    pub octets_per_block: f64,
    /// Its average throughput, in octets per slot.
    pub average_octets: f64,
}

/// Resource blocks for a UE in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotShare {
    /// The place of the UE in the list.
    pub ue: usize,
    /// How many.
    pub blocks: u16,
}

/// Divides the resource blocks of slots among UEs.
pub trait SlotPolicy {
    /// Divides the blocks of a slot. A UE occurs once at most, and all together have at most `blocks`.
    fn decide(&mut self, ues: &[SlotUe], blocks: u16) -> Vec<SlotShare>;
}

/// Counters of an xApp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// Controls with decisions that were sent.
    pub decided: u64,
    /// Those that were acknowledged.
    pub accepted: u64,
    /// Those that were refused: too late, or impossible.
    pub refused: u64,
    /// Slots of [`SlotBatches`] that were left to the cell, because they had begun when the batch was taken.
    pub late: u64,
}

/// A session with a RIC, and the cells of all nodes that offer E2SM-LLC.
struct SlotSession {
    xapp: Xapp,
    state: State,
}

struct State {
    config: SlotConfig,
    cells: BTreeMap<NodeId, SlotCell>,
    controls: BTreeMap<Ticket, NodeId>,
    arena: Arena,
    counts: SlotCounts,
    /// The number of slot reports that were handled.
    handled: u64,
    /// The number of accepted subscriptions.
    subscribed: usize,
}

/// Slots of a cell that follow from a report.
struct DueSlots {
    node: NodeId,
    slots: Range<u64>,
}

/// The reports of a cell.
fn subscriptions() -> Result<[SubscriptionSpec; 2], per::Error> {
    let spec = |trigger: EventTrigger<'_>, action: ActionDefinition<'_>| {
        let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
        trigger.encode(&mut event_trigger)?;
        action.encode(&mut definition)?;
        let (id, kind) = (RicActionId(0), RicActionType::Report);
        let actions = vec![Action { id, kind, definition: Some(definition), subsequent: None }];
        Ok::<_, per::Error>(SubscriptionSpec { event_trigger, actions })
    };
    let measurements = ActionDefinition::measurements(&[
        LowerLayersMeasType::DlRlcBufferStatus,
        LowerLayersMeasType::DlHarqStatistics,
        LowerLayersMeasType::SlotTimeStamp,
    ]);
    let csi = LowerLayersInfoType::Csi;
    Ok([spec(EventTrigger::arrival(csi), ActionDefinition::copies(csi))?, spec(EventTrigger::every(1), measurements)?])
}

impl SlotSession {
    fn new(xapp: Xapp, config: SlotConfig) -> Self {
        let state = State {
            config,
            cells: BTreeMap::new(),
            controls: BTreeMap::new(),
            arena: Arena::new(),
            counts: SlotCounts::default(),
            handled: 0,
            subscribed: 0,
        };
        SlotSession { xapp, state }
    }

    fn settled(&self) -> Option<u64> {
        self.state.controls.is_empty().then_some(self.state.handled)
    }

    /// Waits for reports and answers, at most for `timeout`. `due` receives the slots that follow from each report.
    fn poll(
        &mut self,
        timeout: Option<Duration>,
        mut due: impl FnMut(&mut State, DueSlots, &mut Commands<'_>),
    ) -> Result<(), Error> {
        let SlotSession { xapp, state } = self;
        xapp.poll(timeout, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let function = node.functions.iter().find(|function| function.oid == OID);
                let (Some(function), Ok(specs)) = (function, subscriptions()) else { return };
                state.cells.insert(node.id, SlotCell::new(function.id, node.global_id.to_string()));
                for spec in specs {
                    ric.subscribe(node.id, function.id, spec);
                }
            }
            XappEvent::NodeLost(node) => drop(state.cells.remove(&node.id)),
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome }) => state.controlled(ticket, &outcome),
            XappEvent::Request(RequestEvent::Subscribed { .. }) => state.subscribed += 1,
            XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => {
                eprintln!("subscription failed: {error}");
            }
            XappEvent::Indication(indication) => {
                if let Some(slots) = state.report(&indication) {
                    due(state, slots, ric);
                }
            }
            _ => {}
        })
    }
}

/// An xApp that schedules the cells of all nodes that offer E2SM-LLC.
pub struct SlotXapp<P> {
    session: SlotSession,
    policy: P,
}

impl<P: SlotPolicy> SlotXapp<P> {
    /// Connects to a RIC.
    ///
    /// # Errors
    /// As [`Xapp::connect`].
    pub fn connect(ric: &Address, name: &str, config: SlotConfig, policy: P) -> Result<Self, Error> {
        let xapp = Xapp::connect(ric, name, config.session.clone())?;
        Ok(SlotXapp { session: SlotSession::new(xapp, config), policy })
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> SlotCounts {
        self.session.state.counts
    }

    /// The number of subscriptions that cells have accepted: two of each cell.
    #[must_use]
    pub fn subscribed(&self) -> usize {
        self.session.state.subscribed
    }

    /// The number of slot reports whose controls have all been answered; `None` while answers are outstanding.
    #[must_use]
    pub fn settled(&self) -> Option<u64> {
        self.session.settled()
    }

    /// A handle that makes [`SlotXapp::poll`] return early.
    #[must_use]
    pub fn stop_handle(&self) -> ferric::StopHandle {
        self.session.xapp.stop_handle()
    }

    /// Waits for reports and answers, at most for `timeout`, and decides.
    ///
    /// # Errors
    /// As [`Xapp::poll`].
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        let SlotXapp { session, policy } = self;
        session.poll(timeout, |state, DueSlots { node, slots }, ric| {
            let slots: Vec<u64> = slots.collect();
            let blocks = state.config.blocks;
            state.decide(node, &slots, ric, |_, ues| policy.decide(ues, blocks));
            state.handled += 1;
        })
    }
}

impl State {
    /// Takes a report. Returns the slots that are to be decided, if it names one.
    fn report(&mut self, indication: &Indication<'_>) -> Option<DueSlots> {
        let (node, gather) = (indication.node, Gather::new());
        let decoded = indication.decode(&gather).ok()?;
        let cell = self.cells.get_mut(&node)?;
        self.arena.reset();
        let octets = decoded.message.to_cow();
        let Ok(message) = IndicationMessage::decode(&octets, &self.arena) else {
            eprintln!("cannot decode a report of {node:?}");
            return None;
        };
        let first = cell.report(&message)? + self.config.delay_slots;
        Some(DueSlots { node, slots: first..first + cell.slots_per_ms() })
    }

    /// Sends the decision about slots of a cell, after the control that takes the channels that the xApp does not schedule yet. `shares`
    /// divides the blocks of each slot.
    fn decide(
        &mut self,
        node: NodeId,
        slots: &[u64],
        ric: &mut Commands<'_>,
        shares: impl FnMut(u64, &[SlotUe]) -> Vec<SlotShare>,
    ) {
        let Some(cell) = self.cells.get_mut(&node) else { return };
        for control in cell.controls(slots, self.config.blocks, shares) {
            let ticket = ric.control(node, cell.function, &control.header, &control.message);
            self.controls.insert(ticket, node);
            if let Some(decision) = control.decision {
                self.counts.decided += 1;
                cell.sent(ticket, decision);
            }
        }
    }

    fn controlled(&mut self, ticket: Ticket, outcome: &ControlOutcome) {
        let Some(node) = self.controls.remove(&ticket) else { return };
        let (octets, is_accepted) = match outcome {
            ControlOutcome::Acknowledged(octets) => (octets.as_deref(), true),
            ControlOutcome::Failed { outcome, .. } => (outcome.as_deref(), false),
            _ => (None, false),
        };
        let cell = self.cells.get_mut(&node);
        if cell.is_some_and(|cell| cell.controlled(ticket, octets, &mut self.arena)) {
            self.counts.accepted += u64::from(is_accepted);
            self.counts.refused += u64::from(!is_accepted);
        }
    }
}
