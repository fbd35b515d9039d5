//! Subscriptions of xApps, by REST and over RMR.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ferric::e2::{Lacking, Misuse, NodeId, SubscribeError, SubscriptionEnd, SubscriptionId, SubscriptionSpec, Ticket};
use ferric::e2ap::{Cause, CauseMisc, CauseRicRequest, RanFunctionId, RicActionId, RicRequestId};
use ferric::server::IappContext;
use log_lines::Host;
use rest::{Problem, StatusCode};
use rmr::NO_SUBSCRIPTION;
use tracing::{info, warn};

use super::links::{EndpointId, Purpose};
use super::merging::{Active, Holder, Merged, MergedId};
use super::pdus::{self, Reference};
use super::quotas::Exceeded;
use super::rights::Sender;
use super::share_audit::AskedShare;
use super::{Messaging, ReplyTo};
use crate::subscription::document::{Instance, Notification, Overview, Params};
use crate::subscription::{MAX_OF_HOST_PERCENT, MAX_SUBSCRIPTIONS, NOTIFICATION_PATH};

/// Whose a share of a subscription is.
#[derive(Debug)]
pub(super) struct Owner {
    /// Who has requested it.
    pub sender: Sender,
    /// Its name in the audit log.
    pub share: String,
    /// How it was requested.
    pub way: Way,
}

/// How a share was requested.
#[derive(Debug)]
pub(super) enum Way {
    /// By a record of REST.
    Rest {
        /// The record.
        record: u64,
        /// The xApp's number for it.
        xapp_instance: u16,
    },
    /// By a message.
    Rmr {
        /// To whom the answer goes, until it was sent.
        reply: Option<ReplyTo>,
        /// What the request refers to.
        reference: Reference,
    },
}

impl Owner {
    fn is_rmr(&self) -> bool {
        matches!(self.way, Way::Rmr { .. })
    }
}

/// A request to subscribe over RMR.
pub(super) struct RmrRequest {
    pub sender: Sender,
    pub reply: ReplyTo,
    pub reference: Reference,
    pub function: RanFunctionId,
}

/// Why an xApp's request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It lacks a right.
    Right { sender: Sender, lacking: Lacking },
    /// It has its share.
    Quota(Exceeded),
    /// There is no room for its endpoint.
    Endpoints(String),
    /// It has not stated where it receives.
    NoPort,
    /// The RIC does not do it.
    Misuse(Misuse),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Right { sender, lacking } => write!(
                f,
                "the xApp at {sender} has no right `{}` to it; to permit it, add the grant to `[[xapp_rights]]` with rmr = \"{sender}\" or \
                 the name of the xApp",
                lacking.name()
            ),
            Refusal::Quota(exceeded) => exceeded.fmt(f),
            Refusal::Endpoints(why) => f.write_str(why),
            Refusal::NoPort => f.write_str("its message does not state the port of the xApp"),
            Refusal::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl Refusal {
    /// The E2AP cause that is nearest to it.
    pub fn cause(&self) -> Cause {
        match self {
            Refusal::Right { .. } | Refusal::Misuse(Misuse::NotAllowed) => Cause::Misc(CauseMisc::OmIntervention),
            Refusal::Quota(_)
            | Refusal::Endpoints(_)
            | Refusal::Misuse(Misuse::TooManyRequests | Misuse::NodeBusy | Misuse::NoRequestId) => {
                Cause::Misc(CauseMisc::ControlProcessingOverload)
            }
            Refusal::Misuse(Misuse::UnknownFunction) => Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid),
            Refusal::Misuse(Misuse::BadActions) => Cause::RicRequest(CauseRicRequest::ActionNotSupported),
            Refusal::NoPort | Refusal::Misuse(_) => Cause::Misc(CauseMisc::Unspecified),
        }
    }

    /// Its answer by REST.
    fn problem(&self, at: u16) -> Problem {
        let detail = format!("subscription {at}: {self}");
        match self {
            Refusal::Right { .. } => Problem::new(StatusCode::FORBIDDEN, detail),
            _ => Problem::unavailable(detail),
        }
    }
}

/// A share that is asked for.
struct NewShare {
    node: NodeId,
    function: RanFunctionId,
    spec: SubscriptionSpec,
    owner: Owner,
    /// Where its indications go.
    endpoint: Option<String>,
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

    /// Refuses a client beyond its share.
    fn check_room(&self, host: IpAddr) -> Result<(), Problem> {
        let of_host = self.all.values().filter(|record| record.host == host).count();
        let limit_of_host = MAX_SUBSCRIPTIONS * MAX_OF_HOST_PERCENT / 100;
        if self.all.len() >= MAX_SUBSCRIPTIONS || of_host >= limit_of_host {
            return Err(Problem::unavailable(format!(
                "there are {} subscriptions, {of_host} of this host; \
                 {MAX_SUBSCRIPTIONS} and {limit_of_host} are allowed: delete some",
                self.all.len()
            )));
        }
        Ok(())
    }
}

/// A request to subscribe by REST that was accepted.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// Its id in REST.
    pub id: String,
    number: u64,
    node: NodeId,
}

/// Why a subscription has no effect, for an xApp.
struct Fault {
    text: String,
    source: &'static str,
    is_timeout: bool,
    cause: Cause,
}

impl Messaging {
    /// Refuses what a sender has no right to, or no room for.
    fn check_share(
        &self,
        sender: Sender,
        (node, function): (NodeId, RanFunctionId),
        spec: &SubscriptionSpec,
        endpoint: Option<&str>,
        ric: &IappContext<'_>,
    ) -> Result<(), Refusal> {
        if let (Some(rights), Some(node)) = (self.access.rights_of(sender), ric.node(node)) {
            let kinds = spec.actions.iter().map(|action| action.kind);
            let lacking = rights.may_subscribe(node, function, kinds);
            lacking.map_err(|lacking| Refusal::Right { sender, lacking })?;
        }
        endpoint.map_or(Ok(()), |endpoint| self.links.check_room(endpoint)).map_err(Refusal::Endpoints)?;
        self.shares.check(sender, 1).map_err(Refusal::Quota)
    }

    /// Adds a share of a subscription, and subscribes if it is the first one.
    fn subscribe(&mut self, new: NewShare, ric: &mut IappContext<'_>) -> Result<(), Refusal> {
        let NewShare { node, function, spec, owner, endpoint } = &new;
        let checked = self.check_share(owner.sender, (*node, *function), spec, endpoint.as_deref(), ric);
        let rights = self.access.rights_of(owner.sender);
        let asked = AskedShare {
            sender: owner.sender,
            by: if owner.is_rmr() { "rmr" } else { "rest" },
            share: &owner.share,
            node: self.names.get(node).map_or("", String::as_str),
            function: function.0,
            actions: spec.actions.len(),
            rights: rights.as_deref(),
        };
        self.audit.asked(&asked, checked.as_ref().err().map(Refusal::to_string).as_deref());
        checked?;
        self.shares.take(owner.sender, 1).map_err(Refusal::Quota)?;
        let NewShare { node, function, spec, owner, endpoint } = new;
        let endpoint = endpoint.map(|endpoint| self.links.hold(&endpoint, Purpose::Indications));
        let holder = Holder { endpoint, owner };
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
            Err(misuse) => {
                self.release(&holder, &misuse.to_string());
                Err(Refusal::Misuse(misuse))
            }
        }
    }

    /// Gives back what a share has that is no more.
    fn release(&mut self, holder: &Holder<Owner>, why: &str) {
        if let Some(endpoint) = holder.endpoint {
            self.links.release(endpoint, Purpose::Indications);
        }
        let Owner { sender, share, .. } = &holder.owner;
        self.shares.give_back(*sender, 1);
        self.audit.outcome(share, *sender, why);
    }

    /// Subscribes for a request over RMR.
    pub(super) fn subscribe_rmr(
        &mut self,
        node: NodeId,
        request: RmrRequest,
        spec: SubscriptionSpec,
        ric: &mut IappContext<'_>,
    ) -> Result<(), Refusal> {
        let RmrRequest { sender, reply, reference, function } = request;
        let endpoint = Some(sender.endpoint().ok_or(Refusal::NoPort)?);
        self.last_share += 1;
        let share = format!("rmr-{}", self.last_share);
        let owner = Owner { sender, share, way: Way::Rmr { reply: Some(reply), reference } };
        self.subscribe(NewShare { node, function, spec, owner, endpoint }, ric)
    }

    fn note_share(&mut self, owner: &Owner, id: MergedId) {
        if let Way::Rest { record, xapp_instance } = &owner.way
            && let Some(record) = self.records.all.get_mut(record)
        {
            record.shares.insert(*xapp_instance, id);
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
        self.audit.outcome(&holder.owner.share, holder.owner.sender, "active");
        match &mut holder.owner.way {
            Way::Rest { record, xapp_instance } => {
                let (record, xapp_instance) = (*record, *xapp_instance);
                let instance = Instance::active(xapp_instance, active.request_id.instance, &active.not_admitted);
                self.notify(record, instance);
            }
            Way::Rmr { reply, reference } => {
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
        let is_timeout = *error == SubscribeError::TimedOut;
        let source = if matches!(error, SubscribeError::Refused { .. }) { "E2Node" } else { "SUBMGR" };
        self.fail(id, &Fault { text: error.to_string(), source, is_timeout, cause: pdus::cause_of(error) });
    }

    /// A subscription has ended without a request of an xApp.
    pub(super) fn subscription_ended(&mut self, subscription: SubscriptionId, end: SubscriptionEnd) {
        let Some(id) = self.merging.find(subscription) else { return };
        self.routes.remove(&subscription);
        let cause = Cause::Misc(ferric::e2ap::CauseMisc::Unspecified);
        self.fail(
            id,
            &Fault { text: format!("the subscription has ended: {end}"), source: "E2Node", is_timeout: false, cause },
        );
    }

    /// Removes a subscription that has no effect, and tells its xApps.
    fn fail(&mut self, id: MergedId, fault: &Fault) {
        let Some(merged) = self.merging.remove(id) else { return };
        let actions: Vec<_> = merged.spec.actions.iter().map(|action| action.id).collect();
        for holder in merged.holders {
            self.release(&holder, &fault.text);
            match holder.owner.way {
                Way::Rest { record, xapp_instance } => {
                    self.notify(record, Instance::failed(xapp_instance, &fault.text, fault.source, fault.is_timeout));
                    if let Some(record) = self.records.all.get_mut(&record) {
                        record.shares.remove(&xapp_instance);
                    }
                }
                Way::Rmr { reply, reference } => {
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

    /// Removes shares of a subscription, for a reason.
    fn remove_shares(
        &mut self,
        id: MergedId,
        is_removed: impl FnMut(&Holder<Owner>) -> bool,
        why: &str,
        ric: &mut IappContext<'_>,
    ) {
        let (holders, is_unused) = self.merging.remove_shares(id, is_removed);
        holders.iter().for_each(|holder| self.release(holder, why));
        if is_unused {
            self.end(id, ric);
        } else {
            self.route(id);
        }
    }

    /// Removes a share that was requested over RMR. Returns whether there is one.
    pub(super) fn unsubscribe_rmr(
        &mut self,
        sender: Sender,
        request_id: RicRequestId,
        function: RanFunctionId,
        ric: &mut IappContext<'_>,
    ) -> bool {
        let is_meant = |merged: &Merged<Owner>| {
            let active = merged.active.as_ref();
            // xApps of the platform know the instance only
            merged.function == function && active.is_some_and(|of| of.request_id.instance == request_id.instance)
        };
        let is_own = |holder: &Holder<Owner>| holder.owner.is_rmr() && holder.owner.sender == sender;
        let mut found = None;
        for id in self.merging.with_share(is_own) {
            if self.merging.get_mut(id).is_some_and(|merged| is_meant(merged)) {
                found = Some(id);
            }
        }
        let Some(id) = found else { return false };
        self.audit.deletion(sender, "rmr", &request_id.instance.to_string(), None);
        self.remove_shares(id, is_own, "deleted", ric);
        true
    }

    /// Removes all shares of an xApp that cannot be reached.
    pub(super) fn remove_endpoint(&mut self, endpoint: EndpointId, ric: &mut IappContext<'_>) {
        let is_removed = |holder: &Holder<Owner>| holder.endpoint == Some(endpoint);
        let ids = self.merging.with_share(is_removed);
        if !ids.is_empty() && self.links.log().allow_important(Host::Unknown) {
            warn!(
                "the xApp at {} could not be reached for {} s: {} of its subscriptions are deleted",
                self.links.name(endpoint),
                super::links::UNREACHABLE.as_secs(),
                ids.len()
            );
        }
        for id in ids {
            for (record, xapp_instance) in self.rest_shares(id, is_removed) {
                self.forget_rest_share(record, xapp_instance);
            }
            self.remove_shares(id, is_removed, "deleted: the xApp could not be reached", ric);
        }
    }

    /// The shares of a subscription by REST that have a property.
    fn rest_shares(&mut self, id: MergedId, has: impl Fn(&Holder<Owner>) -> bool) -> Vec<(u64, u16)> {
        let holders = self.merging.get_mut(id).map(|merged| merged.holders.iter()).into_iter().flatten();
        let of = |holder: &Holder<Owner>| match holder.owner.way {
            Way::Rest { record, xapp_instance } => Some((record, xapp_instance)),
            Way::Rmr { .. } => None,
        };
        holders.filter(|holder| has(holder)).filter_map(of).collect()
    }

    fn forget_rest_share(&mut self, number: u64, xapp_instance: u16) {
        if let Some(record) = self.records.all.get_mut(&number) {
            record.shares.remove(&xapp_instance);
            if record.shares.is_empty() {
                self.records.all.remove(&number);
            }
        }
    }

    /// Takes the rights of xApps and their names, if they have changed, and ends what they do not permit any more.
    pub(super) fn take_access(&mut self, ric: &mut IappContext<'_>) {
        let (named, rights) = self.port.take_access();
        let has_new_names =
            named.is_some_and(|named| std::mem::replace(&mut self.access.named, named.clone()) != named);
        let has_new_rights = rights.is_some();
        if let Some(rights) = rights {
            self.access.rules = rights.map(Arc::from);
        }
        if has_new_rights || has_new_names && self.access.rules.is_some() {
            self.end_without_right(&self.merging.with_share(|_| true), ric);
        }
    }

    /// Ends the shares of subscriptions that their xApps have no right to.
    pub(super) fn end_without_right(&mut self, ids: &[MergedId], ric: &mut IappContext<'_>) {
        const WHY: &str = "the rights of the xApp do not allow it any more";
        for &id in ids {
            let Some(merged) = self.merging.get_mut(id) else { continue };
            // one whose node is lost is looked at when that is back
            let Some(node) = ric.node(merged.node) else { continue };
            let mut ended = Vec::new();
            for Holder { owner: Owner { sender, .. }, .. } in &merged.holders {
                let kinds = merged.spec.actions.iter().map(|action| action.kind);
                let rights = self.access.rights_of(*sender);
                if rights.is_some_and(|rights| rights.may_subscribe(node, merged.function, kinds).is_err()) {
                    ended.push(*sender);
                }
            }
            if ended.is_empty() {
                continue;
            }
            let function = merged.function.0;
            let name = self.names.get(&merged.node).cloned().unwrap_or_default();
            ended.sort_unstable_by_key(|sender| (sender.host, sender.port));
            ended.dedup();
            for sender in &ended {
                if self.links.log().allow(sender.host.into()) {
                    warn!("the subscription of the xApp at {sender} to function {function} of `{name}` ends: {WHY}");
                }
            }
            let is_ended = |holder: &Holder<Owner>| ended.contains(&holder.owner.sender);
            for (record, xapp_instance) in self.rest_shares(id, is_ended) {
                self.notify(record, Instance::failed(xapp_instance, WHY, "SUBMGR", false));
                self.forget_rest_share(record, xapp_instance);
            }
            self.remove_shares(id, is_ended, WHY, ric);
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
                self.records.check_room(host)?;
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
        Ok(Accepted { id, number, node })
    }

    /// Refuses a request by REST of which a part would be refused for want of a right or of room.
    fn check_rest(
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
            let Err(refusal) = self.check_share(sender, (node, function), &spec, endpoint.as_deref(), ric) else {
                continue;
            };
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
        let Accepted { number, node, .. } = *accepted;
        let Some(record) = self.records.all.get(&number) else { return };
        let (params, name) = (Arc::clone(&record.params), record.id.clone());
        let sender = Sender::new(record.host, params.client_endpoint.rmr_port);
        let function = RanFunctionId(params.ran_function_id);
        for detail in &params.details.0 {
            let xapp_instance = detail.xapp_event_instance_id;
            let known = self.records.all.get(&number).and_then(|record| record.shares.get(&xapp_instance)).copied();
            if let Some(merged) = known.and_then(|id| self.merging.get_mut(id)) {
                if let Some(active) = merged.active.clone() {
                    let instance = Instance::active(xapp_instance, active.request_id.instance, &active.not_admitted);
                    self.notify(number, instance);
                }
                continue;
            }
            let share = format!("{name}/{xapp_instance}");
            let owner = Owner { sender, share, way: Way::Rest { record: number, xapp_instance } };
            let new = NewShare { node, function, spec: detail.spec(), owner, endpoint: params.rmr_endpoint() };
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
        let of_other = number.and_then(|number| self.records.all.get(&number)).filter(|record| record.host != host);
        if let Some(owner) = of_other.map(|record| record.host)
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
        let record = number.and_then(|number| Some((number, self.records.all.remove(&number)?)));
        let Some((number, record)) = record else {
            return Err(Problem::bad_request(format!("there is no subscription `{id}`")));
        };
        self.audit.deletion(sender, "rest", id, None);
        for share in record.shares.into_values() {
            let is_removed = |holder: &Holder<Owner>| match holder.owner.way {
                Way::Rest { record, .. } => record == number,
                Way::Rmr { .. } => false,
            };
            self.remove_shares(share, is_removed, "deleted", ric);
        }
        Ok(())
    }

    /// All subscriptions that are active, as the subscription manager lists them.
    pub(crate) fn overview(&self) -> Vec<Overview> {
        let of = |merged: &Merged<Owner>| {
            Some(Overview {
                id: merged.active.as_ref()?.request_id.instance,
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
        self.links.endpoints().into_iter().map(of).collect()
    }
}
