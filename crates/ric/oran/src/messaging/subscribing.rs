//! Subscriptions of xApps, by REST and over RMR.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ferric::e2::{Misuse, NodeId, SubscribeError, SubscriptionEnd, SubscriptionId, SubscriptionSpec, Ticket};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId, RicRequestId};
use ferric::server::IappContext;
use log_lines::Host;
use rest::{Problem, StatusCode};
use rmr::NO_SUBSCRIPTION;
use tracing::{info, warn};

use super::links::EndpointId;
use super::merging::{Active, Holder, Merged, MergedId};
use super::pdus::{self, Reference};
use super::{Messaging, ReplyTo};
use crate::subscription::document::{Instance, Notification, Overview, Params};
use crate::subscription::{MAX_OF_HOST_PERCENT, MAX_SUBSCRIPTIONS, NOTIFICATION_PATH};

/// Whose a share of a subscription is.
#[derive(Debug)]
pub(super) enum Owner {
    /// That of a record of REST.
    Rest {
        /// The record.
        record: u64,
        /// The xApp's number for it.
        xapp_instance: u16,
    },
    /// That of a message.
    Rmr {
        /// To whom the answer goes, until it was sent.
        reply: Option<ReplyTo>,
        /// What the request refers to.
        reference: Reference,
    },
    /// That of a request which several RICs have.
    Shared {
        /// The request.
        record: String,
        /// The xApp's number for it.
        xapp_instance: u16,
    },
}

/// A subscription by REST: several of the RIC.
struct Record {
    /// Its id in REST.
    id: String,
    params: Arc<Params>,
    /// The host of the client.
    host: IpAddr,
    shares: HashMap<u16, MergedId>,
}

/// The subscriptions by REST.
pub(super) struct Records {
    all: HashMap<u64, Record>,
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

/// A share that the RIC has refused.
pub(super) struct Refused {
    pub holder: Holder<Owner>,
    pub misuse: Misuse,
}

/// Why a subscription has no effect, for an xApp.
pub(super) struct Fault {
    pub text: String,
    pub source: &'static str,
    pub is_timeout: bool,
    pub cause: Cause,
    pub is_node_lost: bool,
}

impl Messaging {
    /// Adds a share of a subscription, and subscribes if it is the first one.
    ///
    /// # Errors
    /// If the RIC refuses it, with the share.
    pub(super) fn subscribe(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        spec: SubscriptionSpec,
        holder: Holder<Owner>,
        ric: &mut IappContext<'_>,
    ) -> Result<(), Box<Refused>> {
        let spec = Arc::new(spec);
        if let Some(id) = self.merging.equal(node, function, &spec) {
            self.note_share(&holder.owner, id);
            let Some(merged) = self.merging.get_mut(id) else { return Ok(()) };
            merged.holders.push(holder);
            let last = merged.holders.len() - 1;
            if let Some(active) = merged.active.clone() {
                self.report_active(id, last, &active);
                self.route(id);
            }
            return Ok(());
        }
        match ric.subscribe(node, function, (*spec).clone()) {
            Ok(ticket) => {
                let merged = Merged { node, function, spec, active: None, holders: Vec::new() };
                let id = self.merging.add(ticket, merged);
                self.note_share(&holder.owner, id);
                if let Some(merged) = self.merging.get_mut(id) {
                    merged.holders.push(holder);
                }
                Ok(())
            }
            Err(misuse) => Err(Box::new(Refused { holder, misuse })),
        }
    }

    fn note_share(&mut self, owner: &Owner, id: MergedId) {
        match owner {
            Owner::Rest { record, xapp_instance } => {
                if let Some(record) = self.records.all.get_mut(record) {
                    record.shares.insert(*xapp_instance, id);
                }
            }
            Owner::Shared { record, xapp_instance } => {
                if let Some(sharing) = &mut self.sharing {
                    sharing.subscriptions.place(record, *xapp_instance, id);
                }
            }
            Owner::Rmr { .. } => {}
        }
    }

    /// A node has set up a subscription.
    pub(super) fn subscribed(
        &mut self,
        ticket: Ticket,
        subscription: SubscriptionId,
        admitted: &[RicActionId],
        not_admitted: &[(RicActionId, Cause)],
        ric: &mut IappContext<'_>,
    ) {
        let Some(id) = self.merging.answered(ticket) else { return };
        let active = Active {
            subscription,
            request_id: ric.request_id(subscription),
            admitted: admitted.to_vec(),
            not_admitted: not_admitted.to_vec(),
        };
        self.merging.activate(id, active.clone());
        let holders = self.merging.get_mut(id).map_or(0, |merged| merged.holders.len());
        if holders == 0 {
            return self.end(id, ric);
        }
        for at in 0..holders {
            self.report_active(id, at, &active);
        }
        self.route(id);
    }

    /// Tells an xApp that its share is active.
    fn report_active(&mut self, id: MergedId, at: usize, active: &Active) {
        let Some(holder) = self.merging.get_mut(id).and_then(|merged| merged.holders.get_mut(at)) else { return };
        match &mut holder.owner {
            Owner::Rest { record, xapp_instance } => {
                let (record, xapp_instance) = (*record, *xapp_instance);
                let instance = Instance::active(xapp_instance, active.request_id.instance.into(), &active.not_admitted);
                self.notify(record, instance);
            }
            Owner::Shared { record, xapp_instance } => {
                let (record, xapp_instance) = (record.clone(), *xapp_instance);
                self.shared_active(&record, xapp_instance, active);
            }
            Owner::Rmr { reply, reference } => {
                let answer =
                    pdus::subscription_response(reference, active.request_id, &active.admitted, &active.not_admitted);
                if let (Some(reply), Some(answer)) = (reply.take(), answer) {
                    self.answer(&reply, i32::from(active.request_id.instance), &answer);
                }
            }
        }
    }

    /// Posts a notification to the xApp of a record.
    fn notify(&self, record: u64, instance: Instance) {
        let Some(record) = self.records.all.get(&record) else { return };
        let client = &record.params.client_endpoint;
        let document = Notification { id: record.id.clone(), instances: vec![instance] };
        if let (Some(port), Ok(document)) = (client.http_port, serde_json::to_value(document)) {
            self.links.helpers().notify(&client.host, port, NOTIFICATION_PATH, document);
        }
    }

    /// A node, or the RIC, has refused a subscription.
    pub(super) fn subscription_failed(&mut self, ticket: Ticket, error: &SubscribeError) {
        let Some(id) = self.merging.answered(ticket) else { return };
        let (is_timeout, is_node_lost) = (*error == SubscribeError::TimedOut, *error == SubscribeError::NodeLost);
        let source = if matches!(error, SubscribeError::Refused { .. }) { "E2Node" } else { "SUBMGR" };
        let (text, cause) = (error.to_string(), pdus::cause_of(error));
        self.fail(id, &Fault { text, source, is_timeout, cause, is_node_lost });
    }

    /// A subscription has ended without a request of an xApp.
    pub(super) fn subscription_ended(&mut self, subscription: SubscriptionId, end: SubscriptionEnd) {
        let Some(id) = self.merging.find(subscription) else { return };
        self.routes.remove(&subscription);
        let cause = Cause::Misc(ferric::e2ap::CauseMisc::Unspecified);
        let (text, is_node_lost) = (format!("the subscription has ended: {end}"), end == SubscriptionEnd::NodeLost);
        self.fail(id, &Fault { text, source: "E2Node", is_timeout: false, cause, is_node_lost });
    }

    /// Removes a subscription that has no effect, and tells its xApps.
    fn fail(&mut self, id: MergedId, fault: &Fault) {
        let Some(merged) = self.merging.remove(id) else { return };
        let actions: Vec<_> = merged.spec.actions.iter().map(|action| action.id).collect();
        for Holder { endpoint, owner } in merged.holders {
            if let Some(endpoint) = endpoint {
                self.links.release(endpoint);
            }
            match owner {
                Owner::Rest { record, xapp_instance } => {
                    self.notify(record, Instance::failed(xapp_instance, &fault.text, fault.source, fault.is_timeout));
                    if let Some(record) = self.records.all.get_mut(&record) {
                        record.shares.remove(&xapp_instance);
                    }
                }
                Owner::Shared { record, xapp_instance } => self.shared_failed(&record, xapp_instance, fault),
                Owner::Rmr { reply, reference } => {
                    let answer = pdus::subscription_failure(&reference, fault.cause, &actions);
                    if let (Some(reply), Some(answer)) = (reply, answer) {
                        self.answer(&reply, NO_SUBSCRIPTION, &answer);
                    }
                }
            }
        }
    }

    /// Ends an active subscription that no xApp has a share of. One that is not active yet ends with the answer of its node.
    fn end(&mut self, id: MergedId, ric: &mut IappContext<'_>) {
        let Some(Merged { active: Some(active), .. }) = self.merging.get_mut(id) else { return };
        let subscription = active.subscription;
        self.merging.remove(id);
        self.routes.remove(&subscription);
        // it fails if the subscription has just ended
        let _ = ric.unsubscribe(subscription);
    }

    /// Removes shares of a subscription.
    pub(super) fn remove_shares(
        &mut self,
        id: MergedId,
        is_removed: impl FnMut(&Holder<Owner>) -> bool,
        ric: &mut IappContext<'_>,
    ) {
        let (endpoints, is_unused) = self.merging.remove_shares(id, is_removed);
        for endpoint in endpoints {
            self.links.release(endpoint);
        }
        if is_unused {
            self.end(id, ric);
        } else {
            self.route(id);
        }
    }

    /// Removes a share that was requested over RMR. Returns whether there is one.
    pub(super) fn unsubscribe_rmr(
        &mut self,
        endpoint: &str,
        request_id: RicRequestId,
        function: RanFunctionId,
        ric: &mut IappContext<'_>,
    ) -> bool {
        let is_meant = |merged: &Merged<Owner>| {
            let active = merged.active.as_ref();
            // xApps of the platform know the instance only
            merged.function == function && active.is_some_and(|of| of.request_id.instance == request_id.instance)
        };
        let links = &self.links;
        let is_own = |holder: &Holder<Owner>| {
            matches!(holder.owner, Owner::Rmr { .. }) && holder.endpoint.is_some_and(|of| links.name(of) == endpoint)
        };
        let mut found = None;
        for id in self.merging.with_share(is_own) {
            if self.merging.get_mut(id).is_some_and(|merged| is_meant(merged)) {
                found = Some(id);
            }
        }
        let Some(id) = found else { return false };
        let endpoint = self.links.endpoint(endpoint);
        self.remove_shares(id, |holder| matches!(holder.owner, Owner::Rmr { .. }) && holder.endpoint == endpoint, ric);
        true
    }

    /// Removes all shares of an xApp that cannot be reached.
    pub(super) fn remove_endpoint(&mut self, endpoint: EndpointId, ric: &mut IappContext<'_>) {
        let ids = self.merging.with_share(|holder| holder.endpoint == Some(endpoint));
        if self.links.log().allow_important(Host::Unknown) {
            warn!(
                "the xApp at {} could not be reached for {} s: {} of its subscriptions are deleted",
                self.links.name(endpoint),
                super::links::UNREACHABLE.as_secs(),
                ids.len()
            );
        }
        for id in ids {
            let (mut removed, mut removed_shared) = (Vec::new(), Vec::new());
            let is_removed = |holder: &Holder<Owner>| {
                let is_removed = holder.endpoint == Some(endpoint);
                match (is_removed, &holder.owner) {
                    (true, Owner::Rest { record, xapp_instance }) => removed.push((*record, *xapp_instance)),
                    (true, Owner::Shared { record, .. }) => removed_shared.push(record.clone()),
                    _ => {}
                }
                is_removed
            };
            self.remove_shares(id, is_removed, ric);
            self.delete_unreachable(removed_shared, ric);
            for (number, xapp_instance) in removed {
                if let Some(record) = self.records.all.get_mut(&number) {
                    record.shares.remove(&xapp_instance);
                    if record.shares.is_empty() {
                        self.records.all.remove(&number);
                    }
                }
            }
        }
    }

    /// Accepts a request to subscribe by REST. Returns it with its id; [`Messaging::request_shares`] then does what it asks for.
    /// A request that equals an earlier one is that one.
    ///
    /// # Errors
    /// If there is no such node, no room, or another request with this id.
    pub(crate) fn accept(&mut self, params: Params, host: IpAddr) -> Result<Accepted, Problem> {
        if self.sharing.is_some() {
            return self.accept_shared(params, host);
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

    /// Requests what an accepted request wants and does not have; the xApp is notified of each outcome. What it has already is
    /// notified again.
    pub(crate) fn request_shares(&mut self, accepted: &Accepted, ric: &mut IappContext<'_>) {
        let Some((number, node)) = accepted.own else { return self.set_up_subscription(&accepted.id, ric) };
        let Some(params) = self.records.all.get(&number).map(|record| Arc::clone(&record.params)) else { return };
        let function = RanFunctionId(params.ran_function_id);
        for detail in &params.details.0 {
            let xapp_instance = detail.xapp_event_instance_id;
            let known = self.records.all.get(&number).and_then(|record| record.shares.get(&xapp_instance)).copied();
            if let Some(merged) = known.and_then(|id| self.merging.get_mut(id)) {
                if let Some(active) = merged.active.clone() {
                    let request_id = active.request_id;
                    let instance = Instance::active(xapp_instance, request_id.instance.into(), &active.not_admitted);
                    self.notify(number, instance);
                }
                continue;
            }
            let endpoint = params.rmr_endpoint().map(|endpoint| self.links.hold(&endpoint));
            let holder = Holder { endpoint, owner: Owner::Rest { record: number, xapp_instance } };
            if let Err(refused) = self.subscribe(node, function, detail.spec(), holder, ric) {
                let Refused { holder, misuse } = *refused;
                if let Some(endpoint) = holder.endpoint {
                    self.links.release(endpoint);
                }
                self.notify(number, Instance::failed(xapp_instance, &misuse.to_string(), "SUBMGR", false));
            }
        }
    }

    /// Deletes a subscription by REST.
    ///
    /// # Errors
    /// If there is none with this id.
    pub(crate) fn unsubscribe_rest(&mut self, id: &str, ric: &mut IappContext<'_>) -> Result<(), Problem> {
        if self.unsubscribe_shared_rest(id, ric) {
            return Ok(());
        }
        let number = self.records.named(id);
        let record = number.and_then(|number| Some((number, self.records.all.remove(&number)?)));
        let Some((number, record)) = record else {
            return Err(Problem::bad_request(format!("there is no subscription `{id}`")));
        };
        for share in record.shares.into_values() {
            let is_removed = |holder: &Holder<Owner>| match holder.owner {
                Owner::Rest { record, .. } => record == number,
                Owner::Rmr { .. } | Owner::Shared { .. } => false,
            };
            self.remove_shares(share, is_removed, ric);
        }
        Ok(())
    }

    /// All subscriptions that are active, as the subscription manager lists them.
    pub(crate) fn overview(&self) -> Vec<Overview> {
        if self.sharing.is_some() {
            return self.shared_overview();
        }
        let of = |merged: &Merged<Owner>| {
            Some(Overview {
                id: merged.active.as_ref()?.request_id.instance.into(),
                meid: self.names.get(&merged.node)?.clone(),
                endpoints: merged
                    .endpoints()
                    .into_iter()
                    .map(|endpoint| self.links.name(endpoint).to_owned())
                    .collect(),
                instances: Vec::new(),
            })
        };
        let mut all: Vec<_> = self.merging.iter().filter_map(of).collect();
        all.sort_by(|a, b| (a.id, &a.meid).cmp(&(b.id, &b.meid)));
        all
    }

    /// How the endpoints of xApps are doing.
    pub(crate) fn endpoints(&self) -> Vec<crate::subscription::document::Endpoint> {
        let of = |state: super::links::EndpointState| crate::subscription::document::Endpoint {
            is_well: self.health_of(&state.name),
            endpoint: state.name,
            is_connected: state.is_connected,
            indications: state.sent,
            lost_indications: state.lost,
        };
        let of_xapps = |state: &super::links::EndpointState| !self.is_ric(&state.name);
        self.links.endpoints().into_iter().filter(of_xapps).map(of).collect()
    }
}
