//! One iteration of the loop.

use std::time::Duration;

use e2::{AgentEvent, AssocId, CloseReason, Time};
use tracing::warn;

use super::connect::UNREACHABLE;
use super::schedule::DeadlineOwner;
use super::{AgentLoop, ControllerId, KIND_LOOKUP, KIND_WAKE, RanFunction};
use crate::event_loop::STOP_TOKEN;
use crate::{Error, event_loop, peers};

/// A connection that the RIC closes within this time after its setup was perhaps taken over by a node of the same identity.
const DISPLACED_WITHIN: Duration = Duration::from_secs(10);

/// The most octets that are read from one link before other links are served.
pub(super) const BUDGET_OCTETS: usize = 64 * 1024;

impl<F: RanFunction + ?Sized> AgentLoop<F> {
    /// Waits for I/O or a deadline for at most `timeout` (`None`: without limit), then processes all that is pending.
    /// `Some(Duration::ZERO)` never waits.
    ///
    /// # Errors
    /// As [`AgentLoop::run`].
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        // first, because a connection that fails at once sets a deadline
        self.process_pending(self.clock.now());
        let deadline = self.schedule.next();
        let timeout = event_loop::time_to_wait(self.clock.now(), deadline, timeout);
        self.poll.wait(&mut self.events, timeout.map(event_loop::most_of)).map_err(Error::epoll)?;
        if self.events.get(0).is_none() && timeout.is_some_and(|timeout| event_loop::most_of(timeout) < timeout) {
            let timeout = event_loop::time_to_wait(self.clock.now(), deadline, timeout.map(|timeout| timeout / 100));
            self.poll.wait(&mut self.events, timeout).map_err(Error::epoll)?;
        }
        let now = self.clock.now();
        let mut at = 0;
        while let Some(event) = self.events.get(at) {
            at += 1;
            if event.token == STOP_TOKEN {
                return Ok(());
            }
            if event.token == peers::token(KIND_WAKE, 0) {
                (0..self.nodes.len()).for_each(|node| self.renew(node));
                continue;
            }
            if event.token == peers::token(KIND_LOOKUP, 0) {
                self.take_lookups(now);
                continue;
            }
            let assoc = AssocId(event.token);
            // in this order: a machine must know that its link is established before it gets the first PDU; and a link
            // of shared memory is established by what it reads
            if event.writable || self.is_connecting(assoc) {
                self.writable(now, assoc);
            }
            if event.readable {
                self.receive(now, assoc);
            }
        }
        self.process_pending(now);
        self.deadlines(now);
        self.process_pending(now);
        Ok(())
    }

    /// Processes what is pending or due, and writes the links, without waiting for them or reading from them. For an event loop of
    /// the host that has made reports due and sees by the loop's file descriptor when there is something to read.
    pub fn serve_due(&mut self) {
        let now = self.clock.now();
        self.process_pending(now);
        self.deadlines(now);
        self.process_pending(now);
    }

    fn owner(&self, assoc: AssocId) -> Option<ControllerId> {
        let id = (*self.controllers_by_link.get(peers::place(assoc.0))?)?;
        let connection = self.connections.get(id)?;
        (connection.assoc == Some(assoc) || connection.association(assoc).is_some()).then_some(id)
    }

    fn receive(&mut self, now: Time, assoc: AssocId) {
        let Some(id) = self.owner(assoc) else { return };
        // the link is not read before: reading may complete the handshake, which only `writable` handles
        if self.is_connecting(assoc) {
            return;
        }
        self.mark_dirty(id);
        let AgentLoop { peers, connections, scratch, .. } = self;
        let (Some(peer), Some(connection)) = (peers.get_mut(assoc), connections.get_mut(id)) else { return };
        if connection.assoc != Some(assoc) {
            return self.receive_additional(now, id, assoc);
        }
        let received =
            peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| connection.machine.handle_pdu(now, pdu));
        peer.log_paths();
        if let Err(error) = received {
            self.handle_link_loss(now, id, assoc, &error);
        }
    }

    fn is_connecting(&self, assoc: AssocId) -> bool {
        self.peers.get(assoc).is_some_and(|peer| peer.link.state() == link::State::Connecting)
    }

    /// Handles a writable link, which completes its handshake if that is still in progress.
    fn writable(&mut self, now: Time, assoc: AssocId) {
        let Some(id) = self.owner(assoc) else { return };
        let (Some(peer), Some(connection)) = (self.peers.get_mut(assoc), self.connections.get_mut(id)) else { return };
        if peer.link.state() == link::State::Connecting {
            if connection.assoc != Some(assoc) {
                return self.finish_association(now, id, assoc);
            }
            match peer.link.finish_connect() {
                Ok(link::State::Established) => {
                    connection.connect_deadline = None;
                    connection.machine.handle_open(now);
                }
                Ok(_) => {
                    // not flushed: that may complete the handshake, which nothing would handle
                    if let Err(error) = peer.wait_for_more(&self.poll) {
                        self.handle_loss(now, id, &error);
                    }
                    return;
                }
                Err(error) => return self.handle_loss(now, id, &error),
            }
            self.mark_dirty(id);
        }
        self.peers.touch(assoc);
    }

    pub(super) fn handle_loss(&mut self, now: Time, id: ControllerId, error: &link::Error) {
        if self.fail_over(id, error) {
            return;
        }
        let Some(connection) = self.connections.get_mut(id) else { return };
        // a link that was never established was never lost
        let what = if connection.connect_deadline.take().is_some() {
            UNREACHABLE
        } else {
            "connection to the RIC lost; reconnecting"
        };
        if let Some(link) = connection.assoc.take().and_then(|assoc| self.peers.remove(&self.poll, assoc)) {
            self.dropped_reports += link.dropped_reports();
        }
        let node = connection.machine.node_id();
        let is_early = connection.up_since.take().is_some_and(|since| now - since < DISPLACED_WITHIN);
        let is_early = is_early && matches!(error, link::Error::Closed);
        connection.early_closes = if is_early { connection.early_closes.saturating_add(1) } else { 0 };
        if connection.early_closes > 1 {
            warn!(
                %node,
                ric = %connection.address,
                "connection closed by the RIC soon after the setup, again; reconnecting: does another base station have this identity?"
            );
        } else {
            warn!(%node, ric = %connection.address, %error, "{what}");
        }
        connection.machine.handle_close(now, CloseReason::Transport);
        self.drop_associations(id);
        self.mark_dirty(id);
    }

    /// Handles expired deadlines.
    fn deadlines(&mut self, now: Time) {
        let mut due = std::mem::take(&mut self.due);
        self.schedule.due(now, &mut due);
        for owner in due.drain(..) {
            match owner {
                DeadlineOwner::Node(at) => {
                    let AgentLoop { nodes, connections, peers, out, .. } = self;
                    nodes[at].report(now, connections, peers, out);
                    self.refresh_deadlines(at);
                }
                DeadlineOwner::Controller(id) => {
                    if let Some(connection) = self.connections.get_mut(id) {
                        connection.machine.handle_timeout(now);
                        let is_late = connection.connect_deadline.is_some_and(|by| by <= now);
                        if is_late && connection.lookup.is_some() {
                            self.finish_lookup(now, id);
                        } else if is_late {
                            // the peer does not answer, or never completes the handshake
                            connection.lost = Some(link::Error::Lost(std::io::ErrorKind::TimedOut.into()));
                        }
                    }
                    self.mark_dirty(id);
                    self.associations_due(now, id);
                }
            }
        }
        self.due = due;
    }

    /// Updates a node's deadline after calls of its functions, and schedules connections whose link they have
    /// overfilled, or which they have answered.
    fn refresh_deadlines(&mut self, at: usize) {
        for place in 0..self.nodes[at].controllers.len() {
            let id = self.nodes[at].controllers[place];
            let Some(connection) = self.connections.get_mut(id) else { continue };
            if std::mem::take(&mut connection.has_answers) || connection.lost.is_some() {
                self.mark_dirty(id);
            }
        }
        self.renew(at);
    }

    /// Processes machines until none has output or events, then writes.
    fn process_pending(&mut self, now: Time) {
        let mut lost = Vec::new();
        let mut first = 0;
        loop {
            // the events of one may concern another of the same node
            while let Some(&id) = self.dirty.get(first) {
                first += 1;
                if let Some(connection) = self.connections.get_mut(id) {
                    connection.dirty = false;
                }
                self.drain_machine(now, id);
            }
            self.peers.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
            if lost.is_empty() {
                break;
            }
            for (assoc, error) in lost.drain(..) {
                if let Some(id) = self.owner(assoc) {
                    self.handle_link_loss(now, id, assoc, &error);
                }
            }
        }
        self.dirty.clear();
    }

    /// Processes the events and output of one machine, and sets its deadline.
    pub(super) fn drain_machine(&mut self, now: Time, id: ControllerId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let at = connection.node;
        if let Some(error) = connection.lost.take() {
            self.handle_loss(now, id, &error);
        }
        while let Some(event) = self.connections.get_mut(id).and_then(|connection| connection.machine.poll_event()) {
            if event == AgentEvent::Connect {
                self.connect(now, id);
            } else if let AgentEvent::ConnectionUpdate(update) = event {
                self.update_associations(now, id, update);
            } else {
                let AgentLoop { nodes, connections, peers, out, .. } = self;
                nodes[at].handle(now, id, event, connections, peers, out);
            }
        }
        self.transmit(now, id);
        if let Some(connection) = self.connections.get_mut(id)
            && let Some(reason) = connection.machine.poll_close()
        {
            let assoc = connection.assoc;
            self.close(now, id, assoc, reason);
        }
        if self.connections.get(id).is_some_and(|connection| connection.is_leaving && connection.has_left) {
            return self.forget_controller(now, id);
        }
        if let Some(connection) = self.connections.get_mut(id) {
            let due = [connection.machine.poll_timeout(), connection.connect_deadline, connection.associations_due()];
            let due = due.into_iter().flatten().min();
            self.schedule.set(DeadlineOwner::Controller(id), &mut connection.due, due);
        }
        self.refresh_deadlines(at);
    }

    fn transmit(&mut self, now: Time, id: ControllerId) {
        self.out.clear();
        while let Some(connection) = self.connections.get_mut(id)
            && connection.machine.poll_transmit(&mut self.out)
        {
            if let Some(assoc) = connection.assoc
                && let Err(error) = self.peers.send(assoc, &[&self.out], link::Class::Keep)
            {
                self.handle_loss(now, id, &error);
            }
            self.out.clear();
        }
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests;
