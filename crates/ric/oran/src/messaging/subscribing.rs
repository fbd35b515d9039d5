//! Shares of subscriptions of xApps, by REST and over RMR: who may have them, what becomes of them.

use std::sync::Arc;

use ferric::e2::{NodeId, SubscribeError, SubscriptionEnd, SubscriptionId, SubscriptionSpec, Ticket, XappRights};
use ferric::e2ap::{Cause, CauseMisc, RanFunctionId, RicActionId, RicRequestId};
use ferric::server::IappContext;
use log_lines::Host;
use rmr::NO_SUBSCRIPTION;
use tracing::warn;

use super::links::{EndpointId, Purpose};
use super::merging::{Active, Holder, Merged, MergedId};
use super::pdus::{self, Reference};
use super::refusal::Refusal;
use super::rights::{Access, Sender};
use super::share_audit::AskedShare;
use super::{Messaging, ReplyTo};
use crate::subscription::document::{Instance, Overview};

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
    /// That of a request which several RICs have.
    Shared {
        /// The request.
        record: String,
        /// The xApp's number for it.
        xapp_instance: u16,
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

/// A share that is asked for.
pub(super) struct NewShare {
    pub node: NodeId,
    pub function: RanFunctionId,
    pub spec: Arc<SubscriptionSpec>,
    pub owner: Owner,
    /// Where its indications go.
    pub endpoint: Option<String>,
}

/// Why a subscription has no effect, for an xApp.
pub(super) struct Fault {
    pub text: String,
    pub source: &'static str,
    pub is_timeout: bool,
    pub cause: Cause,
    pub is_node_lost: bool,
    /// The xApp has no right to it.
    pub lacks_right: bool,
}

impl Messaging {
    /// Refuses what a sender has no right to.
    pub(super) fn check_right(
        &self,
        sender: Sender,
        (node, function): (NodeId, RanFunctionId),
        spec: &SubscriptionSpec,
        ric: &IappContext<'_>,
    ) -> Result<(), Refusal> {
        let (Some(rights), Some(node)) = (self.access.rights_of(sender), ric.node(node)) else { return Ok(()) };
        let allowed = rights.may_subscribe(ric.ran(), node, function, spec);
        allowed.map_err(|lacking| Refusal::Right { sender, lacking })
    }

    /// Refuses what there is no room for.
    pub(super) fn check_room(&self, sender: Sender, endpoint: Option<&str>) -> Result<(), Refusal> {
        endpoint.map_or(Ok(()), |endpoint| self.links.check_room(endpoint)).map_err(Refusal::Endpoints)?;
        self.shares.check(sender, 1).map_err(Refusal::Quota)
    }

    /// Adds a share of a subscription, and subscribes if it is the first one.
    pub(super) fn subscribe(&mut self, new: NewShare, ric: &mut IappContext<'_>) -> Result<(), Refusal> {
        let sender = new.owner.sender;
        let mut checked = self.check_right(sender, (new.node, new.function), &new.spec, ric);
        if checked.is_ok() {
            if let Some(repeated) = self.repeated(&new) {
                self.answer_again(repeated, new.owner);
                return Ok(());
            }
            checked = self.check_room(sender, new.endpoint.as_deref());
        }
        let rights = self.access.rights_of(sender);
        let asked = AskedShare {
            sender,
            by: if new.owner.is_rmr() { "rmr" } else { "rest" },
            share: &new.owner.share,
            node: self.names.get(&new.node).map_or("", String::as_str),
            function: new.function.0,
            actions: new.spec.actions.len(),
            rights: rights.as_deref(),
        };
        self.audit.asked(&asked, checked.as_ref().err().map(Refusal::to_string).as_deref());
        checked?;
        self.shares.take(sender, 1).map_err(Refusal::Quota)?;
        let NewShare { node, function, spec, owner, endpoint } = new;
        let endpoint = endpoint.map(|endpoint| self.links.hold(&endpoint, Purpose::Indications));
        let holder = Holder { endpoint, owner };
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

    /// The share over RMR that a request repeats: that of the same xApp in an equal subscription.
    fn repeated(&mut self, new: &NewShare) -> Option<(MergedId, usize)> {
        let NewShare { node, function, spec, owner, .. } = new;
        let id = self.merging.equal(*node, *function, spec).filter(|_| owner.is_rmr())?;
        let holders = &self.merging.get_mut(id)?.holders;
        let is_it = |holder: &Holder<Owner>| holder.owner.is_rmr() && holder.owner.sender == owner.sender;
        Some((id, holders.iter().position(is_it)?))
    }

    /// Answers a request that repeats one, now or with the answer to the first.
    fn answer_again(&mut self, (id, at): (MergedId, usize), new: Owner) {
        let Some(merged) = self.merging.get_mut(id) else { return };
        merged.holders[at].owner.way = new.way;
        if let Some(active) = merged.active.clone() {
            self.report_active(id, at, &active);
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
        self.subscribe(NewShare { node, function, spec: Arc::new(spec), owner, endpoint }, ric)
    }

    fn note_share(&mut self, owner: &Owner, id: MergedId) {
        match &owner.way {
            Way::Rest { record, xapp_instance } => {
                if let Some(record) = self.records.all.get_mut(record) {
                    record.shares.insert(*xapp_instance, id);
                }
            }
            Way::Shared { record, xapp_instance } => {
                if let Some(sharing) = &mut self.sharing {
                    sharing.subscriptions.place(record, *xapp_instance, id);
                }
            }
            Way::Rmr { .. } => {}
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
                let instance = Instance::active(xapp_instance, active.request_id.instance.into(), &active.not_admitted);
                self.notify(record, instance);
            }
            Way::Shared { record, xapp_instance } => {
                let (record, xapp_instance) = (record.clone(), *xapp_instance);
                self.shared_active(&record, xapp_instance, active);
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

    /// A node, or the RIC, has refused a subscription.
    pub(super) fn subscription_failed(&mut self, ticket: Ticket, error: &SubscribeError) {
        let Some(id) = self.merging.answered(ticket) else { return };
        let (is_timeout, is_node_lost) = (*error == SubscribeError::TimedOut, *error == SubscribeError::NodeLost);
        let source = if matches!(error, SubscribeError::Refused { .. }) { "E2Node" } else { "SUBMGR" };
        let (text, cause) = (error.to_string(), pdus::cause_of(error));
        self.fail(id, &Fault { text, source, is_timeout, cause, is_node_lost, lacks_right: false });
    }

    /// A subscription has ended without a request of an xApp.
    pub(super) fn subscription_ended(&mut self, subscription: SubscriptionId, end: SubscriptionEnd) {
        let Some(id) = self.merging.find(subscription) else { return };
        self.routes.remove(&subscription);
        let cause = Cause::Misc(ferric::e2ap::CauseMisc::Unspecified);
        let (text, is_node_lost) = (format!("the subscription has ended: {end}"), end == SubscriptionEnd::NodeLost);
        let fault = Fault { text, source: "E2Node", is_timeout: false, cause, is_node_lost, lacks_right: false };
        self.fail(id, &fault);
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
                Way::Shared { record, xapp_instance } => self.shared_failed(&record, xapp_instance, fault),
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
    pub(super) fn remove_shares(
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
                "the xApp at {} could not be reached for {} s: {} of its subscriptions are deleted; it subscribes again when \
                 it is back",
                self.links.name(endpoint),
                super::links::UNREACHABLE.as_secs(),
                ids.len()
            );
        }
        for id in ids {
            for (record, xapp_instance) in self.rest_shares(id, is_removed) {
                self.forget_rest_share(record, xapp_instance);
            }
            let shared = self.shared_shares(id, is_removed).into_iter().map(|(record, _)| record).collect();
            self.remove_shares(id, is_removed, "deleted: the xApp could not be reached", ric);
            self.delete_unreachable(shared, ric);
        }
    }

    /// The shares of a subscription by REST that have a property.
    fn rest_shares(&mut self, id: MergedId, has: impl Fn(&Holder<Owner>) -> bool) -> Vec<(u64, u16)> {
        let holders = self.merging.get_mut(id).map(|merged| merged.holders.iter()).into_iter().flatten();
        let of = |holder: &Holder<Owner>| match holder.owner.way {
            Way::Rest { record, xapp_instance } => Some((record, xapp_instance)),
            Way::Rmr { .. } | Way::Shared { .. } => None,
        };
        holders.filter(|holder| has(holder)).filter_map(of).collect()
    }

    /// The shares of a subscription that are of requests which several RICs have, and have a property.
    fn shared_shares(&mut self, id: MergedId, has: impl Fn(&Holder<Owner>) -> bool) -> Vec<(String, u16)> {
        let holders = self.merging.get_mut(id).map(|merged| merged.holders.iter()).into_iter().flatten();
        let of = |holder: &Holder<Owner>| match &holder.owner.way {
            Way::Shared { record, xapp_instance } => Some((record.clone(), *xapp_instance)),
            Way::Rest { .. } | Way::Rmr { .. } => None,
        };
        holders.filter(|holder| has(holder)).filter_map(of).collect()
    }

    /// Takes the rights of xApps and their names, if they have changed, and ends what they do not permit any more.
    pub(super) fn take_access(&mut self, ric: &mut IappContext<'_>) {
        let (named, rights) = self.port.take_access();
        let before = self.access.clone();
        let has_new_names =
            named.is_some_and(|named| std::mem::replace(&mut self.access.named, named.clone()) != named);
        let has_new_rights = rights.is_some();
        if let Some(rights) = rights {
            self.access.rules = rights.map(Arc::from);
        }
        if has_new_rights || has_new_names && self.access.rules.is_some() {
            self.end_without_right(&self.merging.with_share(|_| true), Some(&before), ric);
        }
    }

    /// Ends the shares of subscriptions that their xApps have no right to: of those xApps whose rights are others than before, or, without
    /// that, what no grant names. What UEs were when it was requested stays permitted otherwise.
    pub(super) fn end_without_right(&mut self, ids: &[MergedId], before: Option<&Access>, ric: &mut IappContext<'_>) {
        const WHY: &str = "the rights of the xApp do not allow it any more";
        for &id in ids {
            let Some(merged) = self.merging.get_mut(id) else { continue };
            // one whose node is lost is looked at when that is back
            let Some(node) = ric.node(merged.node) else { continue };
            let mut ended = Vec::new();
            for Holder { owner: Owner { sender, .. }, .. } in &merged.holders {
                let rights = self.access.rights_of(*sender);
                let lacks = |rights: &XappRights| match before {
                    Some(_) => rights.may_subscribe(ric.ran(), node, merged.function, &merged.spec).is_err(),
                    None => !rights.has_grant(node, merged.function, &merged.spec),
                };
                let is_changed = before.is_none_or(|before| before.rights_of(*sender) != rights);
                if is_changed && rights.as_deref().is_some_and(lacks) {
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
            let shared = self.shared_shares(id, is_ended);
            self.remove_shares(id, is_ended, WHY, ric);
            let cause = Cause::Misc(CauseMisc::OmIntervention);
            let fault = Fault {
                text: WHY.to_owned(),
                source: "SUBMGR",
                is_timeout: false,
                cause,
                is_node_lost: false,
                lacks_right: true,
            };
            shared.iter().for_each(|(record, instance)| self.shared_failed(record, *instance, &fault));
        }
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
