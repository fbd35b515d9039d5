//! `/v1/policies`: rules on handovers, by which nodes decide themselves (E2SM-RC policies).

use std::collections::BTreeMap;

use e2sm::Arena;
use e2sm::common::CellReference;
use e2sm::rc::{self, HandoverOutcome, HandoverRule, RuleCondition, RuleFault};
use ferric::e2::{
    Action, Node, NodeId, RequestEvent, SubscribeError, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket,
};
use ferric::e2ap::{RicActionId, RicActionType};
use ferric::server::IappContext;
use iapp_rest::{Job, misuse_problem};
use ids::CellIdentity;
use rest::{Operation, Parameter, Problem, Reply, Request, Response, Route, StatusCode, not_null};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::app::{AppQueue, RicApp};
use super::overview::{cell_at, known_cells};
use super::ue_controls::rc_function;

/// The most policies; more are answered with 503.
const MAX_POLICIES: usize = 64;

const POLICY: Parameter = Parameter::of::<u32>("policy", "The id of a policy.");

/// Rules, of which a node applies the first whose conditions all hold. A handover to which none applies continues.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewPolicy")]
struct PolicyBody {
    /// 1 to 64 rules.
    #[schemars(length(min = 1, max = 64))]
    rules: Vec<RuleBody>,
}

/// A rule on handovers that a node begins.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HandoverRule")]
struct RuleBody {
    /// The conditions, at most 16, all of which must hold; without any, the rule always applies.
    #[serde(default)]
    #[schemars(length(max = 16))]
    conditions: Vec<ConditionBody>,
    decision: RuleDecision,
    /// Another target of a handover that is accepted, as in `/v1/cells`.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cell: Option<String>,
}

/// A condition on a UE.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyCondition")]
struct ConditionBody {
    /// The parameter, as the node registers it: its name, or its number in digits.
    parameter: String,
    /// How it is compared.
    #[schemars(extend("enum" = ["equal", "not_equal", "greater", "less"]))]
    comparison: String,
    /// The value, in the unit of the parameter.
    value: i64,
}

/// What a node does with a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RuleDecision {
    /// It continues.
    Accept,
    /// It ends.
    Reject,
}

/// A policy, and the nodes that apply it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Policy")]
struct PolicyDocument {
    id: u32,
    rules: Vec<RuleBody>,
    /// The nodes that offer policies on handovers.
    nodes: Vec<PolicyAtNode>,
}

/// A policy at a node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct PolicyAtNode {
    node: String,
    state: PolicyState,
    /// Why the node does not apply it.
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PolicyState {
    /// The node has not answered.
    Requested,
    /// The node applies it.
    Installed,
    /// The node has refused it, or has ended it.
    Refused,
}

/// All policies.
#[derive(Debug, Serialize, JsonSchema)]
struct PolicyList {
    policies: Vec<PolicyDocument>,
}

/// The policies that clients have created.
#[derive(Default)]
pub(super) struct Policies {
    last_id: u32,
    policies: BTreeMap<u32, Policy>,
    requested: BTreeMap<Ticket, (u32, NodeId)>,
}

struct Policy {
    body: PolicyBody,
    rules: Vec<HandoverRule>,
    nodes: BTreeMap<NodeId, AtNode>,
    /// The answer to its creation, until all nodes have answered.
    reply: Option<Reply>,
}

struct AtNode {
    name: String,
    state: PolicyState,
    subscription: Option<SubscriptionId>,
    problem: Option<Problem>,
}

/// Returns the routes.
pub(super) fn routes(queue: &AppQueue) -> [Route; 4] {
    let list = Operation::get("/v1/policies", "getPolicies", "The policies on handovers").tag("policies");
    let create = Operation::post("/v1/policies", "postPolicy", "Install a policy on handovers")
        .tag("policies")
        .takes::<PolicyBody>()
        .example(json!({ "rules": [{
            "conditions": [{ "parameter": "CQI", "comparison": "less", "value": 7 }], "decision": "reject",
        }] }))
        .creates::<PolicyDocument>("The policy, once each node has answered; at least one applies it.")
        .describe(
            "At every node that offers policies on handovers (E2SM-RC, policy style 3, action 1), also at those that set up later, until \
             it is deleted or the RIC stops. A policy goes before requests for decisions. If nodes refuse it and none applies it, it is \
             not created.",
        );
    let read = Operation::get("/v1/policies/{policy}", "getPolicy", "A policy").tag("policies").path(&[POLICY]);
    let delete = Operation::delete("/v1/policies/{policy}", "deletePolicy", "Remove a policy from all nodes");
    [
        Route::queued(list.returns::<PolicyList>("The policies."), queue, |_| {
            let job: Job<RicApp> = Box::new(|app, _, reply| {
                let policies = app.policies.policies.iter().map(|(id, policy)| policy.document(*id)).collect();
                reply.send(Ok(Response::ok(PolicyList { policies })));
            });
            Ok(job)
        }),
        Route::queued(create, queue, |request| {
            let body: PolicyBody = request.json()?;
            let rules = rules(&body)?;
            let job: Job<RicApp> = Box::new(move |app, ric, reply| {
                let targets = rules.iter().filter_map(|rule| match rule.outcome {
                    HandoverOutcome::To(cell) => Some(cell),
                    _ => None,
                });
                let known = known_cells(ric.ran(), &app.cells);
                for target in targets {
                    if !known.is_empty() && !known.iter().any(|cell| cell.name.1.0 == target) {
                        let what = format!("rules: there is no cell {}; see /v1/cells", CellIdentity(target));
                        return reply.send(Err(Problem::unprocessable(what).with("at", "rules")));
                    }
                }
                app.policies.create(body, rules, ric, reply);
            });
            Ok(job)
        }),
        Route::queued(read.returns::<PolicyDocument>("The policy."), queue, |request| {
            let id = id(request)?;
            let job: Job<RicApp> = Box::new(move |app, _, reply| {
                let found = app.policies.policies.get(&id).map(|policy| Response::ok(policy.document(id)));
                reply.send(found.ok_or_else(|| unknown(id)));
            });
            Ok(job)
        }),
        Route::queued(delete.tag("policies").path(&[POLICY]).empties(), queue, |request| {
            let id = id(request)?;
            let job: Job<RicApp> = Box::new(move |app, ric, reply| {
                reply.send(app.policies.delete(id, ric).map(|()| Response::no_content()));
            });
            Ok(job)
        }),
    ]
}

fn id(request: &Request) -> Result<u32, Problem> {
    request.number(0, "policy")
}

fn unknown(id: u32) -> Problem {
    Problem::not_found(format!("there is no policy {id}; see /v1/policies"))
}

/// Reads the rules of a body.
fn rules(body: &PolicyBody) -> Result<Vec<HandoverRule>, Problem> {
    let refused = |at: String, why: String| Problem::unprocessable(format!("{at}: {why}")).with("at", at);
    let mut rules = Vec::with_capacity(body.rules.len());
    for (number, rule) in body.rules.iter().enumerate() {
        let outcome = match (rule.decision, &rule.cell) {
            (RuleDecision::Accept, None) => HandoverOutcome::Accept,
            (RuleDecision::Reject, None) => HandoverOutcome::Reject,
            (RuleDecision::Accept, Some(cell)) => match cell.parse::<CellReference>() {
                Ok(cell) => HandoverOutcome::To(cell.identity.0),
                Err(error) => return Err(refused(format!("rules[{number}].cell"), format!("`{cell}`: {error}"))),
            },
            (RuleDecision::Reject, Some(_)) => {
                return Err(refused(format!("rules[{number}].cell"), "a handover that is rejected has none".into()));
            }
        };
        let mut conditions = Vec::with_capacity(rule.conditions.len());
        for (at, ConditionBody { parameter, comparison, value }) in rule.conditions.iter().enumerate() {
            let known = rc::comparison(comparison).ok_or_else(|| {
                let why = format!("`{comparison}` is none of equal, not_equal, greater, less");
                refused(format!("rules[{number}].conditions[{at}].comparison"), why)
            })?;
            conditions.push(RuleCondition { parameter: parameter.clone(), comparison: known, value: *value });
        }
        rules.push(HandoverRule { conditions, outcome });
    }
    rc::check_rules(&rules).map_err(|fault| refused("rules".into(), fault.to_string()))?;
    Ok(rules)
}

impl Policy {
    fn document(&self, id: u32) -> PolicyDocument {
        let at_node = |at: &AtNode| PolicyAtNode {
            node: at.name.clone(),
            state: at.state,
            reason: at.problem.as_ref().map(|problem| problem.detail().to_owned()),
        };
        PolicyDocument { id, rules: self.body.rules.clone(), nodes: self.nodes.values().map(at_node).collect() }
    }
}

impl Policies {
    fn create(&mut self, body: PolicyBody, rules: Vec<HandoverRule>, ric: &mut IappContext<'_>, reply: Reply) {
        if self.policies.len() >= MAX_POLICIES {
            let what = format!("there are {MAX_POLICIES} policies, which is the most: delete one");
            return reply.send(Err(Problem::unavailable(what)));
        }
        self.last_id += 1;
        let id = self.last_id;
        let mut policy = Policy { body, rules, nodes: BTreeMap::new(), reply: Some(reply) };
        let nodes: Vec<Node> = ric.nodes().cloned().collect();
        for node in &nodes {
            request(&mut self.requested, id, &mut policy, node, ric);
        }
        self.policies.insert(id, policy);
        self.settle(id, ric);
    }

    fn delete(&mut self, id: u32, ric: &mut IappContext<'_>) -> Result<(), Problem> {
        let policy = self.policies.remove(&id).ok_or_else(|| unknown(id))?;
        for subscription in policy.nodes.values().filter_map(|at| at.subscription) {
            // it may have ended already
            let _ = ric.unsubscribe(subscription);
        }
        if let Some(reply) = policy.reply {
            reply.send(Err(Problem::conflict("the policy was deleted before all nodes had answered")));
        }
        Ok(())
    }

    /// Installs the policies at a node that has set up.
    pub fn add_node(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        for (id, policy) in &mut self.policies {
            request(&mut self.requested, *id, policy, node, ric);
        }
    }

    /// Forgets a node that is lost, and its policies with it.
    pub fn remove_node(&mut self, node: NodeId, ric: &mut IappContext<'_>) {
        self.requested.retain(|_, (_, of)| *of != node);
        for policy in self.policies.values_mut() {
            policy.nodes.remove(&node);
        }
        for id in self.policies.keys().copied().collect::<Vec<_>>() {
            self.settle(id, ric);
        }
    }

    /// Handles the answer of a node, and the end of a subscription.
    pub fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                let Some((id, node)) = self.requested.remove(ticket) else { return };
                match self.policies.get_mut(&id).and_then(|policy| policy.nodes.get_mut(&node)) {
                    Some(at) => (at.state, at.subscription) = (PolicyState::Installed, Some(*subscription)),
                    // it was deleted in the meantime
                    None => drop(ric.unsubscribe(*subscription)),
                }
                self.settle(id, ric);
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                let Some((id, node)) = self.requested.remove(ticket) else { return };
                if let Some(at) = self.policies.get_mut(&id).and_then(|policy| policy.nodes.get_mut(&node)) {
                    (at.state, at.problem) = (PolicyState::Refused, Some(problem(&at.name, error)));
                }
                self.settle(id, ric);
            }
            RequestEvent::ChangeRequired { subscription, .. } => {
                let mut all = self.policies.values().flat_map(|policy| policy.nodes.values());
                if all.any(|at| at.subscription == Some(*subscription)) {
                    // the node may have lost it meanwhile
                    let _ = ric.answer_change(*subscription, &[]);
                }
            }
            RequestEvent::SubscriptionEnded { subscription, end } => {
                let mut all = self.policies.values_mut().flat_map(|policy| policy.nodes.values_mut());
                if let Some(at) = all.find(|at| at.subscription == Some(*subscription)) {
                    let ended = Problem::conflict(format!("{} has ended it: {end}", at.name));
                    (at.state, at.subscription, at.problem) = (PolicyState::Refused, None, Some(ended));
                }
            }
            _ => {}
        }
    }

    /// Answers the creation of a policy once all nodes have answered. One that no node applies is forgotten.
    fn settle(&mut self, id: u32, ric: &mut IappContext<'_>) {
        let Some(policy) = self.policies.get_mut(&id) else { return };
        let is_open = policy.nodes.values().any(|at| at.state == PolicyState::Requested);
        if policy.reply.is_none() || is_open {
            return;
        }
        let is_installed = policy.nodes.values().any(|at| at.state == PolicyState::Installed);
        let Some(reply) = policy.reply.take() else { return };
        if is_installed && !reply.is_closed() {
            let location = format!("/v1/policies/{id}");
            return reply.send(Ok(Response::created(&location, policy.document(id))));
        }
        let first = policy.nodes.values_mut().find_map(|at| at.problem.take());
        let none = || Problem::not_found("no node offers policies on handovers (E2SM-RC, policy style 3, action 1)");
        // a client that is gone has no id to delete it by
        let _ = self.delete(id, ric);
        reply.send(Err(first.unwrap_or_else(none)));
    }
}

/// Requests a policy at a node, if the node offers policies on handovers.
fn request(
    requested: &mut BTreeMap<Ticket, (u32, NodeId)>,
    id: u32,
    policy: &mut Policy,
    node: &Node,
    ric: &mut IappContext<'_>,
) {
    let arena = Arena::new();
    let Some((function, detection, definition)) = rc_function(node, &arena) else { return };
    let name = node.global_id.to_string();
    let plmn = node.global_id.plmn_identity();
    let cell = |identity| cell_at(&node.global_id, (plmn, CellIdentity(identity)));
    let planned = match rc::handover_policy(&policy.rules, &definition, cell) {
        Ok(plan) => {
            plan.encode_in(detection.revision, detection.wire).map_err(|error| iapp_rest::encoding_problem(&error))
        }
        Err(RuleFault::NotOffered) => return,
        Err(fault) => Err(faulty(&name, &fault)),
    };
    let planned = planned.and_then(|(event_trigger, definition)| {
        let (id, kind) = (RicActionId(1), RicActionType::Policy);
        let actions = vec![Action { id, kind, definition: Some(definition), subsequent: None }];
        let spec = SubscriptionSpec { event_trigger, actions };
        // not shared: two policies of the same rules are removed one by one
        let order = SubscriptionOrder { restore: false, consent: true, ..spec.into() };
        ric.subscribe(node.id, function, order).map_err(misuse_problem)
    });
    let (state, problem) = match planned {
        Ok(ticket) => {
            requested.insert(ticket, (id, node.id));
            (PolicyState::Requested, None)
        }
        Err(problem) => (PolicyState::Refused, Some(problem.with("node", name.clone()))),
    };
    policy.nodes.insert(node.id, AtNode { name, state, subscription: None, problem });
}

/// 422: a rule that the node cannot apply.
fn faulty(node: &str, fault: &RuleFault) -> Problem {
    let problem = Problem::unprocessable(format!("rules: {node}: {fault}")).with("at", "rules");
    match fault {
        RuleFault::UnknownParameter { offered, .. } => problem.with("known", offered.clone()),
        _ => problem,
    }
}

/// The problem of a node's answer.
fn problem(node: &str, error: &SubscribeError) -> Problem {
    let status = match error {
        SubscribeError::Refused { .. } | SubscribeError::Misuse(_) => StatusCode::CONFLICT,
        SubscribeError::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let problem = Problem::new(status, error.to_string()).with("node", node);
    match error {
        SubscribeError::Refused { cause, .. } => problem.with("cause", cause.to_string()),
        _ => problem,
    }
}
