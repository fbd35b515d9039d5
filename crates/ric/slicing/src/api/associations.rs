//! `/v1/associations` and `/v1/nodes/{node}/associations`: rules that associate UEs with slices.

use std::collections::HashMap;

use e2sm::slice::NO_SLICE;
use rest::Method;
use serde::{Deserialize, Serialize};

use super::super::SlicingController;
use super::super::associations::{Rule, RuleOfUe, RuleState};
use super::ues::{SNssaiDocument, plmn};
use super::{AppQueue, list, named};
use iapp_rest::Job;
use rest::{Problem, Request, Response, Route, not_null};

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    let mut routes = routes_of(queue, "/v1/associations", "/v1/associations/{association}", |_| None);
    let (all, one) = ("/v1/nodes/{node}/associations", "/v1/nodes/{node}/associations/{association}");
    routes.extend(routes_of(queue, all, one, |request| Some(request.parameter(0).to_owned())));
    routes
}

/// Returns the routes for the rules of one node, or for those of all nodes.
fn routes_of(
    queue: &AppQueue,
    all: &'static str,
    one: &'static str,
    node: fn(&Request) -> Option<String>,
) -> Vec<Route> {
    let id = move |request: &Request| {
        let at = usize::from(node(request).is_some());
        request.number::<u32>(at, "association")
    };
    vec![
        Route::queued(Method::GET, all, queue, move |request| {
            let node = node(request);
            let job: Job<SlicingController> = Box::new(move |app, _, reply| {
                let answer = is_known(app, node.as_deref())
                    .map(|()| Response::ok(list("associations", Document::all(app, |rule| rule.node == node))));
                reply.send(answer);
            });
            Ok(job)
        }),
        Route::queued(Method::POST, all, queue, move |request| {
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
        Route::queued(Method::DELETE, all, queue, move |request| {
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
        Route::queued(Method::GET, one, queue, move |request| {
            let (node, id) = (node(request), id(request)?);
            let job: Job<SlicingController> = Box::new(move |app, _, reply| {
                reply.send(Document::one(app, id, |rule| rule.node == node).map(Response::ok));
            });
            Ok(job)
        }),
        Route::queued(Method::DELETE, one, queue, move |request| {
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

/// The body of a new rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: an association")]
struct RuleBody {
    #[serde(default, deserialize_with = "not_null")]
    plmn: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    s_nssai: Option<SNssaiDocument>,
    #[serde(default, deserialize_with = "not_null")]
    dl: Option<u32>,
    #[serde(default, deserialize_with = "not_null")]
    ul: Option<u32>,
}

impl RuleBody {
    fn rule(self, node: Option<String>) -> Result<Rule, Problem> {
        if self.plmn.is_none() && self.s_nssai.is_none() {
            return Err(Problem::unprocessable(
                "neither `plmn` nor `s_nssai`: a rule needs at least one, to select UEs",
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
        Ok(Rule { id: 0, node, plmn, s_nssai, dl: self.dl, ul: self.ul })
    }
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
    dl: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ul: Option<u32>,
}

impl StoredRule {
    pub fn of(rule: &Rule) -> Self {
        let Document { id, node, plmn, s_nssai, dl, ul, ues: _ } = Document::of(rule, Vec::new());
        StoredRule { id, node, plmn, s_nssai, dl, ul }
    }

    pub fn rule(self) -> Result<Rule, Problem> {
        let StoredRule { id, node, plmn, s_nssai, dl, ul } = self;
        Ok(Rule { id, ..RuleBody { plmn, s_nssai, dl, ul }.rule(node)? })
    }
}

/// A rule and the UEs that it matches.
#[derive(Serialize)]
struct Document {
    id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plmn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s_nssai: Option<SNssaiDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dl: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ul: Option<u32>,
    /// Empty if the rule matches no UE.
    ues: Vec<UeOfRule>,
}

#[derive(Serialize)]
struct UeOfRule {
    node: String,
    rnti: u16,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Document {
    fn of(rule: &Rule, ues: Vec<UeOfRule>) -> Self {
        Document {
            id: rule.id,
            node: rule.node.clone(),
            plmn: rule.plmn.map(|plmn| plmn.to_string()),
            s_nssai: rule.s_nssai.map(|pattern| SNssaiDocument::new(pattern.sst, pattern.sd)),
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
