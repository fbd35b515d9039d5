//! `/v1/handover-requests`: handovers that nodes begin and that wait for a decision of a client (E2SM-RC inserts).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use e2sm::Arena;
use e2sm::common::{CellReference, UeId};
use e2sm::rc::{self, Control, ControlAction, Decision, Detection, Handover, Plan};
use ferric::e2::topology::{UeName, UeReference};
use ferric::e2::{
    Action, Indication, Node, NodeId, RequestEvent, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket,
};
use ferric::e2ap::{
    RanFunctionId, RicActionId, RicActionType, RicSubsequentAction, RicSubsequentActionType, RicTimeToWait,
};
use ferric::server::IappContext;
use iapp_rest::{Job, encoding_problem, misuse_problem, problem_of};
use ids::CellIdentity;
use rest::{Operation, Parameter, Problem, Reply, Response, Route, not_null};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::warn;

use super::app::{AppQueue, RicApp};
use super::overview::cell_at;
use super::policies::RuleDecision;
use super::ue_controls::{rc_function, reason};
use super::verification::Acknowledged;

/// The most requests that wait; beyond them the oldest is left to its node.
const MAX_WAITING: usize = 1024;
/// The insert style of mobility (E2SM-RC 7.5.4).
const MOBILITY: i64 = 3;
/// The times for which E2AP lets a node wait (v03.01 9.2.12), that leave a client time to decide.
const TIMES: [RicTimeToWait; 8] = [
    RicTimeToWait::W100ms,
    RicTimeToWait::W200ms,
    RicTimeToWait::W500ms,
    RicTimeToWait::W1s,
    RicTimeToWait::W2s,
    RicTimeToWait::W5s,
    RicTimeToWait::W10s,
    RicTimeToWait::W20s,
];

const REQUEST: Parameter = Parameter::of::<u32>("request", "The id of a request for a decision.");

/// That nodes are to request decisions, and what they do without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HandoverDecisionTerms")]
struct Terms {
    /// How long a node waits for the decision: 100, 200, 500, 1000, 2000, 5000, 10000 or 20000, as E2AP has it.
    #[schemars(extend("enum" = [100, 200, 500, 1000, 2000, 5000, 10000, 20000]))]
    timeout_ms: u32,
    /// What the node does after this time.
    otherwise: RuleDecision,
}

impl Terms {
    fn time_to_wait(self) -> Option<RicTimeToWait> {
        TIMES.into_iter().find(|time| time.milliseconds() == self.timeout_ms)
    }
}

/// A handover that waits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "HandoverRequest")]
struct RequestDocument {
    id: u32,
    /// The node that has begun it.
    node: String,
    /// The UE, by the most stable of its names.
    ue: String,
    /// The target cell that the node has chosen.
    cell: String,
    /// The time after which the node decides.
    left_ms: u64,
}

/// The handovers that wait.
#[derive(Debug, Serialize, JsonSchema)]
struct HandoverRequestList {
    /// The terms; null: nodes do not request decisions.
    terms: Option<Terms>,
    /// The oldest first.
    requests: Vec<RequestDocument>,
    /// The requests since the RIC has started to which no client has answered in time.
    undecided: u64,
}

/// The decision on a handover.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HandoverDecision")]
struct DecisionBody {
    decision: RuleDecision,
    /// Another target of a handover that is accepted, as in `/v1/cells`.
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "String")]
    cell: Option<String>,
}

/// The requests for decisions.
#[derive(Default)]
pub(super) struct HandoverRequests {
    terms: Option<Terms>,
    last_id: u32,
    waiting: VecDeque<Waiting>,
    undecided: u64,
    requested: HashMap<Ticket, (NodeId, Detection)>,
    sources: BTreeMap<SubscriptionId, (NodeId, Detection)>,
    answered: HashMap<Ticket, Answered>,
}

struct Waiting {
    id: u32,
    node: NodeId,
    name: String,
    function: RanFunctionId,
    detection: Detection,
    call_process: Vec<u8>,
    ue_id: UeId<'static>,
    target: u64,
    until: Instant,
}

struct Answered {
    reply: Reply,
    node: String,
    detection: Detection,
}

/// Returns the routes.
pub(super) fn routes(queue: &AppQueue) -> [Route; 4] {
    let path = "/v1/handover-requests";
    let list = Operation::get(path, "getHandoverRequests", "The handovers that wait for a decision").tag("policies");
    let begin = Operation::put(path, "putHandoverRequests", "Have nodes request decisions on handovers")
        .tag("policies")
        .takes::<Terms>()
        .example(json!({ "timeout_ms": 2000, "otherwise": "accept" }))
        .empties()
        .describe(
            "At every node that offers it (E2SM-RC, insert style 3), also at those that set up later, until it is deleted or the RIC stops. \
             Each handover that a node begins then waits for `POST /v1/handover-requests/{request}`, at most `timeout_ms`. New terms are for \
             handovers that begin later.",
        );
    let end = Operation::delete(path, "deleteHandoverRequests", "Leave handovers to the nodes again").tag("policies");
    let answer = Operation::post("/v1/handover-requests/{request}", "postHandoverDecision", "Decide on a handover")
        .tag("policies")
        .path(&[REQUEST])
        .takes::<DecisionBody>()
        .example(json!({ "decision": "accept" }))
        .returns::<Acknowledged>("The node has acknowledged it.")
        .describe(
            "404: it was decided already, or its time is over. 409: the node says that it is too late. A request is answered once.",
        );
    [
        Route::queued(list.returns::<HandoverRequestList>("The handovers."), queue, |_| {
            let job: Job<RicApp> = Box::new(|app, ric, reply| {
                reply.send(Ok(Response::ok(app.handovers.list(ric))));
            });
            Ok(job)
        }),
        Route::queued(begin, queue, |request| {
            let terms: Terms = request.json()?;
            if terms.time_to_wait().is_none() {
                let times = TIMES.map(|time| time.milliseconds().to_string()).join(", ");
                let what = format!("timeout_ms: {} is none of {times}", terms.timeout_ms);
                return Err(Problem::unprocessable(what).with("at", "timeout_ms"));
            }
            let job: Job<RicApp> = Box::new(move |app, ric, reply| {
                app.handovers.begin(terms, ric);
                reply.send(Ok(Response::no_content()));
            });
            Ok(job)
        }),
        Route::queued(end.empties(), queue, |_| {
            let job: Job<RicApp> = Box::new(|app, ric, reply| {
                app.handovers.end(ric);
                reply.send(Ok(Response::no_content()));
            });
            Ok(job)
        }),
        Route::queued(answer, queue, |request| {
            let id = request.number(0, "request")?;
            let DecisionBody { decision, cell } = request.json()?;
            let refused = |why: String| Problem::unprocessable(format!("cell: {why}")).with("at", "cell");
            let cell = match (decision, cell) {
                (_, None) => None,
                (RuleDecision::Reject, Some(_)) => return Err(refused("a handover that is rejected has none".into())),
                (RuleDecision::Accept, Some(cell)) => {
                    let read = cell.parse::<CellReference>();
                    Some(read.map_err(|error| refused(format!("`{cell}`: {error}")))?.identity)
                }
            };
            let job: Job<RicApp> =
                Box::new(move |app, ric, reply| app.handovers.answer(id, decision, cell, ric, reply));
            Ok(job)
        }),
    ]
}

impl HandoverRequests {
    fn begin(&mut self, terms: Terms, ric: &mut IappContext<'_>) {
        if self.terms == Some(terms) {
            return;
        }
        self.unsubscribe(ric);
        self.terms = Some(terms);
        let nodes: Vec<Node> = ric.nodes().cloned().collect();
        for node in &nodes {
            self.add_node(node, ric);
        }
    }

    /// Ends the requests. Those that wait can still be answered.
    fn end(&mut self, ric: &mut IappContext<'_>) {
        self.unsubscribe(ric);
        self.terms = None;
    }

    fn unsubscribe(&mut self, ric: &mut IappContext<'_>) {
        self.requested.clear();
        for subscription in std::mem::take(&mut self.sources).into_keys() {
            // it may have ended already
            let _ = ric.unsubscribe(subscription);
        }
    }

    /// Subscribes at a node that has set up, if it offers requests for decisions on handovers.
    pub fn add_node(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let Some((terms, time_to_wait)) = self.terms.and_then(|terms| Some((terms, terms.time_to_wait()?))) else {
            return;
        };
        let arena = Arena::new();
        let Some((function, detection, definition)) = rc_function(node, &arena) else { return };
        let styles = definition.insert.iter().flat_map(|insert| &insert.insert_style_list);
        if !styles.into_iter().any(|style| style.ric_insert_style_type.0 == MOBILITY) {
            return;
        }
        let encoded = Plan::insert_handover(None).encode_in(detection.revision, detection.wire);
        let Ok((event_trigger, definition)) = encoded else { return };
        let kind = match terms.otherwise {
            RuleDecision::Accept => RicSubsequentActionType::Continue,
            RuleDecision::Reject => RicSubsequentActionType::Wait,
        };
        let subsequent = Some(RicSubsequentAction { kind, time_to_wait });
        let (id, kind) = (RicActionId(1), RicActionType::Insert);
        let actions = vec![Action { id, kind, definition: Some(definition), subsequent }];
        let spec = SubscriptionSpec { event_trigger, actions };
        // not shared: a request has one answer
        let order = SubscriptionOrder { restore: false, consent: true, ..spec.into() };
        match ric.subscribe(node.id, function, order) {
            Ok(ticket) => drop(self.requested.insert(ticket, (node.id, detection))),
            Err(error) if ric.allows_line(node.id) => {
                warn!(node = %node.global_id, "the node does not request decisions on handovers: cannot subscribe: {error}");
            }
            Err(_) => {}
        }
    }

    /// Forgets a node that is lost, with its handovers.
    pub fn remove_node(&mut self, node: NodeId) {
        self.requested.retain(|_, (of, _)| *of != node);
        self.sources.retain(|_, (of, _)| *of != node);
        self.waiting.retain(|waiting| waiting.node != node);
    }

    /// Handles the answer to a subscription, and to a decision.
    pub fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(source) = self.requested.remove(ticket) {
                    self.sources.insert(*subscription, source);
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                if let Some((node, _)) = self.requested.remove(ticket)
                    && ric.allows_line(node)
                {
                    let node = ric.node(node).map(|node| node.global_id.to_string());
                    warn!(node, "the node does not request decisions on handovers: {error}");
                }
            }
            RequestEvent::ChangeRequired { subscription, .. } if self.sources.contains_key(subscription) => {
                // the node may have lost it meanwhile
                let _ = ric.answer_change(*subscription, &[]);
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => drop(self.sources.remove(subscription)),
            RequestEvent::Controlled { ticket, outcome } => {
                let Some(Answered { reply, node, detection }) = self.answered.remove(ticket) else { return };
                let problem = problem_of(outcome, |outcome| reason(outcome?, detection));
                reply.send(match problem {
                    None => Ok(Response::ok(Acknowledged::by(node))),
                    Some(problem) => Err(problem.with("node", node)),
                });
            }
            _ => {}
        }
    }

    /// Reads an indication. Returns whether it is one of these requests.
    pub fn handle_indication(&mut self, indication: &Indication<'_>, ric: &IappContext<'_>) -> bool {
        let Some((node, detection)) = self.sources.get(&indication.subscription).copied() else { return false };
        let Some(terms) = self.terms else { return true };
        let gather = per::Gather::new();
        let Ok(decoded) = indication.decode(&gather) else { return true };
        let (header, message) = (decoded.header.to_cow(), decoded.message.to_cow());
        let request = rc::HandoverRequest::decode_in(&header, &message, detection.revision, detection.wire);
        let call_process = decoded.call_process_id.as_ref().map(|id| id.to_cow().into_owned());
        let (request, call_process) = match (request, call_process) {
            (Ok(Some(request)), Some(call_process)) => (request, call_process),
            (Err(error), _) if ric.allows_line(node) => {
                warn!(node = node.0, "cannot read the request for a decision on a handover: {error}");
                return true;
            }
            _ => return true,
        };
        self.forget_late();
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.pop_front();
            self.undecided += 1;
        }
        self.last_id = self.last_id.wrapping_add(1);
        self.waiting.push_back(Waiting {
            id: self.last_id,
            node,
            name: ric.node(node).map(|node| node.global_id.to_string()).unwrap_or_default(),
            function: indication.ran_function_id,
            detection,
            call_process,
            ue_id: request.ue_id,
            target: e2sm_cell(&request.handover),
            until: Instant::now() + Duration::from_millis(terms.timeout_ms.into()),
        });
        true
    }

    /// Forgets handovers whose time is over: their nodes have decided.
    fn forget_late(&mut self) {
        let now = Instant::now();
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.until > now);
        self.undecided += (before - self.waiting.len()) as u64;
    }

    fn list(&mut self, ric: &IappContext<'_>) -> HandoverRequestList {
        self.forget_late();
        let now = Instant::now();
        let ran = ric.ran();
        let ue = |waiting: &Waiting| {
            let mut names = UeName::all_of(&waiting.ue_id).into_iter();
            names.find_map(|name| ran.identity(ran.find_ue(waiting.node, &name)?).reference())
        };
        let requests = self.waiting.iter().map(|waiting| RequestDocument {
            id: waiting.id,
            node: waiting.name.clone(),
            ue: ue(waiting).unwrap_or_else(|| UeReference::of(&waiting.ue_id)).to_string(),
            cell: CellIdentity(waiting.target).to_string(),
            left_ms: u64::try_from((waiting.until - now).as_millis()).unwrap_or(u64::MAX),
        });
        HandoverRequestList { terms: self.terms, requests: requests.collect(), undecided: self.undecided }
    }

    fn answer(
        &mut self,
        id: u32,
        decision: RuleDecision,
        cell: Option<CellIdentity>,
        ric: &mut IappContext<'_>,
        reply: Reply,
    ) {
        self.forget_late();
        let Some(at) = self.waiting.iter().position(|waiting| waiting.id == id) else {
            let what =
                format!("there is no request {id}: it was decided, or its time is over; see /v1/handover-requests");
            return reply.send(Err(Problem::not_found(what)));
        };
        let waiting = &self.waiting[at];
        let Some(node) = ric.node(waiting.node) else { return reply.send(Err(iapp_rest::node_lost())) };
        let control = match (decision, cell) {
            (RuleDecision::Accept, Some(cell)) => {
                let target = cell_at(&node.global_id, (node.global_id.plmn_identity(), cell));
                let action = ControlAction::Handover(Handover::to(target));
                Control::of_ue(waiting.ue_id.clone(), action).deciding(Decision::Accept)
            }
            (decision, _) => {
                let decision = match decision {
                    RuleDecision::Accept => Decision::Accept,
                    RuleDecision::Reject => Decision::Reject,
                };
                Control::answer(waiting.ue_id.clone(), ControlAction::HANDOVER, decision)
            }
        };
        let Detection { revision, wire, .. } = waiting.detection;
        let sent = control.encode_in(revision, wire).map_err(|error| encoding_problem(&error)).and_then(
            |(header, message)| {
                let (node, function) = (waiting.node, waiting.function);
                ric.answer_insert(node, function, &waiting.call_process, &header, &message).map_err(misuse_problem)
            },
        );
        match sent {
            Ok(ticket) => {
                if let Some(Waiting { name: node, detection, .. }) = self.waiting.remove(at) {
                    self.answered.insert(ticket, Answered { reply, node, detection });
                }
            }
            Err(problem) => reply.send(Err(problem)),
        }
    }
}

/// The identity of the target cell.
fn e2sm_cell(handover: &Handover) -> u64 {
    ferric::e2::topology::cell_identity(&handover.target)
}
