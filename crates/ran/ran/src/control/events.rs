//! What controllers are informed of: arrivals, departures, handovers and RRC states of UEs, and changes of the cell.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use e2sm::common::Cgi;
use e2sm::rc::dictionary::{HANDOVER_PREPARATION, node_change};
use e2sm::rc::{ControlAction, Handover, RrcState};
use e2sm::rrc::{self, Notification};
use ferric::agent::Ue;
use radio::UeEntry;
use ran_functions::rc::{Event, ProcedureId};
use ran_functions::rrc::RrcSource;

use crate::node::{Node, ue_of};
use crate::node_type::NodeType;
use crate::simulation::NeighbourMessage;

/// Queued events of E2SM-RC. Further ones are dropped: RRC states will be reported again.
const MAX_EVENTS: usize = 1024;
/// Queued RRC notifications. Beyond that the oldest are dropped.
const MAX_NOTIFICATIONS: usize = 256;

/// Queued reports of a node, and the state that they are derived from.
#[derive(Debug)]
pub struct MobilityEvents {
    /// Whether the node begins handovers by itself.
    begins_handovers: bool,
    /// Handovers that wait for a controller's decision.
    pending_handovers: BTreeMap<ProcedureId, (Ue, Cgi)>,
    last_procedure: u64,
    events: VecDeque<Event>,
    notifications: VecDeque<(Ue, Notification<'static>)>,
    /// Whether a controller has subscribed to events.
    is_subscribed: bool,
    /// The UEs that were reported inactive.
    inactive: BTreeSet<Ue>,
}

impl MobilityEvents {
    pub fn new(begins_handovers: bool) -> Self {
        MobilityEvents {
            begins_handovers,
            pending_handovers: BTreeMap::new(),
            last_procedure: 0,
            events: VecDeque::new(),
            notifications: VecDeque::new(),
            is_subscribed: false,
            inactive: BTreeSet::new(),
        }
    }

    /// Queues an event, if a controller has subscribed to events and the queue has room.
    pub fn report(&mut self, event: Event) {
        if self.is_subscribed && self.events.len() < MAX_EVENTS {
            self.events.push_back(event);
        }
    }

    /// Whether a controller has subscribed to events.
    pub fn is_subscribed(&self) -> bool {
        self.is_subscribed
    }

    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether the node must be read periodically for events to occur.
    pub fn needs_polling(&self) -> bool {
        self.is_subscribed || self.begins_handovers
    }

    /// Reads the node periodically from now on: a UE of the cell has an event of handovers of its own.
    pub fn expect_handovers(&mut self) {
        self.begins_handovers = true;
    }

    /// Takes a handover that waited for a decision.
    pub fn take_handover(&mut self, procedure: ProcedureId) -> Option<(Ue, Cgi)> {
        self.pending_handovers.remove(&procedure)
    }

    pub fn has_notifications(&self) -> bool {
        !self.notifications.is_empty()
    }

    pub fn take_notifications(&mut self) -> impl Iterator<Item = (Ue, Notification<'static>)> + '_ {
        self.notifications.drain(..)
    }

    fn notify(&mut self, ue: Ue, notification: Notification<'static>) {
        if self.notifications.len() >= MAX_NOTIFICATIONS {
            self.notifications.pop_front();
        }
        self.notifications.push_back((ue, notification));
    }
}

impl Node {
    /// Processes the messages from neighbours.
    pub fn receive_from_neighbours(&mut self) {
        let messages = self.simulation.borrow_mut().take_messages(self.mobility.number());
        for message in messages {
            self.receive_from_neighbour(message);
        }
    }

    /// Sends a message to another node.
    pub fn send_to_neighbour(&self, node: u16, message: NeighbourMessage) {
        self.simulation.borrow_mut().send(node, message);
    }

    /// Reports a UE that has attached, or was handed over from a cell of the RAN.
    pub fn report_arrival(&mut self, stay: &UeEntry, from: Option<(usize, UeEntry)>) {
        let ue = ue_of(stay);
        let present = self.present(ue);
        let Some((node, source_ue)) = from.map(|(cell, stay)| (cell as u16, ue_of(&stay))) else {
            self.mobility.events.notify(ue, Notification { event: rrc::Event::Attached, ..present });
            self.set_up_session(ue);
            self.report_first_measurements(stay, true);
            return;
        };
        let event = rrc::Event::HandedOver(self.mobility.cell_of(node));
        self.mobility.events.notify(ue, Notification { event, ..present });
        self.release_source_context(node, source_ue, stay);
        self.report_first_measurements(stay, false);
    }

    /// Reports a UE that has left the cell.
    pub fn report_departure(&mut self, stay: &UeEntry) {
        let ue = ue_of(stay);
        let notification = Notification { event: rrc::Event::Detached, ..self.present(ue) };
        self.mobility.events.notify(ue, notification);
    }

    /// Reports that the configuration of the cell has changed.
    pub fn report_cell_change(&mut self) {
        let cell = self.mobility.cell_of(self.mobility.number());
        self.mobility.events.report(Event::CellChanged { cell, change: node_change::CELL_CONFIGURATION });
    }

    /// Whether a UE's handover waits for a decision.
    pub fn awaits_handover_decision(&self, ue: Ue) -> bool {
        self.mobility.events.pending_handovers.values().any(|(waiting, _)| *waiting == ue)
    }

    /// Offers the decision about a handover to controllers.
    pub fn begin_handover(&mut self, ue: Ue, target: Cgi) {
        if self.awaits_handover_decision(ue) {
            return;
        }
        let mobility = &mut self.mobility.events;
        mobility.last_procedure += 1;
        let procedure = ProcedureId(mobility.last_procedure);
        mobility.pending_handovers.insert(procedure, (ue, target));
        let wants = ControlAction::Handover(Handover::to(target));
        // bounded by the UEs, each of which has one pending handover at most
        mobility.events.push_back(Event::Breakpoint { procedure, breakpoint: HANDOVER_PREPARATION, ue, wants });
    }

    /// The inactive UEs of the cell.
    pub fn inactive_ues(&self) -> BTreeSet<Ue> {
        let cell = self.cell();
        let is_inactive =
            |(place, ue): (usize, &radio::Ue)| ue.is_inactive(cell.now()).then(|| ue_of(cell.ue_entry(place)));
        cell.ues().filter_map(is_inactive).collect()
    }

    /// Starts or stops the reports of events.
    pub fn subscribe_to_events(&mut self, is_subscribed: bool) {
        let inactive = self.inactive_ues();
        let cell = self.cell_number();
        self.simulation.borrow_mut().model.network.set_reporting(cell, is_subscribed && self.reports_rrc_messages());
        let mobility = &mut self.mobility.events;
        mobility.is_subscribed = is_subscribed;
        mobility.inactive = inactive;
        mobility.events.retain(|event| matches!(event, Event::Breakpoint { .. }));
    }

    /// Reports the RRC states that have changed, and the messages to the core that go with them.
    pub fn report_inactivity(&mut self) {
        if !self.mobility.events.is_subscribed {
            return;
        }
        let now = self.inactive_ues();
        let before = std::mem::replace(&mut self.mobility.events.inactive, now.clone());
        for ue in now.symmetric_difference(&before).copied() {
            // a UE that has left has no RRC state
            if self.context(ue).is_none() {
                continue;
            }
            let is_inactive = now.contains(&ue);
            let state = self.rrc_state_of(is_inactive);
            self.mobility.events.report(Event::RrcState { ue, state });
            let message = self.transition_report(ue, is_inactive);
            self.mobility.events.report(message);
        }
    }

    /// The RRC state of an active or inactive UE. An eNB keeps the context of an idle UE.
    pub fn rrc_state_of(&self, is_inactive: bool) -> RrcState {
        match (is_inactive, self.node_type) {
            (false, _) => RrcState::RrcConnected,
            (true, NodeType::Enb) => RrcState::RrcIdle,
            (true, _) => RrcState::RrcInactive,
        }
    }

    /// Whether events or notifications are queued.
    pub fn has_pending_reports(&self) -> bool {
        self.mobility.events.has_events() || self.mobility.events.has_notifications()
    }
}
