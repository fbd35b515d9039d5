//! Whom the controller's news and the nodes' indications go to: internal apps at once, external ones by their links.

use e2::topology::{Part, RanDatabase, RanEvent};
use e2::xapp::Envelope;
use e2::{AssocId, Consumer, Controller, Event, Indication, Node, Notice, Time, XappHost};
use e2ap::RicIndicationType;
use link::{Address, Class};
use tracing::{debug, info, warn};

use super::e42::E42Apps;
use super::lines::Lines;
use super::outlets::Outlets;
use super::workers::Workers;
use super::{Counters, Iapp, IappContext, IappEvent};
use crate::peers::Peers;

/// Octets of news of nodes that are told in one turn, so that indications are not held up by them.
const NEWS_OCTETS: usize = 256 * 1024;

/// All apps of a server.
pub(super) struct Apps {
    pub iapps: Vec<Box<dyn Iapp>>,
    /// Tickets given out to internal apps.
    tickets: u32,
    pub host: XappHost,
    pub ran: RanDatabase,
    /// FlexRIC's xApps, which live on this loop.
    pub e42: E42Apps,
    /// The links of external apps that live on this loop.
    pub outlets: Outlets,
    /// The loops on which the others live.
    pub workers: Workers,
    /// External apps on this loop that had no room for news in this turn.
    full: Vec<AssocId>,
    /// What went wrong with who has not set up: the log tells where they are.
    strangers: Vec<(AssocId, Notice)>,
    lines: Lines,
    out: Vec<u8>,
}

impl Apps {
    pub fn new(host: XappHost, outlets: Outlets, workers: Workers, e42: E42Apps, max_ues: usize, lines: Lines) -> Self {
        Apps {
            iapps: Vec::new(),
            tickets: 0,
            host,
            ran: RanDatabase::new(max_ues),
            outlets,
            workers,
            e42,
            full: Vec::new(),
            strangers: Vec::new(),
            lines,
            out: Vec::new(),
        }
    }

    /// Hands the controller's news to whom it concerns.
    #[inline]
    pub fn tell(&mut self, now: Time, controller: &mut Controller) {
        while let Some(event) = controller.poll_event() {
            self.tell_one(now, controller, event);
            self.tell_ran(now, controller);
        }
        self.tell_ran(now, controller); // of UEs that were learned since
        self.workers.publish(controller, &self.host);
        self.send_queued();
    }

    fn tell_one(&mut self, now: Time, controller: &mut Controller, event: Event) {
        let Some(event) = self.host.handle_event(event, controller) else { return };
        let Some(event) = self.e42.handle_event(event) else { return };
        self.log(&event, controller);
        match &event {
            Event::NodeUp(id) | Event::NodeChanged(id) => {
                if let Some(node) = controller.node(*id) {
                    self.ran.node_told(*id, node.global_id, &node.components);
                }
            }
            Event::NodeLost { node, .. } => self.ran.node_lost(*node),
            _ => {}
        }
        // the apps get the controller to themselves
        let node = match event {
            Event::NodeUp(id) | Event::NodeChanged(id) if !self.iapps.is_empty() => controller.node(id).cloned(),
            _ => None,
        };
        if let Some(told) = IappEvent::of(&event, node.as_ref()) {
            self.tell_iapps(now, controller, event.consumer(), &told);
        }
    }

    /// Tells internal apps of what the nodes make up together.
    #[inline]
    fn tell_ran(&mut self, now: Time, controller: &mut Controller) {
        while let Some(event) = self.ran.poll_event() {
            log_ran(&event, &self.ran, &self.lines);
            self.tell_iapps(now, controller, None, &IappEvent::Ran(&event));
        }
    }

    /// Another thread wants something of internal apps.
    pub fn wake_iapps(&mut self, now: Time, controller: &mut Controller) {
        let Apps { iapps, ran, tickets, .. } = self;
        for (at, iapp) in iapps.iter_mut().enumerate() {
            let consumer = Consumer(at as u32); // a program has few of them
            iapp.on_wake(&mut IappContext { controller, ran, tickets, now, consumer });
        }
    }

    /// Tells one internal app of something, or all of them.
    fn tell_iapps(&mut self, now: Time, controller: &mut Controller, only: Option<Consumer>, event: &IappEvent<'_>) {
        let Apps { iapps, ran, tickets, .. } = self;
        for (at, iapp) in iapps.iter_mut().enumerate() {
            let consumer = Consumer(at as u32); // a program has few of them
            if only.is_none_or(|only| only == consumer) {
                iapp.on_event(event, &mut IappContext { controller, ran, tickets, now, consumer });
            }
        }
    }

    /// Puts what the host wants said into the outboxes of external apps.
    #[inline]
    fn send_queued(&mut self) {
        while let Some(assoc) = self.host.poll_transmit(&mut self.out) {
            if !self.workers.send(assoc, &self.out) {
                self.outlets.send(assoc, &[&self.out]);
            }
            self.out.clear();
        }
        while let Some((assoc, notice)) = self.host.poll_notice() {
            if self.lines.take() {
                let peer = self.peer(assoc).map(|(peer, _)| peer.to_string());
                warn!(xapp = peer, "{notice}");
            }
        }
        self.e42.send_queued(&mut self.outlets.lost);
    }

    /// Who is at the other end of an external app's link, and whether it has said anything.
    pub fn peer(&mut self, xapp: AssocId) -> Option<(&Address, bool)> {
        match self.workers.loop_of(xapp) {
            0 => self.outlets.xapps.get_mut(xapp).map(|peer| (peer.link.peer(), peer.spoke)),
            _ => self.workers.xapp(xapp),
        }
    }

    /// One line for each thing that was wrong with who has not set up, or is gone by now.
    pub fn log_strangers(&mut self, nodes: &mut Peers) {
        for (assoc, notice) in self.strangers.drain(..) {
            // one that is gone was told of by its own line
            let peer = nodes.get_mut(assoc).map(|peer| tracing::field::display(peer.link.peer()));
            match notice {
                Notice::UnknownIes { .. } => debug!(peer, "{notice}"),
                _ => warn!(peer, "{notice}"),
            }
        }
    }

    /// Hands an indication to all that take it.
    #[inline]
    pub fn deliver(
        &mut self,
        now: Time,
        controller: &mut Controller,
        indication: &Indication<'_>,
        counters: &mut Counters,
    ) {
        counters.indications += 1;
        let Indication { node, subscription, pdu, .. } = *indication;
        let head = Envelope { node, subscription, pdu }.head();
        let class = match indication.kind {
            RicIndicationType::Report => Class::Report,
            RicIndicationType::Insert => Class::Keep, // a procedure of the node waits for its answer
        };
        let mut elsewhere = 0_u64;
        let mut at = 0;
        // asked anew each time: an internal app may leave the subscription
        while let Some(consumer) = controller.consumers(indication.subscription).get(at).copied() {
            at += 1;
            if let Some(xapp) = self.host.assoc(consumer) {
                match self.workers.loop_of(xapp) {
                    0 => self.outlets.forward(xapp, &[&head, pdu], class, counters),
                    event_loop => elsewhere |= 1 << event_loop,
                }
            } else if let Some(iapp) = self.iapps.get_mut(consumer.0 as usize) {
                let Apps { ran, tickets, .. } = self;
                counters.deliveries += 1;
                iapp.on_indication(indication, &mut IappContext { controller, ran, tickets, now, consumer });
            } else {
                counters.deliveries += 1;
                self.e42.forward(consumer, indication, counters, &mut self.outlets.lost);
            }
        }
        while elsewhere != 0 {
            let event_loop = elsewhere.trailing_zeros() as usize;
            elsewhere &= elsewhere - 1;
            self.workers.deliver(event_loop, subscription, class, &[&head, pdu]);
        }
    }

    /// External apps that had no room for news may have it now: where the flush wrote all, no event of the link says so.
    pub fn look_for_room(&mut self) {
        for assoc in self.full.drain(..) {
            if self.outlets.xapps.get_mut(assoc).is_some_and(|peer| !peer.link.wants_write()) {
                self.host.handle_room(assoc);
            }
        }
    }

    /// Tells external apps of nodes that came, as far as `room_octets` of each one's outbox and this turn's share go.
    pub fn tell_news(&mut self, controller: &Controller, room_octets: usize) {
        let Apps { host, outlets, workers, full, out, .. } = self;
        let mut octets = 0;
        while octets < NEWS_OCTETS
            && let Some(assoc) = host.poll_news(controller, out, |assoc| match workers.loop_of(assoc) {
                0 => {
                    let has_room = outlets.xapps.has_room(assoc, room_octets);
                    if !has_room {
                        full.push(assoc);
                    }
                    has_room
                }
                _ => workers.has_room(assoc, room_octets),
            })
        {
            octets += out.len();
            if !workers.send(assoc, out) {
                outlets.send(assoc, &[out]);
            }
            out.clear();
        }
    }
}

/// A line where a base station of several parts becomes complete, or ceases to be.
fn log_ran(event: &RanEvent, ran: &RanDatabase, lines: &Lines) {
    let (RanEvent::Complete(id) | RanEvent::Incomplete(id)) = event else { return };
    let Some(station) = ran.station(*id).filter(|station| station.nodes().any(|(_, part)| part != Part::Control))
    else {
        return;
    };
    if !lines.take() {
        return;
    }
    let (base_station, nodes) = (station.key(), station.nodes().count());
    if let RanEvent::Complete(_) = event {
        info!(%base_station, nodes, cells = station.cells().count(), "base station is complete");
    } else {
        let missing: Vec<_> = station.missing().map(|part| part.to_string()).collect();
        warn!(%base_station, nodes, "base station is not complete: {} is missing", missing.join(", "));
    }
}

impl Apps {
    /// One line for each piece of news that an operator wants to see.
    fn log(&mut self, event: &Event, controller: &Controller) {
        match event {
            _ if event.consumer().is_some() => return,                    // it knows
            Event::Notice { notice: Notice::UnknownIes { .. }, .. } => {} // for who looks closely
            _ if !self.lines.take() => return,
            _ => {}
        }
        match event {
            Event::NodeUp(id) => {
                if let Some(Node { global_id, version, functions, .. }) = controller.node(*id) {
                    let functions: Vec<u16> = functions.iter().map(|f| f.id.0).collect();
                    info!(node = %global_id, e2ap = %version, ?functions, "node is up");
                }
            }
            Event::NodeLost { global_id, reason, .. } => match reason {
                e2::LostReason::Closed(reason) => warn!(node = %global_id, %reason, "node is lost"),
                e2::LostReason::SetupAgain => warn!(node = %global_id, "node is lost: it sets up again"),
                e2::LostReason::Removed => info!(node = %global_id, "node is removed in order"),
            },
            Event::Notice { assoc, notice } => {
                match (controller.nodes().find(|node| node.assoc == *assoc).map(|node| node.global_id), notice) {
                    (Some(node), Notice::UnknownIes { .. }) => debug!(%node, "{notice}"),
                    (Some(node), _) => warn!(%node, "{notice}"),
                    (None, _) => self.strangers.push((*assoc, notice.clone())),
                }
            }
            Event::NodeChanged(id) => {
                if let Some(Node { global_id, version, functions, components, .. }) = controller.node(*id) {
                    let functions: Vec<u16> = functions.iter().map(|f| f.id.0).collect();
                    let components = components.listed.len() + components.listed_v1.len();
                    info!(node = %global_id, e2ap = %version, ?functions, components, "node has changed");
                }
            }
            Event::ConnectionUpdated { node, outcome } => {
                let node = controller.node(*node).map(|node| node.global_id.to_string());
                info!(node, ?outcome, "node was asked for other associations");
            }
            Event::RemovalRefused { node, cause } => {
                let node = controller.node(*node).map(|node| node.global_id.to_string());
                warn!(node, %cause, "node does not let itself be removed");
            }
            Event::Subscribed { .. }
            | Event::SubscriptionFailed { .. }
            | Event::SubscriptionSuspended { .. }
            | Event::SubscriptionResumed { .. }
            | Event::ChangeRequired { .. }
            | Event::SubscriptionChanged { .. }
            | Event::Modified { .. }
            | Event::SubscriptionEnded { .. }
            | Event::Controlled { .. }
            | Event::Queried { .. } => {}
        }
    }
}
