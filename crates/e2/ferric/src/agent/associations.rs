//! Several associations with one controller, as it wants them (E2AP v03.01 8.3.8).
//!
//! ```text
//! Connecting --link stands--> Joining --RIC's acknowledgement--> Joined
//!      |  failure, time-out      |  failure, time-out               |  loss
//!      +-------> told as failed <+                                  +----> (gone)
//! ```
//!
//! The association of the setup is the first, and carries what the node says; the others are there for what the RIC says,
//! and for the day that the first is lost: then the one that joined first takes its place, and subscriptions go on. Setup is
//! not repeated: the first message on another association names the node (8.3.5.2), which E2AP has from v2 on.

use std::net::IpAddr;

use e2::{AssocId, ConnectionResult, ConnectionUpdate, Time};
use e2ap::{Cause, CauseTransport, E2ConnectionUpdateItem, TnlInformation, TnlUsage, TransactionId};
use link::{Address, Class, Link};
use tracing::{info, warn};

use super::node::ControllerConnection;
use super::poll::BUDGET_OCTETS;
use super::{AgentLoop, ControllerId, RanFunction};
use crate::{endpoint, peers};

/// Associations beside the first that a node has with a controller, at most; more are told as failed.
const MAX_ADDITIONAL: usize = 32;

/// An association beside the first.
pub(super) struct Association {
    pub assoc: AssocId,
    pub address: Address,
    /// As the controller names it.
    item: E2ConnectionUpdateItem<'static>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting { by: Time },
    Joining { transaction: TransactionId, by: Time },
    Joined,
}

/// What is being done, and what became of it so far.
pub(super) struct AssociationUpdate {
    remove: Vec<TnlInformation<'static>>,
    result: ConnectionResult,
}

impl Association {
    pub fn has_joined(&self) -> bool {
        self.phase == Phase::Joined
    }

    fn by(&self) -> Option<Time> {
        match self.phase {
            Phase::Connecting { by } | Phase::Joining { by, .. } => Some(by),
            Phase::Joined => None,
        }
    }
}

impl ControllerConnection {
    pub fn association(&self, assoc: AssocId) -> Option<&Association> {
        self.additional.iter().find(|association| association.assoc == assoc)
    }

    /// Where the first association leads.
    fn first(&self) -> &Address {
        self.first.as_ref().unwrap_or(&self.address)
    }

    /// When the first of those that are to join must have.
    pub fn associations_due(&self) -> Option<Time> {
        self.additional.iter().filter_map(Association::by).min()
    }

    fn failed(&mut self, item: E2ConnectionUpdateItem<'static>, cause: Cause) {
        if let Some(update) = &mut self.update {
            update.result.failed.push((item.tnl_information, cause));
        }
    }
}

/// What a controller is told of what cannot be had.
const UNAVAILABLE: Cause = Cause::Transport(CauseTransport::TransportResourceUnavailable);

/// Where an association leads: by the same kind of link as the first. `None` where that has no such addresses.
fn address_of(first: &Address, tnl: &TnlInformation<'_>) -> Option<Address> {
    let (v4, v6) = tnl.addresses();
    let host = v4.map(IpAddr::from).or(v6.map(IpAddr::from))?.to_string();
    let port = |own: u16| tnl.port_number().unwrap_or(own);
    Some(match first {
        Address::Tcp { port: own, .. } => Address::Tcp { host, port: port(*own) },
        Address::Tls { port: own, .. } => Address::Tls { host, port: port(*own) },
        Address::Sctp { port: own, .. } => {
            let hosts = [v4.map(IpAddr::from), v6.map(IpAddr::from)];
            let hosts = hosts.into_iter().flatten().map(|host| host.to_string()).collect();
            Address::Sctp { hosts, port: port(*own) }
        }
        _ => return None,
    })
}

impl<F: RanFunction + ?Sized> AgentLoop<F> {
    /// The controller wants other associations.
    pub(super) fn update_associations(&mut self, now: Time, id: ControllerId, update: ConnectionUpdate) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let (node, ric) = (connection.machine.node_id(), connection.address.clone());
        let (add, modify, remove) = (update.add.len(), update.modify.len(), update.remove.len());
        info!(%node, %ric, add, modify, remove, "the RIC asks for other associations");
        connection.update = Some(AssociationUpdate { remove: update.remove, result: ConnectionResult::default() });
        for item in update.modify {
            let address = address_of(&connection.address, &item.tnl_information);
            let is_first = address.as_ref() == Some(connection.first());
            let known = connection
                .additional
                .iter_mut()
                .find(|other| other.has_joined() && Some(&other.address) == address.as_ref());
            match known {
                Some(association) => association.item = item.clone(),
                // the first carries everything
                None if is_first && item.tnl_usage == TnlUsage::Both => {}
                None => {
                    connection.failed(item, UNAVAILABLE);
                    continue;
                }
            }
            if let Some(update) = &mut connection.update {
                update.result.set_up.push(item);
            }
        }
        for item in update.add {
            self.add_association(now, id, item);
        }
        self.finish_update(id);
    }

    fn add_association(&mut self, now: Time, id: ControllerId, item: E2ConnectionUpdateItem<'static>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let address = address_of(&connection.address, &item.tnl_information)
            .filter(|_| connection.additional.len() < MAX_ADDITIONAL);
        let Some(address) = address else {
            let (node, ric) = (connection.machine.node_id(), &connection.address);
            warn!(%node, %ric, "an association cannot be had: no address for this kind of link, or too many");
            return connection.failed(item, UNAVAILABLE);
        };
        endpoint::renew_certificates(&self.config.link);
        let linked = Link::connect(&address, &self.config.link).map_err(|error| error.to_string());
        let established = linked.as_ref().is_ok_and(|link| link.state() == link::State::Established);
        match linked.and_then(|link| self.peers.insert(&self.poll, link).map_err(|error| error.to_string())) {
            Ok(assoc) => {
                let place = peers::place(assoc.0);
                if self.controllers_by_link.len() <= place {
                    self.controllers_by_link.resize(place + 1, None);
                }
                self.controllers_by_link[place] = Some(id);
                let phase = Phase::Connecting { by: now + self.config.setup_timeout };
                connection.additional.push(Association { assoc, address, item, phase });
                if established {
                    self.send_join(now, id, assoc);
                }
            }
            Err(error) => {
                warn!(node = %connection.machine.node_id(), ric = %address, error, "an association cannot be had");
                connection.failed(item, UNAVAILABLE);
            }
        }
    }

    /// The link of an association may stand now.
    pub(super) fn finish_association(&mut self, now: Time, id: ControllerId, assoc: AssocId) {
        let Some(peer) = self.peers.get_mut(assoc) else { return };
        match peer.link.finish_connect() {
            Ok(link::State::Established) => self.send_join(now, id, assoc),
            // not to be flushed, as the first is not
            Ok(_) => {
                if let Err(error) = peer.wait_for_more(&self.poll) {
                    self.handle_link_loss(now, id, assoc, &error);
                }
            }
            Err(error) => self.handle_link_loss(now, id, assoc, &error),
        }
    }

    /// The first message on an association says owner it is.
    fn send_join(&mut self, now: Time, id: ControllerId, assoc: AssocId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        self.out.clear();
        let by = now + self.config.setup_timeout;
        let sent = match connection.machine.join(&mut self.out) {
            Ok(transaction) => {
                let association = connection.additional.iter_mut().find(|association| association.assoc == assoc);
                if let Some(association) = association {
                    association.phase = Phase::Joining { transaction, by };
                }
                self.peers.send(assoc, &[&self.out], Class::Keep).map(drop).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        self.out.clear();
        if let Err(error) = sent {
            self.fail_association(id, assoc, UNAVAILABLE, &error);
        }
        self.mark_dirty(id);
    }

    /// Something came over an association beside the first.
    pub(super) fn receive_additional(&mut self, now: Time, id: ControllerId, assoc: AssocId) {
        let AgentLoop { peers, connections, scratch, .. } = self;
        let (Some(peer), Some(connection)) = (peers.get_mut(assoc), connections.get_mut(id)) else { return };
        let mut phase = connection.association(assoc).map(|association| association.phase);
        let mut refused = None;
        let received = peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            let answer = match phase {
                Some(Phase::Joining { transaction, .. }) => connection.machine.joined(transaction, pdu),
                _ => None,
            };
            match answer {
                Some(Ok(())) => phase = Some(Phase::Joined),
                Some(Err(cause)) => refused = Some(cause),
                None => connection.machine.handle_pdu(now, pdu),
            }
        });
        peer.log_paths();
        let association = connection.additional.iter_mut().find(|association| association.assoc == assoc);
        if let (Some(association), Some(phase)) = (association, phase)
            && phase != association.phase
        {
            association.phase = phase;
            info!(node = %connection.machine.node_id(), ric = %association.address, "the node has another association");
            if let Some(update) = &mut connection.update {
                update.result.set_up.push(association.item.clone());
            }
        }
        if let Some(cause) = refused {
            self.fail_association(id, assoc, cause, &format!("the RIC does not take it: {cause}"));
        } else if let Err(error) = received {
            self.handle_link_loss(now, id, assoc, &error);
        }
        self.finish_update(id);
        self.mark_dirty(id);
    }

    /// A link is lost: the first one, or one beside it.
    pub(super) fn handle_link_loss(&mut self, now: Time, id: ControllerId, assoc: AssocId, error: &link::Error) {
        match self.connections.get(id) {
            Some(connection) if connection.assoc != Some(assoc) => {
                self.fail_association(id, assoc, UNAVAILABLE, &error.to_string())
            }
            _ => self.handle_loss(now, id, error),
        }
    }

    /// Those that did not join in time.
    pub(super) fn associations_due(&mut self, now: Time, id: ControllerId) {
        while let Some(connection) = self.connections.get(id)
            && let Some(late) =
                connection.additional.iter().find(|association| association.by().is_some_and(|by| by <= now))
        {
            let assoc = late.assoc;
            self.fail_association(id, assoc, UNAVAILABLE, "no answer in time");
        }
    }

    /// An association beside the first comes to nothing, or ends.
    fn fail_association(&mut self, id: ControllerId, assoc: AssocId, cause: Cause, why: &str) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(at) = connection.additional.iter().position(|association| association.assoc == assoc) else { return };
        let association = connection.additional.remove(at);
        warn!(node = %connection.machine.node_id(), ric = %association.address, why, "an association ends");
        if !association.has_joined() {
            connection.failed(association.item, cause);
        }
        self.close_link(assoc);
        self.finish_update(id);
        self.mark_dirty(id);
    }

    /// Answers an update once all that was to join has, or will not.
    fn finish_update(&mut self, id: ControllerId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if !connection.additional.iter().all(Association::has_joined) {
            return;
        }
        let Some(AssociationUpdate { remove, result }) = connection.update.take() else { return };
        if let Err(error) = connection.machine.connection_updated(&result) {
            // one that was asked for twice
            warn!(node = %connection.machine.node_id(), %error, "an update of associations comes to nothing");
            let _ = connection.machine.refuse_connection_update(UNAVAILABLE, None); // it may be gone by now
        }
        for tnl in remove {
            self.remove_association(id, &tnl);
        }
        self.mark_dirty(id);
    }

    /// The controller wants an association no more. The last one stays: without any there is no controller.
    fn remove_association(&mut self, id: ControllerId, tnl: &TnlInformation<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let address = address_of(&connection.address, tnl);
        let is_it = |association: &Association| {
            association.item.tnl_information == *tnl || Some(&association.address) == address.as_ref()
        };
        if let Some(at) = connection.additional.iter().position(is_it) {
            let association = connection.additional.remove(at);
            info!(node = %connection.machine.node_id(), ric = %association.address, "an association ends, as the RIC wants");
            return self.close_link(association.assoc);
        }
        if address.as_ref() != Some(connection.first()) {
            return; // it is not there
        }
        if connection.additional.is_empty() {
            return warn!(ric = %connection.first(), "the RIC wants the only association removed, which stays");
        }
        // its answer is still to go out: over the one that stays
        if let Some(first) = self.promote_next_association(id) {
            self.close_link(first);
        }
    }

    /// The first association is lost: whether another takes its place.
    pub(super) fn fail_over(&mut self, id: ControllerId, error: &link::Error) -> bool {
        let Some(first) = self.promote_next_association(id) else { return false };
        if let Some(connection) = self.connections.get_mut(id) {
            connection.lost = None;
            warn!(node = %connection.machine.node_id(), ric = %connection.first(), %error, "the RIC goes on over another association");
        }
        self.close_link(first);
        self.mark_dirty(id);
        true
    }

    /// The next association takes the place of the first, which is given back.
    fn promote_next_association(&mut self, id: ControllerId) -> Option<AssocId> {
        let connection = self.connections.get_mut(id)?;
        let at = connection.additional.iter().position(Association::has_joined)?;
        let next = connection.additional.remove(at);
        connection.first = Some(next.address);
        connection.assoc.replace(next.assoc)
    }

    fn close_link(&mut self, assoc: AssocId) {
        if let Some(link) = self.peers.remove(&self.poll, assoc) {
            self.dropped_reports += link.dropped_reports();
            link.close();
        }
    }

    /// The controller is lost or left, and all associations with it.
    pub(super) fn drop_associations(&mut self, id: ControllerId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.update = None;
        for association in std::mem::take(&mut connection.additional) {
            self.close_link(association.assoc);
        }
    }
}
