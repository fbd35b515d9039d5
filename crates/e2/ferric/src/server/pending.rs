//! Processes the output and events of the machines until there are none, writes the links, and removes lost ones.

use e2::{AssocId, CloseReason, Time};
use link::{Address, Class, Config, Link};
use tracing::info;

use super::apps::Apps;
use super::iapp::Watch;
use super::xapp_links::XappLinks;
use super::{KIND_E42, KIND_NODE, Server};
use crate::peers;

impl Server {
    /// Processes machines until none has output or events, then writes.
    pub(super) fn process_pending(&mut self, now: Time) {
        let Config { outbox_octets, max_pdu_octets, .. } = self.config.link;
        // announcements use a quarter of an xApp's outbox at most, and always leave room for the longest message that
        // must not be dropped
        let room_for_news =
            (outbox_octets / 4).min(outbox_octets.saturating_sub(max_pdu_octets + crate::XAPP_OVERHEAD_OCTETS));
        // what nodes wait for, such as the answer to a setup, does not wait for the apps
        if self.controller.has_output() {
            self.send_queued();
            self.flush_nodes();
        }
        loop {
            self.apps.dispatch_events(now, &mut self.controller);
            self.apply_watches();
            self.apps.log_unattributed_notices(&mut self.nodes);
            self.apps.send_announcements(&self.controller, room_for_news);
            loop {
                self.send_queued();
                self.flush();
                if !self.report_sent(now) {
                    break;
                }
            }
            self.apps.check_room();
            if self.apps.xapp_links.notify_slow_readers(outbox_octets / 2, &self.log_limiter) {
                self.flush();
            }
            self.close_wanted();
            if self.apps.xapp_links.lost.is_empty() {
                return;
            }
            for (assoc, error) in std::mem::take(&mut self.apps.xapp_links.lost) {
                match peers::kind(assoc.0) {
                    KIND_NODE => self.lose_node(now, assoc, &error),
                    KIND_E42 => self.lose_e42(now, assoc, &error),
                    _ => self.lose_xapp(now, assoc, &error),
                }
            }
        }
    }

    /// Passes the observers that iApps have given to the links of their nodes.
    fn apply_watches(&mut self) {
        let Server { apps: Apps { watches, workers, .. }, controller, nodes, .. } = self;
        for Watch { node, observer } in watches.drain(..) {
            for (assoc, _) in controller.associations(node) {
                match nodes.get_mut(assoc) {
                    Some(peer) => peer.link.watch(observer.clone()),
                    None => workers.watch(assoc, observer.as_ref()),
                }
            }
        }
    }

    fn flush_nodes(&mut self) {
        let lost = &mut self.apps.xapp_links.lost;
        self.nodes.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
    }

    pub(super) fn flush(&mut self) {
        self.flush_nodes();
        let Apps { xapp_links: XappLinks { xapps, lost, .. }, e42, .. } = &mut self.apps;
        xapps.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
        e42.peers.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
    }

    /// Moves the controller's output into the nodes' outboxes.
    fn send_queued(&mut self) {
        self.out.clear();
        while let Some(assoc) = self.controller.poll_transmit(&mut self.out) {
            if !self.apps.workers.send(assoc, &self.out)
                && let Err(error) = self.nodes.send(assoc, &[&self.out], Class::Keep)
            {
                self.apps.xapp_links.lost.push((assoc, error));
            }
            self.out.clear();
        }
    }

    /// Tells the controller how much of what it sent is still in the outboxes of nodes. Returns whether it has something
    /// more to send, which waited for that.
    fn report_sent(&mut self, now: Time) -> bool {
        let Server { controller, nodes, apps, unsent, .. } = self;
        unsent.extend(controller.unsent());
        for assoc in unsent.drain(..) {
            let octets = match apps.workers.unsent_octets(assoc) {
                Some(octets) => octets,
                None => nodes.get_mut(assoc).map_or(0, |peer| peer.link.kept_octets()),
            };
            controller.handle_sent(now, assoc, octets);
        }
        controller.has_output()
    }

    fn close_wanted(&mut self) {
        while let Some((assoc, reason)) = self.controller.poll_close() {
            let moved = self.apps.workers.close(assoc);
            if moved.is_some() {
                self.nodes.vacate(assoc);
            }
            let peer = moved.or_else(|| self.nodes.remove(&self.poll, assoc).map(closed));
            if let Some(peer) = peer
                && self.log_limiter.allow_from(&peer)
            {
                info!(%peer, %reason, "node disconnected");
            }
        }
        while let Some(assoc) = self.controller.poll_probe() {
            if let Some(peer) = self.nodes.get_mut(assoc) {
                peer.link.probe();
            } else {
                self.apps.workers.probe(assoc);
            }
        }
        self.apps.e42.close_wanted(&self.poll);
        while let Some((assoc, reason)) = self.apps.host.poll_close() {
            if let Some(peer) = self.close_xapp(assoc)
                && self.log_limiter.allow_from(&peer)
            {
                info!(xapp = %peer, %reason, "xApp disconnected");
            }
        }
    }

    /// Writes what is queued for an xApp, closes its link, and returns its address.
    pub(super) fn close_xapp(&mut self, assoc: AssocId) -> Option<Address> {
        let moved = self.apps.workers.close(assoc);
        if moved.is_some() {
            self.apps.xapp_links.xapps.vacate(assoc);
        }
        moved.or_else(|| self.apps.xapp_links.xapps.remove(&self.poll, assoc).map(closed))
    }

    pub(super) fn lose_node(&mut self, now: Time, assoc: AssocId, error: &link::Error) {
        let Some(link) = self.nodes.remove(&self.poll, assoc) else { return };
        self.log_limiter.lost("node", &link, error);
        let reason = reason(error);
        self.controller.handle_close(now, assoc, reason);
    }

    pub(super) fn lose_xapp(&mut self, now: Time, assoc: AssocId, error: &link::Error) {
        let Some(link) = self.apps.xapp_links.xapps.remove(&self.poll, assoc) else { return };
        self.log_limiter.lost("xApp", &link, error);
        self.apps.host.handle_close(now, assoc, &mut self.controller);
    }
}

/// Writes what is queued, closes the link, and returns the peer's address.
fn closed(link: Link) -> Address {
    let peer = link.peer().clone();
    link.close();
    peer
}

pub(super) fn reason(error: &link::Error) -> CloseReason {
    match error {
        link::Error::OutboxFull { .. } | link::Error::SendMemoryFull { .. } => CloseReason::Overflow,
        link::Error::PduTimeout { .. }
        | link::Error::ReceiveMemoryFull { .. }
        | link::Error::PduTooLong { .. }
        | link::Error::EmptyPdu
        | link::Error::SharedMemoryCorrupt => CloseReason::Misbehaved,
        _ => CloseReason::Transport,
    }
}
