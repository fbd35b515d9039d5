//! What xApps that schedule a cell slot by slot have in common (E2SM-LLC): the UEs as the reports of a cell show them, and decisions as
//! controls.
//!
//! Each millisecond a cell reports its buffers, its HARQ feedback and the slot that begins, and at its arrival the channel state of UEs.
//! The xApp then decides about the slots of the next millisecond, or about later ones: [`SlotConfig::delay_slots`].

mod cell;

use std::collections::BTreeMap;
use std::time::Duration;

use e2sm::Arena;
use e2sm::llc::{ActionDefinition, EventTrigger, IndicationMessage, LowerLayersInfoType, LowerLayersMeasType, OID};
use ferric::Error;
use ferric::e2::{Action, ControlOutcome, NodeId, SubscriptionSpec, Ticket};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use per::Gather;

use cell::SlotCell;
pub use cell::SlotUe;

/// How an xApp schedules.
#[derive(Clone, Debug)]
pub struct SlotConfig {
    /// The resource blocks of the cells. Default: 106.
    pub blocks: u16,
    /// Slots from the one that a report names to the one that is decided. Without any, a decision is in time only where the model
    /// waits for it. Default: 2.
    pub delay_slots: u64,
    /// The session.
    pub session: XappConfig,
}

impl Default for SlotConfig {
    fn default() -> Self {
        SlotConfig { blocks: 106, delay_slots: 2, session: XappConfig::default() }
    }
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
    /// Reports that were answered with decisions.
    pub decided: u64,
    /// Controls with decisions that were acknowledged.
    pub accepted: u64,
    /// Controls that were refused: too late, or impossible.
    pub refused: u64,
}

/// An xApp that schedules the cells of all nodes that offer E2SM-LLC.
pub struct SlotXapp<P> {
    xapp: Xapp,
    state: State<P>,
}

struct State<P> {
    config: SlotConfig,
    policy: P,
    cells: BTreeMap<NodeId, SlotCell>,
    controls: BTreeMap<Ticket, NodeId>,
    arena: Arena,
    counts: SlotCounts,
    /// The number of slot reports that were handled.
    handled: u64,
    /// The number of accepted subscriptions.
    subscribed: usize,
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

impl<P: SlotPolicy> SlotXapp<P> {
    /// Connects to a RIC.
    ///
    /// # Errors
    /// As [`Xapp::connect`].
    pub fn connect(ric: &Address, name: &str, config: SlotConfig, policy: P) -> Result<Self, Error> {
        let xapp = Xapp::connect(ric, name, config.session.clone())?;
        let state = State {
            config,
            policy,
            cells: BTreeMap::new(),
            controls: BTreeMap::new(),
            arena: Arena::new(),
            counts: SlotCounts::default(),
            handled: 0,
            subscribed: 0,
        };
        Ok(SlotXapp { xapp, state })
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> SlotCounts {
        self.state.counts
    }

    /// The number of subscriptions that cells have accepted: two of each cell.
    #[must_use]
    pub fn subscribed(&self) -> usize {
        self.state.subscribed
    }

    /// The number of slot reports whose controls have all been answered; `None` while answers are outstanding.
    #[must_use]
    pub fn settled(&self) -> Option<u64> {
        self.state.controls.is_empty().then_some(self.state.handled)
    }

    /// A handle that makes [`SlotXapp::poll`] return early.
    #[must_use]
    pub fn stop_handle(&self) -> ferric::StopHandle {
        self.xapp.stop_handle()
    }

    /// Waits for reports and answers, at most for `timeout`, and decides.
    ///
    /// # Errors
    /// As [`Xapp::poll`].
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        let SlotXapp { xapp, state } = self;
        xapp.poll(timeout, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let function = node.functions.iter().find(|function| function.oid == OID);
                let (Some(function), Ok(specs)) = (function, subscriptions()) else { return };
                state.cells.insert(node.id, SlotCell::new(function.id));
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
                let gather = Gather::new();
                let Ok(decoded) = indication.decode(&gather) else { return };
                state.report(indication.node, &decoded.message.to_cow(), |function, header, message| {
                    ric.control(indication.node, function, header, message)
                });
            }
            _ => {}
        })
    }
}

impl<P: SlotPolicy> State<P> {
    /// Takes a report, and answers one that names a slot with decisions.
    fn report(&mut self, node: NodeId, message: &[u8], mut control: impl FnMut(RanFunctionId, &[u8], &[u8]) -> Ticket) {
        let State { config, policy, cells, controls, arena, counts, handled, .. } = self;
        let Some(cell) = cells.get_mut(&node) else { return };
        arena.reset();
        let Ok(message) = IndicationMessage::decode(message, arena) else {
            return eprintln!("cannot decode a report of {node:?}");
        };
        let Some(slot) = cell.report(&message) else { return };
        *handled += 1;
        for (is_decision, header, message) in cell.controls(slot, config, policy) {
            let ticket = control(cell.function, &header, &message);
            controls.insert(ticket, node);
            if is_decision {
                counts.decided += 1;
                cell.sent(ticket);
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
