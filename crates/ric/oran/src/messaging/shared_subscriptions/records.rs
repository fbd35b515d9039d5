//! The requests of xApps as all RICs have them, with the ids of their subscriptions.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Instant;

use ferric::e2::SubscriptionSpec;
use ferric::e2ap::RanFunctionId;
use log_lines::Host;
use rest::{Problem, RateLimit};
use serde::{Deserialize, Serialize};

use super::answers::Unsent;
use crate::group::{self, NO_ROOM};
use crate::messaging::ReplyTo;
use crate::messaging::links::ConnectionId;
use crate::messaging::merging::MergedId;
use crate::messaging::pdus::{self, Reference, SubscriptionContent};
use crate::messaging::quotas::{Exceeded, MAX_OF_HOST_PERCENT, MAX_SHARES};
use crate::messaging::rest_records::check_room;
use crate::subscription::document::Params;

/// Requests to subscribe per second of a host: each changes what all RICs have.
const REQUESTS_PER_SECOND: u32 = 256;

/// A request to subscribe, as all RICs have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::messaging) struct Record {
    /// The host of the client.
    pub host: IpAddr,
    pub request: Request,
    pub shares: Vec<Share>,
}

/// How an xApp has asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::messaging) enum Request {
    Rest(Params),
    Rmr(RmrRequest),
}

/// A RIC Subscription Request over RMR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::messaging) struct RmrRequest {
    pub meid: String,
    pub endpoint: String,
    /// The major version of E2AP in which it is written.
    pub e2ap: u8,
    pub pdu: Vec<u8>,
    /// What the answer repeats.
    pub transaction: Vec<u8>,
    pub data: Vec<u8>,
}

/// A subscription of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::messaging) struct Share {
    /// The xApp's number for it; 0 over RMR.
    pub xapp_instance: u16,
    /// The subscription id of its indications.
    pub id: i32,
    pub state: ShareState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::messaging) enum ShareState {
    /// The xApp is not told yet.
    Requested,
    Active,
    /// The node, or its RIC, has refused it.
    Failed,
}

impl Record {
    /// Whether the xApp is to be told of a share.
    fn is_requested(&self) -> bool {
        self.shares.iter().any(|share| share.state == ShareState::Requested)
    }

    /// Whether no share is active, or may become so.
    pub fn is_over(&self) -> bool {
        self.shares.iter().all(|share| share.state == ShareState::Failed)
    }
}

impl Request {
    pub fn meid(&self) -> &str {
        match self {
            Request::Rest(params) => &params.meid,
            Request::Rmr(request) => &request.meid,
        }
    }

    /// Where indications go.
    pub fn endpoint(&self) -> Option<String> {
        match self {
            Request::Rest(params) => params.rmr_endpoint(),
            Request::Rmr(request) => Some(request.endpoint.clone()),
        }
    }

    /// The xApp's numbers for its subscriptions.
    fn instances(&self) -> Vec<u16> {
        match self {
            Request::Rest(params) => params.details.0.iter().map(|detail| detail.xapp_event_instance_id).collect(),
            Request::Rmr(_) => vec![0],
        }
    }

    /// What the RIC subscribes to; `None` if another RIC has written what is none.
    pub fn content(&self, xapp_instance: u16) -> Option<(RanFunctionId, SubscriptionSpec)> {
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

    pub fn is_equal(&self, other: &Request) -> bool {
        matches!((self, other), (Request::Rest(_), Request::Rest(_)) | (Request::Rmr(_), Request::Rmr(_)))
            && self.text() == other.text()
    }
}

impl RmrRequest {
    pub fn read(&self) -> Option<SubscriptionContent> {
        pdus::read_subscription(&self.pdu, group::version(self.e2ap)).ok()
    }

    pub fn reference(&self, content: &SubscriptionContent) -> Reference {
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

/// The subscriptions of xApps at all RICs.
pub(in crate::messaging) struct Subscriptions {
    pub records: HashMap<String, Record>,
    /// The shares that are set up here.
    pub placed: HashMap<(String, u16), MergedId>,
    /// Connections with this RIC on which requests have come that are not answered.
    pub replies: HashMap<String, ReplyTo>,
    pub(super) unsent: Vec<Unsent>,
    requests: RateLimit<Host>,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Subscriptions {
            records: HashMap::new(),
            placed: HashMap::new(),
            replies: HashMap::new(),
            unsent: Vec::new(),
            requests: RateLimit::new(REQUESTS_PER_SECOND),
        }
    }
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

    /// Whether an equal request was made.
    pub fn knows(&self, request: &Request) -> bool {
        self.records.contains_key(&self.id_of(request))
    }

    /// Makes the shares of a request, each with an id that no other has, also not in its lower 16 bits if it is for the same endpoint.
    fn shares(&self, id: &str, request: &Request) -> Result<Vec<Share>, Problem> {
        let endpoint = request.endpoint();
        // an instance is not 0
        let (mut taken, mut taken_instances) = (HashSet::new(), HashSet::from([0]));
        for record in self.records.values() {
            let is_alike = record.request.endpoint() == endpoint;
            for share in &record.shares {
                taken.insert(share.id);
                if is_alike {
                    taken_instances.insert(share.id & 0xFFFF);
                }
            }
        }
        let mut shares = Vec::new();
        for xapp_instance in request.instances() {
            // 31 bits: xApps take it for a positive number
            let first = (hash(&format!("{id} {xapp_instance}")) >> 33) as i32;
            let is_free = |id: &i32| !taken_instances.contains(&(id & 0xFFFF)) && !taken.contains(id);
            let free =
                (0..0x1_0000).map(|step| first.wrapping_add(step) & i32::MAX).find(is_free).ok_or_else(|| {
                    let endpoint = endpoint.as_deref().unwrap_or("no endpoint");
                    Problem::unavailable(format!(
                        "no subscription id is free for {endpoint}: delete some subscriptions"
                    ))
                })?;
            taken.insert(free);
            taken_instances.insert(free & 0xFFFF);
            shares.push(Share { xapp_instance, id: free, state: ShareState::Requested });
        }
        Ok(shares)
    }

    /// Refuses more subscriptions than all hosts, or one, may have.
    fn check_shares(&self, host: IpAddr, new: usize) -> Result<(), Problem> {
        let (mut count, mut of_host) = (0, 0);
        for record in self.records.values() {
            count += record.shares.len();
            of_host += if record.host == host { record.shares.len() } else { 0 };
        }
        let limit_of_host = MAX_SHARES * MAX_OF_HOST_PERCENT / 100;
        if count + new <= MAX_SHARES && of_host + new <= limit_of_host {
            return Ok(());
        }
        Err(Problem::unavailable(format!(
            "xApps have {count} subscriptions at all RICs, those of this host {of_host}, and {new} more are requested; {MAX_SHARES} and \
             {limit_of_host} are allowed: delete some"
        )))
    }

    /// Notes a request, or that an equal one is made again. `is_local` says that its node is connected here; `share` has other RICs know
    /// a record with an id, and returns whether there is room. Returns the id of the request.
    ///
    /// # Errors
    /// If there is no room for it, or the host makes too many requests.
    pub fn note(
        &mut self,
        request: Request,
        host: IpAddr,
        is_local: bool,
        share: impl FnOnce(&str, &Record) -> bool,
    ) -> Result<String, Problem> {
        self.requests.take(host.into(), Instant::now()).map_err(|_| {
            let per_second = REQUESTS_PER_SECOND;
            let exceeded = Exceeded::Rate { what: "subscription requests", whose: "a host", per_second };
            Problem::unavailable(exceeded.to_string())
        })?;
        let id = self.id_of(&request);
        let Some(record) = self.records.get_mut(&id) else {
            check_room(self.records.values().map(|record| record.host), host)?;
            self.check_shares(host, request.instances().len())?;
            let record = Record { host, shares: self.shares(&id, &request)?, request };
            if !share(&id, &record) {
                let detail = format!("the RIC of the node cannot be told: the request is too long, or {NO_ROOM}");
                return Err(Problem::unavailable(detail));
            }
            self.records.insert(id.clone(), record);
            return Ok(id);
        };
        let is_active = record.shares.iter().all(|share| share.state == ShareState::Active);
        record.shares.iter_mut().for_each(|share| share.state = ShareState::Requested);
        // what is active here is answered at once, and then remains as it was
        if !(is_local && is_active) {
            record.request = request;
        }
        if !is_local && !share(&id, record) {
            return Err(Problem::unavailable(format!("the RIC of the node cannot be told: {NO_ROOM}")));
        }
        Ok(id)
    }

    /// Takes a request as another RIC has changed it. Returns whether it had another content.
    pub fn follow(&mut self, id: &str, record: Record) -> bool {
        if !record.is_requested() {
            self.replies.remove(id);
        }
        let former = self.records.get(id);
        let is_other = former.is_some_and(|former| !former.request.is_equal(&record.request));
        self.records.insert(id.to_owned(), record);
        is_other
    }

    /// Forgets a request.
    pub fn forget(&mut self, id: &str) {
        self.records.remove(id);
        self.replies.remove(id);
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

    pub fn set_state(&mut self, record: &str, xapp_instance: u16, state: ShareState) {
        let record = self.records.get_mut(record);
        let share = record.and_then(|of| of.shares.iter_mut().find(|share| share.xapp_instance == xapp_instance));
        if let Some(share) = share {
            share.state = state;
        }
    }

    /// The requests of a node.
    pub fn of_node(&self, meid: &str) -> Vec<String> {
        self.records.iter().filter(|(_, record)| record.request.meid() == meid).map(|(id, _)| id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// A request by REST of so many subscriptions.
    fn request(meid: &str, count: usize) -> Request {
        let detail = |instance: usize| {
            json!({
                "XappEventInstanceId": instance, "EventTriggers": [1],
                "ActionToBeSetupList": [{ "ActionID": 1, "ActionType": "report", "ActionDefinition": [1] }],
            })
        };
        let details: Vec<_> = (0..count).map(detail).collect();
        let client = json!({ "Host": "10.0.0.1", "HTTPPort": 80, "RMRPort": 4560 });
        let params = json!({
            "ClientEndpoint": client, "Meid": meid, "RANFunctionID": 2, "SubscriptionDetails": details,
        });
        Request::Rest(serde_json::from_value(params).unwrap())
    }

    fn rmr(transaction: u8) -> Request {
        Request::Rmr(RmrRequest {
            meid: "node".to_owned(),
            endpoint: "10.0.0.1:4560".to_owned(),
            e2ap: 2,
            pdu: vec![],
            transaction: vec![transaction],
            data: vec![],
        })
    }

    fn host(number: u8) -> IpAddr {
        [10, 0, 0, number].into()
    }

    #[test]
    fn shares_are_bounded_of_a_host_and_in_all() {
        let mut all = Subscriptions::default();
        let mut fill = |of: IpAddr| {
            let requests = (0..200).map(|number| request(&format!("{of} {number}"), 64));
            requests.take_while(|request| all.note(request.clone(), of, false, |_, _| true).is_ok()).count()
        };
        assert_eq!(fill(host(1)), 6144 / 64);
        assert_eq!(fill(host(2)), 2048 / 64);
        let problem = all.note(rmr(1), host(3), false, |_, _| true).unwrap_err();
        assert_eq!(problem.status(), rest::StatusCode::SERVICE_UNAVAILABLE);
        assert!(problem.detail().contains("have 8192 subscriptions at all RICs"), "{}", problem.detail());
    }

    #[test]
    fn endpoint_whose_ids_are_used_up_is_refused() {
        let mut all = Subscriptions::default();
        let record = |ids: std::ops::Range<i32>| {
            let shares = ids.map(|id| Share { xapp_instance: 0, id, state: ShareState::Active }).collect();
            Record { host: HOST, request: request("node", 1), shares }
        };
        all.records.insert("others".to_owned(), record(1..0xFFFF));
        let shares = all.shares("own", &request("other", 1)).unwrap();
        assert_eq!(shares[0].id & 0xFFFF, 0xFFFF, "the last one that is free");
        assert!(all.shares("own", &request("other", 2)).is_err());
        all.records.insert("last".to_owned(), record(0xFFFF..0x1_0000));
        assert_eq!(
            all.shares("own", &request("other", 1)).unwrap_err().status(),
            rest::StatusCode::SERVICE_UNAVAILABLE
        );
    }

    #[test]
    fn request_that_cannot_be_shared_is_refused_and_not_kept() {
        let mut all = Subscriptions::default();
        let problem = all.note(request("node", 1), HOST, true, |_, _| false).unwrap_err();
        assert_eq!((problem.status(), all.records.len()), (rest::StatusCode::SERVICE_UNAVAILABLE, 0));
        let id = all.note(request("node", 1), HOST, true, |_, record| record.is_requested()).unwrap();
        assert_eq!(all.records[&id].shares.len(), 1);
    }

    #[test]
    fn repeated_request_is_told_to_others_if_its_node_is_theirs() {
        let mut all = Subscriptions::default();
        let id = all.note(rmr(1), HOST, true, |_, _| true).unwrap();
        let transaction = |all: &Subscriptions| match &all.records[&id].request {
            Request::Rmr(request) => request.transaction.clone(),
            Request::Rest(_) => panic!("by RMR"),
        };
        all.set_state(&id, 0, ShareState::Active);
        assert_eq!(all.note(rmr(2), HOST, true, |_, _| panic!("it is active here")).as_ref(), Ok(&id));
        assert_eq!((transaction(&all), all.records[&id].is_requested()), (vec![1], true));
        let mut told = 0;
        let share = |_: &str, _: &Record| {
            told += 1;
            true
        };
        assert_eq!(all.note(rmr(3), HOST, false, share).as_ref(), Ok(&id));
        assert_eq!((told, transaction(&all)), (1, vec![3]));
    }

    #[test]
    fn requests_of_a_host_have_a_rate() {
        let mut all = Subscriptions::default();
        let mut take = |of: IpAddr| {
            let taken = (0..2 * REQUESTS_PER_SECOND).filter(|_| all.note(rmr(1), of, true, |_, _| true).is_ok());
            taken.count() as u32
        };
        let taken = take(host(1));
        assert!((REQUESTS_PER_SECOND..2 * REQUESTS_PER_SECOND).contains(&taken), "{taken}");
        assert!(take(host(2)) >= REQUESTS_PER_SECOND, "another host has its own");
    }

    #[test]
    fn connection_of_a_request_is_forgotten_with_its_answer() {
        let mut all = Subscriptions::default();
        let id = all.note(rmr(1), HOST, false, |_, _| true).unwrap();
        let reply = || ReplyTo { connection: ConnectionId(1), transaction: vec![], data: vec![], meid: String::new() };
        all.replies.insert(id.clone(), reply());
        let mut record = all.records[&id].clone();
        assert!(!all.follow(&id, record.clone()));
        assert_eq!(all.replies.len(), 1, "it is still requested");
        record.shares[0].state = ShareState::Active;
        all.follow(&id, record);
        assert!(all.replies.is_empty(), "another RIC has answered");
        all.replies.insert(id.clone(), reply());
        all.forget(&id);
        assert!(all.replies.is_empty() && all.records.is_empty());
    }
}
