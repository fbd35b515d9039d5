//! Subscriptions by REST: each is a record with shares of subscriptions of the RIC.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ferric::e2::NodeId;
use ferric::e2ap::RanFunctionId;
use ferric::server::IappContext;
use rest::{Problem, StatusCode};
use tracing::{info, warn};

use super::Messaging;
use super::merging::{Holder, MergedId};
use super::rights::Sender;
use super::share_audit::AskedShare;
use super::subscribing::{NewShare, Owner, Way};
use crate::subscription::document::{Instance, Notification, Params};
use crate::subscription::{MAX_OF_HOST_PERCENT, MAX_SUBSCRIPTIONS, NOTIFICATION_PATH};

/// A subscription by REST: several of the RIC.
pub(super) struct Record {
    /// Its id in REST.
    id: String,
    params: Arc<Params>,
    /// The host of the client.
    host: IpAddr,
    pub shares: HashMap<u16, MergedId>,
}

/// The subscriptions by REST.
pub(super) struct Records {
    pub all: HashMap<u64, Record>,
    /// When the RIC began, which tells its ids from those of its former life.
    begun: u64,
    last: u64,
}

impl Default for Records {
    fn default() -> Self {
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Records { all: HashMap::new(), begun, last: 0 }
    }
}

impl Records {
    fn named(&self, id: &str) -> Option<u64> {
        self.all.iter().find(|(_, record)| record.id == id).map(|(number, _)| *number)
    }

    fn equal(&self, params: &Params) -> Option<u64> {
        self.all.iter().find(|(_, record)| *record.params == *params).map(|(number, _)| *number)
    }
}

/// Refuses a client beyond its share, with the hosts of all subscriptions.
pub(super) fn check_room(hosts: impl Iterator<Item = IpAddr>, host: IpAddr) -> Result<(), Problem> {
    let (mut count, mut of_host) = (0, 0);
    for other in hosts {
        count += 1;
        of_host += usize::from(other == host);
    }
    let limit_of_host = MAX_SUBSCRIPTIONS * MAX_OF_HOST_PERCENT / 100;
    if count >= MAX_SUBSCRIPTIONS || of_host >= limit_of_host {
        return Err(Problem::unavailable(format!(
            "there are {count} subscriptions, {of_host} of this host; \
             {MAX_SUBSCRIPTIONS} and {limit_of_host} are allowed: delete some"
        )));
    }
    Ok(())
}

/// A request to subscribe by REST that was accepted.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// Its id in REST.
    pub id: String,
    /// Its record, unless several RICs have it.
    own: Option<(u64, NodeId)>,
}

impl Accepted {
    /// A request that several RICs have.
    pub fn shared(id: String) -> Self {
        Accepted { id, own: None }
    }
}

impl Messaging {
    /// Forgets a share of a record, and the record with its last one.
    pub(super) fn forget_rest_share(&mut self, number: u64, xapp_instance: u16) {
        if let Some(record) = self.records.all.get_mut(&number) {
            record.shares.remove(&xapp_instance);
            if record.shares.is_empty() {
                self.records.all.remove(&number);
            }
        }
    }

    /// Posts a notification to the xApp of a record.
    pub(super) fn notify(&self, record: u64, instance: Instance) {
        let Some(record) = self.records.all.get(&record) else { return };
        let client = &record.params.client_endpoint;
        let document = Notification { id: record.id.clone(), instances: vec![instance] };
        if let (Some(port), Ok(document)) = (client.http_port, serde_json::to_value(document)) {
            self.links.helpers().notify(&client.host, port, NOTIFICATION_PATH, document);
        }
    }

    /// Accepts a request to subscribe by REST. Returns it with its id; [`Messaging::request_shares`] then does what it asks for.
    /// A request that equals an earlier one is that one.
    ///
    /// # Errors
    /// If there is no such node, no right, no room, or another request with this id.
    pub(crate) fn accept(
        &mut self,
        params: Params,
        host: IpAddr,
        ric: &mut IappContext<'_>,
    ) -> Result<Accepted, Problem> {
        self.take_access(ric);
        if self.sharing.is_some() {
            return self.accept_shared(params, host, ric);
        }
        let Some((node, _)) = self.node(&params.meid) else {
            let detail = format!("there is no node `{}`: it has not set up, or is lost", params.meid);
            return Err(Problem::unavailable(detail));
        };
        let known = params.subscription_id.as_deref().and_then(|id| self.records.named(id));
        let params = Params { subscription_id: None, ..params };
        if let Some(record) = known.and_then(|known| self.records.all.get(&known))
            && *record.params != params
        {
            let detail = format!("subscription {} has another content: delete it first", record.id);
            return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
        }
        let number = match known.or_else(|| self.records.equal(&params)) {
            Some(number) => number,
            None => {
                self.check_rest(&params, node, host, ric)?;
                check_room(self.records.all.values().map(|record| record.host), host)?;
                self.records.last += 1;
                let number = self.records.last;
                let id = format!("{:x}-{number}", self.records.begun);
                let record = Record { id, params: Arc::new(params), host, shares: HashMap::new() };
                self.records.all.insert(number, record);
                number
            }
        };
        let id = self.records.all[&number].id.clone();
        if self.links.log().allow(host.into()) {
            let params = &self.records.all[&number].params;
            let client = &params.client_endpoint;
            info!(
                "xApp {} of {host} subscribes to function {} of {}: {} subscriptions, id {id}",
                log_lines::escaped(&client.host),
                params.ran_function_id,
                log_lines::escaped(&params.meid),
                params.details.0.len()
            );
        }
        Ok(Accepted { id, own: Some((number, node)) })
    }

    /// Refuses a request by REST of which a part would be refused for want of a right or of room.
    pub(super) fn check_rest(
        &mut self,
        params: &Params,
        node: NodeId,
        host: IpAddr,
        ric: &IappContext<'_>,
    ) -> Result<(), Problem> {
        let sender = Sender::new(host, params.client_endpoint.rmr_port);
        let endpoint = params.rmr_endpoint();
        let function = RanFunctionId(params.ran_function_id);
        for detail in &params.details.0 {
            let spec = detail.spec();
            let checked = self.check_right(sender, (node, function), &spec, ric);
            let Err(refusal) = checked.and_then(|()| self.check_room(sender, endpoint.as_deref())) else { continue };
            let (why, rights) = (refusal.to_string(), self.access.rights_of(sender));
            let asked = AskedShare {
                sender,
                by: "rest",
                share: "",
                node: &params.meid,
                function: function.0,
                actions: spec.actions.len(),
                rights: rights.as_deref(),
            };
            self.audit.asked(&asked, Some(&why));
            if let Some(count) = self.refusals.note(sender)
                && self.links.log().allow(host.into())
            {
                let node = log_lines::escaped(&params.meid);
                warn!(
                    "xApp at {sender}: a subscription by REST to function {} of `{node}` is refused: {why} ({count} refusals of it so \
                     far)",
                    function.0
                );
            }
            return Err(refusal.problem(detail.xapp_event_instance_id));
        }
        Ok(())
    }

    /// Requests what an accepted request wants and does not have; the xApp is notified of each outcome. What it has already is
    /// notified again.
    pub(crate) fn request_shares(&mut self, accepted: &Accepted, ric: &mut IappContext<'_>) {
        let Some((number, node)) = accepted.own else { return self.set_up_request(&accepted.id, ric) };
        let Some(record) = self.records.all.get(&number) else { return };
        let (params, name) = (Arc::clone(&record.params), record.id.clone());
        let sender = Sender::new(record.host, params.client_endpoint.rmr_port);
        let function = RanFunctionId(params.ran_function_id);
        for detail in &params.details.0 {
            let xapp_instance = detail.xapp_event_instance_id;
            let known = self.records.all.get(&number).and_then(|record| record.shares.get(&xapp_instance)).copied();
            if let Some(merged) = known.and_then(|id| self.merging.get_mut(id)) {
                if let Some(active) = merged.active.clone() {
                    let instance =
                        Instance::active(xapp_instance, active.request_id.instance.into(), &active.not_admitted);
                    self.notify(number, instance);
                }
                continue;
            }
            let share = format!("{name}/{xapp_instance}");
            let owner = Owner { sender, share, way: Way::Rest { record: number, xapp_instance } };
            let new =
                NewShare { node, function, spec: Arc::new(detail.spec()), owner, endpoint: params.rmr_endpoint() };
            if let Err(refusal) = self.subscribe(new, ric) {
                self.notify(number, Instance::failed(xapp_instance, &refusal.to_string(), "SUBMGR", false));
            }
        }
    }

    /// Deletes a subscription by REST.
    ///
    /// # Errors
    /// If there is none with this id, or there are rights, and another host has subscribed.
    pub(crate) fn unsubscribe_rest(
        &mut self,
        id: &str,
        host: IpAddr,
        ric: &mut IappContext<'_>,
    ) -> Result<(), Problem> {
        self.take_access(ric);
        let number = self.records.named(id);
        let sender = Sender::new(host, None);
        let shared = self.host_of_shared_rest(id);
        let of_record = number.and_then(|number| self.records.all.get(&number)).map(|record| record.host);
        if let Some(owner) = shared.or(of_record).filter(|owner| *owner != host)
            && self.access.rules.is_some()
        {
            let why = format!("subscription {id} is one of {owner}: with `[[xapp_rights]]`, only that host deletes it");
            self.audit.deletion(sender, "rest", id, Some(&why));
            if let Some(count) = self.refusals.note(sender)
                && self.links.log().allow(host.into())
            {
                warn!("xApp at {host}: a deletion by REST is refused: {why} ({count} refusals of it so far)");
            }
            return Err(Problem::new(StatusCode::FORBIDDEN, why));
        }
        if shared.is_some() {
            self.delete_shared(id, ric);
            self.audit.deletion(sender, "rest", id, None);
            return Ok(());
        }
        let record = number.and_then(|number| Some((number, self.records.all.remove(&number)?)));
        let Some((number, record)) = record else {
            return Err(Problem::bad_request(format!("there is no subscription `{id}`")));
        };
        self.audit.deletion(sender, "rest", id, None);
        for share in record.shares.into_values() {
            let is_removed = |holder: &Holder<Owner>| match holder.owner.way {
                Way::Rest { record, .. } => record == number,
                Way::Rmr { .. } | Way::Shared { .. } => false,
            };
            self.remove_shares(share, is_removed, "deleted", ric);
        }
        Ok(())
    }
}
