//! Dispatches events and indications to apps: to iApps at once, to xApps over their links.

use e2::topology::{Part, RanDatabase, RanEvent};
use e2::xapp::{Envelope, ServiceEvent};
use e2::{AssocId, Consumer, Controller, Event, Indication, Notice, RequestEvent, Time, XappHost};
use e2ap::RicIndicationType;
use link::{Address, Class};
use log_lines::{Host, escaped};
use tracing::{debug, info, warn};

use super::describe::Describe;
use super::e42::E42Apps;
use super::iapp::{Insight, Watch};
use super::indication_counts::{IndicationCounter, IndicationCounts};
use super::log_limiter::{Hosts, LogLimiter};
use super::workers::Workers;
use super::xapp_links::XappLinks;
use super::{Counters, Iapp, IappContext, IappEvent};
use crate::peers::Peers;

/// The most octets of announced nodes per iteration, so that they do not delay indications.
const ANNOUNCEMENT_OCTETS: usize = 256 * 1024;

/// All apps of a server.
pub(super) struct Apps {
    pub iapps: Vec<Box<dyn Iapp>>,
    /// The ticket that was last assigned to an iApp.
    tickets: u32,
    /// The counters of the server when the iApps were last woken.
    counters: Counters,
    pub host: XappHost,
    /// The counters of the indications that the main loop reads, and those of all loops.
    counter: IndicationCounter,
    counts: IndicationCounts,
    /// What iApps want to observe, until the server has passed it to the links.
    pub watches: Vec<Watch>,
    /// The iApps that are to be called after reading.
    postponed: Vec<Consumer>,
    /// FlexRIC's xApps, which are on the main loop.
    pub e42: E42Apps,
    /// The links of xApps on the main loop.
    pub xapp_links: XappLinks,
    /// The workers, with the other links.
    pub workers: Workers,
    /// xApps on the main loop without room for announcements in this iteration.
    full: Vec<AssocId>,
    /// Problems of associations without E2 Setup, to be logged with the peer's address.
    unattributed_notices: Vec<(AssocId, Notice)>,
    pub(super) log_limiter: LogLimiter,
    /// What says in the log what nodes offer and xApps ask for.
    pub describer: Option<Box<dyn Describe>>,
    /// The hosts of all peers, for their shares of the log.
    pub hosts: Hosts,
    out: Vec<u8>,
}

impl Apps {
    pub fn new(host: XappHost, xapp_links: XappLinks, workers: Workers, e42: E42Apps, log_limiter: LogLimiter) -> Self {
        let counter = IndicationCounter::default();
        let counts =
            IndicationCounts::new(std::iter::once(counter.counts()).chain(workers.indication_counts()).collect());
        Apps {
            iapps: Vec::new(),
            tickets: 0,
            counters: Counters::default(),
            counter,
            counts,
            watches: Vec::new(),
            postponed: Vec::new(),
            host,
            xapp_links,
            workers,
            e42,
            full: Vec::new(),
            unattributed_notices: Vec::new(),
            log_limiter,
            describer: None,
            hosts: Hosts::default(),
            out: Vec::new(),
        }
    }

    /// Dispatches the controller's events.
    #[inline]
    pub fn dispatch_events(&mut self, now: Time, controller: &mut Controller) {
        while let Some(event) = self.host.poll_service() {
            self.dispatch_service_event(now, controller, &event);
        }
        while let Some(event) = controller.poll_event() {
            self.dispatch_event(now, controller, event);
            self.dispatch_topology_events(now, controller);
        }
        self.dispatch_topology_events(now, controller); // for UEs that were learned in the meantime
        self.workers.publish(controller, &self.host);
        self.send_queued();
    }

    fn dispatch_event(&mut self, now: Time, controller: &mut Controller, event: Event) {
        self.log_request(&event, controller);
        if let Event::Request { event: RequestEvent::Subscribed { subscription, .. }, .. } = &event
            && let Some(requested) = controller.requested_at(*subscription)
        {
            self.counts.begin(*subscription, requested);
        }
        let Some(event) = self.host.handle_event(event, controller) else { return };
        let Some(event) = self.e42.handle_event(event) else { return };
        self.log(&event, controller);
        match &event {
            Event::NodeUp(id) | Event::NodeChanged(id) => controller.enter_node(*id),
            Event::NodeLost { node, .. } => controller.ran_mut().node_lost(*node),
            _ => {}
        }
        // cloned, since the apps get the controller mutably
        let node = match event {
            Event::NodeUp(id) | Event::NodeChanged(id) if !self.iapps.is_empty() => controller.node(id).cloned(),
            _ => None,
        };
        use e2::{CloseReason::Elsewhere, LostReason};
        if let Event::NodeLost { node, reason: LostReason::Removed | LostReason::Closed(Elsewhere), .. } = &event {
            self.notify_iapps(now, controller, None, &IappEvent::NodeRemoved(*node));
        }
        if let Some(iapp_event) = IappEvent::of(&event, node.as_ref()) {
            self.notify_iapps(now, controller, event.consumer(), &iapp_event);
        }
    }

    /// Passes what xApps have for services to the iApps that are these.
    fn dispatch_service_event(&mut self, now: Time, controller: &mut Controller, event: &ServiceEvent) {
        match event {
            ServiceEvent::Ended { xapp, name } => {
                self.notify_iapps(now, controller, None, &IappEvent::XappEnded { xapp: *xapp, name });
            }
            ServiceEvent::Message { xapp, assoc, identity, kind, document } => {
                match self.iapps.iter().position(|iapp| iapp.serves(*kind)) {
                    Some(at) => {
                        let (xapp, host) = (*xapp, self.hosts.of(*assoc));
                        let event = IappEvent::XappMessage { xapp, identity, host, kind: *kind, document };
                        self.notify_iapps(now, controller, Some(Consumer(at as u32)), &event);
                    }
                    None => self.host.refuse_service(*xapp),
                }
            }
        }
    }

    /// Dispatches changes of the RAN database to iApps.
    #[inline]
    fn dispatch_topology_events(&mut self, now: Time, controller: &mut Controller) {
        while let Some(event) = controller.ran_mut().poll_event() {
            log_ran(&event, controller.ran(), &self.log_limiter, &self.hosts);
            self.notify_iapps(now, controller, None, &IappEvent::Ran(&event));
        }
    }

    /// Wakes all iApps.
    pub fn wake_iapps(&mut self, now: Time, controller: &mut Controller, counters: Counters) {
        self.counters = counters;
        for at in 0..self.iapps.len() {
            self.call_iapp(now, controller, Consumer(at as u32), |iapp, ric| iapp.on_wake(ric));
        }
    }

    /// Calls an iApp. Returns whether there is one.
    #[inline]
    fn call_iapp(
        &mut self,
        now: Time,
        controller: &mut Controller,
        consumer: Consumer,
        call: impl FnOnce(&mut dyn Iapp, &mut IappContext<'_>),
    ) -> bool {
        let Apps {
            iapps,
            tickets,
            log_limiter,
            hosts,
            host,
            counters,
            counts,
            xapp_links,
            workers,
            watches,
            postponed,
            ..
        } = self;
        let Some(iapp) = iapps.get_mut(consumer.0 as usize) else { return false };
        let insight = Insight { counts, xapp_links, workers };
        call(
            iapp.as_mut(),
            &mut IappContext {
                controller,
                tickets,
                now,
                consumer,
                log_limiter,
                hosts,
                host,
                counters,
                insight,
                watches,
                postponed,
            },
        );
        true
    }

    /// Returns whether iApps have postponed work.
    pub fn has_postponed(&self) -> bool {
        !self.postponed.is_empty()
    }

    /// Calls the iApps that have postponed work.
    pub fn resume_postponed(&mut self, now: Time, controller: &mut Controller) {
        // who asks again has its turn in the next iteration
        for _ in 0..self.postponed.len() {
            let consumer = self.postponed.remove(0);
            self.call_iapp(now, controller, consumer, |iapp, ric| iapp.after_reading(ric));
        }
    }

    /// Tells the iApps that an iteration ends.
    #[inline]
    pub fn end_iteration(&mut self) {
        for iapp in &mut self.iapps {
            iapp.on_iteration_end();
        }
    }

    /// Passes an event to one iApp, or to all.
    fn notify_iapps(&mut self, now: Time, controller: &mut Controller, only: Option<Consumer>, event: &IappEvent<'_>) {
        // a program has few of them
        for consumer in (0..self.iapps.len()).map(|at| Consumer(at as u32)) {
            if only.is_none_or(|only| only == consumer) {
                self.call_iapp(now, controller, consumer, |iapp, ric| iapp.on_event(event, ric));
            }
        }
    }

    /// Moves the host's output into the outboxes of xApps.
    #[inline]
    fn send_queued(&mut self) {
        while let Some(assoc) = self.host.poll_transmit(&mut self.out) {
            if !self.workers.send(assoc, &self.out) {
                self.xapp_links.send(assoc, &[&self.out]);
            }
            self.out.clear();
        }
        while let Some((assoc, notice)) = self.host.poll_notice() {
            let peer = self.peer(assoc).map(|(peer, _)| peer.clone());
            if peer.as_ref().map_or_else(|| self.log_limiter.allow(), |peer| self.log_limiter.allow_from(peer)) {
                warn!(xapp = peer.map(|peer| peer.to_string()), "{notice}");
            }
        }
        self.e42.send_queued(&mut self.xapp_links.lost);
    }

    /// Returns the address of an xApp, and whether it has sent anything.
    pub fn peer(&mut self, xapp: AssocId) -> Option<(&Address, bool)> {
        match self.workers.loop_of(xapp) {
            0 => self.xapp_links.xapps.get_mut(xapp).map(|peer| (peer.link.peer(), peer.has_sent)),
            _ => self.workers.xapp(xapp),
        }
    }

    /// Returns whether an xApp, of either kind, is connected that has sent nothing yet.
    pub fn is_silent(&mut self, xapp: AssocId) -> bool {
        self.peer(xapp).is_some_and(|(_, has_sent)| !has_sent) || self.e42.is_silent(xapp)
    }

    /// Logs the problems of associations without E2 Setup.
    pub fn log_unattributed_notices(&mut self, nodes: &mut Peers) {
        for (assoc, notice) in self.unattributed_notices.drain(..) {
            // the loss of a link is logged separately
            let peer = nodes.get_mut(assoc).map(|peer| tracing::field::display(peer.link.peer()));
            match notice {
                Notice::UnknownIes { .. } => debug!(peer, "{notice}"),
                Notice::Directed { .. } => info!(peer, "{notice}"),
                _ => warn!(peer, "{notice}"),
            }
        }
    }

    /// Delivers an indication to all its consumers. Returns the number of other event loops that it was passed to.
    #[inline]
    pub fn deliver(
        &mut self,
        now: Time,
        controller: &mut Controller,
        indication: &Indication<'_>,
        counters: &mut Counters,
    ) -> u32 {
        counters.indications += 1;
        let Indication { node, subscription, pdu, .. } = *indication;
        self.counter.count(subscription, pdu.len(), now);
        let head = Envelope { node, subscription, pdu }.head();
        let class = match indication.kind {
            RicIndicationType::Report => Class::Report,
            RicIndicationType::Insert => Class::Keep, // a procedure of the node waits for the answer
        };
        let mut elsewhere = 0_u64;
        let mut at = 0;
        // read again in each iteration: an iApp may unsubscribe
        while let Some(consumer) = controller.consumers(indication.subscription).get(at).copied() {
            at += 1;
            if let Some(xapp) = self.host.assoc(consumer) {
                match self.workers.loop_of(xapp) {
                    0 => self.xapp_links.forward(xapp, &[&head, pdu], class, counters, &mut self.counter),
                    event_loop => elsewhere |= 1 << event_loop,
                }
            } else if self.call_iapp(now, controller, consumer, |iapp, ric| iapp.on_indication(indication, ric)) {
                counters.deliveries += 1;
            } else {
                counters.deliveries += 1;
                self.e42.forward(consumer, indication, counters, &mut self.xapp_links.lost);
            }
        }
        let other_loops = elsewhere.count_ones();
        while elsewhere != 0 {
            let event_loop = elsewhere.trailing_zeros() as usize;
            elsewhere &= elsewhere - 1;
            self.workers.deliver(event_loop, subscription, class, &[&head, pdu]);
        }
        other_loops
    }

    /// Resumes announcements to xApps that had no room: when a flush has written everything, no event of the link
    /// follows.
    pub fn check_room(&mut self) {
        for assoc in self.full.drain(..) {
            if self.xapp_links.xapps.get_mut(assoc).is_some_and(|peer| !peer.link.wants_write()) {
                self.host.handle_room(assoc);
            }
        }
    }

    /// Announces nodes to xApps, up to `room_octets` of each outbox and the limit per iteration.
    pub fn send_announcements(&mut self, controller: &Controller, room_octets: usize) {
        let Apps { host, xapp_links, workers, full, out, .. } = self;
        let mut octets = 0;
        while octets < ANNOUNCEMENT_OCTETS
            && let Some(assoc) = host.poll_announcement(controller, out, |assoc| match workers.loop_of(assoc) {
                0 => {
                    let has_room = xapp_links.xapps.has_room(assoc, room_octets);
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
                xapp_links.send(assoc, &[out]);
            }
            out.clear();
        }
    }
}

/// Logs that a base station of several parts has become complete or incomplete.
fn log_ran(event: &RanEvent, ran: &RanDatabase, log_limiter: &LogLimiter, hosts: &Hosts) {
    let (RanEvent::Complete(id) | RanEvent::Incomplete(id)) = event else { return };
    let Some(station) = ran.station(*id).filter(|station| station.nodes().any(|(_, part)| part != Part::Control))
    else {
        return;
    };
    // what remains of it, since the host of a lost part is not known any more
    let host = station.nodes().next().map_or(Host::Unknown, |(node, _)| hosts.of_node(node));
    let is_allowed = match event {
        RanEvent::Complete(_) => log_limiter.budget().allow(host),
        _ => log_limiter.budget().allow_important(host),
    };
    if !is_allowed {
        return;
    }
    let (base_station, nodes) = (station.key(), station.nodes().count());
    if let RanEvent::Complete(_) = event {
        info!(%base_station, nodes, cells = station.cells().count(), "base station is complete");
    } else {
        let missing: Vec<_> = station.missing().map(|part| part.to_string()).collect();
        warn!(%base_station, nodes, "base station is incomplete: missing {}", missing.join(", "));
    }
}

impl Apps {
    /// Returns whether the budget allows the line of an event, and keeps the hosts of nodes.
    fn allows(&mut self, event: &Event, controller: &Controller) -> bool {
        let Apps { log_limiter, hosts, .. } = self;
        let budget = log_limiter.budget();
        match event {
            Event::NodeUp(node) | Event::NodeChanged(node) => {
                if let Some(of) = controller.node(*node) {
                    hosts.insert_node(*node, of.assoc);
                }
                budget.allow(hosts.of_node(*node))
            }
            // a node may set up again as often as it likes
            Event::NodeLost { node, reason: e2::LostReason::SetupAgain, .. } => budget.allow(hosts.remove_node(*node)),
            Event::NodeLost { node, .. } => budget.allow_important(hosts.remove_node(*node)),
            Event::Notice { assoc, .. } => budget.allow(hosts.of(*assoc)),
            Event::ConnectionUpdated { node, .. } | Event::RemovalRefused { node, .. } => {
                budget.allow(hosts.of_node(*node))
            }
            _ => true, // not logged
        }
    }

    /// Logs the events that matter to an operator.
    fn log(&mut self, event: &Event, controller: &Controller) {
        if let (Event::NodeChanged(node) | Event::NodeLost { node, .. }, Some(describer)) = (event, &mut self.describer)
        {
            describer.forget(*node);
        }
        match event {
            _ if event.consumer().is_some() => return, // the consumer has it
            Event::Notice { notice: Notice::UnknownIes { .. }, .. } => {} // logged at debug level
            _ if !self.allows(event, controller) => return,
            _ => {}
        }
        match event {
            Event::NodeUp(id) => {
                if let Some(node) = controller.node(*id) {
                    let about = self.describe_node(node);
                    info!("{} up: {}", node.global_id.label(), escaped(about));
                }
            }
            Event::NodeLost { global_id, reason, .. } => match reason {
                e2::LostReason::Closed(reason) => warn!("{} lost: {reason}", global_id.label()),
                e2::LostReason::SetupAgain => warn!("{} lost: it set up again", global_id.label()),
                e2::LostReason::Removed => info!("{} removed", global_id.label()),
                reason => warn!("{} lost: {reason:?}", global_id.label()),
            },
            Event::Notice { assoc, notice } => {
                match (controller.nodes().find(|node| node.assoc == *assoc).map(|node| node.global_id), notice) {
                    (Some(node), Notice::UnknownIes { .. }) => debug!(%node, "{notice}"),
                    (Some(node), _) => warn!(%node, "{notice}"),
                    (None, _) => self.unattributed_notices.push((*assoc, notice.clone())),
                }
            }
            Event::NodeChanged(id) => {
                if let Some(node) = controller.node(*id) {
                    let about = self.describe_node(node);
                    info!("{} changed: {}", node.global_id.label(), escaped(about));
                }
            }
            Event::ConnectionUpdated { node, outcome } => {
                let node = controller.node(*node).map(|node| node.global_id.to_string());
                info!(node, %outcome, "E2 Connection Update completed");
            }
            Event::RemovalRefused { node, cause } => {
                let node = controller.node(*node).map(|node| node.global_id.to_string());
                warn!(node, %cause, "E2 Removal refused by the node");
            }
            _ => {} // the consumer has it
        }
    }
}
