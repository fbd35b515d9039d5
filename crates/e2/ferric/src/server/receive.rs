//! Receives from links and workers, and passes the PDUs to the machines and the apps.

use e2::{AssocId, Controller, Routed, Time};

use super::apps::Apps;
use super::pending::reason;
use super::ring::{Moved, RecordHeader};
use super::trace::{Delivered, Tracer};
use super::{Counters, KIND_NODE, Server};
use crate::peers;

/// The most octets that are read from one link before other links are served.
pub(super) const BUDGET_OCTETS: usize = 256 * 1024;

impl Server {
    /// The hot path: from a node's read buffer to the outboxes of the apps.
    pub(super) fn receive_from_node(&mut self, now: Time, assoc: AssocId) {
        if self.nodes.get_mut(assoc).is_some_and(|peer| !peer.admitted) && !self.continue_handshake(now, assoc) {
            return;
        }
        let Server { nodes, apps, controller, counters, scratch, tracer, .. } = self;
        let Some(peer) = nodes.get_mut(assoc) else { return };
        let received = match tracer {
            None => peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
                if let Routed::Indication(indication) = controller.handle_pdu(now, assoc, pdu) {
                    // earlier events are delivered first
                    apps.dispatch_events(now, controller);
                    apps.deliver(now, controller, &indication, counters);
                }
            }),
            Some(tracer) => peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
                relay_traced(now, tracer, assoc, pdu, controller, apps, counters);
            }),
        };
        peer.log_paths();
        self.apps.log_unattributed_notices(nodes);
        self.apps.workers.ring_bells();
        if let Err(error) = received {
            self.lose_node(now, assoc, &error);
        }
    }

    pub(super) fn receive_from_xapp(&mut self, now: Time, assoc: AssocId) {
        if self.apps.xapp_links.xapps.get_mut(assoc).is_some_and(|peer| !peer.admitted)
            && !self.continue_handshake(now, assoc)
        {
            return;
        }
        let Server { apps: Apps { xapp_links, host, .. }, controller, scratch, .. } = self;
        let Some(peer) = xapp_links.xapps.get_mut(assoc) else { return };
        let has_sent = &mut peer.has_sent;
        let received = peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            *has_sent = true;
            host.handle_pdu(now, assoc, pdu, controller);
        });
        peer.log_paths();
        if let Err(error) = received {
            self.lose_xapp(now, assoc, &error);
        }
    }

    /// Processes the records of the workers: mostly PDUs that their links received.
    pub(super) fn receive_from_workers(&mut self, now: Time) {
        let Server { inboxes, nodes, apps, controller, counters, tracer, returned, .. } = self;
        for inbox in inboxes {
            inbox.read(|event_loop, record, head, payload, link| {
                apps.workers.note_record(event_loop, record);
                match head {
                    RecordHeader::Received(assoc) if apps.workers.loop_of(assoc) == 0 => {} // closed in the meantime
                    RecordHeader::Received(assoc) if peers::kind(assoc.0) == KIND_NODE => {
                        if let Some(tracer) = tracer {
                            relay_traced(now, tracer, assoc, payload, controller, apps, counters);
                        } else if let Routed::Indication(indication) = controller.handle_pdu(now, assoc, payload) {
                            apps.dispatch_events(now, controller);
                            apps.deliver(now, controller, &indication, counters);
                        }
                    }
                    RecordHeader::Received(assoc) => {
                        apps.workers.has_sent(assoc);
                        apps.host.handle_pdu(now, assoc, payload, controller);
                    }
                    RecordHeader::Returned(assoc) => returned.extend(link.map(|moved| (assoc, moved))),
                    RecordHeader::Lost(assoc, reason) => match apps.workers.lost(assoc).map(|_| peers::kind(assoc.0)) {
                        None => {} // closed in the meantime
                        Some(KIND_NODE) => {
                            nodes.vacate(assoc);
                            controller.handle_close(now, assoc, reason);
                        }
                        Some(_) => {
                            apps.xapp_links.xapps.vacate(assoc);
                            apps.host.handle_close(now, assoc, controller);
                        }
                    },
                    RecordHeader::HasRoom(assoc, kept_octets) => {
                        apps.workers.has_room_again(assoc, kept_octets);
                        if peers::kind(assoc.0) != KIND_NODE {
                            apps.host.handle_room(assoc);
                        }
                    }
                    other => unreachable!("only the main loop sends this record: {other:?}"),
                }
            });
        }
        self.take_returned(now);
    }

    /// Takes the links that workers have returned, or moves them on.
    fn take_returned(&mut self, now: Time) {
        while let Some((assoc, moved)) = self.returned.pop() {
            let Moved { link, codec, .. } = *moved;
            let Some((mut link, mut recalled)) = self.apps.workers.take_returned(assoc, link) else { continue };
            self.counters.moved_nodes += 1;
            let lost = match recalled.apply(&mut link) {
                Ok(()) if recalled.event_loop > 0 => {
                    self.apps.workers.place_node(recalled.event_loop, assoc, link, codec);
                    continue;
                }
                Ok(()) => self.nodes.insert_as(&self.poll, assoc, link).map_err(link::Error::Lost).err(),
                Err(error) => {
                    self.log_limiter.lost("node", &link, &error);
                    Some(error)
                }
            };
            if let Some(error) = lost {
                self.nodes.vacate(assoc);
                self.controller.handle_close(now, assoc, reason(&error));
                continue;
            }
            if let Some(peer) = self.nodes.get_mut(assoc) {
                (peer.admitted, peer.is_placed, peer.codec) = (true, true, codec);
            }
            self.nodes.touch(assoc);
            // its worker may have read part of a PDU and what follows
            self.receive_from_node(now, assoc);
        }
    }

    /// Has nodes move from a busy loop to another one, or return once there is little to do.
    pub(super) fn balance(&mut self, now: Time) {
        // nodes without subscriptions cost nothing
        let own_nodes = self.nodes.iter_mut().filter(|peer| peer.is_placed).count();
        let own_xapps = self.apps.xapp_links.xapps.present() + self.apps.e42.peers.present();
        let Some((from, to, nodes)) = self.apps.workers.measure(now, own_nodes, own_xapps) else {
            for (assoc, home) in self.apps.workers.take_displaced() {
                match self.apps.workers.loop_of(assoc) {
                    0 => self.move_node(assoc, home),
                    event_loop if event_loop == home => {}
                    _ => self.apps.workers.recall(assoc, home),
                }
            }
            return;
        };
        let own = &self.nodes;
        self.apps.workers.forget_displaced(|assoc| own.get(assoc).is_some());
        if from > 0 {
            return self.apps.workers.recall_some(from, to, nodes);
        }
        let placed: Vec<_> =
            self.nodes.iter_mut().filter(|peer| peer.is_placed).take(nodes).map(|peer| peer.assoc).collect();
        for assoc in placed {
            self.apps.workers.displaced.insert(assoc, from, to);
            self.move_node(assoc, to);
        }
    }

    /// Moves a node from this loop to another one.
    fn move_node(&mut self, assoc: AssocId, to: usize) {
        let Some(codec) = self.nodes.get(assoc).map(|peer| peer.codec).filter(|_| to > 0) else { return };
        if let Some(link) = self.nodes.move_out(&self.poll, assoc) {
            self.counters.moved_nodes += 1;
            self.apps.workers.place_node(to, assoc, link, codec);
        }
    }
}

/// Handles a PDU of a node as without traces, and traces it if it is an indication that is due.
fn relay_traced(
    now: Time,
    tracer: &mut Tracer,
    assoc: AssocId,
    pdu: &[u8],
    controller: &mut Controller,
    apps: &mut Apps,
    counters: &mut Counters,
) {
    let begun = tracer.begin();
    let Routed::Indication(indication) = controller.handle_pdu(now, assoc, pdu) else { return };
    let routed = tracer.route(begun);
    apps.dispatch_events(now, controller);
    let before = counters.deliveries;
    let other_loops = apps.deliver(now, controller, &indication, counters);
    if let Some(times) = routed {
        let delivered = Delivered {
            node: indication.node,
            subscription: indication.subscription,
            function: indication.ran_function_id,
            octets: indication.pdu.len(),
            deliveries: counters.deliveries - before,
            other_loops,
        };
        tracer.note_delivery(times, &delivered);
    }
}
