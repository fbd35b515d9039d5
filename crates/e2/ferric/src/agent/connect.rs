//! Connection to a RIC: the choice of its address, the look-up of its host name, and the link.
//!
//! ```text
//! Connect --> host name is looked up --> link is established --> (E2 Setup)
//!                  |  failure, time-out       |  failure, time-out
//!                  +----> next attempt <------+
//! ```

use e2::{CloseReason, Target, Time};
use link::{Link, Lookup, Resolved};
use tracing::warn;

use super::associations::address_of;
use super::{AgentLoop, ControllerId, RanFunction};
use crate::endpoint::{LOOKUP_TIMEOUT, ppid_of};
use crate::{endpoint, peers};

/// Follows the reason why a connection was never established.
pub(super) const UNREACHABLE: &str = "cannot connect to the RIC; retrying";

impl<F: RanFunction + ?Sized> AgentLoop<F> {
    /// Begins to connect, as the machine of a controller wants.
    pub(super) fn connect(&mut self, now: Time, id: ControllerId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.first = None;
        let address = match connection.machine.target() {
            Target::Configured(at) => connection.addresses.get(at).cloned(),
            Target::Directed(tnl) => address_of(&connection.addresses[0], tnl),
        };
        let Some(address) = address else {
            let node = connection.machine.node_id();
            warn!(%node, ric = %connection.address, "the RIC directs the node to another address, which this kind of link does not have");
            return connection.machine.handle_close(now, CloseReason::Transport);
        };
        connection.address = address;
        let lookup = Lookup::begin(&connection.address, &self.config.link, &self.lookup_waker);
        let lookup = connection.lookup.insert(lookup);
        if lookup.is_done() {
            self.finish_lookup(now, id);
        } else {
            connection.connect_deadline = Some(now + LOOKUP_TIMEOUT);
            self.looking_up.insert(id);
        }
    }

    /// Connects to hosts whose names are looked up.
    pub(super) fn take_lookups(&mut self, now: Time) {
        for id in std::mem::take(&mut self.looking_up) {
            match self.connections.get(id).and_then(|connection| connection.lookup.as_ref()).map(Lookup::is_done) {
                Some(true) => self.finish_lookup(now, id),
                Some(false) => drop(self.looking_up.insert(id)),
                // given up
                None => {}
            }
        }
    }

    /// Connects to a host whose name is looked up, or was not in time.
    pub(super) fn finish_lookup(&mut self, now: Time, id: ControllerId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(lookup) = connection.lookup.take() else { return };
        connection.connect_deadline = None;
        let opened = endpoint::finish_lookup(lookup).and_then(|resolved| self.open(now, id, resolved));
        if let Err(error) = opened {
            self.fail_to_connect(now, id, &error.to_string());
        }
        self.mark_dirty(id);
    }

    fn open(&mut self, now: Time, id: ControllerId, resolved: Resolved) -> Result<(), link::Error> {
        let Some(connection) = self.connections.get_mut(id) else { return Ok(()) };
        self.config.link.sctp_ppid = ppid_of(connection.machine.node_id());
        self.config.link.tap = self.config.link.tap.take().map(|tap| tap.with_encoding(connection.codec.name()));
        endpoint::renew_certificates(&self.config.link);
        let link = Link::connect_resolved(resolved, &self.config.link)?;
        let is_established = link.state() == link::State::Established;
        let failed = |source| link::Error::Connect { address: connection.address.clone(), source };
        let assoc = self.peers.insert(&self.poll, link).map_err(failed)?;
        connection.assoc = Some(assoc);
        let place = peers::place(assoc.0);
        if self.controllers_by_link.len() <= place {
            self.controllers_by_link.resize(place + 1, None);
        }
        self.controllers_by_link[place] = Some(id);
        if is_established {
            connection.machine.handle_open(now);
        } else {
            connection.connect_deadline = Some(now + self.config.setup_timeout);
        }
        Ok(())
    }

    fn fail_to_connect(&mut self, now: Time, id: ControllerId, error: &str) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        warn!(node = %connection.machine.node_id(), ric = %connection.address, error, "{UNREACHABLE}");
        connection.machine.handle_close(now, CloseReason::Transport);
    }
}
