//! What the loop does in a turn.

use std::time::Duration;

use e2::{AgentEvent, AssocId, CloseReason, Time};
use link::Link;
use tracing::warn;

use super::schedule::Whose;
use super::{AgentLoop, ControllerId};
use crate::ppid::ppid_of;
use crate::stop::STOP_TOKEN;
use crate::{Error, clock, credentials, peers};

pub(super) const KIND_AGENT: u64 = 1;
/// What is said of a connection that never stood.
const UNREACHABLE: &str = "the RIC is not reached; it is tried again and again";
/// Octets read from one link before the others have their turn.
pub(super) const BUDGET_OCTETS: usize = 64 * 1024;

impl AgentLoop {
    /// Waits at most `patience` (`None`: until something happens), then does what there is to do. With
    /// `Some(Duration::ZERO)` it never waits.
    ///
    /// # Errors
    /// As [`AgentLoop::run`].
    pub fn poll(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        // first, since it may set deadlines: a connection may fail at once
        self.settle(self.clock.now());
        let deadline = self.schedule.next();
        let timeout = clock::wait(self.clock.now(), deadline, patience);
        self.poll.wait(&mut self.events, timeout.map(clock::most_of)).map_err(Error::epoll)?;
        if self.events.get(0).is_none() && timeout.is_some_and(|timeout| clock::most_of(timeout) < timeout) {
            let timeout = clock::wait(self.clock.now(), deadline, patience.map(|patience| patience / 100));
            self.poll.wait(&mut self.events, timeout).map_err(Error::epoll)?;
        }
        let now = self.clock.now();
        let mut at = 0;
        while let Some(event) = self.events.get(at) {
            at += 1;
            if event.token == STOP_TOKEN {
                return Ok(());
            }
            let assoc = AssocId(event.token);
            // in this order: what a RIC says at once is heard by an agent that knows that it is connected; and a link of
            // shared memory is connected by what it reads
            if event.writable || self.is_connecting(assoc) {
                self.writable(now, assoc);
            }
            if event.readable {
                self.receive(now, assoc);
            }
        }
        self.settle(now);
        self.deadlines(now);
        self.settle(now);
        Ok(())
    }

    fn owner(&self, assoc: AssocId) -> Option<ControllerId> {
        let id = (*self.owners.get(peers::place(assoc.0))?)?;
        let member = self.members.get(id)?;
        (member.assoc == Some(assoc) || member.association(assoc).is_some()).then_some(id)
    }

    fn receive(&mut self, now: Time, assoc: AssocId) {
        let Some(id) = self.owner(assoc) else { return };
        // nothing to be read before: that may end the handshake, too
        if self.is_connecting(assoc) {
            return;
        }
        self.mark(id);
        let AgentLoop { peers, members, scratch, .. } = self;
        let (Some(peer), Some(member)) = (peers.get_mut(assoc), members.get_mut(id)) else { return };
        if member.assoc != Some(assoc) {
            return self.receive_beside(now, id, assoc);
        }
        let received =
            peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| member.machine.handle_pdu(now, pdu));
        peer.log_paths();
        if let Err(error) = received {
            self.lose_link(now, id, assoc, &error);
        }
    }

    fn is_connecting(&self, assoc: AssocId) -> bool {
        self.peers.get(assoc).is_some_and(|peer| peer.link.state() == link::State::Connecting)
    }

    /// The link can be written; where it was connecting it may stand now.
    fn writable(&mut self, now: Time, assoc: AssocId) {
        let Some(id) = self.owner(assoc) else { return };
        let (Some(peer), Some(member)) = (self.peers.get_mut(assoc), self.members.get_mut(id)) else { return };
        if peer.link.state() == link::State::Connecting {
            if member.assoc != Some(assoc) {
                return self.associate(now, id, assoc);
            }
            match peer.link.finish_connect() {
                Ok(link::State::Established) => {
                    member.connect_by = None;
                    member.machine.handle_open(now);
                }
                Ok(_) => {
                    // not to be flushed: that may end the handshake, and nobody would notice
                    if let Err(error) = peer.wait_for_more(&self.poll) {
                        self.lose(now, id, &error);
                    }
                    return;
                }
                Err(error) => return self.lose(now, id, &error),
            }
            self.mark(id);
        }
        self.peers.touch(assoc);
    }

    fn connect(&mut self, now: Time, id: ControllerId) {
        let Some(member) = self.members.get_mut(id) else { return };
        self.config.link.sctp_ppid = ppid_of(member.machine.node_id());
        self.config.link.tap = self.config.link.tap.take().map(|tap| tap.speaking(member.codec.name()));
        member.first = None;
        credentials::renew(&self.config.link);
        let linked = Link::connect(&member.address, &self.config.link);
        let established = linked.as_ref().is_ok_and(|link| link.state() == link::State::Established);
        let assoc = linked
            .map_err(|e| e.to_string())
            .and_then(|link| self.peers.insert(&self.poll, link).map_err(|e| e.to_string()));
        match assoc {
            Ok(assoc) => {
                member.assoc = Some(assoc);
                let place = peers::place(assoc.0);
                if self.owners.len() <= place {
                    self.owners.resize(place + 1, None);
                }
                self.owners[place] = Some(id);
                if established {
                    member.machine.handle_open(now);
                } else {
                    member.connect_by = Some(now + self.config.setup_timeout);
                }
            }
            Err(error) => {
                warn!(node = %member.machine.node_id(), ric = %member.address, error, "{UNREACHABLE}");
                member.machine.handle_close(now, CloseReason::Transport);
            }
        }
    }

    pub(super) fn lose(&mut self, now: Time, id: ControllerId, error: &link::Error) {
        if self.goes_on(id, error) {
            return;
        }
        let Some(member) = self.members.get_mut(id) else { return };
        // one that is still being connected to was never there
        let what = if member.connect_by.take().is_some() { UNREACHABLE } else { "the RIC is lost" };
        if let Some(link) = member.assoc.take().and_then(|assoc| self.peers.remove(&self.poll, assoc)) {
            self.dropped_reports += link.dropped_reports();
        }
        warn!(node = %member.machine.node_id(), ric = %member.address, %error, "{what}");
        member.machine.handle_close(now, CloseReason::Transport);
        self.drop_associations(id);
        self.mark(id);
    }

    /// Calls whose time has come.
    fn deadlines(&mut self, now: Time) {
        let mut due = std::mem::take(&mut self.due);
        self.schedule.due(now, &mut due);
        for whose in due.drain(..) {
            match whose {
                Whose::Node(at) => {
                    let AgentLoop { nodes, members, peers, out, .. } = self;
                    nodes[at].report(now, members, peers, out);
                    self.tend(at);
                }
                Whose::Controller(id) => {
                    if let Some(member) = self.members.get_mut(id) {
                        member.machine.handle_timeout(now);
                        if member.connect_by.is_some_and(|by| by <= now) {
                            // nobody answers there, or somebody who never finishes a handshake
                            member.lost = Some(link::Error::Lost(std::io::ErrorKind::TimedOut.into()));
                        }
                        self.mark(id);
                    }
                    self.associations_due(now, id);
                }
            }
        }
        self.due = due;
    }

    /// After functions of a node were called: when they want to be called next, and which links they have overfilled.
    fn tend(&mut self, at: usize) {
        for place in 0..self.nodes[at].controllers.len() {
            let id = self.nodes[at].controllers[place];
            if self.members.get(id).is_some_and(|member| member.lost.is_some()) {
                self.mark(id);
            }
        }
        self.renew(at);
    }

    /// Does what the machines want until they want nothing more, then writes.
    fn settle(&mut self, now: Time) {
        let mut lost = Vec::new();
        let mut first = 0;
        loop {
            // what one wants may concern another of the same node
            while let Some(&id) = self.dirty.get(first) {
                first += 1;
                if let Some(member) = self.members.get_mut(id) {
                    member.dirty = false;
                }
                self.drain(now, id);
            }
            self.peers.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
            if lost.is_empty() {
                break;
            }
            for (assoc, error) in lost.drain(..) {
                if let Some(id) = self.owner(assoc) {
                    self.lose_link(now, id, assoc, &error);
                }
            }
        }
        self.dirty.clear();
    }

    /// Does what one machine wants, and sets its deadline.
    pub(super) fn drain(&mut self, now: Time, id: ControllerId) {
        let Some(member) = self.members.get_mut(id) else { return };
        let at = member.node;
        if let Some(error) = member.lost.take() {
            self.lose(now, id, &error);
        }
        while let Some(event) = self.members.get_mut(id).and_then(|member| member.machine.poll_event()) {
            if event == AgentEvent::Connect {
                self.connect(now, id);
            } else if let AgentEvent::ConnectionUpdate(update) = event {
                self.update_associations(now, id, update);
            } else {
                let AgentLoop { nodes, members, peers, out, .. } = self;
                nodes[at].handle(now, id, event, members, peers, out);
            }
        }
        self.transmit(now, id);
        if let Some(member) = self.members.get_mut(id)
            && let Some(reason) = member.machine.poll_close()
        {
            let assoc = member.assoc;
            self.close(now, id, assoc, reason);
        }
        if self.members.get(id).is_some_and(|member| member.leaves && member.is_left) {
            return self.forget_controller(now, id);
        }
        if let Some(member) = self.members.get_mut(id) {
            let due = [member.machine.poll_timeout(), member.connect_by, member.associations_due()];
            let due = due.into_iter().flatten().min();
            self.schedule.set(Whose::Controller(id), &mut member.due, due);
        }
        self.tend(at);
    }

    fn transmit(&mut self, now: Time, id: ControllerId) {
        self.out.clear();
        while let Some(member) = self.members.get_mut(id)
            && member.machine.poll_transmit(&mut self.out)
        {
            if let Some(assoc) = member.assoc
                && let Err(error) = self.peers.send(assoc, &[&self.out], link::Class::Keep)
            {
                self.lose(now, id, &error);
            }
            self.out.clear();
        }
    }
}

#[cfg(all(test, feature = "tls"))]
#[path = "turn_tests.rs"]
mod tests;
