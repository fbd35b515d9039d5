//! Subscriptions of xApps where several RICs share nodes.
//!
//! A request is an entry that all RICs have. The RIC of its node sets it up, tells the xApp so, and sends the indications to the
//! endpoint of the xApp; when the node has moved, its new RIC does. The subscription id of the indications is that of the entry,
//! which stays the same, whereas the request id in the PDU is the RIC's.

mod answers;
mod records;

use std::net::IpAddr;
use std::sync::Arc;

use ferric::e2::{Lacking, Misuse, Right, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicRequestId};
use ferric::server::IappContext;
use log_lines::{Host, escaped};
use rest::{Problem, StatusCode};
use rmr::NO_SUBSCRIPTION;
use tracing::{info, warn};

use super::merging::Active;
use super::pdus;
use super::refusal::Refusal;
use super::rest_records::Accepted;
use super::rights::Sender;
use super::share_audit::AskedShare;
use super::subscribing::{Fault, NewShare, Owner, Way};
use super::{Messaging, ReplyTo};
use crate::group::{self, NO_ROOM, NODE, SUBSCRIPTION};
use crate::subscription::NOTIFICATION_PATH;
use crate::subscription::document::{Instance, Notification, Overview, Params};
pub(super) use records::Subscriptions;
use records::{Record, Request, RmrRequest, Share, ShareState};

/// The entry of a request.
fn entry(id: &str, record: &Record) -> (String, Vec<u8>) {
    // documents are written in any case
    (format!("{SUBSCRIPTION}{id}"), serde_json::to_vec(record).unwrap_or_default())
}

impl Messaging {
    fn subscriptions(&mut self) -> Option<&mut Subscriptions> {
        self.sharing.as_mut().map(|sharing| &mut sharing.subscriptions)
    }

    /// Has all RICs know what has become of a request; `is_asked` if an xApp makes it now, so that no earlier deletion counts.
    fn share_record(&self, id: &str, is_asked: bool) {
        let Some(sharing) = &self.sharing else { return };
        let Some(record) = sharing.subscriptions.records.get(id) else { return };
        let (key, content) = entry(id, record);
        let entries = &sharing.entries;
        if entries.get(&key).is_some_and(|known| *known == *content) {
            return;
        }
        let is_taken = if is_asked { entries.put(&key, &content) } else { entries.replace(&key, &content) };
        if !is_taken && self.links.log().allow(Host::Unknown) {
            let meid = escaped(record.request.meid());
            warn!("the state of subscription {id} to `{meid}` is not shared with other RICs: {NO_ROOM}");
        }
    }

    /// Refuses a request of a node that no RIC has, or whose RIC cannot be told.
    fn check_node(&self, meid: &str) -> Result<(), Problem> {
        if self.node(meid).is_some() {
            return Ok(());
        }
        let Some(sharing) = &self.sharing else { return Ok(()) };
        if !sharing.entries.is_available() {
            let detail =
                format!("`{meid}` is not connected to this RIC, and the store that the RICs share is away: try again");
            return Err(Problem::unavailable(detail));
        }
        let is_known = sharing.entries.get(&format!("{NODE}{meid}")).is_some();
        is_known.then_some(()).ok_or_else(|| {
            Problem::unavailable(format!("there is no node `{meid}`: it has not set up at any RIC, or is lost"))
        })
    }

    /// Notes a request, or that an equal one is made again. Returns its id.
    fn note_request(&mut self, request: Request, host: IpAddr) -> Result<String, Problem> {
        let is_local = self.node(request.meid()).is_some();
        let Some(sharing) = &mut self.sharing else {
            return Err(Problem::unavailable("this RIC shares no nodes"));
        };
        let entries = Arc::clone(&sharing.entries);
        // it is written even if the copy has it: another RIC may just have deleted it
        sharing.subscriptions.note(request, host, is_local, |id, record| {
            let (key, content) = entry(id, record);
            entries.put(&key, &content)
        })
    }

    /// Sets up what is not of a request that an xApp has made, if its node is connected here, and has all RICs know the outcome.
    pub(super) fn set_up_request(&mut self, id: &str, ric: &mut IappContext<'_>) {
        self.set_up_subscription(id, ric);
        self.share_record(id, true);
    }

    /// Refuses a sender that has no right at all, for a node of another RIC: that RIC knows which rights it needs.
    fn check_any_right(
        &mut self,
        sender: Sender,
        by: &'static str,
        (meid, function): (&str, u16),
        actions: usize,
    ) -> Result<(), Refusal> {
        let rights = self.access.rights_of(sender);
        if rights.as_ref().is_none_or(|rights| !(rights.read.is_empty() && rights.control.is_empty())) {
            return Ok(());
        }
        let refusal = Refusal::Right { sender, lacking: Lacking { right: Right::Read, what: None } };
        let asked = AskedShare { sender, by, share: "", node: meid, function, actions, rights: rights.as_deref() };
        self.audit.asked(&asked, Some(&refusal.to_string()));
        Err(refusal)
    }

    /// Refuses a request by REST for which the xApp has no right.
    fn check_shared_rest(&mut self, params: &Params, host: IpAddr, ric: &IappContext<'_>) -> Result<(), Problem> {
        if let Some((node, _)) = self.node(&params.meid) {
            return self.check_rest(params, node, host, ric);
        }
        let sender = Sender::new(host, params.client_endpoint.rmr_port);
        let of = (&*params.meid, params.ran_function_id);
        let actions = params.details.0.iter().map(|detail| detail.actions.0.len()).sum();
        self.check_any_right(sender, "rest", of, actions).map_err(|refusal| {
            if let Some(count) = self.refusals.note(sender)
                && self.links.log().allow(host.into())
            {
                let node = escaped(&params.meid);
                warn!(
                    "xApp at {sender}: a subscription by REST to a node of another RIC, `{node}`, is refused: {refusal} ({count} refusals \
                     of it so far)"
                );
            }
            refusal.problem(params.details.0.first().map_or(0, |detail| detail.xapp_event_instance_id))
        })
    }

    /// Accepts a request to subscribe by REST, as [`Messaging::accept`].
    pub(super) fn accept_shared(
        &mut self,
        params: Params,
        host: IpAddr,
        ric: &IappContext<'_>,
    ) -> Result<Accepted, Problem> {
        self.check_node(&params.meid)?;
        let known = params.subscription_id.clone();
        let params = Params { subscription_id: None, ..params };
        let (meid, function, client) =
            (params.meid.clone(), params.ran_function_id, params.client_endpoint.host.clone());
        let request = Request::Rest(params);
        if !self.sharing.as_ref().is_some_and(|sharing| sharing.subscriptions.knows(&request))
            && let Request::Rest(params) = &request
        {
            self.check_shared_rest(params, host, ric)?;
        }
        if let (Some(known), Some(subscriptions)) = (known, self.subscriptions())
            && let Some(record) = subscriptions.records.get(&known)
            && !record.request.is_equal(&request)
        {
            let detail = format!("subscription {known} has another content: delete it first");
            return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
        }
        let id = self.note_request(request, host)?;
        if self.links.log().allow(host.into()) {
            let (client, meid) = (escaped(&client), escaped(&meid));
            info!(
                "xApp {client} of {host} subscribes to function {function} of {meid}, at the RIC of that node: id {id}"
            );
        }
        Ok(Accepted::shared(id))
    }

    /// Accepts a request to subscribe over RMR, in which the sender states that it receives at `endpoint`. Returns why not.
    pub(super) fn subscribe_shared(
        &mut self,
        reply: ReplyTo,
        sender: Sender,
        pdu: &[u8],
        (function, spec): (RanFunctionId, &SubscriptionSpec),
        ric: &mut IappContext<'_>,
    ) -> Result<(), Refusal> {
        let endpoint = sender.endpoint().ok_or(Refusal::NoPort)?;
        let meid = reply.meid.clone();
        if self.node(&meid).is_none() {
            self.check_any_right(sender, "rmr", (&meid, function.0), spec.actions.len())?;
        }
        let version = self.node(&meid).map(|(_, version)| version).or_else(|| self.version_at_other(&meid));
        let e2ap = version.map_or(2, group::major);
        let (transaction, data) = (reply.transaction.clone(), reply.data.clone());
        let request = RmrRequest { meid, endpoint, e2ap, pdu: pdu.to_vec(), transaction, data };
        let noted = self.check_node(&request.meid).and_then(|()| self.note_request(Request::Rmr(request), sender.host));
        let id = noted.map_err(|problem| Refusal::Endpoints(problem.detail().to_owned()))?;
        if let Some(subscriptions) = self.subscriptions() {
            subscriptions.replies.insert(id.clone(), reply);
        }
        self.set_up_request(&id, ric);
        Ok(())
    }

    /// Takes a request that another RIC has changed.
    pub(super) fn follow_subscription(&mut self, id: &str, ric: &mut IappContext<'_>) {
        let Some(sharing) = &mut self.sharing else { return };
        let key = format!("{SUBSCRIPTION}{id}");
        match group::read::<Record>(&*sharing.entries, &key) {
            Some(record) => {
                if sharing.subscriptions.follow(id, record) {
                    self.take_down(id, ric);
                }
                self.set_up_subscription(id, ric);
            }
            None => {
                sharing.subscriptions.forget(id);
                self.take_down(id, ric);
            }
        }
    }

    /// Sets up the subscriptions of a node that is connected.
    pub(super) fn set_up_subscriptions_of(&mut self, meid: &str, ric: &mut IappContext<'_>) {
        let Some(subscriptions) = self.subscriptions() else { return };
        for id in subscriptions.of_node(meid) {
            self.set_up_subscription(&id, ric);
        }
    }

    /// Sets up what is not of a request, if its node is connected here.
    pub(super) fn set_up_subscription(&mut self, id: &str, ric: &mut IappContext<'_>) {
        let Some(record) = self.subscriptions().and_then(|all| all.records.get(id).cloned()) else { return };
        let Some((node, _)) = self.node(record.request.meid()) else { return };
        for share in &record.shares {
            let place = (id.to_owned(), share.xapp_instance);
            let known = self.subscriptions().and_then(|all| all.placed.get(&place).copied());
            if let Some(active) = known.and_then(|merged| self.merging.get_mut(merged)).and_then(|of| of.active.clone())
            {
                self.shared_active(id, share.xapp_instance, &active);
            }
            if known.is_some() || share.state == ShareState::Failed {
                continue;
            }
            let Some((function, spec)) = record.request.content(share.xapp_instance) else { continue };
            let endpoint = record.request.endpoint();
            let port = endpoint.as_ref().and_then(|endpoint| endpoint.rsplit_once(':')?.1.parse().ok());
            let way = Way::Shared { record: id.to_owned(), xapp_instance: share.xapp_instance };
            let sender = Sender::new(record.host, port);
            let owner = Owner { sender, share: format!("{id}/{}", share.xapp_instance), way };
            let new = NewShare { node, function, spec: Arc::new(spec), owner, endpoint };
            if let Err(refusal) = self.subscribe(new, ric) {
                self.shared_failed(id, share.xapp_instance, &Fault::of_refusal(&refusal));
            }
        }
    }

    /// Ends what is set up here of a request.
    fn take_down(&mut self, id: &str, ric: &mut IappContext<'_>) {
        let Some(subscriptions) = self.subscriptions() else { return };
        let placed: Vec<_> = subscriptions.placed.extract_if(|(record, _), _| record == id).collect();
        for ((_, xapp_instance), merged) in placed {
            self.remove_shares(
                merged,
                |holder| matches!(&holder.owner.way, Way::Shared { record, xapp_instance: of } if record == id && *of == xapp_instance),
                "deleted, or moved with its node",
                ric,
            );
        }
    }

    /// Ends what is set up of a node that is lost: it is set up again where the node sets up.
    pub(super) fn take_down_node(&mut self, meid: &str, ric: &mut IappContext<'_>) {
        let Some(subscriptions) = self.subscriptions() else { return };
        for id in subscriptions.of_node(meid) {
            self.take_down(&id, ric);
        }
    }

    /// A node has set up a share: tells the xApp, if it is not told yet.
    pub(super) fn shared_active(&mut self, id: &str, xapp_instance: u16, active: &Active) {
        let Some(subscriptions) = self.subscriptions() else { return };
        let Some(record) = subscriptions.records.get(id) else { return };
        let share = record.shares.iter().find(|share| share.xapp_instance == xapp_instance);
        let Some(share) = share.filter(|share| share.state == ShareState::Requested) else { return };
        let (share_id, request) = (share.id, record.request.clone());
        subscriptions.set_state(id, xapp_instance, ShareState::Active);
        self.share_record(id, false);
        match &request {
            Request::Rest(params) => {
                self.notify_shared(id, params, Instance::active(xapp_instance, share_id, &active.not_admitted));
            }
            Request::Rmr(rmr) => {
                let Some(content) = rmr.read() else { return };
                // the instance has 16 bits
                let request_id = RicRequestId { instance: (share_id & 0xFFFF) as u16, ..active.request_id };
                let reference = rmr.reference(&content);
                let answer =
                    pdus::subscription_response(&reference, request_id, &active.admitted, &active.not_admitted);
                self.answer_shared(id, rmr, share_id, answer);
            }
        }
    }

    /// A share cannot be set up, or has ended: tells the xApp. One whose node is lost is set up again later.
    pub(super) fn shared_failed(&mut self, id: &str, xapp_instance: u16, fault: &Fault) {
        let Some(subscriptions) = self.subscriptions() else { return };
        subscriptions.placed.remove(&(id.to_owned(), xapp_instance));
        if fault.is_node_lost {
            return;
        }
        let Some(request) = subscriptions.records.get(id).map(|record| record.request.clone()) else { return };
        match &request {
            Request::Rest(params) => {
                subscriptions.set_state(id, xapp_instance, ShareState::Failed);
                self.share_record(id, false);
                let instance = Instance::failed(xapp_instance, &fault.text, fault.source, fault.is_timeout);
                self.notify_shared(id, params, instance);
                let records = self.subscriptions().map(|all| &all.records);
                // it is not set up when the xApp has the right
                if fault.lacks_right && records.and_then(|all| all.get(id)).is_some_and(Record::is_over) {
                    self.forget_record(id);
                }
            }
            Request::Rmr(rmr) => {
                if let Some(content) = rmr.read() {
                    let actions: Vec<RicActionId> = content.spec.actions.iter().map(|action| action.id).collect();
                    let answer = pdus::subscription_failure(&rmr.reference(&content), fault.cause, &actions);
                    self.answer_shared(id, rmr, NO_SUBSCRIPTION, answer);
                }
                self.forget_record(id);
            }
        }
    }

    fn notify_shared(&self, id: &str, params: &Params, instance: Instance) {
        let client = &params.client_endpoint;
        let document = Notification { id: id.to_owned(), instances: vec![instance] };
        if let (Some(port), Ok(document)) = (client.http_port, serde_json::to_value(document)) {
            self.links.helpers().notify(&client.host, port, NOTIFICATION_PATH, document);
        }
    }

    fn forget_record(&mut self, id: &str) {
        let Some(sharing) = &mut self.sharing else { return };
        sharing.subscriptions.forget(id);
        if !sharing.entries.remove(&format!("{SUBSCRIPTION}{id}")) && self.links.log().allow(Host::Unknown) {
            warn!("subscription {id} is deleted here, but not at other RICs: {NO_ROOM}; let the xApp delete it there");
        }
    }

    /// Deletes a request at all RICs.
    pub(super) fn delete_shared(&mut self, id: &str, ric: &mut IappContext<'_>) {
        self.forget_record(id);
        self.take_down(id, ric);
    }

    /// The host that has made a request by REST.
    pub(super) fn host_of_shared_rest(&self, id: &str) -> Option<IpAddr> {
        let record = self.sharing.as_ref()?.subscriptions.records.get(id)?;
        matches!(record.request, Request::Rest(_)).then_some(record.host)
    }

    /// Deletes a subscription over RMR, of which the xApp states the instance of the request id. Returns whether there is one.
    pub(super) fn unsubscribe_shared_rmr(
        &mut self,
        meid: &str,
        endpoint: &str,
        request_id: RicRequestId,
        function: RanFunctionId,
        ric: &mut IappContext<'_>,
    ) -> bool {
        let is_meant = |record: &Record| match &record.request {
            Request::Rmr(request) => {
                request.endpoint == endpoint
                    && (meid.is_empty() || request.meid == meid)
                    && record.shares.iter().any(|share| share.id & 0xFFFF == i32::from(request_id.instance))
                    && request.read().is_some_and(|content| content.function == function)
            }
            Request::Rest(_) => false,
        };
        let found = self
            .subscriptions()
            .and_then(|all| all.records.iter().find(|(_, record)| is_meant(record)).map(|(id, _)| id.clone()));
        if let Some(id) = &found {
            self.delete_shared(id, ric);
        }
        found.is_some()
    }

    /// Deletes requests of an xApp that cannot be reached, by the shares that were set up here.
    pub(super) fn delete_unreachable(&mut self, ids: Vec<String>, ric: &mut IappContext<'_>) {
        ids.iter().for_each(|id| self.delete_shared(id, ric));
    }

    /// All subscriptions that are active at some RIC.
    pub(super) fn shared_overview(&self) -> Vec<Overview> {
        let Some(sharing) = &self.sharing else { return Vec::new() };
        let of = |record: &Record| {
            let endpoints: Vec<_> = record.request.endpoint().into_iter().collect();
            let meid = record.request.meid().to_owned();
            let is_active = |share: &&Share| share.state == ShareState::Active;
            let of_share = move |share: &Share| Overview {
                id: share.id,
                meid: meid.clone(),
                endpoints: endpoints.clone(),
                instances: Vec::new(),
            };
            record.shares.iter().filter(is_active).map(of_share).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = sharing.subscriptions.records.values().flat_map(of).collect();
        all.sort_by(|a, b| (&a.meid, a.id).cmp(&(&b.meid, b.id)));
        all
    }
}

impl Fault {
    fn of_refusal(refusal: &Refusal) -> Self {
        let is_node_lost = *refusal == Refusal::Misuse(Misuse::UnknownNode);
        let lacks_right = matches!(refusal, Refusal::Right { .. } | Refusal::Misuse(Misuse::NotAllowed));
        let (text, cause) = (refusal.to_string(), refusal.cause());
        Fault { text, source: "SUBMGR", is_timeout: false, cause, is_node_lost, lacks_right }
    }
}
