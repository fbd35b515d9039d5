//! Additional TNL associations with one controller, at its request (E2AP v03.01 8.3.6).
//!
//! ```text
//! Connecting --link established--> Joining --acknowledged--> Joined
//!      |  failure, time-out            |  failure, time-out     |  loss
//!      +-----> reported as failed <----+                        +----> (closed)
//! ```
//!
//! The association of the E2 Setup is the first; the node sends over it. The others receive, and replace the first
//! when that is lost: then the earliest that has joined becomes the first, and subscriptions continue. E2 Setup is not
//! repeated: the first message on another association identifies the node (8.3.6.2), from v2 on.

use std::net::IpAddr;

use e2::{AssocId, ConnectionResult, ConnectionUpdate, Time};
use e2ap::{Cause, CauseTransport, E2ConnectionUpdateItem, TnlInformation, TnlUsage, TransactionId};
use link::{Address, Class, Link};
use tracing::{info, warn};

use super::node::ControllerConnection;
use super::poll::BUDGET_OCTETS;
use super::{AgentLoop, ControllerId, RanFunction};
use crate::{endpoint, peers};

/// The most associations, in addition to the first, that a node has with a controller; further ones are reported as
/// failed.
const MAX_ADDITIONAL: usize = 32;

/// An association in addition to the first.
pub(super) struct Association {
    pub assoc: AssocId,
    pub address: Address,
    /// The item of the controller's request.
    item: E2ConnectionUpdateItem<'static>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting { by: Time },
    Joining { transaction: TransactionId, by: Time },
    Joined,
}

/// A request that is being processed, and its result so far.
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

// Clause 8.3.6.2/2 node: If supported: associations to add are set up and used as the request says. Tests:
//   node_with_several_associations_survives_loss_of_the_first, v1_names_no_node_and_has_one_association. Deviation: the
//   usage is stored and reported; the node sends over the first association, whatever the usage. Versions: from v01.01
//   on.
// Clause 8.3.6.2/3 node: If supported: associations to modify get the new usage. Tests:
//   node_with_several_associations_survives_loss_of_the_first. Deviation: as before. Versions: from v01.01 on.
// Clause 8.3.6.2/4 node: If supported: associations to remove are closed. Tests:
//   node_with_several_associations_survives_loss_of_the_first. Versions: from v01.01 on.
// Clause 8.3.6.2/5 node: The last association that remains serves everything. Tests:
//   node_with_several_associations_survives_loss_of_the_first. Versions: from v01.01 on.
impl ControllerConnection {
    pub fn association(&self, assoc: AssocId) -> Option<&Association> {
        self.additional.iter().find(|association| association.assoc == assoc)
    }

    /// Returns the address of the first association.
    fn first(&self) -> &Address {
        self.first.as_ref().unwrap_or(&self.address)
    }

    /// Returns the earliest deadline of associations that have not joined.
    pub fn associations_due(&self) -> Option<Time> {
        self.additional.iter().filter_map(Association::by).min()
    }

    fn failed(&mut self, item: E2ConnectionUpdateItem<'static>, cause: Cause) {
        if let Some(update) = &mut self.update {
            update.result.failed.push((item.tnl_information, cause));
        }
    }
}

/// The cause that is reported for an association that cannot be set up.
const UNAVAILABLE: Cause = Cause::Transport(CauseTransport::TransportResourceUnavailable);

/// Returns the address of an association, which uses the same kind of link as the first. `None` if that kind has no
/// such addresses.
pub(super) fn address_of(first: &Address, tnl: &TnlInformation<'_>) -> Option<Address> {
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
    /// Starts an E2 Connection Update.
    pub(super) fn update_associations(&mut self, now: Time, id: ControllerId, update: ConnectionUpdate) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let (node, ric) = (connection.machine.node_id(), connection.address.clone());
        let (add, modify, remove) = (update.add.len(), update.modify.len(), update.remove.len());
        info!(%node, %ric, add, modify, remove, "E2 Connection Update requested by the RIC");
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
        if let Err(error) = connection.machine.check_join() {
            let (node, ric) = (connection.machine.node_id(), &connection.address);
            warn!(%node, %ric, %error, "cannot set up additional association: reported to the RIC as failed");
            return connection.failed(item, UNAVAILABLE);
        }
        let address = address_of(&connection.address, &item.tnl_information)
            .filter(|_| connection.additional.len() < MAX_ADDITIONAL);
        let Some(address) = address else {
            let (node, ric) = (connection.machine.node_id(), &connection.address);
            warn!(%node, %ric, "cannot set up additional association: no address for this kind of link, or too many associations");
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
                warn!(node = %connection.machine.node_id(), ric = %address, error, "cannot set up additional association");
                connection.failed(item, UNAVAILABLE);
            }
        }
    }

    /// Completes the link of an association.
    pub(super) fn finish_association(&mut self, now: Time, id: ControllerId, assoc: AssocId) {
        let Some(peer) = self.peers.get_mut(assoc) else { return };
        match peer.link.finish_connect() {
            Ok(link::State::Established) => self.send_join(now, id, assoc),
            // not flushed, for the same reason as the first
            Ok(_) => {
                if let Err(error) = peer.wait_for_more(&self.poll) {
                    self.handle_link_loss(now, id, assoc, &error);
                }
            }
            Err(error) => self.handle_link_loss(now, id, assoc, &error),
        }
    }

    /// Sends the first message on an association, which identifies the node.
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

    /// Reads from an association other than the first.
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
            info!(node = %connection.machine.node_id(), ric = %association.address, "additional association is up");
            if let Some(update) = &mut connection.update {
                update.result.set_up.push(association.item.clone());
            }
        }
        if let Some(cause) = refused {
            self.fail_association(id, assoc, cause, &format!("refused by the RIC: {cause}"));
        } else if let Err(error) = received {
            self.handle_link_loss(now, id, assoc, &error);
        }
        self.finish_update(id);
        self.mark_dirty(id);
    }

    /// Handles the loss of a link, of the first association or another.
    pub(super) fn handle_link_loss(&mut self, now: Time, id: ControllerId, assoc: AssocId, error: &link::Error) {
        match self.connections.get(id) {
            Some(connection) if connection.assoc != Some(assoc) => {
                self.fail_association(id, assoc, UNAVAILABLE, &error.to_string())
            }
            _ => self.handle_loss(now, id, error),
        }
    }

    /// Drops associations that have not joined in time.
    pub(super) fn associations_due(&mut self, now: Time, id: ControllerId) {
        while let Some(connection) = self.connections.get(id)
            && let Some(late) =
                connection.additional.iter().find(|association| association.by().is_some_and(|by| by <= now))
        {
            let assoc = late.assoc;
            self.fail_association(id, assoc, UNAVAILABLE, "not answered in time");
        }
    }

    /// Closes an association other than the first, and reports it as failed if it has not joined.
    fn fail_association(&mut self, id: ControllerId, assoc: AssocId, cause: Cause, why: &str) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(at) = connection.additional.iter().position(|association| association.assoc == assoc) else { return };
        let association = connection.additional.remove(at);
        warn!(node = %connection.machine.node_id(), ric = %association.address, why, "additional association closed");
        if !association.has_joined() {
            connection.failed(association.item, cause);
        }
        self.close_link(assoc);
        self.finish_update(id);
        self.mark_dirty(id);
    }

    /// Answers an E2 Connection Update once every association has joined or failed.
    fn finish_update(&mut self, id: ControllerId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if !connection.additional.iter().all(Association::has_joined) {
            return;
        }
        let Some(AssociationUpdate { remove, result }) = connection.update.take() else { return };
        if let Err(error) = connection.machine.connection_updated(&result) {
            // an association that was requested twice
            warn!(node = %connection.machine.node_id(), %error, "cannot answer E2 Connection Update; refusing it");
            let _ = connection.machine.refuse_connection_update(UNAVAILABLE, None); // the machine may have no such procedure any more
        }
        for tnl in remove {
            self.remove_association(id, &tnl);
        }
        self.mark_dirty(id);
    }

    /// Removes an association at the controller's request. The last one stays: without any there is no connection.
    fn remove_association(&mut self, id: ControllerId, tnl: &TnlInformation<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let address = address_of(&connection.address, tnl);
        let is_it = |association: &Association| {
            association.item.tnl_information == *tnl || Some(&association.address) == address.as_ref()
        };
        if let Some(at) = connection.additional.iter().position(is_it) {
            let association = connection.additional.remove(at);
            info!(node = %connection.machine.node_id(), ric = %association.address, "association removed by the RIC");
            return self.close_link(association.assoc);
        }
        if address.as_ref() != Some(connection.first()) {
            return; // it does not exist
        }
        if connection.additional.is_empty() {
            return warn!(ric = %connection.first(), "removal of the only association requested by the RIC: ignored");
        }
        // the answer is still to be sent, over the association that stays
        if let Some(first) = self.promote_next_association(id) {
            self.close_link(first);
        }
    }

    /// Replaces the first association, which is lost, by another. Returns whether there is one.
    pub(super) fn fail_over(&mut self, id: ControllerId, error: &link::Error) -> bool {
        let Some(first) = self.promote_next_association(id) else { return false };
        if let Some(connection) = self.connections.get_mut(id) {
            connection.lost = None;
            warn!(node = %connection.machine.node_id(), ric = %connection.first(), %error, "association to the RIC lost; continuing over another");
        }
        self.close_link(first);
        self.mark_dirty(id);
        true
    }

    /// Makes the next association the first, and returns the previous first.
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

    /// Closes all additional associations after the controller is lost or removed.
    pub(super) fn drop_associations(&mut self, id: ControllerId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.update = None;
        for association in std::mem::take(&mut connection.additional) {
            self.close_link(association.assoc);
        }
    }
}
