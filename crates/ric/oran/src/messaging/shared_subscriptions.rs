//! Subscriptions of xApps where several RICs share nodes.
//!
//! A request is an entry that all RICs have. The RIC of its node sets it up, tells the xApp so, and sends the indications to the
//! endpoint of the xApp; when the node has moved, its new RIC does. The subscription id of the indications is that of the entry,
//! which stays the same, whereas the request id in the PDU is the RIC's.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use ferric::e2::{Misuse, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicRequestId};
use ferric::link::Class;
use ferric::server::IappContext;
use log_lines::escaped;
use rest::{Problem, StatusCode};
use rmr::{Header, NO_SUBSCRIPTION};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::links::{ConnectionId, EndpointId, Purpose, UNREACHABLE};
use super::merging::{Active, MergedId};
use super::pdus::{self, Answer, Reference, SubscriptionContent};
use super::refusal::Refusal;
use super::rest_records::{Accepted, check_room};
use super::rights::Sender;
use super::subscribing::{Fault, NewShare, Owner, Way};
use super::{Messaging, ReplyTo};
use crate::group::{self, NODE, SUBSCRIPTION};
use crate::subscription::NOTIFICATION_PATH;
use crate::subscription::document::{Instance, Notification, Overview, Params};

/// A request to subscribe, as all RICs have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    /// The host of the client.
    host: IpAddr,
    request: Request,
    shares: Vec<Share>,
}

/// How an xApp has asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Request {
    Rest(Params),
    Rmr(RmrRequest),
}

/// A RIC Subscription Request over RMR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RmrRequest {
    meid: String,
    endpoint: String,
    /// The major version of E2AP in which it is written.
    e2ap: u8,
    pdu: Vec<u8>,
    /// What the answer repeats.
    transaction: Vec<u8>,
    data: Vec<u8>,
}

/// A subscription of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Share {
    /// The xApp's number for it; 0 over RMR.
    xapp_instance: u16,
    /// The subscription id of its indications.
    id: i32,
    state: ShareState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ShareState {
    /// The xApp is not told yet.
    Requested,
    Active,
    /// The node, or its RIC, has refused it.
    Failed,
}

impl Request {
    fn meid(&self) -> &str {
        match self {
            Request::Rest(params) => &params.meid,
            Request::Rmr(request) => &request.meid,
        }
    }

    /// Where indications go.
    fn endpoint(&self) -> Option<String> {
        match self {
            Request::Rest(params) => params.rmr_endpoint(),
            Request::Rmr(request) => Some(request.endpoint.clone()),
        }
    }

    /// What the RIC subscribes to; `None` if another RIC has written what is none.
    fn content(&self, xapp_instance: u16) -> Option<(RanFunctionId, SubscriptionSpec)> {
        match self {
            Request::Rest(params) => {
                let detail = params.details.0.iter().find(|of| of.xapp_event_instance_id == xapp_instance)?;
                Some((RanFunctionId(params.ran_function_id), detail.spec()))
            }
            Request::Rmr(request) => request.read().map(|content| (content.function, content.spec)),
        }
    }

    /// What two equal requests have in common.
    fn text(&self) -> String {
        match self {
            // documents are written in any case
            Request::Rest(params) => serde_json::to_string(params).unwrap_or_default(),
            Request::Rmr(request) => {
                let content = request.read().map(|content| (content.function, content.spec));
                format!("{} {} {content:?}", request.meid, request.endpoint)
            }
        }
    }

    fn is_equal(&self, other: &Request) -> bool {
        matches!((self, other), (Request::Rest(_), Request::Rest(_)) | (Request::Rmr(_), Request::Rmr(_)))
            && self.text() == other.text()
    }
}

impl RmrRequest {
    fn read(&self) -> Option<SubscriptionContent> {
        pdus::read_subscription(&self.pdu, group::version(self.e2ap)).ok()
    }

    fn reference(&self, content: &SubscriptionContent) -> Reference {
        let (request_id, function) = (content.request_id, content.function);
        Reference { request_id, function, call_process_id: None, version: group::version(self.e2ap) }
    }
}

/// FNV-1a, then the finalizer of SplitMix64: all RICs give equal requests the same ids.
fn hash(text: &str) -> u64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3));
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// A message that waits until its endpoint is connected.
struct Unsent {
    endpoint: EndpointId,
    message: Vec<u8>,
    since: Instant,
    /// The connection that has it in its outbox. It may not be established.
    on: Option<ConnectionId>,
}

/// The subscriptions of xApps at all RICs.
#[derive(Default)]
pub(super) struct Subscriptions {
    records: HashMap<String, Record>,
    /// The shares that are set up here.
    placed: HashMap<(String, u16), MergedId>,
    /// Connections with this RIC on which requests have come that are not answered.
    replies: HashMap<String, ReplyTo>,
    unsent: Vec<Unsent>,
}

impl Subscriptions {
    /// Finds the id for a request: that of an equal one, or a free one.
    fn id_of(&self, request: &Request) -> String {
        let mut number = hash(&request.text());
        loop {
            let id = format!("{number:016x}");
            if self.records.get(&id).is_none_or(|record| record.request.is_equal(request)) {
                return id;
            }
            number = number.wrapping_add(1);
        }
    }

    /// Makes the shares of a request, each with an id that no other has, also not in its lower 16 bits if it is for the same endpoint.
    fn shares(&self, id: &str, request: &Request) -> Vec<Share> {
        let numbers = match request {
            Request::Rest(params) => params.details.0.iter().map(|detail| detail.xapp_event_instance_id).collect(),
            Request::Rmr(_) => vec![0],
        };
        let mut shares = Vec::<Share>::new();
        for xapp_instance in numbers {
            // 31 bits: xApps take it for a positive number
            let mut share_id = (hash(&format!("{id} {xapp_instance}")) >> 33) as i32;
            let is_taken = |share_id: i32| {
                let same = |share: &Share| share.id == share_id;
                let alike = |share: &Share| share.id & 0xFFFF == share_id & 0xFFFF;
                shares.iter().any(alike)
                    || self.records.values().any(|record| {
                        let is_alike = record.request.endpoint() == request.endpoint();
                        record.shares.iter().any(|share| same(share) || is_alike && alike(share))
                    })
            };
            while share_id & 0xFFFF == 0 || is_taken(share_id) {
                share_id = share_id.wrapping_add(1) & i32::MAX;
            }
            shares.push(Share { xapp_instance, id: share_id, state: ShareState::Requested });
        }
        shares
    }

    /// The subscription id of a share.
    pub fn share_id(&self, record: &str, xapp_instance: u16) -> Option<i32> {
        let shares = &self.records.get(record)?.shares;
        shares.iter().find(|share| share.xapp_instance == xapp_instance).map(|share| share.id)
    }

    /// Notes where a share is set up.
    pub fn place(&mut self, record: &str, xapp_instance: u16, id: MergedId) {
        self.placed.insert((record.to_owned(), xapp_instance), id);
    }

    pub fn forget_connection(&mut self, connection: ConnectionId) {
        self.replies.retain(|_, reply| reply.connection != connection);
    }

    fn set_state(&mut self, record: &str, xapp_instance: u16, state: ShareState) {
        let record = self.records.get_mut(record);
        let share = record.and_then(|of| of.shares.iter_mut().find(|share| share.xapp_instance == xapp_instance));
        if let Some(share) = share {
            share.state = state;
        }
    }

    /// The requests of a node.
    fn of_node(&self, meid: &str) -> Vec<String> {
        self.records.iter().filter(|(_, record)| record.request.meid() == meid).map(|(id, _)| id.clone()).collect()
    }
}

impl Messaging {
    fn subscriptions(&mut self) -> Option<&mut Subscriptions> {
        self.sharing.as_mut().map(|sharing| &mut sharing.subscriptions)
    }

    /// Has all RICs know what has become of a request, or of its answer; `is_new` if they need not know it yet.
    fn share_record(&self, id: &str, is_new: bool) {
        let Some(sharing) = &self.sharing else { return };
        let Some(record) = sharing.subscriptions.records.get(id) else { return };
        let (key, content) = (format!("{SUBSCRIPTION}{id}"), serde_json::to_vec(record).unwrap_or_default());
        if is_new {
            sharing.put(&key, &content);
        } else if !sharing.entries.replace(&key, &content) {
            warn!("subscription {id} is not shared with other RICs: too many changes wait");
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
        let Some(subscriptions) = self.subscriptions() else {
            return Err(Problem::unavailable("this RIC shares no nodes"));
        };
        let id = subscriptions.id_of(&request);
        match subscriptions.records.get_mut(&id) {
            Some(record) => {
                record.request = request;
                record.shares.iter_mut().for_each(|share| share.state = ShareState::Requested);
            }
            None => {
                check_room(subscriptions.records.values().map(|record| record.host), host)?;
                let shares = subscriptions.shares(&id, &request);
                subscriptions.records.insert(id.clone(), Record { host, request, shares });
            }
        }
        self.share_record(&id, true);
        Ok(id)
    }

    /// Accepts a request to subscribe by REST, as [`Messaging::accept`].
    pub(super) fn accept_shared(&mut self, params: Params, host: IpAddr) -> Result<Accepted, Problem> {
        self.check_node(&params.meid)?;
        let known = params.subscription_id.clone();
        let params = Params { subscription_id: None, ..params };
        let (meid, function, client) =
            (params.meid.clone(), params.ran_function_id, params.client_endpoint.host.clone());
        let request = Request::Rest(params);
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
        ric: &mut IappContext<'_>,
    ) -> Result<(), Refusal> {
        let endpoint = sender.endpoint().ok_or(Refusal::NoPort)?;
        let meid = reply.meid.clone();
        let of_other = || {
            let sharing = self.sharing.as_ref()?;
            Some(group::read::<group::NodeEntry>(&*sharing.entries, &format!("{NODE}{meid}"))?.e2ap)
        };
        let e2ap = self.node(&meid).map(|(_, version)| group::major(version)).or_else(of_other).unwrap_or(2);
        let (transaction, data) = (reply.transaction.clone(), reply.data.clone());
        let request = RmrRequest { meid, endpoint, e2ap, pdu: pdu.to_vec(), transaction, data };
        let noted = self.check_node(&request.meid).and_then(|()| self.note_request(Request::Rmr(request), sender.host));
        let id = noted.map_err(|problem| Refusal::Endpoints(problem.detail().to_owned()))?;
        if let Some(subscriptions) = self.subscriptions() {
            subscriptions.replies.insert(id.clone(), reply);
        }
        self.set_up_subscription(&id, ric);
        Ok(())
    }

    /// Takes a request that another RIC has changed.
    pub(super) fn follow_subscription(&mut self, id: &str, ric: &mut IappContext<'_>) {
        let Some(sharing) = &mut self.sharing else { return };
        let key = format!("{SUBSCRIPTION}{id}");
        match group::read::<Record>(&*sharing.entries, &key) {
            Some(record) => {
                let subscriptions = &mut sharing.subscriptions;
                let former = subscriptions.records.insert(id.to_owned(), record);
                let is_other = |former: &Record| !former.request.is_equal(&subscriptions.records[id].request);
                if former.as_ref().is_some_and(is_other) {
                    self.take_down(id, ric);
                }
                self.set_up_subscription(id, ric);
            }
            None => {
                sharing.subscriptions.records.remove(id);
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

    /// Answers a request over RMR: on its connection, if that is one with this RIC, or to the endpoint of the xApp.
    fn answer_shared(&mut self, id: &str, request: &RmrRequest, subscription_id: i32, answer: Option<Answer>) {
        let reply = self.subscriptions().and_then(|all| all.replies.remove(id));
        let Some(answer) = answer else { return };
        if let Some(reply) = reply {
            return self.answer(&reply, subscription_id, &answer);
        }
        let (kind, payload) = answer;
        let source = self.links.source();
        let mut message = Vec::new();
        Header {
            kind,
            subscription_id,
            transaction: &request.transaction,
            data: &request.data,
            meid: &request.meid,
            source: &source,
            source_address: &source,
            ..Header::default()
        }
        .write(payload.len(), &mut message);
        message.extend_from_slice(&payload);
        let endpoint = self.links.hold(&request.endpoint, Purpose::Indications);
        if let Some(all) = self.subscriptions() {
            all.unsent.push(Unsent { endpoint, message, since: Instant::now(), on: None });
        }
        self.send_answers();
    }

    /// Sends the answers whose endpoints are connected. They are in the outbox of a connection before the indications that follow.
    pub(super) fn send_answers(&mut self) {
        let Some(subscriptions) = self.sharing.as_mut().map(|sharing| &mut sharing.subscriptions) else { return };
        let links = &mut self.links;
        subscriptions.unsent.retain_mut(|unsent| {
            let connection = links.linked(unsent.endpoint);
            if connection != unsent.on {
                unsent.on = connection.filter(|connection| links.send(*connection, &[&unsent.message], Class::Keep));
            }
            let is_done = unsent.on.is_some() && links.established(unsent.endpoint) == unsent.on;
            let is_over = is_done || unsent.since.elapsed() >= UNREACHABLE;
            if is_over {
                links.release(unsent.endpoint, Purpose::Indications);
            }
            !is_over
        });
    }

    fn forget_record(&mut self, id: &str) {
        let Some(sharing) = &mut self.sharing else { return };
        sharing.subscriptions.records.remove(id);
        if !sharing.entries.remove(&format!("{SUBSCRIPTION}{id}")) {
            warn!("subscription {id} is not deleted at other RICs: too many changes wait");
        }
    }

    /// Deletes a request at all RICs.
    fn delete_shared(&mut self, id: &str, ric: &mut IappContext<'_>) {
        self.forget_record(id);
        self.take_down(id, ric);
    }

    /// Deletes a subscription by REST. Returns whether there is one.
    pub(super) fn unsubscribe_shared_rest(&mut self, id: &str, ric: &mut IappContext<'_>) -> bool {
        let of_rest = |all: &mut Subscriptions| matches!(all.records.get(id)?.request, Request::Rest(_)).then_some(());
        let is_known = self.subscriptions().and_then(of_rest).is_some();
        if is_known {
            self.delete_shared(id, ric);
        }
        is_known
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
        Fault { text: refusal.to_string(), source: "SUBMGR", is_timeout: false, cause: refusal.cause(), is_node_lost }
    }
}
