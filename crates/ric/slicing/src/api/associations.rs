//! `/v1/associations` and `/v1/nodes/{node}/associations`: rules that associate UEs with slices.

use std::collections::HashMap;

use e2sm::slice::NO_SLICE;
use ferric::e2::topology::{UeReference, UeReferenceError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::SlicingController;
use super::super::associations::{Rule, RuleOfUe, RuleState};
use super::ues::{SNssaiDocument, plmn};
use super::{ASSOCIATION, AppQueue, NODE, named};
use iapp_rest::Job;
use rest::{Operation, Parameter, Problem, Request, Response, Route, not_null};

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    let for_all = Operations {
        get_all: Operation::get(ALL, "getAssociations", "The association rules for all nodes"),
        post: Operation::post(ALL, "postAssociation", "Add an association rule for all nodes"),
        delete_all: Operation::delete(ALL, "deleteAssociations", "Delete all association rules for all nodes"),
        get: Operation::get(ONE, "getAssociation", "An association rule for all nodes"),
        delete: Operation::delete(ONE, "deleteAssociation", "Delete an association rule for all nodes"),
    };
    let of_node = Operations {
        get_all: Operation::get(ALL_OF_NODE, "getAssociationsOfNode", "The association rules of a node"),
        post: Operation::post(ALL_OF_NODE, "postAssociationOfNode", "Add an association rule of a node"),
        delete_all: Operation::delete(
            ALL_OF_NODE,
            "deleteAssociationsOfNode",
            "Delete all association rules of a node",
        ),
        get: Operation::get(ONE_OF_NODE, "getAssociationOfNode", "An association rule of a node"),
        delete: Operation::delete(ONE_OF_NODE, "deleteAssociationOfNode", "Delete an association rule of a node"),
    };
    let mut routes = routes_of(queue, for_all.complete(&[]), |_| None);
    routes.extend(routes_of(queue, of_node.complete(&[NODE]), |request| Some(request.parameter(0).to_owned())));
    routes
}

const ALL: &str = "/v1/associations";
const ONE: &str = "/v1/associations/{association}";
const ALL_OF_NODE: &str = "/v1/nodes/{node}/associations";
const ONE_OF_NODE: &str = "/v1/nodes/{node}/associations/{association}";

/// The operations on the rules of one node, or on those for all nodes.
struct Operations {
    get_all: Operation,
    post: Operation,
    delete_all: Operation,
    get: Operation,
    delete: Operation,
}

impl Operations {
    /// Adds what both have in common. `parameters` are those of the path before a rule's id.
    fn complete(self, parameters: &[Parameter]) -> Self {
        let of_one = [parameters, &[ASSOCIATION]].concat();
        let all = |operation: Operation| operation.tag("associations").path(parameters);
        let one = |operation: Operation| operation.tag("associations").path(&of_one);
        let example = json!({ "plmn": "00101", "s_nssai": { "sst": 1, "sd": "0000ff" }, "dl": 1 });
        Operations {
            get_all: all(self.get_all).returns::<Documents>("The rules, with the UEs that they match."),
            post: all(self.post).takes::<RuleBody>().example(example).creates::<Document>("The rule.").describe(
                "Rules are evaluated when a UE attaches or is handed over, and for all UEs when a rule is added or deleted. The \
                 first match decides: rules of the node before rules for all nodes, older before newer. UEs are moved as soon as \
                 the slices of the rule exist; a rule creates no slice. When a rule is deleted, its UEs are moved by the next \
                 matching rule, or stay in their slices.",
            ),
            delete_all: all(self.delete_all).empties(),
            get: one(self.get).returns::<Document>("The rule, with the UEs that it matches."),
            delete: one(self.delete).empties(),
        }
    }
}

/// Returns the routes for the rules of one node, or for those of all nodes.
fn routes_of(queue: &AppQueue, operations: Operations, node: fn(&Request) -> Option<String>) -> Vec<Route> {
    let Operations { get_all, post, delete_all, get, delete } = operations;
    let id = move |request: &Request| {
        let at = usize::from(node(request).is_some());
        request.number::<u32>(at, "association")
    };
    vec![
        Route::queued(get_all, queue, move |request| {
            let node = node(request);
            let job: Job<SlicingController> = Box::new(move |app, _, reply| {
                let answer = is_known(app, node.as_deref())
                    .map(|()| Response::ok(Documents { associations: Document::all(app, |rule| rule.node == node) }));
                reply.send(answer);
            });
            Ok(job)
        }),
        Route::queued(post, queue, move |request| {
            let (node, path) = (node(request), request.path.clone());
            let rule = request.json::<RuleBody>()?.rule(node.clone())?;
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                if let Err(problem) = is_known(app, node.as_deref()) {
                    return reply.send(Err(problem));
                }
                let added = app.rules.add(rule, &mut app.database).and_then(|id| {
                    app.apply_all_rules(ric);
                    Ok(Response::created(&format!("{path}/{id}"), Document::one(app, id, |_| true)?))
                });
                app.changed_rules(reply, added);
            });
            Ok(job)
        }),
        Route::queued(delete_all, queue, move |request| {
            let node = node(request);
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                let answer = is_known(app, node.as_deref()).map(|()| {
                    app.rules.delete(|rule| rule.node == node, &mut app.database);
                    app.apply_all_rules(ric);
                    Response::no_content()
                });
                app.changed_rules(reply, answer);
            });
            Ok(job)
        }),
        Route::queued(get, queue, move |request| {
            let (node, id) = (node(request), id(request)?);
            let job: Job<SlicingController> = Box::new(move |app, _, reply| {
                reply.send(Document::one(app, id, |rule| rule.node == node).map(Response::ok));
            });
            Ok(job)
        }),
        Route::queued(delete, queue, move |request| {
            let (node, id) = (node(request), id(request)?);
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                let deleted = app.rules.delete(|rule| rule.id == id && rule.node == node, &mut app.database);
                app.apply_all_rules(ric);
                app.changed_rules(
                    reply,
                    if deleted > 0 { Ok(Response::no_content()) } else { Err(rule_not_found(id)) },
                );
            });
            Ok(job)
        }),
    ]
}

fn rule_not_found(id: u32) -> Problem {
    Problem::not_found(format!("there is no association {id} under this path"))
}

/// Checks that a node exists, or existed when rules were added for it.
fn is_known(app: &SlicingController, node: Option<&str>) -> Result<(), Problem> {
    let Some(name) = node else { return Ok(()) };
    let has_rules = app.rules.all().iter().any(|rule| rule.node.as_deref() == node);
    if has_rules { Ok(()) } else { named(&app.database, name).map(drop) }
}

/// The UEs, by `plmn`, `s_nssai` (without `sd`: all of that type), `ue` or several of them, and their slices, in one direction or both.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: an association")]
#[schemars(rename = "NewAssociation", extend("allOf" = [
    { "anyOf": [{ "required": ["plmn"] }, { "required": ["s_nssai"] }, { "required": ["ue"] }] },
    { "anyOf": [{ "required": ["dl"] }, { "required": ["ul"] }] },
]))]
struct RuleBody {
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "String")]
    #[schemars(regex(pattern = "^[0-9]{5,6}$"))]
    plmn: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "SNssaiDocument")]
    s_nssai: Option<SNssaiDocument>,
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "String")]
    ue: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "u32")]
    dl: Option<u32>,
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "u32")]
    ul: Option<u32>,
}

impl RuleBody {
    fn rule(self, node: Option<String>) -> Result<Rule, Problem> {
        if self.plmn.is_none() && self.s_nssai.is_none() && self.ue.is_none() {
            return Err(Problem::unprocessable(
                "neither `plmn` nor `s_nssai` nor `ue`: a rule needs at least one, to select UEs",
            ));
        }
        if self.dl.is_none() && self.ul.is_none() {
            return Err(Problem::unprocessable("neither `dl` nor `ul`: a rule needs at least one slice"));
        }
        if [self.dl, self.ul].contains(&Some(NO_SLICE)) {
            return Err(Problem::unprocessable(format!("{NO_SLICE} is not a slice id: it means no slice")));
        }
        let plmn = self.plmn.as_deref().map(plmn).transpose()?;
        let s_nssai = self.s_nssai.map(|s_nssai| s_nssai.pattern()).transpose()?;
        let ue = self.ue.as_deref().map(reference).transpose()?;
        Ok(Rule { id: 0, node, plmn, s_nssai, ue, dl: self.dl, ul: self.ul })
    }
}

/// Reads a UE from one of its names.
fn reference(text: &str) -> Result<UeReference, Problem> {
    let problem = |error: UeReferenceError| Problem::unprocessable(format!("ue: `{text}`: {error}")).with("at", "ue");
    text.parse().map_err(problem)
}

/// A rule in the rule file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct StoredRule {
    id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plmn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    s_nssai: Option<SNssaiDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ue: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dl: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ul: Option<u32>,
}

impl StoredRule {
    pub fn of(rule: &Rule) -> Self {
        let Document { id, node, plmn, s_nssai, ue, dl, ul, ues: _ } = Document::of(rule, Vec::new());
        StoredRule { id, node, plmn, s_nssai, ue, dl, ul }
    }

    pub fn rule(self) -> Result<Rule, Problem> {
        let StoredRule { id, node, plmn, s_nssai, ue, dl, ul } = self;
        Ok(Rule { id, ..RuleBody { plmn, s_nssai, ue, dl, ul }.rule(node)? })
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Associations")]
struct Documents {
    associations: Vec<Document>,
}

/// A rule and the UEs that it matches.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Association")]
struct Document {
    id: u32,
    /// Its node; without one, the rule is for all nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    plmn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SNssaiDocument")]
    s_nssai: Option<SNssaiDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// A UE by any of its names, as at `/v1/ues/{ue}`.
    #[schemars(with = "String")]
    ue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    dl: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    ul: Option<u32>,
    /// Empty if the rule matches no UE.
    ues: Vec<UeOfRule>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AssociatedUe")]
struct UeOfRule {
    node: String,
    rnti: u16,
    /// `waiting`: for the slice of `reason`, or for the node.
    #[schemars(extend("enum" = ["waiting", "in_progress", "moved", "refused"]))]
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
}

impl Document {
    fn of(rule: &Rule, ues: Vec<UeOfRule>) -> Self {
        Document {
            id: rule.id,
            node: rule.node.clone(),
            plmn: rule.plmn.map(|plmn| plmn.to_string()),
            s_nssai: rule.s_nssai.map(|pattern| SNssaiDocument::new(pattern.sst, pattern.sd)),
            ue: rule.ue.as_ref().map(ToString::to_string),
            dl: rule.dl,
            ul: rule.ul,
            ues,
        }
    }

    /// Returns the rules that a predicate selects.
    fn all(app: &SlicingController, is_selected: impl Fn(&Rule) -> bool) -> Vec<Document> {
        let mut ues: HashMap<u32, Vec<UeOfRule>> = HashMap::new();
        for node in app.database.nodes() {
            for (rnti, ue) in node.ues.iter() {
                let RuleOfUe::Fits(id, state) = &ue.rule else { continue };
                let Some(rule) = app.rules.get(*id).filter(|rule| is_selected(rule)) else { continue };
                let (state, reason) = match state {
                    RuleState::Waiting => {
                        let missing = rule.missing(node);
                        ("waiting", missing.map(|(direction, id)| format!("there is no {direction} slice {id}")))
                    }
                    RuleState::Unanswered(why) => ("waiting", Some(why.clone())),
                    RuleState::InProgress => ("in_progress", None),
                    RuleState::Moved => ("moved", None),
                    RuleState::Refused(why) => ("refused", Some(why.clone())),
                };
                ues.entry(*id).or_default().push(UeOfRule { node: node.name.clone(), rnti, state, reason });
            }
        }
        let rules = app.rules.all().iter().filter(|rule| is_selected(rule));
        rules.map(|rule| Document::of(rule, ues.remove(&rule.id).unwrap_or_default())).collect()
    }

    /// Returns the rule of an id if a predicate selects it.
    fn one(app: &SlicingController, id: u32, is_selected: impl Fn(&Rule) -> bool) -> Result<Document, Problem> {
        Document::all(app, |rule| rule.id == id && is_selected(rule)).pop().ok_or_else(|| rule_not_found(id))
    }
}
